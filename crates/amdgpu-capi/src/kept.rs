//! Arrays of launches that a stream was given, held until it has passed them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_array::Array;
use amdgpu_hal as hal;

/// Launches that share the event behind which their arrays are let go: an event costs as much as a launch.
const MAX_BATCH_LAUNCHES: usize = 64;
/// Memory from which an event follows at once, so that loops over large temporary arrays do not fill the device.
const MAX_BATCH_BYTES: u64 = 64 << 20;

/// Arrays, and the event behind the launches that use them.
type Batch = (Arc<dyn hal::Event>, Vec<Array>);

#[derive(Default)]
struct Batches {
    /// In the order of the stream.
    closed: VecDeque<Batch>,
    /// Those without an event yet.
    open: Vec<Array>,
    open_launches: usize,
    open_bytes: u64,
}

/// What a stream keeps.
#[derive(Default)]
pub struct Kept(Mutex<Batches>);

impl Kept {
    /// Hold the arrays of a launch that `queue` was given just now until it has passed the launch.
    pub fn keep(
        &self,
        arrays: &[Array],
        queue: &dyn hal::Stream,
        device: &dyn hal::Device,
    ) -> hal::Result<()> {
        if arrays.is_empty() {
            return Ok(());
        }
        let mut kept = self.lock();
        for array in arrays {
            let is_known = kept
                .open
                .iter()
                .rev()
                .take(arrays.len())
                .any(|known| Arc::ptr_eq(known.storage(), array.storage()));
            if !is_known {
                kept.open.push(array.clone());
                kept.open_bytes = kept.open_bytes.saturating_add(array.bytes() as u64);
            }
        }
        kept.open_launches += 1;
        if kept.open_launches < MAX_BATCH_LAUNCHES && kept.open_bytes < MAX_BATCH_BYTES {
            return Ok(());
        }
        let event = device.create_event()?;
        queue.record(&event)?;
        let arrays = std::mem::take(&mut kept.open);
        kept.closed.push_back((event, arrays));
        (kept.open_launches, kept.open_bytes) = (0, 0);
        let passed = kept.take_passed();
        drop(kept);
        // Outside of the lock: deleters of other libraries may call us.
        drop(passed);
        Ok(())
    }

    /// Everything that was submitted before this call was made, which waits: it may go when the wait is over.
    pub fn take(&self) -> impl Sized + use<> {
        std::mem::take(&mut *self.lock())
    }

    /// Whether the stream is idle; if so, everything is let go.
    pub fn is_idle(&self, queue: &dyn hal::Stream) -> hal::Result<bool> {
        let mut earlier = std::mem::take(&mut *self.lock());
        let is_idle = queue.is_idle();
        if !matches!(is_idle, Ok(true)) {
            let mut kept = self.lock();
            earlier.closed.append(&mut kept.closed);
            earlier.open.append(&mut kept.open);
            earlier.open_launches += kept.open_launches;
            earlier.open_bytes = earlier.open_bytes.saturating_add(kept.open_bytes);
            std::mem::swap(&mut *kept, &mut earlier);
        }
        is_idle
    }

    /// The lists hold whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Batches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batches {
    fn take_passed(&mut self) -> Vec<Batch> {
        let is_passed = |batch: &&Batch| batch.0.is_complete();
        // An event is reached only after those before it.
        let count = self.closed.iter().take_while(is_passed).count();
        self.closed.drain(..count).collect()
    }
}
