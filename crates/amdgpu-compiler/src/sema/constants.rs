//! Values known at compile time.

use super::Sema;
use crate::ast::{self, BinaryOp};
use crate::hir::{Constant, Expr, ExprKind, GlobalId, Place, PlaceKind};
use crate::ir::GlobalKind;
use crate::narrow_float;
use crate::types::{ScalarType, Type, TypeTable};

impl<'a> Sema<'a> {
    /// The value of an integer constant expression.
    pub(super) fn constant_integer(&mut self, expr: &'a ast::Expr) -> Option<i64> {
        let checked = self.value(expr);
        match self.evaluate(&checked)? {
            Constant::Integer(value) => Some(value),
            Constant::Float(_) => None,
        }
    }

    /// The value of an expression, if it is known. Integers are kept wrapped to their type.
    pub(super) fn evaluate(&self, expr: &Expr) -> Option<Constant> {
        match &expr.kind {
            _ if expr.ty == TypeTable::ERROR => None,
            ExprKind::Integer(value) => Some(Constant::Integer(*value)),
            ExprKind::Float(value) => Some(Constant::Float(*value)),
            ExprKind::Load(place) => match place.kind {
                PlaceKind::Local(local) => self.current.locals[local.0 as usize].constant,
                _ => self.table_value(place),
            },
            ExprKind::Cast(value) => {
                let from = self.types.representation(value.ty)?;
                let to = self.types.representation(expr.ty)?;
                Some(convert_constant(self.evaluate(value)?, from, to))
            }
            ExprKind::Negate(value) => match self.evaluate(value)? {
                Constant::Integer(number) => Some(self.wrapped(expr, number.wrapping_neg())),
                Constant::Float(number) => Some(Constant::Float(-number)),
            },
            ExprKind::Complement(value) => match self.evaluate(value)? {
                Constant::Integer(number) => Some(self.wrapped(expr, !number)),
                Constant::Float(_) => None,
            },
            ExprKind::Not(value) => match self.evaluate(value)? {
                Constant::Integer(number) => Some(Constant::Integer(i64::from(number == 0))),
                Constant::Float(_) => None,
            },
            ExprKind::Binary(operation, left, right) => {
                let ty = self.types.representation(left.ty)?;
                binary(*operation, ty, self.evaluate(left)?, self.evaluate(right)?)
            }
            ExprKind::Conditional(condition, yes, no) => match self.evaluate(condition)? {
                Constant::Integer(0) => self.evaluate(no),
                _ => self.evaluate(yes),
            },
            ExprKind::Call(function, arguments) => self.evaluate_call(*function, arguments),
            _ => None,
        }
    }

    /// An element of a constant table.
    fn table_value(&self, place: &Place) -> Option<Constant> {
        let (global, offset) = self.table_place(place)?;
        let global = &self.program.globals[global.0 as usize];
        if global.kind != GlobalKind::Table {
            return None;
        }
        let ty = self.types.representation(place.ty)?;
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(ty.bytes() as usize)?;
        if end as u64 > self.types.bytes(global.ty) {
            return None;
        }
        let mut word = [0u8; 8];
        for (byte, at) in word.iter_mut().zip(start..end) {
            *byte = global.bytes.get(at).copied().unwrap_or(0);
        }
        let bits = u64::from_le_bytes(word);
        match ty {
            ScalarType::Double => Some(Constant::Float(f64::from_bits(bits))),
            ScalarType::Float => Some(Constant::Float(f64::from(f32::from_bits(bits as u32)))),
            _ if ty.is_float() => None,
            _ => Some(Constant::Integer(ty.wrap(bits as i64))),
        }
    }

    /// Which bytes of which global a place is, if that is known.
    fn table_place(&self, place: &Place) -> Option<(GlobalId, u64)> {
        match &place.kind {
            PlaceKind::Global(global) => Some((*global, 0)),
            PlaceKind::Field(inner, offset) => {
                let (global, start) = self.table_place(inner)?;
                Some((global, start.checked_add(*offset)?))
            }
            PlaceKind::Dereference(pointer) => self.table_pointer(pointer),
            _ => None,
        }
    }

    fn table_pointer(&self, pointer: &Expr) -> Option<(GlobalId, u64)> {
        match &pointer.kind {
            ExprKind::AddressOf(place) => self.table_place(place),
            ExprKind::Offset {
                pointer,
                index,
                is_negative: false,
            } => {
                let (global, start) = self.table_pointer(pointer)?;
                let Type::Pointer { pointee, .. } = self.types.get(pointer.ty) else {
                    return None;
                };
                let Constant::Integer(index) = self.evaluate(index)? else {
                    return None;
                };
                let bytes = u64::try_from(index).ok()?;
                let bytes = bytes.checked_mul(self.types.bytes(pointee))?;
                Some((global, start.checked_add(bytes)?))
            }
            _ => None,
        }
    }

