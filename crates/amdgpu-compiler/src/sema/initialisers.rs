//! Variables and their initial values.

use super::conversions::Context;
use super::{Entity, ParameterType, Sema};
use crate::ast::{self, ExprKind as A, TypeKind};
use crate::hir::{Expr, Initial, Local, LocalId, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

/// Values an initialiser list may have: each becomes a store.
const MAX_INITIALISERS: usize = 65_536;

impl<'a> Sema<'a> {
    /// A variable of a function.
    pub(super) fn local_variable(&mut self, variable: &'a ast::Variable, out: &mut Vec<Stmt>) {
        if let TypeKind::Reference(target) = &variable.ty.kind {
            self.local_reference(variable, target, out);
            return;
        }
        if variable.is_shared {
            self.shared_variable(variable);
            return;
        }
        if variable.is_static || variable.is_constant_memory || variable.is_device {
            self.static_variable(variable);
            return;
        }
        let (ty, initial) = self.typed_initial(variable);
        if ty == TypeTable::VOID {
            let text = self.text(variable.name);
            self.error(
                variable.span,
                format!("the variable '{text}' cannot be void"),
            );
        }
        let is_const = self.is_const(&variable.ty) || variable.is_constexpr;
        let local = self.declare_local(variable.name, ty, variable.span, is_const);
        if is_const {
            let constant = match &initial {
                Initial::Value(value) => self.evaluate(value),
                _ => None,
            };
            if variable.is_constexpr && constant.is_none() && self.types.as_scalar(ty).is_some() {
                self.not_constant(variable.span, "a constexpr variable");
            }
            if matches!(initial, Initial::None) && ty != TypeTable::ERROR {
                let text = self.text(variable.name);
                self.error_hint(
                    variable.span,
                    format!("'{text}' is const and needs an initial value"),
                    "write = value",
                );
            }
            self.current.locals[local.0 as usize].constant = constant;
        }
        out.push(Stmt {
            kind: StmtKind::Declare(local, initial),
            span: variable.span,
        });
    }

    fn local_reference(
        &mut self,
        variable: &'a ast::Variable,
        target: &'a ast::TypeExpr,
        out: &mut Vec<Stmt>,
    ) {
        let Some(start) = &variable.start else {
            self.error_hint(
                variable.span,
                "a reference needs something to refer to",
                "write type& name = variable",
            );
            return;
        };
        let Some(place) = self.place(start, "referred to") else {
            return;
        };
        let ty = if matches!(target.kind, TypeKind::Auto) {
            place.ty
        } else {
            self.resolve(target)
        };
        if ty != place.ty && ty != TypeTable::ERROR && place.ty != TypeTable::ERROR {
            let message = format!(
                "a reference to '{}' cannot refer to '{}'",
                self.types.text(ty),
                self.types.text(place.ty)
            );
            self.error(start.span, message);
            return;
        }
        let target_const = self.is_const(target);
        // `auto&` takes the const with the type.
        if place.is_const && !target_const && !matches!(target.kind, TypeKind::Auto) {
            self.error_hint(
                start.span,
                "this is const, and the reference is not",
                "write const before the type",
            );
        }
        let parameter = ParameterType {
            ty,
            is_reference: true,
            is_const: target_const || place.is_const,
            is_forwarding: false,
        };
        let address = self.reference_to(
            super::expressions::Checked::Place(place),
            parameter,
            variable.span,
        );
        let local = self.declare_local(variable.name, ty, variable.span, parameter.is_const);
        self.current.locals[local.0 as usize].is_reference = true;
        self.current.locals[local.0 as usize].is_in_memory = false;
        out.push(Stmt {
            kind: StmtKind::Declare(local, Initial::Value(address)),
            span: variable.span,
        });
    }

    pub(super) fn declare_local(
        &mut self,
        name: crate::interner::Symbol,
        ty: TypeId,
        span: Span,
        is_const: bool,
    ) -> LocalId {
        let text = self.text(name);
        if self.scopes.find_here(name).is_some() {
            self.error_hint(
                span,
                format!("'{text}' is declared twice in one scope"),
                "give one of them another name",
            );
        }
        let local = LocalId(self.current.locals.len() as u32);
        let is_in_memory = matches!(self.types.get(ty), Type::Array { .. } | Type::Struct(_));
        self.current.locals.push(Local {
            name: text.to_owned(),
            ty,
            is_reference: false,
            is_const,
            is_in_memory,
            constant: None,
        });
        self.scopes.bind(name, Entity::Local(local));
        local
    }

    /// The type and initial value of a variable; `auto` and `[]` take theirs from the value.
    pub(super) fn typed_initial(&mut self, variable: &'a ast::Variable) -> (TypeId, Initial) {
        if matches!(variable.ty.kind, TypeKind::Auto) {
            let Some(start) = &variable.start else {
                self.error(
                    variable.span,
                    "'auto' needs an initial value to take its type from",
                );
                return (TypeTable::ERROR, Initial::None);
            };
            let value = self.value(start);
            if matches!(self.types.get(value.ty), Type::Void | Type::Null) {
                self.error(start.span, "'auto' cannot take its type from this");
                return (TypeTable::ERROR, Initial::None);
            }
            return (value.ty, Initial::Value(value));
        }
        let ty = self.variable_type(variable);
        let Some(start) = &variable.start else {
            let is_made = matches!(self.types.get(ty), Type::Struct(_))
                && (self.has_default_constructor(ty) || self.has_starts(ty));
            if is_made {
                let value = self.construct_value(ty, &[], variable.span);
                return (ty, Initial::Value(value));
            }
            return (ty, Initial::None);
        };
        (ty, self.initial(start, ty))
    }

    fn variable_type(&mut self, variable: &'a ast::Variable) -> TypeId {
        if let (
            TypeKind::Array {
                element,
                length: None,
            },
            Some(A::List(values)),
        ) = (
            &variable.ty.kind,
            variable.start.as_ref().map(|start| &start.kind),
        ) {
            let element = self.resolve(element);
            if element == TypeTable::ERROR || values.is_empty() {
                return TypeTable::ERROR;
            }
            return self.types.intern(Type::Array {
                element,
                length: values.len() as u64,
            });
        }
        self.resolve(&variable.ty)
    }

    fn initial(&mut self, start: &'a ast::Expr, ty: TypeId) -> Initial {
        match (&start.kind, self.types.get(ty)) {
            (A::List(values), Type::Struct(_))
                if self.has_constructor(ty) || self.has_starts(ty) =>
            {
                Initial::Value(self.list_value(values, ty, start.span))
            }
            (A::List(values), Type::Array { .. } | Type::Struct(_)) => {
                let mut parts = Vec::new();
                self.parts(values, ty, 0, start.span, &mut parts);
                Initial::Parts(parts)
            }
            (A::List(values), _) => Initial::Value(self.list_value(values, ty, start.span)),
            (_, Type::Array { .. }) => {
                self.value(start);
                self.error_hint(
                    start.span,
                    "an array needs a list of values",
                    "write = {a, b, c}",
                );
                Initial::None
            }
            _ => {
                let value = self.value(start);
                Initial::Value(self.convert(value, ty, Context::Initialisation))
            }
        }
    }

    /// `{…}` where one value of a type is wanted.
    pub(super) fn list_value(&mut self, values: &'a [ast::Expr], ty: TypeId, span: Span) -> Expr {
        if let Type::Struct(index) = self.types.get(ty) {
            if self.has_constructor(ty) {
                return self.construct_value(ty, values, span);
            }
            let fields: Vec<(u64, TypeId)> = self.types.structs[index.0 as usize]
                .fields
                .iter()
                .map(|field| (field.offset, field.ty))
                .collect();
            if values.len() > fields.len() {
                let message = format!(
                    "'{}' has {} field(s), and {} values are given",
                    self.types.text(ty),
                    fields.len(),
                    values.len()
                );
                self.error(span, message);
                return Self::bad(span);
            }
            let mut parts = Vec::new();
            for (index, (offset, field)) in fields.into_iter().enumerate() {
                let part = match values.get(index) {
                    Some(ast::Expr {
                        kind: A::List(inner),
                        span,
                        ..
                    }) => self.list_value(inner, field, *span),
                    Some(value) => {
                        let value = self.value(value);
                        self.convert(value, field, Context::Initialisation)
                    }
                    None => self
                        .field_start(ty, offset, field)
                        .unwrap_or_else(|| self.zero(field, span)),
                };
                parts.push(part);
            }
            return Expr {
                kind: crate::hir::ExprKind::Struct(parts),
                ty,
                span,
            };
        }
        match values {
            [] => self.zero(ty, span),
            [only] => {
                let value = self.value(only);
                self.convert(value, ty, Context::Initialisation)
            }
            _ => {
                self.error(span, "one value is wanted here, and a list is given");
                Self::bad(span)
            }
        }
    }

    fn parts(
        &mut self,
        values: &'a [ast::Expr],
        ty: TypeId,
        base: u64,
        span: Span,
        parts: &mut Vec<(u64, Expr)>,
    ) {
        let slots: Vec<(u64, TypeId)> = match self.types.get(ty) {
            Type::Array { element, length } => {
                let size = self.types.bytes(element);
                (0..length.min(values.len() as u64))
                    .map(|index| (index * size, element))
                    .collect()
            }
            Type::Struct(index) => self.types.structs[index.0 as usize]
                .fields
                .iter()
                .map(|field| (field.offset, field.ty))
                .collect(),
            _ => Vec::new(),
        };
        if values.len() > slots.len() {
            let message = format!(
                "'{}' holds {} value(s), and {} are given",
                self.types.text(ty),
                slots.len(),
                values.len()
            );
            self.error(span, message);
            return;
        }
        for (value, (offset, ty)) in values.iter().zip(slots) {
            if parts.len() >= MAX_INITIALISERS {
                self.error(span, format!("more than {MAX_INITIALISERS} initial values"));
                return;
            }
            match (&value.kind, self.types.get(ty)) {
                (A::List(inner), Type::Struct(_)) if self.has_constructor(ty) => {
                    let checked = self.list_value(inner, ty, value.span);
                    parts.push((base + offset, checked));
                }
                (A::List(inner), Type::Array { .. } | Type::Struct(_)) => {
                    self.parts(inner, ty, base + offset, value.span, parts);
                }
                (_, Type::Array { .. }) => self.error_hint(
                    value.span,
                    "an array inside of this one needs its own braces",
                    "write {{a, b}, {c, d}}",
                ),
                _ => {
                    let checked = self.value(value);
                    let checked = self.convert(checked, ty, Context::Initialisation);
                    parts.push((base + offset, checked));
                }
            }
        }
    }
}
