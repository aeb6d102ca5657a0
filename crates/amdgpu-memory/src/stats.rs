//! Statistics under the names of `torch.cuda.memory_stats()`.

/// A quantity over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub current: u64,
    pub peak: u64,
    /// Everything that was ever added.
    pub allocated: u64,
    /// Everything that was ever taken away.
    pub freed: u64,
}

impl Stat {
    #[inline]
    pub(crate) fn increase(&mut self, by: u64) {
        self.current += by;
        self.allocated += by;
        self.peak = self.peak.max(self.current);
    }

    #[inline]
    pub(crate) fn decrease(&mut self, by: u64) {
        self.current -= by;
        self.freed += by;
    }

    fn reset_peak(&mut self) {
        self.peak = self.current;
    }
}

/// A quantity of both pools and of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatsByPool {
    pub all: Stat,
    pub small_pool: Stat,
    pub large_pool: Stat,
}

impl StatsByPool {
    #[inline]
    pub(crate) fn increase(&mut self, small: bool, by: u64) {
        self.all.increase(by);
        self.pool(small).increase(by);
    }

    #[inline]
    pub(crate) fn decrease(&mut self, small: bool, by: u64) {
        self.all.decrease(by);
        self.pool(small).decrease(by);
    }

    #[inline]
    fn pool(&mut self, small: bool) -> &mut Stat {
        if small {
            &mut self.small_pool
        } else {
            &mut self.large_pool
        }
    }
}

/// Statistics of one allocator and kind of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryStats {
    /// Requests served.
    pub allocation: StatsByPool,
    /// Segments reserved from the device.
    pub segment: StatsByPool,
    /// Blocks in use, and blocks given back that a stream may still use.
    pub active: StatsByPool,
    /// Free blocks that share their segment with others, so that it cannot be given back.
    pub inactive_split: StatsByPool,
    pub allocated_bytes: StatsByPool,
    pub reserved_bytes: StatsByPool,
    pub active_bytes: StatsByPool,
    pub inactive_split_bytes: StatsByPool,
    /// What callers asked for, before rounding.
    pub requested_bytes: StatsByPool,
    /// Requests and segments of at least `max_split_size`.
    pub oversize_allocations: Stat,
    pub oversize_segments: Stat,
    /// Requests that were tried again after cached segments were given back.
    pub num_alloc_retries: u64,
    /// Requests that were refused.
    pub num_ooms: u64,
    /// Waits for all streams of the device.
    pub num_sync_all_streams: u64,
    pub num_device_alloc: u64,
    pub num_device_free: u64,
    /// Segments that the device would not take back; they are lost until the process ends.
    pub num_device_free_failures: u64,
    /// Bytes; `None` without a limit.
    pub max_split_size: Option<u64>,
    /// Requests served from cached memory, and requests that needed the device.
    pub cache_hits: u64,
    pub cache_misses: u64,
}

/// A value of [`MemoryStats::entries`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatValue {
    Count(u64),
    Ratio(f64),
}

impl MemoryStats {
    /// The share of reserved memory that is free but cannot be given back, because its segments are partly in use. 0 when nothing is
    /// reserved.
    #[must_use]
    pub fn fragmentation_ratio(&self) -> f64 {
        match self.reserved_bytes.all.current {
            0 => 0.0,
            reserved => self.inactive_split_bytes.all.current as f64 / reserved as f64,
        }
    }

