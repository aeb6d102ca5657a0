//! Reductions over axes.

use std::mem::size_of;

use amdgpu_abi::ops::{REDUCTIONS, ReductionResult, ReductionRow};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, axes_last, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

macro_rules! define {
    ($($variant:ident,)*) => {
        /// A reduction; the variants are described in `amdgpu.ops` under the names of [`Reduce::name`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reduce {
            $($variant,)*
        }

        impl Reduce {
            pub const ALL: [Self; REDUCTIONS.len()] = [$(Self::$variant,)*];
        }
    };
}

amdgpu_abi::reductions!(define);

#[derive(Clone, Copy, Debug)]
pub struct ReduceOptions<'a> {
    /// Axes to reduce; `None` for all, an empty slice for none.
    pub axes: Option<&'a [i64]>,
    /// Whether reduced axes stay, with extent 1.
    pub keeps_axes: bool,
    /// Taken off the number of values that variances are divided by.
    pub correction: f64,
    /// What sums, means and variances are rounded to, a float; `None` for what the operation gives by itself.
    pub result: Option<Dtype>,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl Reduce {
    const fn row(self) -> &'static ReductionRow {
        &REDUCTIONS[self as usize]
    }

    /// The name in `amdgpu.ops`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    const fn number(self) -> u32 {
        self.row().number
    }

    /// The dtype that values are computed in, and that of the result: integers are summed in 64 bits and averaged in float64.
    #[must_use]
    pub fn dtypes(self, x: Dtype) -> (Dtype, Dtype) {
        let result = match self.row().result {
            ReductionResult::Summed => element::sum_type(x),
            ReductionResult::Float => element::as_float(x),
            ReductionResult::Same => x,
            ReductionResult::Bool => Dtype::BOOL,
            ReductionResult::Int64 => Dtype::I64,
        };
        let computed = match self.row().result {
            ReductionResult::Summed | ReductionResult::Float => element::compute_type(result),
            _ => element::compute_type(x),
        };
        (computed, result)
    }

    fn result_dtype(self, x: Dtype, options: &ReduceOptions) -> Result<Dtype, Error> {
        let (compute, own) = self.dtypes(x);
        let Some(result) = options.result else {
            return Ok(own);
        };
        let is_rounded = matches!(
            self,
            Self::Sum | Self::Product | Self::Mean | Self::Variance | Self::Deviation
        );
        if is_rounded && element::is_float(compute) && element::is_float(result) {
            return Ok(result);
        }
        Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{}: the result has dtype {}, which is not rounded to {}",
                self.name(),
                element::name(own),
                element::name(result)
            ),
        ))
    }

    /// Refuses to choose among no values; `axes` are those of [`Self::axes`].
    ///
    /// # Errors
    ///
    /// `invalid-argument` where results are chosen from nothing.
    pub fn check_values(self, shape: &[i64], axes: &[usize]) -> Result<(), Error> {
        let chooses = matches!(
            self,
            Self::Maximum | Self::Minimum | Self::Argmax | Self::Argmin
        );
        let has_results = (0..shape.len()).all(|axis| axes.contains(&axis) || shape[axis] != 0);
        if !chooses || !has_results || axes.iter().all(|axis| shape[*axis] != 0) {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{}: nothing is left to choose from in x of shape {shape:?}",
                self.name()
            ),
        ))
    }

    /// What sums are divided by where each result is made of `count` values.
    #[must_use]
    #[allow(
        clippy::cast_precision_loss,
        reason = "counts of elements in memory are below 2^53"
    )]
    pub fn divisor(self, count: i64, correction: f64) -> f64 {
        match self {
            Self::Mean => count as f64,
            // Fewer values than the correction: NaN or an infinity, as in NumPy.
            Self::Variance | Self::Deviation => (count as f64 - correction).max(0.0),
            _ => 1.0,
        }
    }

    /// Shape and dtype of the result.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for axes that do not exist or are named twice.
    pub fn describe(self, x: &TensorView, options: &ReduceOptions) -> Result<Described, Error> {
        let axes = self.axes(x.shape(), options)?;
        self.describe_over(&axes, x, options)
    }

    /// [`Self::describe`] where [`Self::axes`] are known.
    ///
    /// # Errors
    ///
    /// `unsupported-dtype`.
    pub fn describe_over(
        self,
        axes: &[usize],
        x: &TensorView,
        options: &ReduceOptions,
    ) -> Result<Described, Error> {
        let extents = x.shape().iter().enumerate();
        let shape = extents
            .filter_map(|(axis, extent)| {
                if axes.contains(&axis) {
                    options.keeps_axes.then_some(1)
                } else {
                    Some(*extent)
                }
            })
            .collect();
        Ok(Described {
            shape,
            dtype: self.result_dtype(x.dtype(), options)?,
        })
    }

    /// The reduced axes of x, which has this shape, in ascending order.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for axes that do not exist or are named twice.
    pub fn axes(self, shape: &[i64], options: &ReduceOptions) -> Result<Vec<usize>, Error> {
        match options.axes {
            None => Ok((0..shape.len()).collect()),
            Some(axes) => resolve_axes(self.name(), shape, axes),
        }
    }
}

