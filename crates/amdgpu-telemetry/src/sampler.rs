//! Reads the sources at their own rates, each in a thread of its own, and keeps what they gave.
//!
//! Contract
//! - Threads run while a [`Sampler`] is alive; without one, [`read`] looks once, in the calling thread.
//! - A source that hangs keeps only its own values old: every value has its time, and readers wait for no source.
//! - Sampling takes at most [`LANE_SHARE`] of a core for each source: where reading is dear, the source is read less often, and the period
//!   of its series says so. What it took is counted in `amdgpu_sampling_seconds_total`.
//! - Values are mirrored into the bus's gauges and counters while a sampler runs; absent ones are not there.
//! - Memory is bounded: [`MAX_SERIES`] series, and [`HISTORY_BYTES`] for the histories of all of them together; past that the oldest hours go.
//! - A process forked from one with a sampler has none; handles of the parent answer [`Monitor::is_of_this_process`] with no.

mod board;
mod frame;
mod lane;

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::history::{Points, Resolution};
use crate::hub::{Hub, global, lock};
use crate::sources::amd::{AmdSlowSource, AmdSource};
use crate::sources::cpu::CpuSource;
use crate::sources::nvidia::NvidiaSource;
use crate::sources::runtime::RuntimeSource;
use crate::sources::{Absence, SeriesKey, Source, Tree};
use board::Board;
pub use board::{HISTORY_BYTES, MAX_SERIES, SeriesInfo};
pub use frame::FramePlan;
pub use lane::LANE_SHARE;
use lane::Lane;

/// The value of a series, or why there is none, and when that was so.
#[derive(Clone, Debug)]
pub struct Reading {
    pub key: SeriesKey,
    pub source: &'static str,
    pub period_ns: u64,
    pub time_ns: u64,
    pub value: Result<f64, Absence>,
}

/// A source with what is known of it while it is being read.
struct Slot {
    is_slow: bool,
    was_read: AtomicBool,
    lane: Mutex<Lane>,
}

impl Slot {
    /// The lane, unless it is being read for longer than anyone would wait: then it hangs, or blocks as slow ones do.
    fn lane_soon(&self) -> Option<MutexGuard<'_, Lane>> {
        let deadline = Instant::now() + LONGEST_WAIT;
        loop {
            match self.lane.try_lock() {
                Ok(lane) => return Some(lane),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    std::thread::sleep(WAIT_STEP);
                }
                Err(TryLockError::WouldBlock) => return None,
            }
        }
    }
}

/// How long [`Monitor::read`] waits for a source that another thread reads for the first time.
const LONGEST_WAIT: Duration = Duration::from_millis(500);
const WAIT_STEP: Duration = Duration::from_millis(1);

#[derive(Default)]
struct Running {
    samplers: usize,
    /// Threads of an earlier generation end.
    generation: u64,
}

/// All sources of this process and what they gave.
pub struct Monitor {
    hub: Arc<Hub>,
    process_id: u32,
    slots: Vec<Slot>,
    board: Mutex<Board>,
    running: Mutex<Running>,
    ended: Condvar,
}

