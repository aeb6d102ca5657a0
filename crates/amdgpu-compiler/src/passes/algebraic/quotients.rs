//! Quotients and remainders that belong together: `x / c * c + x % c` is `x`, in sums as in addresses of arrays with rows of `c`
//! elements. What was taken apart into rows and columns lies in memory one after the other again, which is what neighbouring
//! work-items need to get one access for all of them.
//!
//! The sum holds for every divisor, zero included (`x / 0 = 0`, `x % 0 = x`), for divisions that round to zero and for shifts,
//! which round down.

use crate::ir::{BinaryOp, CastKind, Function, Op, Type, Value};

/// A number that may be known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Known(u64),
    Value(Value),
}

/// How a quotient is rounded, and its dividend taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// Signed, to zero.
    Zero,
    /// Unsigned.
    Unsigned,
    /// Signed, down.
    Down,
}

fn number(function: &Function, value: Value) -> Number {
    function
        .constant(value)
        .map_or(Number::Value(value), Number::Known)
}

/// What a shift by a known count multiplies or divides by.
fn power(function: &Function, count: Value, ty: Type) -> Option<Number> {
    let count = function.constant(count)? % u64::from(ty.bits());
    // The highest bit as a factor is negative.
    (count + 1 < u64::from(ty.bits())).then(|| Number::Known(1 << count))
}

/// Dividend and divisor of a quotient.
fn quotient(function: &Function, value: Value) -> Option<(Value, Number, Rounding)> {
    let Op::Binary(operation, x, by) = *function.op(value) else {
        return None;
    };
    let ty = function.ty(value);
    match operation {
        BinaryOp::DivideSigned => Some((x, number(function, by), Rounding::Zero)),
        BinaryOp::DivideUnsigned => Some((x, number(function, by), Rounding::Unsigned)),
        BinaryOp::ShiftRightUnsigned => Some((x, power(function, by, ty)?, Rounding::Unsigned)),
        BinaryOp::ShiftRightSigned => Some((x, power(function, by, ty)?, Rounding::Down)),
        _ => None,
    }
}

/// Dividend and divisor of a remainder; that of a power of two belongs to quotients rounded down, signed or not.
fn remainder(function: &Function, value: Value) -> Option<(Value, Number, Option<Rounding>)> {
    let Op::Binary(operation, x, by) = *function.op(value) else {
        return None;
    };
    match operation {
        BinaryOp::RemainderSigned => Some((x, number(function, by), Some(Rounding::Zero))),
        BinaryOp::RemainderUnsigned => Some((x, number(function, by), Some(Rounding::Unsigned))),
        BinaryOp::And => {
            let divisor = function.constant(by)?.checked_add(1)?;
            let fits = divisor.is_power_of_two()
                && divisor.trailing_zeros() + 1 < function.ty(value).bits();
            fits.then_some((x, Number::Known(divisor), None))
        }
        _ => None,
    }
}

/// A product as what it multiplies, with each way to see its factor.
fn products(function: &Function, value: Value) -> [Option<(Value, Number)>; 2] {
    match *function.op(value) {
        Op::Binary(BinaryOp::Multiply, a, b) => [
            Some((a, number(function, b))),
            Some((b, number(function, a))),
        ],
        Op::Binary(BinaryOp::ShiftLeft, a, count) => {
            let factor = power(function, count, function.ty(value));
            [factor.map(|factor| (a, factor)), None]
        }
        _ => [None, None],
    }
}

/// How `value` is the quotient of `x` and `divisor`, if it is one. `z / (a b)` is that of `z / a` and `b`.
fn rounding(function: &Function, value: Value, x: Value, divisor: Number) -> Option<Rounding> {
    let (dividend, by, rounding) = quotient(function, value)?;
    if dividend == x && by == divisor {
        return Some(rounding);
    }
    let (inner, first, same) = quotient(function, x)?;
    let (Number::Known(first), Number::Known(second), Number::Known(both)) = (first, divisor, by)
    else {
        return None;
    };
    let is_product = first.checked_mul(second) == Some(both)
        && both != 0
        && both >> (function.ty(value).bits() - 1) == 0;
    (inner == dividend && same == rounding && is_product).then_some(rounding)
}

