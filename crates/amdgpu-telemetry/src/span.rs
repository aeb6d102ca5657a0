//! Timed pieces of work: spans in general, and kernels, whose metrics belong together.

use amdgpu_abi::{Language, MetricId};

use crate::hub::{self, Hub};
use crate::metrics::{Counter, Histogram};
use crate::names::NameId;
use crate::record::{Core, Kind, Record};

/// Times a piece of work on this thread; reports when dropped.
///
/// ```
/// use amdgpu_telemetry::{Core, Kind, MetricId, histogram, intern, span};
/// let compile_seconds = histogram(MetricId::CompileSeconds, &["x86_64"]);
/// {
///     let mut span = span(Kind::Compile, intern("vector_add")).observe(&compile_seconds);
///     span.record.core = Core::Aura;
///     span.record.value = 512;
/// }
/// assert_eq!(compile_seconds.value().count(), 1);
/// ```
#[must_use = "the span ends when it is dropped"]
pub struct Span {
    /// Facts about the work; times are filled at the end.
    pub record: Record,
    histogram: Option<Histogram>,
    live: bool,
}

impl Span {
    /// Also put the duration into a histogram.
    pub fn observe(mut self, histogram: &Histogram) -> Self {
        self.histogram = self.live.then(|| histogram.clone());
        self
    }

    /// Report nothing, for example because the work turned out not to be needed.
    pub fn cancel(mut self) {
        self.live = false;
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if self.live {
            self.record.duration_ns = crate::now_ns().saturating_sub(self.record.start_ns);
            if let Some(histogram) = &self.histogram {
                histogram.record_ns(self.record.duration_ns);
            }
            hub::emit(self.record);
        }
    }
}

/// Begin a span.
pub fn span(kind: Kind, name: NameId) -> Span {
    let hub = hub::global();
    let live = hub.is_enabled();
    let start_ns = if live { hub.now_ns() } else { 0 };
    Span {
        record: Record::new(kind, name).at(start_ns, 0),
        histogram: None,
        live,
    }
}

/// The metrics of one kernel on one device; made once when the kernel is loaded.
#[derive(Clone)]
pub struct KernelMeter {
    record: Record,
    launches: Counter,
    durations: Histogram,
}

impl KernelMeter {
    /// `device` is the name (`cpu:0`), `index` its place in `list_devices()`, `language` the one the kernel's host side runs in.
    #[must_use]
    pub fn new(device: &str, index: u16, core: Core, language: Language, kernel: &str) -> Self {
        Self::on(hub::global(), device, index, core, language, kernel)
    }

    pub(crate) fn on(
        hub: &Hub,
        device: &str,
        index: u16,
        core: Core,
        language: Language,
        kernel: &str,
    ) -> Self {
        hub.name_device(index, device);
        Self {
            record: Record::new(Kind::Launch, hub.intern(kernel))
                .core(core)
                .language(language)
                .device(index),
            launches: hub.counter(
                MetricId::KernelLaunchesTotal,
                &[device, core.name(), language.name()],
            ),
            durations: hub.histogram(
                MetricId::KernelDurationSeconds,
                &[device, core.name(), kernel],
            ),
        }
    }

    /// Launches whose times nobody measures: counted, without records.
    pub fn count(&self, launches: u64) {
        self.launches.add(launches);
    }

    /// Launches that are told of together, each of about this duration: counted and in the histogram, without records.
    pub fn count_alike(&self, launches: u64, duration_ns: u64) {
        self.launches.add(launches);
        self.durations.record_many_ns(duration_ns, launches);
    }

    /// A launch is over. `work_items` and `work_groups` as they were launched.
    pub fn finish(
        &self,
        stream: u32,
        start_ns: u64,
        duration_ns: u64,
        work_items: u64,
        work_groups: u64,
    ) {
        self.launches.increment();
        self.time(1, stream, start_ns, duration_ns, [work_items, work_groups]);
    }

    /// The time of a launch that was counted before. It stands for those of so many, itself included, since the others are counted without being
    /// timed: in the histogram it weighs as much as all of them. `work` is work-items and work-groups.
    pub fn time(
        &self,
        launches: u64,
        stream: u32,
        start_ns: u64,
        duration_ns: u64,
        work: [u64; 2],
    ) {
        self.durations.record_many_ns(duration_ns, launches);
        hub::emit(
            self.record
                .stream(stream)
                .at(start_ns, duration_ns)
                .value(work[0])
                .detail(work[1], 0),
        );
    }
}
