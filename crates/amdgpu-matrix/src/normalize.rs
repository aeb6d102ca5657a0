//! Softmax, log-softmax, layer norm and root-mean-square norm.

use std::ffi::c_void;
use std::mem::size_of;

use amdgpu_abi::layout::{
    NORMALIZE_LAYER_NORM, NORMALIZE_LOG_SOFTMAX, NORMALIZE_RMS_NORM, NORMALIZE_SOFTMAX,
};
use amdgpu_abi::{Dtype, ErrorCode, Status, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, axes_last, resolve_axes};
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut, element};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalize {
    /// `e^(x - max) / sum(e^(x - max))`
    Softmax,
    /// `x - max - log(sum(e^(x - max)))`
    LogSoftmax,
    /// `(x - mean) / sqrt(variance + epsilon) * scale + shift`
    LayerNorm,
    /// `x / sqrt(mean(x^2) + epsilon) * scale`
    RmsNorm,
}

/// Operations of one element, as measured against an addition: the exponential leads.
const COST: u64 = 12;

/// The axes that are normalised together.
#[derive(Clone, Copy, Debug)]
pub enum RowAxes<'a> {
    /// By index; negative ones count from the end.
    Named(&'a [i64]),
    /// The last ones, which must have these extents.
    Last(&'a [i64]),
}

impl RowAxes<'_> {
    /// The axes of x, which has this shape, in ascending order.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for axes that do not exist, or none; `shape-mismatch` for other last extents.
    pub fn resolve(&self, operation: &str, shape: &[i64]) -> Result<Vec<usize>, Error> {
        let axes = match self {
            Self::Named(axes) => resolve_axes(operation, shape, axes)?,
            Self::Last(extents) => {
                if !shape.ends_with(extents) {
                    return Err(Error::refused(
                        ErrorCode::ShapeMismatch,
                        format!(
                            "{operation}: x has shape {shape:?}, which does not end in the normalised shape {extents:?}"
                        ),
                    ));
                }
                (shape.len() - extents.len()..shape.len()).collect()
            }
        };
        if axes.is_empty() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{operation}: no axis is named to normalise over"),
            ));
        }
        Ok(axes)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct NormalizeOptions<'a> {
    pub axes: RowAxes<'a>,
    /// Added to the variance or the mean square; not negative.
    pub epsilon: f64,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl NormalizeOptions<'_> {
    /// Refuses an epsilon that is negative.
    ///
    /// # Errors
    ///
    /// `invalid-argument`.
    pub fn check(&self, operation: &str) -> Result<(), Error> {
        let epsilon = self.epsilon;
        if epsilon.is_nan() || epsilon < 0.0 {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{operation}: eps is {epsilon}; it must not be negative"),
            ));
        }
        Ok(())
    }
}

impl Normalize {
    pub const ALL: [Self; 4] = [
        Self::Softmax,
        Self::LogSoftmax,
        Self::LayerNorm,
        Self::RmsNorm,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::LogSoftmax => "log_softmax",
            Self::LayerNorm => "layer_norm",
            Self::RmsNorm => "rms_norm",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
    }

    /// Scale and shift, as far as the operation has them.
    #[must_use]
    pub fn parameter_names(self) -> &'static [&'static str] {
        match self {
            Self::Softmax | Self::LogSoftmax => &[],
            Self::LayerNorm => &["scale", "shift"],
            Self::RmsNorm => &["scale"],
        }
    }

    /// The name of the operation's gradient in `amdgpu.ops`.
    #[must_use]
    pub const fn gradient_name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax_gradient",
            Self::LogSoftmax => "log_softmax_gradient",
            Self::LayerNorm => "layer_norm_gradient",
            Self::RmsNorm => "rms_norm_gradient",
        }
    }

    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::Softmax => NORMALIZE_SOFTMAX,
            Self::LogSoftmax => NORMALIZE_LOG_SOFTMAX,
            Self::LayerNorm => NORMALIZE_LAYER_NORM,
            Self::RmsNorm => NORMALIZE_RMS_NORM,
        }
    }

    /// What is added to the variance or the mean square where nothing else is asked for; the softmaxes add nothing.
    #[must_use]
    pub const fn default_epsilon(self) -> f64 {
        match self {
            Self::LayerNorm => 1e-5,
            Self::RmsNorm => 1e-6,
            Self::Softmax | Self::LogSoftmax => 0.0,
        }
    }

    /// Shape and dtype of the result: those of x, integers as float64.
    #[must_use]
    pub fn describe(self, x: &TensorView) -> Described {
        Described {
            shape: x.shape().to_vec(),
            dtype: element::as_float(x.dtype()),
        }
    }
}

