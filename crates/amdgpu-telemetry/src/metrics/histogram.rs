//! Histograms of durations, in nanoseconds, over fixed logarithmic buckets.
//!
//! Four buckets per power of two, so a quantile is off by at most 19 % of the value before interpolation; all series share the same
//! bounds, so they can be added up. Exporters show one bucket per power of two.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::cells::{Padded, thread_slot};

const SUB_BUCKET_BITS: u32 = 2;
const SUB_BUCKETS: u64 = 1 << SUB_BUCKET_BITS;
/// Durations from 2^41 ns, 37 minutes, share the last bucket.
const MAX_EXPONENT: u32 = 40;
const BUCKETS: usize = ((MAX_EXPONENT - SUB_BUCKET_BITS + 1) as usize + 1) << SUB_BUCKET_BITS;
/// Fewer than a counter's: a histogram takes 1.3 KiB a shard.
const HISTOGRAM_SHARDS: usize = 4;

/// Bounds that exporters show: powers of two from 256 ns, below a call through the C ABI, to 69 s.
pub const EXPORT_BOUNDS_NS: [u64; 29] = {
    let mut bounds = [0; 29];
    let mut index = 0;
    while index < bounds.len() {
        bounds[index] = 1 << (8 + index);
        index += 1;
    }
    bounds
};

/// Bucket of a duration. Bucket `i` holds what is above `upper_bound(i - 1)` and at most `upper_bound(i)`.
const fn bucket_of(duration_ns: u64) -> usize {
    let value = duration_ns.saturating_sub(1);
    if value < SUB_BUCKETS {
        return value as usize;
    }
    let exponent = value.ilog2();
    if exponent > MAX_EXPONENT {
        return BUCKETS - 1;
    }
    let sub = (value >> (exponent - SUB_BUCKET_BITS)) & (SUB_BUCKETS - 1);
    ((exponent - SUB_BUCKET_BITS + 1) as usize) << SUB_BUCKET_BITS | sub as usize
}

/// Largest duration of a bucket; the last bucket has none.
const fn upper_bound(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    if next < SUB_BUCKETS {
        return next;
    }
    let octave = next >> SUB_BUCKET_BITS;
    (SUB_BUCKETS | (next & (SUB_BUCKETS - 1))) << (octave - 1)
}

struct Shard {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Default for Shard {
    fn default() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BUCKETS],
            sum_ns: AtomicU64::new(0),
        }
    }
}

#[derive(Default)]
pub(crate) struct HistogramCell {
    shards: [Padded<Shard>; HISTOGRAM_SHARDS],
    max_ns: AtomicU64,
}

impl HistogramCell {
    #[inline]
    pub(crate) fn record_ns(&self, duration_ns: u64) {
        self.record_many_ns(duration_ns, 1);
    }

    /// A duration of so many whose sum is kept elsewhere.
    #[inline]
    pub(crate) fn count_many_ns(&self, duration_ns: u64, times: u64) {
        let shard = &self.shards[thread_slot() % HISTOGRAM_SHARDS].0;
        self.count_in(shard, duration_ns, times);
    }

    #[inline]
    fn count_in(&self, shard: &Shard, duration_ns: u64, times: u64) {
        shard.buckets[bucket_of(duration_ns)].fetch_add(times, Ordering::Relaxed);
        if duration_ns > self.max_ns.load(Ordering::Relaxed) {
            self.max_ns.fetch_max(duration_ns, Ordering::Relaxed);
        }
    }

