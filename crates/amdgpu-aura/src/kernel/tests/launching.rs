//! Launches, and what is refused before them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use amdgpu_abi::{Coded, ErrorCode};

use super::super::{DirectKernel, Kernel, LaunchShape};
use super::scene::{Scene, address, blocks, calls, pointer};
use crate::arguments::Argument;
use crate::error::{Error, Result};
use crate::shared::{CoreType, LaunchRecords};

fn numbers() -> Argument {
    let values = (0..40_u64).flat_map(u64::to_le_bytes);
    Argument::Bytes(values.collect())
}

#[test]
fn launches_run_with_their_arguments_and_are_counted() {
    let scene = Scene::new(LaunchRecords::All);
    let kernel = scene.kernel("add");
    let stream = scene.context.create_stream().unwrap();
    // SAFETY: the kernel adds to the word of the scene, which outlives the launches.
    unsafe {
        let times = kernel
            .launch(&blocks(3), &scene.add_arguments(5), None)
            .unwrap();
        assert!(times.start_ns > 0 && times.duration_ns > 0);
        assert!(times.start_ns + times.duration_ns <= amdgpu_telemetry::now_ns());
        assert_eq!(scene.take(), 15);
        assert_eq!(calls(&kernel), (1, 1));
        assert!(kernel.typical_ns() > 0 || times.duration_ns < 8);
        kernel
            .run(&blocks(2), &scene.add_arguments(7), None)
            .unwrap();
        assert_eq!(scene.take(), 14);
        let times = kernel
            .launch(&blocks(1), &scene.add_arguments(1), Some(&stream))
            .unwrap();
        assert!(times.start_ns > 0);
        assert_eq!(times.duration_ns, 0, "it may still run");
    }
    assert!(Kernel::wait(stream.as_ref(), None).unwrap());
    assert_eq!(scene.take(), 1);
    assert_eq!(calls(&kernel), (3, 3));
    // Blocks of arguments beyond what fits on the stack.
    let sum = scene.kernel("sum");
    // SAFETY: as above.
    unsafe { sum.run(&blocks(2), &[scene.pointer(), numbers()], None) }.unwrap();
    assert_eq!(scene.take(), 2 * 780);
}

