//! Crossings from one language into another: how often, how long, through which function.
//!
//! A crossing that is timed costs two clock readings, one histogram entry and one record: as much as to add a thousand numbers. So of those
//! that their callers know to be brief a sample is timed ([`Boundary::enter_brief`]); all are counted. `amdgpu_boundary_calls_total` and
//! `amdgpu_boundary_seconds` are sums over the sites and are made when a snapshot is taken.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::Language;
use once_cell::race::OnceRef;
use serde::{Deserialize, Serialize};

use crate::crossings::{self, Crossings, Inside};
use crate::hub::{Hub, Producer};
use crate::metrics::{HistogramCell, HistogramValue};
use crate::names::{NameId, OTHER};
use crate::record::{Core, Kind, Record};

/// Functions that languages call in each other; each is a line of source, so a few hundred at most. 5 KiB each. Those past the limit are
/// counted together as "other", one for each pair of languages.
pub const MAX_BOUNDARY_SITES: usize = 512;

/// One function of one pair of languages. Lives as long as the process, so that a guard is two words.
pub(crate) struct Site {
    from: Language,
    to: Language,
    name: NameId,
    text: Arc<str>,
    durations: HistogramCell,
    /// Calls that no thread's tree has a place for; all of them are timed.
    outside: AtomicU64,
    operations: AtomicU64,
    bytes: AtomicU64,
    is_work: bool,
}

/// What is known of the calls of a site.
pub(crate) struct Calls {
    pub site: &'static Site,
    /// All of them, and those that were timed.
    pub count: u64,
    pub timed: u64,
    /// Each of those that were timed weighs as much as those that it stands for; the sum is of the calls with and without a place in a tree.
    pub durations: HistogramValue,
}

type Key = (Language, Language, NameId);
pub(crate) type SiteMap = HashMap<Key, &'static Site>;

#[derive(Default)]
pub(crate) struct BoundaryTable {
    sites: Mutex<SiteMap>,
}

impl BoundaryTable {
    /// A panic while the lock is held leaves a map of whole entries.
    pub(crate) fn lock(&self) -> MutexGuard<'_, SiteMap> {
        self.sites.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn site(
        &self,
        from: Language,
        to: Language,
        name: NameId,
        text: &str,
        is_work: bool,
    ) -> &'static Site {
        let mut sites = self.lock();
        let full = sites.len() >= MAX_BOUNDARY_SITES && !sites.contains_key(&(from, to, name));
        let (name, text) = if full {
            (NameId::OTHER, OTHER)
        } else {
            (name, text)
        };
        // Leaked on purpose: at most MAX_BOUNDARY_SITES plus one for each pair of languages, and guards must not count references.
        sites.entry((from, to, name)).or_insert_with(|| {
            Box::leak(Box::new(Site {
                from,
                to,
                name,
                text: Arc::from(text),
                durations: HistogramCell::default(),
                outside: AtomicU64::new(0),
                operations: AtomicU64::new(0),
                bytes: AtomicU64::new(0),
                is_work,
            }))
        })
    }

    /// The calls of every site, ordered by languages and name: those of `crossings` and those that it has no place for.
    pub(crate) fn calls(&self, crossings: &Crossings) -> Vec<Calls> {
        let sums = crossings.sums();
        let calls = |site: &&'static Site| {
            let inside = sums.get(&std::ptr::from_ref(*site));
            let inside = inside.copied().unwrap_or_default();
            let outside = site.outside.load(Relaxed);
            let mut durations = site.durations.value();
            durations.sum_ns = durations.sum_ns.saturating_add(inside.total_ns);
            Calls {
                site,
                count: inside.count + outside,
                timed: inside.timed + outside,
                durations,
            }
        };
        let mut all: Vec<_> = self.lock().values().map(calls).collect();
        all.sort_by_key(|calls| {
            let site = calls.site;
            (site.from as u8, site.to as u8, Arc::clone(&site.text))
        });
        all
    }

    pub(crate) fn reset(sites: &SiteMap) {
        for site in sites.values() {
            site.durations.reset();
            site.outside.store(0, Relaxed);
            site.operations.store(0, Relaxed);
            site.bytes.store(0, Relaxed);
        }
    }
}

impl Site {
    pub(crate) const fn languages(&self) -> (Language, Language) {
        (self.from, self.to)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The core whose work the calls are: those libraries compute while the caller waits.
    pub(crate) const fn works_for(&self) -> Option<Core> {
        match self.to {
            _ if !self.is_work => None,
            Language::Zig => Some(Core::Matrix),
            Language::Nim => Some(Core::Neuromorphic),
            Language::Julia => Some(Core::Math),
            _ => None,
        }
    }
}

/// How one function was called across a boundary; durations in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundarySummary {
    pub from: String,
    pub to: String,
    pub name: Arc<str>,
    /// All calls, and their time; where fewer were timed, the others are taken to last as long.
    pub count: u64,
    pub total_seconds: f64,
    pub p50_seconds: f64,
    pub p99_seconds: f64,
    pub max_seconds: f64,
    /// Floating-point operations and bytes of memory of all calls, where the caller knows them from its operands; 0 where nobody does.
    #[serde(default)]
    pub operations: u64,
    #[serde(default)]
    pub bytes: u64,
    /// Calls that were timed.
    #[serde(default)]
    pub timed_count: u64,
}

