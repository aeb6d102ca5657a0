//! The orders of queues, streams, events and graphs of the CPU backend, under a model checker.
//!
//! Random programs of several threads submit to shared streams, record and wait for shared events, replay shared graphs, wait on the host,
//! cancel streams and drop them. The checker (`shuttle`) runs the real code and chooses which thread goes on at every lock, atomic, condition and
//! start of a thread; it reports when none can. Run with `cargo test -p amdgpu-hal --features model --test order_model`;
//! `SHUTTLE_ITERATIONS` sets how many orders each test tries.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use amdgpu_hal::cpu::{CpuDevice, CpuOptions};
use amdgpu_hal::{
    Device, Error, Event, Graph, GraphCommand, GraphFunction, GraphPlan, GraphStep, Stream,
};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

/// Orders that each test tries.
const ITERATIONS: usize = 1_000;
/// Changes of priority among threads that one run of the checker makes (S. Burckhardt et al., "A randomized scheduler with probabilistic
/// guarantees of finding bugs", ASPLOS 2010): deadlocks of two threads need two, circles of three need three.
const DEPTH: usize = 4;

fn iterations() -> usize {
    let set = std::env::var("SHUTTLE_ITERATIONS").ok();
    set.map_or(ITERATIONS, |text| text.parse().expect("a number"))
}

/// Half of the orders at random, half with few changes among threads, which finds what needs long runs of one thread.
fn check(program: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(program, iterations() / 2);
    shuttle::check_pct(program, iterations() / 2, DEPTH);
}

/// What the runs of one graph did.
#[derive(Default)]
struct Runs {
    /// Lane 0's first, lane 1's only, lane 0's last.
    begun: AtomicU32,
    joined: AtomicU32,
    ended: AtomicU32,
}

/// Everything that the threads of a program share.
struct Scene {
    device: Arc<CpuDevice>,
    streams: Vec<Arc<dyn Stream>>,
    events: Vec<Arc<dyn Event>>,
    graphs: Vec<Arc<dyn Graph>>,
    /// By stream: a command of it runs.
    is_busy: Vec<Arc<AtomicBool>>,
    runs: Vec<Arc<Runs>>,
}

fn call(function: impl Fn() + Send + Sync + 'static) -> GraphCommand {
    let run = move || {
        function();
        // A place where other threads may go on.
        thread::yield_now();
        Ok(())
    };
    GraphCommand::Call(GraphFunction(Arc::new(run)))
}

fn on(lane: usize, command: GraphCommand) -> GraphStep {
    GraphStep { lane, command }
}

/// One lane: no two replays overlap.
fn short_graph(device: &CpuDevice, runs: &Arc<Runs>) -> Arc<dyn Graph> {
    let (begin, end) = (Arc::clone(runs), Arc::clone(runs));
    let steps = vec![
        on(0, call(move || begin.begin())),
        on(
            0,
            call(move || {
                end.join();
                end.end();
            }),
        ),
    ];
    let plan = GraphPlan {
        steps,
        lane_count: 1,
        mark_count: 0,
    };
    device.create_graph(plan).unwrap()
}

/// Two lanes: lane 1 is held back until lane 0 has begun, and lane 0 until lane 1 has joined.
fn forked_graph(device: &CpuDevice, runs: &Arc<Runs>) -> Arc<dyn Graph> {
    let (begin, join, end) = (Arc::clone(runs), Arc::clone(runs), Arc::clone(runs));
    let steps = vec![
        on(0, call(move || begin.begin())),
        on(0, GraphCommand::Mark(0)),
        on(1, GraphCommand::Wait(0)),
        on(1, call(move || join.join())),
        on(1, GraphCommand::Mark(1)),
        on(0, GraphCommand::Wait(1)),
        on(0, call(move || end.end())),
    ];
    let plan = GraphPlan {
        steps,
        lane_count: 2,
        mark_count: 2,
    };
    device.create_graph(plan).unwrap()
}

impl Runs {
    fn counts(&self) -> [u32; 3] {
        [&self.begun, &self.joined, &self.ended].map(|count| count.load(Ordering::Relaxed))
    }

