//! Streams of a GPU.

use std::sync::Arc;

use super::context::Context;
use super::event::GpuEvent;
use super::graph::GpuGraph;
use super::module::GpuFunction;
use super::queue::{Command, Queue};
use crate::{
    CopyDirection, DevicePointer, Error, Event, Function, Graph, HostFunction, LaunchConfig,
    Notification, Result, Stream,
};

/// The handle of a stream; dropping it waits for the stream, except inside one of its own host functions.
#[derive(Debug)]
pub struct GpuStream {
    queue: Arc<Queue>,
}

impl GpuStream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        Ok(Self {
            queue: Queue::new(context)?,
        })
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    fn wrong_backend(&self, what: &'static str) -> Error {
        Error::WrongBackend {
            what,
            device: self.queue.context.name.clone(),
        }
    }

    fn event<'a>(&self, event: &'a Arc<dyn Event>) -> Result<&'a GpuEvent> {
        self.event_of_driver(event)
            .filter(|event| Arc::ptr_eq(event.context(), &self.queue.context))
            .ok_or_else(|| self.wrong_backend("the event"))
    }

    /// An event of any device of this stream's driver.
    fn event_of_driver<'a>(&self, event: &'a Arc<dyn Event>) -> Option<&'a GpuEvent> {
        let event = event.as_any().downcast_ref::<GpuEvent>()?;
        std::ptr::eq(event.context().api, self.queue.context.api).then_some(event)
    }
}

impl Stream for GpuStream {
    fn id(&self) -> u64 {
        self.queue.id
    }

    unsafe fn copy(
        &self,
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        direction: CopyDirection,
    ) -> Result<()> {
        if bytes == 0 {
            return self.queue.context.check_process();
        }
        self.queue.submit(Command::Copy {
            destination,
            source,
            bytes,
            direction,
        })
    }

    unsafe fn fill(&self, destination: DevicePointer, value: u8, bytes: u64) -> Result<()> {
        if bytes == 0 {
            return self.queue.context.check_process();
        }
        self.queue.submit(Command::Fill {
            destination,
            value,
            bytes,
        })
    }

    unsafe fn launch(
        &self,
        function: &dyn Function,
        config: &LaunchConfig,
        arguments: &[u8],
    ) -> Result<()> {
        let function = function
            .as_any()
            .downcast_ref::<GpuFunction>()
            .filter(|function| Arc::ptr_eq(function.context(), &self.queue.context))
            .ok_or_else(|| self.wrong_backend("the kernel"))?;
        self.queue.submit(Command::Launch {
            function,
            config: *config,
            arguments,
        })
    }

    unsafe fn replay(&self, graph: &dyn Graph) -> Result<()> {
        let graph = graph
            .as_any()
            .downcast_ref::<GpuGraph>()
            .filter(|graph| Arc::ptr_eq(graph.context(), &self.queue.context))
            .ok_or_else(|| self.wrong_backend("the graph"))?;
        self.queue.submit(Command::Replay(graph.clone()))
    }

    fn record(&self, event: &Arc<dyn Event>) -> Result<()> {
        let event = self.event(event)?;
        self.queue.context.check_process()?;
        let recording = event.begin_recording(self.queue.id);
        self.queue
            .submit(Command::Record(Arc::clone(&recording)))
            // Whoever waits for a mark that was never submitted would wait for ever.
            .inspect_err(|error| drop(recording.submit(0, Some(error))))
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        let event = self.event_of_driver(event);
        match event
            .ok_or_else(|| self.wrong_backend("the event"))?
            .latest()
        {
            Some(recording) => self.queue.submit(Command::Wait(recording)),
            None => Ok(()),
        }
    }

    fn call(&self, function: HostFunction) -> Result<()> {
        self.queue.submit(Command::Call(function))
    }

    fn notify(&self, event: &Arc<dyn Event>, notification: Notification) -> Result<()> {
        let Some(recording) = self.event(event)?.latest() else {
            notification();
            return Ok(());
        };
        self.queue.context.watch(recording, notification)
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    fn is_idle(&self) -> Result<bool> {
        self.queue.is_idle()
    }

    fn native_handle(&self) -> Option<u64> {
        Some(self.queue.handle() as u64)
    }

    unsafe fn lend(
        &self,
        name: &Arc<str>,
        work: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<bool> {
        // SAFETY: the caller's contract is the same.
        unsafe { self.queue.lend(name, work) }.map(|()| true)
    }

    /// Counts what the driver has not been asked about yet as unfinished: an upper bound, exact when the stream is idle.
    fn depth(&self) -> usize {
        self.queue.depth()
    }
}

impl Drop for GpuStream {
    fn drop(&mut self) {
        self.queue.close();
    }
}
