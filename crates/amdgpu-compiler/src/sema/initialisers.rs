//! Variables and their initial values.

use super::conversions::Context;
use super::expressions::Checked;
use super::{Entity, ParameterType, Sema};
use crate::ast::{self, ExprKind as A, TypeKind};
use crate::hir::{Initial, Local, LocalId, PlaceKind, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

impl<'a> Sema<'a> {
    /// A variable of a function.
    pub(super) fn local_variable(&mut self, variable: &'a ast::Variable, out: &mut Vec<Stmt>) {
        if let TypeKind::Reference(target) | TypeKind::Forwarding(target) = &variable.ty.kind {
            self.local_reference(variable, target, out);
            return;
        }
        if let (TypeKind::Decltype(expr), Some(_)) = (&variable.ty.kind, &variable.start)
            && self.type_of_expr(expr).1
        {
            self.local_reference(variable, &variable.ty, out);
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
        self.current.locals[local.0 as usize].align =
            self.wanted_alignment(variable.align.as_ref());
        let is_volatile = variable.ty.has_volatile();
        if is_volatile {
            self.make_volatile(local);
        }
        if is_const && !is_volatile {
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
        self.note_cleanup(local, ty, variable.span);
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
        let is_value_fine =
            self.is_const(target) || matches!(variable.ty.kind, TypeKind::Forwarding(_));
        let checked = if matches!(start.kind, A::Conditional(..)) {
            match self.place(start, "referred to") {
                Some(place) => Checked::Place(place),
                None => return,
            }
        } else {
            self.check_expr(start)
        };
        let checked = match checked {
            // What would change is a copy.
            Checked::Place(place) if matches!(place.kind, PlaceKind::Bits(..)) => {
                if !is_value_fine {
                    self.error_hint(
                        start.span,
                        "a bit-field has no address",
                        "copy it to a variable",
                    );
                    return;
                }
                Checked::Value(self.load(place))
            }
            other => other,
        };
        let mut place = match checked {
            Checked::Place(place) => place,
            Checked::Value(value) if value.ty == TypeTable::ERROR => return,
            Checked::Value(value) if is_value_fine => {
                // The value lives as long as the reference does.
                let wanted = if matches!(target.kind, TypeKind::Auto) {
                    value.ty
                } else {
                    self.resolve(target)
                };
                let value = self.convert(value, wanted, Context::Initialisation);
                self.refuse_unnamed(wanted, variable.span);
                let local = self.hidden_local("value", wanted);
                self.current.locals[local.0 as usize].is_in_memory = true;
                let span = variable.span;
                out.push(super::ranges::declare(local, Initial::Value(value), span));
                super::ranges::local_place(local, wanted, span)
            }
            Checked::Value(_) => {
                self.error_hint(
                    start.span,
                    "this is a value and cannot be referred to",
                    "use a variable, p[i] or *p, or write const before the type",
                );
                return;
            }
        };
        if !matches!(target.kind, TypeKind::Auto) {
            let wanted = self.resolve(target);
            if wanted != place.ty && self.base_offset(place.ty, wanted).is_some() {
                place = self.as_base(place, wanted);
            }
        }
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
        let (target_volatile, place_volatile) =
            (target.has_volatile(), self.is_volatile_place(&place));
        if place_volatile && !target_volatile && !matches!(target.kind, TypeKind::Auto) {
            self.error_hint(
                start.span,
                "this is volatile, and the reference is not",
                "write volatile before the type",
            );
        }
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
            is_volatile: target_volatile || place_volatile,
        };
        let address = self.reference_to(Checked::Place(place), parameter, variable.span);
        let local = self.declare_local(variable.name, ty, variable.span, parameter.is_const);
        self.current.locals[local.0 as usize].is_reference = true;
        self.current.locals[local.0 as usize].is_volatile = parameter.is_volatile;
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
            is_volatile: false,
            is_in_memory,
            align: 1,
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
            if self.is_array(ty) && self.needs_making(ty) {
                let value = self.fresh(ty, variable.span);
                return (ty, Initial::Value(value));
            }
            if self.needs_making(ty) {
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
            let length = self.list_length(values).max(1);
            return self.types.intern(Type::Array { element, length });
        }
        self.resolve(&variable.ty)
    }

    fn initial(&mut self, start: &'a ast::Expr, ty: TypeId) -> Initial {
        match (&start.kind, self.types.get(ty)) {
            (A::List(values), Type::Struct(_)) if !self.is_plain_aggregate(ty) => {
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
}