    /// Every value under its key, `allocated_bytes.all.current` and so on, in a fixed order.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, StatValue)> {
        let by_pool = [
            ("allocation", &self.allocation),
            ("segment", &self.segment),
            ("active", &self.active),
            ("inactive_split", &self.inactive_split),
            ("allocated_bytes", &self.allocated_bytes),
            ("reserved_bytes", &self.reserved_bytes),
            ("active_bytes", &self.active_bytes),
            ("inactive_split_bytes", &self.inactive_split_bytes),
            ("requested_bytes", &self.requested_bytes),
        ];
        let mut entries = Vec::with_capacity(130);
        for (name, stats) in by_pool {
            push_stat(&mut entries, &format!("{name}.all"), stats.all);
            push_stat(
                &mut entries,
                &format!("{name}.small_pool"),
                stats.small_pool,
            );
            push_stat(
                &mut entries,
                &format!("{name}.large_pool"),
                stats.large_pool,
            );
        }
        push_stat(
            &mut entries,
            "oversize_allocations",
            self.oversize_allocations,
        );
        push_stat(&mut entries, "oversize_segments", self.oversize_segments);
        let counts = [
            ("num_alloc_retries", Some(self.num_alloc_retries)),
            ("num_ooms", Some(self.num_ooms)),
            ("num_sync_all_streams", Some(self.num_sync_all_streams)),
            ("num_device_alloc", Some(self.num_device_alloc)),
            ("num_device_free", Some(self.num_device_free)),
            (
                "num_device_free_failures",
                Some(self.num_device_free_failures),
            ),
            ("max_split_size", self.max_split_size),
            ("cache_hits", Some(self.cache_hits)),
            ("cache_misses", Some(self.cache_misses)),
        ];
        for (name, count) in counts {
            if let Some(count) = count {
                entries.push((name.to_string(), StatValue::Count(count)));
            }
        }
        let ratio = StatValue::Ratio(self.fragmentation_ratio());
        entries.push(("fragmentation_ratio".to_string(), ratio));
        entries
    }

    /// Lets every peak begin again at its current value.
    pub(crate) fn reset_peaks(&mut self) {
        let by_pool = [
            &mut self.allocation,
            &mut self.segment,
            &mut self.active,
            &mut self.inactive_split,
            &mut self.allocated_bytes,
            &mut self.reserved_bytes,
            &mut self.active_bytes,
            &mut self.inactive_split_bytes,
            &mut self.requested_bytes,
        ];
        for stats in by_pool {
            stats.all.reset_peak();
            stats.small_pool.reset_peak();
            stats.large_pool.reset_peak();
        }
        self.oversize_allocations.reset_peak();
        self.oversize_segments.reset_peak();
    }
}

fn push_stat(entries: &mut Vec<(String, StatValue)>, name: &str, stat: Stat) {
    for (suffix, value) in [
        ("current", stat.current),
        ("peak", stat.peak),
        ("allocated", stat.allocated),
        ("freed", stat.freed),
    ] {
        entries.push((format!("{name}.{suffix}"), StatValue::Count(value)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn keys_are_those_of_pytorch_and_ours() {
        let mut stats = MemoryStats::default();
        stats.allocated_bytes.increase(true, 512);
        stats.allocated_bytes.increase(false, 2048);
        stats.allocated_bytes.decrease(true, 512);
        let entries: BTreeMap<String, StatValue> = stats.entries().into_iter().collect();
        assert_eq!(
            entries["allocated_bytes.all.current"],
            StatValue::Count(2048)
        );
        assert_eq!(entries["allocated_bytes.all.peak"], StatValue::Count(2560));
        assert_eq!(
            entries["allocated_bytes.small_pool.freed"],
            StatValue::Count(512)
        );
        assert_eq!(entries["num_ooms"], StatValue::Count(0));
        assert_eq!(entries["fragmentation_ratio"], StatValue::Ratio(0.0));
        assert!(!entries.contains_key("max_split_size"));
        assert_eq!(entries.len(), 9 * 12 + 2 * 4 + 8 + 1);
    }

    #[test]
    fn peaks_begin_again_at_the_current_value() {
        let mut stats = MemoryStats::default();
        stats.active.increase(true, 10);
        stats.active.decrease(true, 7);
        stats.reset_peaks();
        assert_eq!(stats.active.all.peak, 3);
        assert_eq!(stats.active.all.allocated, 10);
    }
}
