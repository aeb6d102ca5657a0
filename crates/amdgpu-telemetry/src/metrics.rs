//! Counters, gauges and histograms, one family per row of the metric catalogue.
//!
//! A handle is cheap to clone and meant to be cached where it is used: looking one up takes a lock and a hash, using it an atomic
//! add. Label values are bounded, because a program may name ten thousand kernels: a value or series past the limit goes to
//! "other", and that is counted.

mod cells;
mod histogram;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::metrics::CATALOGUE;
use amdgpu_abi::{MetricId, MetricKind};

pub use cells::{Counter, Gauge};
pub(crate) use histogram::HistogramCell;
pub use histogram::{EXPORT_BOUNDS_NS, Histogram, HistogramValue};

use crate::names::{OTHER, cut};
use cells::{CounterCell, GaugeCell};

/// Distinct values one label of one metric may take. Enough for the kernels of a large application; a histogram takes 5 KiB.
pub const MAX_VALUES_PER_LABEL: usize = 128;
/// Series of one metric. Bounds the product of labels: 512 histograms take 2.6 MiB.
pub const MAX_SERIES_PER_METRIC: usize = 512;
/// Longer label values are cut at a character boundary.
pub const MAX_LABEL_BYTES: usize = 128;

/// Made for each snapshot from what the hub sums up elsewhere; nobody counts them directly.
const DERIVED: [MetricId; 4] = [
    MetricId::CoreBusySecondsTotal,
    MetricId::BoundaryCallsTotal,
    MetricId::BoundarySeconds,
    MetricId::TelemetryOverheadRatio,
];

/// Values of a metric's labels, in the order of the catalogue.
pub(crate) type LabelValues = Box<[Arc<str>]>;

#[derive(Clone)]
enum Series {
    Counter(Arc<CounterCell>),
    Gauge(Arc<GaugeCell>),
    Histogram(Arc<HistogramCell>),
}

/// What a series shows at one moment.
pub(crate) enum Value {
    Counter(f64),
    /// `None`: never set, or cleared.
    Gauge(Option<f64>),
    Histogram(Box<HistogramValue>),
}

#[derive(Default)]
pub(crate) struct Family {
    series: HashMap<LabelValues, Series>,
    /// Distinct values seen, for each label.
    values: Vec<HashSet<Arc<str>>>,
}

pub(crate) struct Registry {
    enabled: Arc<AtomicBool>,
    families: Mutex<Families>,
}

pub(crate) struct Families {
    by_id: Vec<Family>,
    refused: u64,
}

/// Metrics in the order of the catalogue.
pub(crate) fn catalogue_position(name: &str) -> usize {
    CATALOGUE
        .iter()
        .position(|metric| metric.name == name)
        .unwrap_or(CATALOGUE.len())
}

impl Registry {
    pub(crate) fn new(enabled: Arc<AtomicBool>) -> Self {
        let by_id = CATALOGUE
            .iter()
            .map(|metric| Family {
                series: HashMap::new(),
                values: vec![HashSet::new(); metric.labels.len()],
            })
            .collect();
        Self {
            enabled,
            families: Mutex::new(Families { by_id, refused: 0 }),
        }
    }

    /// A panic while the lock is held can at worst leave a label value registered without its series.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Families> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn counter(&self, id: MetricId, labels: &[&str]) -> Counter {
        match self.series(id, MetricKind::Counter, labels) {
            Series::Counter(cell) => Counter(cell),
            _ => Counter(Arc::default()),
        }
    }

    pub(crate) fn gauge(&self, id: MetricId, labels: &[&str]) -> Gauge {
        match self.series(id, MetricKind::Gauge, labels) {
            Series::Gauge(cell) => Gauge(cell),
            _ => Gauge(Arc::default()),
        }
    }

    pub(crate) fn histogram(&self, id: MetricId, labels: &[&str]) -> Histogram {
        let cell = match self.series(id, MetricKind::Histogram, labels) {
            Series::Histogram(cell) => cell,
            _ => Arc::default(),
        };
        Histogram {
            cell,
            enabled: Arc::clone(&self.enabled),
        }
    }

    /// The series of `labels`. Asking for another kind than the catalogue's, giving another number of labels, or counting what is
    /// derived is a mistake of the calling code: debug builds stop, release builds count it and hand out a series that nobody reads.
    fn series(&self, id: MetricId, kind: MetricKind, labels: &[&str]) -> Series {
        let metric = id.metric();
        let mut families = self.lock();
        let families = &mut *families;
        if metric.kind != kind || metric.labels.len() != labels.len() || DERIVED.contains(&id) {
            debug_assert!(
                false,
                "{} is a {:?} with labels {:?}; asked for a {kind:?} with {labels:?}",
                metric.name, metric.kind, metric.labels,
            );
            families.refused += 1;
            return new_series(kind);
        }
        let family = &mut families.by_id[id as usize];
        let mut refused = false;
        let mut key: LabelValues = labels
            .iter()
            .zip(&mut family.values)
            .map(|(text, seen)| {
                let text = cut(text, MAX_LABEL_BYTES);
                if let Some(known) = seen.get(text) {
                    return Arc::clone(known);
                }
                if seen.len() >= MAX_VALUES_PER_LABEL {
                    refused = true;
                    return Arc::from(OTHER);
                }
                let value: Arc<str> = Arc::from(text);
                seen.insert(Arc::clone(&value));
                value
            })
            .collect();
        if !family.series.contains_key(&key) && family.series.len() >= MAX_SERIES_PER_METRIC {
            refused = true;
            key.fill(Arc::from(OTHER));
        }
        families.refused += u64::from(refused);
        family
            .series
            .entry(key)
            .or_insert_with(|| new_series(kind))
            .clone()
    }

    /// Times a label value or series was refused.
    pub(crate) fn refused(&self) -> u64 {
        self.lock().refused
    }

    /// Calls `visit` for every series in the order of the catalogue; series of a metric in the order of their label values.
    pub(crate) fn visit(&self, mut visit: impl FnMut(MetricId, &LabelValues, Value)) {
        let families = self.lock();
        for (metric, family) in CATALOGUE.iter().zip(&families.by_id) {
            let mut series: Vec<_> = family.series.iter().collect();
            series.sort_unstable_by_key(|(labels, _)| *labels);
            for (labels, series) in series {
                visit(metric.id, labels, series.value());
            }
        }
    }

    /// Calls `visit` for every series of one metric, in no order.
    pub(crate) fn visit_one(&self, id: MetricId, mut visit: impl FnMut(&LabelValues, &Value)) {
        let families = self.lock();
        for (labels, series) in &families.by_id[id as usize].series {
            visit(labels, &series.value());
        }
    }

    /// Calls `visit` for every counter and every gauge that is set, of the metrics `wanted`, in no order. The lock is held meanwhile.
    pub(crate) fn visit_numbers(
        &self,
        wanted: &[MetricId],
        mut visit: impl FnMut(MetricId, &LabelValues, f64),
    ) {
        let families = self.lock();
        for &metric in wanted {
            for (labels, series) in &families.by_id[metric as usize].series {
                let number = match series {
                    Series::Counter(cell) => Some(cell.total()),
                    Series::Gauge(cell) => cell.get(),
                    Series::Histogram(_) => None,
                };
                if let Some(number) = number {
                    visit(metric, labels, number);
                }
            }
        }
    }
}

