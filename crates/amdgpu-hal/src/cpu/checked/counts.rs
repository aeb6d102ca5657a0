//! What checked launches of a kernel computed and moved, for what cannot be counted without running it.

use std::sync::{Mutex, PoisonError};

/// Of one launch, as the source says it: no pass has merged or removed anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedWork {
    /// Floating-point operations.
    pub operations: u64,
    /// Bytes of global memory, both ways.
    pub bytes: u64,
    pub work_items: u64,
}

/// The newest whole launch of one kernel.
#[derive(Debug, Default)]
pub struct Counts(Mutex<Option<CountedWork>>);

impl Counts {
    /// `None` until a checked launch has ended without a fault.
    #[must_use]
    pub fn newest(&self) -> Option<CountedWork> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, work: CountedWork) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
    }
}
