//! Lines in order, the places that their elements come from, and where values belong in a sorted line.

use std::mem::size_of;

use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::{Layout, axes_last, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

/// Which order, and what is wanted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortOptions {
    /// The axis to sort along; negative counts from the end.
    pub axis: i64,
    pub is_descending: bool,
    /// Places of the elements, as int64, instead of their values.
    pub gives_places: bool,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl SortOptions {
    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        if self.gives_places { "argsort" } else { "sort" }
    }

    /// Dtype of the result for values of a dtype.
    #[must_use]
    pub const fn result(&self, x: Dtype) -> Dtype {
        if self.gives_places { Dtype::I64 } else { x }
    }
}

impl Matrix {
    /// `x` in order along an axis, or the places that its elements come from. Equal elements, and both zeros are equal, stay in order; NaN
    /// comes last, in both directions.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for an axis that does not exist or memory shared with `out`, `shape-mismatch`, `unsupported-dtype`,
    /// `out-of-memory`.
    pub fn sort(
        &self,
        x: &TensorView,
        out: &mut TensorViewMut,
        options: &SortOptions,
    ) -> Result<(), Error> {
        static SORT: Boundary = crossing("agpu_matrix_sort");
        let name = options.name();
        let input = Layout::of(name, "x", x)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        target.check_out(name, options.result(input.dtype), input.shape())?;
        target.check_apart(name, "x", &input, false)?;
        let axes = resolve_axes(name, input.shape(), &[options.axis])?;
        let order = axes_last(input.rank(), &axes);
        let (permuted, permuted_target) = (input.permuted(&order), target.permuted(&order));
        let tensors: [Tensor; 1] = [permuted.to_abi()];
        let target_tensor = permuted_target.to_abi();
        let work = Work {
            operations: target.len().saturating_mul(16),
            dtype: input.dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&SORT, &work, |executor| {
            let given = amdgpu_abi::SortOptions {
                size_bytes: size_of::<amdgpu_abi::SortOptions>() as u64,
                is_descending: u32::from(options.is_descending),
                gives_places: u32::from(options.gives_places),
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.sort)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }

    /// For each of the values, how many elements of `sorted` stand before it: those that are smaller, and with `is_right` those that are
    /// equal, too. NaN counts as larger than any number.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` unless `sorted` has one axis and `out` the shape of the values; `unsupported-dtype` where the dtypes of both differ
    /// or `out` is not int64; `invalid-argument` for memory shared with `out`.
    pub fn search_sorted(
        &self,
        sorted: &TensorView,
        values: &TensorView,
        is_right: bool,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static SEARCH_SORTED: Boundary = crossing("agpu_matrix_search_sorted");
        const NAME: &str = "searchsorted";
        let line = Layout::of(NAME, "x", sorted)?;
        let wanted = Layout::of(NAME, "values", values)?;
        let target = Layout::of(NAME, "out", &out.as_view())?;
        if line.rank() != 1 {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{NAME}: x has shape {:?}; it must have one axis",
                    line.shape()
                ),
            ));
        }
        if line.dtype != wanted.dtype {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{NAME}: x has dtype {}, the values {}; convert one of them",
                    element::name(line.dtype),
                    element::name(wanted.dtype)
                ),
            ));
        }
        target.check_out(NAME, Dtype::I64, wanted.shape())?;
        target.check_apart(NAME, "x", &line, false)?;
        target.check_apart(NAME, "values", &wanted, false)?;
        let tensors: [Tensor; 2] = [line.to_abi(), wanted.to_abi()];
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target.len().saturating_mul(32),
            dtype: line.dtype,
            thread_limit,
        };
        self.run_tensor(&SEARCH_SORTED, &work, |executor| {
            let given = amdgpu_abi::SearchSortedOptions {
                size_bytes: size_of::<amdgpu_abi::SearchSortedOptions>() as u64,
                is_right: u32::from(is_right),
                reserved: 0,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.search_sorted)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
