//! Axes in another order, written out.

use std::mem::size_of;

use amdgpu_abi::{ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut};

const NAME: &str = "transpose";

/// Axes of the result as indices into those of x, which has this shape; `None` reverses them.
///
/// # Errors
///
/// `invalid-argument` unless `axes` names every axis once.
pub fn transpose_order(shape: &[i64], axes: Option<&[i64]>) -> Result<Vec<usize>, Error> {
    let rank = shape.len();
    let Some(axes) = axes else {
        return Ok((0..rank).rev().collect());
    };
    let named = resolve_axes(NAME, shape, axes)?;
    if named.len() != rank {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{NAME}: axes {axes:?} name {} of the {rank} axes of x",
                named.len()
            ),
        ));
    }
    let from_start = |axis: &i64| if *axis < 0 { axis + rank as i64 } else { *axis };
    Ok(axes.iter().map(|axis| from_start(axis) as usize).collect())
}

/// Shape and dtype of x with its axes in another order; `None` reverses them.
///
/// # Errors
///
/// As [`transpose_order`].
pub fn describe_transpose(x: &TensorView, axes: Option<&[i64]>) -> Result<Described, Error> {
    let order = transpose_order(x.shape(), axes)?;
    Ok(Described {
        shape: order.iter().map(|axis| x.shape()[*axis]).collect(),
        dtype: x.dtype(),
    })
}

impl Matrix {
    /// Copies `x` into `out` with its axes in another order.
    ///
    /// # Errors
    ///
    /// As [`describe_transpose`]; `unsupported-dtype`, `shape-mismatch`, `invalid-argument` for memory shared with `out`.
    pub fn transpose(
        &self,
        x: &TensorView,
        axes: Option<&[i64]>,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static TRANSPOSE: Boundary = crossing("agpu_matrix_transpose");
        let described = describe_transpose(x, axes)?;
        let turned = Layout::of(NAME, "x", x)?.permuted(&transpose_order(x.shape(), axes)?);
        let target = Layout::of(NAME, "out", &out.as_view())?;
        target.check_out(NAME, described.dtype, &described.shape)?;
        target.check_apart(NAME, "x", &turned, false)?;
        let tensors: [Tensor; 1] = [turned.to_abi()];
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target.len(),
            dtype: described.dtype,
            thread_limit,
        };
        self.run_tensor(&TRANSPOSE, &work, |executor| {
            let given = amdgpu_abi::TransposeOptions {
                size_bytes: size_of::<amdgpu_abi::TransposeOptions>() as u64,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.transpose)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
