//! Graphs of a GPU: the driver records what our plan does in streams of its own, and launches the result as one.

use std::any::Any;
use std::sync::Arc;

use super::context::Context;
use super::functions::{Handle, SUCCESS};
use super::module::GpuFunction;
use super::reference::STREAM_NON_BLOCKING;
use crate::{CopyDirection, Error, Graph, GraphCommand, GraphPlan, Result};

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`, `hipStreamCaptureModeThreadLocal`: what other threads do meanwhile does not matter.
const CAPTURE_THIS_THREAD: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`, `hipEventDisableTiming`.
const EVENT_WITHOUT_TIMING: u32 = 2;

/// A graph; clones are the same.
#[derive(Clone, Debug)]
pub struct GpuGraph(Arc<Executable>);

#[derive(Debug)]
struct Executable {
    handle: Handle,
    context: Arc<Context>,
    /// Kernels keep their modules loaded.
    functions: Vec<GpuFunction>,
}

impl GpuGraph {
    pub(super) fn new(context: &Arc<Context>, plan: &GraphPlan) -> Result<Self> {
        let _entered = context.enter()?;
        let functions = plan
            .steps
            .iter()
            .filter_map(|step| match &step.command {
                GraphCommand::Launch { function, .. } => Some(function),
                _ => None,
            })
            .map(|function| {
                let function = function.as_any().downcast_ref::<GpuFunction>().cloned();
                function
                    .filter(|function| Arc::ptr_eq(function.context(), context))
                    .ok_or_else(|| Error::WrongBackend {
                        what: "the kernel",
                        device: context.name.clone(),
                    })
            })
            .collect::<Result<Vec<_>>>()?;
        let handle = Capture::new(context, plan)?.run(plan, &functions)?;
        Ok(Self(Arc::new(Executable {
            handle,
            context: Arc::clone(context),
            functions,
        })))
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    pub(super) fn functions(&self) -> &[GpuFunction] {
        &self.0.functions
    }

    /// Launches in a stream of the context, which is current.
    ///
    /// # Safety
    /// As for [`crate::Stream::replay`].
    pub(super) unsafe fn launch(&self, stream: Handle) -> Result<()> {
        let context = &*self.0.context;
        // SAFETY: graph and stream are live and of one context; the caller vouches for the commands inside.
        let status = unsafe { (context.functions().graph_launch)(self.0.handle, stream) };
        context.check("launching a graph", status)
    }
}

impl Graph for GpuGraph {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made in this context and destroyed once; the driver finishes what it has launched.
            unsafe { (self.context.functions().graph_executable_destroy)(self.handle) };
        }
    }
}

/// The driver's objects that a capture needs; they go with it.
struct Capture<'a> {
    context: &'a Context,
    /// By lane.
    streams: Vec<Handle>,
    /// By mark, then one for the fork and one for the join of each further lane.
    events: Vec<Handle>,
    mark_count: usize,
}

impl<'a> Capture<'a> {
    fn new(context: &'a Context, plan: &GraphPlan) -> Result<Self> {
        let mut capture = Self {
            context,
            streams: Vec::new(),
            events: Vec::new(),
            mark_count: plan.mark_count,
        };
        let functions = context.functions();
        let lane_count = plan.lane_count.max(1);
        for _ in 0..lane_count {
            let mut stream = 0;
            // SAFETY: `stream` is a valid place for the result.
            let status = unsafe { (functions.stream_create)(&raw mut stream, STREAM_NON_BLOCKING) };
            context.check("making a stream", status)?;
            capture.streams.push(stream);
        }
        for _ in 0..plan.mark_count + lane_count {
            let mut event = 0;
            // SAFETY: `event` is a valid place for the result.
            let status = unsafe { (functions.event_create)(&raw mut event, EVENT_WITHOUT_TIMING) };
            context.check("making an event", status)?;
            capture.events.push(event);
        }
        Ok(capture)
    }

