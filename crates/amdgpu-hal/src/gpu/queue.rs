//! A driver's stream and what is held back from it.
//!
//! The driver's own host functions must not use the driver, and while one runs, calls of other threads that wait for the whole device (a
//! free, a module load) hold locks that it would need. So none are used: a host function runs on a thread of ours once the driver's
//! stream has come to its place, and commands behind it are held on our side until it has run. Without host functions nothing is ever
//! held, and a command goes to the driver at once.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::context::Context;
use super::functions::{Handle, NOT_READY};
use super::graph::GpuGraph;
use super::module::GpuFunction;
use super::recording::Recording;
use super::reference::STREAM_NON_BLOCKING;
use crate::{CopyDirection, DevicePointer, Error, HostFunction, LaunchConfig, Result};

thread_local! {
    /// The stream whose host function this thread runs; 0 for none.
    static INSIDE: Cell<u64> = const { Cell::new(0) };
}

/// Whether this thread is inside a host function of that stream.
pub(super) fn is_inside(stream_id: u64) -> bool {
    INSIDE.get() == stream_id
}

/// What a stream can be told to do.
pub(super) enum Command<'a> {
    Copy {
        destination: DevicePointer,
        source: DevicePointer,
        bytes: u64,
        direction: CopyDirection,
    },
    Fill {
        destination: DevicePointer,
        value: u8,
        bytes: u64,
    },
    Launch {
        function: &'a GpuFunction,
        config: LaunchConfig,
        arguments: &'a [u8],
    },
    HeldLaunch {
        function: GpuFunction,
        config: LaunchConfig,
        arguments: Box<[u8]>,
    },
    Record(Arc<Recording>),
    Wait(Arc<Recording>),
    Call(HostFunction),
    Replay(GpuGraph),
}

impl Command<'_> {
    /// Whether it can go to the driver without waiting for anything on our side.
    fn is_ready(&self) -> bool {
        match self {
            Self::Call(_) => false,
            Self::Wait(recording) => !recording.is_held(),
            _ => true,
        }
    }

    /// Whether it also belongs to a stream that has failed: marks must be passed on, or their waiters would wait for ever.
    fn survives_failure(&self) -> bool {
        matches!(self, Self::Record(_) | Self::Wait(_))
    }

    /// With copies of what it borrows.
    fn hold(self) -> Command<'static> {
        match self {
            Self::Launch {
                function,
                config,
                arguments,
            } => Command::HeldLaunch {
                function: function.clone(),
                config,
                arguments: arguments.into(),
            },
            Self::HeldLaunch {
                function,
                config,
                arguments,
            } => Command::HeldLaunch {
                function,
                config,
                arguments,
            },
            Self::Copy {
                destination,
                source,
                bytes,
                direction,
            } => Command::Copy {
                destination,
                source,
                bytes,
                direction,
            },
            Self::Fill {
                destination,
                value,
                bytes,
            } => Command::Fill {
                destination,
                value,
                bytes,
            },
            Self::Record(recording) => Command::Record(recording),
            Self::Wait(recording) => Command::Wait(recording),
            Self::Call(function) => Command::Call(function),
            Self::Replay(graph) => Command::Replay(graph),
        }
    }

    /// Runs it, which for all but host functions means handing it to the driver. `failure` is the error that sticks to the stream.
    fn run(self, queue: &Queue, failure: Option<&Error>) -> Result<()> {
        let (context, stream) = (&*queue.context, queue.handle);
        match self {
            Self::Record(recording) => return recording.submit(stream, failure),
            Self::Wait(recording) => return recording.hold_back(context, stream),
            _ if failure.is_some() => return Ok(()),
            _ => {}
        }
        let _entered = context.enter()?;
        let functions = context.functions();
        match self {
            Self::Record(_) | Self::Wait(_) => Ok(()),
            Self::Copy {
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
                // SAFETY: the caller of `Stream::copy` keeps both ranges valid until the command has run.
                let status = unsafe { copy(destination.0, source.0, bytes as usize, stream) };
                context.check("copying memory", status)
            }
            Self::Fill {
                destination,
                value,
                bytes,
            } => {
                // SAFETY: the caller of `Stream::fill` keeps the range valid until the command has run.
                let status =
                    unsafe { (functions.fill)(destination.0, value, bytes as usize, stream) };
                context.check("filling memory", status)
            }
            Self::Launch {
                function,
                config,
                arguments,
            } => {
                context.loss.launched(function.shared_name(), queue.id);
                // SAFETY: the caller of `Stream::launch` vouches for arguments, limits and memory.
                unsafe { function.launch(stream, &config, arguments) }
            }
            Self::HeldLaunch {
                function,
                config,
                arguments,
            } => {
                context.loss.launched(function.shared_name(), queue.id);
                // SAFETY: as above.
                unsafe { function.launch(stream, &config, &arguments) }
            }
            Self::Replay(graph) => {
                for function in graph.functions() {
                    context.loss.launched(function.shared_name(), queue.id);
                }
                // SAFETY: the caller of `Stream::replay` vouches for its commands.
                unsafe { graph.launch(stream) }
            }
            Self::Call(function) => {
                // SAFETY: the stream is live.
                let status = unsafe { (functions.stream_synchronize)(stream) };
                context.check("waiting for a stream", status)?;
                catch_unwind(AssertUnwindSafe(function))
                    .unwrap_or_else(|payload| Err(Error::from_panic(payload.as_ref())))
            }
        }
    }
}

