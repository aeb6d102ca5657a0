//! `volatile`: pointers carry it in their type, variables and fields have it as a mark.

use super::Sema;
use super::expressions::Checked;
use crate::hir::{Expr, ExprKind, LocalId, Place};
use crate::types::{Type, TypeId};

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

    /// Arguments of the library's atomic functions: every access of theirs is as the source says anyway, so pointers to volatile memory fit.
    pub(super) fn atomic_arguments(
        &mut self,
        sets: &[usize],
        name: &str,
        checked: Vec<Checked>,
    ) -> Vec<Checked> {
        let is_atomic = [
            "atomic",
            "__atomic_",
            "__hip_atomic_",
            "unsafeAtomic",
            "safeAtomic",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix));
        let is_of_library = sets.iter().any(|&set| {
            let mut functions = self.overloads[set].iter();
            self.templates_of.contains_key(&set)
                || functions.any(|one| self.signatures[one.0 as usize].is_library)
        });
        if !is_atomic || !is_of_library {
            return checked;
        }
        checked
            .into_iter()
            .map(
                |argument| match self.types.get(super::calls::type_of(&argument)) {
                    Type::Pointer {
                        pointee,
                        is_const,
                        is_volatile: true,
                    } => {
                        let value = self.loaded(argument);
                        let (ty, span) = (self.types.pointer(pointee, is_const), value.span);
                        Checked::Value(Expr {
                            kind: ExprKind::Cast(Box::new(value)),
                            ty,
                            span,
                        })
                    }
                    _ => argument,
                },
            )
            .collect()
    }
}
