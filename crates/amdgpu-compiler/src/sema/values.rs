//! Values of structs made from their parts: `P(a, b)`, `P{a, b}`, zero.

use super::Sema;
use super::conversions::Context;
use super::expressions::Checked;
use crate::ast::{self, ExprKind as A};
use crate::effort;
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Type, TypeId};

/// Elements of an array whose constructors are called one by one.
const MAX_MADE_ELEMENTS: u64 = 4096;
/// Largest struct whose fields get a zero each, which the passes see through best.
const MAX_ZEROED_BY_FIELD_BYTES: u64 = 256;
/// Work that one field of a new object makes: its value, the store, and the passes over it.
const FIELD_UNITS: usize = 10;

impl<'a> Sema<'a> {
    pub(super) fn construct(
        &mut self,
        ty: &'a ast::TypeExpr,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Checked {
        let target = self.resolve(ty);
        Checked::Value(self.construct_value(target, arguments, span))
    }

    /// A value of a type from arguments in parentheses or braces after it.
    pub(super) fn construct_value(
        &mut self,
        target: TypeId,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Expr {
        if let Type::Struct(_) = self.types.get(target) {
            if self.has_constructor(target) {
                let mut checked = self.check_arguments(arguments);
                if let ([only], true) = (checked.as_slice(), checked.len() == 1)
                    && super::calls::type_of(only) == target
                    && let Some(only) = checked.pop()
                {
                    return self.loaded(only);
                }
                if !checked.is_empty() || self.has_default_constructor(target) {
                    return self
                        .constructed(target, checked, span)
                        .unwrap_or_else(|| Self::bad(span));
                }
                return self.zero(target, span);
            }
            let is_expansion = |one: &ast::Expr| matches!(one.kind, A::Expansion { .. });
            if arguments.iter().any(is_expansion) {
                let checked = self.check_arguments(arguments).into_iter();
                let mut values: Vec<Expr> = checked.map(|one| self.loaded(one)).collect();
                return match values.as_slice() {
                    [only] if only.ty == target => values.swap_remove(0),
                    _ => self.struct_from(target, values, span),
                };
            }
            if let [only] = arguments
                && !matches!(only.kind, A::List(_) | A::Designated(..))
            {
                let value = self.value(only);
                if value.ty == target {
                    return value;
                }
                return self.struct_from(target, vec![value], span);
            }
            return self.list_value(arguments, target, span);
        }
        match arguments {
            [] => self.zero(target, span),
            [only] => {
                let value = self.value(only);
                self.explicit_cast(value, target, span)
            }
            _ => {
                let message = format!(
                    "'{}' is made from one value, not from {}",
                    self.types.text(target),
                    arguments.len()
                );
                self.error(span, message);
                Self::bad(span)
            }
        }
    }

    /// A struct value from values of its first fields; the rest is zero.
    pub(super) fn struct_from(&mut self, target: TypeId, values: Vec<Expr>, span: Span) -> Expr {
        let Type::Struct(index) = self.types.get(target) else {
            return Self::bad(span);
        };
        let types: Vec<(u64, TypeId)> = self.types.structs[index.0 as usize]
            .fields
            .iter()
            .map(|field| (field.offset, field.ty))
            .collect();
        if values.len() > types.len() {
            let message = format!(
                "'{}' has {} field(s), and {} values are given",
                self.types.text(target),
                types.len(),
                values.len()
            );
            self.error(span, message);
            return Self::bad(span);
        }
        let mut values = values.into_iter();
        let fields = types
            .into_iter()
            .map(|(offset, ty)| match values.next() {
                Some(value) => self.convert(value, ty, Context::Initialisation),
                None => self
                    .field_start(target, offset, ty)
                    .unwrap_or_else(|| self.fresh(ty, span)),
            })
            .collect();
        Expr {
            kind: ExprKind::Struct(fields),
            ty: target,
            span,
        }
    }

    /// Whether an object of this type starts as something else than zeros: by a constructor, or by values in the struct.
    pub(super) fn needs_making(&self, ty: TypeId) -> bool {
        self.types.any_part(ty, |part| {
            matches!(self.types.get(part), Type::Struct(_))
                && (self.has_default_constructor(part) || self.has_starts(part))
        })
    }

    /// A new object of a type: made by its default constructor where there is one, else zero.
    pub(super) fn fresh(&mut self, ty: TypeId, span: Span) -> Expr {
        effort::spend(FIELD_UNITS);
        match self.types.get(ty) {
            Type::Struct(_) if self.has_default_constructor(ty) => self
                .constructed(ty, Vec::new(), span)
                .unwrap_or_else(|| Self::bad(span)),
            Type::Array { element, length } if self.needs_making(element) => {
                if length > MAX_MADE_ELEMENTS {
                    self.refuse(span, "an array of so many objects with constructors");
                    return Self::bad(span);
                }
                let bytes = self.types.bytes(element);
                let parts = (0..length)
                    .map(|index| (index * bytes, self.fresh(element, span)))
                    .collect();
                let kind = ExprKind::Aggregate(parts);
                Expr { kind, ty, span }
            }
            _ => self.zero(ty, span),
        }
    }

    /// Zero of a type.
    pub(super) fn zero(&mut self, ty: TypeId, span: Span) -> Expr {
        let kind = match self.types.get(ty) {
            Type::Pointer { .. } | Type::Null => ExprKind::Null,
            Type::Struct(index) if self.types.structs[index.0 as usize].is_union => {
                ExprKind::Aggregate(Vec::new())
            }
            // One value for the whole, where one for each field would be many.
            Type::Struct(_)
                if self.types.bytes(ty) > MAX_ZEROED_BY_FIELD_BYTES && !self.needs_making(ty) =>
            {
                ExprKind::Aggregate(Vec::new())
            }
            Type::Struct(_) => return self.struct_from(ty, Vec::new(), span),
            Type::Scalar(scalar) if scalar.is_float() => ExprKind::Float(0.0),
            Type::Array { .. } => ExprKind::Aggregate(Vec::new()),
            _ => ExprKind::Integer(0),
        };
        Expr { kind, ty, span }
    }
}
