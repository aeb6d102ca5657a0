//! Kernels of the CPU device that never end by themselves, and one that does.

#![allow(dead_code, reason = "each test program uses some of it")]

#[path = "object.rs"]
mod object;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use amdgpu_hal::{
    Device, DevicePointer, Error, Event, Function, Graph, GraphCommand, GraphPlan, GraphStep,
    LaunchConfig, Stream, registry,
};

/// `endless` counts its blocks, and stays in each until a word is set; `add` adds one, and ends. `elsewhere` lets the thread that launches it go
/// once another one has a block, which stays in it.
const SOURCE: &str = r"
typedef unsigned long long u64;
struct arguments { volatile u64 *stop; u64 *count; };
void endless(const struct arguments *arguments, const void *launch, u64 begin, u64 end) {
    for (u64 block = begin; block < end; block++) {
        __atomic_fetch_add(arguments->count, 1, __ATOMIC_RELAXED);
        while (*arguments->stop == 0) {}
    }
}
void add(const struct arguments *arguments, const void *launch, u64 begin, u64 end) {
    __atomic_fetch_add(arguments->count, end - begin, __ATOMIC_RELAXED);
}
struct near { volatile u64 *stop; volatile u64 *count; u64 stack; };
void elsewhere(const struct near *arguments, const void *launch, u64 begin, u64 end) {
    u64 here = (u64)__builtin_frame_address(0), there = arguments->stack;
    u64 distance = here > there ? here - there : there - here;
    for (u64 block = begin; block < end; block++) {
        if (block == 0) {
            // Long enough for the others to be shared out.
            for (volatile u64 turn = 0; turn < 1000000; turn++) {}
        } else if (distance < 65536) {
            while (*arguments->count == 0) {}
        } else {
            __atomic_fetch_add(arguments->count, 1, __ATOMIC_RELAXED);
            while (*arguments->stop == 0) {}
        }
    }
}
";

/// Long beside everything that a test waits for; what hangs fails after it.
pub const PATIENCE: Duration = Duration::from_secs(60);

fn image() -> &'static [u8] {
    static IMAGE: OnceLock<Vec<u8>> = OnceLock::new();
    IMAGE.get_or_init(|| object::compiled("cancellation", SOURCE))
}

pub struct Scene {
    pub device: Arc<dyn Device>,
    pub endless: Arc<dyn Function>,
    pub add: Arc<dyn Function>,
    pub elsewhere: Arc<dyn Function>,
    pub stop: Box<AtomicU64>,
    pub count: Box<AtomicU64>,
}

impl Scene {
    pub fn new() -> Self {
        let device = registry::open_device("cpu:0").unwrap();
        let module = device.load_module(image()).unwrap();
        Self {
            endless: module.function("endless").unwrap(),
            add: module.function("add").unwrap(),
            elsewhere: module.function("elsewhere").unwrap(),
            device,
            stop: Box::default(),
            count: Box::default(),
        }
    }

    pub fn arguments(&self) -> Vec<u8> {
        [self.stop.as_ptr(), self.count.as_ptr()]
            .iter()
            .flat_map(|ptr| DevicePointer::from_host(*ptr).address().to_le_bytes())
            .collect()
    }

    pub fn launch(&self, stream: &dyn Stream, function: &dyn Function, blocks: u32) {
        let config = LaunchConfig::linear(blocks, 1);
        // SAFETY: the kernels use the two words of the scene, which outlives them.
        unsafe { stream.launch(function, &config, &self.arguments()) }.unwrap();
    }

    /// Launches what never ends, and waits until it runs.
    pub fn occupy(&self, stream: &dyn Stream, blocks: u32) {
        let before = self.count.load(Ordering::Relaxed);
        self.launch(stream, self.endless.as_ref(), blocks);
        while self.count.load(Ordering::Relaxed) == before {
            thread::yield_now();
        }
    }

    pub fn check_usable(&self, stream: &dyn Stream) {
        let before = self.count.load(Ordering::Relaxed);
        self.launch(stream, self.add.as_ref(), 5);
        stream.synchronize().unwrap();
        assert_eq!(self.count.load(Ordering::Relaxed), before + 5);
    }

    /// A graph with as many lanes, each of which never ends.
    pub fn endless_graph(&self, lane_count: usize) -> Arc<dyn Graph> {
        let launch = |lane| GraphStep {
            lane,
            command: GraphCommand::Launch {
                function: Arc::clone(&self.endless),
                config: LaunchConfig::linear(1, 1),
                arguments: self.arguments().into(),
            },
        };
        let plan = GraphPlan {
            steps: (0..lane_count).map(launch).collect(),
            lane_count,
            mark_count: 0,
        };
        self.device.create_graph(plan).unwrap()
    }

    pub fn record(&self, stream: &dyn Stream) -> Arc<dyn Event> {
        let event = self.device.create_event().unwrap();
        stream.record(&event).unwrap();
        event
    }
}

pub fn is_cancelled(result: &Result<(), Error>) -> bool {
    matches!(result, Err(Error::Cancelled { .. }))
}

/// A command that runs until the sender is used.
pub fn hold(stream: &dyn Stream) -> mpsc::Sender<()> {
    let (release, held) = mpsc::channel();
    let (begun, has_begun) = mpsc::channel();
    let wait = move || {
        begun.send(()).unwrap();
        held.recv_timeout(PATIENCE).unwrap();
        Ok(())
    };
    stream.call(Box::new(wait)).unwrap();
    has_begun.recv_timeout(PATIENCE).unwrap();
    release
}