impl Monitor {
    /// A monitor of these sources, on the hub's clock and mirrored into the hub.
    #[must_use]
    pub fn new(hub: Arc<Hub>, sources: Vec<Box<dyn Source>>) -> Arc<Self> {
        Arc::new(Self {
            slots: sources
                .into_iter()
                .map(|source| Slot {
                    is_slow: source.is_slow(),
                    was_read: AtomicBool::new(false),
                    lane: Mutex::new(Lane::new(source, &hub)),
                })
                .collect(),
            board: Mutex::new(Board::default()),
            hub,
            process_id: std::process::id(),
            running: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    fn of_this_machine() -> Arc<Self> {
        let hub = Arc::clone(global());
        let tree = Tree::default();
        let sources: Vec<Box<dyn Source>> = vec![
            Box::new(AmdSource::new(tree.clone())),
            Box::new(NvidiaSource::new(tree.clone())),
            Box::new(CpuSource::new(tree.clone())),
            Box::new(RuntimeSource::new(Arc::clone(&hub))),
            Box::new(AmdSlowSource::new(tree)),
        ];
        Self::new(hub, sources)
    }

    /// Whether this process made it, not one that it was forked from: there, a lock may be held for ever.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.process_id == std::process::id()
    }

    /// Start sampling, or go on with it.
    #[must_use]
    pub fn sample(self: &Arc<Self>) -> Sampler {
        let mut running = lock(&self.running);
        running.samplers += 1;
        if running.samplers == 1 {
            running.generation += 1;
            for slot in 0..self.slots.len() {
                // What was read before may be hours old.
                self.slots[slot].was_read.store(false, Ordering::Relaxed);
                let (monitor, generation) = (Arc::clone(self), running.generation);
                // Out of threads: the values of this source stay as they are, and their times say so.
                let _ = std::thread::Builder::new()
                    .name("amdgpu-sensors".into())
                    .spawn(move || monitor.run(slot, generation));
            }
        }
        Sampler(Arc::clone(self))
    }

    fn run(&self, slot: usize, generation: u64) {
        let slot = &self.slots[slot];
        loop {
            let wait_ns = {
                let next_ns = lock(&slot.lane).read_due(&self.hub, &self.board);
                slot.was_read.store(true, Ordering::Relaxed);
                next_ns.saturating_sub(self.hub.now_ns())
            };
            let running = lock(&self.running);
            let is_over =
                |running: &Running| running.samplers == 0 || running.generation != generation;
            let running = if is_over(&running) {
                running
            } else {
                let wait = Duration::from_nanos(wait_ns);
                let waited = self.ended.wait_timeout(running, wait);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
            if is_over(&running) {
                let nobody_samples = running.samplers == 0;
                drop(running);
                if nobody_samples {
                    // What this thread was reading when the last sampler went.
                    lock(&self.board).clear_mirrors();
                }
                return;
            }
        }
    }

    fn release(&self) {
        let mut running = lock(&self.running);
        running.samplers = running.samplers.saturating_sub(1);
        if running.samplers == 0 {
            self.ended.notify_all();
            drop(running);
            lock(&self.board).clear_mirrors();
        }
    }

    /// Read every group of every source now, in this thread; slow sources are left out.
    pub fn read_all(&self) {
        for slot in self.slots.iter().filter(|slot| !slot.is_slow) {
            lock(&slot.lane).read_all(&self.hub, &self.board, false);
            slot.was_read.store(true, Ordering::Relaxed);
        }
    }

    /// One reading for every series: of the sampler where one runs, else of a look taken now.
    #[must_use]
    pub fn read(&self) -> Vec<Reading> {
        let is_sampled = lock(&self.running).samplers > 0;
        for slot in self.slots.iter().filter(|slot| !slot.is_slow) {
            if is_sampled && slot.was_read.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(mut lane) = slot.lane_soon() {
                // The sampler's thread may have been first.
                if !is_sampled || !slot.was_read.load(Ordering::Relaxed) {
                    // Who asks while a sampler runs looks at the bus next.
                    lane.read_all(&self.hub, &self.board, is_sampled);
                    slot.was_read.store(true, Ordering::Relaxed);
                }
            }
        }
        let running = lock(&self.running);
        let mut board = lock(&self.board);
        if is_sampled && running.samplers == 0 {
            // The last sampler went meanwhile.
            board.clear_mirrors();
        }
        board.readings()
    }
}

/// Keeps the sources being read; see the module.
pub struct Sampler(Arc<Monitor>);

impl Sampler {
    /// Whether this process made it.
    #[must_use]
    pub fn is_of_this_process(&self) -> bool {
        self.0.is_of_this_process()
    }

    /// All series so far, in the order of their indices. New ones come at the end, none goes away.
    #[must_use]
    pub fn series(&self) -> Vec<SeriesInfo> {
        lock(&self.0.board).series().to_vec()
    }

    /// How many series there are so far.
    #[must_use]
    pub fn series_count(&self) -> usize {
        lock(&self.0.board).series().len()
    }

    /// Calls `take` with times and values, in the order of [`Sampler::series`]; not-a-number is absent.
    pub fn latest<T>(&self, take: impl FnOnce(&[u64], &[f64]) -> T) -> T {
        let board = lock(&self.0.board);
        take(board.times(), board.values())
    }

    /// Why values are absent, in the order of [`Sampler::series`].
    #[must_use]
    pub fn reasons(&self) -> Vec<Option<Absence>> {
        lock(&self.0.board).reasons().to_vec()
    }

    /// Latest values with their keys.
    #[must_use]
    pub fn readings(&self) -> Vec<Reading> {
        lock(&self.0.board).readings()
    }

    /// The history of a series; none if there is no series of that index.
    #[must_use]
    pub fn history(
        &self,
        index: usize,
        resolution: Resolution,
        start_ns: u64,
        end_ns: u64,
    ) -> Option<Points> {
        lock(&self.0.board).history(index, resolution, start_ns, end_ns)
    }

    /// Bytes that all histories take.
    #[must_use]
    pub fn history_bytes(&self) -> usize {
        lock(&self.0.board).history_bytes()
    }

    /// Append the frame of `plan` to `out`: for each device the values of the metrics, as little-endian 32-bit floats.
    pub fn frame(&self, plan: &mut FramePlan, out: &mut Vec<u8>) {
        plan.write(&lock(&self.0.board), out);
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if self.is_of_this_process() {
            self.0.release();
        }
    }
}

/// The monitor of this process. A cell where threads wait for each other would stay locked in the child of a fork that came in between.
static MONITOR: AtomicPtr<Arc<Monitor>> = AtomicPtr::new(ptr::null_mut());

/// The monitor of this machine's sources in this process.
#[must_use]
pub fn monitor() -> Arc<Monitor> {
    loop {
        let current = MONITOR.load(Ordering::Acquire);
        // SAFETY: what was stored is never freed.
        if let Some(monitor) = unsafe { current.as_ref() }
            && monitor.is_of_this_process()
        {
            return Arc::clone(monitor);
        }
        let made = Box::into_raw(Box::new(Monitor::of_this_machine()));
        let stored = MONITOR.compare_exchange(current, made, Ordering::AcqRel, Ordering::Acquire);
        if stored.is_err() {
            // SAFETY: another thread was first; nobody else has seen this one.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

/// One reading for every series of this machine.
#[must_use]
pub fn read() -> Vec<Reading> {
    monitor().read()
}

#[cfg(test)]
mod tests;
