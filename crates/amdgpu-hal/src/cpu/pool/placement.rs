//! Keeps a waking worker off the core of the thread that wakes it.
//!
//! Linux likes to wake a thread on the core of its waker, and where cores share no cache, as in many virtual machines, it leaves it there:
//! the worker then waits for the very thread that waits for it. Measured on a two-core machine, a product of 512 x 512 float32 after a pause
//! ran at 114 GFLOP/s instead of 228.

use std::mem::size_of;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Pools with more workers are left to the scheduler: placing each costs a system call, and machines of that size balance better.
const MAX_PLACED_WORKERS: usize = 16;
const NO_CORE: i32 = -1;

#[derive(Debug)]
pub struct Placement {
    /// Threads of the workers, by the system's ids.
    workers: Mutex<Vec<libc::pid_t>>,
    /// The core that the workers were last kept off.
    avoided: AtomicI32,
}

impl Placement {
    pub const fn new() -> Self {
        Self {
            workers: Mutex::new(Vec::new()),
            avoided: AtomicI32::new(NO_CORE),
        }
    }

    /// Called by each worker when it begins.
    pub fn register(&self) {
        // SAFETY: takes no arguments and cannot fail.
        let thread = unsafe { libc::gettid() };
        self.lock().push(thread);
        // The new worker may run anywhere until the next placement.
        self.avoided.store(NO_CORE, Ordering::Relaxed);
    }

    /// Called before sleeping workers are woken: they may run on every core of this thread but the one it is on now.
    pub fn avoid_this_core(&self) {
        // SAFETY: takes no arguments; -1 when the system does not tell.
        let core = unsafe { libc::sched_getcpu() };
        if core == NO_CORE || self.avoided.swap(core, Ordering::Relaxed) == core {
            return;
        }
        let workers = self.lock();
        let Some(cores) = other_cores(core, workers.len()) else {
            return;
        };
        for worker in &*workers {
            // A worker that cannot be placed is where the scheduler puts it, as without this.
            // SAFETY: `cores` is a valid set of the size given.
            let _ = unsafe {
                libc::sched_setaffinity(*worker, size_of::<libc::cpu_set_t>(), &raw const cores)
            };
        }
    }

    /// The list holds whole entries whatever panicked.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<libc::pid_t>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cores of the calling thread without `core`; `None` where that leaves fewer cores than workers.
fn other_cores(core: i32, workers: usize) -> Option<libc::cpu_set_t> {
    if workers == 0 || workers > MAX_PLACED_WORKERS {
        return None;
    }
    // SAFETY: all-zero is the empty set; the calls read and write only the set, and `core` is a core of this machine, below CPU_SETSIZE
    // or ignored.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut cores) != 0 {
            return None;
        }
        libc::CPU_CLR(core as usize, &mut cores);
        (libc::CPU_COUNT(&cores) as usize >= workers).then_some(cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_known_by_their_threads_and_a_new_one_is_placed_anew() {
        let placement = Placement::new();
        assert!(placement.lock().is_empty());
        placement.avoided.store(3, Ordering::Relaxed);
        placement.register();
        std::thread::scope(|scope| {
            scope.spawn(|| placement.register());
        });
        let workers = placement.lock();
        // SAFETY: takes no arguments and cannot fail.
        assert_eq!(workers[0], unsafe { libc::gettid() });
        assert!(workers.len() == 2 && workers[1] != workers[0]);
        assert_eq!(placement.avoided.load(Ordering::Relaxed), NO_CORE);
    }

    #[test]
    fn too_few_cores_or_too_many_workers_are_left_alone() {
        assert!(other_cores(0, 0).is_none());
        assert!(other_cores(0, MAX_PLACED_WORKERS + 1).is_none());
    }

    #[test]
    fn the_core_of_the_caller_is_not_among_the_others() {
        // SAFETY: takes no arguments.
        let core = unsafe { libc::sched_getcpu() };
        if let Some(cores) = other_cores(core, 1) {
            // SAFETY: a valid set.
            assert!(!unsafe { libc::CPU_ISSET(core as usize, &cores) });
        }
    }
}
