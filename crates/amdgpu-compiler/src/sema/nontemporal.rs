//! `__builtin_nontemporal_load` and `__builtin_nontemporal_store`, as clang has them
//! (<https://clang.llvm.org/docs/LanguageExtensions.html#non-temporal-load-store-builtins>).

use super::Sema;
use super::conversions::Context;
use super::expressions::Checked;
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Load,
    Store,
}

pub(super) fn find(name: &str) -> Option<Access> {
    match name {
        "__builtin_nontemporal_load" => Some(Access::Load),
        "__builtin_nontemporal_store" => Some(Access::Store),
        _ => None,
    }
}

impl Sema<'_> {
    pub(super) fn nontemporal(
        &mut self,
        name: &str,
        access: Access,
        checked: Vec<Checked>,
        span: Span,
    ) -> Expr {
        let mut values: Vec<Expr> = checked
            .into_iter()
            .map(|argument| self.loaded(argument))
            .collect();
        let wanted = match access {
            Access::Load => 1,
            Access::Store => 2,
        };
        if values.len() != wanted {
            self.error(
                span,
                format!(
                    "'{name}' takes {wanted} argument(s), and is given {}",
                    values.len()
                ),
            );
            return Self::bad(span);
        }
        if values.iter().any(|value| value.ty == TypeTable::ERROR) {
            return Self::bad(span);
        }
        // The address is the last argument of both.
        let Some(pointer) = values.pop() else {
            return Self::bad(span);
        };
        let Some(target) = self.nontemporal_target(pointer.ty, access) else {
            let message = format!(
                "'{name}' does not work on '{}'",
                self.types.text(pointer.ty)
            );
            self.error_hint(
                span,
                message,
                "its last argument is the address of a number or pointer that is not volatile, nor const where it is written; access the fields of a struct one by one",
            );
            return Self::bad(span);
        };
        let pointer = Box::new(pointer);
        let (kind, ty) = match values.pop() {
            None => (ExprKind::NontemporalLoad(pointer), target),
            Some(value) => {
                let value = Box::new(self.convert(value, target, Context::Argument));
                let kind = ExprKind::NontemporalStore { pointer, value };
                (kind, TypeTable::VOID)
            }
        };
        Expr { kind, ty, span }
    }

    /// What a pointer leads to, where it may be accessed so.
    fn nontemporal_target(&self, pointer: TypeId, access: Access) -> Option<TypeId> {
        let Type::Pointer {
            pointee,
            is_const,
            is_volatile,
        } = self.types.get(pointer)
        else {
            return None;
        };
        let is_value = self.types.representation(pointee).is_some()
            || matches!(self.types.get(pointee), Type::Pointer { .. });
        let may = is_value && !is_volatile && !(is_const && access == Access::Store);
        may.then_some(pointee)
    }
}
