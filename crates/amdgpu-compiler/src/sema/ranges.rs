//! Loops over arrays, names for the parts of a value, and loops whose condition declares a variable.

use super::conversions::Context;
use super::expressions::Checked;
use super::{ParameterType, Sema};
use crate::ast::{self, ExprKind as A, TypeKind};
use crate::hir::{Expr, ExprKind, Initial, LocalId, Place, PlaceKind, Stmt, StmtKind};
use crate::interner::Symbol;
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

impl<'a> Sema<'a> {
    /// `while (T x = f()) body`: a loop that declares, looks, and perhaps ends, at the start of each round.
    pub(super) fn declaring_while(
        &mut self,
        start: &'a ast::Stmt,
        condition: &'a ast::Expr,
        body: &'a ast::Stmt,
        span: Span,
    ) -> StmtKind {
        self.scopes.enter();
        let mut inner = Vec::new();
        let at = |kind| Stmt { kind, span };
        self.current.loops += 1;
        self.statement(start, &mut inner);
        let condition = self.condition_of(condition);
        self.current.loops -= 1;
        let leave = at(StmtKind::If(
            condition,
            Box::new(at(StmtKind::Block(Vec::new()))),
            Some(Box::new(at(StmtKind::Break))),
        ));
        inner.push(leave);
        let body = self.loop_body(body);
        inner.push(*body);
        self.scopes.leave();
        StmtKind::Loop {
            condition: None,
            step: None,
            body: Box::new(at(StmtKind::Block(inner))),
        }
    }

    /// `for (variable : range) body`, for arrays and lists.
    pub(super) fn range_for(
        &mut self,
        variable: &'a ast::Variable,
        range: &'a ast::Expr,
        body: &'a ast::Stmt,
        span: Span,
    ) -> Vec<Stmt> {
        self.scopes.enter();
        let mut out = Vec::new();
        if let Some((begin, element, length)) = self.range_start(range, &mut out) {
            let pointer = begin.ty;
            let first = self.hidden_local("first", pointer);
            out.push(declare(first, Initial::Value(begin), span));
            let begin = load_local(first, pointer, span);
            let counter = self.hidden_local("counter", TypeTable::LONG);
            out.push(declare(counter, Initial::None, span));
            let index = load_local(counter, TypeTable::LONG, span);
            let limit = integer(length as i64, TypeTable::LONG, span);
            let condition = Expr {
                kind: ExprKind::Binary(
                    ast::BinaryOp::Less,
                    Box::new(index.clone()),
                    Box::new(limit),
                ),
                ty: TypeTable::BOOL,
                span,
            };
            let step = Expr {
                kind: ExprKind::Step {
                    place: Box::new(local_place(counter, TypeTable::LONG, span)),
                    is_increment: true,
                    is_prefix: true,
                },
                ty: TypeTable::LONG,
                span,
            };
            let is_const = matches!(
                self.types.get(pointer),
                Type::Pointer { is_const: true, .. }
            );
            let place = Place {
                kind: PlaceKind::Dereference(Expr {
                    kind: ExprKind::Offset {
                        pointer: Box::new(begin),
                        index: Box::new(index),
                        is_negative: false,
                    },
                    ty: pointer,
                    span,
                }),
                ty: element,
                is_const,
                span,
            };
            let mut inner = Vec::new();
            self.scopes.enter();
            self.range_variable(variable, place, &mut inner);
            let body = self.loop_body(body);
            inner.push(*body);
            self.scopes.leave();
            out.push(Stmt {
                kind: StmtKind::Loop {
                    condition: Some(condition),
                    step: Some(step),
                    body: Box::new(Stmt {
                        kind: StmtKind::Block(inner),
                        span,
                    }),
                },
                span,
            });
        }
        self.scopes.leave();
        out
    }

    /// The address of the first element of a range, the type of its elements and their number.
    fn range_start(
        &mut self,
        range: &'a ast::Expr,
        out: &mut Vec<Stmt>,
    ) -> Option<(Expr, TypeId, u64)> {
        let span = range.span;
        let place = if let A::List(values) = &range.kind {
            let values: Vec<Expr> = self
                .check_arguments(values)
                .into_iter()
                .map(|value| self.loaded(value))
                .collect();
            let element = values.first()?.ty;
            if element == TypeTable::ERROR {
                return None;
            }
            let bytes = self.types.bytes(element);
            let ty = self.types.intern(Type::Array {
                element,
                length: values.len() as u64,
            });
            let parts = values
                .into_iter()
                .zip(0u64..)
                .map(|(value, index)| {
                    let value = self.convert(value, element, Context::Initialisation);
                    (index * bytes, value)
                })
                .collect();
            let local = self.hidden_local("list", ty);
            self.current.locals[local.0 as usize].is_in_memory = true;
            out.push(declare(local, Initial::Parts(parts), span));
            local_place(local, ty, span)
        } else {
            self.place(range, "looped over")?
        };
        let Type::Array { element, length } = self.types.get(place.ty) else {
            if place.ty != TypeTable::ERROR {
                let text = self.types.text(place.ty);
                self.error_hint(
                    span,
                    format!("'{text}' cannot be looped over like this"),
                    "arrays can; for pointers and structs count with an index",
                );
            }
            return None;
        };
        Some((self.load(place), element, length))
    }

