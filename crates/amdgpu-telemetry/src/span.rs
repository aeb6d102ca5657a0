//! Timed pieces of work: spans in general, and kernels, whose metrics belong together.

use amdgpu_abi::{Language, MetricId};
use serde::{Deserialize, Serialize};

use crate::boundary::SECONDS_PER_NS;
use crate::hub::{self, Hub};
use crate::metrics::{Counter, Histogram, HistogramValue};
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
    /// Of all kernels of the core.
    launches: Counter,
    calls: Counter,
    timed: Counter,
    durations: Histogram,
}

/// What tells a kernel from others on its device: kernels of different sources, signatures or options may have the same name.
#[derive(Clone, Copy, Debug)]
pub struct KernelIdentity<'a> {
    pub name: &'a str,
    pub id: u64,
}

/// The text of a kernel's id, as handles end with it.
#[must_use]
pub fn kernel_id_text(id: u64) -> String {
    format!("{id:016x}")
}

/// How often one kernel ran, and how long as far as that was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelSums {
    /// All launches, counted.
    pub calls: f64,
    /// Those whose duration was measured.
    pub timed_calls: f64,
    /// Time of all launches; those that were not timed are taken to last as long as those that were.
    pub seconds: f64,
}

impl KernelSums {
    pub(crate) fn of(calls: f64, timed_calls: f64, durations: &HistogramValue) -> Self {
        let (weight, spent) = (durations.count() as f64, durations.sum_ns as f64);
        let mean_ns = if weight > 0.0 { spent / weight } else { 0.0 };
        Self {
            calls,
            timed_calls,
            seconds: mean_ns * calls.max(timed_calls) * SECONDS_PER_NS,
        }
    }
}

impl KernelMeter {
    /// `device` is the name (`cpu:0`), `index` its place in `list_devices()`, `language` the one the kernel's host side runs in.
    #[must_use]
    pub fn new(
        device: &str,
        index: u16,
        core: Core,
        language: Language,
        kernel: KernelIdentity<'_>,
    ) -> Self {
        Self::on(hub::global(), device, index, core, language, kernel)
    }

    pub(crate) fn on(
        hub: &Hub,
        device: &str,
        index: u16,
        core: Core,
        language: Language,
        kernel: KernelIdentity<'_>,
    ) -> Self {
        hub.name_device(index, device);
        let id = kernel_id_text(kernel.id);
        let labels = [device, core.name(), kernel.name, &id];
        Self {
            record: Record::new(Kind::Launch, hub.intern(kernel.name))
                .core(core)
                .language(language)
                .device(index)
                .detail(0, kernel.id),
            launches: hub.counter(
                MetricId::KernelLaunchesTotal,
                &[device, core.name(), language.name()],
            ),
            calls: hub.counter(MetricId::KernelCallsTotal, &labels),
            timed: hub.counter(MetricId::KernelTimedCallsTotal, &labels),
            durations: hub.histogram(MetricId::KernelDurationSeconds, &labels),
        }
    }

    /// Count launches. Those that are timed are told to [`KernelMeter::time`], too.
    #[inline]
    pub fn count(&self, launches: u64) {
        self.launches.add(launches);
        self.calls.add(launches);
    }

    /// Launches whose time is estimated, about this much each.
    pub fn count_untimed(&self, launches: u64, each_ns: u64) {
        self.count(launches);
        self.durations.record_many_ns(each_ns, launches);
        let now_ns = crate::now_ns();
        hub::global().note_work(now_ns, now_ns);
    }

    /// Launches inside of something that is measured as a whole, of which a sample was timed; each took about this long. Counted and in the
    /// histogram, without records, and no busy time of their own: that is of the whole.
    pub fn count_inside(&self, launches: u64, timed: u64, duration_ns: u64) {
        self.count(launches);
        self.timed.add(timed);
        self.durations.record_many_ns(duration_ns, launches);
        hub::global().add_inside(self.record.core, duration_ns.saturating_mul(launches));
    }

    /// How often the kernel ran, under whichever handle of it.
    #[must_use]
    pub fn sums(&self) -> KernelSums {
        // First, so that no launch is seen timed that is not seen counted.
        let timed = self.timed.total();
        KernelSums::of(
            self.calls.total().max(timed),
            timed,
            &self.durations.value(),
        )
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
        self.count(1);
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
        self.timed.increment();
        hub::global().note_work(start_ns, start_ns.saturating_add(duration_ns));
        hub::emit(
            self.record
                .stream(stream)
                .at(start_ns, duration_ns)
                .value(work[0])
                .detail(work[1], self.record.detail[1]),
        );
    }
}
