//! One shared job: a range that several threads take pieces from.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::cancel::Cancellation;
use super::spin;
use crate::{Error, Result, attention};

type Task = *const (dyn Fn(Range<u64>) + Sync);

/// Workers may attach.
const OPEN: u32 = 1 << 31;
/// A caller owns the slot.
const RESERVED: u32 = 1 << 30;
/// The caller sleeps until the last worker detaches.
const WAITING: u32 = 1 << 29;
/// The low bits count attached workers.
const ATTACHED: u32 = WAITING - 1;
/// How long the caller waits for workers before it sleeps: about what it takes to wake it.
const CLOSE_SPIN: Duration = Duration::from_micros(50);

/// A place for one job. Two cache lines wide, so that jobs of different callers do not slow each other down.
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU32,
    next: AtomicU64,
    count: AtomicU64,
    grain: AtomicU64,
    task: UnsafeCell<Option<Task>>,
    failure: Mutex<Option<Error>>,
    finished: Condvar,
}

// SAFETY: `task` is written only by the caller that reserved the slot while it is not open, and read only by threads counted in
// `state`, which `close` waits for; the task itself is `Sync`.
unsafe impl Sync for Slot {}
// SAFETY: see `Sync`; the raw pointer is only followed under the same protocol.
unsafe impl Send for Slot {}

impl Slot {
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            next: AtomicU64::new(0),
            count: AtomicU64::new(0),
            grain: AtomicU64::new(1),
            task: UnsafeCell::new(None),
            failure: Mutex::new(None),
            finished: Condvar::new(),
        }
    }

    /// Takes the slot for a job of the calling thread.
    pub fn reserve(&self) -> bool {
        self.state.load(Ordering::Relaxed) == 0
            && self
                .state
                .compare_exchange(0, RESERVED, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Fills the reserved slot and lets workers in.
    ///
    /// # Safety
    /// The calling thread reserved the slot, and keeps `task` alive until its call of [`Self::close`] has returned.
    pub unsafe fn open(&self, count: u64, grain: u64, task: &(dyn Fn(Range<u64>) + Sync)) {
        self.next.store(0, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
        self.grain.store(grain, Ordering::Relaxed);
        // SAFETY: only the lifetime is erased; the contract of this function keeps the task alive while it is reachable.
        let task = unsafe {
            std::mem::transmute::<&(dyn Fn(Range<u64>) + Sync), &'static (dyn Fn(Range<u64>) + Sync)>(
                task,
            )
        };
        // SAFETY: the slot is reserved and not open, so no other thread looks at the cell.
        unsafe { *self.task.get() = Some(std::ptr::from_ref(task)) };
        self.state.fetch_or(OPEN, Ordering::Release);
    }

    /// Joins the job if it still has work.
    pub fn attach(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            let exhausted = self.next.load(Ordering::Relaxed) >= self.count.load(Ordering::Relaxed);
            if state & OPEN == 0 || exhausted {
                return false;
            }
            match self.state.compare_exchange_weak(
                state,
                state + 1,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(seen) => state = seen,
            }
        }
    }

    /// Leaves the job.
    pub fn detach(&self) {
        let before = self.state.fetch_sub(1, Ordering::AcqRel);
        if before & WAITING != 0 && before & ATTACHED == 1 {
            let guard = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            self.finished.notify_all();
            drop(guard);
        }
    }

    /// Takes pieces until none is left. Pieces start at `remaining / divisor` and shrink to the grain.
    ///
    /// Called by the owner between `open` and `close`, and by attached workers.
    pub fn work(&self, divisor: u64) {
        // SAFETY: see the method's text: the cell is not written while threads are counted in or the owner has not closed.
        let Some(task) = (unsafe { *self.task.get() }) else {
            return;
        };
        let count = self.count.load(Ordering::Relaxed);
        let grain = self.grain.load(Ordering::Relaxed);
        while let Some(range) = self.take(count, grain, divisor) {
            // SAFETY: the owner keeps the task alive until `close` has returned, which waits for this thread.
            let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*task)(range) }));
            if let Err(payload) = outcome {
                self.next.store(count, Ordering::Relaxed);
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert_with(|| Error::from_panic(payload.as_ref()));
            }
        }
    }

    fn take(&self, count: u64, grain: u64, divisor: u64) -> Option<Range<u64>> {
        let mut begin = self.next.load(Ordering::Relaxed);
        loop {
            if begin >= count {
                return None;
            }
            let remaining = count - begin;
            let mut size = (remaining / divisor).max(grain).min(remaining);
            // A rest shorter than the grain goes with the last piece.
            if remaining - size < grain {
                size = remaining;
            }
            match self.next.compare_exchange_weak(
                begin,
                begin + size,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(begin..begin + size),
                Err(seen) => begin = seen,
            }
        }
    }

    /// Shuts workers out, waits for those inside, and frees the slot.
    pub fn close(&self) -> Result<()> {
        self.state.fetch_and(!OPEN, Ordering::AcqRel);
        let is_alone = || self.state.load(Ordering::Acquire) & ATTACHED == 0;
        if !spin::until(CLOSE_SPIN, is_alone) {
            self.sleep_until_alone();
        }
        let failure = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // SAFETY: no worker is attached and none can attach, so the cell is this thread's alone.
        unsafe { *self.task.get() = None };
        self.state.store(0, Ordering::Release);
        failure.map_or(Ok(()), Err)
    }

    fn sleep_until_alone(&self) {
        let mut guard = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state.fetch_or(WAITING, Ordering::AcqRel);
        // Only the command of a stream can be stopped.
        let is_attentive = Cancellation::current().exists() && attention::is_needed();
        while state & ATTACHED != 0 {
            guard = if is_attentive {
                self.sleep_attentively(guard)
            } else {
                self.finished
                    .wait(guard)
                    .unwrap_or_else(PoisonError::into_inner)
            };
            state = self.state.load(Ordering::Acquire);
        }
    }

    /// Sleeps, and cancels the command of this thread when a signal handler ends it.
    fn sleep_attentively<'a>(
        &'a self,
        guard: MutexGuard<'a, Option<Error>>,
    ) -> MutexGuard<'a, Option<Error>> {
        let (guard, result) = self
            .finished
            .wait_timeout(guard, attention::INTERVAL)
            .unwrap_or_else(PoisonError::into_inner);
        if !result.timed_out() {
            return guard;
        }
        drop(guard);
        if attention::is_wait_over() {
            Cancellation::current().request();
        }
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Slot")
            .field("state", &self.state)
            .field("next", &self.next)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
