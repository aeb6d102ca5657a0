//! The ordered queue behind a CPU stream, and the worker thread that empties it.
//!
//! Either one thread executes a command of the queue or none does (`State::executing`); that is the whole of the ordering.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use super::cancel::{self, CancelFlag};
use super::command::Command;
use super::event::Completion;
use super::preempt;
use super::shutdown;
use super::sync::{
    self, AtomicU64, Condvar, JoinHandle, Mutex, MutexGuard, Ordering, ThreadId, thread,
};
use crate::fork::ForkMark;
use crate::{Error, Result, attention};

/// Whether an idle queue lets the submitting thread run its command at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Inline,
    Asynchronous,
}

#[derive(Debug)]
pub(super) struct Queue {
    pub id: u64,
    mode: Mode,
    mark: ForkMark,
    /// Set while what is queued has to stop.
    cancelled: Arc<CancelFlag>,
    state: Mutex<State>,
    /// Commands submitted and not finished, as the state has them: asked for whenever memory is given back.
    unfinished: AtomicU64,
    /// Signals the worker: there is a command and nobody executes, or the queue closes.
    work: Condvar,
    /// Signals those who wait for commands to finish.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    commands: VecDeque<Command>,
    executing: bool,
    executor: Option<ThreadId>,
    /// What the command that is executed may wait for, of another stream.
    awaited: Option<Arc<Completion>>,
    failure: Option<Error>,
    submitted: u64,
    finished: u64,
    /// How many commands, counted as `submitted`, the newest cancellation concerns.
    cancelled_until: u64,
    waiters: u32,
    closing: bool,
    worker: Option<JoinHandle<()>>,
}

/// The right to run one command on the calling thread. It must be given back with [`Permit::finish`].
#[must_use]
pub(super) struct Permit<'a> {
    queue: &'a Arc<Queue>,
    result: Option<Result<()>>,
}

impl Permit<'_> {
    pub fn finish(mut self, result: Result<()>) {
        self.result = Some(result);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        // Unfinished means that the command unwound through its caller; the queue goes on all the same.
        let result = self.result.take().unwrap_or(Ok(()));
        let mut state = self.queue.lock();
        self.queue.finish(&mut state, result);
        self.queue.end_cancellation(&state);
        self.queue.signal(&mut state);
    }
}

/// A command that the calling thread runs itself, now.
#[must_use]
pub(super) struct Inline<'a> {
    permit: Permit<'a>,
    command: Command,
    failure: Option<Error>,
}

impl Inline<'_> {
    pub fn run(self) {
        let Self {
            permit,
            command,
            failure,
        } = self;
        let run = || command.run(failure.as_ref());
        let result = permit.queue.within(run);
        permit.finish(result);
    }
}

impl State {
    fn finish(&mut self, result: Result<()>) {
        self.executing = false;
        self.executor = None;
        self.awaited = None;
        self.finished += 1;
        if let Err(error) = result {
            self.failure.get_or_insert(error);
        }
    }
}

impl Queue {
    pub fn new(mode: Mode) -> Arc<Self> {
        let queue = Arc::new(Self {
            id: crate::stream::next_id(),
            mode,
            mark: ForkMark::current(),
            cancelled: CancelFlag::new(),
            state: Mutex::new(State::default()),
            unfinished: AtomicU64::new(0),
            work: Condvar::new(),
            progress: Condvar::new(),
        });
        shutdown::note(&queue);
        queue
    }

    /// Asks everything submitted so far to stop; tells whether there is anything.
    pub fn cancel(&self) -> Result<bool> {
        self.mark.check("the stream")?;
        let mut state = self.lock();
        if state.finished == state.submitted {
            return Ok(false);
        }
        // What waits behind the running command must not begin.
        state.failure.get_or_insert_with(Error::cancelled);
        state.cancelled_until = state.submitted;
        self.cancelled.request();
        let awaited = state.awaited.clone();
        drop(state);
        if let Some(awaited) = awaited {
            awaited.look_again();
        }
        Ok(true)
    }

