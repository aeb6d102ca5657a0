//! Who else knows the memory of an array: what decides whether an operation may still be under way when its call returns.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use amdgpu_aura::Context;

use super::{Array, Storage};

impl Array {
    /// Whether nobody but kernels and copies of this context knows the memory, so that the order of its default stream is all that matters.
    pub fn is_private_to(&self, context: &Arc<Context>) -> bool {
        match &*self.storage {
            Storage::Block {
                context: own,
                is_lent,
                ..
            } => Arc::ptr_eq(own, context) && !is_lent.load(Ordering::Acquire),
            Storage::Module { .. } | Storage::Foreign { .. } => false,
        }
    }

    /// Notes that somebody else gets to know the address; true the first time.
    pub(super) fn lend(&self) -> bool {
        match &*self.storage {
            Storage::Block { is_lent, .. } => !is_lent.swap(true, Ordering::AcqRel),
            Storage::Module { .. } | Storage::Foreign { .. } => false,
        }
    }
}
