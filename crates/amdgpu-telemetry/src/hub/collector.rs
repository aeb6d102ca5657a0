//! The collector: a thread that exists while somebody subscribes or the flight recorder runs. It looks at the rings every half millisecond while records come,
//! sleeps when none do, and is woken by the first one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Thread;
use std::time::Duration;

use super::{Hub, lock};

/// Half of the millisecond that an event may take to its subscriber.
const COLLECT_PERIOD: Duration = Duration::from_micros(500);
/// Empty looks before the collector goes to sleep: 10 ms, so that a program with short pauses is not charged for wake-ups.
const QUIET_ROUNDS: u32 = 20;
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

    /// Deliver once. `None` when nobody watches any more: the collector ends.
    fn collect_once(&self) -> Option<usize> {
        let mut delivery = lock(&self.delivery);
        if delivery.is_unwatched() {
            delivery.collector_running = false;
            return None;
        }
        let start_ns = self.now_ns();
        let count = self.drain(&mut delivery);
        self.reading_ns
            .fetch_add(self.now_ns().saturating_sub(start_ns), Ordering::Relaxed);
        Some(count)
    }
}

fn collect(hub: &Hub) {
    let mut quiet_rounds = 0;
    while let Some(count) = hub.collect_once() {
        quiet_rounds = if count > 0 { 0 } else { quiet_rounds + 1 };
        let sleepy = quiet_rounds >= QUIET_ROUNDS;
        hub.doorbell.asleep.store(sleepy, Ordering::Relaxed);
        std::thread::park_timeout(if quiet_rounds > QUIET_ROUNDS {
            LONGEST_SLEEP
        } else {
            COLLECT_PERIOD
        });
    }
}