    fn range_variable(&mut self, variable: &'a ast::Variable, place: Place, out: &mut Vec<Stmt>) {
        let (target, is_reference) = match &variable.ty.kind {
            TypeKind::Reference(target) | TypeKind::Forwarding(target) => (&**target, true),
            _ => (&variable.ty, false),
        };
        let is_auto = matches!(target.kind, TypeKind::Auto);
        let ty = if is_auto {
            place.ty
        } else {
            self.resolve(target)
        };
        let is_const = self.is_const(target);
        if is_reference {
            self.refer(variable.name, variable.span, ty, is_const, place, out);
            return;
        }
        let value = self.load(place);
        let value = self.convert(value, ty, Context::Initialisation);
        let local = self.declare_local(variable.name, value.ty, variable.span, is_const);
        out.push(declare(local, Initial::Value(value), variable.span));
    }

    /// A reference to a place, under a name.
    fn refer(
        &mut self,
        name: Symbol,
        span: Span,
        ty: TypeId,
        is_const: bool,
        place: Place,
        out: &mut Vec<Stmt>,
    ) {
        let is_const = is_const || place.is_const;
        let is_volatile = self.is_volatile_place(&place);
        let parameter = ParameterType {
            ty,
            is_reference: true,
            is_const,
            is_forwarding: false,
            is_volatile,
        };
        let address = self.reference_to(Checked::Place(place), parameter, span);
        let local = self.declare_local(name, ty, span, is_const);
        let entry = &mut self.current.locals[local.0 as usize];
        entry.is_reference = true;
        entry.is_volatile = is_volatile;
        entry.is_in_memory = false;
        out.push(declare(local, Initial::Value(address), span));
    }

    /// `auto [a, b] = value;`: references to the parts of a copy, or of the value itself.
    pub(super) fn bindings(
        &mut self,
        bindings: &'a ast::Bindings,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let checked = self.check_expr(&bindings.value);
        let mut place = match checked {
            Checked::Place(place) if bindings.is_reference => place,
            other => {
                let array = match &other {
                    Checked::Place(place) if self.is_array(place.ty) => Some(place.clone()),
                    _ => None,
                };
                let ty = array
                    .as_ref()
                    .map_or_else(|| super::calls::type_of(&other), |array| array.ty);
                if ty == TypeTable::ERROR {
                    return;
                }
                let local = self.hidden_local("parts", ty);
                self.current.locals[local.0 as usize].is_in_memory = true;
                let value = match array {
                    Some(array) => self.array_copy(array),
                    None => self.loaded(other),
                };
                self.refuse_unnamed(ty, span);
                let initial = Initial::Value(value);
                out.push(declare(local, initial, span));
                local_place(local, ty, span)
            }
        };
        place.is_const |= bindings.is_const;
        let Some(parts) = self.parts_of(&place) else {
            let text = self.types.text(place.ty);
            self.error_hint(
                span,
                format!("'{text}' cannot be taken apart into names"),
                "arrays and structs can",
            );
            return;
        };
        if parts.len() != bindings.names.len() {
            let message = format!(
                "'{}' has {} part(s), and {} names are given",
                self.types.text(place.ty),
                parts.len(),
                bindings.names.len()
            );
            self.error(span, message);
            return;
        }
        for (&(name, span), part) in bindings.names.iter().zip(parts) {
            let (ty, is_const) = (part.ty, part.is_const);
            self.refer(name, span, ty, is_const, part, out);
        }
    }

    /// The fields or elements of a place.
    fn parts_of(&self, place: &Place) -> Option<Vec<Place>> {
        let parts: Vec<(u64, TypeId)> = match self.types.get(place.ty) {
            Type::Array { element, length } => {
                let bytes = self.types.bytes(element);
                (0..length.min(1024))
                    .map(|index| (index * bytes, element))
                    .collect()
            }
            Type::Struct(index) => self.types.structs[index.0 as usize]
                .fields
                .iter()
                .filter(|field| field.bits.is_none())
                .map(|field| (field.offset, field.ty))
                .collect(),
            _ => return None,
        };
        let part = |(offset, ty)| Place {
            kind: PlaceKind::Field(Box::new(place.clone()), offset),
            ty,
            is_const: place.is_const,
            span: place.span,
        };
        Some(parts.into_iter().map(part).collect())
    }

    /// An array as a value, which is its memory.
    pub(super) fn array_copy(&mut self, array: Place) -> Expr {
        self.mark_in_memory(&array);
        let (ty, span) = (array.ty, array.span);
        Expr {
            kind: ExprKind::Load(Box::new(array)),
            ty,
            span,
        }
    }

    pub(super) fn is_array(&self, ty: TypeId) -> bool {
        matches!(self.types.get(ty), Type::Array { .. })
    }

    /// A local that the source does not name.
    pub(super) fn hidden_local(&mut self, name: &str, ty: TypeId) -> LocalId {
        let local = self.unnamed_local(ty);
        let entry = &mut self.current.locals[local.0 as usize];
        name.clone_into(&mut entry.name);
        entry.is_const = false;
        local
    }
}

pub(super) fn declare(local: LocalId, initial: Initial, span: Span) -> Stmt {
    Stmt {
        kind: StmtKind::Declare(local, initial),
        span,
    }
}

pub(super) fn local_place(local: LocalId, ty: TypeId, span: Span) -> Place {
    Place {
        kind: PlaceKind::Local(local),
        ty,
        is_const: false,
        span,
    }
}

pub(super) fn load_local(local: LocalId, ty: TypeId, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Load(Box::new(local_place(local, ty, span))),
        ty,
        span,
    }
}

fn integer(value: i64, ty: TypeId, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Integer(value),
        ty,
        span,
    }
}
