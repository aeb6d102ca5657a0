//! kernel.h: graphs. What a thread submits between `agpu_graph_begin` and `agpu_graph_end` is recorded and runs at each replay.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::ErrorCode;
use amdgpu_aura::{Graph, GraphRecorder, Lane, PackedArguments};
use amdgpu_hal::{CopyDirection, DevicePointer, LaunchConfig};

use crate::borrowed::Out;
use crate::device::DeviceObject;
use crate::handles::{self, Handle, Object};
use crate::kernel::KernelObject;
use crate::memory::MemoryObject;
use crate::status::{Answer, Failure, Status, answer};
use crate::stream::StreamObject;

static NEXT_RECORDING: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static CURRENT: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// What this thread records.
struct Recording {
    number: u64,
    device: Arc<DeviceObject>,
    recorder: GraphRecorder,
    memory: Vec<Arc<MemoryObject>>,
}

pub struct GraphObject {
    number: u64,
    state: Mutex<Option<Ready>>,
}

impl Object for GraphObject {
    const KIND: u8 = 7;
}

#[derive(Clone)]
struct Ready {
    graph: Arc<Graph>,
    device: Arc<DeviceObject>,
    memory: Arc<[Arc<MemoryObject>]>,
}

impl GraphObject {
    fn lock(&self) -> MutexGuard<'_, Option<Ready>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> Answer<Ready> {
        self.lock()
            .clone()
            .ok_or_else(|| refuse("the graph is not recorded: call agpu_graph_end first"))
    }
}

fn refuse(message: &str) -> Failure {
    Failure::new(ErrorCode::NotCapturable, message)
}

/// Whether this thread records a graph: then nothing it submits runs.
pub fn is_recording() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Refuses what a graph cannot hold.
pub fn check_not_recording(what: &str) -> Answer {
    if !is_recording() {
        return Ok(());
    }
    Err(refuse(&format!(
        "{what} is not possible while this thread records a graph: nothing runs before the replay"
    )))
}

fn record(
    device: &DeviceObject,
    memory: Vec<Arc<MemoryObject>>,
    command: impl FnOnce(&mut GraphRecorder) -> amdgpu_aura::Result<()>,
) -> Answer {
    CURRENT.with_borrow_mut(|current| {
        // Callers asked a moment ago, on this thread.
        let recording = current
            .as_mut()
            .ok_or_else(|| refuse("no graph is being recorded"))?;
        device.check_same(&recording.device, "the command")?;
        recording.memory.extend(memory);
        Ok(command(&mut recording.recorder)?)
    })
}

pub fn record_launch(
    kernel: &KernelObject,
    config: LaunchConfig,
    packed: &PackedArguments,
    memory: Vec<Arc<MemoryObject>>,
    stream: Option<&Arc<StreamObject>>,
) -> Answer {
    let lane = Lane::of(stream.map(|stream| &stream.queue));
    record(&kernel.device, memory, |recorder| {
        recorder.launch(&kernel.kernel, config, packed, lane)
    })
}

pub fn record_copy(
    to: &Arc<MemoryObject>,
    from: &Arc<MemoryObject>,
    (target, origin): (DevicePointer, DevicePointer),
    bytes: u64,
    direction: CopyDirection,
) -> Answer {
    let device = to.device.context.open_device()?;
    record(
        &to.device,
        vec![Arc::clone(to), Arc::clone(from)],
        |recorder| recorder.copy(device, target, origin, bytes, direction),
    )
}

pub fn record_fill(memory: &Arc<MemoryObject>, offset: u64, value: u8, bytes: u64) -> Answer {
    let device = memory.device.context.open_device()?;
    record(&memory.device, vec![Arc::clone(memory)], |recorder| {
        recorder.fill(device, memory.block.ptr().offset(offset), value, bytes)
    })
}

/// Mark a point of a stream in the graph that this thread records; `None` when it records none.
pub fn record_mark(stream: &StreamObject) -> Option<(u64, usize)> {
    CURRENT.with_borrow_mut(|current| {
        let recording = current.as_mut()?;
        let mark = recording.recorder.mark(Lane::Stream(stream.queue.id()));
        Some((recording.number, mark))
    })
}

/// Hold a stream back until a mark of the graph that this thread records.
pub fn record_wait(stream: &StreamObject, number: u64, mark: usize) -> Answer {
    CURRENT.with_borrow_mut(|current| match current {
        Some(recording) if recording.number == number => {
            recording
                .recorder
                .wait(Lane::Stream(stream.queue.id()), mark);
            Ok(())
        }
        _ => Err(refuse(
            "the event belongs to another graph, which alone can wait for it",
        )),
    })
}

/// Begin to record what this thread submits for a device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_begin(device: Handle, graph: Out<Handle>) -> Status {
    answer(|| {
        let place = graph.required("graph")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        check_not_recording("recording a second graph")?;
        device.context.device()?;
        let number = NEXT_RECORDING.fetch_add(1, Ordering::Relaxed);
        CURRENT.set(Some(Recording {
            number,
            device,
            recorder: GraphRecorder::default(),
            memory: Vec::new(),
        }));
        let graph = GraphObject {
            number,
            state: Mutex::default(),
        };
        place.write(handles::insert(Arc::new(graph)));
        Ok(())
    })
}

/// End the recording; the graph can be replayed from now on.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_end(graph: Handle) -> Status {
    answer(|| {
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        let recording = take_recording(graph.number)?;
        *graph.lock() = Some(Ready {
            graph: Arc::new(recording.recorder.finish()?),
            device: recording.device,
            memory: recording.memory.into(),
        });
        Ok(())
    })
}

/// Give up the recording of this thread; its graph stays empty and can only be released.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_abandon(graph: Handle) -> Status {
    answer(|| {
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        take_recording(graph.number).map(drop)
    })
}

fn take_recording(number: u64) -> Answer<Recording> {
    CURRENT.with_borrow_mut(|current| {
        if current.as_ref().is_some_and(|recording| recording.number == number) {
            current.take().ok_or_else(|| refuse("no graph is being recorded"))
        } else {
            Err(refuse("this thread does not record the graph: the thread that began a recording ends it, once"))
        }
    })
}

/// How many launches, copies and fills a graph has.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_node_count(graph: Handle, count: Out<u64>) -> Status {
    answer(|| {
        let place = count.required("count")?;
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        place.write(graph.ready()?.graph.nodes().len() as u64);
        Ok(())
    })
}

/// Run everything that was recorded: in `stream` and return at once, or wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_replay(graph: Handle, stream: Handle) -> Status {
    answer(|| {
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        check_not_recording("replaying a graph")?;
        let ready = graph.ready()?;
        let stream = StreamObject::of(stream, &ready.device)?;
        for memory in ready.memory.iter() {
            memory.use_in(stream.as_ref())?;
        }
        let queue = stream.as_ref().map(|stream| &stream.queue);
        // SAFETY: the graph holds the memory it uses, which the allocator holds back until the stream has passed; bare addresses are the
        // caller's promise.
        unsafe { ready.graph.replay(queue)? };
        Ok(())
    })
}
