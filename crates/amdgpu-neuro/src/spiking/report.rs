//! Telemetry of a running network: records and counters on the bus.

use std::sync::{Mutex, PoisonError};

use amdgpu_abi::{Language, MetricId};
use amdgpu_telemetry::{
    Core, Counter, Gauge, Kind, NameId, Record, add_host_busy, counter, emit, gauge, intern, now_ns,
};

use super::snapshot_publisher::PUBLISH_INTERVAL_NS;

pub(crate) struct Reporter {
    steps: Counter,
    /// The same steps as what the core did.
    operations: Counter,
    spikes: Counter,
    realtime_factor: Gauge,
    name: NameId,
    /// Steps on the host are measured as a whole; on other devices their launches are.
    is_host: bool,
    updates: Mutex<Pending>,
}

/// A interval of a run.
pub(crate) struct Update {
    pub spikes: u64,
    pub neuron_seconds: f64,
    pub begin_ns: u64,
    pub end_ns: u64,
    pub realtime_factor: f64,
}

/// What the next record of an update tells.
#[derive(Default)]
struct Pending {
    spikes: u64,
    neuron_seconds: f64,
    begin_ns: Option<u64>,
    last_ns: u64,
}

impl Reporter {
    pub fn new(network: &str, device: &str, is_host: bool) -> Self {
        Self {
            is_host,
            updates: Mutex::default(),
            operations: counter(
                MetricId::OperationsTotal,
                &[device, Core::Neuromorphic.name(), Language::Rust.name()],
            ),
            steps: counter(MetricId::NetworkStepsTotal, &[network]),
            spikes: counter(MetricId::SpikesTotal, &[network]),
            realtime_factor: gauge(MetricId::RealtimeFactor, &[network]),
            name: intern(network),
        }
    }

    /// Steps and spikes since the last report, and how fast the run is.
    pub fn report(&self, steps: u64, spikes: u64, wall_ns: u64, realtime_factor: f64) {
        if self.is_host {
            add_host_busy(Core::Neuromorphic, wall_ns);
        }
        self.operations.add(steps);
        self.steps.add(steps);
        self.spikes.add(spikes);
        self.realtime_factor.set(realtime_factor);
        if amdgpu_telemetry::is_enabled() {
            emit(
                Record::new(Kind::NetworkStep, self.name)
                    .core(Core::Neuromorphic)
                    .language(Language::Rust)
                    .at(now_ns().saturating_sub(wall_ns), wall_ns)
                    .value(spikes),
            );
        }
    }

    /// A interval of a run is over. At most one record a picture's time tells of it: short runs are told together.
    pub fn update(&self, update: &Update) {
        // Numbers only, whole at every moment.
        let mut pending = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
        pending.spikes += update.spikes;
        pending.neuron_seconds += update.neuron_seconds;
        let begin_ns = *pending.begin_ns.get_or_insert(update.begin_ns);
        if update.end_ns - pending.last_ns < PUBLISH_INTERVAL_NS {
            return;
        }
        let rate_hz = pending.spikes as f64 / pending.neuron_seconds.max(f64::MIN_POSITIVE);
        emit(
            Record::new(Kind::NeuralUpdate, self.name)
                .core(Core::Neuromorphic)
                .language(Language::Rust)
                .at(begin_ns, update.end_ns - begin_ns)
                .value(pending.spikes)
                .detail(rate_hz.to_bits(), update.realtime_factor.to_bits()),
        );
        *pending = Pending {
            last_ns: update.end_ns,
            ..Pending::default()
        };
    }
}
