//! Our side of the table, over a driver that runs commands at once. One test, since what the fake driver answers belongs to the process.

mod blame;
mod driver;
mod refusals;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};

use super::api::Api;
use super::device::GpuDevice;
use super::fake::{
    self, CLOCK_AHEAD_NS, CURRENT, LAUNCHED, NEXT_WAIT, RELEASES, RESETS, calls_of, live_objects,
};
use crate::{
    CopyDirection, Device, DevicePointer, Error, GraphCommand, GraphPlan, GraphStep, LaunchConfig,
    MemoryKind, Stream,
};

const PTX: &[u8] = b".version 7.8\n.target sm_90\n.visible .entry store(\n";

fn failure() -> Error {
    Error::Panicked {
        message: "number 4".to_string(),
    }
}

fn read(device: &GpuDevice, ptr: DevicePointer) -> u64 {
    let mut word = 0_u64;
    let host = DevicePointer::from_host(&raw mut word);
    let stream = device.default_stream();
    // SAFETY: both ranges hold a word and outlive the wait.
    unsafe { stream.copy(host, ptr, 8, CopyDirection::DeviceToHost) }.unwrap();
    stream.synchronize().unwrap();
    word
}

/// Occupies a stream until the returned sender is used or dropped.
fn hold(stream: &Arc<dyn Stream>) -> mpsc::Sender<()> {
    let (release, gate) = mpsc::channel::<()>();
    let wait = move || {
        let _ = gate.recv();
        Ok(())
    };
    stream.call(Box::new(wait)).unwrap();
    release
}

fn a_thread_without_a_context_stays_on_the_first_device(api: &'static Api) {
    let ours = CURRENT.replace(0);
    let second = GpuDevice::open(api, 1).unwrap();
    second.allocate(8, MemoryKind::Device).unwrap();
    let mut seen = 0;
    second.with_current(&mut || seen = CURRENT.get()).unwrap();
    assert_ne!(seen, 0);
    assert_eq!(CURRENT.get(), 0);
    let first = GpuDevice::open(api, 0).unwrap();
    first.with_current(&mut || {}).unwrap();
    assert_eq!(CURRENT.get(), ours);
}

fn devices_are_described_by_their_driver(device: &GpuDevice) {
    let info = device.info();
    assert_eq!(info.product_name, "fake");
    assert_eq!(info.uuid.as_deref(), Some("FAKE-7"));
    assert_eq!(info.driver_version.as_deref(), Some("1"));
    // Attributes are 100 and the number that the vendor's table has for them.
    assert_eq!(info.clock_hertz, Some(113_000));
    assert_eq!(info.memory_clock_hertz, Some(136_000));
    assert_eq!(info.memory_bus_bits, Some(137));
    assert_eq!(info.caches.level2_bytes, Some(138));
    assert_eq!(
        (info.warp_size, info.max_threads_per_unit),
        (110, Some(139))
    );
    assert_eq!(
        (info.max_threads_per_block, info.compute_units),
        (101, Some(116))
    );
    assert_eq!(
        (info.max_block, info.max_grid),
        ([102, 103, 104], [105, 106, 107])
    );
    // There is no larger limit to ask for.
    assert_eq!(info.shared_memory_per_block_bytes, 108);
    assert_eq!(info.total_memory_bytes, fake::MEMORY_BYTES as u64);
    assert_eq!(
        (info.ordinal, info.physical_cores, info.logical_cores),
        (0, None, None)
    );
    assert_eq!(device.ordinal_of_address(DevicePointer(8)), None);
}

fn drivers_tell_what_a_kernel_occupies(device: &GpuDevice) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let residence = function.residence(256, 0).unwrap().unwrap();
    assert_eq!((residence.registers, residence.blocks_per_unit), (44, 8));
    assert_eq!((residence.shared_bytes, residence.local_bytes), (41, 43));
}

