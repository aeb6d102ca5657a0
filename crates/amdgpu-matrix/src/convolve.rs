//! Convolution of images and its gradients.

use std::mem::size_of;

use amdgpu_abi::layout::{CONVOLVE_FORWARD, CONVOLVE_IMAGE_GRADIENT, CONVOLVE_WEIGHT_GRADIENT};
use amdgpu_abi::{Dtype, ErrorCode, Tensor};
use amdgpu_telemetry::Boundary;

use crate::elementwise::Described;
use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::window::four_axes;
use crate::{Error, ImageLayout, Matrix, Sliding, TensorView, TensorViewMut, element};

const NAME: &str = "conv2d";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvolveOptions {
    pub sliding: Sliding,
    pub groups: i64,
    pub layout: ImageLayout,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

/// Which tensor is computed from the two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvolvePass {
    Forward,
    /// The gradient by the image, from the gradient of the result and the weight.
    ImageGradient,
    /// The gradient by the weight, from the image and the gradient of the result.
    WeightGradient,
}

impl ConvolveOptions {
    /// Shape and dtype of the result of `image` and `weight` (outputs, channels of a group, rows, columns).
    ///
    /// # Errors
    ///
    /// `shape-mismatch` when channels, groups and weight do not fit or the window is too large, `invalid-argument`, `unsupported-dtype`.
    pub fn describe(
        &self,
        image: (&[i64], Dtype),
        weight: (&[i64], Dtype),
    ) -> Result<Described, Error> {
        self.sliding.check(NAME)?;
        let [batch, channels, rows, columns] = self.layout.extents(four_axes(NAME, "x", image.0)?);
        let [outputs, inputs, window_rows, window_columns] = four_axes(NAME, "weight", weight.0)?;
        if self.groups < 1 {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{NAME}: groups is {}; it must be at least 1", self.groups),
            ));
        }
        if outputs % self.groups != 0 || inputs.checked_mul(self.groups) != Some(channels) {
            return Err(Error::refused(
                ErrorCode::ShapeMismatch,
                format!(
                    "{NAME}: {channels} channels of x of shape {:?} and weight of shape {:?} do not make {} groups",
                    image.0, weight.0, self.groups
                ),
            ));
        }
        let (result_rows, result_columns) =
            self.sliding
                .result(NAME, (rows, columns), (window_rows, window_columns))?;
        if !element::is_float(image.1) || image.1 != weight.1 {
            return Err(Error::refused(
                ErrorCode::UnsupportedDtype,
                format!(
                    "{NAME}: x has dtype {} and weight {}; both must be the same float",
                    element::name(image.1),
                    element::name(weight.1)
                ),
            ));
        }
        Ok(Described {
            shape: self
                .layout
                .shape([batch, outputs, result_rows, result_columns]),
            dtype: image.1,
        })
    }

    /// Whether three tensors belong to one convolution; what the result is.
    ///
    /// # Errors
    ///
    /// As [`Self::describe`], and `shape-mismatch` for another result.
    pub fn check(
        &self,
        image: (&[i64], Dtype),
        weight: (&[i64], Dtype),
        result: (&[i64], Dtype),
    ) -> Result<Described, Error> {
        let described = self.describe(image, weight)?;
        if result.0 == described.shape && result.1 == described.dtype {
            return Ok(described);
        }
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!(
                "{NAME}: x of shape {:?} and weight of shape {:?} give {:?} of {}, not {:?} of {}",
                image.0,
                weight.0,
                described.shape,
                element::name(described.dtype),
                result.0,
                element::name(result.1)
            ),
        ))
    }
}

