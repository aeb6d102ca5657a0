//! The shared thread pool: persistent threads that split index ranges with their caller.
//!
//! - Threads start with the first call that has work for more than one of them.
//! - [`Pool::parallel_for`] allocates nothing: jobs live in a fixed table of slots. When all slots are taken the caller does its work alone.
//! - The caller takes part, spins briefly for stragglers, then sleeps.
//! - A call from inside a task runs on the calling thread. Any number of threads may call at the same time.
//! - A panic in a task stops the handing out of further pieces and is returned as an error; the pool stays usable.
//! - After `fork()` the child gets a pool of its own.

mod placement;
mod slot;
mod spin;

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use placement::Placement;
use slot::Slot;

use crate::fork::{ForkLocal, ForkMark};
use crate::{Error, Result};

/// More threads than the largest machines in use have cores.
pub const MAX_THREADS: u32 = 1024;
/// Jobs that can be shared out at the same time; further callers work alone.
const SLOT_COUNT: usize = 32;
/// How long an idle worker looks for work before it sleeps: twice what it takes to wake one on a virtual machine.
const IDLE_SPIN: Duration = Duration::from_micros(100);
/// Pieces handed out per thread when the grain leaves the choice; more even out uneven work, fewer cost less.
const PIECES_PER_THREAD: u64 = 4;

thread_local! {
    static INSIDE_TASK: Cell<bool> = const { Cell::new(false) };
}

/// A set of worker threads. Programs use [`global`]; separate pools are for tests.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    thread_count: u32,
    start: Once,
    workers: Mutex<Vec<JoinHandle<()>>>,
    mark: ForkMark,
}

#[derive(Debug)]
struct Shared {
    slots: [Slot; SLOT_COUNT],
    /// Raised with every new job.
    announcements: AtomicU64,
    sleepers: AtomicU32,
    lock: Mutex<()>,
    wake: Condvar,
    stop: AtomicBool,
    placement: Placement,
    /// Jobs that ran on their caller alone because every slot was taken.
    slot_exhaustions: AtomicU64,
}

static GLOBAL: ForkLocal<Pool> = ForkLocal::new(|| Pool::new(configured_threads()));

/// The pool of the process, with `AMDGPU_CPU_THREADS` threads or one for each core this process may use.
#[must_use]
pub fn global() -> &'static Pool {
    &GLOBAL
}

fn configured_threads() -> u32 {
    // A value that does not parse is refused when the CPU device is opened, so the default here is never a silent choice.
    super::limits::thread_count().unwrap_or(1)
}

impl Pool {
    /// A pool of `thread_count` threads, the caller included; the others start when first needed.
    #[must_use]
    pub fn new(thread_count: u32) -> Self {
        Self {
            shared: Arc::new(Shared {
                slots: [const { Slot::new() }; SLOT_COUNT],
                announcements: AtomicU64::new(0),
                sleepers: AtomicU32::new(0),
                lock: Mutex::new(()),
                wake: Condvar::new(),
                stop: AtomicBool::new(false),
                placement: Placement::new(),
                slot_exhaustions: AtomicU64::new(0),
            }),
            thread_count: thread_count.clamp(1, MAX_THREADS),
            start: Once::new(),
            workers: Mutex::new(Vec::new()),
            mark: ForkMark::current(),
        }
    }

    /// Threads that work on one call, the caller included.
    #[must_use]
    pub fn thread_count(&self) -> u32 {
        self.thread_count
    }

    /// How often a call ran on its caller alone because too many calls were under way.
    #[must_use]
    pub fn slot_exhaustions(&self) -> u64 {
        self.shared.slot_exhaustions.load(Ordering::Relaxed)
    }

