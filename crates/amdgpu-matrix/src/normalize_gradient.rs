//! Gradients of softmax, log-softmax, layer norm and root-mean-square norm.

use amdgpu_abi::ErrorCode;
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::{Layout, axes_last};
use crate::matrix::crossing;
use crate::normalize::{RowCall, parameter};
use crate::{Error, Matrix, Normalize, NormalizeOptions, TensorView, TensorViewMut, element};

impl Normalize {
    /// Shape and dtype of the gradient by `x`, which has those of the gradient of the result.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` and `unsupported-dtype` unless both are alike and floats.
    pub fn describe_gradient(
        self,
        x: &TensorView,
        gradient: &TensorView,
    ) -> Result<Described, Error> {
        let (name, described) = (self.gradient_name(), self.describe(x));
        if gradient.shape() != x.shape() {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{name}: gradient has shape {:?}, the result {:?}",
                    gradient.shape(),
                    x.shape()
                ),
            ));
        }
        for (view, argument) in [(x, "x"), (gradient, "gradient")] {
            if view.dtype() != described.dtype {
                return Err(Error::refused(
                    ErrorCode::UnsupportedDtype,
                    format!(
                        "{name}: {argument} has dtype {}, the result {}; both must be floats of one dtype",
                        element::name(view.dtype()),
                        element::name(described.dtype)
                    ),
                ));
            }
        }
        Ok(described)
    }
}

impl Matrix {
    /// The gradient by the argument of a normalisation over some axes, into `out`, which may be `x` or `gradient` itself. `x` is the argument
    /// (of the softmaxes the result), `gradient` that of the result, `scale` the factors of a norm.
    ///
    /// # Errors
    ///
    /// As [`Matrix::normalize`]; `shape-mismatch` and `unsupported-dtype` where `gradient` is not like `x`.
    ///
    /// ```
    /// # use amdgpu_matrix::{Matrix, Normalize, NormalizeOptions, RowAxes, TensorView, TensorViewMut};
    /// # let Ok(matrix) = Matrix::global() else { return Ok(()) };
    /// let (y, gradient, mut out) = ([0.5_f32, 0.5], [1.0_f32, 0.0], [0.0_f32; 2]);
    /// let options = NormalizeOptions { axes: RowAxes::Named(&[-1]), epsilon: 0.0, thread_limit: None };
    /// let (y, gradient) = (TensorView::from_slice(&y, &[2])?, TensorView::from_slice(&gradient, &[2])?);
    /// let mut target = TensorViewMut::from_slice(&mut out, &[2])?;
    /// matrix.normalize_gradient(Normalize::Softmax, &y, &gradient, None, &mut target, &options)?;
    /// assert_eq!(out, [0.25, -0.25]);
    /// # Ok::<(), amdgpu_matrix::Error>(())
    /// ```
    pub fn normalize_gradient(
        &self,
        operation: Normalize,
        x: &TensorView,
        gradient: &TensorView,
        scale: Option<&TensorView>,
        out: &mut TensorViewMut,
        options: &NormalizeOptions,
    ) -> Result<(), Error> {
        static GRADIENT: Boundary = crossing("agpu_matrix_normalize_gradient");
        let name = operation.gradient_name();
        let inputs = [
            Layout::of(name, "x", x)?,
            Layout::of(name, "gradient", gradient)?,
        ];
        let target = Layout::of(name, "out", &out.as_view())?;
        let described = operation.describe_gradient(x, gradient)?;
        for (layout, argument) in inputs.iter().zip(["x", "gradient"]) {
            target.check_apart(name, argument, layout, true)?;
        }
        target.check_out(name, described.dtype, &described.shape)?;
        let axes = options.axes.resolve(name, inputs[0].shape())?;
        options.check(name)?;
        let rank = target.rank();
        let row_shape: Vec<_> = axes.iter().map(|axis| inputs[0].shape()[*axis]).collect();
        let order = axes_last(rank, &axes);
        let mut layouts: Vec<_> = inputs.iter().map(|input| input.permuted(&order)).collect();
        if let Some(scale) = scale {
            layouts.push(parameter(
                name,
                "weight",
                scale,
                &row_shape,
                &target,
                described.dtype,
            )?);
        }
        let turned = target.permuted(&order);
        let call = RowCall {
            boundary: &GRADIENT,
            routine: self.symbols.normalize_gradient,
            operation,
            inputs: &layouts,
            out: &turned,
            row_axes: axes.len(),
            statistics: None,
        };
        self.run_rows(&call, described.dtype, options)
    }
}