impl Matrix {
    /// Convolves images (forward), or computes a gradient of that. `inputs` are image, weight and an optional bias; gradient of the result
    /// and weight; or image and gradient of the result. The shape of `out` tells the third extent set for gradients.
    ///
    /// # Errors
    ///
    /// As [`ConvolveOptions::describe`], and `invalid-argument` for memory shared with `out`.
    pub fn convolve(
        &self,
        pass: ConvolvePass,
        inputs: &[TensorView],
        out: &mut TensorViewMut,
        options: &ConvolveOptions,
    ) -> Result<(), Error> {
        static CONVOLVE: Boundary = crossing("agpu_matrix_convolve");
        let names: &[&str] = match pass {
            ConvolvePass::Forward => &["x", "weight", "bias"],
            ConvolvePass::ImageGradient => &["gradient", "weight"],
            ConvolvePass::WeightGradient => &["x", "gradient"],
        };
        let layouts = inputs
            .iter()
            .zip(names)
            .map(|(view, name)| Layout::of(NAME, name, view))
            .collect::<Result<Vec<_>, _>>()?;
        let (Some(first), Some(second)) = (layouts.first(), layouts.get(1)) else {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{NAME} takes {} inputs, not {}", names.len(), inputs.len()),
            ));
        };
        let target = Layout::of(NAME, "out", &out.as_view())?;
        let (image, weight, result) = match pass {
            ConvolvePass::Forward => (first, second, &target),
            ConvolvePass::ImageGradient => (&target, second, first),
            ConvolvePass::WeightGradient => (first, &target, second),
        };
        let described = options.check(
            (image.shape(), image.dtype),
            (weight.shape(), weight.dtype),
            (result.shape(), result.dtype),
        )?;
        target.check_out(NAME, target.dtype, target.shape())?;
        for (layout, name) in layouts.iter().zip(names) {
            target.check_apart(NAME, name, layout, false)?;
        }
        if let Some(bias) = inputs.get(2) {
            check_bias(bias, weight.shape(), described.dtype)?;
        }
        let operations = result
            .len()
            .saturating_mul(2)
            .saturating_mul(weight.len() / (weight.shape()[0].max(1) as u64));
        let turned = |layout: &Layout| options.layout.turned(layout);
        let (ordered, target) = match pass {
            ConvolvePass::Forward => (
                [vec![turned(first)], layouts[1..].to_vec()].concat(),
                turned(&target),
            ),
            ConvolvePass::ImageGradient => (vec![turned(first), second.clone()], turned(&target)),
            ConvolvePass::WeightGradient => (vec![turned(first), turned(second)], target.clone()),
        };
        let tensors: Vec<Tensor> = ordered.iter().map(Layout::to_abi).collect();
        let target_tensor = target.to_abi();
        let work = Work {
            operations: operations / 16,
            dtype: described.dtype,
            thread_limit: options.thread_limit,
        };
        let sliding = &options.sliding;
        self.run_tensor(&CONVOLVE, &work, |executor| {
            let given = amdgpu_abi::ConvolveOptions {
                size_bytes: size_of::<amdgpu_abi::ConvolveOptions>() as u64,
                pass: match pass {
                    ConvolvePass::Forward => CONVOLVE_FORWARD,
                    ConvolvePass::ImageGradient => CONVOLVE_IMAGE_GRADIENT,
                    ConvolvePass::WeightGradient => CONVOLVE_WEIGHT_GRADIENT,
                },
                compute: element::compute_type(described.dtype),
                groups: options.groups as u64,
                row_stride: sliding.stride.0 as u64,
                column_stride: sliding.stride.1 as u64,
                row_padding: sliding.padding.0 as u64,
                column_padding: sliding.padding.1 as u64,
                row_dilation: sliding.dilation.0 as u64,
                column_dilation: sliding.dilation.1 as u64,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.convolve)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}

/// Refuses a bias that has not one value for each output of the weight, of the result's dtype.
///
/// # Errors
///
/// `shape-mismatch`.
pub fn check_bias(bias: &TensorView, weight: &[i64], result: Dtype) -> Result<(), Error> {
    let expected = &weight[..1];
    if bias.shape() == expected && bias.dtype() == result {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::ShapeMismatch,
        format!(
            "{NAME}: bias has shape {:?} and dtype {}; {expected:?} and {} are expected",
            bias.shape(),
            element::name(bias.dtype()),
            element::name(result)
        ),
    ))
}
