//! Everything the bus knows at one moment, as plain data.

use std::borrow::Cow;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use amdgpu_abi::MetricId;
use serde::{Deserialize, Deserializer, Serialize};

use crate::boundary::{BoundarySummary, SECONDS_PER_NS};
use crate::clock::ClockOrigin;
use crate::crossings::CrossingSummary;
use crate::hub::{Hub, lock};
use crate::labels::Labels;
use crate::metrics::{EXPORT_BOUNDS_NS, HistogramCell, HistogramValue, Value, catalogue_position};
use crate::names::{NameId, Names};
use crate::record::{Kind, Record};
use crate::ring::Ring;
use crate::totals::KernelTotals;

/// Version of the JSON form of [`Snapshot`]; raised when a field changes its meaning or goes away.
pub const SNAPSHOT_SCHEMA: u32 = 1;

/// A counter or a gauge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    pub metric: Cow<'static, str>,
    pub labels: Labels,
    /// JSON has only finite numbers: what is not is `null` there, and comes back as NaN.
    #[serde(deserialize_with = "number_or_nan")]
    pub value: f64,
}

fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

impl Sample {
    pub(crate) fn of(id: MetricId, labels: Labels, value: f64) -> Self {
        Self {
            metric: Cow::Borrowed(id.metric().name),
            labels,
            value,
        }
    }
}

/// A histogram of durations, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistogramSample {
    pub metric: Cow<'static, str>,
    pub labels: Labels,
    pub count: u64,
    pub sum_seconds: f64,
    pub p50_seconds: Option<f64>,
    pub p99_seconds: Option<f64>,
    pub max_seconds: f64,
    /// Upper bound in seconds, and how many durations are at most that.
    pub buckets: Vec<(f64, u64)>,
}

impl HistogramSample {
    pub(crate) fn of(id: MetricId, labels: Labels, value: &HistogramValue) -> Self {
        Self {
            metric: Cow::Borrowed(id.metric().name),
            labels,
            count: value.count(),
            sum_seconds: value.sum_ns as f64 * SECONDS_PER_NS,
            p50_seconds: value.quantile_ns(0.5).map(|ns| ns * SECONDS_PER_NS),
            p99_seconds: value.quantile_ns(0.99).map(|ns| ns * SECONDS_PER_NS),
            max_seconds: value.max_ns as f64 * SECONDS_PER_NS,
            buckets: EXPORT_BOUNDS_NS
                .map(|bound| bound as f64 / 1e9)
                .into_iter()
                .zip(value.cumulative())
                .collect(),
        }
    }
}

/// See the fields. Plain data: it can be serialised, sent and read back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub schema: u32,
    pub process_id: u32,
    pub enabled: bool,
    /// When the snapshot was taken, on both time lines.
    pub clock: ClockOrigin,
    /// In the order of the catalogue.
    pub counters: Vec<Sample>,
    /// In the order of the catalogue; absent gauges are not listed.
    pub gauges: Vec<Sample>,
    /// In the order of the catalogue.
    pub histograms: Vec<HistogramSample>,
    pub boundaries: Vec<BoundarySummary>,
    /// The same calls by who made them: each names the one that it was made inside of.
    #[serde(default)]
    pub crossings: Vec<CrossingSummary>,
    /// Kernels that were launched: all launches, counted, and their time as far as it was measured.
    #[serde(default)]
    pub kernels: Vec<KernelTotals>,
    /// When the first work of a device began and the newest that was timed ended, on the monotonic clock; 0 before.
    #[serde(default)]
    pub first_work_ns: u64,
    #[serde(default)]
    pub last_work_ns: u64,
    /// The newest records, oldest first.
    pub records: Vec<Record>,
    pub names: Names,
    /// Records emitted since the process began.
    pub records_emitted: u64,
    /// Of those, how many were overwritten before anybody read them.
    pub records_lost: u64,
    /// Requests for a name, label value or series past its limit; they went to "other".
    pub names_refused: u64,
    /// Estimated share of the process's processor time that telemetry took; `None` before the process used any.
    pub overhead_ratio: Option<f64>,
}