impl Series {
    fn value(&self) -> Value {
        match self {
            Self::Counter(cell) => Value::Counter(cell.total()),
            Self::Gauge(cell) => Value::Gauge(cell.get()),
            Self::Histogram(cell) => Value::Histogram(Box::new(cell.value())),
        }
    }
}

impl Families {
    /// Set every series to its beginning. Handles stay valid.
    pub(crate) fn reset(&mut self) {
        for series in self.by_id.iter().flat_map(|family| family.series.values()) {
            match series {
                Series::Counter(cell) => cell.reset(),
                Series::Gauge(cell) => cell.clear(),
                Series::Histogram(cell) => cell.reset(),
            }
        }
        self.refused = 0;
    }
}

fn new_series(kind: MetricKind) -> Series {
    match kind {
        MetricKind::Counter => Series::Counter(Arc::default()),
        MetricKind::Gauge => Series::Gauge(Arc::default()),
        MetricKind::Histogram => Series::Histogram(Arc::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> Registry {
        Registry::new(Arc::new(AtomicBool::new(true)))
    }

    fn counters(registry: &Registry) -> Vec<(String, f64)> {
        let mut found = Vec::new();
        registry.visit(|_, labels, value| {
            if let Value::Counter(total) = value {
                found.push((labels.join("|"), total));
            }
        });
        found
    }

    #[test]
    fn handles_of_the_same_labels_share_a_series() {
        let registry = registry();
        let first = registry.counter(MetricId::KernelCacheRequestsTotal, &["memory"]);
        let second = registry.counter(MetricId::KernelCacheRequestsTotal, &["memory"]);
        first.add(2);
        second.add(3);
        registry
            .counter(MetricId::KernelCacheRequestsTotal, &["disk"])
            .add(1);
        assert_eq!(
            counters(&registry),
            [("disk".into(), 1.0), ("memory".into(), 5.0)]
        );
    }

    #[test]
    fn label_values_past_the_limit_go_to_other_and_are_counted() {
        let registry = registry();
        for number in 0..MAX_VALUES_PER_LABEL + 7 {
            registry
                .counter(MetricId::SpikesTotal, &[&format!("net {number}")])
                .add(1);
        }
        let found = counters(&registry);
        assert_eq!(found.len(), MAX_VALUES_PER_LABEL + 1);
        assert!(found.contains(&(OTHER.into(), 7.0)));
        assert!(found.contains(&("net 0".into(), 1.0)));
        assert_eq!(registry.refused(), 7);
    }

    #[test]
    fn the_product_of_labels_is_bounded() {
        let registry = registry();
        for device in 0..30 {
            for pool in 0..30 {
                let labels = [format!("cpu:{device}"), format!("pool {pool}")];
                registry
                    .counter(MetricId::PoolAllocationsTotal, &[&labels[0], &labels[1]])
                    .add(1);
            }
        }
        let found = counters(&registry);
        assert_eq!(found.len(), MAX_SERIES_PER_METRIC + 1);
        let total: f64 = found.iter().map(|(_, value)| value).sum();
        assert!((total - 900.0).abs() < f64::EPSILON);
        assert!(found.contains(&("other|other".into(), (900 - MAX_SERIES_PER_METRIC) as f64)));
    }

    #[test]
    #[cfg_attr(
        debug_assertions,
        should_panic(expected = "amdgpu_spikes_total is a Counter")
    )]
    fn a_wrong_kind_is_caught() {
        let registry = registry();
        registry.gauge(MetricId::SpikesTotal, &["x"]).set(1.0);
        assert_eq!(registry.refused(), 1);
    }

    #[test]
    fn reset_keeps_handles_alive() {
        let registry = registry();
        let counter = registry.counter(MetricId::SpikesTotal, &["a"]);
        counter.add(5);
        registry.lock().reset();
        counter.add(1);
        assert_eq!(counters(&registry), [("a".into(), 1.0)]);
    }
}
