//! The writing ends of the bus: one ring a thread, taken over from a thread that ended where there is one.

use std::cell::{Cell, OnceCell};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{Hub, lock};
use crate::names::{MAX_NAME_BYTES, cut};
use crate::record::Record;
use crate::ring::{RING_CAPACITY, Ring};

/// Threads whose names are remembered, newest first to stay.
const MAX_NAMED_THREADS: usize = 1024;

#[derive(Default)]
pub(crate) struct Rings {
    inner: Mutex<Registered>,
    /// Records emitted by threads that were already ending and had given their ring back.
    late: AtomicU64,
}

#[derive(Default)]
pub(crate) struct Registered {
    all: Vec<Arc<Ring>>,
    /// Rings whose thread ended. What is still unread in them is drained as usual; records say themselves which thread they are of.
    free: Vec<Arc<Ring>>,
    threads: VecDeque<(u32, String)>,
}

impl Rings {
    pub(crate) fn inner(&self) -> &Mutex<Registered> {
        &self.inner
    }

    pub(crate) fn all(&self) -> Vec<Arc<Ring>> {
        lock(&self.inner).all.clone()
    }

    pub(crate) fn take_late(&self) -> u64 {
        self.late.swap(0, Ordering::Relaxed)
    }

    pub(crate) fn thread_names(&self) -> Vec<(u32, String)> {
        lock(&self.inner).threads.iter().cloned().collect()
    }

    fn acquire(&self) -> Arc<Ring> {
        let mut registered = lock(&self.inner);
        registered.free.pop().unwrap_or_else(|| {
            let ring = Arc::new(Ring::new(RING_CAPACITY));
            registered.all.push(Arc::clone(&ring));
            ring
        })
    }

    fn release(&self, ring: &Arc<Ring>) {
        let mut registered = lock(&self.inner);
        // After a fork the rings of lost threads are forgotten; a producer that kept one alive must not bring it back.
        if registered.all.iter().any(|known| Arc::ptr_eq(known, ring)) {
            registered.free.push(Arc::clone(ring));
        }
    }
}

impl Registered {
    fn name_thread(&mut self, thread: u32, name: &str) {
        self.threads.retain(|(known, _)| *known != thread);
        if self.threads.len() >= MAX_NAMED_THREADS {
            self.threads.pop_front();
        }
        self.threads
            .push_back((thread, cut(name, MAX_NAME_BYTES).to_owned()));
    }

    /// In the child of a fork: only the ring of the thread that lives on stays, empty.
    pub(super) fn reset(&mut self, survivor: Option<&Producer>) {
        self.free.clear();
        self.threads.clear();
        self.all.clear();
        if let Some(producer) = survivor {
            producer.ring.reset();
            self.all.push(Arc::clone(&producer.ring));
            producer.thread.set(thread_id());
        }
    }
}

fn thread_id() -> u32 {
    // SAFETY: takes nothing, touches no memory, cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// The writing end of one thread. Dropping it hands the ring to the next thread.
pub struct Producer {
    hub: Arc<Hub>,
    ring: Arc<Ring>,
    /// Also makes the type `!Sync`: a ring has one writer.
    thread: Cell<u32>,
}

impl Producer {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        let thread = thread_id();
        let ring = hub.rings.acquire();
        if let Some(name) = std::thread::current().name() {
            lock(&hub.rings.inner).name_thread(thread, name);
        }
        Self {
            hub,
            ring,
            thread: Cell::new(thread),
        }
    }

    /// Put a record on the bus; fills in the thread if the record names none.
    #[inline]
    pub fn emit(&self, mut record: Record) {
        if record.thread == 0 {
            record.thread = self.thread.get();
        }
        self.ring.push(&record);
        self.hub.doorbell.ring_if_asleep();
    }

    /// What exporters call this thread.
    pub fn name_thread(&self, name: &str) {
        lock(&self.hub.rings.inner).name_thread(self.thread.get(), name);
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.hub.rings.release(&self.ring);
    }
}

thread_local! {
    static LOCAL: OnceCell<Producer> = const { OnceCell::new() };
}

/// Use this thread's producer of the global hub; a thread that is past its destructors only counts the record.
#[inline]
pub(crate) fn with_local(hub: &Arc<Hub>, use_producer: impl FnOnce(&Producer)) {
    let reached = LOCAL.try_with(|local| use_producer(local.get_or_init(|| hub.producer())));
    if reached.is_err() {
        hub.rings.late.fetch_add(1, Ordering::Relaxed);
    }
}

/// This thread's producer if it has one.
pub(super) fn with_existing_local(use_producer: impl FnOnce(Option<&Producer>)) {
    // A thread that forks from its destructors has no producer any more, and nothing to keep.
    let _ = LOCAL.try_with(|local| use_producer(local.get()));
}
