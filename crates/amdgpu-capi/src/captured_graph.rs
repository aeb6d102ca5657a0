//! kernel.h: graphs. What a thread submits between `agpu_captured_graph_begin` and `agpu_captured_graph_end` is recorded and runs at each replay.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::ErrorCode;
use amdgpu_array::{Array, Owner, Uses, recording};
use amdgpu_aura::{Graph, PackedArguments};
use amdgpu_hal::{CopyDirection, DevicePointer, LaunchConfig};

use crate::arguments::Used;
use crate::borrowed::Out;
use crate::handles::{self, Handle, Object};
use crate::objects::{DeviceObject, KernelObject, MemoryObject, StreamObject};
use crate::status::{Answer, Failure, Status, answer};

thread_local! {
    /// Memory of the commands that this thread recorded since it began.
    static MEMORY: RefCell<Vec<Arc<MemoryObject>>> = const { RefCell::new(Vec::new()) };
}

pub struct GraphObject {
    /// Of the recording.
    number: u64,
    device: Arc<DeviceObject>,
    /// Streams that it was replayed in, for readers of arrays that it works on.
    uses: Arc<Uses>,
    state: Mutex<Option<Ready>>,
}

impl Object for GraphObject {
    const KIND: u8 = 7;
}

#[derive(Clone)]
struct Ready {
    graph: Arc<Graph>,
    memory: Arc<[Arc<MemoryObject>]>,
    #[allow(dead_code, reason = "held, not read")]
    owners: Arc<Mutex<Vec<Owner>>>,
}

impl GraphObject {
    fn lock(&self) -> MutexGuard<'_, Option<Ready>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> Answer<Ready> {
        self.lock()
            .clone()
            .ok_or_else(|| refuse("the graph is not recorded: call agpu_captured_graph_end first"))
    }

    /// What was recorded, on the thread that began it.
    fn end(&self) -> Answer<recording::Recording> {
        recording::end(self.number).ok_or_else(|| {
            refuse("this thread does not record the graph: the thread that began a recording ends it, once")
        })
    }
}

fn refuse(message: &str) -> Failure {
    Failure::new(ErrorCode::NotCapturable, message)
}

/// Notes what a command uses; the owners go into the recording, whoever began it.
fn owners_of(memory: Vec<Arc<MemoryObject>>) -> Vec<Owner> {
    MEMORY.with_borrow_mut(|all| all.extend(memory.iter().cloned()));
    memory
        .into_iter()
        .map(|memory| Box::new(memory) as Owner)
        .collect()
}

pub fn record_launch(
    kernel: &KernelObject,
    config: LaunchConfig,
    packed: &PackedArguments,
    used: Used,
    stream: Option<&Arc<StreamObject>>,
) -> Answer {
    let queue = stream.map(|stream| &stream.queue);
    recording::record_uses(used.arrays.iter().map(|array| array.storage().uses()));
    let mut owners = owners_of(used.memory);
    owners.extend(used.arrays.iter().map(Array::owner));
    Ok(recording::record_launch(
        &kernel.kernel,
        config,
        packed,
        owners,
        queue,
    )?)
}

pub fn record_copy(
    to: &Arc<MemoryObject>,
    from: &Arc<MemoryObject>,
    addresses: (DevicePointer, DevicePointer),
    bytes: u64,
) -> Answer {
    let device = to.device.context.open_device()?;
    let owners = owners_of(vec![Arc::clone(to), Arc::clone(from)]);
    let direction = CopyDirection::DeviceToDevice;
    Ok(recording::record_copy(
        device, addresses, bytes, direction, owners,
    )?)
}

pub fn record_fill(memory: &Arc<MemoryObject>, offset: u64, value: u8, bytes: u64) -> Answer {
    let device = memory.device.context.open_device()?;
    let address = memory.block.ptr().offset(offset);
    owners_of(vec![Arc::clone(memory)]);
    Ok(recording::record_fill(
        device,
        address,
        value,
        bytes,
        [Box::new(Arc::clone(memory)) as Owner],
    )?)
}

/// Begin to record what this thread submits for a device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_captured_graph_begin(device: Handle, graph: Out<Handle>) -> Status {
    answer(|| {
        let place = graph.required("graph")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        device.context.device()?;
        let uses = Arc::<Uses>::default();
        let number = recording::begin(Arc::clone(&uses))?;
        MEMORY.take();
        let graph = GraphObject {
            number,
            device,
            uses,
            state: Mutex::default(),
        };
        place.write(handles::insert(Arc::new(graph)));
        Ok(())
    })
}

/// End the recording; the graph can be replayed from now on.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_captured_graph_end(graph: Handle) -> Status {
    answer(|| {
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        let recording = graph.end()?;
        *graph.lock() = Some(Ready {
            graph: Arc::new(recording.recorder.finish()?),
            memory: MEMORY.take().into(),
            owners: Arc::new(Mutex::new(recording.owners)),
        });
        Ok(())
    })
}

/// Give up the recording of this thread; its graph stays empty and can only be released.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_captured_graph_abandon(graph: Handle) -> Status {
    answer(|| {
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        graph.end()?;
        MEMORY.take();
        Ok(())
    })
}

/// How many launches, copies and fills a graph has.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_captured_graph_node_count(graph: Handle, count: Out<u64>) -> Status {
    answer(|| {
        let place = count.required("count")?;
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        place.write(graph.ready()?.graph.nodes().len() as u64);
        Ok(())
    })
}

/// Run everything that was recorded: in `stream` and return at once, or wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_captured_graph_replay(graph: Handle, stream: Handle) -> Status {
    answer(|| {
        let graph = handles::get::<GraphObject>(graph, "graph")?;
        recording::check_not_recording("replaying a graph")?;
        let ready = graph.ready()?;
        let stream = StreamObject::of(stream, &graph.device)?;
        if let Some(stream) = &stream {
            graph
                .uses
                .note(&stream.queue, graph.device.context.device()?);
        }
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
