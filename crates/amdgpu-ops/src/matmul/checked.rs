//! A matrix multiplication taken apart: operands as batches of matrices, dtypes, memory of the result.

use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::promotion::is_float;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use smallvec::SmallVec;

use super::axes::Axes;
use super::precision::Kinds;
use super::{Activation, Matmul, NAME};
use crate::operand::{Operand, Target, broadcast};
use crate::{DeviceOps, Error, Result, elementwise};

/// What is computed, every check behind it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Shape (..., m, k), broadcast over the batch.
    pub a: Operand,
    /// Shape (..., k, n), broadcast over the batch.
    pub b: Operand,
    /// The memory of `out`; shape (..., m, n).
    pub result: Operand,
    /// What the caller gets, with the axes that vectors lack left out.
    pub out: Array,
    /// Dtype of the sums.
    pub sums: Dtype,
    /// Dtype that operands are rounded to first.
    pub rounding: Option<Dtype>,
    /// Operands may lose digits to the matrix units of NVIDIA.
    pub may_be_tf32: bool,
    /// Whether `a` and `b` were given transposed.
    pub is_transposed: [bool; 2],
    /// Shape (n,).
    pub bias: Option<Operand>,
    /// Shape (..., m, n), broadcast.
    pub residual: Option<Operand>,
    pub activation: Activation,
    pub alpha: f64,
    /// Factor of what the result held; 0 does not read it.
    pub beta: f64,
}

impl Checked {
    /// Checks a call.
    ///
    /// # Errors
    ///
    /// As [`matmul`](super::matmul).
    pub fn of(ops: &DeviceOps, call: &Matmul<'_>) -> Result<Self> {
        check_dtypes(call)?;
        let precision = call
            .precision
            .unwrap_or_else(|| Precision::of_dtypes(call.a.dtype, call.b.dtype));
        let kinds = Kinds::of(precision, call.a.dtype, call.b.dtype);
        let (a, b, axes) = axes(call)?;
        let shape = axes.shape.as_slice();
        check_following(call, precision)?;
        let bias = call.bias.map(|bias| checked_bias(bias, &b)).transpose()?;
        let residual = call
            .residual
            .map(|residual| checked_residual(ops, residual, shape))
            .transpose()?;
        let mut inputs: SmallVec<[&Operand; 4]> = SmallVec::from_slice(&[&a, &b]);
        inputs.extend(bias.iter().chain(&residual));
        let target = Target {
            operation: NAME,
            device: ops.device(),
            out: call.out,
            inputs: &inputs,
            may_alias: false,
            is_dense: false,
        };
        let made = target.resolve(shape, kinds.result)?;
        drop(inputs);
        let Some(out) = made.array.clone() else {
            return Err(Error::no_kernel("the result is a number"));
        };
        let result = completed(made, &axes);
        let residual = residual.map(|one| completed(one.broadcast_to(shape), &axes));
        let lead = &result.shape[..result.rank() - 2];
        Ok(Self {
            a: over_batch(a, lead),
            b: over_batch(b, lead),
            out,
            sums: kinds.sums,
            rounding: kinds.rounding,
            may_be_tf32: precision == Precision::Tf32,
            is_transposed: [call.transpose_a, call.transpose_b],
            bias,
            residual,
            activation: call.activation,
            alpha: call.alpha,
            beta: call.beta,
            result,
        })
    }

    /// Axes before the matrices.
    #[must_use]
    pub fn batch_shape(&self) -> &[i64] {
        &self.result.shape[..self.result.rank() - 2]
    }

    /// How many products.
    #[must_use]
    pub fn batch(&self) -> i64 {
        amdgpu_array::element_count(self.batch_shape())
    }

    /// m, n and k.
    #[must_use]
    pub fn extents(&self) -> (i64, i64, i64) {
        let rank = self.result.rank();
        let k = self.a.shape[self.a.rank() - 1];
        (self.result.shape[rank - 2], self.result.shape[rank - 1], k)
    }

    /// Whether what the result held before is read.
    #[must_use]
    pub fn reads_result(&self) -> bool {
        self.beta != 0.0
    }

    /// Whether the sums are the result, scaled at most.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.bias.is_none() && self.residual.is_none() && self.activation == Activation::Identity
    }
}

fn refused<T>(code: ErrorCode, message: String) -> Result<T> {
    Err(Error::refused(code, message))
}

