//! What launches use, held until the stream that they were given to has passed them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_hal as hal;

/// Launches that share the event behind which their owners are let go: an event costs as much as a launch.
const MAX_BATCH_LAUNCHES: usize = 64;
/// Memory from which an event follows at once, so that loops over large temporary arrays do not fill the device.
const MAX_BATCH_BYTES: u64 = 64 << 20;
/// Events kept for the next batch.
const MAX_SPARE_EVENTS: usize = 8;

/// Owners, and the event behind the launches that use them.
type Batch<T> = (Arc<dyn hal::Event>, Vec<T>);

/// Owners of memory, or whatever else launches of a stream need.
pub struct KeptOwners<T> {
    /// In the order of the stream.
    closed: VecDeque<Batch<T>>,
    /// Those without an event yet.
    open: Vec<T>,
    open_launches: usize,
    open_bytes: u64,
    spare_events: Vec<Arc<dyn hal::Event>>,
}

impl<T> Default for KeptOwners<T> {
    fn default() -> Self {
        Self {
            closed: VecDeque::new(),
            open: Vec::new(),
            open_launches: 0,
            open_bytes: 0,
            spare_events: Vec::new(),
        }
    }
}

/// What a stream keeps. Owners are dropped outside of its lock: dropping one may run code of somebody else, which may come back here.
pub struct Kept<T>(Mutex<KeptOwners<T>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    /// Hold what a launch uses that `stream` was given just now until the stream has passed it. `add` puts the owners that are not held yet
    /// behind the others, and says how much memory is behind them.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn keep(
        &self,
        stream: &dyn hal::Stream,
        device: &dyn hal::Device,
        add: impl FnOnce(&mut Vec<T>) -> u64,
    ) -> hal::Result<()> {
        let mut kept = self.lock();
        let bytes = add(&mut kept.open);
        kept.open_launches += 1;
        kept.open_bytes = kept.open_bytes.saturating_add(bytes);
        if kept.open_launches < MAX_BATCH_LAUNCHES && kept.open_bytes < MAX_BATCH_BYTES {
            return Ok(());
        }
        let event = match kept.spare_events.pop() {
            Some(event) => event,
            None => device.create_event()?,
        };
        stream.record(&event)?;
        let owners = std::mem::take(&mut kept.open);
        kept.closed.push_back((event, owners));
        (kept.open_launches, kept.open_bytes) = (0, 0);
        let passed = kept.take_passed();
        drop(kept);
        drop(passed);
        Ok(())
    }

    /// Everything that is held for launches up to now: it may go when the stream has passed them. What follows is held apart.
    pub fn take(&self) -> KeptOwners<T> {
        std::mem::take(&mut *self.lock())
    }

    /// Hold on to what [`Kept::take`] gave.
    pub fn put_back(&self, mut earlier: KeptOwners<T>) {
        let mut kept = self.lock();
        earlier.closed.append(&mut kept.closed);
        earlier.open.append(&mut kept.open);
        earlier.open_launches += kept.open_launches;
        earlier.open_bytes = earlier.open_bytes.saturating_add(kept.open_bytes);
        std::mem::swap(&mut *kept, &mut earlier);
    }

    /// Whether the stream is idle; if so, everything is let go.
    ///
    /// # Errors
    ///
    /// What a command of the stream left.
    pub fn is_idle(&self, stream: &dyn hal::Stream) -> hal::Result<bool> {
        let earlier = self.take();
        let is_idle = stream.is_idle();
        if !matches!(is_idle, Ok(true)) {
            self.put_back(earlier);
        }
        is_idle
    }

    /// The lists hold whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, KeptOwners<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> KeptOwners<T> {
    fn take_passed(&mut self) -> Vec<Vec<T>> {
        let is_passed = |batch: &&Batch<T>| batch.0.is_complete();
        // An event is reached only after those before it, so one question too many is asked, not one for each that waits.
        let count = self.closed.iter().take_while(is_passed).count();
        let mut passed = Vec::with_capacity(count);
        for (event, owners) in self.closed.drain(..count) {
            passed.push(owners);
            if self.spare_events.len() < MAX_SPARE_EVENTS {
                self.spare_events.push(event);
            }
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OpenDevice;

    #[test]
    fn owners_are_let_go_behind_their_launches_and_not_before() {
        let device = OpenDevice::open("cpu:0").unwrap();
        let device = device.device();
        let stream = device.create_stream().unwrap();
        let kept = Kept::default();
        let owner = Arc::new(());
        let keep = |bytes: u64| {
            let add = |open: &mut Vec<Arc<()>>| {
                open.push(Arc::clone(&owner));
                bytes
            };
            kept.keep(stream.as_ref(), device.as_ref(), add).unwrap();
        };
        keep(1);
        keep(1);
        assert_eq!(Arc::strong_count(&owner), 3, "no event is due yet");
        let earlier = kept.take();
        keep(1);
        kept.put_back(earlier);
        assert_eq!(Arc::strong_count(&owner), 4);
        keep(MAX_BATCH_BYTES);
        stream.synchronize().unwrap();
        // The batch goes with the next one that is closed.
        keep(MAX_BATCH_BYTES);
        assert!(Arc::strong_count(&owner) <= 2);
        stream.synchronize().unwrap();
        assert!(kept.is_idle(stream.as_ref()).unwrap());
        assert_eq!(Arc::strong_count(&owner), 1);
    }
}