fn launches_reach_the_driver_as_they_were_given(device: &GpuDevice) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let arguments = words(ptr, 7);
    let config = |block, shared_bytes| LaunchConfig {
        grid: [2, 3, 4],
        block,
        shared_bytes,
    };
    let launch = |config: LaunchConfig| {
        // SAFETY: the kernel writes one word of live memory.
        unsafe { stream.launch(&*function, &config, &arguments) }
    };
    launch(config([5, 6, 7], 16)).unwrap();
    assert_eq!(LAUNCHED.get(), [2, 3, 4, 5, 6, 7, 16]);
    // More shared memory than a kernel has without asking is asked for once.
    let plain = 48 << 10;
    for (shared_bytes, asks) in [
        (plain, 0),
        (plain + 1, 1),
        (plain + 1, 0),
        (plain, 0),
        (plain + 2, 1),
    ] {
        let calls = calls_of(|| launch(config([1, 1, 1], shared_bytes)).unwrap());
        let asked = calls.iter().filter(|call| **call == "cuFuncSetAttribute");
        assert_eq!(asked.count(), asks, "{shared_bytes}: {calls:?}");
    }
    let refused = launch(config([32, 33, 1], 0)).unwrap_err().to_string();
    assert!(
        refused.contains(
            "`store` was launched with 1056 threads per block and its registers leave room for 40"
        ),
        "{refused}"
    );
    stream.synchronize().unwrap();
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

fn modules_that_the_driver_refuses_come_with_its_log(device: &GpuDevice) {
    let before = live_objects();
    let broken = b".version 7.8\n.target sm_90\n.broken\n.visible .entry store(\n";
    let error = device.load_module(broken).unwrap_err();
    assert!(matches!(error, Error::InvalidModule { .. }));
    let text = error.to_string();
    assert!(
        text.ends_with("the driver's compiler says: line 3: .broken"),
        "{text}"
    );
    let module = device.load_module(PTX).unwrap();
    assert_eq!(module.function_names(), ["store"]);
    let missing = module.function("stare").unwrap_err().to_string();
    assert!(missing.contains("store"), "{missing}");
    assert!(module.global("variable").is_err());
    // The code stays as long as a kernel of it is there.
    let function = module.function("store").unwrap();
    drop(module);
    assert_eq!(live_objects(), before + 1);
    assert_eq!(function.name(), "store");
    drop(function);
    assert_eq!(live_objects(), before);
}

/// What the driver keeps for us goes when we have no more use for it, but for the events that wait for their next use.
fn nothing_is_left_behind(api: &'static Api) {
    let round = |device: &GpuDevice| {
        let stream = device.create_stream().unwrap();
        let events: Vec<_> = (0..3).map(|_| device.create_event().unwrap()).collect();
        for event in &events {
            stream.record(event).unwrap();
        }
        graph_of_lanes(device, DevicePointer(0), &[0, 0, 0]);
        stream.synchronize().unwrap();
    };
    let own = GpuDevice::open(api, 1).unwrap();
    round(&own);
    let spare = live_objects();
    round(&own);
    assert_eq!(live_objects(), spare);
    let (before, releases) = (live_objects(), RELEASES.load(Ordering::Relaxed));
    drop(own);
    assert!(live_objects() < before);
    assert_eq!(RELEASES.load(Ordering::Relaxed), releases + 1);
}

/// Fills a byte in each of as many lanes, which begin behind one copy-free mark.
fn graph_of_lanes(device: &GpuDevice, ptr: DevicePointer, values: &[u8]) -> Arc<dyn crate::Graph> {
    let fills = values.iter().enumerate().map(|(lane, value)| GraphStep {
        lane,
        command: GraphCommand::Fill {
            destination: ptr.offset(lane as u64),
            value: *value,
            bytes: 1,
        },
    });
    let plan = GraphPlan {
        steps: fills.collect(),
        lane_count: values.len(),
        mark_count: 0,
    };
    device.create_graph(plan).unwrap()
}

