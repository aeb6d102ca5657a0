//! Moving records from the rings to the history and to subscribers. One thread at a time, whoever holds the lock: the collector, or
//! a thread that takes a snapshot.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Hub, lock};
use crate::record::Record;
use crate::recorder::FlightRing;
use crate::subscriber::Queue;

/// Records a snapshot shows: the last few milliseconds of a busy program, minutes of a quiet one. 256 KiB.
pub const RECENT_RECORDS: usize = 4096;

#[derive(Default)]
pub(crate) struct Delivery {
    pub(crate) recent: VecDeque<Record>,
    batch: Vec<Record>,
    pub(super) subscribers: Vec<Arc<Queue>>,
    pub(super) collector_running: bool,
    pub(crate) flight: Option<FlightRing>,
    pub(crate) delivered: u64,
    /// Overwritten in a ring before they could be read.
    pub(crate) lost: u64,
}

impl Hub {
    /// Deliver everything emitted before this call. Returns the number of records.
    pub fn flush(&self) -> usize {
        self.drain(&mut lock(&self.delivery))
    }

    pub(crate) fn drain(&self, delivery: &mut Delivery) -> usize {
        let mut lost = self.rings.take_late();
        delivery.batch.clear();
        for ring in self.rings.all() {
            lost += ring.drain(&mut delivery.batch);
        }
        let count = delivery.batch.len();
        if count == 0 && lost == 0 {
            return 0;
        }
        // Stable, so that records of one thread and instant keep their order.
        delivery.batch.sort_by_key(Record::end_ns);
        for queue in &delivery.subscribers {
            queue.push(&delivery.batch, lost);
        }
        if let Some(flight) = &mut delivery.flight {
            flight.push(&delivery.batch, lost);
        }
        let newest = &delivery.batch[count.saturating_sub(RECENT_RECORDS)..];
        let excess = (delivery.recent.len() + newest.len()).saturating_sub(RECENT_RECORDS);
        delivery.recent.drain(..excess);
        delivery.recent.extend(newest);
        delivery.delivered += count as u64;
        delivery.lost += lost;
        count
    }

    pub(super) fn add_subscriber(self: &Arc<Self>, queue: &Arc<Queue>) {
        let mut delivery = lock(&self.delivery);
        // What came before belongs to the history, not to the new subscriber.
        self.drain(&mut delivery);
        delivery.subscribers.push(Arc::clone(queue));
        self.ensure_collector(&mut delivery);
        self.note_demand(&delivery);
        // It may be waiting as long as those before had patience.
        self.doorbell.ring();
    }

    fn note_demand(&self, delivery: &Delivery) {
        let is_patient = delivery.is_unwatched() || !delivery.patience().is_zero();
        self.wants_every_record
            .store(!is_patient, Ordering::Relaxed);
    }

    fn ensure_collector(self: &Arc<Self>, delivery: &mut Delivery) {
        if !delivery.collector_running {
            delivery.collector_running = self.start_collector();
        }
    }

    pub(crate) fn set_flight(self: &Arc<Self>, ring: FlightRing) {
        let mut delivery = lock(&self.delivery);
        self.drain(&mut delivery);
        delivery.flight = Some(ring);
        self.ensure_collector(&mut delivery);
        self.note_demand(&delivery);
        self.doorbell.ring();
    }

    pub(crate) fn stop_flight(&self) {
        let mut delivery = lock(&self.delivery);
        let forgotten = delivery.flight.take();
        self.note_demand(&delivery);
        drop(delivery);
        drop(forgotten);
        self.doorbell.ring();
    }

    pub(crate) fn remove_subscriber(&self, queue: &Arc<Queue>) {
        let mut delivery = lock(&self.delivery);
        delivery
            .subscribers
            .retain(|known| !Arc::ptr_eq(known, queue));
        self.note_demand(&delivery);
        drop(delivery);
        self.doorbell.ring();
    }
}

impl Delivery {
    /// Whether nobody wants records as they come.
    pub(super) fn is_unwatched(&self) -> bool {
        self.subscribers.is_empty() && self.flight.is_none()
    }

    /// How long records may stay in the rings; zero where somebody wants them at once, and all of them.
    pub(super) fn patience(&self) -> Duration {
        if self.flight.is_some() {
            return Duration::ZERO;
        }
        let patience = self.subscribers.iter().map(|queue| queue.patience());
        patience.min().unwrap_or_default()
    }

    /// In the child of a fork: no history, no subscriber, no collector.
    pub(super) fn reset(&mut self) {
        self.subscribers.iter().for_each(|queue| queue.close());
        *self = Self::default();
    }
}
