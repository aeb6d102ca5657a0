//! Which thread runs a call: the one that this crate started Julia on, or one that a host program names.

use std::sync::{Mutex, PoisonError, mpsc};

use crate::julia::Owner;
use crate::{Error, fork};

/// A piece of work for the thread that owns a foreign Julia runtime.
pub type Task = Box<dyn FnOnce() + Send>;

/// Runs a task on the thread that owns a foreign Julia runtime. It may return before the task has run, and must run or drop it.
pub type Runner = Box<dyn Fn(Task) + Send + Sync>;

pub(crate) enum Executor {
    Owned(&'static Owner),
    Adopted {
        runner: Runner,
        /// The kernels share scratch memory and the last message: one call at a time, also when the runner runs tasks where they are.
        permit: Mutex<()>,
    },
}

impl Executor {
    pub(crate) fn adopted(runner: Runner) -> Self {
        Self::Adopted {
            runner,
            permit: Mutex::new(()),
        }
    }

    pub(crate) fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send,
    ) -> Result<R, Error> {
        match self {
            Self::Owned(owner) => owner.call(|_| work()),
            Self::Adopted { runner, permit } => {
                fork::check()?;
                let (answer, received) = mpsc::sync_channel(1);
                let task: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
                    // Taken inside the task, so that a runner that serves them one by one never waits for itself. The lock guards no
                    // data of its own that a panic could leave half-made.
                    let permit = permit.lock().unwrap_or_else(PoisonError::into_inner);
                    let value = work();
                    drop(permit);
                    // The receiver waits below, whatever the runner does.
                    let _ = answer.send(value);
                });
                // SAFETY: only the lifetime changes. The task borrows from the caller, who stays in this function until the answer has
                // been sent or the sender is gone, that is until the task has run, has unwound or was dropped. A panic in the runner
                // itself drops the task during unwinding unless it was handed on; then `WaitForTask` waits before the borrow ends.
                let task =
                    unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Task>(task) };
                let wait = WaitForTask(Some(received));
                runner(task);
                wait.finish().ok_or_else(|| Error::Foreign {
                    message: "the call was given up by the program that runs Julia".to_owned(),
                })
            }
        }
    }
}

/// Waits for the task also when the runner panics.
struct WaitForTask<R>(Option<mpsc::Receiver<R>>);

impl<R> WaitForTask<R> {
    fn finish(mut self) -> Option<R> {
        self.0.take()?.recv().ok()
    }
}

impl<R> Drop for WaitForTask<R> {
    fn drop(&mut self) {
        if let Some(received) = self.0.take() {
            // Either answer means that the task no longer runs.
            let _ = received.recv();
        }
    }
}
