//! Kernels in graphs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::{CopyDirection, DevicePointer, Stream, registry};
use amdgpu_memory::AllocatorOptions;

use super::super::Kernel;
use super::scene::{Scene, blocks, calls, pointer};
use crate::arguments::Argument;
use crate::graph::{GraphRecorder, Lane};
use crate::open_device::OpenDevice;
use crate::shared::LaunchRecords;

#[test]
fn replays_launch_what_was_recorded_and_are_counted() {
    let scene = Scene::new(LaunchRecords::Sampled);
    let (add, sum) = (scene.kernel("add"), scene.kernel("sum"));
    let mut recorder = GraphRecorder::default();
    let add_arguments = add.pack_arguments(&scene.add_arguments(2)).unwrap();
    let numbers = Argument::Bytes((0..40_u64).flat_map(u64::to_le_bytes).collect());
    let sum_arguments = sum.pack_arguments(&[scene.pointer(), numbers]).unwrap();
    let lane = Lane::Waited;
    recorder
        .launch(&add, blocks(3), &add_arguments, lane)
        .unwrap();
    recorder
        .launch(&sum, blocks(1), &sum_arguments, lane)
        .unwrap();
    recorder
        .launch(&add, blocks(1), &add_arguments, lane)
        .unwrap();
    assert_eq!(recorder.device_name(), Some("cpu:0"));
    let graph = recorder.finish().unwrap();
    let nodes = graph.nodes().iter().map(|node| {
        let kernel = node.kernel.as_ref().unwrap().facts().name.clone();
        (node.kind, kernel, node.config.unwrap().grid[0], node.bytes)
    });
    let nodes: Vec<_> = nodes.collect();
    assert_eq!(
        nodes,
        [
            ("launch", "add".to_owned(), 3, None),
            ("launch", "sum".to_owned(), 1, None),
            ("launch", "add".to_owned(), 1, None),
        ]
    );
    assert_eq!(scene.take(), 0, "nothing runs while it is recorded");
    let replay = |stream: Option<&Arc<dyn Stream>>| {
        // SAFETY: the kernels add to the word of the scene, which outlives the replays.
        unsafe { graph.replay(stream) }.unwrap()
    };
    let times = replay(None);
    assert!(times.start_ns > 0 && times.duration_ns > 0);
    assert_eq!(scene.take(), 6 + 780 + 2);
    let launches = || [&add, &sum].map(|kernel| calls(kernel).0);
    assert_eq!(launches(), [2, 1]);
    let stream = scene.context.create_stream().unwrap();
    let times = replay(Some(&stream));
    assert_eq!(times.duration_ns, 0, "it may still run");
    stream.synchronize().unwrap();
    assert_eq!(scene.take(), 788);
    assert_eq!(launches(), [4, 2]);
    // The time of the replay that was waited for is shared out among its launches.
    let seconds = [&add, &sum].map(|kernel| kernel.sums().unwrap().seconds);
    assert!(seconds.iter().all(|&seconds| seconds > 0.0), "{seconds:?}");
    // Other arguments from the next replay on; nodes that are no launches, or are not there, have none.
    let others = add.pack_arguments(&scene.add_arguments(1000)).unwrap();
    assert_eq!(graph.arguments(2).unwrap().bytes(), add_arguments.bytes());
    graph.set_arguments(2, &others);
    graph.set_arguments(3, &others);
    assert_eq!(graph.arguments(2).unwrap().bytes(), others.bytes());
    assert_eq!(graph.arguments(0).unwrap().bytes(), add_arguments.bytes());
    assert!(graph.arguments(3).is_none());
    replay(None);
    assert_eq!(scene.take(), 6 + 780 + 1000);
}

