//! Cheaper operations that give the same bits: shifts for multiplications and divisions by powers of two, products for quotients where
//! the reciprocal is exact, sums of constants, offsets of offsets, comparisons turned around, quotients put together with their
//! remainders.

mod quotients;

use super::replacement::Replacement;
use super::{Context, Pass};
use crate::ir::{BinaryOp, CastKind, Function, Intrinsic, Op, Predicate, Type, Value};

pub struct AlgebraicSimplification;

/// Steps when asking where a value comes from.
const MAX_DEPTH: u32 = 6;

impl Pass for AlgebraicSimplification {
    fn name(&self) -> &'static str {
        "algebraic"
    }

    fn run(&self, function: &mut Function, _: &mut Context<'_>) -> u64 {
        let mut changes = 0;
        let mut replacement = Replacement::default();
        for block in 0..function.blocks.len() {
            let values = std::mem::take(&mut function.blocks[block].instructions);
            let mut kept = Vec::with_capacity(values.len());
            for value in values {
                replacement.rename(&mut function.values[value.0 as usize].op);
                let mut makes = Makes {
                    function,
                    cast: None,
                };
                let new = makes.simplify(value);
                kept.extend(makes.cast);
                kept.push(value);
                match new {
                    Some(New::Op(op)) => function.values[value.0 as usize].op = op,
                    Some(New::Value(other)) => replacement.set(function, value, other),
                    None => continue,
                }
                changes += 1;
            }
            function.blocks[block].instructions = kept;
        }
        replacement.apply(function);
        changes
    }
}

enum New {
    Op(Op),
    Value(Value),
}

/// The function, to which simplification adds constants.
struct Makes<'f> {
    function: &'f mut Function,
    /// An instruction that belongs in front of the simplified one.
    cast: Option<Value>,
}

fn mask(ty: Type) -> u64 {
    if ty.bits() >= 64 {
        u64::MAX
    } else {
        (1 << ty.bits()) - 1
    }
}