pub(crate) const SECONDS_PER_NS: f64 = 1e-9;

impl BoundarySummary {
    /// `None` for a site that was never crossed.
    pub(crate) fn of(calls: &Calls) -> Option<Self> {
        let (site, value) = (calls.site, &calls.durations);
        Some(Self {
            from: site.from.name().to_owned(),
            to: site.to.name().to_owned(),
            name: Arc::clone(&site.text),
            count: calls.count,
            total_seconds: value.sum_ns as f64 * SECONDS_PER_NS,
            p50_seconds: value.quantile_ns(0.5)? * SECONDS_PER_NS,
            p99_seconds: value.quantile_ns(0.99)? * SECONDS_PER_NS,
            max_seconds: value.max_ns as f64 * SECONDS_PER_NS,
            operations: site.operations.load(Relaxed),
            bytes: site.bytes.load(Relaxed),
            timed_count: calls.timed,
        })
    }
}

/// Lives while the call is on the other side; reports when dropped.
#[must_use = "the crossing ends when the guard is dropped"]
pub struct BoundaryGuard(Option<Crossing>);

struct Crossing {
    site: &'static Site,
    /// 0 where nobody times it.
    start_ns: u64,
    /// One of a sample, if it is timed.
    is_brief: bool,
    inside: Option<Inside>,
}

impl BoundaryGuard {
    /// A guard that reports nothing: telemetry is off.
    pub(crate) const OFF: Self = Self(None);

    #[inline]
    pub(crate) fn enter(site: &'static Site, start_ns: u64) -> Self {
        Self(Some(Crossing {
            site,
            start_ns,
            is_brief: false,
            inside: crossings::enter(site),
        }))
    }

    #[inline]
    fn enter_brief(hub: &Hub, site: &'static Site) -> Self {
        let inside = crossings::enter(site);
        let is_timed = inside.as_ref().is_none_or(Inside::is_in_sample) || hub.wants_every_record();
        Self(Some(Crossing {
            site,
            start_ns: if is_timed { hub.now_ns() } else { 0 },
            is_brief: inside.is_some(),
            inside,
        }))
    }

    /// When the call began, for records of the same moment; `None` where nobody times it, and while telemetry is off.
    #[must_use]
    #[inline]
    pub fn start_ns(&self) -> Option<u64> {
        let crossing = self.0.as_ref()?;
        (crossing.start_ns > 0).then_some(crossing.start_ns)
    }

    /// A call that began as a brief one turns out to be none: it is timed, from here on at the latest, and stands for itself.
    #[inline]
    pub fn expect_long(&mut self) {
        if let Some(crossing) = &mut self.0
            && crossing.is_brief
        {
            crossing.is_brief = false;
            if crossing.start_ns == 0 {
                crossing.start_ns = crate::now_ns();
            }
        }
    }

    /// The call has come back: report it. Returns the moment for who needs it too, 0 where it was not timed.
    #[must_use = "to drop the guard is enough where the moment is not needed"]
    #[inline]
    pub fn leave(self) -> u64 {
        let end_ns = self.start_ns().map_or(0, |_| crate::now_ns());
        self.leave_at(end_ns);
        end_ns
    }

    /// As [`Self::leave`], at a moment that the caller has read off the clock for something else, too.
    #[inline]
    pub fn leave_at(mut self, end_ns: u64) {
        if let Some(crossing) = self.0.take() {
            crossing.end(|| end_ns);
        }
    }

    /// Say what the call computes and moves at least, as its operands tell.
    #[inline]
    pub fn computes(&self, operations: u64, bytes: u64) {
        if let Some(crossing) = &self.0 {
            crossing.site.operations.fetch_add(operations, Relaxed);
            crossing.site.bytes.fetch_add(bytes, Relaxed);
        }
    }
}

impl Drop for BoundaryGuard {
    #[inline]
    fn drop(&mut self) {
        if let Some(crossing) = &self.0 {
            crossing.end(crate::now_ns);
        }
    }
}

impl Crossing {
    #[inline]
    fn end(&self, now_ns: impl FnOnce() -> u64) {
        match &self.inside {
            Some(inside) if self.start_ns == 0 => {
                inside.leave_untimed();
                if self.site.works_for().is_some() {
                    let hub = crate::hub::global();
                    let tick_ns = hub.clock.last_tick_ns();
                    hub.note_work(tick_ns, tick_ns);
                }
            }
            _ => self.report(now_ns()),
        }
    }

