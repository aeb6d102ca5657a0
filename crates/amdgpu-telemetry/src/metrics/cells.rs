//! Counters and gauges.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Copies of a counter that threads spread over, so that two of them rarely share a cache line.
const COUNTER_SHARDS: usize = 8;

/// Two lines, because x86 prefetches them in pairs.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Padded<T>(pub(super) T);

/// Number of the calling thread, for spreading over shards.
#[inline]
pub(super) fn thread_slot() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SLOT: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    SLOT.with(|slot| {
        if slot.get() == usize::MAX {
            slot.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        slot.get()
    })
}

#[derive(Default)]
pub(super) struct CounterCell {
    shards: [Padded<AtomicU64>; COUNTER_SHARDS],
    /// Bits of an `f64`.
    mirrored: AtomicU64,
}

impl CounterCell {
    /// Exact up to 2^53, as every number in JSON and Prometheus.
    pub(super) fn total(&self) -> f64 {
        let counted: u64 = self
            .shards
            .iter()
            .map(|shard| shard.0.load(Ordering::Relaxed))
            .sum();
        counted as f64 + f64::from_bits(self.mirrored.load(Ordering::Relaxed))
    }

    pub(super) fn reset(&self) {
        self.shards
            .iter()
            .for_each(|shard| shard.0.store(0, Ordering::Relaxed));
        self.mirrored.store(0, Ordering::Relaxed);
    }
}

/// Handle of a counter: only goes up. Counts with telemetry switched off too.
#[derive(Clone)]
pub struct Counter(pub(super) Arc<CounterCell>);

impl Counter {
    /// A counter that no exporter shows.
    #[must_use]
    pub fn detached() -> Self {
        Self(Arc::default())
    }

    #[inline]
    pub fn add(&self, by: u64) {
        self.0.shards[thread_slot() % COUNTER_SHARDS]
            .0
            .fetch_add(by, Ordering::Relaxed);
    }

    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    /// Take over a total that somebody else counts, for example a driver's energy meter.
    pub fn mirror(&self, total: f64) {
        self.0.mirrored.store(total.to_bits(), Ordering::Relaxed);
    }

    #[must_use]
    pub fn total(&self) -> f64 {
        self.0.total()
    }
}

/// A gauge that was never set: a quiet NaN whose payload no arithmetic produces.
const ABSENT: u64 = 0x7ff8_a65e_0000_0001;

pub(super) struct GaugeCell(AtomicU64);

impl Default for GaugeCell {
    fn default() -> Self {
        Self(AtomicU64::new(ABSENT))
    }
}

impl GaugeCell {
    pub(super) fn get(&self) -> Option<f64> {
        let bits = self.0.load(Ordering::Relaxed);
        (bits != ABSENT).then(|| f64::from_bits(bits))
    }

    pub(super) fn clear(&self) {
        self.0.store(ABSENT, Ordering::Relaxed);
    }
}

/// Handle of a gauge: a value that goes up and down, absent until it is set.
#[derive(Clone)]
pub struct Gauge(pub(super) Arc<GaugeCell>);

impl Gauge {
    pub fn set(&self, value: f64) {
        self.0.0.store(value.to_bits(), Ordering::Relaxed);
    }

    /// An absent gauge counts as zero.
    pub fn add(&self, by: f64) {
        let sum = |bits| {
            let value = if bits == ABSENT {
                0.0
            } else {
                f64::from_bits(bits)
            };
            Some((value + by).to_bits())
        };
        // Cannot fail: `sum` always has an answer.
        let _ = self
            .0
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    }

    /// Raise it to `value` if it is lower or absent: the gauge of a peak.
    pub fn raise_to(&self, value: f64) {
        let higher = |bits| {
            let is_lower = bits == ABSENT || f64::from_bits(bits) < value;
            is_lower.then_some(value.to_bits())
        };
        // Fails where there is nothing to raise.
        let _ = self
            .0
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, higher);
    }

    /// Make it absent again: the source went away.
    pub fn clear(&self) {
        self.0.clear();
    }

    #[must_use]
    pub fn get(&self) -> Option<f64> {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers are exact")]
    fn concurrent_adds_are_all_counted() {
        let counter = Counter(Arc::default());
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| (0..10_000).for_each(|_| counter.increment()));
            }
        });
        assert_eq!(counter.total(), 120_000.0);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers are exact")]
    fn a_mirrored_total_replaces_the_last_one() {
        let counter = Counter(Arc::default());
        counter.mirror(10.5);
        counter.mirror(12.5);
        counter.add(1);
        assert_eq!(counter.total(), 13.5);
    }

    #[test]
    fn a_gauge_is_absent_until_set_and_after_clear() {
        let gauge = Gauge(Arc::default());
        assert_eq!(gauge.get(), None);
        gauge.add(2.0);
        gauge.add(-0.5);
        assert_eq!(gauge.get(), Some(1.5));
        gauge.set(f64::NAN);
        assert!(gauge.get().is_some_and(f64::is_nan));
        gauge.clear();
        assert_eq!(gauge.get(), None);
    }

    #[test]
    fn a_peak_is_raised_and_never_lowered() {
        let peak = Gauge(Arc::default());
        peak.raise_to(-1.0);
        assert_eq!(peak.get(), Some(-1.0));
        peak.raise_to(3.0);
        peak.raise_to(2.0);
        assert_eq!(peak.get(), Some(3.0));
    }
}
