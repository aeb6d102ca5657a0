//! `volatile`: pointers carry it in their type, variables and fields have it as a mark.

use super::Sema;
use crate::hir::{LocalId, Place};
use crate::types::TypeId;

impl Sema<'_> {
    pub(super) fn is_volatile_place(&self, place: &Place) -> bool {
        place.is_volatile(
            &self.types,
            &self.current.locals,
            &self.program.globals,
            &self.program.shared,
        )
    }

    /// The type of a pointer to a place.
    pub(super) fn pointer_to(&mut self, place: &Place) -> TypeId {
        let is_volatile = self.is_volatile_place(place);
        self.types
            .qualified_pointer(place.ty, place.is_const, is_volatile)
    }

    /// A variable that is read and written as the source says, and so lives in memory.
    pub(super) fn make_volatile(&mut self, local: LocalId) {
        let entry = &mut self.current.locals[local.0 as usize];
        entry.is_volatile = true;
        entry.is_in_memory = true;
    }
}
