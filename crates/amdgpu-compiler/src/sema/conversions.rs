//! Values from places, and conversions between types.

use super::Sema;
use crate::hir::{Constant, Expr, ExprKind, Place, PlaceKind};
use crate::source::Span;
use crate::types::{ScalarType, Type, TypeId, TypeTable};

/// Why an implicit conversion is wanted; completes "… to X in …".
#[derive(Clone, Copy, Debug)]
pub(super) enum Context {
    Assignment,
    Initialisation,
    Return,
    Argument,
    Operand,
}

impl Context {
    fn text(self) -> &'static str {
        match self {
            Self::Assignment => "in an assignment",
            Self::Initialisation => "as an initial value",
            Self::Return => "in a return",
            Self::Argument => "as an argument",
            Self::Operand => "here",
        }
    }
}

/// How well a value of one type fits another, for choosing overloads; smaller is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fit {
    Exact,
    Promotion,
    Conversion,
    /// By a constructor or a conversion operator.
    User,
}

impl Sema<'_> {
    /// The value at a place: loaded, or for arrays the address of the first element.
    pub(super) fn load(&mut self, place: Place) -> Expr {
        let span = place.span;
        if let Type::Array { element, .. } = self.types.get(place.ty) {
            let is_volatile = self.is_volatile_place(&place);
            let ty = self
                .types
                .qualified_pointer(element, place.is_const, is_volatile);
            self.mark_in_memory(&place);
            Expr {
                kind: ExprKind::AddressOf(Box::new(place)),
                ty,
                span,
            }
        } else {
            let ty = place.ty;
            let place = match self.copied(place) {
                Ok(copy) => return copy,
                Err(place) => place,
            };
            if let PlaceKind::Local(local) = place.kind {
                let local = &self.current.locals[local.0 as usize];
                match local.constant {
                    Some(Constant::Integer(value)) if !local.is_in_memory => {
                        return Expr {
                            kind: ExprKind::Integer(value),
                            ty,
                            span,
                        };
                    }
                    Some(Constant::Float(value)) if !local.is_in_memory => {
                        return Expr {
                            kind: ExprKind::Float(value),
                            ty,
                            span,
                        };
                    }
                    _ => {}
                }
            }
            Expr {
                kind: ExprKind::Load(Box::new(place)),
                ty,
                span,
            }
        }
    }

    /// Notes that the variable under a place needs an address.
    pub(super) fn mark_in_memory(&mut self, place: &Place) {
        match &place.kind {
            PlaceKind::Local(local) => {
                let local = &mut self.current.locals[local.0 as usize];
                if !local.is_reference {
                    local.is_in_memory = true;
                }
            }
            PlaceKind::Field(inner, _) | PlaceKind::Bits(inner, _) => self.mark_in_memory(inner),
            _ => {}
        }
    }

    /// How `from` fits into `to`; `None` when it does not without a cast.
    pub(super) fn fit(&self, from: TypeId, to: TypeId, value: Option<&Expr>) -> Option<Fit> {
        self.fit_built_in(from, to, value).or_else(|| {
            self.user_conversion(from, to, value, false)
                .map(|_| Fit::User)
        })
    }

    /// The same without constructors and conversion operators.
    pub(super) fn fit_built_in(
        &self,
        from: TypeId,
        to: TypeId,
        value: Option<&Expr>,
    ) -> Option<Fit> {
        if from == to || from == TypeTable::ERROR || to == TypeTable::ERROR {
            return Some(Fit::Exact);
        }
        match (self.types.get(from), self.types.get(to)) {
            (Type::Scalar(_) | Type::Enum(_), Type::Scalar(target)) => {
                let source = self.types.as_scalar(from)?;
                let is_promotion = source.promoted() == target && !source.is_float()
                    || (source, target) == (ScalarType::Float, ScalarType::Double)
                    || source.is_narrow_float() && target == ScalarType::Float;
                Some(if is_promotion {
                    Fit::Promotion
                } else {
                    Fit::Conversion
                })
            }
            (
                Type::Pointer {
                    pointee: source,
                    is_const: source_const,
                    is_volatile: source_volatile,
                },
                Type::Pointer {
                    pointee: target,
                    is_const: target_const,
                    is_volatile: target_volatile,
                },
            ) => {
                let keeps_qualifiers =
                    (target_const || !source_const) && (target_volatile || !source_volatile);
                let is_base = source != target && self.base_offset(source, target).is_some();
                (keeps_qualifiers && (source == target || target == TypeTable::VOID || is_base))
                    .then_some(if source == target {
                        Fit::Promotion
                    } else {
                        Fit::Conversion
                    })
            }
            (Type::Null, Type::Pointer { .. }) => Some(Fit::Conversion),
            (Type::Scalar(source), Type::Pointer { .. }) => {
                let is_zero = value.is_some_and(|value| matches!(value.kind, ExprKind::Integer(0)));
                (is_zero && !source.is_float()).then_some(Fit::Conversion)
            }
            (Type::Pointer { .. } | Type::Null, Type::Scalar(ScalarType::Bool)) => {
                Some(Fit::Conversion)
            }
            (Type::Struct(_), Type::Struct(_)) => {
                self.base_offset(from, to).map(|_| Fit::Conversion)
            }
            _ => None,
        }
    }

    /// Converts implicitly, or says why not.
    pub(super) fn convert(&mut self, value: Expr, to: TypeId, context: Context) -> Expr {
        if value.ty == TypeTable::ERROR || to == TypeTable::ERROR {
            return Self::bad(value.span);
        }
        match self.fit(value.ty, to, Some(&value)) {
            Some(Fit::User) => return self.converted_by_user(value, to, false),
            Some(_) => return self.cast_to(value, to),
            None => {}
        }
        let from_text = self.types.text(value.ty);
        let to_text = self.types.text(to);
        let message = format!(
            "'{from_text}' does not convert to '{to_text}' {}",
            context.text()
        );
        let hint = match (self.types.get(value.ty), self.types.get(to)) {
            (
                Type::Pointer {
                    pointee: from,
                    is_const: true,
                    ..
                },
                Type::Pointer {
                    pointee: to,
                    is_const: false,
                    ..
                },
            ) if from == to => "the data is const; declare this one const as well".to_owned(),
            (
                Type::Pointer {
                    pointee: from,
                    is_volatile: true,
                    ..
                },
                Type::Pointer { pointee: to, .. },
            ) if from == to => "the data is volatile; declare this one volatile as well".to_owned(),
            (Type::Pointer { .. }, Type::Scalar(_)) => {
                "did you forget an index, as in p[i], or a *?".to_owned()
            }
            (Type::Void, _) => "the function returns nothing".to_owned(),
            _ => format!("if it is meant, cast: ({to_text})value"),
        };
        self.error_hint(value.span, message, &hint);
        Self::bad(value.span)
    }

    /// Writes out a conversion that is known to exist.
    pub(super) fn cast_to(&mut self, value: Expr, to: TypeId) -> Expr {
        if value.ty == to || value.ty == TypeTable::ERROR {
            return value;
        }
        let span = value.span;
        if let (Type::Struct(_), Type::Struct(_)) = (self.types.get(value.ty), self.types.get(to)) {
            let whole = match value.kind {
                ExprKind::Load(place) => *place,
                kind => Place {
                    ty: value.ty,
                    is_const: true,
                    span,
                    kind: PlaceKind::Temporary(Expr {
                        kind,
                        ty: value.ty,
                        span,
                    }),
                },
            };
            if self.copies_by_call(whole.ty) {
                return self.base_of_copy(whole, to);
            }
            let base = self.as_base(whole, to);
            return self.load(base);
        }
        if let Type::Pointer { .. } = self.types.get(value.ty)
            && let Some(moved) = self.moved_pointer(value.clone(), to)
        {
            return moved;
        }
        match (&value.kind, self.types.get(to)) {
            (ExprKind::Integer(0) | ExprKind::Null, Type::Pointer { .. }) => {
                return Expr {
                    kind: ExprKind::Null,
                    ty: to,
                    span,
                };
            }
            (ExprKind::Integer(_) | ExprKind::Float(_), Type::Scalar(target)) => {
                let from = self.types.representation(value.ty);
                let constant = self.evaluate(&value);
                if let (Some(from), Some(constant)) = (from, constant) {
                    let kind = match super::constants::convert_constant(constant, from, target) {
                        Constant::Integer(value) => ExprKind::Integer(value),
                        Constant::Float(value) => ExprKind::Float(value),
                    };
                    return Expr { kind, ty: to, span };
                }
            }
            _ => {}
        }
        Expr {
            kind: ExprKind::Cast(Box::new(value)),
            ty: to,
            span,
        }
    }

    /// A cast the user wrote.
    pub(super) fn explicit_cast(&mut self, value: Expr, to: TypeId, span: Span) -> Expr {
        if value.ty == TypeTable::ERROR || to == TypeTable::ERROR {
            return Self::bad(span);
        }
        let (from_type, to_type) = (self.types.get(value.ty), self.types.get(to));
        let is_allowed = match (from_type, to_type) {
            (_, Type::Void)
            | (Type::Scalar(_) | Type::Enum(_), Type::Scalar(_) | Type::Enum(_))
            | (Type::Pointer { .. } | Type::Null, Type::Pointer { .. }) => true,
            (Type::Scalar(from), Type::Pointer { .. }) => !from.is_float(),
            (Type::Pointer { .. }, Type::Scalar(target)) => {
                target.bytes() == 8 && !target.is_float() || target == ScalarType::Bool
            }
            (Type::Struct(_), Type::Struct(_)) => self.base_offset(value.ty, to).is_some(),
            _ => false,
        };
        if !is_allowed
            && self
                .user_conversion(value.ty, to, Some(&value), true)
                .is_some()
        {
            return self.converted_by_user(value, to, true);
        }
        if !is_allowed {
            let message = format!(
                "'{}' cannot be cast to '{}'",
                self.types.text(value.ty),
                self.types.text(to)
            );
            self.error(span, message);
            return Self::bad(span);
        }
        self.cast_to(value, to)
    }

    /// As the condition of `if`, `while`, `?`, `!`, `&&`, `||`.
    pub(super) fn condition(&mut self, value: Expr) -> Expr {
        if matches!(self.types.get(value.ty), Type::Struct(_))
            && self
                .user_conversion(value.ty, TypeTable::BOOL, None, true)
                .is_some()
        {
            return self.converted_by_user(value, TypeTable::BOOL, true);
        }
        let is_scoped_enum = matches!(self.types.get(value.ty), Type::Enum(_))
            && self.types.as_scalar(value.ty).is_none();
        if matches!(self.types.get(value.ty), Type::Struct(_) | Type::Void) || is_scoped_enum {
            let message = format!("'{}' cannot be a condition", self.types.text(value.ty));
            self.error_hint(value.span, message, "compare it with something");
            return Self::bad(value.span);
        }
        self.cast_to(value, TypeTable::BOOL)
    }
}
