//! What the driver answers and refuses, beside the commands of streams.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use amdgpu_abi::{Coded, ErrorCode};

use super::{PTX, failure, graph_of_lanes, hold, words};
use crate::gpu::api::Api;
use crate::gpu::device::GpuDevice;
use crate::gpu::fake::{
    self, CREATIONS_LEFT, DEVICE_COUNT, HELD_BY_OTHERS, LAUNCHED, NEXT_RECORD, NEXT_WAIT, RESET,
    calls_of, live_objects,
};
use crate::gpu::{list, open_in};
use crate::{
    CopyDirection, Device, DevicePointer, Error, Graph, GraphPlan, LaunchConfig, MemoryKind,
};

/// More than the pool of events keeps.
const MANY_EVENTS: usize = 300;

pub(super) fn devices_are_found_by_their_number(api: &'static Api) {
    let names = || -> Vec<String> {
        let devices = list(api).unwrap();
        devices.into_iter().map(|info| info.name).collect()
    };
    let refused = |selector: &str| {
        let error = open_in(api, selector).unwrap_err();
        assert_eq!(error.code(), ErrorCode::DeviceNotFound);
        error.to_string()
    };
    for (count, found) in [
        (0, "the fake driver finds no device"),
        (1, "the fake driver finds one device, cuda:0"),
        (2, "the fake driver finds 2 devices, numbered from 0"),
        (3, "the fake driver finds 3 devices, numbered from 0"),
    ] {
        DEVICE_COUNT.store(count, Ordering::Relaxed);
        let expected: Vec<String> = (0..count).map(|number| format!("cuda:{number}")).collect();
        assert_eq!(names(), expected);
        for selector in [count.to_string().as_str(), "-1", "x", ""] {
            assert_eq!(
                refused(selector),
                format!("no device `cuda:{selector}`: {found}")
            );
        }
        for number in 0..count {
            let device = open_in(api, &number.to_string()).unwrap();
            assert_eq!(device.info().ordinal, number as u32);
            assert_eq!(device.info().name, format!("cuda:{number}"));
        }
    }
    // A driver without devices says so in its own way; any other status is a fault of the driver.
    DEVICE_COUNT.store(-100, Ordering::Relaxed);
    assert_eq!(names(), [""; 0]);
    assert!(refused("0").ends_with("finds no device"));
    DEVICE_COUNT.store(-999, Ordering::Relaxed);
    assert_eq!(
        list(api).unwrap_err().to_string(),
        "fake: counting the devices failed: FAKE_ERROR (999)"
    );
    DEVICE_COUNT.store(1, Ordering::Relaxed);
}

/// Whatever a stream is handed that belongs to another device names both.
pub(super) fn objects_of_another_gpu_are_refused(device: &GpuDevice, api: &'static Api) {
    let other = GpuDevice::open(api, 1).unwrap();
    let event = other.create_event().unwrap();
    let function = other.load_module(PTX).unwrap().function("store").unwrap();
    let graph = graph_of_lanes(&other, DevicePointer(0), &[]);
    let stream = device.create_stream().unwrap();
    let calls = calls_of(|| {
        let config = LaunchConfig::linear(1, 1);
        // SAFETY: everything is refused, so nothing runs.
        let (launched, replayed) = unsafe {
            (
                stream.launch(&*function, &config, &[]),
                stream.replay(&*graph as &dyn Graph),
            )
        };
        for (outcome, what) in [
            (stream.record(&event), "the event"),
            (stream.notify(&event, Box::new(|| {})), "the event"),
            (launched, "the kernel"),
            (replayed, "the graph"),
        ] {
            let expected = Error::WrongBackend {
                what,
                device: "cuda:0".to_string(),
            };
            assert_eq!(outcome, Err(expected));
        }
    });
    assert_eq!(calls, [""; 0]);
    // What another device of the driver has reached may be waited for.
    let theirs = other.create_stream().unwrap();
    assert_eq!(stream.wait(&event), Ok(()));
    theirs.record(&event).unwrap();
    let calls = calls_of(|| stream.wait(&event).unwrap());
    assert!(calls.contains(&"cuStreamWaitEvent"), "{calls:?}");
    assert_ne!(device.memory_domain(), other.memory_domain());
    let again = GpuDevice::open(api, 0).unwrap();
    assert_eq!(device.memory_domain(), again.memory_domain());
}

