//! Stopping what a stream runs: a flag of its queue that launches look at between pieces of their work.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// The flag of the queue whose command this thread runs.
    static CURRENT: Cell<*const AtomicBool> = const { Cell::new(ptr::null()) };
}

/// Runs a command of the queue that `flag` belongs to.
pub(super) fn within<R>(flag: &AtomicBool, command: impl FnOnce() -> R) -> R {
    struct Restore(*const AtomicBool);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _restore = Restore(CURRENT.replace(flag));
    command()
}

/// The flag that concerns the command of this thread. It must not outlive the command.
#[derive(Clone, Copy)]
pub(super) struct Cancellation(*const AtomicBool);

// SAFETY: the flag is atomic, and whoever hands it to other threads waits for them within the command.
unsafe impl Sync for Cancellation {}

impl Cancellation {
    pub fn current() -> Self {
        Self(CURRENT.get())
    }

    pub fn is_requested(self) -> bool {
        // SAFETY: null, or set by `within`, whose caller keeps the flag until the command is over.
        unsafe { self.0.as_ref() }.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_that_of_the_innermost_command() {
        let (outer, inner) = (AtomicBool::new(false), AtomicBool::new(true));
        assert!(!Cancellation::current().is_requested());
        within(&outer, || {
            within(&inner, || assert!(Cancellation::current().is_requested()));
            assert!(!Cancellation::current().is_requested());
            outer.store(true, Ordering::Relaxed);
            assert!(Cancellation::current().is_requested());
        });
        assert!(!Cancellation::current().is_requested());
    }
}
