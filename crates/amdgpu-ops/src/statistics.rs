//! What batch normalisation, gradients of norms and losses are put together from: sums over axes, conversions among floats, values for the host.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;

use crate::complex::reduce;
use crate::elementwise::{Elementwise, elementwise};
use crate::operand::{Operand, Scalar};
use crate::reduce::{Reduce, ReduceOptions};
use crate::{DeviceOps, Error, Result, strided};

/// `operation(x)` over `axes`, rounded once to `result`, or with `None` what the operation gives by itself.
pub(crate) fn over(
    ops: &DeviceOps,
    operation: Reduce,
    x: &Operand,
    axes: &[i64],
    result: Option<Dtype>,
) -> Result<Operand> {
    let options = ReduceOptions {
        axes: Some(axes),
        keeps_axes: false,
        correction: 0.0,
        result,
        thread_limit: None,
    };
    Ok(Operand::of_array(reduce(
        ops, operation, x, None, &options,
    )?))
}

/// Floats in another float dtype, rounded once.
pub(crate) fn converted(ops: &DeviceOps, x: &Operand, dtype: Dtype) -> Result<Operand> {
    if x.dtype == dtype {
        return Ok(x.clone());
    }
    // A sum over no axes rounds each value once.
    over(ops, Reduce::Sum, x, &[], Some(dtype))
}

/// `a * b`, broadcast.
pub(crate) fn product(ops: &DeviceOps, a: &Operand, b: &Operand) -> Result<Operand> {
    let inputs = [a.clone(), b.clone()];
    let made = elementwise(ops, Elementwise::Multiply, &inputs, None, 0.0)?;
    Ok(Operand::of_array(made))
}

/// A few numbers, one for each channel for example, read as float64 wherever they lie.
pub(crate) fn host_values(x: &Operand) -> Result<Vec<f64>> {
    let Some(array) = &x.array else {
        return Err(Error::refused(ErrorCode::Internal, "a number is no array"));
    };
    let ops = &strided::ops_of(array)?;
    // In float64 one times a number is that number, whatever its dtype was.
    let one = Operand::of_number(Scalar::Float(1.0), Dtype::F64);
    let bytes = product(ops, x, &one)?.into_array()?.read()?;
    Ok(bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|eight| f64::from_ne_bytes(*eight))
        .collect())
}

/// Numbers as an array of the device, rounded to float32 or float64.
pub(crate) fn from_host_values(
    ops: &DeviceOps,
    values: &[f64],
    shape: &[i64],
    dtype: Dtype,
) -> Result<Operand> {
    let bytes: Vec<u8> = if dtype == Dtype::F64 {
        values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect()
    } else {
        let narrow = values.iter().map(|value| *value as f32);
        narrow.flat_map(f32::to_ne_bytes).collect()
    };
    let made = Array::from_host(ops.device(), &bytes, shape, dtype)?;
    Ok(Operand::of_array(made))
}