    fn begin(&self) {
        let [begun, joined, ended] = self.counts();
        assert!(
            begun == joined && begun == ended,
            "a replay begins in the middle of another"
        );
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn join(&self) {
        let [begun, joined, ended] = self.counts();
        assert!(
            begun == joined + 1 && joined == ended,
            "lane 1 ran outside of its replay"
        );
        self.joined.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        let [begun, joined, ended] = self.counts();
        assert!(
            begun == joined && begun == ended + 1,
            "lane 0 did not wait for lane 1"
        );
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

impl Scene {
    fn new() -> Arc<Self> {
        let options = CpuOptions {
            memory_limit_bytes: Some(1 << 20),
        };
        let device = Arc::new(CpuDevice::with_options(options).unwrap());
        let streams = vec![
            Arc::clone(device.default_stream()),
            device.create_stream().unwrap(),
            device.create_stream().unwrap(),
        ];
        let runs = vec![Arc::<Runs>::default(), Arc::default()];
        Arc::new(Self {
            events: (0..2).map(|_| device.create_event().unwrap()).collect(),
            graphs: vec![
                short_graph(&device, &runs[0]),
                forked_graph(&device, &runs[1]),
            ],
            is_busy: streams.iter().map(|_| Arc::default()).collect(),
            streams,
            device,
            runs,
        })
    }

    /// A command that notices others which run in the same stream at the same time.
    fn call(&self, stream: usize) -> Result<(), Error> {
        let is_busy = Arc::clone(&self.is_busy[stream]);
        self.streams[stream].call(Box::new(move || {
            assert!(
                !is_busy.swap(true, Ordering::Relaxed),
                "two commands at once"
            );
            thread::yield_now();
            is_busy.store(false, Ordering::Relaxed);
            Ok(())
        }))
    }

    /// What `from` did is seen behind a wait in `to`.
    fn hand_over(&self, from: usize, to: usize) -> Result<(), Error> {
        let is_done = Arc::new(AtomicBool::new(false));
        let (done, seen) = (Arc::clone(&is_done), is_done);
        self.streams[from].call(Box::new(move || {
            thread::yield_now();
            done.store(true, Ordering::Relaxed);
            Ok(())
        }))?;
        let event = self.device.create_event()?;
        self.streams[from].record(&event)?;
        self.streams[to].wait(&event)?;
        self.streams[to].call(Box::new(move || {
            assert!(
                seen.load(Ordering::Relaxed),
                "a wait did not hold its stream back"
            );
            Ok(())
        }))
    }

    fn act(&self, operation: Operation) -> Result<(), Error> {
        match operation {
            Operation::Call(stream) => self.call(stream),
            Operation::Record(event, stream) => self.streams[stream].record(&self.events[event]),
            Operation::Wait(event, stream) => self.streams[stream].wait(&self.events[event]),
            // SAFETY: the graphs touch no memory of the device.
            Operation::Replay(graph, stream) => unsafe {
                self.streams[stream].replay(self.graphs[graph].as_ref())
            },
            Operation::HandOver(from, to) => self.hand_over(from, to),
            Operation::Synchronize(stream) => self.streams[stream].synchronize(),
            Operation::SynchronizeEvent(event) => self.events[event].synchronize(),
            Operation::SynchronizeDevice => self.device.synchronize(),
            Operation::Cancel(stream) => self.streams[stream].cancel().map(drop),
        }
    }

    /// Ends the program: nothing may be left that waits.
    fn finish(self: Arc<Self>, may_be_cancelled: bool) {
        let result = self.device.synchronize();
        judge(&result, may_be_cancelled);
        for stream in &self.streams {
            assert!(stream.is_idle().unwrap());
        }
        for runs in &self.runs {
            let [begun, joined, ended] = runs.counts();
            assert!(begun == joined && begun == ended);
        }
        assert!(self.events.iter().all(|event| event.is_complete()));
    }
}

/// Assertions of commands come back as errors of their streams.
fn judge(result: &Result<(), Error>, may_be_cancelled: bool) {
    let is_cancelled = matches!(result, Err(Error::Cancelled { .. }));
    assert!(
        result.is_ok() || may_be_cancelled && is_cancelled,
        "{result:?}"
    );
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Call(usize),
    Record(usize, usize),
    Wait(usize, usize),
    Replay(usize, usize),
    HandOver(usize, usize),
    Synchronize(usize),
    SynchronizeEvent(usize),
    SynchronizeDevice,
    Cancel(usize),
}

fn any_operation(with_cancel: bool) -> Operation {
    let mut random = thread_rng();
    let (stream, other) = (random.gen_range(0..3), random.gen_range(0..3));
    let pick = random.gen_range(0..2);
    match random.gen_range(0..if with_cancel { 16 } else { 14 }) {
        0 | 1 => Operation::Call(stream),
        2 | 3 => Operation::Record(pick, stream),
        4 | 5 => Operation::Wait(pick, stream),
        6..=9 => Operation::Replay(pick, stream),
        // What is cancelled is not seen behind the wait.
        10 | 11 if !with_cancel => Operation::HandOver(stream, other),
        10 | 11 => Operation::Replay(1, stream),
        12 => Operation::Synchronize(stream),
        13 if pick == 0 => Operation::SynchronizeDevice,
        13 => Operation::SynchronizeEvent(pick),
        _ => Operation::Cancel(stream),
    }
}

fn run_threads(programs: Vec<Vec<Operation>>, may_be_cancelled: bool) {
    let scene = Scene::new();
    let threads: Vec<_> = programs
        .into_iter()
        .map(|program| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                for operation in program {
                    let result = scene.act(operation);
                    judge(&result, may_be_cancelled);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    scene.finish(may_be_cancelled);
}

fn any_programs(threads: usize, operations: usize, with_cancel: bool) -> Vec<Vec<Operation>> {
    let program = || {
        (0..operations)
            .map(|_| any_operation(with_cancel))
            .collect()
    };
    (0..threads).map(|_| program()).collect()
}

#[test]
fn replays_of_one_graph_from_several_threads_end() {
    check(|| {
        let replays = |stream| vec![Operation::Replay(1, stream); 2];
        run_threads(vec![replays(0), replays(1), replays(1)], false);
    });
}

#[test]
fn an_event_recorded_by_one_thread_and_awaited_by_another_does_not_stop_its_stream() {
    check(|| {
        let record = vec![Operation::Record(0, 1), Operation::Record(0, 2)];
        let wait = vec![Operation::Wait(0, 1), Operation::Wait(0, 2)];
        run_threads(vec![record, wait], false);
    });
}

#[test]
fn random_programs_of_two_and_three_threads_end_in_order() {
    check(|| {
        let threads = thread_rng().gen_range(2..=3);
        run_threads(any_programs(threads, 4, false), false);
    });
}

#[test]
fn random_programs_with_cancellations_end() {
    check(|| run_threads(any_programs(3, 4, true), true));
}

#[test]
fn a_cancelled_replay_does_not_let_the_next_one_overtake_the_one_before() {
    check(|| {
        let first = vec![Operation::Replay(1, 1)];
        let second = vec![Operation::Replay(1, 2), Operation::Cancel(2)];
        let third = vec![Operation::Replay(1, 0), Operation::Synchronize(0)];
        run_threads(vec![first, second, third], true);
    });
}
