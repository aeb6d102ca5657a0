//! Python's signal handlers during waits and kernels, and the end of the process.
//!
//! The hardware layer calls [`run_handlers`] while the first thread waits or computes. What a handler raises (`KeyboardInterrupt`) is kept here,
//! ends what the thread waits for, and takes the place of the error that comes back from there.

use std::cell::RefCell;
use std::time::Duration;

use amdgpu_hal::{attention, cpu};
use pyo3::prelude::*;

thread_local! {
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

pub fn connect() {
    attention::set_hook(run_handlers);
}

fn run_handlers() -> bool {
    // Taken down, the interpreter has no handlers any more.
    Python::try_attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            tell(py);
            keep(error);
            true
        }
    })
    .unwrap_or(false)
}

/// Has the call that fails next on this thread raise `error`.
pub fn keep(error: PyErr) {
    RAISED.set(Some(error));
}

/// What a signal handler raised during the call that has just failed on this thread.
pub fn take() -> Option<PyErr> {
    RAISED.take()
}

/// Tells of what a signal handler raised where nobody can be given the error.
pub fn tell(py: Python<'_>) {
    if let Some(error) = take() {
        error.write_unraisable(py, None);
    }
}

/// Cancel the work of all streams of CPU devices and wait for it to end; tells whether it did.
#[pyfunction]
pub fn stop_cpu_work(py: Python<'_>, limit_seconds: f64) -> bool {
    let limit = Duration::from_secs_f64(limit_seconds);
    py.detach(|| cpu::stop_everything(limit))
}

/// The same for a process that ends: short work may end by itself, and threads that wait for what was cancelled stay where they are.
#[pyfunction]
pub fn end_cpu_work(py: Python<'_>, grace_seconds: f64, limit_seconds: f64) -> bool {
    let grace = Duration::from_secs_f64(grace_seconds);
    let limit = Duration::from_secs_f64(limit_seconds);
    py.detach(|| cpu::end(grace, limit))
}
