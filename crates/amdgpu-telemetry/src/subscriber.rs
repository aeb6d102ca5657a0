//! Subscribers: bounded queues between the bus and whoever watches it.
//!
//! A full queue loses its oldest record to the newest one and counts it, so a slow reader costs the program nothing but the queue.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::hub::{Hub, lock};
use crate::metrics::Counter;
use crate::record::Record;
use crate::ring::RING_CAPACITY;

/// Largest queue a subscriber may ask for: 64 MiB of records.
pub const MAX_SUBSCRIPTION_CAPACITY: usize = 1 << 20;

/// One wait of a reader that set no bound it will ever reach.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

pub(crate) struct Queue {
    capacity: usize,
    /// How long records may lie in the rings before they come here.
    patience: Duration,
    records: Mutex<VecDeque<Record>>,
    arrived: Condvar,
    received: AtomicU64,
    dropped: AtomicU64,
    /// `amdgpu_telemetry_dropped_total` of this subscriber.
    dropped_metric: Counter,
    /// In the child of a fork: the lock may be held for ever by a thread that is not there.
    closed: AtomicBool,
}

impl Queue {
    /// `interval`: the reader looks this often. It is waited for with the rings only where these hold all that fits into the queue, so that
    /// nothing is lost which would not have been lost here.
    pub(crate) fn new(capacity: usize, interval: Duration, dropped_metric: Counter) -> Self {
        let capacity = capacity.clamp(1, MAX_SUBSCRIPTION_CAPACITY);
        let is_small = capacity <= RING_CAPACITY;
        Self {
            capacity,
            patience: if is_small { interval } else { Duration::ZERO },
            records: Mutex::default(),
            arrived: Condvar::new(),
            received: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            dropped_metric,
            closed: AtomicBool::new(false),
        }
    }

    /// Deliver `records`; `lost` more were overwritten before they could be read.
    pub(crate) fn push(&self, records: &[Record], lost: u64) {
        let newest = &records[records.len().saturating_sub(self.capacity)..];
        let mut waiting = lock(&self.records);
        let excess = (waiting.len() + newest.len()).saturating_sub(self.capacity);
        waiting.drain(..excess);
        waiting.extend(newest);
        let dropped = lost + (records.len() - newest.len() + excess) as u64;
        if dropped > 0 {
            self.dropped.fetch_add(dropped, Ordering::Relaxed);
            self.dropped_metric.add(dropped);
        }
        drop(waiting);
        self.arrived.notify_all();
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// Takes no lock, see `closed`.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }
}

/// The reading end of a queue. Dropping it unsubscribes.
///
/// `dropped` plus what was received plus what still waits is the number of records emitted since the subscription began.
pub struct Subscription {
    pub(crate) queue: Arc<Queue>,
    pub(crate) hub: Weak<Hub>,
}

impl Subscription {
    /// The oldest waiting record; waits up to `timeout` for one. `None` after the time-out and in the child of a fork.
    #[must_use]
    pub fn recv_timeout(&self, timeout: Duration) -> Option<Record> {
        let record = self.wait(timeout)?.pop_front();
        self.queue
            .received
            .fetch_add(u64::from(record.is_some()), Ordering::Relaxed);
        record
    }

    /// Append up to `max` waiting records to `out`; waits up to `timeout` for the first. Returns how many came.
    pub fn recv_batch(&self, out: &mut Vec<Record>, max: usize, timeout: Duration) -> usize {
        let Some(mut waiting) = self.wait(timeout) else {
            return 0;
        };
        let count = waiting.len().min(max);
        out.extend(waiting.drain(..count));
        self.queue
            .received
            .fetch_add(count as u64, Ordering::Relaxed);
        count
    }

    /// Append up to `max` waiting records to `out` without waiting. Returns how many came.
    pub fn try_recv_batch(&self, out: &mut Vec<Record>, max: usize) -> usize {
        self.recv_batch(out, max, Duration::ZERO)
    }

    /// Records this subscriber lost because it, or the collector, was slower than the program.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.queue.dropped.load(Ordering::Relaxed)
    }

    /// Records received so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.queue.received.load(Ordering::Relaxed)
    }

    /// Whether nothing will ever come any more: the process is the child of the one that subscribed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.queue.closed.load(Ordering::Acquire)
    }

    /// `None` if the queue is closed.
    fn wait(&self, timeout: Duration) -> Option<MutexGuard<'_, VecDeque<Record>>> {
        if self.is_closed() {
            return None;
        }
        let mut waiting = lock(&self.queue.records);
        if timeout.is_zero() {
            return Some(waiting);
        }
        // `None`: so far away that it never comes.
        let deadline = Instant::now().checked_add(timeout);
        while waiting.is_empty() {
            let left = deadline.map_or(LONGEST_WAIT, |deadline| {
                deadline.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                break;
            }
            waiting = self
                .queue
                .arrived
                .wait_timeout(waiting, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Some(waiting)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(hub) = self.hub.upgrade() {
            hub.remove_subscriber(&self.queue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::NameId;
    use crate::record::Kind;

    fn records(range: std::ops::Range<u64>) -> Vec<Record> {
        range
            .map(|number| Record::new(Kind::Marker, NameId::UNNAMED).value(number))
            .collect()
    }

    fn subscription(capacity: usize) -> Subscription {
        Subscription {
            queue: Arc::new(Queue::new(capacity, Duration::ZERO, Counter::detached())),
            hub: Weak::new(),
        }
    }

    fn received(subscription: &Subscription) -> Vec<u64> {
        let mut out = Vec::new();
        subscription.try_recv_batch(&mut out, usize::MAX);
        out.iter().map(|record| record.value).collect()
    }

    #[test]
    fn the_newest_records_win() {
        let subscription = subscription(4);
        subscription.queue.push(&records(0..3), 0);
        subscription.queue.push(&records(3..6), 0);
        assert_eq!(subscription.dropped(), 2);
        assert_eq!(received(&subscription), [2, 3, 4, 5]);
        subscription.queue.push(&records(6..16), 5);
        assert_eq!(received(&subscription), [12, 13, 14, 15]);
        assert_eq!(
            (subscription.dropped(), subscription.received()),
            (2 + 6 + 5, 8)
        );
    }

    #[test]
    fn a_batch_leaves_the_rest_waiting() {
        let subscription = subscription(8);
        subscription.queue.push(&records(0..5), 0);
        let mut out = Vec::new();
        assert_eq!(subscription.try_recv_batch(&mut out, 2), 2);
        assert_eq!(
            subscription
                .recv_timeout(Duration::ZERO)
                .map(|record| record.value),
            Some(2)
        );
        assert_eq!(received(&subscription), [3, 4]);
        assert_eq!(subscription.recv_timeout(Duration::ZERO), None);
    }

    #[test]
    fn a_waiting_reader_is_woken_by_a_record() {
        let subscription = subscription(8);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| subscription.recv_timeout(Duration::MAX));
            subscription.queue.push(&records(7..8), 0);
            assert_eq!(reader.join().unwrap().map(|record| record.value), Some(7));
        });
    }

    #[test]
    fn a_closed_subscription_answers_although_its_lock_is_held() {
        let subscription = subscription(8);
        subscription.queue.push(&records(0..3), 0);
        let _held_by_a_lost_thread = lock(&subscription.queue.records);
        subscription.queue.close();
        assert!(subscription.is_closed());
        assert_eq!(subscription.recv_timeout(Duration::MAX), None);
        assert_eq!(subscription.try_recv_batch(&mut Vec::new(), 1), 0);
        assert_eq!((subscription.dropped(), subscription.received()), (0, 0));
    }
}