    #[inline]
    fn record_many_ns(&self, duration_ns: u64, times: u64) {
        let shard = &self.shards[thread_slot() % HISTOGRAM_SHARDS].0;
        self.count_in(shard, duration_ns, times);
        let sum_ns = duration_ns.saturating_mul(times);
        shard.sum_ns.fetch_add(sum_ns, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> HistogramValue {
        let mut value = HistogramValue::default();
        for shard in &self.shards {
            for (sum, bucket) in value.buckets.iter_mut().zip(&shard.0.buckets) {
                *sum += bucket.load(Ordering::Relaxed);
            }
            value.sum_ns += shard.0.sum_ns.load(Ordering::Relaxed);
        }
        value.max_ns = self.max_ns.load(Ordering::Relaxed);
        value
    }

    pub(crate) fn reset(&self) {
        for shard in &self.shards {
            shard
                .0
                .buckets
                .iter()
                .for_each(|bucket| bucket.store(0, Ordering::Relaxed));
            shard.0.sum_ns.store(0, Ordering::Relaxed);
        }
        self.max_ns.store(0, Ordering::Relaxed);
    }
}

/// Handle of a histogram. Does nothing while telemetry is switched off.
#[derive(Clone)]
pub struct Histogram {
    pub(super) cell: Arc<HistogramCell>,
    pub(super) enabled: Arc<AtomicBool>,
}

impl Histogram {
    #[inline]
    pub fn record_ns(&self, duration_ns: u64) {
        self.record_many_ns(duration_ns, 1);
    }

    /// A duration that stands for so many.
    #[inline]
    pub fn record_many_ns(&self, duration_ns: u64, times: u64) {
        if self.enabled.load(Ordering::Relaxed) {
            self.cell.record_many_ns(duration_ns, times);
        }
    }

    #[must_use]
    pub fn value(&self) -> HistogramValue {
        self.cell.value()
    }
}

/// What a histogram held at one moment; histograms of one metric can be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramValue {
    buckets: [u64; BUCKETS],
    pub sum_ns: u64,
    pub max_ns: u64,
}

impl Default for HistogramValue {
    fn default() -> Self {
        Self {
            buckets: [0; BUCKETS],
            sum_ns: 0,
            max_ns: 0,
        }
    }
}

impl HistogramValue {
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    pub fn merge(&mut self, other: &Self) {
        for (sum, bucket) in self.buckets.iter_mut().zip(other.buckets) {
            *sum += bucket;
        }
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// How many durations are at most each of [`EXPORT_BOUNDS_NS`].
    #[must_use]
    pub fn cumulative(&self) -> [u64; EXPORT_BOUNDS_NS.len()] {
        EXPORT_BOUNDS_NS.map(|bound| self.buckets[..=bucket_of(bound)].iter().sum())
    }

    /// The duration below which `ratio` (0..=1) of all lie, interpolated within its bucket; `None` without any.
    #[must_use]
    pub fn quantile_ns(&self, ratio: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (ratio.clamp(0.0, 1.0) * count as f64).max(1.0);
        let mut below = 0;
        for (bucket, &inside) in self.buckets.iter().enumerate() {
            if inside > 0 && (below + inside) as f64 >= rank {
                let low = if bucket == 0 {
                    0
                } else {
                    upper_bound(bucket - 1)
                };
                let high = if bucket + 1 == BUCKETS {
                    self.max_ns
                } else {
                    upper_bound(bucket).min(self.max_ns)
                };
                let share = (rank - below as f64) / inside as f64;
                return Some(low as f64 + share * (high as f64 - low as f64));
            }
            below += inside;
        }
        Some(self.max_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value_of(durations: &[u64]) -> HistogramValue {
        let cell = HistogramCell::default();
        for &duration in durations {
            cell.record_ns(duration);
        }
        cell.value()
    }

    #[test]
    fn buckets_are_contiguous_and_end_at_their_bound() {
        for bucket in 0..BUCKETS - 1 {
            let bound = upper_bound(bucket);
            assert_eq!(bucket_of(bound), bucket, "{bound}");
            assert_eq!(bucket_of(bound + 1), bucket + 1, "{bound}");
        }
        assert_eq!(bucket_of(0), 0);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn export_bounds_are_bucket_bounds() {
        for bound in EXPORT_BOUNDS_NS {
            assert_eq!(upper_bound(bucket_of(bound)), bound);
        }
    }

    #[test]
    fn an_empty_histogram_has_no_quantile() {
        assert_eq!(HistogramValue::default().quantile_ns(0.5), None);
    }

    #[test]
    fn switched_off_it_records_nothing() {
        let enabled = Arc::new(AtomicBool::new(false));
        let histogram = Histogram {
            cell: Arc::default(),
            enabled: Arc::clone(&enabled),
        };
        histogram.record_ns(5);
        assert_eq!(histogram.value().count(), 0);
        enabled.store(true, Ordering::Relaxed);
        histogram.record_ns(5);
        assert_eq!(histogram.value().count(), 1);
    }

    #[test]
    fn a_duration_may_stand_for_many() {
        let histogram = HistogramCell::default();
        histogram.record_ns(300);
        histogram.record_many_ns(700, 64);
        let value = histogram.value();
        assert_eq!(
            (value.count(), value.sum_ns, value.max_ns),
            (65, 300 + 64 * 700, 700)
        );
    }

    proptest! {
        #[test]
        fn cumulative_counts_are_exact(durations in prop::collection::vec(prop_oneof![0..5000u64, any::<u64>().prop_map(|x| x >> 12)], 0..300)) {
            let value = value_of(&durations);
            prop_assert_eq!(value.count(), durations.len() as u64);
            prop_assert_eq!(value.max_ns, durations.iter().copied().max().unwrap_or(0));
            for (bound, count) in EXPORT_BOUNDS_NS.into_iter().zip(value.cumulative()) {
                prop_assert_eq!(count, durations.iter().filter(|&&duration| duration <= bound).count() as u64);
            }
        }

        #[test]
        fn quantiles_are_within_a_bucket_of_the_truth(mut durations in prop::collection::vec(1u64..1 << 40, 1..200), ratio in 0.0..=1.0f64) {
            let quantile = value_of(&durations).quantile_ns(ratio).unwrap();
            durations.sort_unstable();
            let rank = ((ratio * durations.len() as f64).ceil().max(1.0)) as usize - 1;
            let truth = durations[rank] as f64;
            prop_assert!(quantile <= truth * 1.25 + 1.0 && quantile * 1.25 + 1.0 >= truth, "{} against {}", quantile, truth);
        }

        #[test]
        fn merging_is_recording_everything_in_one(first in prop::collection::vec(0..1u64 << 45, 0..50), second in prop::collection::vec(0..1u64 << 45, 0..50)) {
            let mut merged = value_of(&first);
            merged.merge(&value_of(&second));
            prop_assert_eq!(merged, value_of(&[first, second].concat()));
        }
    }
}
