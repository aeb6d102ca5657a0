//! Streams of a GPU.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;

use super::context::Context;
use super::epoch::Epoch;
use super::event::GpuEvent;
use super::functions::{Handle, NOT_READY, SUCCESS};
use super::host_call::{self, Job, Payload, Progress, Worker};
use super::module::GpuFunction;
use super::reference::STREAM_NON_BLOCKING;
use crate::{
    CopyDirection, DevicePointer, Error, Event, Function, HostFunction, LaunchConfig, Result,
    Stream,
};

/// The driver's stream and what is known of it.
#[derive(Debug)]
pub(super) struct Queue {
    id: u64,
    pub handle: Handle,
    pub context: Arc<Context>,
    pub progress: Arc<Progress>,
    epoch: RwLock<Arc<Epoch>>,
    worker: Mutex<Option<Worker>>,
}

impl Queue {
    fn new(context: &Arc<Context>) -> Result<Self> {
        let _entered = context.enter()?;
        let mut handle = 0;
        // SAFETY: `handle` is a valid place for the result.
        let status =
            unsafe { (context.functions().stream_create)(&raw mut handle, STREAM_NON_BLOCKING) };
        context.check("making a stream", status)?;
        Ok(Self {
            id: crate::stream::next_id(),
            handle,
            context: Arc::clone(context),
            progress: Arc::default(),
            epoch: RwLock::default(),
            worker: Mutex::new(None),
        })
    }