impl Makes<'_> {
    fn constant(&mut self, ty: Type, bits: u64) -> Value {
        self.function
            .add_value(Op::Constant(bits & mask(ty)), ty, 0)
    }

    fn known(&self, value: Value) -> Option<u64> {
        self.function.constant(value)
    }

    fn simplify(&mut self, value: Value) -> Option<New> {
        let ty = self.function.ty(value);
        match *self.function.op(value) {
            Op::Binary(operation, a, b) if ty.is_integer() => self.integer(operation, ty, a, b),
            Op::Binary(operation, a, b) => self.float(operation, ty, a, b),
            Op::Compare(predicate, a, b) => self.compare(predicate, a, b),
            Op::Negate(a) => match self.function.op(a) {
                Op::Negate(inner) => Some(New::Value(*inner)),
                _ => None,
            },
            Op::Intrinsic(Intrinsic::Absolute, ref arguments) if ty.is_float() => {
                match self.function.op(arguments[0]) {
                    Op::Negate(inner) => {
                        Some(New::Op(Op::Intrinsic(Intrinsic::Absolute, vec![*inner])))
                    }
                    Op::Intrinsic(Intrinsic::Absolute, _) => Some(New::Value(arguments[0])),
                    _ => None,
                }
            }
            Op::Cast(kind, a) => self.cast(kind, a, ty),
            Op::Select(condition, a, b) => self.select(ty, condition, a, b),
            Op::Offset {
                pointer,
                index,
                scale,
            } => self
                .offset(pointer, index, scale)
                .or_else(|| self.element(value, pointer, index, scale)),
            _ => None,
        }
    }

    fn integer(&mut self, operation: BinaryOp, ty: Type, a: Value, b: Value) -> Option<New> {
        use BinaryOp as B;
        let is_commutative = matches!(operation, B::Add | B::Multiply | B::And | B::Or | B::Xor);
        if is_commutative && self.known(a).is_some() && self.known(b).is_none() {
            return Some(New::Op(Op::Binary(operation, b, a)));
        }
        if a == b {
            match operation {
                B::Subtract | B::Xor => return Some(New::Value(self.constant(ty, 0))),
                B::And | B::Or => return Some(New::Value(a)),
                _ => {}
            }
        }
        if let Some(new) = self.quotient(operation, ty, a, b) {
            return Some(new);
        }
        let bits = self.known(b)?;
        let power = bits.is_power_of_two().then(|| bits.trailing_zeros());
        match (operation, power) {
            (B::Multiply | B::And, _) if bits == 0 => Some(New::Value(b)),
            (B::Subtract, _) => {
                let negated = self.constant(ty, bits.wrapping_neg());
                Some(New::Op(Op::Binary(B::Add, a, negated)))
            }
            (B::Multiply, Some(count)) if count > 0 => {
                let count = self.constant(ty, u64::from(count));
                Some(New::Op(Op::Binary(B::ShiftLeft, a, count)))
            }
            (B::DivideUnsigned, Some(count)) => {
                let count = self.constant(ty, u64::from(count));
                Some(New::Op(Op::Binary(B::ShiftRightUnsigned, a, count)))
            }
            (B::RemainderUnsigned, Some(_)) => {
                let low = self.constant(ty, bits - 1);
                Some(New::Op(Op::Binary(B::And, a, low)))
            }
            // The sign bit as a divisor is negative.
            (B::DivideSigned, Some(count))
                if count + 1 < ty.bits() && self.is_not_negative(a, MAX_DEPTH) =>
            {
                let count = self.constant(ty, u64::from(count));
                Some(New::Op(Op::Binary(B::ShiftRightUnsigned, a, count)))
            }
            (B::RemainderSigned, Some(count))
                if count + 1 < ty.bits() && self.is_not_negative(a, MAX_DEPTH) =>
            {
                let low = self.constant(ty, bits - 1);
                Some(New::Op(Op::Binary(B::And, a, low)))
            }
            (B::Add | B::Multiply | B::And | B::Or | B::Xor, _) => {
                // (x op c) op d is x op (c op d).
                let Op::Binary(inner, x, c) = *self.function.op(a) else {
                    return self.inverted(operation, ty, a, bits);
                };
                match self.known(c) {
                    Some(other) if inner == operation => {
                        let joined = super::constant_folding::binary(operation, ty, other, bits);
                        let joined = self.constant(ty, joined);
                        Some(New::Op(Op::Binary(operation, x, joined)))
                    }
                    _ => None,
                }
            }
            (B::ShiftLeft | B::ShiftRightUnsigned, _) => {
                let Op::Binary(inner, x, c) = *self.function.op(a) else {
                    return None;
                };
                let width = u64::from(ty.bits());
                let count = self.known(c)? % width + bits % width;
                if inner != operation {
                    return None;
                }
                if count >= width {
                    return Some(New::Value(self.constant(ty, 0)));
                }
                let count = self.constant(ty, count);
                Some(New::Op(Op::Binary(operation, x, count)))
            }
            _ => None,
        }
    }

    /// The opposite of a comparison of integers is a comparison.
    fn inverted(&mut self, operation: BinaryOp, ty: Type, a: Value, bits: u64) -> Option<New> {
        use Predicate as P;
        if operation != BinaryOp::Xor || ty != Type::I1 || bits != 1 {
            return None;
        }
        let Op::Compare(predicate, x, y) = self.function.op(a).clone() else {
            return None;
        };
        let opposite = match predicate {
            P::Equal => P::NotEqual,
            P::NotEqual => P::Equal,
            P::LessSigned => P::GreaterEqualSigned,
            P::LessEqualSigned => P::GreaterSigned,
            P::GreaterSigned => P::LessEqualSigned,
            P::GreaterEqualSigned => P::LessSigned,
            P::LessUnsigned => P::GreaterEqualUnsigned,
            P::LessEqualUnsigned => P::GreaterUnsigned,
            P::GreaterUnsigned => P::LessEqualUnsigned,
            P::GreaterEqualUnsigned => P::LessUnsigned,
            P::EqualFloat => P::NotEqualFloat,
            P::NotEqualFloat => P::EqualFloat,
            // The others are false on NaN, and so would their opposites be.
            _ => return None,
        };
        Some(New::Op(Op::Compare(opposite, x, y)))
    }

    fn float(&mut self, operation: BinaryOp, ty: Type, a: Value, b: Value) -> Option<New> {
        use BinaryOp as B;
        if matches!(operation, B::AddFloat | B::SubtractFloat)
            && let Op::Negate(inner) = self.function.op(b)
        {
            let opposite = if operation == B::AddFloat {
                B::SubtractFloat
            } else {
                B::AddFloat
            };
            return Some(New::Op(Op::Binary(opposite, a, *inner)));
        }
        if operation != B::DivideFloat {
            return None;
        }
        // Dividing by a power of two and multiplying by its reciprocal scale alike, and round alike where the result is denormal,
        // as long as the reciprocal itself is a normal number.
        let bits = self.known(b)?;
        let reciprocal = match ty {
            Type::F32 => {
                let divisor = f32::from_bits(bits as u32);
                let is_power =
                    divisor.is_normal() && bits.trailing_zeros() >= f32::MANTISSA_DIGITS - 1;
                let reciprocal = divisor.recip();
                (is_power && reciprocal.is_normal()).then(|| u64::from(reciprocal.to_bits()))
            }
            Type::F64 => {
                let divisor = f64::from_bits(bits);
                let is_power =
                    divisor.is_normal() && bits.trailing_zeros() >= f64::MANTISSA_DIGITS - 1;
                let reciprocal = divisor.recip();
                (is_power && reciprocal.is_normal()).then(|| reciprocal.to_bits())
            }
            _ => None,
        }?;
        let factor = self.constant(ty, reciprocal);
        Some(New::Op(Op::Binary(B::MultiplyFloat, a, factor)))
    }

    fn compare(&mut self, predicate: Predicate, a: Value, b: Value) -> Option<New> {
        use Predicate as P;
        let ty = self.function.ty(a);
        if ty.is_float() {
            return None;
        }
        if a == b {
            let holds = matches!(
                predicate,
                P::Equal
                    | P::LessEqualSigned
                    | P::GreaterEqualSigned
                    | P::LessEqualUnsigned
                    | P::GreaterEqualUnsigned
            );
            return Some(New::Value(self.constant(Type::I1, u64::from(holds))));
        }
        if self.known(a).is_some() && self.known(b).is_none() {
            let turned = match predicate {
                P::LessSigned => P::GreaterSigned,
                P::LessEqualSigned => P::GreaterEqualSigned,
                P::GreaterSigned => P::LessSigned,
                P::GreaterEqualSigned => P::LessEqualSigned,
                P::LessUnsigned => P::GreaterUnsigned,
                P::LessEqualUnsigned => P::GreaterEqualUnsigned,
                P::GreaterUnsigned => P::LessUnsigned,
                P::GreaterEqualUnsigned => P::LessEqualUnsigned,
                other => other,
            };
            return Some(New::Op(Op::Compare(turned, b, a)));
        }
        // x + c == d where x == d - c; orders change when the sum wraps.
        if matches!(predicate, P::Equal | P::NotEqual)
            && ty.is_integer()
            && let Some(right) = self.known(b)
            && let Op::Binary(BinaryOp::Add, x, c) = *self.function.op(a)
            && let Some(left) = self.known(c)
        {
            let difference = self.constant(ty, right.wrapping_sub(left));
            return Some(New::Op(Op::Compare(predicate, x, difference)));
        }
        None
    }

    fn cast(&mut self, kind: CastKind, a: Value, ty: Type) -> Option<New> {
        let Op::Cast(inner, x) = *self.function.op(a) else {
            return None;
        };
        let source = self.function.ty(x);
        let extends = matches!(inner, CastKind::ExtendSigned | CastKind::ExtendUnsigned);
        match (kind, inner) {
            (CastKind::Truncate | CastKind::Reinterpret, _)
                if source == ty && (extends || inner == kind) =>
            {
                Some(New::Value(x))
            }
            (CastKind::Truncate, _) if extends && source.bits() < ty.bits() => {
                Some(New::Op(Op::Cast(inner, x)))
            }
            (CastKind::Truncate, _) if extends || inner == kind => {
                Some(New::Op(Op::Cast(CastKind::Truncate, x)))
            }
            (CastKind::ExtendSigned | CastKind::ExtendUnsigned, CastKind::ExtendUnsigned)
            | (CastKind::ExtendSigned, CastKind::ExtendSigned) => Some(New::Op(Op::Cast(inner, x))),
            _ => None,
        }
    }

    fn select(&mut self, ty: Type, condition: Value, a: Value, b: Value) -> Option<New> {
        if ty == Type::I1 {
            match (self.known(a), self.known(b)) {
                (Some(1), Some(0)) => return Some(New::Value(condition)),
                (None, Some(0)) => {
                    return Some(New::Op(Op::Binary(BinaryOp::And, condition, a)));
                }
                (Some(1), None) => return Some(New::Op(Op::Binary(BinaryOp::Or, condition, b))),
                _ => {}
            }
        }
        let Op::Binary(BinaryOp::Xor, inner, one) = self.function.op(condition).clone() else {
            return None;
        };
        (self.known(one) == Some(1)).then_some(New::Op(Op::Select(inner, b, a)))
    }

    /// Constant steps of an address become one.
    fn offset(&mut self, pointer: Value, index: Value, scale: u64) -> Option<New> {
        let step = (self.known(index)?).wrapping_mul(scale);
        let Op::Offset {
            pointer: base,
            index: inner,
            scale: inner_scale,
        } = self.function.op(pointer).clone()
        else {
            return None;
        };
        let before = self.known(inner)?.wrapping_mul(inner_scale);
        let sum = self.constant(Type::I64, before.wrapping_add(step));
        Some(New::Op(Op::Offset {
            pointer: base,
            index: sum,
            scale: 1,
        }))
    }

    /// Quotients that meet their remainders.
    fn quotient(&mut self, operation: BinaryOp, ty: Type, a: Value, b: Value) -> Option<New> {
        match operation {
            BinaryOp::Add => Some(match quotients::meeting(self.function, a, b)? {
                (whole, None) => New::Value(whole),
                (whole, Some(rest)) => New::Op(Op::Binary(BinaryOp::Add, rest, whole)),
            }),
            BinaryOp::Subtract => {
                let (operation, bits) = quotients::left_over(self.function, a, b)?;
                let bits = self.constant(ty, bits);
                Some(New::Op(Op::Binary(operation, a, bits)))
            }
            _ => None,
        }
    }

    /// The address of a row and then of a column becomes that of an element.
    fn element(&mut self, value: Value, pointer: Value, index: Value, scale: u64) -> Option<New> {
        let Op::Offset {
            pointer: base,
            index: row,
            scale: row_scale,
        } = *self.function.op(pointer)
        else {
            return None;
        };
        let (element, cast) = quotients::element(self.function, (row, row_scale), (index, scale))?;
        let index = match cast {
            None => element,
            Some(kind) => {
                let line = self.function.values[value.0 as usize].line;
                let cast = Op::Cast(kind, element);
                let cast = self.function.add_value(cast, Type::I64, line);
                self.cast = Some(cast);
                cast
            }
        };
        Some(New::Op(Op::Offset {
            pointer: base,
            index,
            scale,
        }))
    }

    /// Whether a value is never negative when taken as signed.
    fn is_not_negative(&self, value: Value, depth: u32) -> bool {
        if depth == 0 {
            return false;
        }
        let ty = self.function.ty(value);
        let again = |value: Value| self.is_not_negative(value, depth - 1);
        match self.function.op(value) {
            Op::Constant(bits) => bits >> (ty.bits() - 1) & 1 == 0,
            // Drivers give the sizes of launches as 32-bit signed numbers.
            Op::Special(_) | Op::Cast(CastKind::ExtendUnsigned, _) => true,
            Op::Cast(CastKind::ExtendSigned, inner) => again(*inner),
            Op::Binary(BinaryOp::And, a, b) => again(*a) || again(*b),
            Op::Binary(BinaryOp::Or | BinaryOp::Xor, a, b) | Op::Select(_, a, b) => {
                again(*a) && again(*b)
            }
            Op::Binary(BinaryOp::ShiftRightSigned, a, _) => again(*a),
            Op::Binary(BinaryOp::ShiftRightUnsigned, a, count) => {
                again(*a)
                    || self
                        .known(*count)
                        .is_some_and(|count| count % u64::from(ty.bits()) > 0)
            }
            Op::Binary(BinaryOp::DivideSigned | BinaryOp::RemainderSigned, a, b) => {
                again(*a) && self.known(*b).is_some_and(|_| again(*b))
            }
            Op::Binary(BinaryOp::RemainderUnsigned, a, b) => {
                // x % 0 is x.
                again(*a) || again(*b) && self.known(*b).is_some_and(|bits| bits != 0)
            }
            _ => false,
        }
    }
}
