//! Stopping what streams of the CPU device run, kernels that never end included.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene {
    pub mod endless;
}

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use amdgpu_hal::{DevicePointer, Graph, GraphCommand, GraphFunction, GraphPlan, GraphStep, Stream};

use scene::endless::{PATIENCE, Scene, hold, is_cancelled};

#[test]
fn a_fill_behind_a_host_function_does_not_begin_once_the_stream_is_cancelled() {
    let scene = Scene::new();
    let stream = scene.device.create_stream().unwrap();
    let bytes = Box::new(AtomicU64::new(5));
    let fill = |value| {
        let ptr = DevicePointer::from_host(bytes.as_ptr());
        // SAFETY: the word outlives the stream.
        unsafe { stream.fill(ptr, value, 8) }
    };
    let release = hold(stream.as_ref());
    fill(0xff).unwrap();
    assert_eq!(stream.cancel(), Ok(true));
    assert!(
        is_cancelled(&fill(1)),
        "nothing new comes in before somebody heard of it"
    );
    release.send(()).unwrap();
    assert!(is_cancelled(&stream.synchronize()));
    assert_eq!(bytes.load(Ordering::Relaxed), 5);
    fill(0).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(bytes.load(Ordering::Relaxed), 0);
    assert_eq!(stream.cancel(), Ok(false), "nothing is left to cancel");
}

/// The default stream runs on the threads that submit to it, one command at a time all the same.
#[test]
fn a_launch_beside_one_that_runs_on_the_default_stream_comes_after_it() {
    let scene = Scene::new();
    let stream = Arc::clone(scene.device.default_stream());
    thread::scope(|scope| {
        scope.spawn(|| scene.launch(stream.as_ref(), scene.endless.as_ref(), 1));
        while scene.count.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        scene.launch(stream.as_ref(), scene.add.as_ref(), 5);
        let seen = (scene.count.load(Ordering::Relaxed), stream.is_idle());
        scene.stop.store(1, Ordering::Relaxed);
        assert_eq!(seen, (1, Ok(false)));
    });
    stream.synchronize().unwrap();
    assert_eq!(scene.count.load(Ordering::Relaxed), 6);
}

#[test]
fn a_cancellation_does_not_reach_what_is_submitted_after_it_was_heard_of() {
    let scene = Scene::new();
    let (stream, other) = (
        scene.device.create_stream().unwrap(),
        scene.device.create_stream().unwrap(),
    );
    let (release, release_other) = (hold(stream.as_ref()), hold(other.as_ref()));
    let event = scene.record(other.as_ref());
    assert_eq!(stream.cancel(), Ok(true));
    thread::scope(|scope| {
        let hears = scope.spawn(|| stream.synchronize());
        // Behind what `hears` waits for: the stream is never idle in between.
        while stream.depth() < 1 || hears.is_finished() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        stream.wait(&event).unwrap();
        release.send(()).unwrap();
        assert!(is_cancelled(&hears.join().unwrap()));
    });
    scene.launch(stream.as_ref(), scene.add.as_ref(), 7);
    release_other.send(()).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(scene.count.load(Ordering::Relaxed), 7);
    other.synchronize().unwrap();
}

#[test]
fn blocks_that_never_end_are_left_where_they_are() {
    let scene = Scene::new();
    let stream = scene.device.create_stream().unwrap();
    for blocks in [1, 64] {
        scene.occupy(stream.as_ref(), blocks);
        assert_eq!(stream.cancel(), Ok(true));
        assert!(is_cancelled(&stream.synchronize()));
        scene.check_usable(stream.as_ref());
    }
    assert_eq!(scene.stop.load(Ordering::Relaxed), 0, "nobody let them go");
}

/// What ends meanwhile takes nobody with it off the list of those that can be stopped.
#[test]
fn kernels_are_left_after_other_streams_have_ended() {
    let scene = Scene::new();
    let stream = scene.device.create_stream().unwrap();
    scene.occupy(stream.as_ref(), 1);
    let other = scene.device.create_stream().unwrap();
    scene.check_usable(other.as_ref());
    drop(other);
    assert_eq!(stream.cancel(), Ok(true));
    assert!(is_cancelled(&stream.synchronize()));
}

#[test]
fn a_wait_for_another_stream_is_given_up_and_the_other_goes_on() {
    let scene = Scene::new();
    let (first, second) = (
        scene.device.create_stream().unwrap(),
        scene.device.create_stream().unwrap(),
    );
    scene.occupy(first.as_ref(), 1);
    let event = scene.record(first.as_ref());
    second.wait(&event).unwrap();
    scene.launch(second.as_ref(), scene.add.as_ref(), 1);
    let behind = scene.record(second.as_ref());
    // Most of the time, the worker sleeps in the wait by then.
    thread::sleep(Duration::from_millis(20));
    assert_eq!(second.cancel(), Ok(true));
    assert!(is_cancelled(&second.synchronize()));
    assert!(
        is_cancelled(&behind.synchronize()),
        "events carry the error"
    );
    assert!(!event.is_complete());
    assert_eq!(first.cancel(), Ok(true));
    assert!(is_cancelled(&first.synchronize()));
    assert_eq!(
        scene.count.load(Ordering::Relaxed),
        1,
        "the launch behind the wait was left out"
    );
}

