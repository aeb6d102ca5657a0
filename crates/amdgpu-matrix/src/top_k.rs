//! The best values of each line and their places.

use std::mem::size_of;

use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, axes_last, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

const NAME: &str = "top_k";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKOptions {
    pub k: i64,
    /// The axis to search; negative counts from the end.
    pub axis: i64,
    /// Whether the largest values are best, else the smallest.
    pub is_largest: bool,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl TopKOptions {
    /// Shape and dtype of the values; places have the same shape and are int64.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for an axis that does not exist, or when k is negative or larger than its extent.
    pub fn describe(&self, x: &TensorView) -> Result<Described, Error> {
        let mut shape = x.shape().to_vec();
        let axes = resolve_axes(NAME, x.shape(), &[self.axis])?;
        let extent = &mut shape[axes[0]];
        if self.k < 0 || self.k > *extent {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{NAME}: k is {}; axis {} of x has {} values",
                    self.k, self.axis, *extent
                ),
            ));
        }
        *extent = self.k;
        Ok(Described {
            shape,
            dtype: x.dtype(),
        })
    }
}

impl Matrix {
    /// The k best values of each line along an axis, best first, and their places. Of equal values the first is better; NaN is larger than
    /// any number.
    ///
    /// # Errors
    ///
    /// As [`TopKOptions::describe`]; `unsupported-dtype`, `shape-mismatch`, `invalid-argument` for memory that is shared.
    pub fn top_k(
        &self,
        x: &TensorView,
        values: &mut TensorViewMut,
        places: &mut TensorViewMut,
        options: &TopKOptions,
    ) -> Result<(), Error> {
        static TOP_K: Boundary = crossing("agpu_matrix_top_k");
        let described = options.describe(x)?;
        let input = Layout::of(NAME, "x", x)?;
        let targets = [
            Layout::of(NAME, "values", &values.as_view())?,
            Layout::of(NAME, "places", &places.as_view())?,
        ];
        for (target, dtype) in targets.iter().zip([described.dtype, Dtype::I64]) {
            target.check_out(NAME, dtype, &described.shape)?;
            target.check_apart(NAME, "x", &input, false)?;
        }
        targets[0].check_apart(NAME, "places", &targets[1], false)?;
        let axes = resolve_axes(NAME, input.shape(), &[options.axis])?;
        let order = axes_last(input.rank(), &axes);
        let turned = input.permuted(&order);
        let turned_targets = targets.map(|target| target.permuted(&order));
        let tensors: [Tensor; 1] = [turned.to_abi()];
        let target_tensors: Vec<Tensor> = turned_targets.iter().map(Layout::to_abi).collect();
        let work = Work {
            operations: input.len().saturating_mul(2),
            dtype: described.dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&TOP_K, &work, |executor| {
            let given = amdgpu_abi::TopKOptions {
                size_bytes: size_of::<amdgpu_abi::TopKOptions>() as u64,
                is_largest: u32::from(options.is_largest),
                compute: element::compute_type(described.dtype),
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.top_k)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    target_tensors.as_ptr(),
                    target_tensors.len() as u64,
                    &raw const given,
                )
            }
        })
    }
}
