//! Notices `fork()`: worker threads do not survive it, so objects that own threads must not be used in the child.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use crate::{Error, Result};

static GENERATION: AtomicU64 = AtomicU64::new(0);
/// Not a `Once`: a child forked while another thread is inside would wait for that thread for ever.
static IS_REGISTERED: AtomicBool = AtomicBool::new(false);

extern "C" fn count_fork_in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// Run when the library is loaded. While `fork()` waits in a handler of somebody else, other threads go on, and a handler that one of them registers
/// then is not run in the child, which would take what it inherits for its own.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;

#[cfg(target_os = "linux")]
extern "C" fn register() {
    let _ = ForkMark::current();
}

/// Marks the process in which an object was made. Looking at it costs one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkMark(u64);

impl ForkMark {
    /// The mark of this process.
    #[must_use]
    pub fn current() -> Self {
        if !IS_REGISTERED.load(Ordering::Acquire) {
            // Two threads may both come here, and a fork is then counted twice, which is as good as once.
            // SAFETY: the handler only touches an atomic, which is allowed in the child of a threaded process. A failure (no memory for
            // the list of handlers) leaves forks unnoticed, the state every program without the handler is in.
            unsafe { libc::pthread_atfork(None, None, Some(count_fork_in_child)) };
            IS_REGISTERED.store(true, Ordering::Release);
        }
        Self(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether this is still the process the mark was made in.
    #[inline]
    #[must_use]
    pub fn is_current(self) -> bool {
        self.0 == GENERATION.load(Ordering::Relaxed)
    }

    /// Notes in `claimed` (0 for nobody) that this process begins something; an error naming `what` when its parent had begun it.
    pub(crate) fn claim(self, claimed: &AtomicU64, what: &'static str) -> Result<()> {
        match claimed.compare_exchange(0, self.0 + 1, Ordering::AcqRel, Ordering::Acquire) {
            Err(process) if process != self.0 + 1 => Err(Error::Forked { what }),
            _ => Ok(()),
        }
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

/// A value that every process makes for itself when it first asks, children after a `fork()` too: what they inherit may be locked for ever
/// by a thread that they do not have. Asking waits for nobody.
#[derive(Debug)]
pub struct ForkLocal<T: 'static> {
    current: AtomicPtr<Made<T>>,
    make: fn() -> T,
}

#[derive(Debug)]
struct Made<T> {
    mark: ForkMark,
    value: T,
}

impl<T: Sync> ForkLocal<T> {
    /// A value that `make` makes. Two threads that ask first may both call it; one result is kept.
    #[must_use]
    pub const fn new(make: fn() -> T) -> Self {
        Self {
            current: AtomicPtr::new(std::ptr::null_mut()),
            make,
        }
    }

    #[cold]
    fn install(&self, previous: *mut Made<T>) -> &T {
        let made = Box::into_raw(Box::new(Made {
            mark: ForkMark::current(),
            value: (self.make)(),
        }));
        // What a forked parent made is left behind, not freed.
        match self
            .current
            .compare_exchange(previous, made, Ordering::AcqRel, Ordering::Acquire)
        {
            // SAFETY: `made` was just leaked.
            Ok(_) => unsafe { &(*made).value },
            Err(winner) => {
                // SAFETY: `made` came from Box::into_raw and was not published.
                drop(unsafe { Box::from_raw(made) });
                // SAFETY: another thread of this process published `winner` the same way; it is never freed.
                unsafe { &(*winner).value }
            }
        }
    }
}

impl<T: Sync> Deref for ForkLocal<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: the pointer is null or comes from `install`, which leaks what it publishes.
        match unsafe { current.as_ref() } {
            Some(made) if made.mark.is_current() => &made.value,
            _ => self.install(current),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    static LIST: ForkLocal<Mutex<Vec<i32>>> = ForkLocal::new(Mutex::default);

    #[test]
    fn a_value_is_made_once_and_again_in_a_child() {
        LIST.lock().unwrap().push(1);
        LIST.lock().unwrap().push(2);
        // Locked by a thread that the child does not have.
        let held = LIST.lock().unwrap();
        // SAFETY: the child only touches the value and leaves by _exit.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let is_fresh = LIST.try_lock().is_ok_and(|list| list.is_empty());
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(i32::from(!is_fresh)) };
        }
        let mut status = 0;
        // SAFETY: waits for the child made above.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
        assert_eq!(*held, [1, 2]);
    }
}