fn lanes_of_graphs_that_no_event_orders_are_recorded_and_joined(device: &GpuDevice) {
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    for values in [&[1][..], &[1, 2], &[1, 2, 3, 4]] {
        // SAFETY: the range is the allocation.
        unsafe { device.default_stream().fill(ptr, 0, 8) }.unwrap();
        let graph = graph_of_lanes(device, ptr, values);
        assert_eq!(read(device, ptr), 0, "nothing runs while it is recorded");
        // SAFETY: the graph stays inside the allocation.
        unsafe { device.default_stream().replay(&*graph) }.unwrap();
        let mut expected = [0_u8; 8];
        expected[..values.len()].copy_from_slice(values);
        assert_eq!(read(device, ptr), u64::from_le_bytes(expected));
    }
    // Host code in it ends the recording, and the thread records nothing any more.
    let call = crate::GraphFunction(Arc::new(|| Ok(())));
    let step = GraphStep {
        lane: 0,
        command: GraphCommand::Call(call),
    };
    let plan = GraphPlan {
        steps: vec![step],
        lane_count: 1,
        mark_count: 0,
    };
    let before = live_objects();
    let error = device.create_graph(plan).unwrap_err().to_string();
    assert!(error.contains("no host code"), "{error}");
    assert_eq!(live_objects(), before);
    // SAFETY: the range is the allocation.
    unsafe { device.default_stream().fill(ptr, 9, 1) }.unwrap();
    assert_eq!(read(device, ptr) & 0xff, 9);
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

/// Events that the driver reaches late: the time is that of the driver, and nobody takes them for complete before.
fn event_times_are_those_of_the_driver(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    // Ties the clocks.
    stream.record(&event).unwrap();
    fake::hold_events();
    let submitted_ns = crate::clock::now_ns();
    stream.record(&event).unwrap();
    assert!(!event.is_complete() && event.timestamp_ns().is_none());
    assert_eq!((stream.is_idle(), stream.depth() > 0), (Ok(false), true));
    std::thread::sleep(std::time::Duration::from_millis(12));
    let early_ns = crate::clock::now_ns();
    fake::release_events();
    let late_ns = crate::clock::now_ns();
    std::thread::sleep(std::time::Duration::from_millis(12));
    assert!(event.is_complete());
    assert_eq!((stream.is_idle(), stream.depth()), (Ok(true), 0));
    let reached_ns = event.timestamp_ns().unwrap();
    // Floats of milliseconds since the clocks were tied, at most a second ago, and the tie itself.
    let slack_ns = 1_000_000;
    assert!(
        reached_ns + slack_ns >= early_ns,
        "{submitted_ns} {early_ns} {reached_ns}"
    );
    assert!(reached_ns <= late_ns + slack_ns, "{late_ns} {reached_ns}");
    assert_eq!(event.timestamp_ns(), Some(reached_ns));
}

/// The host knows when it submitted and when it asks: no clock of a driver puts a time outside of that.
fn event_times_lie_between_submission_and_question(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    for ahead_ns in [-10_000_000_000, 10_000_000_000] {
        CLOCK_AHEAD_NS.store(ahead_ns, Ordering::Relaxed);
        let event = device.create_event().unwrap();
        let before_ns = crate::clock::now_ns();
        stream.record(&event).unwrap();
        let reached_ns = event.timestamp_ns().unwrap();
        assert!(
            (before_ns..=crate::clock::now_ns()).contains(&reached_ns),
            "{ahead_ns}: {before_ns} {reached_ns}"
        );
    }
    CLOCK_AHEAD_NS.store(0, Ordering::Relaxed);
}

fn nothing_is_asked_of_the_driver_for_no_bytes(device: &GpuDevice) {
    let stream = device.default_stream();
    let nowhere = DevicePointer(0);
    let calls = calls_of(|| {
        // SAFETY: no bytes are touched.
        unsafe {
            stream
                .copy(nowhere, nowhere, 0, CopyDirection::DeviceToDevice)
                .unwrap();
            stream.fill(nowhere, 1, 0).unwrap();
        }
    });
    assert_eq!(calls, [""; 0]);
    let never = device.create_event().unwrap();
    assert!(never.is_complete() && never.timestamp_ns().is_none());
    stream.wait(&never).unwrap();
    let (sender, told) = mpsc::channel();
    stream
        .notify(&never, Box::new(move || sender.send(()).unwrap()))
        .unwrap();
    told.try_recv().unwrap();
}

fn commands_behind_host_functions_are_held(device: &GpuDevice) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let (stream, other) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let mut arguments: Vec<u8> = [ptr.address(), 7]
        .into_iter()
        .flat_map(u64::to_ne_bytes)
        .collect();
    let config = LaunchConfig::linear(1, 1);
    let launch = |arguments: &[u8]| {
        // SAFETY: the kernel writes one word of live memory.
        unsafe { stream.launch(&*function, &config, arguments) }
    };
    launch(&arguments).unwrap();
    // Nothing was held, so the driver had it at once.
    assert_eq!(read(device, ptr), 7);
    let release = hold(&stream);
    arguments[8] = 9;
    launch(&arguments).unwrap();
    arguments.fill(0xff);
    let event = device.create_event().unwrap();
    stream.record(&event).unwrap();
    other.wait(&event).unwrap();
    // SAFETY: the range is the allocation.
    unsafe { other.fill(ptr.offset(1), 1, 1) }.unwrap();
    assert_eq!(read(device, ptr), 7);
    assert_eq!((stream.depth(), other.depth()), (4, 2));
    assert_eq!((stream.is_idle(), other.is_idle()), (Ok(false), Ok(false)));
    assert!(!event.is_complete() && event.timestamp_ns().is_none());
    let (sender, notified) = mpsc::channel();
    let reached = Arc::clone(&event);
    let notification = Box::new(move || sender.send(reached.timestamp_ns()).unwrap());
    stream.notify(&event, notification).unwrap();
    release.send(()).unwrap();
    other.synchronize().unwrap();
    assert_eq!(read(device, ptr), 0x0109);
    assert!(event.is_complete());
    assert!(notified.recv().unwrap().is_some());
    stream.synchronize().unwrap();
    assert_eq!((stream.depth(), other.depth()), (0, 0));
    assert_eq!((stream.is_idle(), other.is_idle()), (Ok(true), Ok(true)));
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

fn failures_stick_and_travel_with_events(device: &GpuDevice) {
    let (failing, waiting) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let (before, after) = (
        device.create_event().unwrap(),
        device.create_event().unwrap(),
    );
    failing.record(&before).unwrap();
    failing.call(Box::new(|| panic!("number {}", 4))).unwrap();
    failing.record(&after).unwrap();
    waiting.wait(&after).unwrap();
    before.synchronize().unwrap();
    assert_eq!(after.synchronize(), Err(failure()));
    assert_eq!(waiting.synchronize(), Err(failure()));
    assert_eq!(device.synchronize(), Err(failure()));
    failing.synchronize().unwrap();
    let own = Arc::downgrade(&failing);
    let wait = move || own.upgrade().map_or(Ok(()), |stream| stream.synchronize());
    failing.call(Box::new(wait)).unwrap();
    assert!(matches!(
        failing.synchronize(),
        Err(Error::WouldDeadlock { .. })
    ));
}

fn memory_is_counted_and_refused(device: &GpuDevice) {
    let bytes = fake::MEMORY_BYTES as u64;
    for asked in [bytes / 2 + 1, bytes + 1, u64::MAX] {
        let error = device.allocate(asked, MemoryKind::Device).unwrap_err();
        assert!(
            matches!(error, Error::OutOfMemory { requested_bytes, .. } if requested_bytes == asked)
        );
    }
    for kind in MemoryKind::ALL {
        let ptr = device.allocate(100, kind).unwrap();
        assert_eq!(device.memory_info().unwrap().used_bytes, 100);
        // SAFETY: live, unused and freed once.
        unsafe { device.free(ptr, 100, kind) }.unwrap();
    }
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
}

fn the_current_context_of_others_comes_back(device: &GpuDevice) {
    let foreign = 0x0bad;
    let ours = CURRENT.replace(foreign);
    device.memory_info().unwrap();
    assert_eq!(CURRENT.get(), foreign);
    let mut seen = 0;
    device.with_current(&mut || seen = CURRENT.get()).unwrap();
    assert_eq!((seen, CURRENT.get()), (ours, foreign));
    CURRENT.set(ours);
}

fn words(address: DevicePointer, value: u64) -> Vec<u8> {
    [address.address(), value]
        .into_iter()
        .flat_map(u64::to_ne_bytes)
        .collect()
}

fn launches_make_few_calls_of_the_driver(device: &GpuDevice) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let arguments = words(ptr, 7);
    let config = LaunchConfig::linear(1, 1);
    // SAFETY: the kernel writes one word of live memory.
    let launch = || unsafe { stream.launch(&*function, &config, &arguments) }.unwrap();
    let plain = calls_of(launch);
    assert_eq!(plain, ["cuCtxGetCurrent", "cuLaunchKernel"]);
    for _ in 0..3 {
        stream.record(&event).unwrap();
    }
    // Events come from those that were recorded before, and none is made or destroyed.
    // Once a second the clocks are tied again, which makes a few more calls.
    let recorded = (0..3).map(|_| calls_of(|| stream.record(&event).unwrap()));
    let fewest = recorded.min_by_key(Vec::len).unwrap();
    assert_eq!(fewest, ["cuCtxGetCurrent", "cuEventRecord"]);
    stream.synchronize().unwrap();
    // Streams of other libraries wait behind each of ours, by events that exist already.
    drop(stream);
    // SAFETY: the fake driver takes any number for a stream.
    let order = || unsafe { device.order_before(2) }.unwrap();
    order();
    let ordering = calls_of(order);
    let waits = |name| ordering.iter().filter(|call| **call == name).count();
    assert!(waits("cuEventRecord") >= 1, "{ordering:?}");
    assert_eq!(waits("cuStreamWaitEvent"), waits("cuEventRecord"));
    assert_eq!(waits("create"), 0);
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

fn graphs_run_when_they_are_replayed(device: &GpuDevice) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(24, MemoryKind::Device).unwrap();
    let step = |lane, command| GraphStep { lane, command };
    let plan = GraphPlan {
        steps: vec![
            step(
                0,
                GraphCommand::Launch {
                    function,
                    config: LaunchConfig::linear(1, 1),
                    arguments: words(ptr, 7).into(),
                },
            ),
            step(0, GraphCommand::Mark(0)),
            step(1, GraphCommand::Wait(0)),
            step(
                1,
                GraphCommand::Copy {
                    destination: ptr.offset(8),
                    source: ptr,
                    bytes: 8,
                    direction: CopyDirection::DeviceToDevice,
                },
            ),
            step(
                0,
                GraphCommand::Fill {
                    destination: ptr.offset(16),
                    value: 1,
                    bytes: 8,
                },
            ),
        ],
        lane_count: 2,
        mark_count: 1,
    };
    let graph = device.create_graph(plan).unwrap();
    let all = || [0, 8, 16].map(|offset| read(device, ptr.offset(offset)));
    assert_eq!(all(), [0, 0, 0]);
    // SAFETY: the graph stays inside the allocation.
    let calls = calls_of(|| unsafe { stream.replay(&*graph) }.unwrap());
    assert_eq!(calls, ["cuCtxGetCurrent", "cuGraphLaunch"]);
    assert_eq!(all(), [7, 7, 0x0101_0101_0101_0101]);
    // SAFETY: as above; nothing runs any more.
    unsafe {
        device
            .default_stream()
            .fill(ptr, 0, 24)
            .and_then(|()| device.default_stream().replay(&*graph))
            .unwrap();
    }
    assert_eq!(all(), [7, 7, 0x0101_0101_0101_0101]);
    drop(graph);
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 24, MemoryKind::Device) }.unwrap();
}

