//! Knows whether this process is a child that was forked after the runtime started. Only one thread survives a fork, and it is not the
//! one that owns Julia; locks of the others may be held for ever. So the answer must need no lock.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;

static FORKED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" fn mark_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// From now on a forked child is recognised. To be called before the first lock or thread of the runtime exists.
pub(crate) fn watch() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the handler only stores to an atomic, which is allowed between fork and exec. Failure (no memory for the entry)
        // leaves the child unmarked, which is no worse than not watching.
        unsafe { libc::pthread_atfork(None, None, Some(mark_child)) };
    });
}

pub(crate) fn check() -> Result<(), Error> {
    // Relaxed: the child has the memory of the thread that forked, and the handler ran in it.
    if FORKED.load(Ordering::Relaxed) {
        return Err(Error::Forked);
    }
    Ok(())
}