/// Kernels whose usual times are known share the time of a replay accordingly.
#[test]
fn the_time_of_a_replay_goes_where_it_usually_goes() {
    let scene = Scene::new(LaunchRecords::All);
    let (short, long) = (scene.kernel("add"), scene.kernel("add"));
    let config = blocks(1);
    // A running mean of one long launch, and of one a hundred times as long.
    for (kernel, duration_ns) in [(&short, 80_000), (&long, 8_000_000)] {
        let timing = super::super::Timing::ALONE;
        kernel.launches.count(1);
        kernel.launches.time(timing, 1, 1, duration_ns, &config);
        assert_eq!(kernel.typical_ns(), duration_ns / 8);
    }
    let seconds = |kernel: &Kernel| kernel.sums().unwrap().seconds;
    let before = [&short, &long].map(|kernel| (calls(kernel), seconds(kernel)));
    let mut recorder = GraphRecorder::default();
    for kernel in [&short, &long] {
        let arguments = kernel.pack_arguments(&scene.add_arguments(1)).unwrap();
        recorder
            .launch(kernel, config, &arguments, Lane::Waited)
            .unwrap();
    }
    let graph = recorder.finish().unwrap();
    // SAFETY: the kernels add to the word of the scene, which outlives the replay.
    unsafe { graph.replay(None) }.unwrap();
    let mut shares = Vec::new();
    for (kernel, ((launches, timed), spent)) in [&short, &long].into_iter().zip(before) {
        // An estimate is no measurement.
        assert_eq!(calls(kernel), (launches + 1, timed));
        shares.push(seconds(kernel) - spent);
    }
    let ratio = shares[1] / shares[0];
    assert!((50.0..=200.0).contains(&ratio), "{shares:?}");
}

#[test]
fn copies_go_into_graphs_where_the_driver_reaches_their_memory() {
    let scene = Scene::new(LaunchRecords::None);
    let device = scene.context.open_device().unwrap();
    let (from, to) = (AtomicU64::new(77), AtomicU64::new(0));
    let at = |word: &AtomicU64| DevicePointer::from_host(word.as_ptr());
    let mut recorder = GraphRecorder::default();
    recorder
        .copy(device, at(&to), at(&from), 8, CopyDirection::HostToDevice)
        .unwrap();
    assert_eq!(recorder.device_name(), Some("cpu:0"));
    let null = registry::open_device("null:gfx1100").unwrap();
    let null = OpenDevice::alone(null, 1, AllocatorOptions::default()).unwrap();
    let direction = CopyDirection::DeviceToDevice;
    let mixed = recorder.copy(&null, at(&to), at(&from), 8, direction);
    assert_eq!(
        mixed.unwrap_err().to_string(),
        "work on two devices cannot be part of a graph: the graph began on cpu:0, and this is for null:gfx1100; record a graph for each"
    );
    let graph = recorder.finish().unwrap();
    assert_eq!(graph.nodes().len(), 1);
    assert_eq!(
        (graph.nodes()[0].kind, graph.nodes()[0].bytes),
        ("copy", Some(8))
    );
    // SAFETY: both words outlive the replay.
    unsafe { graph.replay(None) }.unwrap();
    assert_eq!(to.load(Ordering::Relaxed), 77);
    let mut recorder = GraphRecorder::default();
    assert!(
        recorder
            .copy(&null, at(&to), at(&from), 8, direction)
            .is_ok()
    );
    let takes_host_memory = null.info().capabilities.graph_host_copies;
    for direction in [CopyDirection::HostToDevice, CopyDirection::DeviceToHost] {
        let outcome = recorder.copy(&null, at(&to), at(&from), 8, direction);
        assert_eq!(outcome.is_ok(), takes_host_memory);
        if let Err(error) = outcome {
            assert_eq!(error.code(), ErrorCode::NotCapturable);
        }
    }
}

#[test]
fn a_graph_ends_with_the_opening_of_its_kernels() {
    let scene = Scene::new(LaunchRecords::None);
    let kernel = scene.kernel("add");
    let arguments = kernel
        .pack_arguments(&[pointer(&scene.word), Argument::Int(1)])
        .unwrap();
    let mut recorder = GraphRecorder::default();
    recorder
        .launch(&kernel, blocks(1), &arguments, Lane::Waited)
        .unwrap();
    let graph = recorder.finish().unwrap();
    let stream = Arc::clone(&scene.default_stream());
    scene.context.close().unwrap();
    let closed = "device cpu:0 is closed";
    // SAFETY: nothing is replayed.
    let replays = unsafe { [graph.replay(None), graph.replay(Some(&stream))] };
    for outcome in replays {
        assert_eq!(outcome.unwrap_err().to_string(), closed);
    }
    assert_eq!(graph.create_event().unwrap_err().to_string(), closed);
    let mut recorder = GraphRecorder::default();
    let late = recorder.launch(&kernel, blocks(1), &arguments, Lane::Waited);
    assert_eq!(late.unwrap_err().to_string(), closed);
    assert_eq!(scene.take(), 0);
}
