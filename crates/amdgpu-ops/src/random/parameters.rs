//! Parameters of distributions, numbers or arrays: checked, and as float64 of the shape of the result.

use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, recording};

use crate::complex::cast;
use crate::complex::reduce;
use crate::operand::{Operand, Scalar};
use crate::reduce::{Reduce, ReduceOptions};
use crate::transpose::transpose;
use crate::{DeviceOps, Error, Result};

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Range {
    Finite,
    /// From 0 on.
    NotNegative,
    Positive,
    /// From 0 to 1.
    Chance,
    /// Whole numbers from 0 to 2^53, which float64 counts up to.
    Count,
    /// Means of Poisson numbers, which int64 holds.
    Mean,
}

/// NumPy's bound: ten standard deviations below the largest int64.
const MOST_MEAN: f64 = 9.223_372_006_484_771e18;
const MOST_COUNT: f64 = 9_007_199_254_740_992.0;

impl Range {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Finite => value.is_finite(),
            Self::NotNegative => value >= 0.0 && value.is_finite(),
            Self::Positive => value > 0.0 && value.is_finite(),
            Self::Chance => (0.0..=1.0).contains(&value),
            Self::Count => (0.0..=MOST_COUNT).contains(&value),
            Self::Mean => (0.0..=MOST_MEAN).contains(&value),
        }
    }

    const fn wanted(self) -> &'static str {
        match self {
            Self::Finite => "finite",
            Self::NotNegative => "finite and not negative",
            Self::Positive => "finite and above 0",
            Self::Chance => "a probability from 0 to 1",
            Self::Count => "a whole number from 0 to 2**53",
            Self::Mean => "from 0 to 9.2e18",
        }
    }
}

/// Refuses a parameter with a value outside of its range. While a graph is recorded arrays have no values yet, and are not looked at.
pub(crate) fn check(
    ops: &DeviceOps,
    operation: &str,
    name: &str,
    parameter: &Operand,
    range: Range,
) -> Result<()> {
    let refuse = |value: f64| {
        let some = if parameter.is_number() {
            "is"
        } else {
            "has the value"
        };
        Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{operation}: {name} {some} {value}; it must be {}",
                range.wanted()
            ),
        ))
    };
    if parameter.is_number() {
        let value = value_of(parameter.number);
        let is_whole = range != Range::Count || value.fract() == 0.0;
        return if range.holds(value) && is_whole {
            Ok(())
        } else {
            refuse(value)
        };
    }
    recording::note_outside(recording::CHECKED_BY_THE_HOST);
    if parameter.is_empty() || recording::is_recording() {
        return Ok(());
    }
    if range == Range::Count && is_float(parameter.dtype) {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!("{operation}: {name} holds floats; whole numbers are counted"),
        ));
    }
    for extreme in [Reduce::Minimum, Reduce::Maximum] {
        let value = folded(ops, extreme, parameter)?;
        if !range.holds(value) {
            return refuse(value);
        }
    }
    Ok(())
}

/// The value that a reduction over all elements gives. NaN comes through the extremes.
pub(crate) fn folded(ops: &DeviceOps, operation: Reduce, x: &Operand) -> Result<f64> {
    let wide = Operand::of_array(cast(ops, x, Dtype::F64, None)?);
    let options = ReduceOptions {
        axes: None,
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    };
    let bytes = reduce(ops, operation, &wide, None, &options)?.read()?;
    let value = bytes.first_chunk::<8>().copied().unwrap_or_default();
    Ok(f64::from_ne_bytes(value))
}

pub(crate) fn value_of(number: Scalar) -> f64 {
    match number {
        Scalar::Float(value) => value,
        Scalar::Int(value) => value as f64,
    }
}

/// The parameter as float64: a number, or dense values for every element of the shape.
pub(crate) fn spread(ops: &DeviceOps, parameter: &Operand, shape: &[i64]) -> Result<Operand> {
    if parameter.is_number() {
        return Ok(Operand::of_number(
            Scalar::Float(value_of(parameter.number)),
            Dtype::F64,
        ));
    }
    let wide = Operand::of_array(cast(ops, parameter, Dtype::F64, None)?);
    let broad = wide.broadcast_to(shape);
    Ok(Operand::of_array(gapless(ops, &broad)?))
}

/// The values in row-major order without gaps: the array itself, or a copy.
pub(crate) fn gapless(ops: &DeviceOps, x: &Operand) -> Result<Array> {
    if let (true, Some(array)) = (x.is_dense(), &x.array) {
        return Ok(array.clone());
    }
    let axes: Vec<i64> = (0..x.rank() as i64).collect();
    transpose(ops, x, Some(&axes), None)
}
