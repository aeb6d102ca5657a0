//! Fork: the child starts with an empty bus and its own names, and goes on working.
//!
//! Before the fork every lock of the global hub is taken, so that none is left held by a thread that the child does not have;
//! afterwards parent and child let go of them. Handles of counters and histograms stay valid in the child and start from zero;
//! subscriptions of the parent are closed in it.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread::Thread;

use super::delivery::Delivery;
use super::producer::{Registered, with_existing_local};
use super::{GLOBAL, Hub, lock};
use crate::boundary::{BoundaryTable, SiteMap};
use crate::crossings::Trees;
use crate::fallback::NoticeHandler;
use crate::metrics::Families;
use crate::names::{self, NameId};

/// Every lock of the hub, in the order in which nested code takes them.
struct Held {
    hub: &'static Hub,
    delivery: MutexGuard<'static, Delivery>,
    rings: MutexGuard<'static, Registered>,
    collector: MutexGuard<'static, Option<Thread>>,
    families: MutexGuard<'static, Families>,
    sites: MutexGuard<'static, SiteMap>,
    crossings: MutexGuard<'static, Trees>,
    _names: MutexGuard<'static, names::Inner>,
    _devices: MutexGuard<'static, Vec<String>>,
    _said: MutexGuard<'static, HashSet<(NameId, NameId)>>,
    _notice_handler: MutexGuard<'static, Option<NoticeHandler>>,
}

impl Held {
    fn take(hub: &'static Hub) -> Self {
        Self {
            hub,
            delivery: lock(&hub.delivery),
            rings: lock(hub.rings.inner()),
            collector: lock(hub.doorbell.collector()),
            families: hub.metrics.lock(),
            sites: hub.boundaries.lock(),
            crossings: hub.crossings.lock(),
            _names: hub.names.lock(),
            _devices: lock(&hub.devices),
            _said: lock(&hub.said),
            _notice_handler: lock(&hub.notice_handler),
        }
    }

    fn reset(&mut self) {
        self.delivery.reset();
        with_existing_local(|producer| self.rings.reset(producer));
        self.hub.rings.take_late();
        self.hub.doorbell.reset(&mut self.collector);
        self.families.reset();
        BoundaryTable::reset(&self.sites);
        self.crossings.reset();
        self.hub.reading_ns.store(0, Ordering::Relaxed);
        self.hub.wants_every_record.store(false, Ordering::Relaxed);
        for busy in self.hub.host_busy_ns.iter().chain(&self.hub.inside_ns) {
            busy.store(0, Ordering::Relaxed);
        }
        self.hub.first_work_ns.store(0, Ordering::Relaxed);
        self.hub.last_work_ns.store(0, Ordering::Relaxed);
    }
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    if let Some(hub) = GLOBAL.get() {
        // Fails only where a thread forks from its own destructors; then the child trusts its luck with the locks.
        let _ = HELD.try_with(|held| {
            // Installed twice where two threads made a hub at once: the locks are taken once.
            held.borrow_mut().get_or_insert_with(|| Held::take(hub));
        });
    }
}

extern "C" fn in_parent() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

extern "C" fn in_child() {
    let _ = HELD.try_with(|held| {
        if let Some(mut held) = held.borrow_mut().take() {
            held.reset();
        }
    });
}

pub(super) fn install_handlers() {
    // SAFETY: the handlers are functions of this library, take no argument and do not unwind; glibc forgets them when the library is
    // unloaded. The call fails only for want of memory, and then a forked child shows its parent's history too.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}