pub(super) fn a_refused_recording_is_told_to_all_who_wait_for_it(device: &GpuDevice) {
    let (stream, waiting) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let event = device.create_event().unwrap();
    stream.record(&event).unwrap();
    NEXT_RECORD.store(999, Ordering::Relaxed);
    let error = stream.record(&event).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cuda:0: recording an event failed: FAKE_ERROR (999)"
    );
    assert!(event.is_complete() && event.timestamp_ns().is_some());
    assert_eq!(event.synchronize(), Err(error.clone()));
    waiting.wait(&event).unwrap();
    assert_eq!(waiting.synchronize(), Err(error));
    // The submitter heard of it, so that nothing sticks to its stream; the next recording is as good as any.
    stream.record(&event).unwrap();
    event.synchronize().unwrap();
    stream.synchronize().unwrap();
}

pub(super) fn spare_events_are_kept_up_to_a_number(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let before = live_objects();
    let events: Vec<_> = (0..MANY_EVENTS)
        .map(|_| {
            let event = device.create_event().unwrap();
            stream.record(&event).unwrap();
            event
        })
        .collect();
    let most = live_objects();
    let calls = calls_of(|| drop(events));
    let destroyed = calls.iter().filter(|call| **call == "destroy").count();
    assert_eq!(live_objects(), most - destroyed);
    // Some were spare before; what is kept afterwards is the limit.
    assert!(
        (MANY_EVENTS - 256..MANY_EVENTS).contains(&destroyed),
        "{destroyed}"
    );
    assert!(live_objects() > before);
    let reused = calls_of(|| stream.record(&device.create_event().unwrap()).unwrap());
    assert!(!reused.contains(&"destroy"), "{reused:?}");
}

pub(super) fn memory_of_other_processes_is_in_use_too(device: &GpuDevice) {
    HELD_BY_OTHERS.store(1000, Ordering::Relaxed);
    let info = device.memory_info().unwrap();
    assert_eq!(info.free_bytes, fake::MEMORY_BYTES as u64 - 1000);
    assert_eq!(info.total_bytes, fake::MEMORY_BYTES as u64);
    assert_eq!(info.used_bytes, 0, "ours");
    let bytes = fake::MEMORY_BYTES as u64;
    for (kind, name) in [
        (MemoryKind::Device, "device"),
        (MemoryKind::PinnedHost, "pinned"),
        (MemoryKind::Unified, "unified"),
    ] {
        assert_eq!(
            device.allocate(bytes, kind),
            Err(Error::OutOfMemory {
                device: "cuda:0".to_string(),
                kind: name,
                requested_bytes: bytes,
                used_bytes: 1000,
                limit_bytes: bytes,
            })
        );
    }
    HELD_BY_OTHERS.store(0, Ordering::Relaxed);
    // Nothing is a byte, and is freed as one.
    let ptr = device.allocate(0, MemoryKind::Device).unwrap();
    assert_eq!(device.memory_info().unwrap().used_bytes, 1);
    // SAFETY: live, unused and freed once.
    unsafe { device.free(ptr, 0, MemoryKind::Device) }.unwrap();
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
    // The fake has each page on the device of its number.
    let ordinal = |address| device.ordinal_of_address(DevicePointer(address));
    assert_eq!((ordinal(0x1000), ordinal(0x3008)), (Some(1), Some(3)));
    assert_eq!((ordinal(8), ordinal(0xffff_ffff_f000)), (None, None));
}

/// Every stream and event that the driver may refuse to make; what was made before it goes again.
pub(super) fn what_the_driver_does_not_make_is_an_error(device: &GpuDevice) {
    let refuse_after = |made: i32| CREATIONS_LEFT.store(made, Ordering::Relaxed);
    let failed = |what: &str| format!("cuda:0: making {what} failed: FAKE_ERROR (999)");
    let before = live_objects();
    refuse_after(0);
    let error = device.create_stream().unwrap_err();
    assert_eq!(error.to_string(), failed("a stream"));
    // Two lanes take two streams, and an event for the fork and one for the join.
    let plan = || GraphPlan {
        steps: Vec::new(),
        lane_count: 2,
        mark_count: 0,
    };
    for (made, what) in [
        (0, "a stream"),
        (1, "a stream"),
        (2, "an event"),
        (3, "an event"),
    ] {
        refuse_after(made);
        let error = device.create_graph(plan()).unwrap_err();
        assert_eq!(error.to_string(), failed(what), "after {made}");
        assert_eq!(live_objects(), before);
    }
    refuse_after(-1);
    drop(device.create_graph(plan()).unwrap());
    assert_eq!(live_objects(), before);
}