fn check_dtypes(call: &Matmul<'_>) -> Result<()> {
    for (name, one) in [("a", call.a), ("b", call.b)] {
        one.check_dtype(NAME, name)?;
        if call.precision == Some(Precision::Int8) && one.dtype != Dtype::I8 {
            return refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{NAME}: {name} has dtype {}; precision='int8' takes int8: quantise it first",
                    one.dtype.name().unwrap_or("?")
                ),
            );
        }
    }
    for (name, one) in [("bias", call.bias), ("residual", call.residual)] {
        if let Some(one) = one {
            one.check_dtype(NAME, name)?;
        }
    }
    Ok(())
}

/// Operands as batches of matrices, and the axes of the result.
fn axes(call: &Matmul<'_>) -> Result<(Operand, Operand, Axes)> {
    let transposed = |one: &Operand, is_transposed: bool| {
        if is_transposed && one.rank() > 1 {
            swapped(one)
        } else {
            one.clone()
        }
    };
    let mut a = transposed(call.a, call.transpose_a);
    let mut b = transposed(call.b, call.transpose_b);
    let axes = Axes::of(&a.shape, &b.shape)?;
    if axes.is_row_missing {
        a.shape.insert(0, 1);
        a.strides.insert(0, 0);
    }
    if axes.is_column_missing {
        b.shape.push(1);
        b.strides.push(0);
    }
    Ok((a, b, axes))
}

/// The last two axes swapped.
pub(super) fn swapped(x: &Operand) -> Operand {
    let mut made = x.clone();
    let rank = x.rank();
    made.shape.swap(rank - 2, rank - 1);
    made.strides.swap(rank - 2, rank - 1);
    made
}

fn over_batch(x: Operand, lead: &[i64]) -> Operand {
    let rank = x.rank();
    if x.shape[..rank - 2] == *lead && !x.shape.contains(&1) {
        return x;
    }
    let mut shape = Dims::from_slice(lead);
    shape.extend_from_slice(&x.shape[rank - 2..]);
    x.broadcast_to(&shape)
}

/// An operand of the result's shape with the axes that vectors lack.
fn completed(mut x: Operand, axes: &Axes) -> Operand {
    let is_dense = x.is_dense();
    if axes.is_column_missing {
        x.shape.push(1);
        x.strides.push(1);
    }
    if axes.is_row_missing {
        // Row-major memory stays so: the stride of the one row is the length of a row.
        let last = x.rank() - 1;
        let row = if is_dense { x.shape[last] } else { 0 };
        x.shape.insert(last, 1);
        x.strides.insert(last, row);
    }
    x
}

fn check_following(call: &Matmul<'_>, precision: Precision) -> Result<()> {
    if call.beta != 0.0 && call.out.is_none() {
        return refused(
            ErrorCode::InvalidArgument,
            "beta scales what out holds, and no out was given".to_owned(),
        );
    }
    if precision != Precision::Int8 {
        return Ok(());
    }
    if !matches!(call.activation, Activation::Identity | Activation::Relu) {
        return refused(
            ErrorCode::InvalidArgument,
            format!(
                "activation is '{}'; int8 products have relu only",
                call.activation.name()
            ),
        );
    }
    if call.alpha.fract() != 0.0 || call.beta.fract() != 0.0 {
        return refused(
            ErrorCode::InvalidArgument,
            format!(
                "alpha is {:?} and beta {:?}; int8 products take integers",
                call.alpha, call.beta
            ),
        );
    }
    Ok(())
}

fn checked_bias(bias: &Operand, b: &Operand) -> Result<Operand> {
    let n = b.shape[b.rank() - 1];
    if bias.shape.as_slice() == [n] && !bias.is_number() {
        return Ok(bias.clone());
    }
    refused(
        ErrorCode::ShapeMismatch,
        format!(
            "bias has shape {:?}; the product has {n} columns",
            bias.shape.as_slice()
        ),
    )
}

fn checked_residual(ops: &DeviceOps, residual: &Operand, shape: &[i64]) -> Result<Operand> {
    let of_result = Operand::of_number(crate::Scalar::Int(0), Dtype::I32)
        .with_layout(Dims::from_slice(shape), Dims::from_elem(0, shape.len()));
    let named = [("residual", residual), ("the product", &of_result)];
    if broadcast(NAME, &named)?.as_slice() != shape {
        return refused(
            ErrorCode::ShapeMismatch,
            format!(
                "residual has shape {:?}, which does not broadcast to the product's {shape:?}",
                residual.shape.as_slice()
            ),
        );
    }
    if residual.is_number() {
        return elementwise::convert(ops, residual, residual.dtype);
    }
    Ok(residual.clone())
}

/// Numbers that follow the sums as a launch carries them.
pub(super) fn factor(value: f64, sums: Dtype) -> crate::Scalar {
    if is_float(sums) {
        crate::Scalar::Float(value)
    } else {
        crate::Scalar::Int(value as i128)
    }
}