impl Matrix {
    /// Normalises `x` over some axes into `out`, which may be `x` itself. `parameters` are scale and shift of the shape of those axes, or
    /// fewer.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for axes that do not exist or memory shared with `out`, `shape-mismatch`, `unsupported-dtype`.
    ///
    /// ```
    /// # use amdgpu_matrix::{Matrix, Normalize, NormalizeOptions, RowAxes, TensorView, TensorViewMut};
    /// # let Ok(matrix) = Matrix::global() else { return Ok(()) };
    /// let (x, mut out) = ([1.0_f32, 1.0], [0.0_f32; 2]);
    /// let options = NormalizeOptions { axes: RowAxes::Named(&[-1]), epsilon: 0.0, thread_limit: None };
    /// let x = TensorView::from_slice(&x, &[2])?;
    /// matrix.normalize(Normalize::Softmax, &x, &[], &mut TensorViewMut::from_slice(&mut out, &[2])?, &options)?;
    /// assert_eq!(out, [0.5, 0.5]);
    /// # Ok::<(), amdgpu_matrix::Error>(())
    /// ```
    pub fn normalize(
        &self,
        operation: Normalize,
        x: &TensorView,
        parameters: &[TensorView],
        out: &mut TensorViewMut,
        options: &NormalizeOptions,
    ) -> Result<(), Error> {
        self.normalize_into(operation, x, parameters, out, options, None)
    }

    /// The layer norm of a matrix over its rows, which also writes the mean of each row and one over its deviation: vectors without gaps, in the
    /// dtype that is computed in (float64 for one of float64, else float32).
    ///
    /// # Errors
    ///
    /// As [`Self::normalize`]; `shape-mismatch` and `unsupported-dtype` for other statistics, or where x is no matrix.
    pub fn layer_norm_with_statistics(
        &self,
        x: &TensorView,
        parameters: &[TensorView],
        out: &mut TensorViewMut,
        statistics: [&mut TensorViewMut; 2],
        epsilon: f64,
    ) -> Result<(), Error> {
        let name = Normalize::LayerNorm.name();
        let &[rows, _] = x.shape() else {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!("{name}: x has shape {:?} and is no matrix", x.shape()),
            ));
        };
        let computed = element::compute_type(element::as_float(x.dtype()));
        let mut places = [std::ptr::null_mut(); 2];
        for ((one, argument), place) in { statistics.into_iter() }
            .zip(["mean", "inverse"])
            .zip(&mut places)
        {
            let layout = Layout::of(name, argument, &one.as_view())?;
            layout.check_out(name, computed, &[rows])?;
            if rows > 1 && layout.strides() != [1] {
                return Err(Error::refused(
                    ErrorCode::ShapeMismatch,
                    format!("{name}: {argument} has gaps between its elements"),
                ));
            }
            *place = one.as_view().data().cast_mut();
        }
        let options = NormalizeOptions {
            axes: RowAxes::Named(&[1]),
            epsilon,
            thread_limit: None,
        };
        self.normalize_into(
            Normalize::LayerNorm,
            x,
            parameters,
            out,
            &options,
            Some(places),
        )
    }

    fn normalize_into(
        &self,
        operation: Normalize,
        x: &TensorView,
        parameters: &[TensorView],
        out: &mut TensorViewMut,
        options: &NormalizeOptions,
        statistics: Option<[*mut c_void; 2]>,
    ) -> Result<(), Error> {
        static NORMALIZE: Boundary = crossing("agpu_matrix_normalize");
        let name = operation.name();
        let input = Layout::of(name, "x", x)?;
        let target = Layout::of(name, "out", &out.as_view())?;
        let described = operation.describe(x);
        target.check_out(name, described.dtype, &described.shape)?;
        target.check_apart(name, "x", &input, true)?;
        let axes = options.axes.resolve(name, input.shape())?;
        options.check(name)?;
        let row_shape: Vec<_> = axes.iter().map(|axis| input.shape()[*axis]).collect();
        let mut layouts = vec![input.permuted(&axes_last(input.rank(), &axes))];
        for (view, argument) in parameters.iter().zip(operation.parameter_names()) {
            layouts.push(parameter(
                name,
                argument,
                view,
                &row_shape,
                &target,
                described.dtype,
            )?);
        }
        let turned = target.permuted(&axes_last(input.rank(), &axes));
        let call = RowCall {
            boundary: &NORMALIZE,
            routine: self.symbols.normalize,
            operation,
            inputs: &layouts,
            out: &turned,
            row_axes: axes.len(),
            statistics,
        };
        self.run_rows(&call, described.dtype, options)
    }

    /// Runs a routine over rows, whose layouts were checked.
    pub(crate) fn run_rows(
        &self,
        call: &RowCall<'_>,
        dtype: Dtype,
        options: &NormalizeOptions,
    ) -> Result<(), Error> {
        let tensors: Vec<Tensor> = call.inputs.iter().map(Layout::to_abi).collect();
        let target = call.out.to_abi();
        let [means, inverse_deviations] = call.statistics.unwrap_or([std::ptr::null_mut(); 2]);
        let work = Work {
            operations: call.out.len().saturating_mul(COST),
            dtype,
            thread_limit: options.thread_limit,
        };
        self.run_tensor(call.boundary, &work, |executor| {
            let given = amdgpu_abi::NormalizeOptions {
                size_bytes: size_of::<amdgpu_abi::NormalizeOptions>() as u64,
                operation: call.operation.number(),
                compute: element::compute_type(dtype),
                row_axes: call.row_axes as u64,
                epsilon: options.epsilon,
                executor,
                means,
                inverse_deviations,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (call.routine)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target,
                    &raw const given,
                )
            }
        })
    }
}

