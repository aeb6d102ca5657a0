//! Computes what is known at compile time, and simplifies by identities that hold for every value (NaN and -0 included).

use super::replacement::Replacement;
use super::{Context, Pass};
use crate::ir::{BinaryOp, CastKind, Function, Intrinsic, Op, Predicate, Terminator, Type, Value};

pub struct ConstantFolding;

impl Pass for ConstantFolding {
    fn name(&self) -> &'static str {
        "constant-folding"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        run(function, ctx)
    }
}

fn run(function: &mut Function, ctx: &mut Context<'_>) -> u64 {
    let mut replacement = Replacement::default();
    let mut changes = 0;
    for block in 0..function.blocks.len() {
        for position in 0..function.blocks[block].instructions.len() {
            let value = function.blocks[block].instructions[position];
            replacement.rename(&mut function.values[value.0 as usize].op);
            let new = match fold(function, value) {
                Some(Folded::Bits(bits)) => {
                    let ty = function.ty(value);
                    Some(function.add_value(Op::Constant(bits), ty, 0))
                }
                Some(Folded::Value(other)) if other != value => Some(other),
                _ => None,
            };
            if let Some(new) = new {
                replacement.set(function, value, new);
                changes += 1;
            }
        }
    }
    replacement.apply(function);
    let decided = branches(function);
    if decided > 0 {
        ctx.blocks_changed();
        super::dead_code::unreachable_blocks(function, ctx);
    }
    changes + decided
}

enum Folded {
    Bits(u64),
    Value(Value),
}

/// Branches on constants become jumps; edges that go away leave the phis of their targets.
fn branches(function: &mut Function) -> u64 {
    let mut changes = 0;
    for index in 0..function.blocks.len() {
        let target = match &function.blocks[index].terminator {
            Terminator::Branch { condition, yes, no } => match function.constant(*condition) {
                Some(bits) => Some(if bits & 1 == 1 { *yes } else { *no }),
                None if yes == no => Some(*yes),
                None => None,
            },
            Terminator::Switch {
                value,
                cases,
                default,
            } => function.constant(*value).map(|bits| {
                cases
                    .iter()
                    .find(|(case, _)| *case == bits)
                    .map_or(*default, |(_, to)| *to)
            }),
            _ => None,
        };
        let Some(target) = target else { continue };
        let mut lost = Vec::new();
        function.blocks[index].terminator.for_each_target(|other| {
            if other != target {
                lost.push(other);
            }
        });
        function.blocks[index].terminator = Terminator::Jump(target);
        changes += 1;
        for block in lost {
            for position in 0..function.blocks[block.0 as usize].instructions.len() {
                let phi = function.blocks[block.0 as usize].instructions[position];
                match &mut function.values[phi.0 as usize].op {
                    Op::Phi(inputs) => inputs.retain(|(from, _)| from.0 as usize != index),
                    _ => break,
                }
            }
        }
    }
    changes
}

/// The bits of an operation whose operands `lookup` knows.
pub(super) fn evaluate(
    function: &Function,
    value: Value,
    lookup: &mut impl FnMut(Value) -> Option<u64>,
) -> Option<u64> {
    let ty = function.ty(value);
    match function.op(value) {
        Op::Binary(operation, a, b) => Some(binary(*operation, ty, lookup(*a)?, lookup(*b)?)),
        Op::Compare(predicate, a, b) => {
            let (x, y) = (lookup(*a)?, lookup(*b)?);
            Some(u64::from(compare(*predicate, function.ty(*a), x, y)))
        }
        Op::Negate(a) => Some(lookup(*a)? ^ 1 << (ty.bits() - 1)),
        Op::Cast(kind, a) => cast_bits(*kind, function.ty(*a), ty, lookup(*a)?),
        Op::Select(condition, a, b) => {
            let chosen = if lookup(*condition)? & 1 == 1 { a } else { b };
            lookup(*chosen)
        }
        _ => None,
    }
}