impl Matrix {
    /// Reduces `x` into `out`; see [`Reduce::describe`] for what `out` must be. Sums are pairwise.
    ///
    /// # Errors
    ///
    /// As [`Reduce::describe`]; `unsupported-dtype`; `invalid-argument` when `out` shares memory with `x`, or when nothing has no result.
    ///
    /// ```
    /// # use amdgpu_matrix::{Matrix, Reduce, ReduceOptions, TensorView, TensorViewMut};
    /// # let Ok(matrix) = Matrix::global() else { return Ok(()) };
    /// let (x, mut out) = ([1.0_f32, 2.0, 3.0, 4.0], [0.0_f32; 2]);
    /// let options = ReduceOptions { axes: Some(&[0]), keeps_axes: false, correction: 0.0, result: None, thread_limit: None };
    /// let x = TensorView::from_slice(&x, &[2, 2])?;
    /// matrix.reduce(Reduce::Sum, &x, &mut TensorViewMut::from_slice(&mut out, &[2])?, &options)?;
    /// assert_eq!(out, [4.0, 6.0]);
    /// # Ok::<(), amdgpu_matrix::Error>(())
    /// ```
    pub fn reduce(
        &self,
        operation: Reduce,
        x: &TensorView,
        out: &mut TensorViewMut,
        options: &ReduceOptions,
    ) -> Result<(), Error> {
        static REDUCE: Boundary = crossing("agpu_matrix_reduce");
        let name = operation.name();
        let input = Layout::of(name, "x", x)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        let described = operation.describe(x, options)?;
        target.check_out(name, described.dtype, &described.shape)?;
        target.check_apart(name, "x", &input, false)?;
        let axes = operation.axes(input.shape(), options)?;
        let reduced_len: i64 = axes.iter().map(|axis| input.shape()[*axis]).product();
        operation.check_values(input.shape(), &axes)?;
        let turned = input.permuted(&axes_last(input.rank(), &axes));
        let kept: Vec<usize> = (0..input.rank())
            .filter(|axis| !axes.contains(axis))
            .collect();
        let kept_target = if options.keeps_axes {
            target.permuted(&kept)
        } else {
            target
        };
        let tensors: [Tensor; 1] = [turned.to_abi()];
        let target_tensor = kept_target.to_abi();
        let (compute, _) = operation.dtypes(input.dtype);
        let work = Work {
            operations: input.len(),
            dtype: input.dtype,
            thread_limit: options.thread_limit,
        };
        let divisor = operation.divisor(reduced_len, options.correction);
        self.run_tensor(&REDUCE, &work, |executor| {
            let given = amdgpu_abi::ReduceOptions {
                size_bytes: size_of::<amdgpu_abi::ReduceOptions>() as u64,
                operation: operation.number(),
                compute,
                reduced_axes: axes.len() as u64,
                divisor,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.reduce)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
