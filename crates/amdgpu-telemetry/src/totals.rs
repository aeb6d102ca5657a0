//! What the process did since it began, in a few sums: what a watcher asks for ten times a second. Much cheaper than a snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use amdgpu_abi::MetricId;
use serde::{Deserialize, Serialize};

use crate::boundary::{BoundarySummary, SECONDS_PER_NS};
use crate::hub::{Hub, lock};
use crate::labels::Labels;
use crate::metrics::{HistogramValue, LabelValues, Value};
use crate::record::Core;
use crate::snapshot::{HistogramSample, Sample, Snapshot};
use crate::span::KernelSums;

/// Sums by a label's value.
type By = BTreeMap<String, f64>;

/// The device whose time the Matrix core's own library spends: it computes with this machine's cores.
const HOST_DEVICE: &str = "cpu:0";

/// Of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceTotals {
    /// Launches by core.
    pub launches: By,
    /// Those of them whose time was measured.
    pub timed_launches: By,
    /// How long each core worked, in seconds.
    pub busy_seconds: By,
    /// Dispatched operations by core.
    pub operations: By,
    /// Bytes of all pools by state: active, reserved, inactive.
    pub pool_bytes: By,
    pub copied_bytes: By,
    pub allocations: f64,
    pub out_of_memory: f64,
}

/// Of one kernel on one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelTotals {
    pub device: String,
    pub core: String,
    pub name: String,
    /// Tells kernels of one name apart; their handles end with it.
    pub id: String,
    #[serde(flatten)]
    pub sums: KernelSums,
}

/// Of one network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkTotals {
    pub spikes: f64,
    pub steps: f64,
    pub realtime_factor: Option<f64>,
}

/// See the fields. Counted since the process began, or since it was forked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// When, on the monotonic clock.
    pub time_ns: u64,
    pub devices: BTreeMap<String, DeviceTotals>,
    pub networks: BTreeMap<String, NetworkTotals>,
    /// What is counted, as a snapshot has it: `counters` and `gauges` of the metrics that say what was done, and `histograms` of those that
    /// time all of it, without their buckets.
    pub counters: Vec<Sample>,
    pub gauges: Vec<Sample>,
    pub histograms: Vec<HistogramSample>,
    pub boundaries: Vec<BoundarySummary>,
    /// Kernels that were launched, by their labels.
    pub kernels: Vec<KernelTotals>,
    /// When the first work of a device began and the newest that was timed ended; 0 before.
    pub first_work_ns: u64,
    pub last_work_ns: u64,
    pub records_emitted: u64,
    pub records_lost: u64,
    pub fallbacks: f64,
    pub errors: f64,
}

/// Those that are also listed as they are, with all their labels.
const LISTED: [MetricId; 11] = [
    MetricId::KernelLaunchesTotal,
    MetricId::OperationsTotal,
    MetricId::KernelCacheRequestsTotal,
    MetricId::PoolBytes,
    MetricId::PoolReservedPeakBytes,
    MetricId::CopyBytesTotal,
    MetricId::SpikesTotal,
    MetricId::NetworkStepsTotal,
    MetricId::RealtimeFactor,
    MetricId::FallbacksTotal,
    MetricId::ErrorsTotal,
];
/// Every one of these is timed, so that sums are exact.
const TIMED: [MetricId; 2] = [MetricId::CompileSeconds, MetricId::CopySeconds];

const IDS: [MetricId; 11] = [
    MetricId::KernelLaunchesTotal,
    MetricId::OperationsTotal,
    MetricId::PoolBytes,
    MetricId::PoolAllocationsTotal,
    MetricId::PoolOutOfMemoryTotal,
    MetricId::CopyBytesTotal,
    MetricId::SpikesTotal,
    MetricId::NetworkStepsTotal,
    MetricId::RealtimeFactor,
    MetricId::FallbacksTotal,
    MetricId::ErrorsTotal,
];

fn add(to: &mut By, key: &str, value: f64) {
    *to.entry(key.to_owned()).or_default() += value;
}