fn fold(function: &Function, value: Value) -> Option<Folded> {
    let ty = function.ty(value);
    let known = |value: Value| function.constant(value);
    match function.op(value) {
        Op::Binary(operation, a, b) => match (known(*a), known(*b)) {
            (Some(x), Some(y)) => Some(Folded::Bits(binary(*operation, ty, x, y))),
            (None, Some(y)) => right_identity(*operation, ty, y).then_some(Folded::Value(*a)),
            (Some(x), None) => left_identity(*operation, ty, x).then_some(Folded::Value(*b)),
            (None, None) => None,
        },
        Op::Compare(predicate, a, b) => {
            let operand_type = function.ty(*a);
            match (known(*a), known(*b)) {
                (Some(x), Some(y)) => Some(Folded::Bits(u64::from(compare(
                    *predicate,
                    operand_type,
                    x,
                    y,
                )))),
                // A widened bool compared with zero is the bool.
                (None, Some(0)) if *predicate == Predicate::NotEqual => match function.op(*a) {
                    Op::Cast(CastKind::ExtendUnsigned, inner)
                        if function.ty(*inner) == Type::I1 =>
                    {
                        Some(Folded::Value(*inner))
                    }
                    _ => None,
                },
                _ => None,
            }
        }
        Op::Negate(a) => known(*a).map(|bits| Folded::Bits(bits ^ 1 << (ty.bits() - 1))),
        Op::Cast(kind, a) => cast(function, *kind, *a, ty),
        Op::Select(condition, a, b) => match known(*condition) {
            Some(bits) => Some(Folded::Value(if bits & 1 == 1 { *a } else { *b })),
            None => (a == b).then_some(Folded::Value(*a)),
        },
        Op::Intrinsic(intrinsic, arguments) => {
            let bits: Option<Vec<u64>> =
                arguments.iter().map(|argument| known(*argument)).collect();
            intrinsic_value(*intrinsic, ty, &bits?).map(Folded::Bits)
        }
        Op::Offset { pointer, index, .. } if known(*index) == Some(0) => {
            Some(Folded::Value(*pointer))
        }
        Op::Phi(inputs) => {
            let mut others = inputs
                .iter()
                .map(|(_, input)| *input)
                .filter(|input| *input != value);
            let first = others.next()?;
            others
                .all(|other| other == first)
                .then_some(Folded::Value(first))
        }
        _ => None,
    }
}

fn mask(ty: Type) -> u64 {
    if ty.bits() >= 64 {
        u64::MAX
    } else {
        (1 << ty.bits()) - 1
    }
}

fn signed(ty: Type, bits: u64) -> i64 {
    let unused = 64 - ty.bits().max(1);
    (bits << unused) as i64 >> unused
}

#[allow(clippy::match_same_arms)] // Integers and floats are told apart, whatever their bits.
fn right_identity(operation: BinaryOp, ty: Type, bits: u64) -> bool {
    use BinaryOp as B;
    match operation {
        B::Add
        | B::Subtract
        | B::Or
        | B::Xor
        | B::ShiftLeft
        | B::ShiftRightSigned
        | B::ShiftRightUnsigned => bits == 0,
        B::Multiply | B::DivideUnsigned => bits == 1,
        B::DivideSigned => bits == 1 && ty != Type::I1,
        B::And => bits == mask(ty),
        // x * 1 and x / 1 are x for every x; x + 0 is not for -0, x + -0 and x - 0 are.
        B::MultiplyFloat | B::DivideFloat => bits == one(ty),
        B::AddFloat => bits == 1 << (ty.bits() - 1),
        B::SubtractFloat => bits == 0,
        _ => false,
    }
}

fn left_identity(operation: BinaryOp, ty: Type, bits: u64) -> bool {
    use BinaryOp as B;
    match operation {
        B::Add | B::Or | B::Xor => bits == 0,
        B::Multiply => bits == 1,
        B::And => bits == mask(ty),
        B::MultiplyFloat => bits == one(ty),
        B::AddFloat => bits == 1 << (ty.bits() - 1),
        _ => false,
    }
}

fn one(ty: Type) -> u64 {
    if ty == Type::F32 {
        u64::from(1f32.to_bits())
    } else {
        1f64.to_bits()
    }
}

