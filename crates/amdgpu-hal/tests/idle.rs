//! Whoever waits sleeps, and threads end with those that they worked for. One test, alone in its process: the processor time and the list of
//! threads belong to all of it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod scene {
    pub mod endless;
    pub mod usage;
}

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use amdgpu_hal::cpu::pool::{self, Pool};
use amdgpu_hal::{GraphCommand, GraphFunction, GraphPlan, GraphStep};

use scene::endless::{PATIENCE, Scene, hold, is_cancelled};
use scene::usage::processor_time;

/// How long everybody has nothing to do.
const IDLE: Duration = Duration::from_secs(1);
/// The processor time that this may take. A thread that waits actively takes all of [`IDLE`] on a free core; those that look now and then take
/// less than a hundredth of it.
const MAX_BUSY: Duration = Duration::from_millis(250);

/// Threads of ours by the beginning of their name.
fn threads(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|found| found.starts_with(name)).count()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Sleeps, and holds the process to [`MAX_BUSY`]; a few times, since something may just have begun to fall asleep.
fn check_idle(what: &str) {
    let mut busy = Duration::MAX;
    for _ in 0..3 {
        let before = processor_time();
        thread::sleep(IDLE);
        busy = busy.min(processor_time().saturating_sub(before));
        if busy <= MAX_BUSY {
            return;
        }
    }
    panic!("{what}: {busy:?} of {IDLE:?}");
}

#[test]
fn whoever_waits_sleeps_and_threads_end_with_their_owners() {
    let scene = Scene::new();
    what_has_nothing_to_do_sleeps(&scene);
    waits_on_the_host_sleep(&scene);
    streams_and_lanes_that_wait_sleep(&scene);
    callers_of_a_pool_sleep_until_its_threads_are_done();
    a_cancellation_that_takes_long_is_looked_after_now_and_then(&scene);
}

fn what_has_nothing_to_do_sleeps(scene: &Scene) {
    // The pool of the process stays as long as the process.
    pool::global()
        .parallel_for(1000, 1, &|_| thread::sleep(Duration::from_micros(50)))
        .unwrap();
    let of_process = threads("agpu-pool-");
    let pool = Pool::new(3);
    let streams: Vec<_> = (0..3)
        .map(|_| scene.device.create_stream().unwrap())
        .collect();
    for stream in &streams {
        scene.check_usable(stream.as_ref());
    }
    pool.parallel_for(100, 1, &|_| thread::sleep(Duration::from_micros(50)))
        .unwrap();
    let counts = || (threads("agpu-stream-"), threads("agpu-pool-") - of_process);
    assert_eq!(counts(), (3, 2));
    check_idle("threads without work");
    drop((streams, pool));
    // The name of a thread that was joined may be listed a moment longer.
    wait_until("threads end with their owners", || counts() == (0, 0));
}

fn waits_on_the_host_sleep(scene: &Scene) {
    let stream = scene.device.create_stream().unwrap();
    let release = hold(stream.as_ref());
    let event = scene.record(stream.as_ref());
    thread::scope(|scope| {
        let waits = [
            scope.spawn(|| event.synchronize()),
            scope.spawn(|| stream.synchronize()),
            scope.spawn(|| scene.device.synchronize()),
            scope.spawn(|| scene.device.wait_idle()),
        ];
        check_idle("waits on the host");
        assert!(waits.iter().all(|wait| !wait.is_finished()));
        release.send(()).unwrap();
        for wait in waits {
            wait.join().unwrap().unwrap();
        }
    });
}

fn streams_and_lanes_that_wait_sleep(scene: &Scene) {
    let streams: Vec<_> = (0..2)
        .map(|_| scene.device.create_stream().unwrap())
        .collect();
    let release = hold(streams[0].as_ref());
    let event = scene.record(streams[0].as_ref());
    streams[1].wait(&event).unwrap();
    // The second lane and the end of the first wait for the first's host function.
    let (gate, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    let hold_lane = GraphFunction(Arc::new(move || {
        held.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        Ok(())
    }));
    let steps = [
        (1, GraphCommand::Call(hold_lane)),
        (1, GraphCommand::Mark(0)),
        (2, GraphCommand::Wait(0)),
    ];
    let plan = GraphPlan {
        steps: steps
            .map(|(lane, command)| GraphStep { lane, command })
            .into(),
        lane_count: 3,
        mark_count: 1,
    };
    let graph = scene.device.create_graph(plan).unwrap();
    let replaying = scene.device.create_stream().unwrap();
    for _ in 0..2 {
        // SAFETY: the graph touches no memory.
        unsafe { replaying.replay(graph.as_ref()) }.unwrap();
    }
    check_idle("streams and lanes that wait");
    assert!(!streams[1].is_idle().unwrap() && !replaying.is_idle().unwrap());
    release.send(()).unwrap();
    gate.send(()).unwrap();
    gate.send(()).unwrap();
    for stream in streams.iter().chain([&replaying]) {
        stream.synchronize().unwrap();
    }
    drop((streams, replaying, graph));
    wait_until("lanes have threads of their own, which end", || {
        threads("agpu-stream-") == 0
    });
}

fn callers_of_a_pool_sleep_until_its_threads_are_done() {
    let pool = Pool::new(2);
    let (is_held, is_open) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let call = scope.spawn(|| {
            let caller = thread::current().id();
            pool.parallel_for(2, 1, &|_| {
                if thread::current().id() == caller {
                    // The other piece is for the other thread.
                    wait_until("the worker takes part", || is_held.load(Ordering::Relaxed));
                    return;
                }
                is_held.store(true, Ordering::Relaxed);
                wait_until("the worker is let go", || is_open.load(Ordering::Relaxed));
            })
        });
        wait_until("the worker takes part", || is_held.load(Ordering::Relaxed));
        check_idle("the caller of a pool");
        assert!(!call.is_finished());
        is_open.store(true, Ordering::Relaxed);
        call.join().unwrap().unwrap();
    });
}

fn a_cancellation_that_takes_long_is_looked_after_now_and_then(scene: &Scene) {
    let stream = scene.device.create_stream().unwrap();
    let release = hold(stream.as_ref());
    stream
        .call(Box::new(|| panic!("it was cancelled")))
        .unwrap();
    assert_eq!(stream.cancel(), Ok(true));
    wait_until("somebody looks after it", || threads("agpu-stop") == 1);
    check_idle("a cancelled stream whose host code goes on");
    release.send(()).unwrap();
    assert!(is_cancelled(&stream.synchronize()));
    wait_until("nobody looks after it any more", || {
        threads("agpu-stop") == 0
    });
    scene.check_usable(stream.as_ref());
}
