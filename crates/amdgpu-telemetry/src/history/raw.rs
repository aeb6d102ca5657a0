//! The last minute, sample by sample.

use std::collections::VecDeque;

use super::Points;

/// How long samples are kept one by one.
pub const RAW_NS: u64 = 60_000_000_000;
/// Of a source at 100 Hz, the fastest there is, that minute.
pub const MAX_RAW_SAMPLES: usize = 6000;

#[derive(Debug, Default)]
pub(super) struct Raw(VecDeque<(u64, f64)>);

impl Raw {
    pub(super) fn push(&mut self, time_ns: u64, value: f64) {
        while self.0.len() >= MAX_RAW_SAMPLES
            || self
                .0
                .front()
                .is_some_and(|&(oldest_ns, _)| time_ns - oldest_ns > RAW_NS)
        {
            self.0.pop_front();
        }
        self.0.push_back((time_ns, value));
    }

    pub(super) fn points(&self, start_ns: u64, end_ns: u64, points: &mut Points) {
        let first = self.0.partition_point(|&(time_ns, _)| time_ns < start_ns);
        for &(time_ns, value) in self.0.iter().skip(first) {
            if time_ns > end_ns {
                break;
            }
            points.push(time_ns, [value; 3]);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u64, f64)>()
    }
}