/// The value of an operation on constants; total, as the IR defines it.
pub(super) fn binary(operation: BinaryOp, ty: Type, a: u64, b: u64) -> u64 {
    use BinaryOp as B;
    if ty == Type::F32 {
        let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
        return u64::from(
            match operation {
                B::AddFloat => x + y,
                B::SubtractFloat => x - y,
                B::MultiplyFloat => x * y,
                _ => x / y,
            }
            .to_bits(),
        );
    }
    if ty == Type::F64 {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        return match operation {
            B::AddFloat => x + y,
            B::SubtractFloat => x - y,
            B::MultiplyFloat => x * y,
            _ => x / y,
        }
        .to_bits();
    }
    let (x, y) = (signed(ty, a), signed(ty, b));
    let count = (b % u64::from(ty.bits())) as u32;
    let result = match operation {
        B::Add => a.wrapping_add(b),
        B::Subtract => a.wrapping_sub(b),
        B::Multiply => a.wrapping_mul(b),
        B::DivideUnsigned => a.checked_div(b).unwrap_or(0),
        B::RemainderUnsigned => a.checked_rem(b).unwrap_or(a),
        B::DivideSigned if b == 0 => 0,
        B::DivideSigned => x.wrapping_div(y) as u64,
        B::RemainderSigned if b == 0 => a,
        B::RemainderSigned => x.wrapping_rem(y) as u64,
        B::ShiftLeft => a << count,
        B::ShiftRightSigned => (x >> count) as u64,
        B::ShiftRightUnsigned => a >> count,
        B::And => a & b,
        B::Or => a | b,
        _ => a ^ b,
    };
    result & mask(ty)
}

fn compare(predicate: Predicate, ty: Type, a: u64, b: u64) -> bool {
    use Predicate as P;
    let float = |bits: u64| {
        if ty == Type::F32 {
            f64::from(f32::from_bits(bits as u32))
        } else {
            f64::from_bits(bits)
        }
    };
    let (x, y) = (signed(ty, a), signed(ty, b));
    #[allow(clippy::float_cmp)] // The language's own comparison.
    match predicate {
        P::Equal => a == b,
        P::NotEqual => a != b,
        P::LessSigned => x < y,
        P::LessEqualSigned => x <= y,
        P::GreaterSigned => x > y,
        P::GreaterEqualSigned => x >= y,
        P::LessUnsigned => a < b,
        P::LessEqualUnsigned => a <= b,
        P::GreaterUnsigned => a > b,
        P::GreaterEqualUnsigned => a >= b,
        P::EqualFloat => float(a) == float(b),
        P::NotEqualFloat => float(a) != float(b),
        P::LessFloat => float(a) < float(b),
        P::LessEqualFloat => float(a) <= float(b),
        P::GreaterFloat => float(a) > float(b),
        P::GreaterEqualFloat => float(a) >= float(b),
    }
}

fn cast(function: &Function, kind: CastKind, from: Value, ty: Type) -> Option<Folded> {
    let source = function.ty(from);
    if kind == CastKind::AddressSpace {
        return match function.op(from) {
            _ if source == ty => Some(Folded::Value(from)),
            Op::Constant(0) => Some(Folded::Bits(0)),
            _ => None,
        };
    }
    cast_bits(kind, source, ty, function.constant(from)?).map(Folded::Bits)
}

fn cast_bits(kind: CastKind, source: Type, ty: Type, bits: u64) -> Option<u64> {
    let float = |value: f64| {
        if ty == Type::F32 {
            u64::from((value as f32).to_bits())
        } else {
            value.to_bits()
        }
    };
    let as_float = if source == Type::F32 {
        f64::from(f32::from_bits(bits as u32))
    } else {
        f64::from_bits(bits)
    };
    Some(match kind {
        CastKind::Truncate => bits & mask(ty),
        CastKind::ExtendUnsigned | CastKind::Reinterpret => bits,
        CastKind::ExtendSigned => signed(source, bits) as u64 & mask(ty),
        CastKind::SignedToFloat if ty == Type::F32 => {
            u64::from((signed(source, bits) as f32).to_bits())
        }
        CastKind::UnsignedToFloat if ty == Type::F32 => u64::from((bits as f32).to_bits()),
        CastKind::SignedToFloat => float(signed(source, bits) as f64),
        CastKind::UnsignedToFloat => float(bits as f64),
        CastKind::NarrowFloat | CastKind::WidenFloat => float(as_float),
        CastKind::FloatToSigned if ty == Type::I32 => as_float as i32 as u64 & mask(ty),
        CastKind::FloatToSigned if ty == Type::I64 => as_float as i64 as u64,
        CastKind::FloatToUnsigned if ty == Type::I32 => u64::from(as_float as u32),
        CastKind::FloatToUnsigned if ty == Type::I64 => as_float as u64,
        _ => return None,
    })
}

