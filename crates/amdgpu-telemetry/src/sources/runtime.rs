//! What this process's own bus counts, as series: launches, compiles, pools, copies, fallbacks, networks.

use std::sync::Arc;
use std::time::Duration;

use amdgpu_abi::MetricId;

use super::{Sink, Source};
use crate::hub::Hub;

/// Metrics that the runtime itself counts. All others are sensors', which are mirrored into the bus and would come back from there.
const COUNTED_HERE: [MetricId; 15] = [
    MetricId::KernelLaunchesTotal,
    MetricId::OperationsTotal,
    MetricId::KernelCacheRequestsTotal,
    MetricId::PoolBytes,
    MetricId::PoolAllocationsTotal,
    MetricId::PoolOutOfMemoryTotal,
    MetricId::CopyBytesTotal,
    MetricId::QueueDepth,
    MetricId::FallbacksTotal,
    MetricId::ErrorsTotal,
    MetricId::SpikesTotal,
    MetricId::NetworkStepsTotal,
    MetricId::RealtimeFactor,
    MetricId::TelemetryDroppedTotal,
    MetricId::SamplingSecondsTotal,
];

const PERIODS: [Duration; 1] = [Duration::from_millis(250)];

/// See the module.
pub struct RuntimeSource(Arc<Hub>);

impl RuntimeSource {
    #[must_use]
    pub fn new(hub: Arc<Hub>) -> Self {
        Self(hub)
    }
}

impl Source for RuntimeSource {
    fn name(&self) -> &'static str {
        "runtime"
    }

    fn periods(&self) -> &'static [Duration] {
        &PERIODS
    }

    fn read(&mut self, _group: usize, sink: &mut Sink<'_>) {
        self.0.refresh();
        self.0
            .metrics
            .visit_numbers(&COUNTED_HERE, |metric, labels, number| {
                let labels: Vec<&str> = labels.iter().map(|label| &**label).collect();
                sink.put(metric, &labels, Ok(number));
            });
    }
}