impl Totals {
    fn take(&mut self, id: MetricId, labels: &[std::sync::Arc<str>], value: &Value) {
        let number = match value {
            Value::Counter(value) | Value::Gauge(Some(value)) => *value,
            Value::Gauge(None) | Value::Histogram(_) => return,
        };
        let first = labels.first().map_or("", |label| label);
        let second = labels.get(1).map_or("", |label| label);
        let third = labels.get(2).map_or("", |label| label);
        match id {
            MetricId::FallbacksTotal => self.fallbacks += number,
            MetricId::ErrorsTotal => self.errors += number,
            MetricId::SpikesTotal => self.network(first).spikes += number,
            MetricId::NetworkStepsTotal => self.network(first).steps += number,
            MetricId::RealtimeFactor => self.network(first).realtime_factor = Some(number),
            MetricId::KernelLaunchesTotal => add(&mut self.device(first).launches, second, number),
            MetricId::OperationsTotal => add(&mut self.device(first).operations, second, number),
            MetricId::PoolBytes => add(&mut self.device(first).pool_bytes, third, number),
            MetricId::PoolAllocationsTotal => self.device(first).allocations += number,
            MetricId::PoolOutOfMemoryTotal => self.device(first).out_of_memory += number,
            MetricId::CopyBytesTotal => add(&mut self.device(first).copied_bytes, second, number),
            _ => {}
        }
    }

    fn device(&mut self, name: &str) -> &mut DeviceTotals {
        self.devices.entry(name.to_owned()).or_default()
    }

    fn network(&mut self, name: &str) -> &mut NetworkTotals {
        self.networks.entry(name.to_owned()).or_default()
    }
}

impl Hub {
    /// The sums now. Does not read the rings: `records_emitted` is as of the last time that somebody did.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.refresh();
        let mut totals = Totals {
            time_ns: self.now_ns(),
            ..Totals::default()
        };
        for id in IDS {
            self.metrics
                .visit_one(id, |labels, value| totals.take(id, labels, value));
        }
        self.list_into(&mut totals);
        for kernel in &totals.kernels {
            let device = totals.devices.entry(kernel.device.clone()).or_default();
            add(
                &mut device.timed_launches,
                &kernel.core,
                kernel.sums.timed_calls,
            );
        }
        for ((device, core), seconds) in self.busy_seconds(&totals.kernels) {
            let id = MetricId::CoreBusySecondsTotal;
            let values: [Arc<str>; 2] = [Arc::from(device.as_str()), Arc::from(core.as_str())];
            let labels = Labels::of(id.metric().labels, &values);
            totals.counters.push(Sample::of(id, labels, seconds));
            add(&mut totals.device(&device).busy_seconds, &core, seconds);
        }
        totals.first_work_ns = self.first_work_ns.load(Ordering::Relaxed);
        totals.last_work_ns = self.last_work_ns.load(Ordering::Relaxed);
        let delivery = lock(&self.delivery);
        totals.records_emitted = delivery.delivered + delivery.lost;
        totals.records_lost = delivery.lost;
        totals
    }

    /// What a snapshot has, too, as far as it says how much was done.
    fn list_into(&self, totals: &mut Totals) {
        for id in LISTED.into_iter().chain(TIMED) {
            self.metrics.visit_one(id, |labels, value| {
                let labels = Labels::of(id.metric().labels, labels);
                match value {
                    Value::Counter(value) if *value != 0.0 => {
                        totals.counters.push(Sample::of(id, labels, *value));
                    }
                    Value::Gauge(Some(value)) => totals.gauges.push(Sample::of(id, labels, *value)),
                    Value::Histogram(value) if value.count() > 0 => {
                        let sample = HistogramSample::of(id, labels, value);
                        totals.histograms.push(HistogramSample {
                            buckets: Vec::new(),
                            ..sample
                        });
                    }
                    _ => {}
                }
            });
        }
        totals.boundaries = self.boundary_summaries();
        totals.kernels = self.kernel_totals();
    }

    /// Every kernel that was launched, with all its launches and their time.
    pub(crate) fn kernel_totals(&self) -> Vec<KernelTotals> {
        let mut timed: HashMap<LabelValues, f64> = HashMap::new();
        self.metrics
            .visit_one(MetricId::KernelTimedCallsTotal, |labels, value| {
                if let Value::Counter(value) = value {
                    timed.insert(labels.clone(), *value);
                }
            });
        let mut durations: HashMap<LabelValues, HistogramValue> = HashMap::new();
        self.metrics
            .visit_one(MetricId::KernelDurationSeconds, |labels, value| {
                if let Value::Histogram(value) = value {
                    durations.insert(labels.clone(), (**value).clone());
                }
            });
        let mut kernels: BTreeMap<LabelValues, KernelSums> = BTreeMap::new();
        self.metrics
            .visit_one(MetricId::KernelCallsTotal, |labels, value| {
                if let (Value::Counter(calls), Some(durations)) = (value, durations.get(labels)) {
                    let timed = timed.get(labels).copied().unwrap_or_default();
                    kernels.insert(labels.clone(), KernelSums::of(*calls, timed, durations));
                }
            });
        kernels
            .into_iter()
            .filter(|(_, sums)| sums.calls > 0.0)
            .map(|(labels, sums)| {
                let label = |place: usize| labels.get(place).map_or("", |text| text).to_owned();
                KernelTotals {
                    device: label(0),
                    core: label(1),
                    name: label(2),
                    id: label(3),
                    sums,
                }
            })
            .collect()
    }

    /// How long each core of each device worked, in seconds: calls into the libraries that compute on the host and runs of networks as measured,
    /// kernels from the launches that were timed.
    fn busy_seconds(&self, kernels: &[KernelTotals]) -> BTreeMap<(String, String), f64> {
        let mut busy: BTreeMap<(String, String), f64> = BTreeMap::new();
        let mut add_to = |device: &str, core: &str, seconds: f64| {
            *busy
                .entry((device.to_owned(), core.to_owned()))
                .or_default() += seconds;
        };
        for kernel in kernels {
            add_to(&kernel.device, &kernel.core, kernel.sums.seconds);
        }
        for calls in self.boundaries.calls(&self.crossings) {
            if let Some(core) = calls.site.works_for()
                && calls.count > 0
            {
                let seconds = calls.durations.sum_ns as f64 * SECONDS_PER_NS;
                add_to(HOST_DEVICE, core.name(), seconds);
            }
        }
        for core in Core::ALL {
            let sums = [&self.host_busy_ns, &self.inside_ns];
            let [whole_ns, inside_ns] = sums.map(|sum| sum[core as usize].load(Ordering::Relaxed));
            if whole_ns > 0 || inside_ns > 0 {
                let seconds = (whole_ns as f64 - inside_ns as f64) * SECONDS_PER_NS;
                add_to(HOST_DEVICE, core.name(), seconds);
            }
        }
        busy
    }

    /// The same as a metric.
    pub(crate) fn add_busy(&self, snapshot: &mut Snapshot) {
        let id = MetricId::CoreBusySecondsTotal;
        for ((device, core), seconds) in self.busy_seconds(&snapshot.kernels) {
            let values: [Arc<str>; 2] = [Arc::from(device), Arc::from(core)];
            let labels = Labels::of(id.metric().labels, &values);
            snapshot.add(id, labels, Value::Counter(seconds.max(0.0)));
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "small whole numbers are exact")]
mod tests {
    use super::*;
    use amdgpu_abi::Language;