/// Dividend of `value` as the part of a number below a multiple of `factor`, `whole` being how many times the factor is in it.
fn joined(
    function: &Function,
    whole: Value,
    factor: Number,
    part: Value,
) -> Option<(Value, Rounding)> {
    let (x, divisor, belongs) = remainder(function, part)?;
    let is = rounding(function, whole, x, divisor)?;
    let fits = match belongs {
        Some(belongs) => belongs == is,
        None => is != Rounding::Zero,
    };
    (fits && divisor == factor).then_some((x, is))
}

/// `x` of `x / c * c + x % c`.
fn sum(function: &Function, a: Value, b: Value) -> Option<Value> {
    let pairs = [(a, b), (b, a)];
    let mut found = pairs.into_iter().flat_map(|(product, part)| {
        products(function, product)
            .into_iter()
            .flatten()
            .filter_map(move |(whole, factor)| joined(function, whole, factor, part))
    });
    found.next().map(|(x, _)| x)
}

/// A sum in which a quotient and its remainder meet: what it is, and what is to be added to that.
pub(super) fn meeting(function: &Function, a: Value, b: Value) -> Option<(Value, Option<Value>)> {
    if let Some(x) = sum(function, a, b) {
        return Some((x, None));
    }
    // Other terms may stand between the two; sums wrap, so that their order is free.
    [(a, b), (b, a)].into_iter().find_map(|(inner, term)| {
        let Op::Binary(BinaryOp::Add, c, d) = *function.op(inner) else {
            return None;
        };
        [(c, d), (d, c)]
            .into_iter()
            .find_map(|(one, rest)| Some((sum(function, one, term)?, Some(rest))))
    })
}

/// What `x - x / c * c` is for a known `c`: the operation, and its divisor or mask.
pub(super) fn left_over(function: &Function, x: Value, product: Value) -> Option<(BinaryOp, u64)> {
    let found = products(function, product).into_iter().flatten();
    let mut found =
        found.filter_map(
            |(whole, factor)| match (quotient(function, whole)?, factor) {
                ((dividend, Number::Known(by), rounding), Number::Known(factor))
                    if dividend == x && by == factor && by != 0 =>
                {
                    Some((by, rounding))
                }
                _ => None,
            },
        );
    let (by, rounding) = found.next()?;
    match rounding {
        Rounding::Zero => Some((BinaryOp::RemainderSigned, by)),
        _ if by.is_power_of_two() => Some((BinaryOp::And, by - 1)),
        Rounding::Unsigned => Some((BinaryOp::RemainderUnsigned, by)),
        Rounding::Down => None,
    }
}

/// The index, and how it becomes one of 64 bits, of an element that an address reaches by the quotient's row (in steps of
/// `row_bytes`) and the remainder's column (in steps of `element_bytes`).
pub(super) fn element(
    function: &Function,
    (row, row_bytes): (Value, u64),
    (column, element_bytes): (Value, u64),
) -> Option<(Value, Option<CastKind>)> {
    if element_bytes == 0 || !row_bytes.is_multiple_of(element_bytes) {
        return None;
    }
    let factor = Number::Known(row_bytes / element_bytes);
    if function.op(row).is_floating() {
        return None;
    }
    let (Op::Cast(row_kind, whole), Op::Cast(column_kind, part)) =
        (function.op(row), function.op(column))
    else {
        let (x, _) = joined(function, row, factor, column)?;
        return Some((x, None));
    };
    let (x, rounding) = joined(function, *whole, factor, *part)?;
    let is_positive = (row_bytes / element_bytes) >> (function.ty(x).bits() - 1) == 0;
    // Both parts must become 64 bits wide as the sum does; those of shifts have no sign.
    let is_masked = matches!(function.op(*part), Op::Binary(BinaryOp::And, ..));
    let is_shifted = matches!(
        function.op(*whole),
        Op::Binary(BinaryOp::ShiftRightUnsigned, ..)
    );
    let wanted = if rounding == Rounding::Unsigned {
        CastKind::ExtendUnsigned
    } else {
        CastKind::ExtendSigned
    };
    let is_extension =
        |kind: CastKind| matches!(kind, CastKind::ExtendSigned | CastKind::ExtendUnsigned);
    let fits = (*row_kind == wanted
        || is_shifted && is_extension(*row_kind) && row_bytes > element_bytes)
        && (*column_kind == wanted || is_masked && is_extension(*column_kind));
    (fits && is_positive).then_some((x, Some(wanted)))
}
