//! What a running network tells the telemetry bus.

use amdgpu_abi::{Language, MetricId};
use amdgpu_telemetry::{Core, Counter, Gauge, Kind, NameId, Record, counter, emit, gauge, intern};

pub(crate) struct Reporter {
    steps: Counter,
    spikes: Counter,
    realtime_factor: Gauge,
    name: NameId,
}

impl Reporter {
    pub fn new(network: &str) -> Self {
        Self {
            steps: counter(MetricId::NetworkStepsTotal, &[network]),
            spikes: counter(MetricId::SpikesTotal, &[network]),
            realtime_factor: gauge(MetricId::RealtimeFactor, &[network]),
            name: intern(network),
        }
    }

    /// Steps and spikes since the last report, and how fast the run is.
    pub fn report(&self, steps: u64, spikes: u64, realtime_factor: f64) {
        self.steps.add(steps);
        self.spikes.add(spikes);
        self.realtime_factor.set(realtime_factor);
        if amdgpu_telemetry::is_enabled() {
            emit(
                Record::new(Kind::NetworkStep, self.name)
                    .core(Core::Neuromorphic)
                    .language(Language::Rust)
                    .value(spikes),
            );
        }
    }
}
