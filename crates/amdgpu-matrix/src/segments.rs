//! Values joined row by row: segmented reductions, values added by index, gradients of embeddings.

use std::mem::size_of;

use amdgpu_abi::layout::{
    SEGMENTS_FILL, SEGMENTS_INCLUDE, SEGMENTS_KEEP, SEGMENTS_MAXIMUM, SEGMENTS_MEAN,
    SEGMENTS_MINIMUM, SEGMENTS_PRODUCT, SEGMENTS_SUM,
};
use amdgpu_abi::{Dtype, ErrorCode, SegmentsOptions, Tensor};
use amdgpu_telemetry::Boundary;

use crate::layout::{Layout, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

/// What becomes of the values of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    Sum,
    Product,
    Mean,
    Maximum,
    Minimum,
}

impl Join {
    pub const ALL: [Self; 5] = [
        Self::Sum,
        Self::Product,
        Self::Mean,
        Self::Maximum,
        Self::Minimum,
    ];

    /// The name that `PyTorch` gives it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "prod",
            Self::Mean => "mean",
            Self::Maximum => "amax",
            Self::Minimum => "amin",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|join| join.name() == name)
    }

    const fn code(self) -> u32 {
        match self {
            Self::Sum => SEGMENTS_SUM,
            Self::Product => SEGMENTS_PRODUCT,
            Self::Mean => SEGMENTS_MEAN,
            Self::Maximum => SEGMENTS_MAXIMUM,
            Self::Minimum => SEGMENTS_MINIMUM,
        }
    }
}

/// What rows hold besides the values that are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing: a row without values gets 0 as a sum or mean, 1 as a product, and what every value is better than as the best one.
    Fill,
    /// Rows without values keep what they hold.
    Keep,
    /// What a row holds takes part as one value more.
    Include,
}

impl Start {
    const fn code(self) -> u32 {
        match self {
            Self::Fill => SEGMENTS_FILL,
            Self::Keep => SEGMENTS_KEEP,
            Self::Include => SEGMENTS_INCLUDE,
        }
    }
}

/// Which values are joined, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinOptions {
    /// What messages call the operation.
    pub name: &'static str,
    pub join: Join,
    pub start: Start,
    /// The axis of the result whose indices the rows are; negative counts from the end.
    pub axis: i64,
    /// Rows are where segments begin, and where the last one ends, instead of a row for each value.
    pub has_offsets: bool,
    /// Negative rows count from the end.
    pub wraps: bool,
    /// A row whose values are left out.
    pub skipped: Option<i64>,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl JoinOptions {
    /// Sums of new rows along axis 0.
    #[must_use]
    pub const fn new(name: &'static str, join: Join) -> Self {
        Self {
            name,
            join,
            start: Start::Fill,
            axis: 0,
            has_offsets: false,
            wraps: false,
            skipped: None,
            thread_limit: None,
        }
    }

    /// The axis of values of a rank that belongs to rows of a rank, counted from 0.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for an axis that does not exist.
    pub fn resolved_axis(&self, values: usize, rows: usize) -> Result<usize, Error> {
        let rows = if self.has_offsets { 1 } else { rows };
        let rank = (values + 1).saturating_sub(rows);
        let shape = vec![1; rank];
        Ok(resolve_axes(self.name, &shape, &[self.axis])?[0])
    }

    /// Refuses what cannot be joined; the shape of the result with so many rows, or as many as the offsets say.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype` for rows that are not int32 or int64, and the mean of truth values; `shape-mismatch` where rows do not have the
    /// shape of the values' axes from `axis` on; `invalid-argument`.
    pub fn describe(
        &self,
        values: &TensorView,
        rows: &TensorView,
        count: Option<i64>,
    ) -> Result<Vec<i64>, Error> {
        let name = self.name;
        if ![Dtype::I32, Dtype::I64].contains(&rows.dtype()) {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{name}: indices have dtype {}; they must be int32 or int64",
                    element::name(rows.dtype())
                ),
            ));
        }
        if self.join == Join::Mean && values.dtype() == Dtype::BOOL {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!("{name}: truth values have no mean; convert them to numbers first"),
            ));
        }
        let (own, of_rows) = (values.shape(), rows.shape());
        if self.has_offsets && (of_rows.len() != 1 || of_rows[0] == 0 || own.is_empty()) {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{name}: offsets have shape {of_rows:?} and values {own:?}; offsets have one axis, with where every segment begins and the last one ends"
                ),
            ));
        }
        let axis = self.resolved_axis(own.len(), of_rows.len())?;
        let span = if self.has_offsets { 1 } else { of_rows.len() };
        if !self.has_offsets && own.get(axis..axis + span) != Some(of_rows) {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{name}: values have shape {own:?} and indices {of_rows:?}; values have the shape of the indices from axis {axis} on"
                ),
            ));
        }
        let count = if self.has_offsets {
            of_rows[0] - 1
        } else {
            count.unwrap_or_default()
        };
        if count < 0 {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{name}: the number of rows is {count}; it is not negative"),
            ));
        }
        let mut shape = own[..axis].to_vec();
        shape.push(count);
        shape.extend_from_slice(&own[axis + span..]);
        Ok(shape)
    }
}

impl Matrix {
    /// Joins values into the rows of `out` along an axis. Every row joins its values in their order, for any number of threads; float16 and
    /// bfloat16 are joined in float32, sums, products and means of float32 in float64, and rounded once. Integers wrap.
    ///
    /// # Errors
    ///
    /// As [`JoinOptions::describe`]; `index-out-of-range` for a row or an offset that there is not, before anything is written;
    /// `invalid-argument` for memory shared with `out`.
    pub fn join_rows(
        &self,
        values: &TensorView,
        rows: &TensorView,
        out: &mut TensorViewMut,
        options: &JoinOptions,
    ) -> Result<(), Error> {
        static SEGMENTS: Boundary = crossing("agpu_matrix_segments");
        let name = options.name;
        let input = Layout::of(name, "values", values)?;
        let at = Layout::of(name, "the indices", rows)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        let axis = options.resolved_axis(input.rank(), at.rank())?;
        let count = target.shape().get(axis).copied();
        let shape = options.describe(values, rows, count)?;
        target.check_out(name, input.dtype, &shape)?;
        target.check_apart(name, "values", &input, false)?;
        target.check_apart(name, "the indices", &at, false)?;
        let span = if options.has_offsets { 1 } else { at.rank() };
        let front = |rank: usize, span: usize| -> Vec<usize> {
            let own = axis..axis + span;
            own.clone()
                .chain((0..rank).filter(|one| !own.contains(one)))
                .collect()
        };
        let input = input.permuted(&front(input.rank(), span));
        let permuted = target.permuted(&front(target.rank(), 1));
        let tensors: [Tensor; 2] = [input.to_abi(), at.to_abi()];
        let target_tensor = permuted.to_abi();
        let work = Work {
            operations: input.len().saturating_add(target.len()).saturating_mul(2),
            dtype: input.dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(&SEGMENTS, &work, |executor| {
            let given = SegmentsOptions {
                size_bytes: size_of::<SegmentsOptions>() as u64,
                operation: options.join.code(),
                start: options.start.code(),
                has_offsets: u32::from(options.has_offsets),
                wraps: u32::from(options.wraps),
                skipped: options.skipped.unwrap_or(-1),
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.segments)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
