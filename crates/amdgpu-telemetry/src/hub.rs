//! The hub: rings of all threads, metrics, names, subscribers. Programs use the global one through the free functions of the crate
//! root; tests make their own, with a clock they wind by hand.

mod collector;
mod delivery;
mod fork;
mod producer;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amdgpu_abi::{MetricId, environment};
use once_cell::race::{OnceBox, OnceNonZeroUsize};

use crate::boundary::BoundaryTable;
use crate::clock::{Clock, ClockOrigin, ClockSource};
use crate::crossings::Crossings;
use crate::fallback::NoticeHandler;
use crate::metrics::{Counter, Gauge, Histogram, Registry};
use crate::names::{NameId, NameTable, Names};
use crate::record::{Core, Record};
use crate::subscriber::{Queue, Subscription};
use collector::Doorbell;
use delivery::Delivery;
pub use delivery::RECENT_RECORDS;
pub use producer::Producer;
use producer::Rings;
pub(crate) use producer::with_local;

/// Devices whose names the exporters know.
const MAX_NAMED_DEVICES: usize = 256;

/// Figures that are brought up to date when somebody reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lazy {
    /// How many commands wait in streams.
    QueueDepth,
    /// What pools of memory hold and have handed out.
    Pools,
}

pub struct Hub {
    pub(crate) clock: ClockSource,
    enabled: Arc<AtomicBool>,
    /// Whether somebody takes all records: an impatient subscriber, or the flight recorder.
    wants_every_record: AtomicBool,
    pub(crate) names: NameTable,
    pub(crate) metrics: Registry,
    pub(crate) boundaries: BoundaryTable,
    pub(crate) crossings: Crossings,
    pub(crate) rings: Rings,
    pub(crate) delivery: Mutex<Delivery>,
    doorbell: Doorbell,
    devices: Mutex<Vec<String>>,
    /// Fallbacks that were already said.
    pub(crate) said: Mutex<HashSet<(NameId, NameId)>>,
    pub(crate) notice_handler: Mutex<Option<NoticeHandler>>,
    /// Time that the collector and snapshots took.
    pub(crate) reading_ns: AtomicU64,
    /// Time for which this machine's cores did work of a core type that nobody measures as launches, in nanoseconds.
    pub(crate) host_busy_ns: [AtomicU64; Core::ALL.len()],
    /// Of the time of launches, that of those inside of something that is in `host_busy_ns` as a whole.
    pub(crate) inside_ns: [AtomicU64; Core::ALL.len()],
    /// When the first work on a device began and the newest that was timed ended; 0 before.
    pub(crate) first_work_ns: AtomicU64,
    pub(crate) last_work_ns: AtomicU64,
    /// Bring the figures up to date that nobody keeps so, before somebody reads them. By [`Lazy`].
    refreshers: [OnceBox<fn()>; 2],
    /// What one boundary crossing costs here, in picoseconds.
    pub(crate) crossing_cost_ps: OnceNonZeroUsize,
}

