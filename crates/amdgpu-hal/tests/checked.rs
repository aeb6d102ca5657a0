//! Checked launches: kernels that ask before every access. The C compiler makes them; what ours makes is tested from Python.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene {
    pub mod object;
}

use std::sync::Arc;
use std::sync::OnceLock;

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::cpu::checked::{
    AccessKind, Array, CountedWork, Counts, Expectations, Site, Target, lane_activity, run,
};
use amdgpu_hal::{DevicePointer, Error, Function, LaunchConfig, Result, registry};

use scene::object;

/// `store` writes the number of its block; `forever` asks at every turn whether it may go on.
const SOURCE: &str = r"
typedef unsigned long long u64;
typedef unsigned int u32;
extern int agpu_checked_access(u32, u64, u64, u64, u64, u32, u64);
extern int agpu_checked_turn(u32, u32, u64);
extern int agpu_checked_work(u64);
struct arguments { u64 *out; };
void store(const struct arguments *arguments, const void *launch, u64 begin, u64 end) {
    for (u64 block = begin; block < end; block++) {
        u64 address = (u64)(arguments->out + block);
        if (agpu_checked_access(0, address, 8, (u64)arguments->out, block, 0, block)) continue;
        if (agpu_checked_work(3)) continue;
        arguments->out[block] = block;
    }
}
void forever(const struct arguments *arguments, const void *launch, u64 begin, u64 end) {
    arguments->out[0] = 1;
    while (!agpu_checked_turn(5, 0, begin)) {}
}
";

fn image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| object::compiled("checked", SOURCE))
}

fn kernel(name: &str) -> Arc<dyn Function> {
    let device = registry::open_device("cpu:0").unwrap();
    device.load_module(image()).unwrap().function(name).unwrap()
}

fn expectations(kernel: &str, words: &[u64], counts: &Arc<Counts>) -> Expectations {
    Expectations {
        kernel: kernel.to_owned(),
        file: "kernel.hip".to_owned(),
        sites: Arc::new([Site {
            line: 4,
            kind: AccessKind::Write,
            align: 8,
            target: Target::Argument(0),
        }]),
        arrays: vec![Array {
            name: "out".to_owned(),
            address: DevicePointer::from_host(words.as_ptr().cast_mut()).address(),
            bytes: size_of_val(words) as u64,
        }],
        others: Vec::new(),
        dynamic_shared_bytes: 0,
        counts: Arc::clone(counts),
    }
}

fn arguments(words: &mut [u64]) -> [u8; 8] {
    DevicePointer::from_host(words.as_mut_ptr())
        .address()
        .to_le_bytes()
}

fn store(words: &mut [u64], blocks: u32, counts: &Arc<Counts>) -> Result<()> {
    let expected = expectations("store", words, counts);
    let arguments = arguments(words);
    // SAFETY: the kernel writes inside of the array, or is stopped before.
    unsafe {
        let config = LaunchConfig::linear(blocks, 1);
        run(kernel("store").as_ref(), &config, &arguments, expected)
    }
}

#[test]
fn what_a_launch_did_is_counted_once_it_went_well() {
    let (counts, mut words) = (Arc::default(), [9; 4]);
    store(&mut words, 3, &counts).unwrap();
    assert_eq!(words, [0, 1, 2, 9]);
    let work = CountedWork {
        operations: 9,
        bytes: 24,
        work_items: 3,
    };
    assert_eq!(counts.newest(), Some(work));
    let lanes = lane_activity();
    let launch = lanes
        .iter()
        .rfind(|launch| launch.kernel == "store")
        .unwrap();
    assert_eq!(launch.file, "kernel.hip");
    assert_eq!(
        (launch.rows[0].line, launch.rows[0].kind),
        (4, AccessKind::Write)
    );
}

#[test]
fn the_first_fault_is_told_and_the_others_counted() {
    let (counts, mut words) = (Arc::default(), [9; 3]);
    for (blocks, others) in [
        (3, ""),
        (4, ""),
        (5, "; 1 other fault"),
        (7, "; 3 other faults"),
    ] {
        words.fill(9);
        let outcome = store(&mut words, blocks, &counts);
        assert_eq!(words, [0, 1, 2], "all others go on");
        if blocks == 3 {
            outcome.unwrap();
            continue;
        }
        let error = outcome.unwrap_err();
        assert_eq!(error.code(), ErrorCode::MemoryFault);
        let text = error.to_string();
        assert!(
            text.starts_with("store: write of 8 bytes outside of "),
            "{text}"
        );
        assert!(
            text.ends_with(&format!(
                "; block (3, 0, 0), thread (0, 0, 0), kernel.hip:4{others}"
            )),
            "{text}"
        );
    }
    assert_eq!(
        counts.newest().unwrap().work_items,
        3,
        "of the launch that went well"
    );
}

#[test]
fn checked_code_outside_of_a_checked_launch_may_do_nothing() {
    let (counts, mut words) = (Arc::default(), [9; 2]);
    store(&mut words, 2, &counts).unwrap();
    words.fill(9);
    let device = registry::open_device("cpu:0").unwrap();
    let config = LaunchConfig::linear(2, 1);
    let arguments = arguments(&mut words);
    // SAFETY: the words outlive the launch.
    unsafe {
        let stream = device.default_stream();
        stream
            .launch(kernel("store").as_ref(), &config, &arguments)
            .unwrap();
        stream.synchronize().unwrap();
    }
    assert_eq!(words, [9, 9]);
}

#[test]
fn a_checked_launch_that_goes_on_for_ever_is_cancelled() {
    let device = registry::open_device("cpu:0").unwrap();
    let stream = device.create_stream().unwrap();
    let (counts, mut words) = (Arc::<Counts>::default(), vec![0; 1]);
    let expected = expectations("forever", &words, &counts);
    let (arguments, function) = (arguments(&mut words), kernel("forever"));
    let (begun, has_begun) = std::sync::mpsc::channel();
    stream
        .call(Box::new(move || {
            begun.send(()).unwrap();
            let config = LaunchConfig::linear(2, 1);
            // SAFETY: the word outlives the launch.
            unsafe { run(function.as_ref(), &config, &arguments, expected) }
        }))
        .unwrap();
    has_begun.recv().unwrap();
    assert_eq!(stream.cancel(), Ok(true));
    assert!(matches!(stream.synchronize(), Err(Error::Cancelled { .. })));
    assert_eq!(counts.newest(), None);
}

#[test]
fn kernels_of_other_backends_are_refused() {
    #[derive(Debug)]
    struct Foreign;
    impl Function for Foreign {
        fn name(&self) -> &'static str {
            "foreign"
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }
    let (counts, words) = (Arc::default(), [0; 1]);
    let expected = expectations("foreign", &words, &counts);
    // SAFETY: the kernel is refused, so nothing runs.
    let outcome = unsafe { run(&Foreign, &LaunchConfig::linear(1, 1), &[], expected) };
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "the kernel does not belong to cpu:0"
    );
}

/// More questions than lie between two looks at the cancellation.
#[test]
fn launches_of_many_questions_are_answered_to_their_end() {
    let (counts, mut words) = (Arc::default(), vec![9; 3000]);
    store(&mut words, 3000, &counts).unwrap();
    assert!((0..).zip(&words).all(|(block, word)| *word == block));
    assert_eq!(counts.newest().unwrap().bytes, 3000 * 8);
}