/// Sizes that no device can have are refused here: drivers round sizes up, and must not be given ones that wrap around.
pub(super) fn the_driver_is_asked_for_what_it_may_have(device: &GpuDevice) {
    let most = fake::MEMORY_BYTES as u64;
    for (bytes, kind, is_asked) in [
        (most, MemoryKind::Device, true),
        (most + 1, MemoryKind::Device, false),
        (most + 1, MemoryKind::PinnedHost, true),
        (1 << 57, MemoryKind::Unified, true),
        ((1 << 57) + 1, MemoryKind::Unified, false),
    ] {
        let calls = calls_of(|| {
            let error = device.allocate(bytes, kind).unwrap_err();
            assert_eq!(error.code(), ErrorCode::OutOfMemory);
        });
        assert_eq!(
            calls.iter().any(|call| call.contains("Alloc")),
            is_asked,
            "{bytes} {}",
            kind.name()
        );
    }
}

pub(super) fn variables_are_where_the_driver_has_them(device: &GpuDevice) {
    let module = device.load_module(PTX).unwrap();
    let counter = module.global("counter").unwrap();
    assert_eq!(
        (counter.ptr, counter.size_bytes),
        (DevicePointer(0x7000), 12)
    );
    for name in ["missing", "with\0zero"] {
        let error = module.global(name).unwrap_err();
        assert_eq!(error.code(), ErrorCode::GlobalNotFound);
        assert_eq!(
            error.to_string(),
            format!("the module has no variable `{name}`; it has none")
        );
    }
    assert_eq!(
        module.global("busy").unwrap_err().to_string(),
        "cuda:0: finding a variable failed: FAKE_ERROR (1)"
    );
}

pub(super) fn a_launch_without_arguments_hands_no_list_over(device: &GpuDevice) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    LAUNCHED.set([0; 7]);
    let config = LaunchConfig::linear(3, 4);
    // SAFETY: the fake writes nothing without arguments.
    unsafe { device.default_stream().launch(&*function, &config, &[]) }.unwrap();
    assert_eq!(LAUNCHED.get(), [3, 1, 1, 4, 1, 1, 0]);
    device.default_stream().synchronize().unwrap();
}

pub(super) fn streams_of_other_libraries_wait_for_what_is_held_here(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let own = stream.native_handle().unwrap();
    let order = |handle| {
        // SAFETY: the fake driver takes any number for a stream.
        calls_of(|| unsafe { device.order_before(handle) }.unwrap())
    };
    let waits = |calls: &[&str]| {
        calls
            .iter()
            .filter(|call| **call == "cuStreamWaitEvent")
            .count()
    };
    // A stream is in order with itself.
    assert_eq!(waits(&order(own)) + 1, waits(&order(usize::MAX as u64)));
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let release = hold(&stream);
    let told = Arc::clone(&done);
    stream
        .call(Box::new(move || {
            told.store(true, Ordering::Release);
            Ok(())
        }))
        .unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| order(usize::MAX as u64));
        release.send(()).unwrap();
        waiting.join().unwrap();
        assert!(done.load(Ordering::Acquire), "the held command came first");
    });
    // SAFETY: as above.
    let wait = || unsafe { device.wait_for_native(own) };
    wait().unwrap();
    NEXT_WAIT.store(999, Ordering::Relaxed);
    assert_eq!(
        wait().unwrap_err().to_string(),
        "cuda:0: waiting for a stream failed: FAKE_ERROR (999)"
    );
}

pub(super) fn errors_of_another_opening_stay_there(device: &GpuDevice, api: &'static Api) {
    let other = GpuDevice::open(api, 0).unwrap();
    let stream = other.create_stream().unwrap();
    let release = hold(&stream);
    stream.call(Box::new(|| Err(failure()))).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| device.synchronize());
        release.send(()).unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
    assert!(stream.is_idle().unwrap(), "it was waited for all the same");
    assert_eq!(other.synchronize(), Err(failure()));
    other.synchronize().unwrap();
}

/// Each stream once, those of other openings too.
pub(super) fn a_wait_for_the_device_waits_for_every_stream(api: &'static Api) {
    let (one, other) = (
        GpuDevice::open(api, 6).unwrap(),
        GpuDevice::open(api, 6).unwrap(),
    );
    let streams = [&one, &one, &other].map(|device| device.create_stream().unwrap());
    let waits = |wait: &dyn Fn()| {
        let calls = calls_of(wait);
        let waits = calls.iter().filter(|call| **call == "cuStreamSynchronize");
        waits.count()
    };
    // The default streams of both, too.
    assert_eq!(waits(&|| one.synchronize().unwrap()), 5);
    assert_eq!(waits(&|| one.wait_idle().unwrap()), 3);
    assert_eq!(waits(&|| other.wait_idle().unwrap()), 2);
    drop(streams);
    assert_eq!(waits(&|| other.synchronize().unwrap()), 2);
}

