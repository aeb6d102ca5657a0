//! Stopping what a stream runs: a flag of its queue that launches look at between pieces of their work. Kernels that go on all the same
//! are stopped where they are ([`super::preempt`]).

use std::cell::Cell;
use std::ptr;
use std::sync::Arc;

use super::preempt;
use super::sync::{self, AtomicBool, Ordering};

/// Set while what a queue was given has to stop.
#[derive(Debug)]
pub(super) struct CancelFlag(AtomicBool);

impl CancelFlag {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicBool::new(false)))
    }

    /// Asks to stop, and sees to it.
    pub fn request(self: &Arc<Self>) {
        if !self.0.swap(true, Ordering::AcqRel) {
            preempt::enforce(self);
        }
    }

    pub fn clear(&self) {
        self.0.store(false, Ordering::Release);
    }

    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

sync::thread_local! {
    /// The flag of the queue whose command this thread runs.
    #[allow(clippy::missing_const_for_thread_local, reason = "the model checker's has no such form")]
    static CURRENT: Cell<*const CancelFlag> = Cell::new(ptr::null());
}

/// Runs a command of the queue that `flag` belongs to.
pub(super) fn within<R>(flag: &Arc<CancelFlag>, command: impl FnOnce() -> R) -> R {
    struct Restore(*const CancelFlag);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.with(|current| current.set(self.0));
        }
    }
    let _restore = Restore(CURRENT.with(|current| current.replace(Arc::as_ptr(flag))));
    command()
}

/// The flag that concerns the command of this thread. It must not outlive the command.
#[derive(Clone, Copy)]
pub(super) struct Cancellation(*const CancelFlag);

// SAFETY: the flag is atomic, and whoever hands it to other threads waits for them within the command.
unsafe impl Sync for Cancellation {}

impl Cancellation {
    pub fn current() -> Self {
        Self(CURRENT.with(Cell::get))
    }

    /// Whether there is a flag at all: what runs outside of queues cannot be cancelled.
    pub fn exists(self) -> bool {
        !self.0.is_null()
    }

    pub fn is_requested(self) -> bool {
        // SAFETY: null, or set by `within`, whose caller keeps the flag until the command is over.
        unsafe { self.0.as_ref() }.is_some_and(CancelFlag::is_requested)
    }

    /// Cancels the command of this thread, and what its queue was given besides.
    pub fn request(self) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: `within` took the pointer from an `Arc`, which its caller keeps until the command is over.
        let flag = unsafe {
            Arc::increment_strong_count(self.0);
            Arc::from_raw(self.0)
        };
        flag.request();
    }

    pub fn as_ptr(self) -> *const CancelFlag {
        self.0
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;

    #[test]
    fn the_flag_is_that_of_the_innermost_command() {
        let (outer, inner) = (CancelFlag::new(), CancelFlag::new());
        inner.request();
        assert!(!Cancellation::current().exists());
        within(&outer, || {
            within(&inner, || assert!(Cancellation::current().is_requested()));
            assert!(!Cancellation::current().is_requested());
            Cancellation::current().request();
            assert!(Cancellation::current().is_requested());
        });
        assert!(outer.is_requested());
        assert!(!Cancellation::current().is_requested());
        outer.clear();
        inner.clear();
    }
}
