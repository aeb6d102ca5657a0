//! `{…}`: values for the fields of a struct or the elements of an array.

use super::Sema;
use super::conversions::Context;
use super::expressions::Checked;
use crate::ast::{self, ExprKind as A};
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Type, TypeId};

/// Values an initialiser list may have: each becomes a store.
const MAX_INITIALISERS: usize = 65_536;

/// A value of a list: as written, or an element of a pack.
enum Given<'a> {
    Source(&'a ast::Expr),
    Ready(Checked),
}

impl<'a> Sema<'a> {
    /// `{…}` where one value of a type is wanted.
    pub(super) fn list_value(&mut self, values: &'a [ast::Expr], ty: TypeId, span: Span) -> Expr {
        match self.types.get(ty) {
            Type::Struct(_) if self.has_constructor(ty) => self.construct_value(ty, values, span),
            Type::Struct(index) if self.types.structs[index.0 as usize].is_union => {
                let Some(slots) = self.by_slot(values, ty, span) else {
                    return Self::bad(span);
                };
                let fields = self.slots_of(ty);
                let mut parts = Vec::new();
                for (slot, (offset, field)) in slots.into_iter().zip(fields) {
                    if let Some(given) = slot {
                        parts.push((offset, self.given_value(given, field)));
                    }
                }
                let kind = ExprKind::Aggregate(parts);
                Expr { kind, ty, span }
            }
            Type::Struct(_) => {
                let Some(slots) = self.by_slot(values, ty, span) else {
                    return Self::bad(span);
                };
                let fields = self.slots_of(ty);
                let mut parts = Vec::with_capacity(fields.len());
                let mut slots = slots.into_iter();
                for (offset, field) in fields {
                    let part = match slots.next().flatten() {
                        Some(given) => self.given_value(given, field),
                        None => self
                            .field_start(ty, offset, field)
                            .unwrap_or_else(|| self.fresh(field, span)),
                    };
                    parts.push(part);
                }
                let kind = ExprKind::Struct(parts);
                Expr { kind, ty, span }
            }
            Type::Array { .. } => {
                let mut parts = Vec::new();
                self.parts(values, ty, 0, span, &mut parts);
                let kind = ExprKind::Aggregate(parts);
                Expr { kind, ty, span }
            }
            _ => match self.given(values).pop() {
                None => self.zero(ty, span),
                Some(only) if values.len() == 1 => self.given_value(only, ty),
                Some(_) => {
                    self.error(span, "one value is wanted here, and a list is given");
                    Self::bad(span)
                }
            },
        }
    }

