//! How values differ between neighbouring work-items.

use super::aliasing::Place;
use crate::ir::{BinaryOp, CastKind, Function, Op, Special, SpecialKind, Value};
use rustc_hash::FxHashMap;

/// Steps when asking how a value follows from the index of the work-item.
const MAX_DEPTH: u32 = 24;

/// Differences between work-items that are neighbours along one axis.
pub struct Strides<'f> {
    function: &'f Function,
    axis: u8,
    memo: FxHashMap<Value, Option<i64>>,
}

impl<'f> Strides<'f> {
    pub fn new(function: &'f Function, axis: u8) -> Self {
        Self {
            function,
            axis,
            memo: FxHashMap::default(),
        }
    }

    /// By how many bytes an address grows from one work-item to the next, if that is one number for all.
    pub fn of_place(&mut self, place: &Place) -> Option<i64> {
        let mut sum = self.of(place.base, MAX_DEPTH)?;
        for (index, scale) in place.terms.iter() {
            let step = self.of(*index, MAX_DEPTH)?.checked_mul(*scale as i64)?;
            sum = sum.checked_add(step)?;
        }
        Some(sum)
    }

    fn of(&mut self, value: Value, depth: u32) -> Option<i64> {
        if depth == 0 {
            return None;
        }
        if let Some(known) = self.memo.get(&value) {
            return *known;
        }
        let found = self.find(value, depth - 1);
        self.memo.insert(value, found);
        found
    }

    fn find(&mut self, value: Value, depth: u32) -> Option<i64> {
        let function = self.function;
        match function.op(value) {
            op if op.is_floating() => Some(0),
            Op::Special(Special {
                kind: SpecialKind::Lane,
                ..
            }) => None,
            Op::Special(Special { kind, axis }) => Some(i64::from(
                *kind == SpecialKind::ThreadIndex && *axis == self.axis,
            )),
            Op::Cast(
                CastKind::ExtendSigned
                | CastKind::ExtendUnsigned
                | CastKind::Truncate
                | CastKind::AddressSpace,
                inner,
            ) => self.of(*inner, depth),
            Op::Binary(BinaryOp::Add, a, b) => self.of(*a, depth)?.checked_add(self.of(*b, depth)?),
            Op::Binary(BinaryOp::Subtract, a, b) => {
                self.of(*a, depth)?.checked_sub(self.of(*b, depth)?)
            }
            Op::Binary(BinaryOp::Multiply, a, b) => {
                let (one, other) = (self.of(*a, depth)?, self.of(*b, depth)?);
                match (function.constant(*a), function.constant(*b)) {
                    (_, Some(factor)) => one.checked_mul(factor as i64),
                    (Some(factor), _) => other.checked_mul(factor as i64),
                    _ => (one == 0 && other == 0).then_some(0),
                }
            }
            Op::Binary(BinaryOp::ShiftLeft, a, count) => {
                let factor = 1i64.checked_shl(function.constant(*count)? as u32)?;
                self.of(*a, depth)?.checked_mul(factor)
            }
            // Whatever else is made of what all work-items share is the same for all of them.
            op if op.is_pure() => {
                let mut is_uniform = true;
                op.for_each_operand(|operand| is_uniform &= self.of(operand, depth) == Some(0));
                is_uniform.then_some(0)
            }
            Op::Phi(inputs) => self.of_counter(value, &inputs.clone(), depth),
            _ => None,
        }
    }

    /// A value that a loop counts on by what is the same for all keeps the stride of its start. Other phis may differ between
    /// work-items that came different ways.
    fn of_counter(
        &mut self,
        value: Value,
        inputs: &[(crate::ir::BlockId, Value)],
        depth: u32,
    ) -> Option<i64> {
        let [(_, one), (_, other)] = *inputs else {
            return None;
        };
        for (start, next) in [(one, other), (other, one)] {
            if let Op::Binary(BinaryOp::Add, a, b) = self.function.op(next)
                && *a == value
            {
                return (self.of(*b, depth)? == 0)
                    .then(|| self.of(start, depth))
                    .flatten();
            }
        }
        None
    }
}
