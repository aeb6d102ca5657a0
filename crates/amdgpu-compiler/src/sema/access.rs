//! Parts of objects: fields, elements, and moved pointers.

use super::Sema;
use super::expressions::{Checked, special_kind};
use crate::ast::{self, ExprKind as A};
use crate::hir::{Expr, ExprKind, Place, PlaceKind};
use crate::interner::{Symbol, words};
use crate::ir::Special;
use crate::source::Span;
use crate::types::{Type, TypeTable};

impl<'a> Sema<'a> {
    pub(super) fn member(
        &mut self,
        object: &'a ast::Expr,
        name: Symbol,
        is_arrow: bool,
        span: Span,
    ) -> Checked {
        if let A::Name(special) = &object.kind
            && let (Some(kind), None) = (special_kind(*special), self.scopes.find(*special))
        {
            let axis = match name {
                words::X => 0,
                words::Y => 1,
                words::Z => 2,
                _ => {
                    let message = format!("'{}' has no '{}'", self.text(*special), self.text(name));
                    self.error_hint(span, message, "it has x, y and z");
                    return Checked::Value(Self::bad(span));
                }
            };
            return Checked::Value(Expr {
                kind: ExprKind::Special(Special { kind, axis }),
                ty: TypeTable::UNSIGNED_INT,
                span,
            });
        }
        let place = if is_arrow {
            let object = self.check_expr(object);
            let pointer = self.arrow(object, span);
            match self.types.get(pointer.ty) {
                Type::Pointer {
                    pointee, is_const, ..
                } => Place {
                    kind: PlaceKind::Dereference(pointer),
                    ty: pointee,
                    is_const,
                    span,
                },
                Type::Error => return Checked::Value(Self::bad(span)),
                _ => {
                    let message = format!(
                        "'->' needs a pointer, and this is '{}'",
                        self.types.text(pointer.ty)
                    );
                    self.error_hint(span, message, "use '.'");
                    return Checked::Value(Self::bad(span));
                }
            }
        } else {
            match self.check_expr(object) {
                Checked::Place(place) => place,
                Checked::Value(value) => {
                    let ty = value.ty;
                    Place {
                        kind: PlaceKind::Temporary(value),
                        ty,
                        is_const: true,
                        span,
                    }
                }
            }
        };
        self.member_of(&place, name, span)
    }

    /// A field of a struct, or a constant of its type.
    pub(super) fn member_of(&mut self, place: &Place, name: Symbol, span: Span) -> Checked {
        let Type::Struct(index) = self.types.get(place.ty) else {
            if place.ty != TypeTable::ERROR {
                let message = format!("'{}' has no fields", self.types.text(place.ty));
                let is_pointer = matches!(self.types.get(place.ty), Type::Pointer { .. });
                self.error_hint(
                    span,
                    message,
                    if is_pointer {
                        "use '->' through a pointer"
                    } else {
                        "fields belong to structs"
                    },
                );
            }
            return Checked::Value(Self::bad(span));
        };
        if let Some(field) = self.field_of(place, name, span) {
            return Checked::Place(field);
        }
        if self.static_member(place.ty, name).is_some() {
            return self.type_member(place.ty, name, span);
        }
        let structure = &self.types.structs[index.0 as usize];
        let names: Vec<&str> = structure
            .fields
            .iter()
            .filter(|field| !field.is_transparent)
            .map(|field| self.interner.text_of(field.name))
            .collect();
        let message = format!("'{}' has no field '{}'", structure.name, self.text(name));
        let hint = format!("it has {}", names.join(", "));
        self.error_hint(span, message, &hint);
        Checked::Value(Self::bad(span))
    }

    pub(super) fn index(
        &mut self,
        array: &'a ast::Expr,
        index: &'a ast::Expr,
        span: Span,
    ) -> Checked {
        let array = self.check_expr(array);
        let mut pointer = match array {
            object
                if matches!(
                    self.types.get(super::calls::type_of(&object)),
                    Type::Struct(_)
                ) =>
            {
                let index = self.check_expr(index);
                let operands = vec![object, index];
                return match self.operator_call(words::OPERATOR_INDEX, operands, span) {
                    Ok(result) => result,
                    Err(operands) => {
                        let text = self.types.text(super::calls::type_of(&operands[0]));
                        let message = format!("'{text}' cannot be indexed");
                        self.error_hint(span, message, "pointers and arrays can");
                        Checked::Value(Self::bad(span))
                    }
                };
            }
            other => self.loaded(other),
        };
        let mut index = self.value(index);
        if self.types.as_scalar(pointer.ty).is_some()
            && matches!(self.types.get(index.ty), Type::Pointer { .. })
        {
            std::mem::swap(&mut pointer, &mut index);
        }
        let Type::Pointer {
            pointee, is_const, ..
        } = self.types.get(pointer.ty)
        else {
            if pointer.ty != TypeTable::ERROR {
                let message = format!("'{}' cannot be indexed", self.types.text(pointer.ty));
                self.error_hint(span, message, "pointers and arrays can");
            }
            return Checked::Value(Self::bad(span));
        };
        let Some(address) = self.offset(pointer, index, false, span) else {
            return Checked::Value(Self::bad(span));
        };
        Checked::Place(Place {
            kind: PlaceKind::Dereference(address),
            ty: pointee,
            is_const,
            span,
        })
    }

    /// `pointer + index`.
    pub(super) fn offset(
        &mut self,
        pointer: Expr,
        index: Expr,
        is_negative: bool,
        span: Span,
    ) -> Option<Expr> {
        let Type::Pointer { pointee, .. } = self.types.get(pointer.ty) else {
            return None;
        };
        if pointee == TypeTable::VOID {
            self.error_hint(
                span,
                "void* cannot be indexed or moved",
                "cast it to a pointer to what it points at",
            );
            return None;
        }
        let Some(scalar) = self
            .types
            .as_scalar(index.ty)
            .filter(|scalar| !scalar.is_float())
        else {
            if index.ty != TypeTable::ERROR {
                let message = format!(
                    "an index is an integer, and this is '{}'",
                    self.types.text(index.ty)
                );
                self.error_hint(index.span, message, "convert it: (int)value");
            }
            return None;
        };
        // Widened by its own sign: an unsigned index is never negative.
        let wide = if scalar.is_signed() {
            TypeTable::LONG
        } else {
            TypeTable::UNSIGNED_LONG
        };
        let index = self.cast_to(index, wide);
        let ty = pointer.ty;
        Some(Expr {
            kind: ExprKind::Offset {
                pointer: Box::new(pointer),
                index: Box::new(index),
                is_negative,
            },
            ty,
            span,
        })
    }
}