fn other_libraries_submit_in_order_with_the_context_current(device: &GpuDevice) {
    let stream = device.create_stream().unwrap();
    let name: Arc<str> = Arc::from("library");
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    let release = hold(&stream);
    // SAFETY: the range is the allocation.
    unsafe { stream.fill(ptr, 3, 8) }.unwrap();
    let (seen, address) = (Arc::new(Mutex::new(Vec::new())), ptr.address());
    let work = {
        let (stream, name, seen) = (Arc::clone(&stream), Arc::clone(&name), Arc::clone(&seen));
        move || {
            // SAFETY: nothing is submitted; the word is live and its fill was waited for.
            unsafe {
                stream.lend(&name, &mut |handle| {
                    let word = (address as *const u64).read();
                    seen.lock()
                        .unwrap()
                        .push((handle, CURRENT.get() != 0, word));
                    Ok(())
                })
            }
        }
    };
    let waiting = std::thread::spawn(work.clone());
    release.send(()).unwrap();
    assert_eq!(waiting.join().unwrap(), Ok(true));
    let handle = stream.native_handle().unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        [(handle, true, 0x0303_0303_0303_0303)]
    );
    // Its failures are its own; those of the stream keep it out.
    // SAFETY: nothing is submitted.
    let failed = unsafe { stream.lend(&name, &mut |_| Err(failure())) };
    assert_eq!(failed, Err(failure()));
    stream.synchronize().unwrap();
    let inside = work.clone();
    stream.call(Box::new(move || inside().map(|_| ()))).unwrap();
    assert!(matches!(
        stream.synchronize(),
        Err(Error::WouldDeadlock { .. })
    ));
    stream.call(Box::new(|| Err(failure()))).unwrap();
    let _ = device.wait_idle();
    assert_eq!(work(), Err(failure()));
    assert_eq!(seen.lock().unwrap().len(), 1);
    assert_eq!(stream.synchronize(), Err(failure()));
    // SAFETY: no longer used.
    unsafe { device.free(ptr, 8, MemoryKind::Device) }.unwrap();
}

