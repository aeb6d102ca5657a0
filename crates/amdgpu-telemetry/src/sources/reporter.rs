//! Gives the values of one device, and remembers which it gave, so that all of them can be called absent for one reason.

use amdgpu_abi::MetricId;

use super::{Absence, Sink, Value};

/// Labels of a metric besides the device, at most.
const MAX_LABELS: usize = 4;

pub(super) struct Reporter {
    device: String,
    /// Metrics with their labels besides the device, in the order in which they are usually given.
    known: Vec<(MetricId, Box<[String]>)>,
    cursor: usize,
}

impl Reporter {
    /// `expected` are given by a device that can be read at all, even if it was not yet.
    pub(super) fn new(device: &str, expected: &[(MetricId, &[&str])]) -> Self {
        let owned = |(metric, labels): &(MetricId, &[&str])| {
            (
                *metric,
                labels.iter().map(|label| (*label).to_owned()).collect(),
            )
        };
        Self {
            device: device.to_owned(),
            known: expected.iter().map(owned).collect(),
            cursor: 0,
        }
    }

    /// A value of the device; `labels` are those besides it.
    pub(super) fn put(
        &mut self,
        sink: &mut Sink<'_>,
        metric: MetricId,
        labels: &[&str],
        value: Value,
    ) {
        self.remember(metric, labels);
        self.give(sink, metric, labels, value);
    }

    fn give(&self, sink: &mut Sink<'_>, metric: MetricId, labels: &[&str], value: Value) {
        let mut all = [self.device.as_str(); MAX_LABELS + 1];
        let count = labels.len().min(MAX_LABELS);
        all[1..=count].copy_from_slice(&labels[..count]);
        sink.put(metric, &all[..=count], value);
    }

    fn remember(&mut self, metric: MetricId, labels: &[&str]) {
        let is = |(known, names): &(MetricId, Box<[String]>)| {
            *known == metric && names.iter().map(String::as_str).eq(labels.iter().copied())
        };
        if self.known.get(self.cursor).is_some_and(is) {
            self.cursor += 1;
        } else if let Some(place) = self.known.iter().position(is) {
            self.cursor = place + 1;
        } else {
            let names = labels.iter().map(|label| (*label).to_owned()).collect();
            self.known.push((metric, names));
            self.cursor = self.known.len();
        }
    }

    /// Everything that was given so far is absent now.
    pub(super) fn put_absent(&mut self, sink: &mut Sink<'_>, reason: &Absence) {
        for (metric, labels) in &self.known {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            self.give(sink, *metric, &labels, Err(reason.clone()));
        }
    }
}
