//! Bit-fields: read by shifting the unit they lie in, written by putting them into it.

use super::{Address, Lowering};
use crate::hir::Place;
use crate::ir::{BinaryOp, CastKind, Op, Type, Value};
use crate::types::{BitRange, ScalarType, TypeId};

/// A bit-field whose address is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitPlace {
    address: Address,
    unit: Type,
    shift: u8,
    width: u8,
    is_signed: bool,
}

impl Lowering<'_> {
    pub(super) fn bit_place(&mut self, unit: &Place, range: BitRange) -> BitPlace {
        let address = self.place_address(unit);
        self.bit_place_at(address, unit.ty, range)
    }

    pub(super) fn bit_place_at(
        &mut self,
        address: Address,
        ty: TypeId,
        range: BitRange,
    ) -> BitPlace {
        let scalar = self.types.representation(ty).unwrap_or(ScalarType::Int);
        BitPlace {
            address,
            unit: match scalar.bytes() {
                1 => Type::I8,
                2 => Type::I16,
                4 => Type::I32,
                _ => Type::I64,
            },
            shift: range.shift,
            width: range.width,
            is_signed: scalar.is_signed(),
        }
    }

    pub(super) fn read_bits(&mut self, place: BitPlace, ty: TypeId) -> Value {
        let word = self.load(place.address, place.unit);
        let bits = place.unit.bits();
        let left = self.constant(
            place.unit,
            u64::from(bits - u32::from(place.shift) - u32::from(place.width)),
        );
        let right = self.constant(place.unit, u64::from(bits - u32::from(place.width)));
        let high = self.emit(Op::Binary(BinaryOp::ShiftLeft, word, left), place.unit);
        let shift = if place.is_signed {
            BinaryOp::ShiftRightSigned
        } else {
            BinaryOp::ShiftRightUnsigned
        };
        let value = self.emit(Op::Binary(shift, high, right), place.unit);
        if self.ir_type(ty) == Type::I1 {
            return self.is_not_zero(value);
        }
        value
    }

    pub(super) fn write_bits(&mut self, place: BitPlace, value: Value) {
        let value = match self.function.ty(value) {
            Type::I1 if place.unit != Type::I1 => {
                self.cast(CastKind::ExtendUnsigned, value, place.unit)
            }
            _ => value,
        };
        let ones = if place.width >= 64 {
            u64::MAX
        } else {
            (1 << place.width) - 1
        };
        let all = if place.unit.bits() >= 64 {
            u64::MAX
        } else {
            (1 << place.unit.bits()) - 1
        };
        let mask = self.constant(place.unit, ones);
        let shift = self.constant(place.unit, u64::from(place.shift));
        let rest = self.constant(place.unit, !(ones << place.shift) & all);
        let old = self.load(place.address, place.unit);
        let kept = self.emit(Op::Binary(BinaryOp::And, old, rest), place.unit);
        let low = self.emit(Op::Binary(BinaryOp::And, value, mask), place.unit);
        let new = self.emit(Op::Binary(BinaryOp::ShiftLeft, low, shift), place.unit);
        let word = self.emit(Op::Binary(BinaryOp::Or, kept, new), place.unit);
        self.store_to(place.address, word);
    }
}
