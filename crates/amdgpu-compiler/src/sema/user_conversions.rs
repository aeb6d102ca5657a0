//! Conversions that structs define: by constructors of one argument and by `operator type()`; and `->` of structs.

use super::Sema;
use super::conversions::Fit;
use super::expressions::Checked;
use crate::hir::{Expr, ExprKind, FunctionId, Place, PlaceKind};
use crate::interner::words;
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

/// Objects whose `->` gives another object.
const MAX_ARROWS: usize = 16;

impl Sema<'_> {
    /// The function that makes one type of another; `explicit` ones only where a cast asks for them.
    pub(super) fn user_conversion(
        &self,
        from: TypeId,
        to: TypeId,
        value: Option<&Expr>,
        allows_explicit: bool,
    ) -> Option<FunctionId> {
        let is_allowed = |function: FunctionId| {
            let definition = self.signatures[function.0 as usize].declaration;
            allows_explicit || definition.is_some_and(|function| !function.is_explicit)
        };
        let mut best: Option<(Fit, FunctionId)> = None;
        let mut offer = |fit: Option<Fit>, function: FunctionId| {
            if let Some(fit) = fit
                && best.is_none_or(|(known, _)| fit < known)
            {
                best = Some((fit, function));
            }
        };
        if let Type::Struct(_) = self.types.get(from) {
            for &function in self.conversions_of(from) {
                if is_allowed(function) {
                    let result = self.signatures[function.0 as usize].return_type;
                    offer(self.fit_built_in(result, to, None), function);
                }
            }
            for (base, _) in self.bases_of(from) {
                if let Some(function) = self.user_conversion(base, to, value, allows_explicit) {
                    offer(Some(Fit::Conversion), function);
                }
            }
        }
        if let Type::Struct(_) = self.types.get(to) {
            for &function in self.constructors_of(to) {
                if is_allowed(function) && self.takes_one(function) {
                    let parameter = self.signatures[function.0 as usize].parameters[0];
                    if !parameter.is_reference || parameter.is_const {
                        offer(self.fit_built_in(from, parameter.ty, value), function);
                    }
                }
            }
        }
        best.map(|(_, function)| function)
    }

    /// Converts by the function that `user_conversion` finds.
    pub(super) fn converted_by_user(
        &mut self,
        value: Expr,
        to: TypeId,
        allows_explicit: bool,
    ) -> Expr {
        let span = value.span;
        let found = self.user_conversion(value.ty, to, Some(&value), allows_explicit);
        let Some(function) = found else {
            return Self::bad(span);
        };
        if self.signatures[function.0 as usize].role == crate::ast::Role::Constructor {
            let made = self.call_of(function, vec![Checked::Value(value)], span);
            return self.loaded(made);
        }
        let ty = value.ty;
        let object = match value.kind {
            ExprKind::Load(place) => *place,
            kind => Place {
                kind: PlaceKind::Temporary(Expr { kind, ty, span }),
                ty,
                is_const: false,
                span,
            },
        };
        let owner = self.signatures[function.0 as usize].owner.unwrap_or(ty);
        let object = self.as_base(object, owner);
        let result = self.call_of(function, vec![Checked::Place(object)], span);
        let result = self.loaded(result);
        self.cast_to(result, to)
    }

    /// An operand of an operator that its struct does not define: the number it converts to, if there is one alone.
    pub(super) fn as_number(&mut self, value: Expr) -> Expr {
        if !matches!(self.types.get(value.ty), Type::Struct(_)) {
            return value;
        }
        let conversions = self.conversions_of(value.ty);
        let [only] = conversions else {
            return value;
        };
        let result = self.signatures[only.0 as usize].return_type;
        let is_number = self.types.as_scalar(result).is_some()
            || matches!(self.types.get(result), Type::Pointer { .. });
        if is_number
            && self
                .user_conversion(value.ty, result, None, false)
                .is_some()
        {
            return self.converted_by_user(value, result, false);
        }
        value
    }

    /// The pointer before `->`; objects give theirs by `operator->`.
    pub(super) fn arrow(&mut self, object: Checked, span: Span) -> Expr {
        let mut object = object;
        for _ in 0..MAX_ARROWS {
            let ty = super::calls::type_of(&object);
            if !matches!(self.types.get(ty), Type::Struct(_))
                || !self.has_method(ty, words::OPERATOR_ARROW)
            {
                break;
            }
            object = match self.operator_call(words::OPERATOR_ARROW, vec![object], span) {
                Ok(result) => result,
                Err(_) => return Self::bad(span),
            };
        }
        let pointer = self.loaded(object);
        if pointer.ty == TypeTable::ERROR {
            return Self::bad(span);
        }
        pointer
    }
}