    pub fn epoch(&self) -> Arc<Epoch> {
        Arc::clone(&self.epoch.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fails when an error sticks to the stream.
    fn check(&self) -> Result<()> {
        self.epoch
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .check()
    }

    fn worker(&self) -> Result<Worker> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = &*worker {
            return Ok(worker.clone());
        }
        let started = Worker::start(&self.context.name, self.id)?;
        Ok(worker.insert(started).clone())
    }

    fn submit(&self, payload: Payload) -> Result<()> {
        let data = payload.into_raw();
        // SAFETY: the stream is live; the driver calls back once, with the data that belongs to this callback.
        let status = unsafe {
            (self.context.functions().stream_call)(self.handle, host_call::callback, data)
        };
        if status != SUCCESS {
            // SAFETY: refused, so the driver will not call back with it.
            drop(unsafe { Payload::from_raw(data) });
        }
        self.context.check("submitting a host function", status)
    }

    /// Waits until everything submitted so far is done.
    pub fn wait_idle(&self) -> Result<()> {
        let _entered = self.context.enter()?;
        host_call::refuse_inside("a wait for the stream")?;
        let submitted = self.progress.submitted();
        // SAFETY: the stream is live.
        let status = unsafe { (self.context.functions().stream_synchronize)(self.handle) };
        self.context.check("waiting for a stream", status)?;
        self.progress.finish(submitted);
        Ok(())
    }

    /// Waits, and takes the error that sticks.
    pub fn synchronize(&self) -> Result<()> {
        self.wait_idle()?;
        if !self.epoch().has_failed() {
            return Ok(());
        }
        let mut epoch = self.epoch.write().unwrap_or_else(PoisonError::into_inner);
        let outcome = epoch.check();
        if outcome.is_err() {
            *epoch = Arc::default();
        }
        outcome
    }

    fn is_idle(&self) -> Result<bool> {
        let _entered = self.context.enter()?;
        let submitted = self.progress.submitted();
        // SAFETY: the stream is live.
        match unsafe { (self.context.functions().stream_query)(self.handle) } {
            NOT_READY => Ok(false),
            status => {
                self.context
                    .check("asking for the state of a stream", status)?;
                self.progress.finish(submitted);
                Ok(true)
            }
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made in this context and destroyed once. What is still queued, after a fault, the driver releases by itself.
            unsafe { (self.context.functions().stream_destroy)(self.handle) };
        }
    }
}

/// The handle of a stream; dropping it waits for the stream, except inside a host function.
#[derive(Debug)]
pub struct GpuStream {
    queue: Arc<Queue>,
}

impl GpuStream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self> {
        Ok(Self {
            queue: Arc::new(Queue::new(context)?),
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
        event
            .as_any()
            .downcast_ref::<GpuEvent>()
            .filter(|event| Arc::ptr_eq(event.context(), &self.queue.context))
            .ok_or_else(|| self.wrong_backend("the event"))
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
        let queue = &*self.queue;
        let _entered = queue.context.enter()?;
        queue.check()?;
        if bytes == 0 {
            return Ok(());
        }
        let functions = queue.context.functions();
        let copy = match direction {
            CopyDirection::HostToDevice => functions.copy_to_device,
            CopyDirection::DeviceToHost => functions.copy_to_host,
            CopyDirection::DeviceToDevice => functions.copy_on_device,
        };
        queue.progress.submit();
        // SAFETY: the caller keeps both ranges valid until the command has run.
        let status = unsafe { copy(destination.0, source.0, bytes as usize, queue.handle) };
        queue.context.check("copying memory", status)
    }

    unsafe fn fill(&self, destination: DevicePointer, value: u8, bytes: u64) -> Result<()> {
        let queue = &*self.queue;
        let _entered = queue.context.enter()?;
        queue.check()?;
        if bytes == 0 {
            return Ok(());
        }
        queue.progress.submit();
        // SAFETY: the caller keeps the range valid until the command has run.
        let status = unsafe {
            (queue.context.functions().fill)(destination.0, value, bytes as usize, queue.handle)
        };
        queue.context.check("filling memory", status)
    }

    unsafe fn launch(
        &self,
        function: &dyn Function,
        config: &LaunchConfig,
        arguments: &[u8],
    ) -> Result<()> {
        let queue = &*self.queue;
        let function = function
            .as_any()
            .downcast_ref::<GpuFunction>()
            .filter(|function| Arc::ptr_eq(function.context(), &queue.context))
            .ok_or_else(|| self.wrong_backend("the kernel"))?;
        let _entered = queue.context.enter()?;
        queue.check()?;
        queue.progress.submit();
        // SAFETY: the caller vouches for arguments, limits and memory.
        unsafe { function.launch(queue.handle, config, arguments) }
    }

    fn record(&self, event: &Arc<dyn Event>) -> Result<()> {
        self.event(event)?.record(&self.queue)
    }

    fn wait(&self, event: &Arc<dyn Event>) -> Result<()> {
        let queue = &*self.queue;
        let Some((from, before)) = self.event(event)?.hold_back(queue)? else {
            return Ok(());
        };
        let (into, number) = (queue.epoch(), queue.progress.submit());
        if !from.may_fail() || Arc::ptr_eq(&from, &into) {
            return Ok(());
        }
        if let Some(error) = from.failure_before(before) {
            into.fail(number, error);
            return Ok(());
        }
        into.expect_failures();
        let _entered = queue.context.enter()?;
        queue.submit(Payload::Inherit {
            from,
            before,
            into,
            number,
        })
    }

    fn call(&self, function: HostFunction) -> Result<()> {
        let queue = &*self.queue;
        let _entered = queue.context.enter()?;
        queue.check()?;
        let epoch = queue.epoch();
        epoch.expect_failures();
        let worker = queue.worker()?;
        let job = Job {
            function,
            number: queue.progress.submit(),
            epoch,
            progress: Arc::clone(&queue.progress),
        };
        queue.submit(Payload::Job { job, worker })
    }

    fn synchronize(&self) -> Result<()> {
        self.queue.synchronize()
    }

    fn is_idle(&self) -> Result<bool> {
        self.queue.is_idle()
    }

    /// Counts what the driver has not been asked about yet as unfinished: an upper bound, exact when the stream is idle.
    fn depth(&self) -> usize {
        match self.queue.is_idle() {
            Ok(false) => self.queue.progress.depth(),
            // In a forked child, and after a fault, nothing is waiting.
            Ok(true) | Err(_) => 0,
        }
    }
}

impl Drop for GpuStream {
    fn drop(&mut self) {
        if !self.queue.context.is_own_process() {
            return;
        }
        if !host_call::is_inside() {
            // An error has nobody left to hear it.
            let _ = self.queue.wait_idle();
            return;
        }
        // This stream may be the one whose command is dropping it. Another thread waits for it and destroys it.
        let queue = Arc::clone(&self.queue);
        let spawned = thread::Builder::new()
            .name(format!("agpu-drain-{}", queue.id))
            .spawn(move || {
                let _ = queue.wait_idle();
            });
        if spawned.is_err() {
            // Destroying a stream inside its own callback is not allowed, so it stays until the process ends.
            std::mem::forget(Arc::clone(&self.queue));
        }
    }
}
