//! What a forked child sees of objects that its parent made. Alone in its process, because a fork copies only the calling thread.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene {
    pub mod endless;
}

use std::sync::atomic::{AtomicU64, Ordering};

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::{
    CopyDirection, Error, GraphPlan, LaunchConfig, MemoryKind, Result, Stream, cpu::pool, registry,
};

use scene::endless::Scene;

fn is_forked<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| {
        matches!(error, Error::Forked { .. }) && error.code() == ErrorCode::Forked
    })
}

/// Runs in the child; the number of the first check that fails, 0 for none.
fn child_checks(parent: &Parent) -> i32 {
    let mut checks = null_checks(parent).into_iter().chain(cpu_checks(parent));
    checks
        .position(|passed| !passed)
        .map_or(0, |index| index as i32 + 1)
}

fn null_checks(parent: &Parent) -> Vec<bool> {
    let Parent {
        event,
        block,
        null_device,
        null_stream,
        ..
    } = parent;
    vec![
        is_forked(null_stream.synchronize()),
        is_forked(null_stream.is_idle()),
        is_forked(null_stream.call(Box::new(|| Ok(())))),
        is_forked(null_stream.record(event)),
        is_forked(null_stream.wait(event)),
        // SAFETY: nothing is written; a forked stream refuses before it looks at the address.
        is_forked(unsafe { null_stream.fill(*block, 0, 0) }),
        // SAFETY: as above.
        is_forked(unsafe { null_stream.copy(*block, *block, 0, CopyDirection::DeviceToDevice) }),
        is_forked(null_stream.notify(event, Box::new(|| {}))),
        is_forked(null_device.allocate(64, MemoryKind::Device)),
        is_forked(null_device.create_stream()),
        is_forked(null_device.create_event()),
        is_forked(null_device.create_graph(GraphPlan::default())),
        is_forked(null_device.load_module(b"")),
        is_forked(null_device.memory_info()),
        is_forked(null_device.wait_idle()),
        is_forked(null_device.synchronize()),
    ]
}

fn cpu_checks(parent: &Parent) -> Vec<bool> {
    let Parent {
        device,
        stream,
        event,
        block,
        graph,
        scene,
        ..
    } = parent;
    let (add, arguments) = (scene.add.as_ref(), scene.arguments());
    let launched_in = |stream: &dyn Stream| {
        // SAFETY: nothing is launched.
        is_forked(unsafe { stream.launch(add, &LaunchConfig::linear(1, 1), &arguments) })
    };
    vec![
        is_forked(stream.is_idle()),
        is_forked(stream.wait(event)),
        // SAFETY: as above.
        is_forked(unsafe { stream.fill(*block, 0, 0) }),
        // SAFETY: as above.
        is_forked(unsafe { stream.copy(*block, *block, 0, CopyDirection::DeviceToDevice) }),
        launched_in(stream.as_ref()),
        launched_in(device.default_stream().as_ref()),
        // SAFETY: nothing is replayed.
        is_forked(unsafe { stream.replay(graph.as_ref()) }),
        is_forked(stream.cancel()),
        stream.depth() == 0,
        event.timestamp_ns().is_none(),
        is_forked(device.load_module(b"")),
        is_forked(device.create_graph(GraphPlan::default())),
        is_forked(device.create_event()),
        is_forked(device.wait_idle()),
        is_forked(stream.synchronize()),
        is_forked(stream.call(Box::new(|| Ok(())))),
        is_forked(stream.record(event)),
        is_forked(device.default_stream().call(Box::new(|| Ok(())))),
        is_forked(device.allocate(64, MemoryKind::Device)),
        is_forked(device.create_stream()),
        is_forked(device.synchronize()),
        is_forked(device.memory_info()),
        is_forked(event.synchronize()),
        !event.is_complete(),
        // SAFETY: the child frees its own copy of the block, once.
        unsafe { device.free(*block, 64, MemoryKind::Device) }.is_ok(),
        parallel_sum() == 499_500,
        fresh_device_works().is_ok(),
    ]
}

fn parallel_sum() -> u64 {
    let sum = AtomicU64::new(0);
    let outcome = pool::global().parallel_for(1000, 1, &|range| {
        sum.fetch_add(range.sum(), Ordering::Relaxed);
    });
    if outcome.is_ok() { sum.into_inner() } else { 0 }
}

fn fresh_device_works() -> Result<()> {
    let device = registry::open_device("cpu:0")?;
    let stream = device.create_stream()?;
    stream.call(Box::new(|| Ok(())))?;
    stream.synchronize()
}

struct Parent {
    device: std::sync::Arc<dyn amdgpu_hal::Device>,
    stream: std::sync::Arc<dyn amdgpu_hal::Stream>,
    event: std::sync::Arc<dyn amdgpu_hal::Event>,
    block: amdgpu_hal::DevicePointer,
    null_device: std::sync::Arc<dyn amdgpu_hal::Device>,
    null_stream: std::sync::Arc<dyn amdgpu_hal::Stream>,
    /// Two lanes without a command.
    graph: std::sync::Arc<dyn amdgpu_hal::Graph>,
    scene: Scene,
}

#[test]
fn a_forked_child_gets_errors_instead_of_hanging() {
    // SAFETY: this is the only test of its process, and no other thread reads the environment meanwhile.
    unsafe { std::env::set_var("AMDGPU_CPU_THREADS", "3") };
    let device = registry::open_device("cpu:0").unwrap();
    let null_device = registry::open_device("null:gfx1100").unwrap();
    let stream = device.create_stream().unwrap();
    let event = device.create_event().unwrap();
    let block = device.allocate(64, MemoryKind::Device).unwrap();
    stream.call(Box::new(|| Ok(()))).unwrap();
    stream.record(&event).unwrap();
    stream.synchronize().unwrap();
    let plan = GraphPlan {
        lane_count: 2,
        ..GraphPlan::default()
    };
    let graph = device.create_graph(plan).unwrap();
    assert_eq!(parallel_sum(), 499_500);
    assert!(event.timestamp_ns().is_some());
    assert!(pool::global().is_started());
    let parent = Parent {
        device,
        stream,
        event,
        block,
        null_stream: null_device.create_stream().unwrap(),
        null_device,
        graph,
        scene: Scene::new(),
    };
    // SAFETY: the child only uses what this crate promises to work after a fork, and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let failed = child_checks(&parent);
        drop(parent);
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(failed) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status));
    assert_eq!(libc::WEXITSTATUS(status), 0, "number of the failed check");
    // The parent goes on unharmed.
    parent.stream.call(Box::new(|| Ok(()))).unwrap();
    parent.stream.synchronize().unwrap();
    // SAFETY: live in this process and freed once.
    unsafe { parent.device.free(parent.block, 64, MemoryKind::Device) }.unwrap();
}
