//! The collector: a thread that exists while somebody subscribes or the flight recorder runs. While records come it looks at the rings every
//! half millisecond, or as often as the most impatient subscriber does; it sleeps when none come, and is woken by the first one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Thread;
use std::time::Duration;

use super::{Hub, lock};

/// Half of the millisecond that an event may take to its subscriber.
const COLLECT_PERIOD: Duration = Duration::from_micros(500);
/// The collector goes to sleep when nothing came for so long, so that a program with short pauses is not charged for wake-ups.
const QUIET_TIME: Duration = Duration::from_millis(10);
/// Longest sleep, in case the first record and falling asleep missed each other.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// Wakes the collector.
#[derive(Default)]
pub(super) struct Doorbell {
    asleep: AtomicBool,
    collector: Mutex<Option<Thread>>,
}

impl Doorbell {
    #[inline]
    pub(super) fn ring_if_asleep(&self) {
        // No fence between the record and this load: the collector looks once more, a period after it set the flag.
        if self.asleep.load(Ordering::Relaxed) {
            self.ring();
        }
    }

    #[cold]
    pub(super) fn ring(&self) {
        self.asleep.store(false, Ordering::Relaxed);
        if let Some(thread) = &*lock(&self.collector) {
            thread.unpark();
        }
    }

    pub(super) fn collector(&self) -> &Mutex<Option<Thread>> {
        &self.collector
    }

    pub(super) fn reset(&self, collector: &mut Option<Thread>) {
        self.asleep.store(false, Ordering::Relaxed);
        *collector = None;
    }
}

impl Hub {
    /// Returns whether the collector runs.
    pub(super) fn start_collector(self: &Arc<Self>) -> bool {
        let hub = Arc::clone(self);
        match std::thread::Builder::new()
            .name("amdgpu-telemetry".into())
            .spawn(move || collect(&hub))
        {
            Ok(handle) => {
                *lock(&self.doorbell.collector) = Some(handle.thread().clone());
                true
            }
            // Out of threads: subscribers still get what snapshots and flushes deliver.
            Err(_) => false,
        }
    }

    /// Deliver once: the number of records, and when to look again. `None` when nobody watches any more: the collector ends.
    fn collect_once(&self) -> Option<(usize, Duration)> {
        let mut delivery = lock(&self.delivery);
        if delivery.is_unwatched() {
            delivery.collector_running = false;
            return None;
        }
        let start_ns = self.now_ns();
        let count = self.drain(&mut delivery);
        self.reading_ns
            .fetch_add(self.now_ns().saturating_sub(start_ns), Ordering::Relaxed);
        Some((count, delivery.patience().max(COLLECT_PERIOD)))
    }
}

fn collect(hub: &Hub) {
    let mut quiet = Duration::ZERO;
    let mut was_sleepy = false;
    while let Some((count, period)) = hub.collect_once() {
        quiet = if count > 0 {
            Duration::ZERO
        } else {
            quiet.saturating_add(period)
        };
        let sleepy = quiet >= QUIET_TIME;
        hub.doorbell.asleep.store(sleepy, Ordering::Relaxed);
        std::thread::park_timeout(match (sleepy, was_sleepy) {
            (false, _) => period,
            // A record may have missed the flag.
            (true, false) => COLLECT_PERIOD,
            (true, true) => LONGEST_SLEEP,
        });
        was_sleepy = sleepy;
    }
}