#[derive(Default)]
struct State {
    held: VecDeque<Command<'static>>,
    /// The worker is busy with a command it has taken out of `held`.
    is_serving: bool,
    failure: Option<Error>,
    submitted: u64,
    /// Commands that the driver has, or that are over.
    handed_on: u64,
    /// `submitted` when the stream was last seen idle.
    idle_at: u64,
    closing: bool,
    worker: Option<JoinHandle<()>>,
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("State")
            .field("submitted", &self.submitted)
            .field("handed_on", &self.handed_on)
            .finish_non_exhaustive()
    }
}

impl State {
    fn is_holding(&self) -> bool {
        self.is_serving || !self.held.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    pub id: u64,
    handle: Handle,
    pub context: Arc<Context>,
    state: Mutex<State>,
    /// Signals the worker: there is a command, or the stream closes.
    work: Condvar,
    /// Signals those who wait for held commands.
    progress: Condvar,
}

impl Queue {
    pub fn new(context: &Arc<Context>) -> Result<Arc<Self>> {
        let _entered = context.enter()?;
        let mut handle = 0;
        // SAFETY: `handle` is a valid place for the result.
        let status =
            unsafe { (context.functions().stream_create)(&raw mut handle, STREAM_NON_BLOCKING) };
        context.check("making a stream", status)?;
        let queue = Arc::new(Self {
            id: crate::stream::next_id(),
            handle,
            context: Arc::clone(context),
            state: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
        });
        context.add_queue(&queue);
        Ok(queue)
    }