    fn wrapped(&self, expr: &Expr, value: i64) -> Constant {
        let ty = self
            .types
            .representation(expr.ty)
            .unwrap_or(ScalarType::LongLong);
        Constant::Integer(ty.wrap(value))
    }
}

fn round(ty: ScalarType, value: f64) -> f64 {
    match ty {
        ScalarType::Float => f64::from(value as f32),
        ScalarType::Half | ScalarType::BFloat16 => narrow_float::round(ty, value),
        _ => value,
    }
}

pub(super) fn convert_constant(value: Constant, from: ScalarType, to: ScalarType) -> Constant {
    match value {
        Constant::Integer(value) if to.is_float() => {
            // Straight to float where that is the target: through double it would be rounded twice.
            let float = match (to, from.is_signed()) {
                (ScalarType::Float, true) => f64::from(value as f32),
                (ScalarType::Float, false) => f64::from(value as u64 as f32),
                (ScalarType::Half | ScalarType::BFloat16, is_signed) => {
                    narrow_float::round_integer(to, value, is_signed)
                }
                (_, true) => value as f64,
                (_, false) => value as u64 as f64,
            };
            Constant::Float(float)
        }
        Constant::Integer(value) => Constant::Integer(to.wrap(value)),
        Constant::Float(value) if to.is_float() => Constant::Float(round(to, value)),
        Constant::Float(value) if to == ScalarType::Bool => {
            Constant::Integer(i64::from(value != 0.0))
        }
        // Saturating, as the conversion instructions of the language are defined; see docs/language.md.
        Constant::Float(value) => Constant::Integer(match (to.bytes(), to.is_signed()) {
            (8, true) => value as i64,
            (8, false) => value as u64 as i64,
            (4, false) => i64::from(value as u32),
            (_, _) => to.wrap(i64::from(value as i32)),
        }),
    }
}

pub(super) fn binary(
    operation: BinaryOp,
    ty: ScalarType,
    left: Constant,
    right: Constant,
) -> Option<Constant> {
    use BinaryOp as B;
    let truth = |value: bool| Some(Constant::Integer(i64::from(value)));
    match (left, right) {
        (Constant::Integer(left), Constant::Integer(right)) => {
            let (unsigned_left, unsigned_right) = (left as u64, right as u64);
            let bits = ty.bytes() * 8;
            let value = match operation {
                B::Add => left.wrapping_add(right),
                B::Subtract => left.wrapping_sub(right),
                B::Multiply => left.wrapping_mul(right),
                B::Divide | B::Remainder if right == 0 => return None,
                B::Divide if ty.is_signed() => left.wrapping_div(right),
                B::Divide => (unsigned_left / unsigned_right) as i64,
                B::Remainder if ty.is_signed() => left.wrapping_rem(right),
                B::Remainder => (unsigned_left % unsigned_right) as i64,
                B::ShiftLeft => left.wrapping_shl(right as u32 & (bits - 1)),
                B::ShiftRight if ty.is_signed() => left.wrapping_shr(right as u32 & (bits - 1)),
                B::ShiftRight => unsigned_left.wrapping_shr(right as u32 & (bits - 1)) as i64,
                B::And => left & right,
                B::Or => left | right,
                B::Xor => left ^ right,
                B::Equal => return truth(left == right),
                B::NotEqual => return truth(left != right),
                B::LogicalAnd => return truth(left != 0 && right != 0),
                B::LogicalOr => return truth(left != 0 || right != 0),
                B::Less => {
                    return truth(if ty.is_signed() {
                        left < right
                    } else {
                        unsigned_left < unsigned_right
                    });
                }
                B::LessEqual => {
                    return truth(if ty.is_signed() {
                        left <= right
                    } else {
                        unsigned_left <= unsigned_right
                    });
                }
                B::Greater => {
                    return truth(if ty.is_signed() {
                        left > right
                    } else {
                        unsigned_left > unsigned_right
                    });
                }
                B::GreaterEqual => {
                    return truth(if ty.is_signed() {
                        left >= right
                    } else {
                        unsigned_left >= unsigned_right
                    });
                }
            };
            Some(Constant::Integer(ty.wrap(value)))
        }
        (Constant::Float(left), Constant::Float(right)) => {
            let value = match operation {
                B::Add => left + right,
                B::Subtract => left - right,
                B::Multiply => left * right,
                B::Divide => left / right,
                B::Less => return truth(left < right),
                B::LessEqual => return truth(left <= right),
                B::Greater => return truth(left > right),
                B::GreaterEqual => return truth(left >= right),
                #[allow(clippy::float_cmp)] // The language's own comparison.
                B::Equal => return truth(left == right),
                #[allow(clippy::float_cmp)]
                B::NotEqual => return truth(left != right),
                _ => return None,
            };
            // One rounding of an operation on floats done in double is the same as the operation in float.
            Some(Constant::Float(round(ty, value)))
        }
        _ => None,
    }
}
