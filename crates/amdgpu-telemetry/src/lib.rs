//! The one event bus of all languages.
//!
//! Contract
//! - [`emit`] writes a 64-byte [`Record`] to the calling thread's ring: no lock, no allocation and, after the thread's first record, no
//!   system call but the one that wakes a sleeping collector. A full ring overwrites its oldest record, counted; a producer never waits.
//! - [`counter`], [`gauge`] and [`histogram`] hand out series of the metric catalogue (`metrics.toml`). Look them up once, keep the
//!   handle. Values of labels are bounded; past the bound they read "other" and that is counted.
//! - [`boundary`] times a call into another language, [`Boundary::enter_brief`] a sample of those that are brief; [`span`] times anything
//!   else; [`KernelMeter`] reports launches; [`fallback`] counts what did not run as preferred and says it once.
//! - [`subscribe`] starts the collector thread; without a subscriber there is no thread, and [`snapshot`] drains the rings itself.
//!   A slow subscriber loses its oldest records, counted, and slows nobody.
//! - Switched off (`AMDGPU_TELEMETRY=off`, [`set_enabled`]) records, histograms, spans and boundaries cost one load; counters and
//!   gauges go on.
//! - [`sampler`] reads the sensors of the machine (see [`sources`]) at their own rates and keeps their [`history`]; while it runs, their values
//!   are mirrored into the bus. Without it nothing of the machine is looked at.
//! - After fork the child's bus is empty and works; subscriptions of the parent are closed in it.
//! - [`attach`] lets other processes of the same user watch this one; [`recorder`] keeps and files what happened.
//! - What is absent is absent: no sentinel is ever exported.
//! - Everything may be called from any thread, but not from a signal handler. Nothing here fails; asking for a metric
//!   with the wrong kind or number of labels stops debug builds and is counted in `names_refused` by release builds.

pub mod attach;
mod boundary;
mod clock;
mod crossings;
pub mod export;
mod fallback;
pub mod frames;
pub mod history;
mod hub;
mod labels;
mod metrics;
mod names;
mod record;
pub mod recorder;
mod ring;
pub mod sampler;
mod sampling;
mod snapshot;
pub mod sources;
mod span;
mod subscriber;
mod totals;

use std::collections::HashMap;
use std::sync::Arc;

pub use amdgpu_abi::{Language, MetricId};

pub use boundary::{Boundary, BoundaryGuard, BoundarySummary, MAX_BOUNDARY_SITES, boundary};
pub use clock::{Clock, ClockOrigin, ManualClock, SystemClock};
pub use crossings::{CrossingSummary, MAX_CROSSINGS};
pub use fallback::{Fallback, NoticeHandler, error, fallback, set_notice_handler};
pub use hub::{Hub, Lazy, Producer, RECENT_RECORDS, emit, global};
pub use labels::Labels;
pub use metrics::{
    Counter, Gauge, Histogram, HistogramValue, MAX_LABEL_BYTES, MAX_SERIES_PER_METRIC,
    MAX_VALUES_PER_LABEL,
};
pub use names::{MAX_NAME_BYTES, MAX_NAMES, NameId, Names, OTHER};
pub use record::{Core, Kind, Record};
pub use ring::RING_CAPACITY;
pub use sampling::{FIRST_TIMED, SAMPLED_EVERY, is_in_sample};
pub use snapshot::{HistogramSample, SNAPSHOT_SCHEMA, Sample, Snapshot};
pub use span::{KernelIdentity, KernelMeter, KernelSums, Span, kernel_id_text, span};
pub use subscriber::{MAX_SUBSCRIPTION_CAPACITY, Subscription};
pub use totals::{DeviceTotals, KernelTotals, NetworkTotals, Totals};

/// Whether records, histograms and spans are recorded.
#[inline]
#[must_use]
pub fn is_enabled() -> bool {
    global().is_enabled()
}

/// Switch records, histograms and spans on or off for the whole process.
pub fn set_enabled(enabled: bool) {
    global().set_enabled(enabled);
}

/// The monotonic time of every record, in nanoseconds: `CLOCK_MONOTONIC`, as Python's `time.monotonic_ns()`.
#[inline]
#[must_use]
pub fn now_ns() -> u64 {
    global().now_ns()
}

/// The number of a name; look it up once and keep it.
#[must_use]
pub fn intern(text: &str) -> NameId {
    global().intern(text)
}

/// The counter with these label values, in the order of the catalogue. Keep the handle.
#[must_use]
pub fn counter(id: MetricId, labels: &[&str]) -> Counter {
    global().counter(id, labels)
}

/// The gauge with these label values, in the order of the catalogue. Keep the handle.
#[must_use]
pub fn gauge(id: MetricId, labels: &[&str]) -> Gauge {
    global().gauge(id, labels)
}

/// The histogram with these label values, in the order of the catalogue. Keep the handle.
#[must_use]
pub fn histogram(id: MetricId, labels: &[&str]) -> Histogram {
    global().histogram(id, labels)
}

/// Everything the bus knows now.
#[must_use]
pub fn snapshot() -> Snapshot {
    global().snapshot()
}

/// Watch every record emitted from now on through a queue of `capacity` records.
#[must_use]
pub fn subscribe(capacity: usize) -> Subscription {
    global().subscribe("anonymous", capacity)
}

/// Like [`subscribe`]; `name` labels what this subscriber loses in `amdgpu_telemetry_dropped_total`.
#[must_use]
pub fn subscribe_as(name: &str, capacity: usize) -> Subscription {
    global().subscribe(name, capacity)
}

/// Tell exporters what a record's `device` number stands for, for example 0 for `cpu:0`.
pub fn name_device(index: u16, name: &str) {
    global().name_device(index, name);
}

/// This machine's cores did work of a core type that is not measured as launches or boundaries: it counts as busy time in [`Totals`].
pub fn add_host_busy(core: Core, busy_ns: u64) {
    global().add_host_busy(core, busy_ns);
}

/// See [`Hub::wants_every_record`].
#[inline]
#[must_use]
pub fn wants_every_record() -> bool {
    global().wants_every_record()
}

/// See [`Hub::set_refresher`].
pub fn set_refresher(figures: Lazy, refresh: fn()) {
    global().set_refresher(figures, refresh);
}

/// The texts of some names.
#[must_use]
pub fn names_of(ids: impl IntoIterator<Item = NameId>) -> HashMap<NameId, Arc<str>> {
    let all = global().names.all();
    let text = |id: NameId| Some((id, Arc::clone(all.get(id.number() as usize)?)));
    ids.into_iter().filter_map(text).collect()
}

/// What exporters call the calling thread.
pub fn name_thread(name: &str) {
    hub::with_local(global(), |producer| producer.name_thread(name));
}