    /// The flag concerns what was submitted before it was set.
    fn end_cancellation(&self, state: &State) {
        if state.finished >= state.cancelled_until && self.cancelled.is_requested() {
            self.cancelled.clear();
        }
    }

    /// Set while what the queue runs has to stop.
    pub fn cancel_flag(&self) -> &Arc<CancelFlag> {
        &self.cancelled
    }

    /// Runs a command with a permit of [`Self::begin_inline`].
    pub fn within<R>(&self, command: impl FnOnce() -> R) -> R {
        let _noted = preempt::note_command();
        cancel::within(&self.cancelled, command)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever the state concerns.
    fn signal(self: &Arc<Self>, state: &mut MutexGuard<'_, State>) {
        if state.waiters > 0 {
            self.progress.notify_all();
        }
        if !state.commands.is_empty() && state.worker.is_some() {
            self.work.notify_one();
        }
    }

    /// The right to run a command here and now, if this queue works that way and is idle. Fails when an error sticks to the stream.
    pub fn begin_inline(self: &Arc<Self>) -> Result<Option<Permit<'_>>> {
        self.mark.check("the stream")?;
        let mut state = self.lock();
        if let Some(error) = &state.failure {
            return Err(error.clone());
        }
        if self.mode == Mode::Asynchronous || state.executing || !state.commands.is_empty() {
            return Ok(None);
        }
        self.count_submitted(&mut state);
        state.executing = true;
        state.executor = Some(thread::current().id());
        drop(state);
        Ok(Some(Permit {
            queue: self,
            result: None,
        }))
    }

    /// Runs the command at once where that is possible, otherwise appends it.
    pub fn submit(self: &Arc<Self>, command: Command) -> Result<()> {
        if let Some(inline) = self.enqueue(command)? {
            inline.run();
        }
        Ok(())
    }

