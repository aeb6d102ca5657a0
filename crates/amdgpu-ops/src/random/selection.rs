//! Orders and choices, made of draws, sorts and searches.

use amdgpu_abi::layout::DTYPE_UINT;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};

use super::Generator;
use super::draw::{Draw, draw};
use super::parameters::{Range, check, folded};
use crate::operand::{Operand, Scalar};
use crate::reduce::Reduce;
use crate::scan::{Scan, ScanOptions};
use crate::{
    DeviceOps, Elementwise, Error, Result, argsort, cast, elementwise, scan, searchsorted,
};

const NAME: &str = "choice";
const UINT64: Dtype = Dtype::new(DTYPE_UINT, 64);
/// How far a sum of probabilities may be from 1: NumPy's bound.
const SUM_TOLERANCE: f64 = 1.49e-8;

/// The numbers from 0 to `count - 1` in random order, as int64: the order of random keys of 64 bits.
///
/// # Errors
///
/// `invalid-argument` for a negative count; `out-of-memory`.
pub fn permutation(ops: &DeviceOps, generator: &Generator, count: i64) -> Result<Array> {
    let whole = Draw::Integers {
        low: 0,
        high: 1 << 64,
    };
    let keys = draw(ops, generator, &whole, Some(&[count]), UINT64, None)?;
    argsort(ops, &Operand::of_array(keys), 0, false, true)
}

/// What is chosen.
pub struct Choice<'a> {
    /// The numbers from 0 to `count - 1` are chosen from.
    pub count: i64,
    pub shape: &'a [i64],
    /// Whether a number may be chosen more than once.
    pub replace: bool,
    /// The chance of each number; `None` where all are equally likely.
    pub chances: Option<&'a Operand>,
}

/// Numbers chosen at random, as int64.
///
/// # Errors
///
/// `invalid-argument` where there is nothing to choose, or too little without replacement, or for chances that are negative or whose sum is
/// not 1; `shape-mismatch` unless there is one for each number.
pub fn choice(ops: &DeviceOps, generator: &Generator, what: &Choice<'_>) -> Result<Array> {
    let wanted = what
        .shape
        .iter()
        .try_fold(1_i64, |len, extent| len.checked_mul(*extent))
        .filter(|_| what.shape.iter().all(|extent| *extent >= 0))
        .ok_or_else(|| {
            refused(&format!(
                "the size {:?} is no shape; extents are not negative",
                what.shape
            ))
        })?;
    if what.count <= 0 && wanted > 0 {
        return Err(refused("a is empty; nothing can be chosen from it"));
    }
    if !what.replace && wanted > what.count {
        return Err(refused(&format!(
            "{wanted} of {} cannot be taken without replacement; pass replace=True",
            what.count
        )));
    }
    let chances = match what.chances {
        Some(chances) => Some(checked(ops, what.count, chances)?),
        None => None,
    };
    if wanted == 0 {
        let shape = Dims::from_slice(what.shape);
        let kind = amdgpu_hal::MemoryKind::Device;
        return Ok(Array::empty(ops.device(), shape, Dtype::I64, kind)?);
    }
    match (chances, what.replace) {
        (None, true) => {
            let any = Draw::Integers {
                low: 0,
                high: i128::from(what.count),
            };
            draw(ops, generator, &any, Some(what.shape), Dtype::I64, None)
        }
        (None, false) => first(
            &permutation(ops, generator, what.count)?,
            wanted,
            what.shape,
        ),
        (Some(chances), true) => by_chance(ops, generator, what, &chances),
        (Some(chances), false) => by_arrival(ops, generator, what, &chances, wanted),
    }
}

fn refused(message: &str) -> Error {
    Error::refused(ErrorCode::InvalidArgument, format!("{NAME}: {message}"))
}

/// The chances as float64, one for each number, with the sum 1.
fn checked(ops: &DeviceOps, count: i64, chances: &Operand) -> Result<Operand> {
    if chances.shape.as_slice() != [count] {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{NAME}: p has shape {:?}; it must be [{count}], a probability for each choice",
                chances.shape.as_slice()
            ),
        ));
    }
    let wide = Operand::of_array(cast(ops, chances, Dtype::F64, None)?);
    check(ops, NAME, "p", &wide, Range::Chance)?;
    let sum = folded(ops, Reduce::Sum, &wide)?;
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        return Err(refused(&format!(
            "the probabilities p sum to {sum}; divide them by their sum, so that it is 1"
        )));
    }
    Ok(wide)
}

/// For each uniform number the first whose sum of chances is above it.
fn by_chance(
    ops: &DeviceOps,
    generator: &Generator,
    what: &Choice<'_>,
    chances: &Operand,
) -> Result<Array> {
    let along = ScanOptions::new(Scan::Sum, 0);
    let sums = Operand::of_array(scan(ops, chances, &along, None)?);
    let total = folded(ops, Reduce::Maximum, &sums)?;
    let number = |value: f64| Operand::of_number(Scalar::Float(value), Dtype::F64);
    // Below the total, whatever is rounded: so that no number is chosen whose chance is 0.
    let below = f64::from_bits(total.to_bits() - 1);
    let uniform = Draw::Uniform {
        low: number(0.0),
        high: number(total),
    };
    let drawn = draw(ops, generator, &uniform, Some(what.shape), Dtype::F64, None)?;
    let drawn = [Operand::of_array(drawn), number(below)];
    let bounded = elementwise(ops, Elementwise::Minimum, &drawn, None, 0.0)?;
    searchsorted(ops, &sums, &Operand::of_array(bounded), true)
}

/// The first arrivals of independent waits at rates that are the chances (Efraimidis and Spirakis 2006).
fn by_arrival(
    ops: &DeviceOps,
    generator: &Generator,
    what: &Choice<'_>,
    chances: &Operand,
    wanted: i64,
) -> Result<Array> {
    let number = |value: f64| Operand::of_number(Scalar::Float(value), Dtype::F64);
    let compared = [chances.clone(), number(0.0)];
    let positive = elementwise(ops, Elementwise::Greater, &compared, None, 0.0)?;
    let possible = folded(ops, Reduce::Sum, &Operand::of_array(positive))?;
    if possible < wanted as f64 {
        return Err(refused(&format!(
            "p has {possible} values above 0; {wanted} cannot be taken without replacement"
        )));
    }
    let wait = Draw::Exponential { scale: number(1.0) };
    let waits = draw(ops, generator, &wait, Some(&[what.count]), Dtype::F64, None)?;
    let waits = [Operand::of_array(waits), chances.clone()];
    let arrivals = elementwise(ops, Elementwise::Divide, &waits, None, 0.0)?;
    let order = argsort(ops, &Operand::of_array(arrivals), 0, false, true)?;
    first(&order, wanted, what.shape)
}

/// The first elements of an array under a shape.
fn first(order: &Array, count: i64, shape: &[i64]) -> Result<Array> {
    let head = order.view(Dims::from_slice(&[count]), Dims::from_slice(&[1]));
    Ok(head.reshaped(shape)?)
}