    /// The values of a list with those of packs in their place.
    fn given(&mut self, values: &'a [ast::Expr]) -> Vec<Given<'a>> {
        let mut out = Vec::with_capacity(values.len());
        for value in values {
            match &value.kind {
                A::Expansion { pattern, names } => {
                    let pack = self.expand(names, value.span, |sema| sema.check_expr(pattern));
                    out.extend(pack.into_iter().map(Given::Ready));
                }
                _ => out.push(Given::Source(value)),
            }
        }
        out
    }

    /// How many elements an array has whose length follows from its list.
    pub(super) fn list_length(&mut self, values: &'a [ast::Expr]) -> u64 {
        self.given(values).len() as u64
    }

    fn given_value(&mut self, given: Given<'a>, ty: TypeId) -> Expr {
        let value = match given {
            Given::Source(ast::Expr {
                kind: A::List(inner),
                span,
                ..
            }) => return self.list_value(inner, ty, *span),
            Given::Source(value) if self.is_array(ty) => {
                self.error_hint(
                    value.span,
                    "an array inside of this one needs its own braces",
                    "write {{a, b}, {c, d}}",
                );
                return Self::bad(value.span);
            }
            Given::Source(value) => self.value(value),
            Given::Ready(checked) => self.loaded(checked),
        };
        self.convert(value, ty, Context::Initialisation)
    }

    /// Offsets and types of the fields of a struct.
    fn slots_of(&self, ty: TypeId) -> Vec<(u64, TypeId)> {
        match self.types.get(ty) {
            Type::Struct(index) => self.types.structs[index.0 as usize]
                .fields
                .iter()
                .map(|field| (field.offset, field.ty))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The values of a list at the fields or elements they are for.
    fn by_slot(
        &mut self,
        values: &'a [ast::Expr],
        ty: TypeId,
        span: Span,
    ) -> Option<Vec<Option<Given<'a>>>> {
        let names: Vec<_> = match self.types.get(ty) {
            Type::Struct(index) => self.types.structs[index.0 as usize]
                .fields
                .iter()
                .map(|field| field.name)
                .collect(),
            _ => Vec::new(),
        };
        let count = match self.types.get(ty) {
            Type::Array { length, .. } => usize::try_from(length).unwrap_or(usize::MAX),
            Type::Struct(index) if self.types.structs[index.0 as usize].is_union => {
                names.len().min(1)
            }
            _ => names.len(),
        };
        let given = self.given(values);
        let given_count = given.len();
        let mut slots: Vec<Option<Given<'a>>> = Vec::new();
        let mut next = 0;
        for value in given {
            let mut value = value;
            let mut is_named = false;
            if let Given::Source(ast::Expr {
                kind: A::Designated(name, inner),
                span,
                ..
            }) = value
            {
                let Some(index) = names.iter().position(|other| other == name) else {
                    let message = format!(
                        "'{}' has no field '{}'",
                        self.types.text(ty),
                        self.text(*name)
                    );
                    self.error(*span, message);
                    return None;
                };
                if index < next {
                    self.error_hint(
                        *span,
                        "fields are given in the order of their declaration, each once",
                        "change the order of the values",
                    );
                    return None;
                }
                next = index;
                is_named = true;
                value = Given::Source(inner);
            }
            if next >= count && !is_named {
                let what = if names.is_empty() { "value" } else { "field" };
                let message = format!(
                    "'{}' has {count} {what}(s), and {given_count} values are given",
                    self.types.text(ty)
                );
                self.error(span, message);
                return None;
            }
            if slots.len() <= next {
                slots.resize_with(next + 1, || None);
            }
            slots[next] = Some(value);
            next += 1;
        }
        Some(slots)
    }

    /// The values of a list for a variable in memory, each at its offset; what is not named is zero.
    pub(super) fn parts(
        &mut self,
        values: &'a [ast::Expr],
        ty: TypeId,
        base: u64,
        span: Span,
        parts: &mut Vec<(u64, Expr)>,
    ) {
        let Some(slots) = self.by_slot(values, ty, span) else {
            return;
        };
        let places: Vec<(u64, TypeId)> = match self.types.get(ty) {
            Type::Array { element, .. } => {
                let size = self.types.bytes(element);
                (0..slots.len() as u64)
                    .map(|index| (index * size, element))
                    .collect()
            }
            _ => self.slots_of(ty),
        };
        for (slot, (offset, field)) in slots.into_iter().zip(places) {
            if parts.len() >= MAX_INITIALISERS {
                self.error(span, format!("more than {MAX_INITIALISERS} initial values"));
                return;
            }
            let Some(given) = slot else { continue };
            if let Given::Source(ast::Expr {
                kind: A::List(inner),
                span,
                ..
            }) = given
                && self.is_plain_aggregate(field)
            {
                self.parts(inner, field, base + offset, *span, parts);
                continue;
            }
            let value = self.given_value(given, field);
            parts.push((base + offset, value));
        }
    }

    /// Whether a list for this type is nothing but values at offsets.
    pub(super) fn is_plain_aggregate(&self, ty: TypeId) -> bool {
        match self.types.get(ty) {
            Type::Array { element, .. } => !self.needs_making(element),
            Type::Struct(index) => {
                let structure = &self.types.structs[index.0 as usize];
                !structure.is_union
                    && !structure.fields.iter().any(|field| field.bits.is_some())
                    && !self.has_constructor(ty)
                    && !self.needs_making(ty)
            }
            _ => false,
        }
    }
}
