//! Host functions in the order of a stream.
//!
//! The driver's callback must not use the driver, and a command of ours may: so the callback hands the function to the stream's worker
//! thread and waits for it, which holds the stream back just the same.

use std::cell::Cell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use super::epoch::Epoch;
use crate::{Error, HostFunction, Result};

thread_local! {
    static RUNS_HOST_FUNCTIONS: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a host function of some GPU stream.
pub(super) fn is_inside() -> bool {
    RUNS_HOST_FUNCTIONS.get()
}

/// Refuses a wait that would keep the driver's callbacks from ever going on.
pub(super) fn refuse_inside(operation: &'static str) -> Result<()> {
    if is_inside() {
        return Err(Error::WouldDeadlock { operation });
    }
    Ok(())
}

/// How far a stream has got, as far as the host has been told.
#[derive(Debug, Default)]
pub(super) struct Progress {
    submitted: AtomicU64,
    finished: AtomicU64,
}

impl Progress {
    /// The number of a new command, from 1.
    pub fn submit(&self) -> u64 {
        self.submitted.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed)
    }

    /// Everything up to command `number` is done.
    pub fn finish(&self, number: u64) {
        self.finished.fetch_max(number, Ordering::Relaxed);
    }

    /// Commands not known to be done.
    pub fn depth(&self) -> usize {
        let finished = self.finished.load(Ordering::Relaxed);
        self.submitted().saturating_sub(finished) as usize
    }
}

/// A host function and where it stands.
pub(super) struct Job {
    pub function: HostFunction,
    pub number: u64,
    pub epoch: Arc<Epoch>,
    pub progress: Arc<Progress>,
}

impl Job {
    fn run(self) {
        let Self {
            function,
            number,
            epoch,
            progress,
        } = self;
        // The closure also drops what the function captured, which may be foreign code that panics.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if epoch.failure_before(number).is_some() {
                drop(function);
                return Ok(());
            }
            function()
        }))
        .unwrap_or_else(|payload| Err(Error::from_panic(payload.as_ref())));
        if let Err(error) = outcome {
            epoch.fail(number, error);
        }
        progress.finish(number);
    }
}

struct Task {
    job: Job,
    done: mpsc::SyncSender<()>,
}

/// The thread that runs the host functions of one stream; it ends when the stream and all its functions are gone.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    tasks: mpsc::Sender<Task>,
}

impl Worker {
    pub fn start(device: &str, stream_id: u64) -> Result<Self> {
        let (tasks, received) = mpsc::channel::<Task>();
        thread::Builder::new()
            .name(format!("agpu-stream-{stream_id}"))
            .spawn(move || {
                RUNS_HOST_FUNCTIONS.set(true);
                for Task { job, done } in received {
                    job.run();
                    // The callback waits for this, unless its process is ending.
                    let _ = done.send(());
                }
            })
            .map_err(|error| Error::DriverFault {
                device: device.to_string(),
                operation: "starting the worker thread of a stream",
                reason: error.to_string(),
            })?;
        Ok(Self { tasks })
    }
}

/// What travels through the driver to a callback.
pub(super) enum Payload {
    Job {
        job: Job,
        worker: Worker,
    },
    /// Hands the error of a stream that was waited for to the one that waited.
    Inherit {
        from: Arc<Epoch>,
        before: u64,
        into: Arc<Epoch>,
        number: u64,
    },
}

impl Payload {
    /// For the driver; [`callback`] takes it back.
    pub fn into_raw(self) -> *mut c_void {
        Box::into_raw(Box::new(self)).cast()
    }

    /// Takes back what [`Self::into_raw`] gave.
    ///
    /// # Safety
    /// `data` came from `into_raw` and is taken back once.
    pub unsafe fn from_raw(data: *mut c_void) -> Self {
        // SAFETY: the caller's contract.
        *unsafe { Box::from_raw(data.cast::<Self>()) }
    }

    fn run(self) {
        match self {
            Self::Job { job, worker } => {
                let (done, is_done) = mpsc::sync_channel(1);
                match worker.tasks.send(Task { job, done }) {
                    // An error means that the worker has dropped the task, so nothing is left to wait for.
                    Ok(()) => drop(is_done.recv()),
                    Err(mpsc::SendError(task)) => {
                        RUNS_HOST_FUNCTIONS.set(true);
                        task.job.run();
                    }
                }
            }
            Self::Inherit {
                from,
                before,
                into,
                number,
            } => {
                if let Some(error) = from.failure_before(before) {
                    into.fail(number, error);
                }
            }
        }
    }
}

/// What the driver calls. Nothing in it unwinds: functions run behind `catch_unwind`.
pub(super) unsafe extern "C" fn callback(data: *mut c_void) {
    // SAFETY: the driver hands over what it was given together with this function, once.
    unsafe { Payload::from_raw(data) }.run();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(epoch: &Arc<Epoch>, progress: &Arc<Progress>, function: HostFunction) -> Job {
        Job {
            function,
            number: progress.submit(),
            epoch: Arc::clone(epoch),
            progress: Arc::clone(progress),
        }
    }

    fn call(payload: Payload) {
        // SAFETY: the payload is handed over once, as a driver would.
        unsafe { callback(payload.into_raw()) };
    }

    #[test]
    fn a_function_has_run_on_the_worker_when_the_callback_returns() {
        let (epoch, progress) = (Arc::default(), Arc::default());
        let worker = Worker::start("cuda:0", 1).unwrap();
        let (sender, receiver) = mpsc::channel();
        let function: HostFunction = Box::new(move || {
            sender.send((thread::current().id(), is_inside())).unwrap();
            Ok(())
        });
        let job = job(&epoch, &progress, function);
        assert_eq!(progress.depth(), 1);
        call(Payload::Job { job, worker });
        let (id, inside) = receiver.try_recv().unwrap();
        assert_ne!(id, thread::current().id());
        assert!(inside && !is_inside());
        assert_eq!(progress.depth(), 0);
        assert_eq!(epoch.check(), Ok(()));
    }

    #[test]
    fn after_a_failure_functions_are_dropped_unrun_and_panics_count_as_failures() {
        let (epoch, progress) = (Arc::default(), Arc::default());
        let worker = Worker::start("cuda:0", 2).unwrap();
        let panics = job(&epoch, &progress, Box::new(|| panic!("number {}", 5)));
        call(Payload::Job {
            job: panics,
            worker: worker.clone(),
        });
        let expected = Error::Panicked {
            message: "number 5".to_string(),
        };
        let held = Arc::new(());
        let captured = Arc::clone(&held);
        let skipped = job(
            &epoch,
            &progress,
            Box::new(move || {
                drop(captured);
                Err(Error::Forked { what: "never" })
            }),
        );
        call(Payload::Job {
            job: skipped,
            worker,
        });
        assert_eq!(epoch.check(), Err(expected.clone()));
        assert_eq!(Arc::strong_count(&held), 1);
        let heir = Arc::new(Epoch::default());
        for (before, outcome) in [(1, Ok(())), (2, Err(expected))] {
            call(Payload::Inherit {
                from: Arc::clone(&epoch),
                before,
                into: Arc::clone(&heir),
                number: 1,
            });
            assert_eq!(heir.check(), outcome);
        }
    }
}
