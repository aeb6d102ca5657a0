//! Publishes the state of a running network to its [`NetworkSnapshot`], at most sixty times a second.

use std::sync::Arc;

use amdgpu_telemetry::now_ns;

use super::network::{Inner, SpikingNetwork};
use super::projection::{Origin, origin_of};
use super::recorder::Recorder;
use crate::error::Result;
use crate::plan::spiking::{SourcePlan, SpikingNetworkPlan};
use crate::watch::{self, NetworkSnapshot, Population, RasterSample, RunInterval};

/// Time between two updates of a snapshot: one frame of a display.
pub(crate) const PUBLISH_INTERVAL_NS: u64 = 1_000_000_000 / 60;

/// Populations, then sources: names and where their spikes come from.
fn origins(plan: &SpikingNetworkPlan) -> Result<Vec<(String, Origin)>> {
    let populations = plan.spiking.populations.iter().map(|one| one.name.as_str());
    let sources = plan.spiking.sources.iter().map(SourcePlan::name);
    populations
        .chain(sources)
        .map(|name| Ok((name.to_owned(), origin_of(plan, name)?)))
        .collect()
}

/// The network's snapshot, which watchers can read from now on.
pub(crate) fn new_snapshot(
    plan: &SpikingNetworkPlan,
    device: &str,
) -> Result<Arc<NetworkSnapshot>> {
    let populations = origins(plan)?.into_iter().map(|(name, origin)| Population {
        name,
        size: origin.size,
        spikes: 0,
        rate_hz: None,
    });
    let snapshot = Arc::new(NetworkSnapshot::new(
        &plan.name,
        "spiking",
        device,
        plan.dt_seconds,
        populations.collect(),
    ));
    watch::register(&snapshot);
    Ok(snapshot)
}

/// Updates the snapshot during one run.
pub(crate) struct SnapshotPublisher {
    origins: Vec<Origin>,
    /// Spikes of each origin at the last update.
    published: Vec<u64>,
    step: u64,
    begin_ns: u64,
    last_ns: u64,
}

impl SnapshotPublisher {
    /// For a run that begins now; `recorder` shows spikes from here on.
    pub fn begin(plan: &SpikingNetworkPlan, step: u64, recorder: &mut Recorder) -> Result<Self> {
        let origins: Vec<Origin> = origins(plan)?
            .into_iter()
            .map(|(_, origin)| origin)
            .collect();
        let windows = origins.iter().map(|one| (one.index, one.first, one.size));
        recorder.raster = RasterSample::new(windows);
        let now = now_ns();
        Ok(Self {
            published: vec![0; origins.len()],
            origins,
            step,
            begin_ns: now,
            last_ns: now,
        })
    }

    /// Whether it is time for the next update.
    pub fn is_due(&self) -> bool {
        now_ns() - self.last_ns >= PUBLISH_INTERVAL_NS
    }

    /// Updates the snapshot and the telemetry of the run.
    pub fn publish(
        &mut self,
        network: &SpikingNetwork,
        inner: &Inner,
        first: u64,
        recorder: &mut Recorder,
    ) {
        let now = now_ns();
        let dt_seconds = network.plan.dt_seconds;
        let seconds = (inner.step - self.step) as f64 * dt_seconds;
        let run_seconds = (inner.step - first) as f64 * dt_seconds;
        let mut spikes = Vec::with_capacity(self.origins.len());
        for (origin, published) in self.origins.iter().zip(&mut self.published) {
            let total = recorder.count_of(*origin);
            spikes.push(total - *published);
            *published = total;
        }
        let realtime_factor =
            (now - self.begin_ns) as f64 / 1e9 / run_seconds.max(f64::MIN_POSITIVE);
        let interval = RunInterval {
            steps: inner.step,
            time_seconds: inner.step as f64 * dt_seconds,
            realtime_factor,
            seconds,
            spikes: &spikes,
        };
        network.snapshot.ran(&interval, &mut recorder.raster);
        let neurons: usize = self.origins.iter().map(|origin| origin.size).sum();
        network.reporter.update(&super::report::Update {
            spikes: spikes.iter().sum(),
            neuron_seconds: neurons as f64 * seconds,
            begin_ns: self.last_ns,
            end_ns: now,
            realtime_factor,
        });
        if network.snapshot.wants_weights() {
            // A device that fails tells the run itself; a sample is not worth an error of its own.
            network
                .snapshot
                .set_weights(network.weight_sample(inner).ok().flatten());
        }
        self.step = inner.step;
        self.last_ns = now;
    }
}