    pub fn handle(&self) -> Handle {
        self.handle
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a command to the driver, or holds it behind those that are held already.
    pub fn submit(self: &Arc<Self>, command: Command<'_>) -> Result<()> {
        self.context.check_process()?;
        let mut state = self.lock();
        if let Some(error) = &state.failure
            && !command.survives_failure()
        {
            return Err(error.clone());
        }
        if !state.is_holding() && command.is_ready() {
            state.submitted += 1;
            state.handed_on += 1;
            let is_wait = matches!(command, Command::Wait(_));
            let outcome = command.run(self, state.failure.as_ref());
            return match outcome {
                // The error belongs to the stream that was waited for; this one inherits it.
                Err(error) if is_wait => {
                    state.failure.get_or_insert(error);
                    Ok(())
                }
                outcome => outcome,
            };
        }
        if state.worker.is_none() {
            state.worker = Some(self.start_worker()?);
        }
        state.submitted += 1;
        state.held.push_back(command.hold());
        self.work.notify_one();
        Ok(())
    }

    /// Lets another library submit; `name` is what a fault is put down to.
    ///
    /// # Safety
    /// As for [`crate::Stream::lend`].
    pub unsafe fn lend(
        &self,
        name: &Arc<str>,
        work: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        self.context.check_process()?;
        if is_inside(self.id) {
            return Err(Error::WouldDeadlock {
                operation: "work of another library",
            });
        }
        let mut state = self
            .progress
            .wait_while(self.lock(), |state| state.is_holding())
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &state.failure {
            return Err(error.clone());
        }
        let _entered = self.context.enter()?;
        state.submitted += 1;
        state.handed_on += 1;
        self.context.loss.launched(name, self.id);
        work(self.handle as u64)
    }

    fn start_worker(self: &Arc<Self>) -> Result<JoinHandle<()>> {
        let queue = Arc::clone(self);
        thread::Builder::new()
            .name(format!("agpu-stream-{}", self.id))
            .spawn(move || queue.serve())
            .map_err(|error| Error::DriverFault {
                device: self.context.name.clone(),
                operation: "starting the worker thread of a stream",
                reason: error.to_string(),
            })
    }

    /// The life of the worker: hands held commands on until the stream is closed and nothing is held.
    fn serve(self: Arc<Self>) {
        INSIDE.set(self.id);
        let mut state = self.lock();
        loop {
            let Some(command) = state.held.pop_front() else {
                if state.closing {
                    return;
                }
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            state.is_serving = true;
            let failure = state.failure.clone();
            drop(state);
            // The closure also drops what the command captured, which may be foreign code that panics.
            let outcome = catch_unwind(AssertUnwindSafe(|| command.run(&self, failure.as_ref())))
                .unwrap_or_else(|payload| Err(Error::from_panic(payload.as_ref())));
            state = self.lock();
            state.is_serving = false;
            state.handed_on += 1;
            if let Err(error) = outcome {
                state.failure.get_or_insert(error);
            }
            self.progress.notify_all();
        }
    }

    /// Waits until everything submitted so far is done.
    pub fn wait_idle(&self) -> Result<()> {
        self.context.check_process()?;
        if is_inside(self.id) {
            return Err(Error::WouldDeadlock {
                operation: "a wait for the stream",
            });
        }
        let state = self.lock();
        let submitted = state.submitted;
        drop(
            self.progress
                .wait_while(state, |state| state.handed_on < submitted)
                .unwrap_or_else(PoisonError::into_inner),
        );
        let _entered = self.context.enter()?;
        // SAFETY: the stream is live.
        let status = unsafe { (self.context.functions().stream_synchronize)(self.handle) };
        self.context.check("waiting for a stream", status)?;
        self.context.loss.passed(self.id);
        let mut state = self.lock();
        state.idle_at = state.idle_at.max(submitted);
        Ok(())
    }

    /// Lets a stream of whomever wait for what this one has.
    ///
    /// # Safety
    /// `stream` is a live stream of the driver.
    pub unsafe fn order_before(&self, stream: Handle) -> Result<()> {
        if stream == self.handle {
            return Ok(());
        }
        if self.lock().is_holding() {
            // The driver does not know yet what is held here.
            return self.wait_idle();
        }
        let context = &*self.context;
        let _entered = context.enter()?;
        let event = context.events.take(context)?;
        // SAFETY: event and stream are live and of one context.
        let recorded = unsafe { (context.functions().event_record)(event, self.handle) };
        // SAFETY: the caller gives a live stream; the flags have to be 0.
        let ordered = unsafe { (context.functions().stream_wait_event)(stream, event, 0) };
        context.events.give_back(context, event);
        context.check("recording an event", recorded)?;
        context.check("letting a stream wait for an event", ordered)
    }

    /// Waits, and takes the error that sticks.
    pub fn synchronize(&self) -> Result<()> {
        self.wait_idle()?;
        self.lock().failure.take().map_or(Ok(()), Err)
    }

    /// Whether everything submitted so far is done.
    pub fn is_idle(&self) -> Result<bool> {
        let _entered = self.context.enter()?;
        let mut state = self.lock();
        if state.handed_on < state.submitted {
            return Ok(false);
        }
        // SAFETY: the stream is live.
        match unsafe { (self.context.functions().stream_query)(self.handle) } {
            NOT_READY => Ok(false),
            status => {
                self.context
                    .check("asking for the state of a stream", status)?;
                state.idle_at = state.submitted;
                Ok(true)
            }
        }
    }

    /// Commands that are not known to be done.
    pub fn depth(&self) -> usize {
        match self.is_idle() {
            Ok(false) => {
                let state = self.lock();
                (state.submitted - state.idle_at) as usize
            }
            // In a forked child, and after a fault, nothing is waiting.
            Ok(true) | Err(_) => 0,
        }
    }

    /// Lets the worker hand on what is held and end, and waits for the stream.
    pub fn close(&self) {
        if !self.context.is_own_process() {
            return;
        }
        let mut state = self.lock();
        state.closing = true;
        let worker = state.worker.take();
        self.work.notify_all();
        drop(state);
        if is_inside(self.id) {
            // The last handle was dropped by a command of this very stream; the worker goes on by itself.
            return;
        }
        if let Some(worker) = worker {
            // Panics of commands are caught in `serve`, so the thread ends normally.
            let _ = worker.join();
        }
        // An error has nobody left to hear it.
        let _ = self.wait_idle();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made in this context and destroyed once; what the driver still has, it finishes.
            unsafe { (self.context.functions().stream_destroy)(self.handle) };
            return;
        }
        // In a forked child the thread belongs to the parent: neither join nor detach it.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = state.worker.take() {
            std::mem::forget(worker);
        }
    }
}