    use crate::{KernelIdentity, KernelMeter, ManualClock};

    #[test]
    fn sums_are_those_of_the_devices_and_networks() {
        let hub = Hub::with_clock(ManualClock::default());
        let saxpy = KernelIdentity {
            name: "saxpy",
            id: 7,
        };
        let meter = KernelMeter::on(&hub, "cpu:0", 0, Core::Aura, Language::Rust, saxpy);
        meter.finish(0, 10, 2_000_000_000, 64, 1);
        meter.count(3);
        hub.counter(MetricId::SpikesTotal, &["net"]).add(40);
        hub.gauge(MetricId::PoolBytes, &["cpu:0", "device", "active"])
            .set(512.0);
        hub.gauge(MetricId::PoolBytes, &["cpu:0", "pinned", "active"])
            .set(256.0);
        hub.counter(MetricId::CopyBytesTotal, &["cpu:0", "host_to_device"])
            .add(7);
        hub.add_host_busy(Core::Neuromorphic, 500_000_000);
        let totals = hub.totals();
        let device = &totals.devices["cpu:0"];
        assert_eq!(device.launches["aura"], 4.0);
        assert_eq!(device.timed_launches["aura"], 1.0);
        // Those that were not timed lasted as long, as far as anybody knows.
        assert_eq!(device.busy_seconds["aura"], 8.0);
        let sums = KernelSums {
            calls: 4.0,
            timed_calls: 1.0,
            seconds: 8.0,
        };
        assert_eq!(
            (totals.kernels[0].sums, totals.kernels[0].id.as_str()),
            (sums, "0000000000000007")
        );
        assert_eq!(device.busy_seconds["neuromorphic"], 0.5);
        assert_eq!(device.pool_bytes["active"], 768.0);
        assert_eq!(device.copied_bytes["host_to_device"], 7.0);
        assert_eq!(totals.networks["net"].spikes, 40.0);
        assert_eq!(totals.networks["net"].realtime_factor, None);
        let text = serde_json::to_string(&totals).unwrap();
        assert_eq!(serde_json::from_str::<Totals>(&text).unwrap(), totals);
    }
}
