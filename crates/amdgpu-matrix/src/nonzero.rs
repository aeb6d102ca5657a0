//! The indices of the elements that are not zero, and elements where others are not zero.

use std::mem::size_of;
use std::ptr;

use amdgpu_abi::{Dtype, NonzeroOptions, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut};

const NAME: &str = "nonzero";
const SELECT: &str = "masked_select";
static NONZERO: Boundary = crossing("agpu_matrix_nonzero");
/// Elements of a piece at least: counting them takes as long as handing the piece out.
const PIECE_ELEMENTS: u64 = 1 << 13;
/// Pieces at most; for every piece the counts before it are summed.
const MOST_PIECES: u64 = 1 << 10;

/// How many elements of an array are not zero, piece by piece.
#[derive(Clone, Debug)]
pub struct NonzeroCounts(Vec<u64>);

impl NonzeroCounts {
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Matrix {
    /// Counts the elements that are not zero; NaN is not.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`.
    pub fn count_nonzero(
        &self,
        x: &TensorView,
        thread_limit: Option<u32>,
    ) -> Result<NonzeroCounts, Error> {
        let input = Layout::of(NAME, "x", x)?;
        let pieces = (input.len() / PIECE_ELEMENTS).clamp(1, MOST_PIECES);
        let mut counts = vec![0; pieces as usize];
        self.nonzero_pass(&[&input], &mut counts, None, thread_limit)?;
        Ok(NonzeroCounts(counts))
    }

    /// The indices of the elements that were counted, a row of `out` for each, in row-major order. `x` must not have changed.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` unless `out` has the shape (count, axes of x), `unsupported-dtype` unless it is int64, `invalid-argument` unless it
    /// is row-major and shares no memory with x.
    pub fn nonzero(
        &self,
        x: &TensorView,
        counts: &NonzeroCounts,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        let input = Layout::of(NAME, "x", x)?;
        let target = Layout::of(NAME, "out", &out.as_view())?;
        let shape = [counts.total() as i64, input.rank() as i64];
        target.check_out(NAME, Dtype::I64, &shape)?;
        target.check_dense(NAME)?;
        target.check_apart(NAME, "x", &input, false)?;
        if target.is_empty() {
            return Ok(());
        }
        let mut counts = counts.0.clone();
        self.nonzero_pass(&[&input], &mut counts, Some(&target), thread_limit)
    }

    /// The elements of `x`, of any dtype, where `mask` is not zero, in row-major order; the mask was counted and must not have changed.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` unless mask and x have one shape and `out` one axis of as many elements as were counted; as [`Self::nonzero`].
    pub fn select(
        &self,
        mask: &TensorView,
        counts: &NonzeroCounts,
        x: &TensorView,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        let chosen = Layout::of(SELECT, "mask", mask)?;
        let input = Layout::of_any(SELECT, "x", x)?.broadcast_into(SELECT, "x", chosen.shape())?;
        let target = Layout::of_any(SELECT, "out", &out.as_view())?;
        target.check_out(SELECT, input.dtype, &[counts.total() as i64])?;
        target.check_dense(SELECT)?;
        target.check_apart(SELECT, "mask", &chosen, false)?;
        target.check_apart(SELECT, "x", &input, false)?;
        if target.is_empty() {
            return Ok(());
        }
        let mut counts = counts.0.clone();
        self.nonzero_pass(&[&chosen, &input], &mut counts, Some(&target), thread_limit)
    }

    fn nonzero_pass(
        &self,
        inputs: &[&Layout],
        counts: &mut [u64],
        target: Option<&Layout>,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        let tensors: Vec<Tensor> = inputs.iter().map(|input| input.to_abi()).collect();
        let target_tensor = target.map(Layout::to_abi);
        let work = Work {
            operations: inputs[0].len(),
            dtype: inputs[0].dtype,
            thread_limit,
        };
        self.run_tensor(&NONZERO, &work, |executor| {
            let given = NonzeroOptions {
                size_bytes: size_of::<NonzeroOptions>() as u64,
                piece_count: counts.len() as u64,
                counts: counts.as_mut_ptr(),
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.nonzero)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    target_tensor.as_ref().map_or(ptr::null(), ptr::from_ref),
                    &raw const given,
                )
            }
        })
    }
}