    /// Gives the command its place in the order of the queue: it is appended, or the caller runs it at once.
    pub fn enqueue(self: &Arc<Self>, command: Command) -> Result<Option<Inline<'_>>> {
        self.mark.check("the stream")?;
        let mut state = self.lock();
        if let Some(error) = &state.failure
            && !command.survives_failure()
        {
            return Err(error.clone());
        }
        let idle = !state.executing && state.commands.is_empty();
        if self.mode == Mode::Inline && idle && command.is_ready() {
            self.count_submitted(&mut state);
            state.executing = true;
            state.executor = Some(thread::current().id());
            let failure = state.failure.clone();
            drop(state);
            let permit = Permit {
                queue: self,
                result: None,
            };
            return Ok(Some(Inline {
                permit,
                command,
                failure,
            }));
        }
        self.ensure_worker(&mut state)?;
        self.push(&mut state, command);
        Ok(None)
    }

    /// Makes sure that [`Self::append`] cannot fail.
    pub fn prepare(self: &Arc<Self>) -> Result<()> {
        self.mark.check("the stream")?;
        self.ensure_worker(&mut self.lock())
    }

    /// Appends a command whatever failed before, behind a call of [`Self::prepare`].
    pub fn append(self: &Arc<Self>, command: Command) {
        let mut state = self.lock();
        self.push(&mut state, command);
    }

    fn push(&self, state: &mut State, command: Command) {
        self.count_submitted(state);
        state.commands.push_back(command);
        if !state.executing {
            self.work.notify_one();
        }
    }

    fn ensure_worker(self: &Arc<Self>, state: &mut State) -> Result<()> {
        if state.worker.is_none() {
            state.worker = Some(self.start_worker()?);
        }
        Ok(())
    }

    fn start_worker(self: &Arc<Self>) -> Result<JoinHandle<()>> {
        let queue = Arc::clone(self);
        thread::Builder::new()
            .name(format!("agpu-stream-{}", self.id))
            .spawn(move || queue.serve())
            .map_err(|error| Error::DriverFault {
                device: "cpu:0".to_string(),
                operation: "starting the worker thread of a stream",
                reason: error.to_string(),
            })
    }

    /// The life of the worker: runs commands until the queue is closed and empty.
    fn serve(self: Arc<Self>) {
        let mut state = self.lock();
        loop {
            if state.executing {
                // The inline permit of another thread; it signals `work` when it ends.
                state = self.wait_for_work(state);
                continue;
            }
            let Some(command) = state.commands.pop_front() else {
                if state.closing {
                    return;
                }
                state = self.wait_for_work(state);
                continue;
            };
            state.executing = true;
            state.executor = Some(thread::current().id());
            state.awaited = command.awaited();
            let failure = state.failure.clone();
            drop(state);
            // The closure also drops what the command captured, which may be foreign code that panics.
            let result = catch_unwind(AssertUnwindSafe(|| {
                cancel::within(&self.cancelled, || command.run(failure.as_ref()))
            }))
            .unwrap_or_else(|payload| Err(Error::from_panic(payload.as_ref())));
            state = self.lock();
            self.finish(&mut state, result);
            self.end_cancellation(&state);
            if state.waiters > 0 {
                self.progress.notify_all();
            }
        }
    }

    fn wait_for_work<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.work
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything submitted so far is done; returns the error that sticks, and clears it.
    pub fn synchronize(&self) -> Result<()> {
        let waited = self.wait_idle();
        if matches!(
            waited,
            Err(Error::Forked { .. } | Error::WouldDeadlock { .. })
        ) {
            return waited;
        }
        let result = waited.and(self.lock().failure.take().map_or(Ok(()), Err));
        shutdown::detain(&result);
        result
    }

    /// Waits until everything submitted so far is done. When a signal handler ends the wait, all of it is cancelled, and that is the error.
    pub fn wait_idle(&self) -> Result<()> {
        self.mark.check("the stream")?;
        let mut state = self.lock();
        let target = state.submitted;
        if state.finished < target && state.executor == Some(thread::current().id()) {
            return Err(Error::WouldDeadlock {
                operation: "a wait for the stream",
            });
        }
        let mut outcome = Ok(());
        state.waiters += 1;
        while state.finished < target {
            let elapsed;
            (state, elapsed) = sync::sleep(&self.progress, state);
            if elapsed {
                drop(state);
                if attention::is_wait_over() {
                    self.cancel()?;
                    outcome = Err(Error::Interrupted);
                }
                state = self.lock();
            }
        }
        state.waiters -= 1;
        outcome
    }

    /// Commands submitted and not finished. What those that are finished wrote is seen by who asked.
    pub fn depth(&self) -> Result<usize> {
        self.mark.check("the stream")?;
        Ok(self.unfinished.load(Ordering::Acquire) as usize)
    }

    fn count_submitted(&self, state: &mut State) {
        state.submitted += 1;
        self.count_unfinished(state);
    }

    fn finish(&self, state: &mut State, result: Result<()>) {
        state.finish(result);
        self.count_unfinished(state);
    }

    fn count_unfinished(&self, state: &State) {
        let unfinished = state.submitted - state.finished;
        self.unfinished.store(unfinished, Ordering::Release);
    }

    /// Lets the worker finish what is queued and end, and waits for it.
    pub fn close(&self) {
        // Work that could not be stopped at the end of the process is not waited for.
        if !self.mark.is_current() || shutdown::is_ending() {
            return;
        }
        let mut state = self.lock();
        state.closing = true;
        let worker = state.worker.take();
        self.work.notify_all();
        drop(state);
        // The last handle may be dropped by a command of this very queue; then the worker drains on its own.
        if let Some(worker) = worker
            && worker.thread().id() != thread::current().id()
        {
            // Panics of commands are caught in `serve`, so the thread ends normally.
            let _ = worker.join();
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if !self.mark.is_current() {
            // The thread belongs to the parent process: neither join nor detach it.
            let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(worker) = state.worker.take() {
                std::mem::forget(worker);
            }
        }
    }
}
