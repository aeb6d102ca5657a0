//! Crossings from one language into another: how often, how long, through which function.
//!
//! A crossing costs two clock readings, one histogram entry and one record. `amdgpu_boundary_calls_total` and
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
    operations: AtomicU64,
    bytes: AtomicU64,
    is_work: bool,
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
                operations: AtomicU64::new(0),
                bytes: AtomicU64::new(0),
                is_work,
            }))
        })
    }

    /// Every site with its durations, ordered by languages and name. Their sums are those of `crossings` and of the calls that it has no
    /// place for.
    pub(crate) fn values(&self, crossings: &Crossings) -> Vec<(&'static Site, HistogramValue)> {
        let sums_ns = crossings.sums_ns();
        let value = |site: &&'static Site| {
            let mut value = site.durations.value();
            let inside_ns = sums_ns.get(&std::ptr::from_ref(*site)).copied();
            value.sum_ns = value.sum_ns.saturating_add(inside_ns.unwrap_or(0));
            (*site, value)
        };
        let mut values: Vec<_> = self.lock().values().map(value).collect();
        values.sort_by_key(|(site, _)| (site.from as u8, site.to as u8, Arc::clone(&site.text)));
        values
    }

    pub(crate) fn reset(sites: &SiteMap) {
        for site in sites.values() {
            site.durations.reset();
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
}

pub(crate) const SECONDS_PER_NS: f64 = 1e-9;

impl BoundarySummary {
    /// `None` for a site that was never crossed.
    pub(crate) fn of(site: &Site, value: &HistogramValue) -> Option<Self> {
        Some(Self {
            from: site.from.name().to_owned(),
            to: site.to.name().to_owned(),
            name: Arc::clone(&site.text),
            count: value.count(),
            total_seconds: value.sum_ns as f64 * SECONDS_PER_NS,
            p50_seconds: value.quantile_ns(0.5)? * SECONDS_PER_NS,
            p99_seconds: value.quantile_ns(0.99)? * SECONDS_PER_NS,
            max_seconds: value.max_ns as f64 * SECONDS_PER_NS,
            operations: site.operations.load(Relaxed),
            bytes: site.bytes.load(Relaxed),
        })
    }
}

/// Lives while the call is on the other side; reports when dropped.
#[must_use = "the crossing ends when the guard is dropped"]
pub struct BoundaryGuard(Option<Crossing>);

struct Crossing {
    site: &'static Site,
    start_ns: u64,
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
            inside: crossings::enter(site),
        }))
    }

    /// The call has come back: report it. Returns the moment for who needs it too, 0 while telemetry is off.
    #[must_use = "to drop the guard is enough where the moment is not needed"]
    #[inline]
    pub fn leave(self) -> u64 {
        let end_ns = if self.0.is_some() { crate::now_ns() } else { 0 };
        self.leave_at(end_ns);
        end_ns
    }

    /// As [`Self::leave`], at a moment that the caller has read off the clock for something else, too.
    #[inline]
    pub fn leave_at(mut self, end_ns: u64) {
        if let Some(crossing) = self.0.take() {
            crossing.report(end_ns);
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
            crossing.report(crate::now_ns());
        }
    }
}

impl Crossing {
    fn report(&self, end_ns: u64) {
        let duration_ns = end_ns.saturating_sub(self.start_ns);
        // One addition to memory that threads share: the thread's own tree keeps the sum.
        if let Some(inside) = &self.inside {
            inside.leave(duration_ns);
            self.site.durations.count_ns(duration_ns);
        } else {
            self.site.durations.record_ns(duration_ns);
        }
        if self.site.works_for().is_some() {
            crate::hub::global().note_work(self.start_ns, end_ns);
        }
        crate::emit(self.site.record(self.start_ns, duration_ns));
    }
}

impl Site {
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
        site.durations.record_ns(duration_ns);
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

    /// Cross, at a moment that the caller has read off the clock for something else, too.
    #[inline]
    pub fn enter_at(&self, start_ns: u64) -> BoundaryGuard {
        let hub = crate::hub::global();
        if !hub.is_enabled() {
            return BoundaryGuard::OFF;
        }
        BoundaryGuard::enter(self.site(hub), start_ns)
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