#[test]
fn a_device_opened_without_telemetry_takes_no_times() {
    let scene = Scene::new(LaunchRecords::None);
    let stream = scene.context.create_stream().unwrap();
    for core in CoreType::ALL {
        let kernel = scene.kernel_of("add", core);
        // SAFETY: the kernel adds to the word of the scene, which outlives the launches.
        unsafe {
            kernel
                .run(&blocks(1), &scene.add_arguments(1), None)
                .unwrap();
            let in_stream = kernel.launch(&blocks(1), &scene.add_arguments(1), Some(&stream));
            assert_eq!(in_stream.unwrap().duration_ns, 0);
            // Whoever asks for the times of a launch gets them all the same.
            let times = kernel.launch(&blocks(1), &scene.add_arguments(1), None);
            assert!(times.unwrap().duration_ns > 0);
        }
        stream.synchronize().unwrap();
        assert!(kernel.sums().is_none());
        assert_eq!((kernel.typical_ns(), scene.take()), (0, 3));
        assert_eq!(kernel.core(), core);
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused_by_place_and_name() {
    let scene = Scene::new(LaunchRecords::Sampled);
    let kernel = scene.kernel("add");
    let read_only = Argument::Pointer {
        address: address(&scene.word),
        dtype: None,
        is_read_only: true,
        bytes: 8,
    };
    let cases: [(&[Argument], ErrorCode, &str); 5] = [
        (
            &[scene.pointer()],
            ErrorCode::ArgumentCount,
            "add(unsigned long long* out, unsigned long long value) takes 2 arguments, 1 were given",
        ),
        (
            &[scene.pointer(), Argument::Int(1), Argument::Int(1)],
            ErrorCode::ArgumentCount,
            "add(unsigned long long* out, unsigned long long value) takes 2 arguments, 3 were given",
        ),
        (
            &[scene.pointer(), Argument::Float(0.5)],
            ErrorCode::InvalidType,
            "argument 1 (`value`) of add: `unsigned long long` cannot be made from a float",
        ),
        (
            &[scene.pointer(), Argument::Int(-1)],
            ErrorCode::InvalidArgument,
            "argument 1 (`value`) of add: -1 does not fit into `unsigned long long`, which holds 0 to 18446744073709551615",
        ),
        (
            &[read_only, Argument::Int(1)],
            ErrorCode::InvalidArgument,
            "argument 0 (`out`) of add: the array is read-only, but `unsigned long long*` may be written; declare it const or pass a writable copy",
        ),
    ];
    for (arguments, code, message) in cases {
        // SAFETY: nothing is launched.
        let launched = unsafe { kernel.launch(&blocks(1), arguments, None) };
        let packed = kernel.pack_arguments(arguments).map(drop);
        for error in [launched.unwrap_err(), packed.unwrap_err()] {
            assert_eq!(error.to_string(), message);
            assert_eq!(error.code(), code);
        }
    }
    assert!(kernel.check_argument_count(2).is_ok());
    let error = kernel.global("counter").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the module has no variable `counter`; it has none"
    );
    assert_eq!(calls(&kernel), (0, 0));
}

#[test]
fn shapes_are_held_to_the_limits_of_device_and_kernel() {
    let scene = Scene::new(LaunchRecords::None);
    let (add, bounded) = (scene.kernel("add"), scene.kernel("bounded"));
    let info = scene.context.info().clone();
    let check = |kernel: &Kernel, grid: [i64; 3], block: [i64; 3], shared_bytes: i64| {
        let shape = LaunchShape {
            grid,
            block,
            shared_bytes,
        };
        kernel.check_shape(&shape)
    };
    let refused = |kernel: &Kernel, grid, block, shared_bytes| {
        let error = check(kernel, grid, block, shared_bytes).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidLaunch);
        error.to_string()
    };
    let (one, most) = ([1; 3], info.max_grid.map(i64::from));
    let config = check(&add, [2, 3, 4], [5, 6, 7], 0).unwrap();
    assert_eq!((config.grid, config.block), ([2, 3, 4], [5, 6, 7]));
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        for value in [0, -1, most[axis] + 1, i64::MIN] {
            let mut grid = one;
            grid[axis] = value;
            let expected = format!(
                "launch of add: grid.{name} is {value}; cpu:0 allows 1 to {}",
                most[axis]
            );
            assert_eq!(refused(&add, grid, one, 0), expected);
        }
        let limit = i64::from(info.max_block[axis]);
        let mut block = one;
        block[axis] = limit + 1;
        let expected = format!(
            "launch of add: block.{name} is {}; cpu:0 allows 1 to {limit}",
            limit + 1
        );
        assert_eq!(refused(&add, one, block, 0), expected);
        let mut grid = one;
        grid[axis] = most[axis];
        assert!(check(&add, grid, one, 0).is_ok());
    }
    let threads = i64::from(info.max_threads_per_block);
    assert!(check(&add, one, [threads, 1, 1], 0).is_ok());
    assert_eq!(
        refused(&add, one, [threads / 2, 3, 1], 0),
        format!(
            "launch of add: a block has {} threads; the limit is {threads}",
            threads / 2 * 3
        )
    );
    assert!(check(&bounded, one, [64, 1, 1], 0).is_ok());
    assert_eq!(
        refused(&bounded, one, [65, 1, 1], 0),
        "launch of bounded: a block has 65 threads; __launch_bounds__ allows 64"
    );
    let product: u128 = most.iter().map(|&blocks| blocks as u128).product();
    if product > u128::from(u64::MAX) {
        assert_eq!(
            refused(&add, most, one, 0),
            "launch of add: the grid has more than 2^64 blocks"
        );
    }
}