    /// Records the plan and gives the graph that can be launched.
    fn run(&self, plan: &GraphPlan, kernels: &[GpuFunction]) -> Result<Handle> {
        let (context, functions) = (self.context, self.context.functions());
        let origin = self.streams[0];
        // SAFETY: the stream was made for this capture; the mode is one of the manual's.
        let status = unsafe { (functions.capture_begin)(origin, CAPTURE_THIS_THREAD) };
        context.check("beginning to record a graph", status)?;
        let recorded = self.record(plan, kernels);
        let (mut graph, mut executable) = (0, 0);
        // The capture is ended after an error too: a stream cannot be destroyed before.
        // SAFETY: `graph` is a valid place for the result.
        let ended = unsafe { (functions.capture_end)(origin, &raw mut graph) };
        if recorded.is_ok() && ended == SUCCESS {
            // SAFETY: the graph was just recorded, and `executable` is a valid place for the result.
            let status = unsafe { (functions.graph_instantiate)(&raw mut executable, graph, 0) };
            // SAFETY: what was instantiated does not need the graph any more, which is destroyed once.
            unsafe { (functions.graph_destroy)(graph) };
            context.check("preparing a graph", status)?;
            return Ok(executable);
        }
        if ended == SUCCESS && graph != 0 {
            // SAFETY: as above.
            unsafe { (functions.graph_destroy)(graph) };
        }
        recorded?;
        context.check("recording a graph", ended)?;
        Ok(executable)
    }

    fn record(&self, plan: &GraphPlan, kernels: &[GpuFunction]) -> Result<()> {
        let functions = self.context.functions();
        let fork = self.mark_count;
        self.set(fork, 0)?;
        for lane in 1..self.streams.len() {
            self.wait(fork, lane)?;
        }
        let mut kernels = kernels.iter();
        for step in &plan.steps {
            let stream = self.streams[step.lane];
            match &step.command {
                GraphCommand::Call(_) => {
                    return Err(Error::DriverFault {
                        device: self.context.name.clone(),
                        operation: "recording a graph",
                        reason: "graphs of GPUs hold no host code".to_owned(),
                    });
                }
                GraphCommand::Mark(mark) => self.set(*mark, step.lane)?,
                GraphCommand::Wait(mark) => self.wait(*mark, step.lane)?,
                GraphCommand::Launch {
                    config, arguments, ..
                } => {
                    if let Some(kernel) = kernels.next() {
                        // SAFETY: the caller of `Stream::replay` vouches for arguments, limits and memory; recording runs nothing.
                        unsafe { kernel.launch(stream, config, arguments) }?;
                    }
                }
                GraphCommand::Copy {
                    destination,
                    source,
                    bytes,
                    direction,
                } => {
                    let copy = match direction {
                        CopyDirection::HostToDevice => functions.copy_to_device,
                        CopyDirection::DeviceToHost => functions.copy_to_host,
                        CopyDirection::DeviceToDevice => functions.copy_on_device,
                    };
                    // SAFETY: as above.
                    let status = unsafe { copy(destination.0, source.0, *bytes as usize, stream) };
                    self.context.check("recording a copy", status)?;
                }
                GraphCommand::Fill {
                    destination,
                    value,
                    bytes,
                } => {
                    // SAFETY: as above.
                    let status =
                        unsafe { (functions.fill)(destination.0, *value, *bytes as usize, stream) };
                    self.context.check("recording a fill", status)?;
                }
            }
        }
        for lane in 1..self.streams.len() {
            let join = self.mark_count + lane;
            self.set(join, lane)?;
            self.wait(join, 0)?;
        }
        Ok(())
    }

    fn set(&self, event: usize, lane: usize) -> Result<()> {
        // SAFETY: event and stream live as long as this capture.
        let status = unsafe {
            (self.context.functions().event_record)(self.events[event], self.streams[lane])
        };
        self.context.check("recording an event", status)
    }

    fn wait(&self, event: usize, lane: usize) -> Result<()> {
        // SAFETY: as above; the flags have to be 0.
        let status = unsafe {
            (self.context.functions().stream_wait_event)(self.streams[lane], self.events[event], 0)
        };
        self.context
            .check("letting a stream wait for an event", status)
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        let functions = self.context.functions();
        for &event in &self.events {
            // SAFETY: made by this capture and destroyed once.
            unsafe { (functions.event_destroy)(event) };
        }
        for &stream in &self.streams {
            // SAFETY: as above; nothing ran in it.
            unsafe { (functions.stream_destroy)(stream) };
        }
    }
}
