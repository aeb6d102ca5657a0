//! Memory for notes of kernels that is between two calls, with nothing in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_array::Array;
use amdgpu_hal::Event;

/// As many as threads call at a time.
const MAX_SPARE: usize = 16;

/// Memory for a note, whose words are zero.
pub struct BlankNote {
    /// On the device: the complement of the first place with an index that is none.
    pub first_bad: Array,
    /// In memory of the host, where the device writes to: whether there is one. Reading it costs the device nothing.
    pub is_bad: Array,
    pub event: Arc<dyn Event>,
}

/// Blank notes of a device.
#[derive(Default)]
pub struct BlankNotes(Mutex<Vec<BlankNote>>);

impl BlankNotes {
    pub fn take(&self) -> Option<BlankNote> {
        self.lock().pop()
    }

    /// Keeps a note in which nothing was written, unless there are many.
    pub fn give_back(&self, note: BlankNote) {
        let mut spare = self.lock();
        if spare.len() < MAX_SPARE {
            spare.push(note);
        }
    }

    /// The list holds whole entries whatever panicked.
    fn lock(&self) -> MutexGuard<'_, Vec<BlankNote>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