fn intrinsic_value(intrinsic: Intrinsic, ty: Type, bits: &[u64]) -> Option<u64> {
    if ty.is_integer() {
        let value = *bits.first()?;
        let width = u64::from(ty.bits());
        return Some(match intrinsic {
            Intrinsic::PopulationCount => u64::from(value.count_ones()),
            Intrinsic::LeadingZeros => u64::from(value.leading_zeros()) + width - 64,
            Intrinsic::TrailingZeros => u64::from(value.trailing_zeros()).min(width),
            Intrinsic::ReverseBits => value.reverse_bits() >> (64 - width),
            _ => return None,
        });
    }
    // The functions below are exact, so computing them in double and rounding to float once more changes nothing; the fused
    // operation is not, and has its own path.
    let values: Vec<f64> = bits
        .iter()
        .map(|&bits| {
            if ty == Type::F32 {
                f64::from(f32::from_bits(bits as u32))
            } else {
                f64::from_bits(bits)
            }
        })
        .collect();
    let result = match (intrinsic, values.as_slice()) {
        (Intrinsic::Floor, [x]) => x.floor(),
        (Intrinsic::Ceil, [x]) => x.ceil(),
        (Intrinsic::Truncate, [x]) => x.trunc(),
        (Intrinsic::RoundEven, [x]) => x.round_ties_even(),
        (Intrinsic::Absolute, [x]) => x.abs(),
        (Intrinsic::CopySign, [x, y]) => x.copysign(*y),
        (Intrinsic::Sqrt, [_]) if ty == Type::F32 => {
            return Some(u64::from(f32::from_bits(bits[0] as u32).sqrt().to_bits()));
        }
        (Intrinsic::Sqrt, [x]) => x.sqrt(),
        (Intrinsic::FusedMultiplyAdd, [_, _, _]) if ty == Type::F32 => {
            let number = |index: usize| f32::from_bits(bits[index] as u32);
            return Some(u64::from(number(0).mul_add(number(1), number(2)).to_bits()));
        }
        (Intrinsic::FusedMultiplyAdd, [x, y, z]) => x.mul_add(*y, *z),
        _ => return None,
    };
    Some(if ty == Type::F32 {
        u64::from((result as f32).to_bits())
    } else {
        result.to_bits()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_operations_are_total() {
        assert_eq!(binary(BinaryOp::DivideSigned, Type::I32, 7, 0), 0);
        assert_eq!(binary(BinaryOp::RemainderSigned, Type::I32, 7, 0), 7);
        assert_eq!(
            binary(BinaryOp::DivideSigned, Type::I32, 0x8000_0000, 0xffff_ffff),
            0x8000_0000
        );
        assert_eq!(
            binary(
                BinaryOp::RemainderSigned,
                Type::I32,
                0x8000_0000,
                0xffff_ffff
            ),
            0
        );
        assert_eq!(binary(BinaryOp::ShiftLeft, Type::I32, 1, 33), 2);
        assert_eq!(binary(BinaryOp::ShiftRightSigned, Type::I8, 0x80, 7), 0xff);
    }

    #[test]
    fn negative_zero_survives_identities() {
        assert!(!right_identity(BinaryOp::AddFloat, Type::F32, 0));
        assert!(right_identity(
            BinaryOp::AddFloat,
            Type::F32,
            u64::from((-0f32).to_bits())
        ));
    }
}