    /// Whether worker threads have been started.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.start.is_completed()
    }

    /// Calls `task` with ranges that together cover `0..count` once. Ranges hold at least `grain` indices, unless `count` is less.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let sum = AtomicU64::new(0);
    /// amdgpu_hal::cpu::pool::global().parallel_for(1_000, 100, &|range| {
    ///     sum.fetch_add(range.sum(), Ordering::Relaxed);
    /// })?;
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # Ok::<(), amdgpu_hal::Error>(())
    /// ```
    pub fn parallel_for(
        &self,
        count: u64,
        grain: u64,
        task: &(dyn Fn(Range<u64>) + Sync),
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let grain = grain.max(1);
        let pieces = count.div_ceil(grain);
        if pieces == 1 || self.thread_count == 1 || INSIDE_TASK.get() {
            return run_alone(count, task);
        }
        self.mark.check("the thread pool")?;
        self.start.call_once(|| self.start_workers());
        let Some(slot) = self.shared.slots.iter().find(|slot| slot.reserve()) else {
            self.shared.slot_exhaustions.fetch_add(1, Ordering::Relaxed);
            return run_alone(count, task);
        };
        // SAFETY: the slot is reserved by this call, and `close` below returns only when no worker can reach `task` any more.
        unsafe { slot.open(count, grain, task) };
        self.shared
            .announce((pieces - 1).min(u64::from(self.thread_count) - 1) as u32);
        let divisor = u64::from(self.thread_count) * PIECES_PER_THREAD;
        INSIDE_TASK.set(true);
        slot.work(divisor);
        INSIDE_TASK.set(false);
        slot.close()
    }

    fn start_workers(&self) {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let divisor = u64::from(self.thread_count) * PIECES_PER_THREAD;
        for number in 1..self.thread_count {
            let shared = Arc::clone(&self.shared);
            let spawned = std::thread::Builder::new()
                .name(format!("agpu-pool-{number}"))
                .spawn(move || shared.serve(divisor));
            // A machine that gives no more threads still computes, with those it gave.
            let Ok(handle) = spawned else { break };
            workers.push(handle);
        }
    }
}

fn run_alone(count: u64, task: &(dyn Fn(Range<u64>) + Sync)) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| task(0..count)))
        .map_err(|payload| Error::from_panic(payload.as_ref()))
}

impl Shared {
    /// Tells `wanted` workers that there is a new job.
    fn announce(&self, wanted: u32) {
        // Sequential consistency on both counters: either a worker about to sleep sees the announcement, or this sees the sleeper.
        self.announcements.fetch_add(1, Ordering::SeqCst);
        let sleepers = self.sleepers.load(Ordering::SeqCst);
        if sleepers == 0 {
            return;
        }
        self.placement.avoid_this_core();
        // Taken and given back: a worker between its last look and its sleep holds it. Woken workers then find it free.
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        if wanted >= sleepers {
            self.wake.notify_all();
        } else {
            for _ in 0..wanted {
                self.wake.notify_one();
            }
        }
    }

    /// The life of a worker.
    fn serve(&self, divisor: u64) {
        INSIDE_TASK.set(true);
        self.placement.register();
        while !self.stop.load(Ordering::Acquire) {
            let seen = self.announcements.load(Ordering::SeqCst);
            let mut worked = false;
            for slot in &self.slots {
                if slot.attach() {
                    slot.work(divisor);
                    slot.detach();
                    worked = true;
                }
            }
            if !worked {
                self.idle(seen);
            }
        }
    }

    /// Waits until there is an announcement after `seen`.
    fn idle(&self, seen: u64) {
        if spin::until(IDLE_SPIN, || {
            self.announcements.load(Ordering::Relaxed) != seen
        }) {
            return;
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.announcements.load(Ordering::SeqCst) == seen && !self.stop.load(Ordering::SeqCst)
        {
            guard = self
                .wake
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let workers = std::mem::take(
            self.workers
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner),
        );
        if !self.mark.is_current() {
            // The threads belong to the parent process; neither joining nor detaching them means anything here.
            workers.into_iter().for_each(std::mem::forget);
            return;
        }
        let guard = self
            .shared
            .lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.wake.notify_all();
        drop(guard);
        for worker in workers {
            // A worker catches the panics of its tasks, so it ends normally.
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests;
