//! Notices `fork()`: worker threads do not survive it, so objects that own threads must not be used in the child.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

static GENERATION: AtomicU64 = AtomicU64::new(0);
static REGISTER: Once = Once::new();

extern "C" fn count_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Marks the process in which an object was made. Looking at it costs one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkMark(u64);

impl ForkMark {
    /// The mark of this process.
    #[must_use]
    pub fn current() -> Self {
        REGISTER.call_once(|| {
            // SAFETY: the handler only touches an atomic, which is allowed in the child of a threaded process. A failure (no memory for
            // the list of handlers) leaves forks unnoticed, the state every program without the handler is in.
            unsafe { libc::pthread_atfork(None, None, Some(count_fork_in_child)) };
        });
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether this is still the process the mark was made in.
    #[must_use]
    pub fn is_current(self) -> bool {
        self.0 == GENERATION.load(Ordering::Relaxed)
    }

    /// An error naming `what` in a forked child.
    pub fn check(self, what: &'static str) -> Result<()> {
        if self.is_current() {
            Ok(())
        } else {
            Err(Error::Forked { what })
        }
    }
}