    fn report(&self, end_ns: u64) {
        let duration_ns = end_ns.saturating_sub(self.start_ns);
        // One addition to memory that threads share: the thread's own tree keeps count and sum.
        if let Some(inside) = &self.inside {
            let calls = inside.leave(duration_ns, self.is_brief);
            self.site.durations.count_many_ns(duration_ns, calls);
        } else {
            self.site.record_outside(duration_ns);
        }
        if self.site.works_for().is_some() {
            crate::hub::global().note_work(self.start_ns, end_ns);
        }
        crate::emit(self.site.record(self.start_ns, duration_ns));
    }
}

impl Site {
    fn record_outside(&self, duration_ns: u64) {
        self.outside.fetch_add(1, Relaxed);
        self.durations.record_ns(duration_ns);
    }

    fn record(&self, start_ns: u64, duration_ns: u64) -> Record {
        Record::new(Kind::Boundary, self.name)
            .languages(self.from, self.to)
            .at(start_ns, duration_ns)
    }
}

impl Hub {
    /// Report a crossing that was timed by the caller.
    pub fn record_boundary(
        &self,
        producer: &Producer,
        from: Language,
        to: Language,
        name: &str,
        start_ns: u64,
        duration_ns: u64,
    ) {
        if !self.is_enabled() {
            return;
        }
        let site = self
            .boundaries
            .site(from, to, self.intern(name), name, true);
        site.record_outside(duration_ns);
        producer.emit(site.record(start_ns, duration_ns));
    }
}

/// A crossing in a fixed place of the source, resolved once: `static MATMUL: Boundary = Boundary::new(Rust, Zig, "agpu_matrix_matmul")`.
pub struct Boundary {
    from: Language,
    to: Language,
    name: &'static str,
    is_work: bool,
    site: OnceRef<'static, Site>,
}

impl Boundary {
    #[must_use]
    pub const fn new(from: Language, to: Language, name: &'static str) -> Self {
        Self {
            from,
            to,
            name,
            is_work: true,
            site: OnceRef::new(),
        }
    }

    /// A crossing that prepares work and is none itself, a compilation say: no core is busy meanwhile.
    #[must_use]
    pub const fn preparing(from: Language, to: Language, name: &'static str) -> Self {
        Self {
            is_work: false,
            ..Self::new(from, to, name)
        }
    }

    /// Cross. The guard reports when it is dropped.
    #[inline]
    pub fn enter(&self) -> BoundaryGuard {
        let hub = crate::hub::global();
        if !hub.is_enabled() {
            return BoundaryGuard::OFF;
        }
        BoundaryGuard::enter(self.site(hub), hub.now_ns())
    }

    /// Cross for a call that its caller knows to be brief, a few microseconds: counted, and timed where it is among the first ones, one of a
    /// sample, or somebody takes all records.
    #[inline]
    pub fn enter_brief(&self) -> BoundaryGuard {
        let hub = crate::hub::global();
        if !hub.is_enabled() {
            return BoundaryGuard::OFF;
        }
        BoundaryGuard::enter_brief(hub, self.site(hub))
    }

    #[inline]
    fn site(&self, hub: &Hub) -> &'static Site {
        self.site
            .get_or_init(|| resolve(hub, self.from, self.to, self.name, self.is_work))
    }
}

fn resolve(hub: &Hub, from: Language, to: Language, name: &str, is_work: bool) -> &'static Site {
    hub.boundaries
        .site(from, to, hub.intern(name), name, is_work)
}

/// Entries of a thread's table of sites; a thread uses a dozen, so collisions are rare and cost a look-up.
const CACHED_SITES: usize = 64;

#[derive(Clone, Copy)]
struct Cached {
    name: &'static str,
    from: Language,
    to: Language,
    site: &'static Site,
}

thread_local! {
    static CACHE: [Cell<Option<Cached>>; CACHED_SITES] = const { [const { Cell::new(None) }; CACHED_SITES] };
}

/// Cross from one language into another. The guard reports when it is dropped.
///
/// Where the call is hot, a `static` [`Boundary`] saves the look-up.
#[inline]
pub fn boundary(from: Language, to: Language, name: &'static str) -> BoundaryGuard {
    let hub = crate::hub::global();
    if !hub.is_enabled() {
        return BoundaryGuard::OFF;
    }
    BoundaryGuard::enter(cached_site(hub, from, to, name), hub.now_ns())
}

fn cached_site(hub: &Hub, from: Language, to: Language, name: &'static str) -> &'static Site {
    let hash = (name.as_ptr() as usize >> 3) ^ name.len() ^ (from as usize) << 3 ^ (to as usize);
    // The table has no destructor, so it can be reached for as long as the thread runs.
    CACHE.with(|cache| {
        let entry = &cache[hash % CACHED_SITES];
        match entry.get() {
            Some(cached)
                if std::ptr::eq(cached.name, name) && cached.from == from && cached.to == to =>
            {
                cached.site
            }
            _ => {
                let site = resolve(hub, from, to, name, true);
                entry.set(Some(Cached {
                    name,
                    from,
                    to,
                    site,
                }));
                site
            }
        }
    })
}