#[test]
fn shared_memory_is_held_to_what_the_kernel_leaves_of_it() {
    let scene = Scene::new(LaunchRecords::None);
    let (add, staged) = (scene.kernel("add"), scene.kernel("staged"));
    let limit = scene.context.info().shared_memory_per_block_bytes as i64;
    let shape = |shared_bytes| LaunchShape {
        grid: [1; 3],
        block: [1; 3],
        shared_bytes,
    };
    let refused =
        |kernel: &Kernel, bytes| kernel.check_shape(&shape(bytes)).unwrap_err().to_string();
    assert_eq!(
        add.check_shape(&shape(limit)).unwrap().shared_bytes,
        limit as u32
    );
    for bytes in [-1, limit + 1, i64::MAX] {
        assert_eq!(
            refused(&add, bytes),
            format!("launch of add: shared memory is {bytes} bytes; cpu:0 allows 0 to {limit}")
        );
    }
    assert_eq!(staged.facts().static_shared_bytes, 8000);
    let left = limit - 8000;
    let config = staged.check_shape(&shape(left)).unwrap();
    // The tile, in whole lines of 64 bytes, before the dynamic part.
    assert!(i64::from(config.shared_bytes) >= 8000 + left);
    assert_eq!(
        refused(&staged, left + 1),
        format!(
            "launch of staged: shared memory is {} bytes; cpu:0 allows 0 to {left} beside the 8000 bytes that the kernel declares",
            left + 1
        )
    );
    // A kernel that declares all that there is leaves nothing.
    let full = scene.kernel("full");
    assert_eq!(full.facts().static_shared_bytes, limit as u64);
    assert!(full.check_shape(&shape(0)).is_ok());
    assert_eq!(
        refused(&full, 1),
        format!(
            "launch of full: shared memory is 1 bytes; cpu:0 allows 0 to 0 beside the {limit} bytes that the kernel declares"
        )
    );
    assert_eq!(staged.occupancy([1, 1, 1], 0).unwrap(), None);
    assert!(staged.occupancy([0, 1, 1], 0).is_err());
}

#[test]
fn other_streams_wait_for_what_was_queued_on_the_default_stream() {
    let scene = Scene::new(LaunchRecords::Sampled);
    let kernel = scene.kernel("add");
    let packed = kernel.pack_arguments(&scene.add_arguments(100)).unwrap();
    let no_addresses = std::iter::empty::<(usize, u64)>;
    let queue = || {
        // SAFETY: the kernel adds to the word of the scene, which outlives the launch.
        unsafe { kernel.queue(&blocks(1), &scene.add_arguments(100)) }
    };
    let queue_packed = || {
        // SAFETY: as above.
        unsafe { kernel.queue_packed(&blocks(1), &packed, no_addresses(), false) }
    };
    let queued: [&dyn Fn() -> Result<()>; 2] = [&queue, &queue_packed];
    for queue in queued {
        let stream = scene.context.create_stream().unwrap();
        let (release, blocked) = scene.hold_default_stream();
        queue().unwrap();
        // SAFETY: as above.
        unsafe { kernel.run(&blocks(1), &scene.add_arguments(1), Some(&stream)) }.unwrap();
        assert!(!stream.is_idle().unwrap() && scene.take() == 0);
        drop(release);
        stream.synchronize().unwrap();
        assert_eq!(scene.take(), 101);
        blocked.synchronize().unwrap();
    }
    // Settling waits for the default stream as well.
    let (release, _blocked) = scene.hold_default_stream();
    queue().unwrap();
    drop(release);
    scene.context.open_device().unwrap().settle().unwrap();
    assert_eq!(scene.take(), 100);
}

#[test]
fn packed_arguments_are_launched_again_with_other_memory() {
    let scene = Scene::new(LaunchRecords::Sampled);
    let other = Box::<AtomicU64>::default();
    for (kernel, argument, value) in [
        (scene.kernel("add"), Argument::Int(6), 6),
        (scene.kernel("sum"), numbers(), 780),
    ] {
        let packed = kernel.pack_arguments(&[scene.pointer(), argument]).unwrap();
        assert_eq!(packed.bytes()[..8], address(&scene.word).to_le_bytes());
        let moved = kernel
            .replace_argument(&packed, 0, &pointer(&other))
            .unwrap();
        assert_eq!(moved.bytes()[8..], packed.bytes()[8..]);
        // SAFETY: the kernels add to words that outlive the launches.
        unsafe {
            kernel.launch_packed(&blocks(1), &packed, None).unwrap();
            kernel.launch_packed(&blocks(2), &moved, None).unwrap();
            let elsewhere = std::iter::once((0, address(&other)));
            kernel
                .queue_packed(&blocks(4), &packed, elsewhere, true)
                .unwrap();
        }
        assert_eq!(scene.take(), value);
        assert_eq!(
            other.swap(0, std::sync::atomic::Ordering::Relaxed),
            6 * value
        );
        assert_eq!(calls(&kernel).0, 3);
    }
    let kernel = scene.kernel("add");
    let packed = kernel.pack_arguments(&scene.add_arguments(1)).unwrap();
    let error = kernel.replace_argument(&packed, 1, &Argument::Int(-1));
    assert!(matches!(error, Err(Error::ArgumentValue { index: 1, .. })));
}

