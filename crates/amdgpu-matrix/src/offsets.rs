//! Where the elements lie that arrays of indices name.

use std::mem::size_of;

use amdgpu_abi::layout::{DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::{Layout, MAX_RANK, broadcast};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

const NAME: &str = "offsets";

/// What the indices of an array mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedAxis {
    /// Its number in messages.
    pub axis: i64,
    /// Indices are in [-extent, extent).
    pub extent: i64,
    /// Distance between consecutive elements along it, in elements.
    pub stride: i64,
}

/// Refuses arrays that are no indices, and numbers of arrays and axes that differ.
///
/// # Errors
///
/// `unsupported-dtype`, `invalid-argument`.
pub fn check_indices(dtypes: &[Dtype], axes: &[IndexedAxis]) -> Result<(), Error> {
    if dtypes.is_empty() || dtypes.len() != axes.len() || dtypes.len() > MAX_RANK {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{NAME}: {} arrays of indices for {} axes; each of 1 to {MAX_RANK} axes takes one",
                dtypes.len(),
                axes.len()
            ),
        ));
    }
    for (dtype, axis) in dtypes.iter().zip(axes) {
        if dtype.code != DTYPE_INT && dtype.code != DTYPE_UINT {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{NAME}: the indices of axis {} have dtype {}; indices are integers",
                    axis.axis,
                    element::name(*dtype)
                ),
            ));
        }
        if axis.extent < 0 {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{NAME}: axis {} has extent {}", axis.axis, axis.extent),
            ));
        }
    }
    Ok(())
}

impl Matrix {
    /// Sums of indices times strides, into row-major int64 of the shape that all indices broadcast to. Negative indices count from the end.
    ///
    /// # Errors
    ///
    /// `index-out-of-range`, naming the first index of the first array that has one; `shape-mismatch`, and as [`check_indices`].
    pub fn offsets(
        &self,
        indices: &[TensorView],
        axes: &[IndexedAxis],
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static OFFSETS: Boundary = crossing("agpu_matrix_offsets");
        let dtypes: Vec<Dtype> = indices.iter().map(TensorView::dtype).collect();
        check_indices(&dtypes, axes)?;
        let layouts = indices
            .iter()
            .map(|view| Layout::of(NAME, "the indices", view))
            .collect::<Result<Vec<_>, _>>()?;
        let named: Vec<_> = layouts.iter().map(|one| ("indices", one)).collect();
        let shape = broadcast(NAME, &named)?;
        let target = Layout::of(NAME, "out", &out.as_view())?;
        target.check_out(NAME, Dtype::I64, &shape)?;
        target.check_dense(NAME)?;
        for layout in &layouts {
            target.check_apart(NAME, "the indices", layout, false)?;
        }
        let wide: Vec<Layout> = layouts.iter().map(|one| one.broadcast_to(&shape)).collect();
        let tensors: Vec<Tensor> = wide.iter().map(Layout::to_abi).collect();
        let target_tensor = target.to_abi();
        let numbers: Vec<i64> = axes.iter().map(|axis| axis.axis).collect();
        let extents: Vec<i64> = axes.iter().map(|axis| axis.extent).collect();
        let strides: Vec<i64> = axes.iter().map(|axis| axis.stride).collect();
        let work = Work {
            operations: target.len().saturating_mul(axes.len() as u64),
            dtype: Dtype::I64,
            thread_limit,
        };
        self.run_tensor(&OFFSETS, &work, |executor| {
            let given = amdgpu_abi::OffsetsOptions {
                size_bytes: size_of::<amdgpu_abi::OffsetsOptions>() as u64,
                axes: numbers.as_ptr(),
                extents: extents.as_ptr(),
                strides: strides.as_ptr(),
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.offsets)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