/// In a child after `fork()` nothing reaches the driver, and everything says why.
pub(super) fn a_forked_child_gets_errors(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    stream.record(&event).unwrap();
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let graph = graph_of_lanes(device, DevicePointer(0), &[]);
    let config = LaunchConfig::linear(1, 1);
    let nowhere = DevicePointer(0);
    let is_forked = |outcome: crate::Result<()>| matches!(outcome, Err(Error::Forked { .. }));
    // SAFETY: the child only looks at what is refused, and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let mut failed = 0;
        let calls = calls_of(|| {
            // SAFETY: everything is refused before memory is touched.
            let checks = unsafe {
                [
                    is_forked(stream.copy(nowhere, nowhere, 0, CopyDirection::DeviceToDevice)),
                    is_forked(stream.fill(nowhere, 1, 0)),
                    is_forked(stream.fill(nowhere, 1, 8)),
                    is_forked(stream.launch(&*function, &config, &[])),
                    is_forked(stream.replay(&*graph)),
                    is_forked(stream.record(&event)),
                    is_forked(stream.wait(&event)),
                    is_forked(stream.call(Box::new(|| Ok(())))),
                    is_forked(stream.notify(&event, Box::new(|| {}))),
                    is_forked(stream.synchronize()),
                    is_forked(stream.is_idle().map(drop)),
                    is_forked(stream.lend(&Arc::from("x"), &mut |_| Ok(())).map(drop)),
                    stream.depth() == 0,
                    is_forked(event.synchronize()),
                    !event.is_complete() && event.timestamp_ns().is_none(),
                    is_forked(function.residence(1, 0).map(drop)),
                    is_forked(device.allocate(8, MemoryKind::Device).map(drop)),
                    is_forked(device.free(nowhere, 8, MemoryKind::Device)),
                    is_forked(device.memory_info().map(drop)),
                    is_forked(device.create_stream().map(drop)),
                    is_forked(device.create_event().map(drop)),
                    is_forked(device.load_module(PTX).map(drop)),
                    is_forked(device.create_graph(GraphPlan::default()).map(drop)),
                    is_forked(device.order_before(1)),
                    is_forked(device.wait_for_native(1)),
                    is_forked(device.with_current(&mut || {})),
                    is_forked(device.wait_idle()),
                    is_forked(device.synchronize()),
                    device.ordinal_of_address(DevicePointer(0x1000)).is_none(),
                ]
            };
            failed = checks
                .iter()
                .position(|passed| !passed)
                .map_or(0, |at| at + 1);
            drop((stream, event, function, graph));
        });
        let code = if calls.is_empty() { failed } else { 99 };
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(code as i32) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status));
    assert_eq!(libc::WEXITSTATUS(status), 0, "number of the failed check");
    stream.synchronize().unwrap();
}

/// A lost device whose driver will not have it reset, and then one that makes no new context.
pub(super) fn a_device_that_cannot_be_recovered_says_so(api: &'static Api) {
    let device = GpuDevice::open(api, 2).unwrap();
    let stream = device.create_stream().unwrap();
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    for _ in 0..2 {
        // SAFETY: the kernel writes one word of live memory.
        unsafe { stream.launch(&*function, &LaunchConfig::linear(1, 1), &words(ptr, 7)) }.unwrap();
    }
    NEXT_WAIT.store(700, Ordering::Relaxed);
    stream.synchronize().unwrap_err();
    RESET.store(46, Ordering::Relaxed);
    let error = GpuDevice::open(api, 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cuda:2 stopped answering: the fake driver does not let this process use it again after a fault \
         (cuda:2: resetting the device failed: FAKE_ERROR (46)); start a new process"
    );
    assert_eq!(error.code(), ErrorCode::DeviceLost);
    RESET.store(0, Ordering::Relaxed);
    let again = GpuDevice::open(api, 2).unwrap();
    assert!(!again.is_lost());
    // Lost once does not make it lost for ever: the next opening shares the new context and says nothing.
    let third = GpuDevice::open(api, 2).unwrap();
    assert_eq!(again.memory_domain(), third.memory_domain());
}
