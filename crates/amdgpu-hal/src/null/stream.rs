//! Streams and events that are always done.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::graph::NullGraph;
use super::memory::Memory;
use super::module::NullFunction;
use crate::fork::ForkMark;
use crate::{
    CopyDirection, DevicePointer, Error, Event, Function, Graph, HostFunction, LaunchConfig,
    Result, Stream, clock,
};

/// The error that sticks to a stream.
#[derive(Debug, Default)]
pub(super) struct Failure(Mutex<Option<Error>>);

impl Failure {
    fn lock(&self) -> MutexGuard<'_, Option<Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<()> {
        self.lock().clone().map_or(Ok(()), Err)
    }

    fn set(&self, error: Error) {
        self.lock().get_or_insert(error);
    }

    pub fn take(&self) -> Result<()> {
        self.lock().take().map_or(Ok(()), Err)
    }
}

/// A stream of the null backend.
#[derive(Debug)]
pub struct NullStream {
    id: u64,
    memory: Arc<Memory>,
    device: String,
    failure: Arc<Failure>,
    mark: ForkMark,
}

impl NullStream {
    pub(super) fn new(memory: Arc<Memory>, device: String) -> Self {
        Self {
            id: crate::stream::next_id(),
            memory,
            device,
            failure: Arc::default(),
            mark: ForkMark::current(),
        }
    }

    pub(super) fn failure(&self) -> &Arc<Failure> {
        &self.failure
    }

    fn begin(&self) -> Result<()> {
        self.mark.check("the stream")?;
        self.failure.check()
    }

    fn wrong_backend(&self, what: &'static str) -> Error {
        Error::WrongBackend {
            what,
            device: self.device.clone(),
        }
    }

    fn event<'a>(&self, event: &'a Arc<dyn Event>) -> Result<&'a NullEvent> {
        self.mark.check("the stream")?;
        event
            .as_any()
            .downcast_ref()
            .ok_or_else(|| self.wrong_backend("the event"))
    }
}

impl Stream for NullStream {
    fn id(&self) -> u64 {
        self.id
    }

    unsafe fn copy(
        &self,
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        direction: CopyDirection,
    ) -> Result<()> {
        self.begin()?;
        if direction != CopyDirection::DeviceToHost {
            self.memory.check("a copy", destination, bytes)?;
        }
        if direction != CopyDirection::HostToDevice {
            self.memory.check("a copy", source, bytes)?;
        }
        if direction == CopyDirection::DeviceToHost {
            // SAFETY: the caller vouches for the host range; leaving it as it is could hand out memory that was never written.
            unsafe { std::ptr::write_bytes(destination.as_mut_ptr::<u8>(), 0, bytes as usize) };
        }
        Ok(())
    }

    unsafe fn fill(&self, destination: DevicePointer, _value: u8, bytes: u64) -> Result<()> {
        self.begin()?;
        self.memory.check("a fill", destination, bytes)
    }

    unsafe fn launch(
        &self,
        function: &dyn Function,
        _config: &LaunchConfig,
        _arguments: &[u8],
    ) -> Result<()> {
        self.begin()?;
        function
            .as_any()
            .downcast_ref::<NullFunction>()
            .map(|_| ())
            .ok_or_else(|| self.wrong_backend("the kernel"))
    }

    unsafe fn replay(&self, graph: &dyn Graph) -> Result<()> {
        self.begin()?;
        graph
            .as_any()
            .downcast_ref::<NullGraph>()
            .map(|_| ())
            .ok_or_else(|| self.wrong_backend("the graph"))
    }

    fn record(&self, event: &Arc<dyn Event>) -> Result<()> {
        let failure = self.failure.lock().clone();
        self.event(event)?.record(failure);
        Ok(())
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        if let Err(error) = self.event(event)?.synchronize() {
            self.failure.set(error);
        }
        Ok(())
    }

    fn call(&self, function: HostFunction) -> Result<()> {
        self.begin()?;
        let outcome = catch_unwind(AssertUnwindSafe(function))
            .unwrap_or_else(|payload| Err(Error::from_panic(payload.as_ref())));
        if let Err(error) = outcome {
            self.failure.set(error);
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.mark.check("the stream")?;
        self.failure.take()
    }

    fn is_idle(&self) -> Result<bool> {
        self.mark.check("the stream")?;
        Ok(true)
    }

    fn depth(&self) -> usize {
        0
    }
}

/// An event of the null backend: recorded is reached.
#[derive(Debug, Default)]
pub struct NullEvent {
    latest: Mutex<Option<(u64, Option<Error>)>>,
}

impl NullEvent {
    fn lock(&self) -> MutexGuard<'_, Option<(u64, Option<Error>)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, failure: Option<Error>) {
        *self.lock() = Some((clock::now_ns(), failure));
    }
}

impl Event for NullEvent {
    fn is_complete(&self) -> bool {
        true
    }

    fn synchronize(&self) -> Result<()> {
        match &*self.lock() {
            Some((_, Some(error))) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn timestamp_ns(&self) -> Option<u64> {
        self.lock().as_ref().map(|(timestamp_ns, _)| *timestamp_ns)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
