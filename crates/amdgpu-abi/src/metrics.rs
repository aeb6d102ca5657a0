//! The metric catalogue.

// Text of the table becomes doc comments here; it is written for every language.
#![allow(clippy::doc_markdown)]

// One module holds the table so that the generated file can name its row type by path.
mod generated {
    include!("generated/metrics.rs");
}

pub use generated::{CATALOGUE, MetricId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    Gauge,
    Counter,
    Histogram,
}

/// One row of `metrics.toml`.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    pub id: MetricId,
    pub name: &'static str,
    pub kind: MetricKind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

impl MetricId {
    /// The row of this metric.
    #[must_use]
    pub fn metric(self) -> &'static Metric {
        &CATALOGUE[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogue_is_indexed_by_id() {
        for (index, metric) in CATALOGUE.iter().enumerate() {
            assert_eq!(metric.id as usize, index);
            assert!(metric.name.starts_with("amdgpu_"));
        }
    }
}