/// A lock on data that stays whole when its holder panics: every change is a single insertion or assignment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hub {
    fn with_clock_source(clock: ClockSource, enabled: bool) -> Arc<Self> {
        let enabled = Arc::new(AtomicBool::new(enabled));
        Arc::new(Self {
            clock,
            metrics: Registry::new(Arc::clone(&enabled)),
            enabled,
            wants_every_record: AtomicBool::new(false),
            names: NameTable::new(),
            boundaries: BoundaryTable::default(),
            crossings: Crossings::default(),
            rings: Rings::default(),
            delivery: Mutex::default(),
            doorbell: Doorbell::default(),
            devices: Mutex::default(),
            said: Mutex::default(),
            notice_handler: Mutex::default(),
            reading_ns: AtomicU64::new(0),
            host_busy_ns: Default::default(),
            inside_ns: Default::default(),
            first_work_ns: AtomicU64::new(0),
            last_work_ns: AtomicU64::new(0),
            refreshers: Default::default(),
            crossing_cost_ps: OnceNonZeroUsize::new(),
        })
    }

    /// A hub of its own, switched on, with a clock of the caller's.
    #[must_use]
    pub fn with_clock(clock: impl Clock + 'static) -> Arc<Self> {
        Self::with_clock_source(ClockSource::Injected(Box::new(clock)), true)
    }

    #[inline]
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }

    /// Whether somebody takes all records. Where nobody does, those of launches that come by the million may be a sample; what is counted is
    /// counted exactly all the same.
    #[inline]
    #[must_use]
    pub fn wants_every_record(&self) -> bool {
        self.wants_every_record.load(Ordering::Relaxed)
    }

    /// Switch records, histograms and spans on or off. Counters and gauges go on: they are what a bill is checked against.
    pub fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Relaxed);
    }

    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    /// This moment on both time lines.
    #[must_use]
    pub fn clock_origin(&self) -> ClockOrigin {
        ClockOrigin::of(self.clock.get())
    }

    /// The number of a name; look it up once and keep it.
    #[must_use]
    pub fn intern(&self, text: &str) -> NameId {
        self.names.intern(text)
    }

    /// The counter with these label values, in the order of the catalogue. Keep the handle.
    #[must_use]
    pub fn counter(&self, id: MetricId, labels: &[&str]) -> Counter {
        self.metrics.counter(id, labels)
    }

    /// The gauge with these label values, in the order of the catalogue. Keep the handle.
    #[must_use]
    pub fn gauge(&self, id: MetricId, labels: &[&str]) -> Gauge {
        self.metrics.gauge(id, labels)
    }

    /// The histogram with these label values, in the order of the catalogue. Keep the handle.
    #[must_use]
    pub fn histogram(&self, id: MetricId, labels: &[&str]) -> Histogram {
        self.metrics.histogram(id, labels)
    }

    /// This machine's cores did work of a core type that is not measured as launches or boundaries.
    pub fn add_host_busy(&self, core: Core, busy_ns: u64) {
        let now_ns = self.now_ns();
        self.note_work(now_ns.saturating_sub(busy_ns), now_ns);
        self.host_busy_ns[core as usize].fetch_add(busy_ns, Ordering::Relaxed);
    }

    /// A device worked from then to then: moves the ends of the span in which this process's work lies, to some milliseconds.
    #[inline]
    pub(crate) fn note_work(&self, start_ns: u64, end_ns: u64) {
        const RESOLUTION_NS: u64 = 1_000_000;
        if self.first_work_ns.load(Ordering::Relaxed) == 0 {
            self.first_work_ns.store(start_ns.max(1), Ordering::Relaxed);
        }
        // Seldom written, so that threads which launch at the same time do not take the cache line from each other.
        let last_ns = self.last_work_ns.load(Ordering::Relaxed);
        if end_ns > last_ns + RESOLUTION_NS || last_ns == 0 {
            self.last_work_ns.store(end_ns, Ordering::Relaxed);
        }
    }

    pub(crate) fn add_inside(&self, core: Core, busy_ns: u64) {
        self.inside_ns[core as usize].fetch_add(busy_ns, Ordering::Relaxed);
    }

    /// Have `refresh` called before metrics are read: for values that change too often to be written down each time. The first one for these
    /// figures stays.
    pub fn set_refresher(&self, figures: Lazy, refresh: fn()) {
        // A second call changes nothing, as promised.
        let _ = self.refreshers[figures as usize].set(Box::new(refresh));
    }

    /// Bring the metrics up to date that are not kept so.
    pub(crate) fn refresh(&self) {
        for refresh in self.refreshers.iter().filter_map(OnceBox::get) {
            refresh();
        }
    }

    /// Tell exporters what a record's `device` number stands for, for example 0 for `cpu:0`.
    pub fn name_device(&self, index: u16, name: &str) {
        let index = usize::from(index);
        if index < MAX_NAMED_DEVICES {
            let mut devices = lock(&self.devices);
            if devices.len() <= index {
                devices.resize(index + 1, String::new());
            }
            name.clone_into(&mut devices[index]);
        }
    }

    pub(crate) fn device_names(&self) -> Vec<String> {
        lock(&self.devices).clone()
    }

    /// Names from number `first` on, and all threads and devices.
    pub(crate) fn known_names(&self, first: usize) -> Names {
        Names {
            names: self.names.from(first),
            threads: self.rings.thread_names(),
            devices: self.device_names(),
        }
    }

    /// A writing end of the bus for one thread.
    #[must_use]
    pub fn producer(self: &Arc<Self>) -> Producer {
        Producer::new(Arc::clone(self))
    }

    /// Watch every record emitted from now on. `capacity` bounds the queue, `name` labels its drops. Starts the collector thread if
    /// none runs.
    #[must_use]
    pub fn subscribe(self: &Arc<Self>, name: &str, capacity: usize) -> Subscription {
        self.subscribe_patiently(name, capacity, Duration::ZERO)
    }

    /// Like [`Hub::subscribe`], for a reader that looks only every `interval`. Where its queue is small, the collector looks no more often
    /// either, and hot launches need not write a record each: see [`Hub::wants_every_record`].
    #[must_use]
    pub fn subscribe_patiently(
        self: &Arc<Self>,
        name: &str,
        capacity: usize,
        interval: Duration,
    ) -> Subscription {
        let dropped = self.counter(MetricId::TelemetryDroppedTotal, &[name]);
        let queue = Arc::new(Queue::new(capacity, interval, dropped));
        self.add_subscriber(&queue);
        Subscription {
            queue,
            hub: Arc::downgrade(self),
        }
    }
}

/// Threads that come first at once each make a hub and one wins. A cell where they wait for each other would stay locked in the child
/// of a fork that came in between; no cell of this crate is of that kind.
static GLOBAL: OnceBox<Arc<Hub>> = OnceBox::new();

/// The hub of this process.
#[inline]
pub fn global() -> &'static Arc<Hub> {
    GLOBAL.get_or_init(|| {
        let enabled = environment::read(environment::TELEMETRY).is_none_or(|value| value != "off");
        fork::install_handlers();
        Box::new(Hub::with_clock_source(ClockSource::System, enabled))
    })
}

/// Put a record on the bus.
#[inline]
pub fn emit(record: Record) {
    let hub = global();
    if hub.is_enabled() {
        with_local(hub, |producer| producer.emit(record));
    }
}
