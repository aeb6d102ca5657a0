//! Streams of the CPU backend.

use std::sync::Arc;

use super::command::Command;
use super::event::CpuEvent;
use super::graph::CpuGraph;
use super::launch::{self, PackedArguments};
use super::module::CpuFunction;
use super::queue::{Mode, Queue};
use crate::{
    CopyDirection, DevicePointer, Error, Event, Function, Graph, HostFunction, LaunchConfig,
    Result, Stream,
};

/// The handle of a queue; dropping it drains the queue.
#[derive(Debug)]
pub struct CpuStream {
    queue: Arc<Queue>,
}

impl CpuStream {
    /// A stream that runs on the calling thread when idle.
    pub(super) fn inline() -> Self {
        Self {
            queue: Queue::new(Mode::Inline),
        }
    }

    /// A stream with a worker thread.
    pub(super) fn asynchronous() -> Self {
        Self {
            queue: Queue::new(Mode::Asynchronous),
        }
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }
}

fn cpu_event(event: &Arc<dyn Event>) -> Result<&CpuEvent> {
    event
        .as_any()
        .downcast_ref()
        .ok_or_else(|| Error::WrongBackend {
            what: "the event",
            device: "cpu:0".to_string(),
        })
}

impl Stream for CpuStream {
    fn id(&self) -> u64 {
        self.queue.id
    }

    unsafe fn copy(
        &self,
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        _direction: CopyDirection,
    ) -> Result<()> {
        self.queue.submit(Command::Copy {
            destination,
            source,
            bytes,
        })
    }

    unsafe fn fill(&self, destination: DevicePointer, value: u8, bytes: u64) -> Result<()> {
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
        let function: &CpuFunction =
            function
                .as_any()
                .downcast_ref()
                .ok_or_else(|| Error::WrongBackend {
                    what: "the kernel",
                    device: "cpu:0".to_string(),
                })?;
        if let Some(permit) = self.queue.begin_inline()? {
            // SAFETY: the caller vouches for arguments, limits and memory.
            let run = || unsafe { launch::run(function, config, arguments) };
            let result = self.queue.within(run);
            permit.finish(result);
            return Ok(());
        }
        self.queue.submit(Command::Launch {
            function: function.clone(),
            config: *config,
            arguments: PackedArguments::new(arguments),
        })
    }

    unsafe fn replay(&self, graph: &dyn Graph) -> Result<()> {
        graph
            .as_any()
            .downcast_ref::<CpuGraph>()
            .ok_or_else(|| Error::WrongBackend {
                what: "the graph",
                device: "cpu:0".to_string(),
            })?
            .replay(&self.queue)
    }

    fn record(&self, event: &Arc<dyn Event>) -> Result<()> {
        cpu_event(event)?.record(&self.queue)
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        match cpu_event(event)?.latest() {
            Some(completion) => self.queue.submit(Command::Wait(completion)),
            None => Ok(()),
        }
    }

    fn call(&self, function: HostFunction) -> Result<()> {
        self.queue.submit(Command::Call(function))
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    fn is_idle(&self) -> Result<bool> {
        Ok(self.queue.depth()? == 0)
    }

    fn cancel(&self) -> Result<bool> {
        self.queue.cancel()
    }

    fn depth(&self) -> usize {
        // In a forked child nothing will ever run, so nothing is waiting.
        self.queue.depth().unwrap_or(0)
    }
}

impl Drop for CpuStream {
    fn drop(&mut self) {
        self.queue.close();
    }
}
