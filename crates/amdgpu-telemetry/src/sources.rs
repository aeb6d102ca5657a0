//! Where sensor values come from: AMD GPUs through the kernel's files, NVIDIA GPUs through NVML, the processor, this process's own bus.
//!
//! Contract
//! - A [`Source`] has groups of values, each with a period of its own, and gives every value with the time at which it was read.
//! - What is not there is absent, with the reason in words; garbage in a file is absent too, never a number.
//! - A GPU that the system has suspended is never woken: its power state is read first, and then nothing else of it.
//! - No source opens a device's context, writes to the system or needs rights that the user lacks; a value behind such rights is absent.
//! - Sources do not fail and do not panic: a machine without the hardware has a source without series.
//! - Roots of the file systems are injected, so that trees of other machines can be read.

pub mod amd;
pub mod cpu;
mod names;
pub mod nvidia;
mod power_state;
mod reporter;
pub mod runtime;
mod throttle;
mod tree;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use amdgpu_abi::MetricId;

use crate::clock::Clock;
pub use tree::Tree;

/// Series of one source: those of eight GPUs and a processor of a thousand threads fit.
pub const MAX_SERIES_PER_SOURCE: usize = 4096;

/// Why a value is not there, as a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence(pub Cow<'static, str>);

impl Absence {
    #[must_use]
    pub const fn new(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }
}

impl From<String> for Absence {
    fn from(reason: String) -> Self {
        Self(Cow::Owned(reason))
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A number, or why there is none.
pub type Value = Result<f64, Absence>;

/// A rate has no value before its second sample.
pub(crate) const FIRST_SAMPLE: Absence =
    Absence::new("known from the second sample on; this was the first");

/// Which series: a metric of the catalogue and the values of its labels, in the catalogue's order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey {
    pub metric: MetricId,
    pub labels: Box<[Arc<str>]>,
}

impl SeriesKey {
    /// Value of a label; none if the metric has no label of that name.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        let names = self.metric.metric().labels;
        let place = names.iter().position(|known| *known == name)?;
        self.labels.get(place).map(|value| &**value)
    }

    fn is(&self, metric: MetricId, labels: &[&str]) -> bool {
        self.metric == metric
            && self
                .labels
                .iter()
                .map(|label| &**label)
                .eq(labels.iter().copied())
    }
}

/// Something that can be asked for values.
pub trait Source: Send {
    /// `cpu`, `amd-sysfs`, `nvml`, `runtime`.
    fn name(&self) -> &'static str;

    /// How often each group of values is to be read, by default.
    fn periods(&self) -> &'static [Duration];

    /// Whether a read may block for a second and more; then nobody waits for it.
    fn is_slow(&self) -> bool {
        false
    }

    /// Read a group. What a group gave before and does not give now counts as gone.
    fn read(&mut self, group: usize, sink: &mut Sink<'_>);
}

/// A value as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// Number of the series within its source, in order of appearance.
    pub series: usize,
    pub time_ns: u64,
    pub value: Value,
}

/// Series that a source has shown so far.
#[derive(Default)]
pub struct SourceSeries {
    keys: Vec<(SeriesKey, usize)>,
    by_hash: HashMap<u64, Vec<usize>>,
    hasher: RandomState,
}

impl SourceSeries {
    /// Keys with their groups, in order of appearance.
    #[must_use]
    pub fn keys(&self) -> &[(SeriesKey, usize)] {
        &self.keys
    }

    fn find_or_add(&mut self, metric: MetricId, labels: &[&str], group: usize) -> Option<usize> {
        let hash = self.hasher.hash_one((metric, labels));
        let bucket = self.by_hash.entry(hash).or_default();
        if let Some(&found) = bucket
            .iter()
            .find(|&&number| self.keys[number].0.is(metric, labels))
        {
            return Some(found);
        }
        if self.keys.len() >= MAX_SERIES_PER_SOURCE || labels.len() != metric.metric().labels.len()
        {
            return None;
        }
        bucket.push(self.keys.len());
        let labels = labels.iter().map(|label| Arc::from(*label)).collect();
        self.keys.push((SeriesKey { metric, labels }, group));
        Some(self.keys.len() - 1)
    }
}

/// Takes what a source reads.
pub struct Sink<'a> {
    clock: &'a dyn Clock,
    series: &'a mut SourceSeries,
    taken: &'a mut Vec<Taken>,
    group: usize,
}

impl<'a> Sink<'a> {
    pub fn new(
        clock: &'a dyn Clock,
        series: &'a mut SourceSeries,
        taken: &'a mut Vec<Taken>,
        group: usize,
    ) -> Self {
        Self {
            clock,
            series,
            taken,
            group,
        }
    }

    /// The time on the clock of all values.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// Take a value that was read just now. Labels stand in the order of the catalogue; series past the limit are left out, and so are
    /// numbers that are none.
    pub fn put(&mut self, metric: MetricId, labels: &[&str], value: Value) {
        debug_assert_eq!(labels.len(), metric.metric().labels.len(), "{metric:?}");
        let value = value.and_then(|number| {
            if number.is_finite() {
                Ok(number)
            } else {
                Err(Absence::new("the source gave no number"))
            }
        });
        if let Some(series) = self.series.find_or_add(metric, labels, self.group) {
            self.taken.push(Taken {
                series,
                time_ns: self.clock.now_ns(),
                value,
            });
        }
    }
}

/// `value` if it lies in `low..=high`; sensors that answer anything else are broken.
pub(crate) fn within(value: f64, low: f64, high: f64, what: &str) -> Value {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(format!("{what} reads {value}, which cannot be").into())
    }
}
