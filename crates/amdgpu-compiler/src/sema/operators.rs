//! Operators: arithmetic with the usual conversions, comparisons, pointers, assignments.

use super::Sema;
use super::conversions::Context;
use super::expressions::Checked;
use super::members::operator_name;
use crate::ast::{self, BinaryOp, UnaryOp};
use crate::hir::{Expr, ExprKind, Place, PlaceKind};
use crate::interner::words;
use crate::source::Span;
use crate::types::{ScalarType, Type, TypeId, TypeTable};

impl<'a> Sema<'a> {
    pub(super) fn unary_value(&mut self, operation: UnaryOp, value: Expr, span: Span) -> Expr {
        if value.ty == TypeTable::ERROR {
            return Self::bad(span);
        }
        if operation == UnaryOp::Not {
            let value = self.condition(value);
            return Expr {
                kind: ExprKind::Not(Box::new(value)),
                ty: TypeTable::BOOL,
                span,
            };
        }
        let value = self.as_number(value);
        let Some(scalar) = self
            .types
            .as_scalar(value.ty)
            .filter(|scalar| operation != UnaryOp::Complement || !scalar.is_float())
        else {
            let sign = match operation {
                UnaryOp::Plus => "+",
                UnaryOp::Minus => "-",
                _ => "~",
            };
            let message = format!("'{sign}' does not apply to '{}'", self.types.text(value.ty));
            self.error(span, message);
            return Self::bad(span);
        };
        if scalar.is_narrow_float() && operation == UnaryOp::Minus {
            let ty = value.ty;
            let wide = self.types.scalar(ScalarType::Float);
            let value = self.cast_to(value, wide);
            let negated = self.unary_value(operation, value, span);
            return self.cast_to(negated, ty);
        }
        let ty = self.types.scalar(scalar.promoted());
        let value = self.cast_to(value, ty);
        let kind = match (operation, &value.kind) {
            (UnaryOp::Plus, _) => return value,
            (UnaryOp::Minus, ExprKind::Integer(number)) => {
                ExprKind::Integer(scalar.promoted().wrap(number.wrapping_neg()))
            }
            (UnaryOp::Minus, ExprKind::Float(number)) => ExprKind::Float(-number),
            (UnaryOp::Minus, _) => ExprKind::Negate(Box::new(value)),
            _ => ExprKind::Complement(Box::new(value)),
        };
        Expr { kind, ty, span }
    }

    pub(super) fn step(
        &mut self,
        object: &'a ast::Expr,
        is_increment: bool,
        is_prefix: bool,
        span: Span,
    ) -> Checked {
        let purpose = if is_increment {
            "incremented"
        } else {
            "decremented"
        };
        let Some(place) = self.writable(object, purpose) else {
            return Checked::Value(Self::bad(span));
        };
        if matches!(self.types.get(place.ty), Type::Struct(_)) {
            let name = if is_increment {
                words::OPERATOR_INCREMENT
            } else {
                words::OPERATOR_DECREMENT
            };
            let mut operands = vec![Checked::Place(place)];
            if !is_prefix {
                // C++ tells `a++` from `++a` by an int that nobody reads.
                operands.push(Checked::Value(self.zero(TypeTable::INT, span)));
            }
            return match self.operator_call(name, operands, span) {
                Ok(result) => result,
                Err(operands) => {
                    let text = operands.first().map_or_else(String::new, |operand| {
                        self.types.text(super::calls::type_of(operand))
                    });
                    self.error(span, format!("'{text}' cannot be {purpose}"));
                    Checked::Value(Self::bad(span))
                }
            };
        }
        let is_pointer = matches!(self.types.get(place.ty), Type::Pointer { pointee, .. } if pointee != TypeTable::VOID);
        let is_number =
            matches!(self.types.get(place.ty), Type::Scalar(_)) && place.ty != TypeTable::BOOL;
        if !is_pointer && !is_number {
            let message = format!("'{}' cannot be {purpose}", self.types.text(place.ty));
            self.error(span, message);
            return Checked::Value(Self::bad(span));
        }
        let ty = place.ty;
        Checked::Value(Expr {
            kind: ExprKind::Step {
                place: Box::new(place),
                is_increment,
                is_prefix,
            },
            ty,
            span,
        })
    }