/// The last case: it ends the context of the device.
fn a_fault_names_the_kernel_and_the_device_opens_again(device: &GpuDevice, api: &'static Api) {
    let function = device.load_module(PTX).unwrap().function("store").unwrap();
    let stream = device.create_stream().unwrap();
    let ptr = device.allocate(8, MemoryKind::Device).unwrap();
    // SAFETY: the kernel writes one word of live memory.
    unsafe { stream.launch(&*function, &LaunchConfig::linear(1, 1), &words(ptr, 7)) }.unwrap();
    assert!(!device.is_lost());
    NEXT_WAIT.store(700, Ordering::Relaxed);
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(error, Error::DeviceLost { .. }));
    let text = error.to_string();
    assert!(text.contains("FAKE_ILLEGAL_ADDRESS (700)"), "{text}");
    assert!(text.ends_with("the kernel was `store`"), "{text}");
    assert!(device.is_lost());
    // Nothing of the lost context reaches the driver, and everything says why.
    let calls = calls_of(|| {
        assert_eq!(stream.synchronize(), Err(error.clone()));
        assert_eq!(device.allocate(8, MemoryKind::Device), Err(error.clone()));
        // SAFETY: as above.
        assert_eq!(unsafe { stream.fill(ptr, 0, 8) }, Err(error.clone()));
        assert_eq!(device.synchronize(), Err(error.clone()));
        drop(stream);
        drop(function);
    });
    assert_eq!(calls, [""; 0]);
    let (resets, releases) = (&RESETS, &RELEASES);
    let before = (
        resets.load(Ordering::Relaxed),
        releases.load(Ordering::Relaxed),
    );
    let again = GpuDevice::open(api, 0).unwrap();
    let after = (
        resets.load(Ordering::Relaxed),
        releases.load(Ordering::Relaxed),
    );
    assert_eq!(after, (before.0 + 1, before.1 + 1));
    assert!(!again.is_lost() && device.is_lost());
    let fresh = again.allocate(8, MemoryKind::Device).unwrap();
    assert_eq!(read(&again, fresh), 0);
    // Another open of the recovered device shares its context and resets nothing.
    drop(GpuDevice::open(api, 0).unwrap());
    assert_eq!(resets.load(Ordering::Relaxed), after.0);
    // SAFETY: no longer used.
    unsafe { again.free(fresh, 8, MemoryKind::Device) }.unwrap();
}