/// What the library's routines over rows take alike: a normalisation and its gradient.
pub(crate) struct RowCall<'a> {
    pub boundary: &'static Boundary,
    pub routine: RowRoutine,
    pub operation: Normalize,
    /// With the normalised axes last, as `out`.
    pub inputs: &'a [Layout],
    pub out: &'a Layout,
    pub row_axes: usize,
    /// Where means and inverse deviations of rows go.
    pub statistics: Option<[*mut c_void; 2]>,
}

type RowRoutine = unsafe extern "C" fn(
    *const Tensor,
    u64,
    *const Tensor,
    *const amdgpu_abi::NormalizeOptions,
) -> Status;

/// Refuses a scale or shift that has not the shape of the normalised axes, or is wider than the result.
///
/// # Errors
///
/// `shape-mismatch`, `unsupported-dtype`.
pub fn check_parameter(
    operation: &str,
    argument: &str,
    parameter: &TensorView,
    row_shape: &[i64],
    result: Dtype,
) -> Result<(), Error> {
    if parameter.shape() != row_shape {
        return Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{operation}: {argument} has shape {:?}, the normalised axes {row_shape:?}",
                parameter.shape()
            ),
        ));
    }
    let compute = element::compute_type(result);
    if element::compute_type(element::as_float(parameter.dtype())).bits > compute.bits {
        return Err(Error::refused(
            ErrorCode::UnsupportedDtype,
            format!(
                "{operation}: {argument} has dtype {}, which is wider than x computed in {}",
                element::name(parameter.dtype()),
                element::name(compute)
            ),
        ));
    }
    Ok(())
}

/// A scale or shift that was checked, apart from `out`.
pub(crate) fn parameter(
    operation: &str,
    argument: &str,
    view: &TensorView,
    row_shape: &[i64],
    out: &Layout,
    dtype: Dtype,
) -> Result<Layout, Error> {
    let layout = Layout::of(operation, argument, view)?;
    check_parameter(operation, argument, view, row_shape, dtype)?;
    out.check_apart(operation, argument, &layout, false)?;
    Ok(layout)
}