    pub(super) fn binary(
        &mut self,
        operation: BinaryOp,
        left: &'a ast::Expr,
        right: &'a ast::Expr,
        span: Span,
    ) -> Checked {
        let left = self.check_expr(left);
        let right = self.check_expr(right);
        self.binary_checked(operation, left, right, span)
    }

    pub(super) fn binary_checked(
        &mut self,
        operation: BinaryOp,
        left: Checked,
        right: Checked,
        span: Span,
    ) -> Checked {
        let operands = match operator_name(operation) {
            Some(name) => match self.operator_call(name, vec![left, right], span) {
                Ok(result) => return result,
                Err(operands) => operands,
            },
            None => vec![left, right],
        };
        let mut values = operands.into_iter().map(|operand| self.loaded(operand));
        let (Some(left), Some(right)) = (values.next(), values.next()) else {
            return Checked::Value(Self::bad(span));
        };
        drop(values);
        Checked::Value(self.binary_values(operation, left, right, span))
    }

    fn binary_values(&mut self, operation: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        if left.ty == TypeTable::ERROR || right.ty == TypeTable::ERROR {
            return Self::bad(span);
        }
        if matches!(operation, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
            let left = self.condition(left);
            let right = self.condition(right);
            return Expr {
                kind: ExprKind::Binary(operation, Box::new(left), Box::new(right)),
                ty: TypeTable::BOOL,
                span,
            };
        }
        let left = self.as_number(left);
        let right = self.as_number(right);
        if let Some(result) = self.pointer_operation(operation, &left, &right, span) {
            return result;
        }
        if operation.is_comparison()
            && left.ty == right.ty
            && matches!(self.types.get(left.ty), Type::Enum(_))
        {
            return Expr {
                kind: ExprKind::Binary(operation, Box::new(left), Box::new(right)),
                ty: TypeTable::BOOL,
                span,
            };
        }
        let (Some(left_scalar), Some(right_scalar)) = (
            self.types.as_scalar(left.ty),
            self.types.as_scalar(right.ty),
        ) else {
            return self.no_operator(operation, &left, &right, span);
        };
        let needs_integers = matches!(
            operation,
            BinaryOp::Remainder
                | BinaryOp::ShiftLeft
                | BinaryOp::ShiftRight
                | BinaryOp::And
                | BinaryOp::Or
                | BinaryOp::Xor
        );
        if needs_integers && (left_scalar.is_float() || right_scalar.is_float()) {
            if operation == BinaryOp::Remainder {
                let message = format!(
                    "'%' does not apply to '{}' and '{}'",
                    self.types.text(left.ty),
                    self.types.text(right.ty)
                );
                self.error_hint(span, message, "for floating point use fmodf or fmod");
                return Self::bad(span);
            }
            return self.no_operator(operation, &left, &right, span);
        }
        let is_shift = matches!(operation, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
        let common = if is_shift {
            left_scalar.promoted()
        } else {
            left_scalar.common(right_scalar)
        };
        let ty = self.types.scalar(common);
        let mut left = self.cast_to(left, ty);
        // The count of a shift has a type of its own in C; its low bits are all that matters.
        let mut right = self.cast_to(right, ty);
        if common.is_narrow_float() {
            let wide = self.types.scalar(ScalarType::Float);
            left = self.cast_to(left, wide);
            right = self.cast_to(right, wide);
        }
        if matches!(operation, BinaryOp::Divide | BinaryOp::Remainder)
            && matches!(right.kind, ExprKind::Integer(0))
        {
            self.diagnostics.error(
                span,
                "division by zero",
                Some("the divisor is the constant 0"),
            );
            return Self::bad(span);
        }
        let result = if operation.is_comparison() {
            TypeTable::BOOL
        } else {
            ty
        };
        let compute = if operation.is_comparison() {
            result
        } else {
            left.ty
        };
        let value = self.folded(Expr {
            kind: ExprKind::Binary(operation, Box::new(left), Box::new(right)),
            ty: compute,
            span,
        });
        self.cast_to(value, result)
    }

    /// Operations on literals become literals: sizes and indices made of macros stay constants, and a product of constants is
    /// rounded by itself, as clang does, and not fused into a sum.
    fn folded(&self, expr: Expr) -> Expr {
        let is_literal =
            |side: &Expr| matches!(side.kind, ExprKind::Integer(_) | ExprKind::Float(_));
        let both = match &expr.kind {
            ExprKind::Binary(_, left, right) => is_literal(left) && is_literal(right),
            _ => false,
        };
        match self.evaluate(&expr).filter(|_| both) {
            Some(constant) => Self::constant_expr(constant, expr.ty, expr.span),
            None => expr,
        }
    }

    fn no_operator(&mut self, operation: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Expr {
        let message = format!(
            "'{}' does not apply to '{}' and '{}'",
            operation.text(),
            self.types.text(left.ty),
            self.types.text(right.ty)
        );
        let has_struct = [left, right]
            .iter()
            .any(|side| matches!(self.types.get(side.ty), Type::Struct(_)));
        self.error_hint(
            span,
            message,
            if has_struct {
                "define the operator as a __device__ function, or work on the fields"
            } else {
                "convert one side"
            },
        );
        Self::bad(span)
    }

    fn pointer_operation(
        &mut self,
        operation: BinaryOp,
        left: &Expr,
        right: &Expr,
        span: Span,
    ) -> Option<Expr> {
        let (left_type, right_type) = (self.types.get(left.ty), self.types.get(right.ty));
        let is_pointer = |ty: Type| matches!(ty, Type::Pointer { .. } | Type::Null);
        if !is_pointer(left_type) && !is_pointer(right_type) {
            return None;
        }
        let bad = Some(Self::bad(span));
        match (left_type, right_type, operation) {
            (
                Type::Pointer { .. },
                Type::Scalar(_) | Type::Enum(_),
                BinaryOp::Add | BinaryOp::Subtract,
            ) => {
                let is_negative = operation == BinaryOp::Subtract;
                self.offset(left.clone(), right.clone(), is_negative, span)
                    .or(bad)
            }
            (Type::Scalar(_) | Type::Enum(_), Type::Pointer { .. }, BinaryOp::Add) => self
                .offset(right.clone(), left.clone(), false, span)
                .or(bad),
            (
                Type::Pointer { pointee: one, .. },
                Type::Pointer { pointee: other, .. },
                BinaryOp::Subtract,
            ) if one == other && one != TypeTable::VOID => Some(Expr {
                kind: ExprKind::Distance(Box::new(left.clone()), Box::new(right.clone())),
                ty: TypeTable::LONG,
                span,
            }),
            (_, _, comparison) if comparison.is_comparison() => {
                let target = if matches!(left_type, Type::Pointer { .. }) {
                    left.ty
                } else {
                    right.ty
                };
                let is_zero =
                    |side: &Expr| matches!(side.kind, ExprKind::Integer(0) | ExprKind::Null);
                let same = match (left_type, right_type) {
                    (Type::Pointer { pointee: one, .. }, Type::Pointer { pointee: other, .. }) => {
                        one == other || one == TypeTable::VOID || other == TypeTable::VOID
                    }
                    _ => is_zero(left) || is_zero(right),
                };
                if !same {
                    return Some(self.no_operator(operation, left, right, span));
                }
                let left = self.cast_to(left.clone(), target);
                let right = self.cast_to(right.clone(), target);
                Some(Expr {
                    kind: ExprKind::Binary(operation, Box::new(left), Box::new(right)),
                    ty: TypeTable::BOOL,
                    span,
                })
            }
            _ => Some(self.no_operator(operation, left, right, span)),
        }
    }

    pub(super) fn assign(
        &mut self,
        operation: Option<BinaryOp>,
        target: &'a ast::Expr,
        source: &'a ast::Expr,
        span: Span,
    ) -> Checked {
        let place = self.writable(target, "assigned to");
        let Some(operation) = operation else {
            let value = match (&source.kind, &place) {
                (ast::ExprKind::List(values), Some(place)) => {
                    let ty = place.ty;
                    self.list_value(values, ty, source.span)
                }
                (_, Some(place)) if self.has_method(place.ty, words::OPERATOR_ASSIGN) => {
                    let source = self.check_expr(source);
                    let ty = place.ty;
                    if super::calls::type_of(&source) == ty && !self.assigns_itself(ty) {
                        let value = self.assigned(source, ty, span);
                        return Checked::Value(Expr {
                            kind: ExprKind::Assign(Box::new(place.clone()), Box::new(value)),
                            ty,
                            span,
                        });
                    }
                    let operands = vec![Checked::Place(place.clone()), source];
                    return match self.operator_call(words::OPERATOR_ASSIGN, operands, span) {
                        Ok(result) => result,
                        Err(_) => Checked::Value(Self::bad(span)),
                    };
                }
                (_, Some(place)) => {
                    let ty = place.ty;
                    let source = self.check_expr(source);
                    self.assigned(source, ty, span)
                }
                _ => self.value(source),
            };
            let Some(place) = place else {
                return Checked::Value(Self::bad(span));
            };
            let ty = place.ty;
            let value = self.convert(value, ty, Context::Assignment);
            return Checked::Value(Expr {
                kind: ExprKind::Assign(Box::new(place), Box::new(value)),
                ty,
                span,
            });
        };
        let value = self.check_expr(source);
        let Some(place) = place else {
            return Checked::Value(Self::bad(span));
        };
        let (place, value) = if matches!(self.types.get(place.ty), Type::Struct(_))
            && let Some(name) = super::members::assignment_name(operation)
        {
            let operands = vec![Checked::Place(place.clone()), value];
            match self.operator_call(name, operands, span) {
                Ok(result) => return result,
                Err(mut operands) => match operands.pop() {
                    Some(value) => (place, value),
                    None => return Checked::Value(Self::bad(span)),
                },
            }
        } else {
            (place, value)
        };
        let value = self.loaded(value);
        Checked::Value(self.compound(operation, place, value, span))
    }

    fn compound(&mut self, operation: BinaryOp, place: Place, value: Expr, span: Span) -> Expr {
        let ty = place.ty;
        if value.ty == TypeTable::ERROR {
            return Self::bad(span);
        }
        // The same checks and conversions as `place op value`, on a value that stands for the place.
        let stand_in = Expr {
            kind: ExprKind::Load(Box::new(place.clone())),
            ty,
            span,
        };
        let result = self.binary_values(operation, stand_in, value, span);
        // What half and bfloat16 compute is narrowed again.
        let result = match result.kind {
            ExprKind::Cast(inner) => *inner,
            _ => result,
        };
        let (compute, right) = match result.kind {
            ExprKind::Binary(_, left, right) => (left.ty, right),
            // `number += pointer` would make a pointer of the number.
            ExprKind::Offset { index, .. } if result.ty == ty => (ty, index),
            _ => {
                if result.ty != TypeTable::ERROR {
                    let message = format!("'{}=' does not apply here", operation.text());
                    self.error(span, message);
                }
                return Self::bad(span);
            }
        };
        Expr {
            kind: ExprKind::Compound {
                operation,
                place: Box::new(place),
                value: right,
                compute,
            },
            ty,
            span,
        }
    }

    /// `condition ? a : b` where a place is wanted: one of the two, when they are of one type.
    pub(super) fn conditional_place(
        &mut self,
        condition: &'a ast::Expr,
        yes: &'a ast::Expr,
        no: &'a ast::Expr,
        span: Span,
    ) -> Checked {
        let condition = self.value(condition);
        let condition = self.condition(condition);
        let yes = self.check_expr(yes);
        let no = self.check_expr(no);
        self.chosen_place(condition, yes, no, span)
    }

    /// A choice whose value is all that is wanted; of objects that are copied by a constructor only the chosen one may be.
    pub(super) fn choice(
        &mut self,
        condition: &'a ast::Expr,
        yes: &'a ast::Expr,
        no: &'a ast::Expr,
        span: Span,
    ) -> Checked {
        if !self.has_copies() {
            return Checked::Value(self.conditional(condition, yes, no, span));
        }
        let condition = self.value(condition);
        let condition = self.condition(condition);
        let yes = self.check_expr(yes);
        let no = self.check_expr(no);
        if self.copies_by_call(super::calls::type_of(&yes)) {
            return self.chosen_place(condition, yes, no, span);
        }
        let yes = self.loaded(yes);
        let no = self.loaded(no);
        Checked::Value(self.conditional_values(condition, yes, no, span))
    }

    fn chosen_place(&mut self, condition: Expr, yes: Checked, no: Checked, span: Span) -> Checked {
        let is_plain =
            |place: &Place| !matches!(place.kind, PlaceKind::Bits(..) | PlaceKind::Temporary(_));
        if let (Checked::Place(yes), Checked::Place(no)) = (&yes, &no)
            && yes.ty == no.ty
            && yes.ty != TypeTable::ERROR
            && is_plain(yes)
            && is_plain(no)
        {
            let is_const = yes.is_const || no.is_const;
            let is_volatile = self.is_volatile_place(yes) || self.is_volatile_place(no);
            let ty = yes.ty;
            let pointer = self.types.qualified_pointer(ty, is_const, is_volatile);
            let mut address = |place: &Place| {
                self.mark_in_memory(place);
                Box::new(Expr {
                    kind: ExprKind::AddressOf(Box::new(place.clone())),
                    ty: pointer,
                    span,
                })
            };
            let (yes, no) = (address(yes), address(no));
            let chosen = Expr {
                kind: ExprKind::Conditional(Box::new(condition), yes, no),
                ty: pointer,
                span,
            };
            return Checked::Place(Place {
                kind: PlaceKind::Dereference(chosen),
                ty,
                is_const,
                span,
            });
        }
        let yes = self.loaded(yes);
        let no = self.loaded(no);
        Checked::Value(self.conditional_values(condition, yes, no, span))
    }

    pub(super) fn conditional(
        &mut self,
        condition: &'a ast::Expr,
        yes: &'a ast::Expr,
        no: &'a ast::Expr,
        span: Span,
    ) -> Expr {
        let condition = self.value(condition);
        let condition = self.condition(condition);
        let yes = self.value(yes);
        let no = self.value(no);
        self.conditional_values(condition, yes, no, span)
    }

    fn conditional_values(&mut self, condition: Expr, yes: Expr, no: Expr, span: Span) -> Expr {
        if yes.ty == TypeTable::ERROR || no.ty == TypeTable::ERROR {
            return Self::bad(span);
        }
        let Some(ty) = self.common_type(&yes, &no) else {
            let message = format!(
                "the two values of '?' have the types '{}' and '{}'",
                self.types.text(yes.ty),
                self.types.text(no.ty)
            );
            self.error_hint(span, message, "convert one of them");
            return Self::bad(span);
        };
        let yes = self.cast_to(yes, ty);
        let no = self.cast_to(no, ty);
        Expr {
            kind: ExprKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no)),
            ty,
            span,
        }
    }

    fn common_type(&mut self, left: &Expr, right: &Expr) -> Option<TypeId> {
        if left.ty == right.ty {
            return Some(left.ty);
        }
        if let (Some(one), Some(other)) = (
            self.types.as_scalar(left.ty),
            self.types.as_scalar(right.ty),
        ) {
            return Some(self.types.scalar(one.common(other)));
        }
        if self.fit(left.ty, right.ty, Some(left)).is_some() {
            return Some(right.ty);
        }
        self.fit(right.ty, left.ty, Some(right)).map(|_| left.ty)
    }
}
