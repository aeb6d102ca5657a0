//! Half and bfloat16: 16 bits in memory and in values, `float` where something is computed. Every conversion rounds once.

use super::Lowering;
use crate::ir::{BinaryOp, CastKind, Intrinsic, Op, Predicate, Type, Value};
use crate::types::ScalarType;

impl Lowering<'_> {
    /// The float of the same value.
    pub(super) fn widened(&mut self, value: Value, from: ScalarType) -> Value {
        if from == ScalarType::Half {
            return self.emit(Op::Intrinsic(Intrinsic::WidenHalf, vec![value]), Type::F32);
        }
        let word = self.cast(CastKind::ExtendUnsigned, value, Type::I32);
        let count = self.constant(Type::I32, 16);
        let bits = self.emit(Op::Binary(BinaryOp::ShiftLeft, word, count), Type::I32);
        self.cast(CastKind::Reinterpret, bits, Type::F32)
    }

    /// Half or bfloat16 from a number of any type; `is_signed` is that of integers.
    pub(super) fn narrowed(&mut self, value: Value, to: ScalarType, is_signed: bool) -> Value {
        let source = self.function.ty(value);
        let single = match source {
            Type::F32 => value,
            Type::F64 => self.rounded_to_odd(value),
            // No half is larger than 2^16, and floats hold all integers up to 2^24.
            _ if to == ScalarType::Half || source.bits() <= 16 => {
                let kind = if is_signed {
                    CastKind::SignedToFloat
                } else {
                    CastKind::UnsignedToFloat
                };
                self.cast(kind, value, Type::F32)
            }
            _ => {
                let exact = self.integer_as_double(value, is_signed);
                self.rounded_to_odd(exact)
            }
        };
        let intrinsic = if to == ScalarType::Half {
            Intrinsic::NarrowHalf
        } else {
            Intrinsic::NarrowBfloat
        };
        self.emit(Op::Intrinsic(intrinsic, vec![single]), Type::I16)
    }

    /// A double that rounds to bfloat16 as the integer does: of 64-bit integers the low 12 bits are one bit that says whether
    /// any was set, unless all of the number fits.
    fn integer_as_double(&mut self, value: Value, is_signed: bool) -> Value {
        let kind = if is_signed {
            CastKind::SignedToFloat
        } else {
            CastKind::UnsignedToFloat
        };
        if self.function.ty(value) != Type::I64 {
            return self.cast(kind, value, Type::F64);
        }
        let zero = self.constant(Type::I64, 0);
        let thirty = self.constant(Type::I64, 30);
        let low_mask = self.constant(Type::I64, 0xfff);
        let high_mask = self.constant(Type::I64, !0xfff);
        let shift = if is_signed {
            BinaryOp::ShiftRightSigned
        } else {
            BinaryOp::ShiftRightUnsigned
        };
        let top = self.emit(Op::Binary(shift, value, thirty), Type::I64);
        // 0 and -1: the number has at most 31 bits.
        let one = self.constant(Type::I64, 1);
        let top = self.emit(Op::Binary(BinaryOp::Add, top, one), Type::I64);
        let is_small = self.emit(
            Op::Compare(Predicate::LessEqualUnsigned, top, one),
            Type::I1,
        );
        let low = self.emit(Op::Binary(BinaryOp::And, value, low_mask), Type::I64);
        let has_low = self.emit(Op::Compare(Predicate::NotEqual, low, zero), Type::I1);
        let sticky = self.cast(CastKind::ExtendUnsigned, has_low, Type::I64);
        let twelve = self.constant(Type::I64, 12);
        let sticky = self.emit(Op::Binary(BinaryOp::ShiftLeft, sticky, twelve), Type::I64);
        let high = self.emit(Op::Binary(BinaryOp::And, value, high_mask), Type::I64);
        let large = self.emit(Op::Binary(BinaryOp::Or, high, sticky), Type::I64);
        let kept = self.emit(Op::Select(is_small, value, large), Type::I64);
        self.cast(kind, kept, Type::F64)
    }

    /// The nearest float, its last bit set when the double is not a float: rounding it again is rounding once.
    fn rounded_to_odd(&mut self, value: Value) -> Value {
        let nearest = self.cast(CastKind::NarrowFloat, value, Type::F32);
        let back = self.cast(CastKind::WidenFloat, nearest, Type::F64);
        let bits = self.cast(CastKind::Reinterpret, nearest, Type::I32);
        let one = self.constant(Type::I32, 1);
        let last = self.emit(Op::Binary(BinaryOp::And, bits, one), Type::I32);
        let zero = self.constant(Type::I32, 0);
        let is_even = self.emit(Op::Compare(Predicate::Equal, last, zero), Type::I1);
        let is_inexact = self.emit(Op::Compare(Predicate::NotEqualFloat, back, value), Type::I1);
        let changes = self.emit(Op::Binary(BinaryOp::And, is_even, is_inexact), Type::I1);
        let size = self.emit(Op::Intrinsic(Intrinsic::Absolute, vec![value]), Type::F64);
        let back_size = self.emit(Op::Intrinsic(Intrinsic::Absolute, vec![back]), Type::F64);
        let is_below = self.emit(Op::Compare(Predicate::LessFloat, back_size, size), Type::I1);
        let up = self.emit(Op::Binary(BinaryOp::Add, bits, one), Type::I32);
        let down = self.emit(Op::Binary(BinaryOp::Subtract, bits, one), Type::I32);
        let neighbour = self.emit(Op::Select(is_below, up, down), Type::I32);
        let odd = self.emit(Op::Select(changes, neighbour, bits), Type::I32);
        self.cast(CastKind::Reinterpret, odd, Type::F32)
    }
}
