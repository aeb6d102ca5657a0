//! Knows whether this process is a child that was forked while the runtime started or ran. Only one thread survives a fork, and it is
//! not the one that owns Julia; locks of the others may be held for ever. So the answer must need no lock.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::Error;

/// Starts under way plus the running runtime. While it is zero a child may start a runtime of its own.
static ENGAGED: AtomicUsize = AtomicUsize::new(0);
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn mark_child() {
    if ENGAGED.load(Ordering::SeqCst) > 0 {
        FORKED.store(true, Ordering::SeqCst);
    }
}

/// Held while the runtime starts: a child forked meanwhile has no use of it. Dropped when the start fails.
pub(crate) struct Engagement;

impl Engagement {
    /// To be taken before the first lock or thread of the start.
    pub(crate) fn begin() -> Self {
        static REGISTERED: Once = Once::new();
        REGISTERED.call_once(|| {
            // SAFETY: the handler only uses atomics, which is allowed between fork and exec. Failure (no memory for the entry) leaves
            // children unmarked, which is no worse than not watching.
            unsafe { libc::pthread_atfork(None, None, Some(mark_child)) };
        });
        ENGAGED.fetch_add(1, Ordering::SeqCst);
        Self
    }

    /// The runtime runs, for the rest of the process.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Engagement {
    fn drop(&mut self) {
        ENGAGED.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) fn check() -> Result<(), Error> {
    // Relaxed: the child has the memory of the thread that forked, and the handler ran in it.
    if FORKED.load(Ordering::Relaxed) {
        return Err(Error::Forked);
    }
    Ok(())
}