impl Hub {
    /// Everything the bus knows now. Drains the rings itself where no collector runs.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.refresh();
        let start_ns = self.now_ns();
        let (records, emitted, lost) = {
            let mut delivery = lock(&self.delivery);
            self.drain(&mut delivery);
            let records: Vec<Record> = delivery.recent.iter().copied().collect();
            (records, delivery.delivered + delivery.lost, delivery.lost)
        };
        let mut snapshot = Snapshot {
            schema: SNAPSHOT_SCHEMA,
            process_id: std::process::id(),
            enabled: self.is_enabled(),
            clock: ClockOrigin::of(self.clock.get()),
            counters: Vec::new(),
            gauges: Vec::new(),
            histograms: Vec::new(),
            boundaries: Vec::new(),
            crossings: Vec::new(),
            kernels: self.kernel_totals(),
            first_work_ns: self.first_work_ns.load(Ordering::Relaxed),
            last_work_ns: self.last_work_ns.load(Ordering::Relaxed),
            records,
            names: Names {
                names: self.names.all(),
                threads: self.rings.thread_names(),
                devices: self.device_names(),
            },
            records_emitted: emitted,
            records_lost: lost,
            names_refused: self.names.refused() + self.metrics.refused(),
            overhead_ratio: self.overhead_ratio(emitted),
        };
        self.metrics.visit(|id, labels, value| {
            snapshot.add(id, Labels::of(id.metric().labels, labels), value);
        });
        self.add_boundaries(&mut snapshot);
        self.add_busy(&mut snapshot);
        snapshot.crossings = self.crossings.summaries();
        if let Some(ratio) = snapshot.overhead_ratio {
            snapshot.add(
                MetricId::TelemetryOverheadRatio,
                Labels::default(),
                Value::Gauge(Some(ratio)),
            );
        }
        snapshot
            .counters
            .sort_by_cached_key(|sample| catalogue_position(&sample.metric));
        snapshot
            .gauges
            .sort_by_cached_key(|sample| catalogue_position(&sample.metric));
        snapshot
            .histograms
            .sort_by_cached_key(|sample| catalogue_position(&sample.metric));
        self.reading_ns
            .fetch_add(self.now_ns().saturating_sub(start_ns), Ordering::Relaxed);
        snapshot
    }

    /// Every function that was called across a boundary.
    pub(crate) fn boundary_summaries(&self) -> Vec<BoundarySummary> {
        let calls = self.boundaries.calls(&self.crossings);
        calls.iter().filter_map(BoundarySummary::of).collect()
    }

    /// Summaries of the sites, and their sums over pairs of languages as metrics.
    fn add_boundaries(&self, snapshot: &mut Snapshot) {
        let all = self.boundaries.calls(&self.crossings);
        snapshot.boundaries = all.iter().filter_map(BoundarySummary::of).collect();
        for pair in all.chunk_by(|a, b| a.site.languages() == b.site.languages()) {
            let (from, to) = pair[0].site.languages();
            let count: u64 = pair.iter().map(|calls| calls.count).sum();
            let mut sum = HistogramValue::default();
            for calls in pair {
                sum.merge(&calls.durations);
            }
            let values: [Arc<str>; 2] = [Arc::from(from.name()), Arc::from(to.name())];
            let labels = Labels::of(MetricId::BoundaryCallsTotal.metric().labels, &values);
            snapshot.add(
                MetricId::BoundaryCallsTotal,
                labels.clone(),
                Value::Counter(count as f64),
            );
            snapshot.add(
                MetricId::BoundarySeconds,
                labels,
                Value::Histogram(Box::new(sum)),
            );
        }
    }

    /// Records are charged at the price of a whole boundary crossing, so this is an upper estimate.
    fn overhead_ratio(&self, records: u64) -> Option<f64> {
        let process_ns = self.clock.get().process_cpu_ns();
        if process_ns == 0 {
            return None;
        }
        let spent_ns = records as f64 * self.crossing_cost_ns()
            + self.reading_ns.load(Ordering::Relaxed) as f64;
        Some((spent_ns / process_ns as f64).min(1.0))
    }

    /// Price of one crossing on this machine, measured once.
    fn crossing_cost_ns(&self) -> f64 {
        const ROUNDS: usize = 2000;
        let cost_ps = self.crossing_cost_ps.get_or_init(|| {
            let (ring, durations) = (Ring::new(64), HistogramCell::default());
            let record = Record::new(Kind::Marker, NameId::UNNAMED);
            let begin_ns = self.now_ns();
            for _ in 0..ROUNDS {
                let start_ns = self.now_ns();
                let duration_ns = self.now_ns().saturating_sub(start_ns);
                durations.record_ns(duration_ns);
                ring.push(black_box(&record.at(start_ns, duration_ns)));
            }
            let total_ns = self.now_ns().saturating_sub(begin_ns) as usize;
            NonZeroUsize::MIN.saturating_add(total_ns * 1000 / ROUNDS)
        });
        cost_ps.get() as f64 / 1000.0
    }
}

impl Snapshot {
    pub(crate) fn add(&mut self, id: MetricId, labels: Labels, value: Value) {
        match value {
            Value::Counter(value) => self.counters.push(Sample::of(id, labels, value)),
            Value::Gauge(Some(value)) => self.gauges.push(Sample::of(id, labels, value)),
            Value::Gauge(None) => {}
            Value::Histogram(value) => {
                self.histograms
                    .push(HistogramSample::of(id, labels, &value));
            }
        }
    }

    /// The value of a counter or gauge, if it is there. `labels` in the order of the catalogue.
    #[must_use]
    pub fn value(&self, id: MetricId, labels: &[&str]) -> Option<f64> {
        let name = id.metric().name;
        let samples = self.counters.iter().chain(&self.gauges);
        samples
            .into_iter()
            .find(|sample| {
                sample.metric == name && sample.labels.values().eq(labels.iter().copied())
            })
            .map(|sample| sample.value)
    }
}
