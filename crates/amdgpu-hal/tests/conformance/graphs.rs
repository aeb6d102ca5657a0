use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use amdgpu_abi::ErrorCode;
use amdgpu_hal::{
    CopyDirection, Device, DevicePointer, Error, Graph, GraphCommand, GraphFunction, GraphPlan,
    GraphStep, LaunchConfig, MemoryKind,
};

use super::backend::Backend;
use super::modules::{kernel, pack, read};
use super::streams::block;

const WORDS: u64 = 64;

/// Lane 0 writes `0..64` and lane 1 copies it behind; without the mark between them the copy would be of zeros.
fn counting_graph(
    device: &Arc<dyn Device>,
    backend: &Backend,
    ptr: DevicePointer,
) -> Arc<dyn Graph> {
    let step = |lane, command| GraphStep { lane, command };
    let clear = |lane, offset: u64| {
        step(
            lane,
            GraphCommand::Fill {
                destination: ptr.offset(offset * 8),
                value: 0,
                bytes: WORDS * 8,
            },
        )
    };
    let plan = GraphPlan {
        steps: vec![
            clear(0, 0),
            clear(1, WORDS),
            step(
                0,
                GraphCommand::Launch {
                    function: kernel(device, backend, "index"),
                    config: LaunchConfig::linear(WORDS as u32 / 32, 32),
                    arguments: pack(&[ptr.address(), 0]).into(),
                },
            ),
            step(0, GraphCommand::Mark(0)),
            step(1, GraphCommand::Wait(0)),
            step(
                1,
                GraphCommand::Copy {
                    destination: ptr.offset(WORDS * 8),
                    source: ptr,
                    bytes: WORDS * 8,
                    direction: CopyDirection::DeviceToDevice,
                },
            ),
        ],
        lane_count: 2,
        mark_count: 1,
    };
    device.create_graph(plan).unwrap()
}

pub fn replays_keep_the_order_of_lanes_and_streams(backend: &Backend) {
    let device = backend.open();
    let bytes = 2 * WORDS * 8;
    let ptr = device.allocate(bytes, MemoryKind::Device).unwrap();
    let graph = counting_graph(&device, backend, ptr);
    let expected: Vec<u64> = (0..WORDS).chain(0..WORDS).collect();
    let streams = [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    ];
    for stream in &streams {
        // SAFETY: the graph and the fill stay inside the allocation.
        unsafe {
            stream.fill(ptr, 0xff, bytes).unwrap();
            stream.replay(&*graph).unwrap();
        }
        stream.synchronize().unwrap();
        assert_eq!(read(&device, ptr, 2 * WORDS), expected);
    }
    // Replays in several streams at once: one clears what another writes, but never in the middle.
    for _ in 0..50 {
        for stream in &streams {
            // SAFETY: as above.
            unsafe { stream.replay(&*graph) }.unwrap();
        }
    }
    drop(graph);
    for stream in &streams {
        stream.synchronize().unwrap();
    }
    assert_eq!(read(&device, ptr, 2 * WORDS), expected);
    // SAFETY: no longer used.
    unsafe { device.free(ptr, bytes, MemoryKind::Device) }.unwrap();
}

pub fn a_replay_waits_for_its_stream(backend: &Backend) {
    let device = backend.open();
    let bytes = 2 * WORDS * 8;
    let ptr = device.allocate(bytes, MemoryKind::Device).unwrap();
    let graph = counting_graph(&device, backend, ptr);
    let (stream, other) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    // SAFETY: the graph and the fill stay inside the allocation.
    unsafe { other.fill(ptr, 1, bytes) }.unwrap();
    let release = block(&stream);
    // SAFETY: as above.
    unsafe { stream.replay(&*graph) }.unwrap();
    other.synchronize().unwrap();
    assert!(!stream.is_idle().unwrap());
    release.send(()).unwrap();
    stream.synchronize().unwrap();
    assert!(read(&device, ptr, WORDS).into_iter().eq(0..WORDS));
    // SAFETY: no longer used.
    unsafe { device.free(ptr, bytes, MemoryKind::Device) }.unwrap();
}

pub fn a_stream_that_failed_leaves_the_graph_usable(backend: &Backend) {
    let device = backend.open();
    let bytes = 2 * WORDS * 8;
    let ptr = device.allocate(bytes, MemoryKind::Device).unwrap();
    let graph = counting_graph(&device, backend, ptr);
    let stream = device.create_stream().unwrap();
    let release = block(&stream);
    let failure = Error::HostFunction {
        code: ErrorCode::KernelFault,
        message: "on purpose".into(),
    };
    let error = failure.clone();
    stream.call(Box::new(move || Err(error))).unwrap();
    // Submitted before the failure is there, run after it.
    // SAFETY: the graph stays inside the allocation.
    unsafe { stream.replay(&*graph) }.unwrap();
    release.send(()).unwrap();
    assert_eq!(stream.synchronize(), Err(failure));
    // SAFETY: as above.
    unsafe { stream.replay(&*graph) }.unwrap();
    stream.synchronize().unwrap();
    assert!(read(&device, ptr, WORDS).into_iter().eq(0..WORDS));
    // SAFETY: no longer used.
    unsafe { device.free(ptr, bytes, MemoryKind::Device) }.unwrap();
}

