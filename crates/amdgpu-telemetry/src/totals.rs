//! What the process did since it began, in a few sums: what a watcher asks for ten times a second. Much cheaper than a snapshot.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use amdgpu_abi::{Language, MetricId};
use serde::{Deserialize, Serialize};

use crate::boundary::SECONDS_PER_NS;
use crate::hub::{Hub, lock};
use crate::metrics::Value;
use crate::record::Core;

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
    /// Those of them whose time was measured, or which a measured one stands for.
    pub timed_launches: By,
    /// Their time, in seconds.
    pub busy_seconds: By,
    /// Dispatched operations by core.
    pub operations: By,
    /// Bytes of all pools by state: active, reserved, inactive.
    pub pool_bytes: By,
    pub copied_bytes: By,
    pub allocations: f64,
    pub out_of_memory: f64,
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
    pub records_emitted: u64,
    pub records_lost: u64,
    pub fallbacks: f64,
    pub errors: f64,
}

const IDS: [MetricId; 12] = [
    MetricId::KernelLaunchesTotal,
    MetricId::KernelDurationSeconds,
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
            Value::Gauge(None) => return,
            Value::Histogram(_) => 0.0,
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
            MetricId::KernelDurationSeconds => {
                if let Value::Histogram(value) = value {
                    let device = self.device(first);
                    add(&mut device.timed_launches, second, value.count() as f64);
                    let seconds = value.sum_ns as f64 * SECONDS_PER_NS;
                    add(&mut device.busy_seconds, second, seconds);
                }
            }
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
        let mut totals = Totals {
            time_ns: self.now_ns(),
            ..Totals::default()
        };
        for id in IDS {
            self.metrics
                .visit_one(id, |labels, value| totals.take(id, labels, value));
        }
        for (site, value) in self.boundaries.values() {
            let core = match site.languages().1 {
                Language::Zig => Core::Matrix,
                Language::Nim => Core::Neuromorphic,
                _ => continue,
            };
            if value.count() > 0 {
                let seconds = value.sum_ns as f64 * SECONDS_PER_NS;
                let device = totals.device(HOST_DEVICE);
                add(&mut device.busy_seconds, core.name(), seconds);
            }
        }
        for core in Core::ALL {
            let busy_ns = self.host_busy_ns[core as usize].load(Ordering::Relaxed);
            if busy_ns > 0 {
                let seconds = busy_ns as f64 * SECONDS_PER_NS;
                add(
                    &mut totals.device(HOST_DEVICE).busy_seconds,
                    core.name(),
                    seconds,
                );
            }
        }
        let delivery = lock(&self.delivery);
        totals.records_emitted = delivery.delivered + delivery.lost;
        totals.records_lost = delivery.lost;
        totals
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "small whole numbers are exact")]
mod tests {
    use super::*;
    use crate::{KernelMeter, ManualClock};

    #[test]
    fn sums_are_those_of_the_devices_and_networks() {
        let hub = Hub::with_clock(ManualClock::default());
        let meter = KernelMeter::on(&hub, "cpu:0", 0, Core::Aura, Language::Rust, "saxpy");
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
        assert_eq!(device.busy_seconds["aura"], 2.0);
        assert_eq!(device.busy_seconds["neuromorphic"], 0.5);
        assert_eq!(device.pool_bytes["active"], 768.0);
        assert_eq!(device.copied_bytes["host_to_device"], 7.0);
        assert_eq!(totals.networks["net"].spikes, 40.0);
        assert_eq!(totals.networks["net"].realtime_factor, None);
        let text = serde_json::to_string(&totals).unwrap();
        assert_eq!(serde_json::from_str::<Totals>(&text).unwrap(), totals);
    }
}