#[test]
fn a_driver_that_runs_at_once_shows_our_side_of_the_table() {
    let api = Api::fake();
    let device = GpuDevice::open(api, 0).unwrap();
    assert_eq!(device.info().name, "cuda:0");
    assert_eq!(device.info().architecture, "sm_90");
    devices_are_described_by_their_driver(&device);
    memory_is_counted_and_refused(&device);
    the_current_context_of_others_comes_back(&device);
    a_thread_without_a_context_stays_on_the_first_device(api);
    drivers_tell_what_a_kernel_occupies(&device);
    launches_reach_the_driver_as_they_were_given(&device);
    modules_that_the_driver_refuses_come_with_its_log(&device);
    lanes_of_graphs_that_no_event_orders_are_recorded_and_joined(&device);
    nothing_is_left_behind(api);
    event_times_are_those_of_the_driver(&device);
    event_times_lie_between_submission_and_question(&device);
    nothing_is_asked_of_the_driver_for_no_bytes(&device);
    commands_behind_host_functions_are_held(&device);
    failures_stick_and_travel_with_events(&device);
    launches_make_few_calls_of_the_driver(&device);
    graphs_run_when_they_are_replayed(&device);
    other_libraries_submit_in_order_with_the_context_current(&device);
    driver::devices_are_found_by_their_number(api);
    driver::objects_of_another_gpu_are_refused(&device, api);
    driver::a_refused_recording_is_told_to_all_who_wait_for_it(&device);
    driver::spare_events_are_kept_up_to_a_number(&device);
    driver::memory_of_other_processes_is_in_use_too(&device);
    driver::what_the_driver_does_not_make_is_an_error(&device);
    driver::the_driver_is_asked_for_what_it_may_have(&device);
    driver::variables_are_where_the_driver_has_them(&device);
    driver::a_launch_without_arguments_hands_no_list_over(&device);
    driver::streams_of_other_libraries_wait_for_what_is_held_here(&device);
    driver::errors_of_another_opening_stay_there(&device, api);
    driver::a_wait_for_the_device_waits_for_every_stream(api);
    refusals::whatever_the_driver_refuses_is_an_error(&device, api);
    blame::whatever_was_launched_is_blamed(api);
    blame::what_is_not_known_to_be_done_is_counted(&device);
    blame::notifications_come_in_order_whatever_one_of_them_does(&device);
    driver::a_forked_child_gets_errors(&device);
    driver::a_device_that_cannot_be_recovered_says_so(api);
    // A stream dropped by its own command drains by itself.
    let stream = device.create_stream().unwrap();
    let release = hold(&stream);
    let (handle, (sender, receiver)) = (Arc::clone(&stream), mpsc::channel());
    stream
        .call(Box::new(move || {
            drop(handle);
            Ok(())
        }))
        .unwrap();
    stream
        .call(Box::new(move || {
            sender.send(5).unwrap();
            Ok(())
        }))
        .unwrap();
    let dropping = std::thread::spawn(move || drop(stream));
    release.send(()).unwrap();
    assert_eq!(receiver.recv().unwrap(), 5);
    dropping.join().unwrap();
    device.wait_idle().unwrap();
    a_fault_names_the_kernel_and_the_device_opens_again(&device, api);
}