pub fn graphs_of_other_backends_are_refused(backend: &Backend) {
    let other = if backend.name.starts_with("cpu") {
        Backend::null()
    } else {
        Backend::cpu()
    };
    let foreign = other.open().create_graph(GraphPlan::default()).unwrap();
    let device = backend.open();
    // SAFETY: the graph is empty.
    let error = unsafe { device.default_stream().replay(&*foreign) }.unwrap_err();
    assert!(matches!(error, Error::WrongBackend { .. }), "{error}");
    // An empty graph of one's own does nothing.
    let own = device.create_graph(GraphPlan::default()).unwrap();
    // SAFETY: as above.
    unsafe { device.default_stream().replay(&*own) }.unwrap();
    device.synchronize().unwrap();
}

/// A graph of one piece of host code.
fn calling_graph(
    device: &Arc<dyn Device>,
    function: impl Fn() -> amdgpu_hal::Result<()> + Send + Sync + 'static,
) -> amdgpu_hal::Result<Arc<dyn Graph>> {
    device.create_graph(GraphPlan {
        steps: vec![GraphStep {
            lane: 0,
            command: GraphCommand::Call(GraphFunction(Arc::new(function))),
        }],
        lane_count: 1,
        mark_count: 0,
    })
}

pub fn host_code_of_graphs_runs_in_each_replay(backend: &Backend) {
    let device = backend.open();
    let calls = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&calls);
    let graph = calling_graph(&device, move || {
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    })
    .unwrap();
    let streams = [
        Arc::clone(device.default_stream()),
        device.create_stream().unwrap(),
    ];
    for stream in &streams {
        // SAFETY: the graph touches no memory of the device.
        unsafe { stream.replay(&*graph) }.unwrap();
        stream.synchronize().unwrap();
    }
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

/// A graph of two lanes that meet; every run counts in both.
fn counting_lanes(device: &Arc<dyn Device>, calls: &Arc<AtomicU64>) -> Arc<dyn Graph> {
    let step = |lane, command| GraphStep { lane, command };
    let count = |lane| {
        let calls = Arc::clone(calls);
        let function = move || {
            calls.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        step(lane, GraphCommand::Call(GraphFunction(Arc::new(function))))
    };
    let steps = vec![
        count(0),
        step(0, GraphCommand::Mark(0)),
        step(1, GraphCommand::Wait(0)),
        count(1),
    ];
    let plan = GraphPlan {
        steps,
        lane_count: 2,
        mark_count: 1,
    };
    device.create_graph(plan).unwrap()
}

pub fn a_replay_behind_a_pending_one_does_not_hold_its_submitter(backend: &Backend) {
    let device = backend.open();
    let calls = Arc::new(AtomicU64::new(0));
    let graph = counting_lanes(&device, &calls);
    let stream = device.create_stream().unwrap();
    let release = block(&stream);
    // SAFETY: the graph touches no memory of the device.
    unsafe { stream.replay(&*graph) }.unwrap();
    let (submitted, signal) = mpsc::channel();
    let (replayed, default) = (Arc::clone(&graph), Arc::clone(device.default_stream()));
    let thread = thread::spawn(move || {
        // SAFETY: as above.
        unsafe { default.replay(&*replayed) }.unwrap();
        submitted.send(()).unwrap();
    });
    let outcome = signal.recv_timeout(Duration::from_secs(30));
    let idle = device.default_stream().is_idle().unwrap();
    release.send(()).unwrap();
    thread.join().unwrap();
    outcome.expect("the default stream waited for the other stream's replay on the calling thread");
    assert!(!idle, "the replays overlap");
    device.synchronize().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 4);
}

pub fn a_replay_that_a_failed_stream_refuses_changes_nothing_for_others(backend: &Backend) {
    let device = backend.open();
    let calls = Arc::new(AtomicU64::new(0));
    let graph = counting_lanes(&device, &calls);
    let (first, failed, third) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let failure = Error::HostFunction {
        code: ErrorCode::KernelFault,
        message: "on purpose".into(),
    };
    let error = failure.clone();
    failed.call(Box::new(move || Err(error))).unwrap();
    device.wait_idle().unwrap();
    let release = block(&first);
    // SAFETY: the graph touches no memory of the device.
    let refused = unsafe {
        first.replay(&*graph).unwrap();
        let refused = failed.replay(&*graph);
        third.replay(&*graph).unwrap();
        refused
    };
    assert_eq!(refused, Err(failure.clone()));
    assert!(failed.is_idle().unwrap());
    // Given time to overtake; the replay before it is held.
    thread::sleep(Duration::from_millis(50));
    assert!(!third.is_idle().unwrap(), "it overtook the replay before");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    release.send(()).unwrap();
    first.synchronize().unwrap();
    third.synchronize().unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 4);
    assert_eq!(failed.synchronize(), Err(failure));
}

pub fn errors_and_panics_of_host_code_stick_to_the_stream_that_replays(backend: &Backend) {
    let device = backend.open();
    let failure = Error::HostFunction {
        code: ErrorCode::KernelFault,
        message: "on purpose".into(),
    };
    let error = failure.clone();
    let failing = calling_graph(&device, move || Err(error.clone())).unwrap();
    let panicking = calling_graph(&device, || panic!("on purpose")).unwrap();
    let stream = device.create_stream().unwrap();
    // SAFETY: the graphs touch no memory of the device.
    unsafe { stream.replay(&*failing) }.unwrap();
    assert_eq!(stream.synchronize(), Err(failure));
    // SAFETY: as above.
    unsafe { stream.replay(&*panicking) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error}");
    stream.synchronize().unwrap();
}

pub fn host_code_in_graphs_of_gpus_is_refused(backend: &Backend) {
    let device = backend.open();
    let error = calling_graph(&device, || Ok(())).unwrap_err();
    assert!(error.to_string().contains("no host code"), "{error}");
}