#[test]
fn cancelling_a_stream_stops_all_lanes_of_what_it_replays() {
    let scene = Scene::new();
    let graph = scene.endless_graph(3);
    let stream = scene.device.create_stream().unwrap();
    // SAFETY: the kernels use the two words of the scene, which outlives them.
    unsafe { stream.replay(graph.as_ref()) }.unwrap();
    while scene.count.load(Ordering::Relaxed) < 3 {
        thread::yield_now();
    }
    assert_eq!(stream.cancel(), Ok(true));
    assert!(is_cancelled(&stream.synchronize()));
    scene.stop.store(1, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { stream.replay(graph.as_ref()) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(scene.count.load(Ordering::Relaxed), 6);
}

/// A graph of one host function, which counts and then waits for the sender.
fn graph_that_waits(scene: &Scene) -> (Arc<dyn Graph>, Arc<AtomicU64>, mpsc::Sender<()>) {
    let (count, (gate, passed)) = (Arc::new(AtomicU64::new(0)), mpsc::channel::<()>());
    let (counter, passed) = (Arc::clone(&count), Mutex::new(passed));
    let pass = GraphFunction(Arc::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        passed.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        Ok(())
    }));
    let plan = GraphPlan {
        steps: vec![GraphStep {
            lane: 0,
            command: GraphCommand::Call(pass),
        }],
        lane_count: 1,
        mark_count: 0,
    };
    (scene.device.create_graph(plan).unwrap(), count, gate)
}

fn replay(stream: &dyn Stream, graph: &dyn Graph) {
    // SAFETY: the graph touches no memory.
    unsafe { stream.replay(graph) }.unwrap();
}

#[test]
fn a_replay_that_runs_on_its_caller_keeps_nobody_from_submitting_the_next() {
    let scene = Scene::new();
    let (graph, count, gate) = graph_that_waits(&scene);
    let stream = scene.device.create_stream().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| replay(scene.device.default_stream().as_ref(), graph.as_ref()));
        while count.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        replay(stream.as_ref(), graph.as_ref());
        assert_eq!(count.load(Ordering::Relaxed), 1);
        gate.send(()).unwrap();
        gate.send(()).unwrap();
    });
    stream.synchronize().unwrap();
    scene.device.default_stream().synchronize().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

/// What waits for the replay before, in another stream, does not begin once it is cancelled, and the other goes on.
#[test]
fn a_replay_that_is_cancelled_before_it_began_runs_nothing() {
    let scene = Scene::new();
    let (graph, count, gate) = graph_that_waits(&scene);
    let [first, second] = [(); 2].map(|()| scene.device.create_stream().unwrap());
    replay(first.as_ref(), graph.as_ref());
    while count.load(Ordering::Relaxed) == 0 {
        thread::yield_now();
    }
    replay(second.as_ref(), graph.as_ref());
    // Most of the time, its worker sleeps in the wait by then.
    thread::sleep(Duration::from_millis(20));
    assert_eq!(second.cancel(), Ok(true));
    assert!(is_cancelled(&second.synchronize()));
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert!(!first.is_idle().unwrap());
    gate.send(()).unwrap();
    first.synchronize().unwrap();
    gate.send(()).unwrap();
    replay(second.as_ref(), graph.as_ref());
    second.synchronize().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[test]
fn an_idle_stream_has_nothing_to_cancel_and_an_unfinished_one_is_cancelled_once() {
    let scene = Scene::new();
    let stream = scene.device.create_stream().unwrap();
    assert_eq!(stream.cancel(), Ok(false));
    scene.check_usable(stream.as_ref());
    let default = scene.device.default_stream();
    thread::scope(|scope| {
        let runs = scope.spawn(|| scene.launch(default.as_ref(), scene.endless.as_ref(), 1));
        while scene.count.load(Ordering::Relaxed) < 6 {
            thread::yield_now();
        }
        assert_eq!(default.cancel(), Ok(true));
        runs.join().unwrap();
    });
    assert!(is_cancelled(&default.synchronize()));
    scene.check_usable(default.as_ref());
}

#[test]
fn a_default_stream_cancelled_by_its_own_command_takes_the_next_one() {
    let scene = Scene::new();
    let stream = scene.device.default_stream();
    let own = Arc::clone(stream);
    let is_stopped = Arc::new(AtomicU64::new(0));
    let told = Arc::clone(&is_stopped);
    stream
        .call(Box::new(move || {
            told.store(u64::from(own.cancel()?), Ordering::Relaxed);
            Ok(())
        }))
        .unwrap();
    assert_eq!(is_stopped.load(Ordering::Relaxed), 1);
    let outcome = stream.synchronize();
    assert!(outcome.is_ok() || is_cancelled(&outcome), "{outcome:?}");
    // Neither what runs on the calling thread nor what the pool takes part in hears of it any more.
    for blocks in [1, 100] {
        let before = scene.count.load(Ordering::Relaxed);
        scene.launch(stream.as_ref(), scene.add.as_ref(), blocks);
        stream.synchronize().unwrap();
        assert_eq!(
            scene.count.load(Ordering::Relaxed),
            before + u64::from(blocks)
        );
    }
    assert_eq!(stream.cancel(), Ok(false));
}