#[test]
fn a_closed_opening_launches_nothing_and_others_go_on() {
    let scene = Scene::new(LaunchRecords::Sampled);
    let other = scene.again(LaunchRecords::Sampled);
    let (kernel, going_on) = (scene.kernel("add"), other.kernel("add"));
    let packed = kernel.pack_arguments(&scene.add_arguments(1)).unwrap();
    let (stream, kept) = (kernel.take_stream().unwrap(), kernel.take_stream().unwrap());
    assert_ne!(stream.id(), kept.id());
    let id = stream.id();
    kernel.give_stream_back(stream);
    let stream = kernel.take_stream().unwrap();
    assert_eq!(stream.id(), id, "an idle stream is used again");
    assert!(kernel.is_open());
    scene.context.close().unwrap();
    scene.context.close().unwrap();
    assert!(!kernel.is_open() && going_on.is_open());
    kernel.give_stream_back(stream);
    let no_addresses = std::iter::empty::<(usize, u64)>();
    // SAFETY: nothing is launched.
    let outcomes: [Result<()>; 8] = unsafe {
        [
            kernel
                .launch(&blocks(1), &scene.add_arguments(1), None)
                .map(drop),
            kernel.run(&blocks(1), &scene.add_arguments(1), Some(&kept)),
            kernel.queue(&blocks(1), &scene.add_arguments(1)),
            kernel.launch_packed(&blocks(1), &packed, None),
            kernel.queue_packed(&blocks(1), &packed, no_addresses, true),
            kernel.global("counter").map(drop),
            kernel.create_event().map(drop),
            kernel.take_stream().map(drop),
        ]
    };
    for outcome in outcomes {
        assert_eq!(outcome.unwrap_err().to_string(), "device cpu:0 is closed");
    }
    assert_eq!(scene.take(), 0);
    // What was given back to a closed opening is not handed to the next.
    assert_ne!(going_on.take_stream().unwrap().id(), id);
    // SAFETY: the kernel adds to the word of the other scene.
    unsafe { going_on.run(&blocks(1), &other.add_arguments(9), None) }.unwrap();
    assert_eq!(other.take(), 9);
}

#[test]
fn kernels_called_block_by_block_are_counted_in_bulk() {
    let scene = Scene::new(LaunchRecords::Sampled);
    let kernel = scene.kernel("add");
    let direct = |count: u32, value| {
        DirectKernel::new(&kernel, &blocks(count), &scene.add_arguments(value))
            .unwrap()
            .unwrap()
    };
    let mut whole = direct(10, 3);
    // SAFETY: the kernel adds to the word of the scene, which outlives it.
    unsafe {
        whole.run(0..4);
        whole.run(4..10);
        assert_eq!(scene.take(), 30);
        whole.set_bytes(1, &5_u64.to_le_bytes());
        whole.run(9..10);
    }
    assert_eq!(scene.take(), 5);
    let taken = whole.take_launches(3);
    assert!(taken.time_ns > 0.0);
    taken.count(1.0);
    assert_eq!(calls(&kernel).0, 3);
    // Runs that were told of are not told of again.
    let (before, timed) = calls(&kernel);
    whole.take_launches(2).count(1.0);
    assert_eq!(calls(&kernel), (before + 2, timed));
    whole.take_launches(0).count(1.0);
    assert_eq!(calls(&kernel), (before + 2, timed));
    let misfit = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        whole.set_bytes(1, &[0; 4]);
    }));
    assert!(misfit.is_err(), "an argument keeps its size");
    // The time of each part counts as often as it ran.
    let (whole, part) = (direct(1, 1), direct(1, 1));
    // SAFETY: as above.
    unsafe {
        whole.run(0..1);
        part.run(0..1);
    }
    let one = DirectKernel::take_uneven_launches(1, &whole, 1, &[], 0).time_ns;
    let parts = [part];
    let three = DirectKernel::take_uneven_launches(1, &whole, 3, &parts, 0).time_ns;
    assert!((three - 3.0 * one).abs() <= 1e-6 * three);
    let both = DirectKernel::take_uneven_launches(1, &whole, 3, &parts, 2).time_ns;
    assert!(both > three);
    assert!(DirectKernel::new(&kernel, &blocks(1), &[]).is_err());
    let same = Arc::clone(&kernel);
    assert!(Arc::ptr_eq(
        &scene.context.kernel(same.handle()).unwrap(),
        &kernel
    ));
}
