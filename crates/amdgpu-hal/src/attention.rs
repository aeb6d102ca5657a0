//! Signals of the operating system during long waits and long kernels.
//!
//! An interpreter such as Python runs its signal handlers (Ctrl-C) on the first thread of the process, and only when that thread comes
//! back to it. It leaves a [`Hook`] here, which waits call every [`INTERVAL`] on that thread, and kernels that take long too.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::time::Duration;

/// Runs pending signal handlers on the calling thread; tells whether one of them ends what the thread waits for.
pub type Hook = fn() -> bool;

/// Time between two looks for signals: unnoticed by whoever presses a key, and unnoticed in the time of a kernel.
pub const INTERVAL: Duration = Duration::from_millis(100);

static HOOK: OnceLock<Hook> = OnceLock::new();

/// Sets the hook of the process; only the first call counts.
pub fn set_hook(hook: Hook) {
    let _ = HOOK.set(hook);
}

/// Whether there is a hook and the calling thread is the one that it runs on.
#[must_use]
pub fn is_needed() -> bool {
    HOOK.get().is_some() && is_first_thread()
}

/// Runs the hook where it is needed; tells whether what the thread waits for has to be cancelled.
#[must_use]
pub fn is_wait_over() -> bool {
    is_first_thread() && DEFERRALS.get() == 0 && HOOK.get().is_some_and(|hook| hook())
}

thread_local! {
    static DEFERRALS: Cell<u32> = const { Cell::new(0) };
}

/// Keeps the hook from running on this thread: for work that is whole only at its end, and asks for signals itself.
#[derive(Debug)]
pub struct Deferral(PhantomData<*const ()>);

/// Begins a [`Deferral`], which ends when it is dropped.
#[must_use]
pub fn defer() -> Deferral {
    DEFERRALS.set(DEFERRALS.get() + 1);
    Deferral(PhantomData)
}

impl Drop for Deferral {
    fn drop(&mut self) {
        DEFERRALS.set(DEFERRALS.get() - 1);
    }
}

/// Whether the calling thread is the one that the process began with (or, in a child, the one that called `fork()`).
#[must_use]
pub fn is_first_thread() -> bool {
    // SAFETY: both calls only read.
    unsafe { libc::gettid() == libc::getpid() }
}
