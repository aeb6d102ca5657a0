//! ops.h: convolution of images and its gradients.

use amdgpu_matrix::{ConvolveOptions, ConvolvePass};
use amdgpu_ops::convolve::{Convolution, convolve};
use amdgpu_ops::pool::Sliding;

use super::{Call, Given, image_layout, pair, unknown};
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

/// Extents of images and of weights.
const AXES: usize = 4;

/// `agpu_ops_conv2d_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Conv2dOptions {
    size_bytes: u64,
    out: Handle,
    bias: Handle,
    stride: [i64; 2],
    padding: [i64; 2],
    dilation: [i64; 2],
    groups: i64,
    layout: Text,
    precision: Text,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for Conv2dOptions {
    const NAME: &'static str = "agpu_ops_conv2d_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl Conv2dOptions {
    fn options(&self) -> Answer<ConvolveOptions> {
        Ok(ConvolveOptions {
            sliding: Sliding {
                stride: pair(self.stride, [1, 1]),
                padding: pair(self.padding, [0, 0]),
                dilation: pair(self.dilation, [1, 1]),
            },
            groups: if self.groups == 0 { 1 } else { self.groups },
            layout: image_layout(self.layout)?,
            thread_limit: None,
        })
    }

    fn is_tf32(&self) -> Answer<bool> {
        match self.precision.optional("precision")? {
            None | Some("fp32") => Ok(false),
            Some("tf32") => Ok(true),
            Some(other) => Err(unknown("precision", other, ["fp32", "tf32"].into_iter())),
        }
    }

    /// One pass; the gradients have `shape`.
    fn run(&self, pass: ConvolvePass, arrays: &[Given<'_>], shape: &[i64]) -> Answer<Handle> {
        let name = match pass {
            ConvolvePass::Forward => "conv2d",
            ConvolvePass::ImageGradient => "conv2d_input_gradient",
            ConvolvePass::WeightGradient => "conv2d_weight_gradient",
        };
        if pass != ConvolvePass::Forward && !self.bias.is_null() {
            let message = format!("{name} does not depend on the bias; leave it NULL");
            return Err(Failure::invalid(message));
        }
        let description = Convolution {
            pass,
            options: self.options()?,
            shape,
            is_tf32: self.is_tf32()?,
        };
        let call = Call::of(name, arrays, &[("bias", self.bias)], self.out)?;
        let mut inputs = call.operands.clone();
        inputs.extend(call.optional(0).cloned());
        let made = convolve(&call.ops, &inputs, call.out(), &description)?;
        Ok(call.insert(made))
    }
}

/// Convolve images with weights.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_conv2d(
    x: Handle,
    weight: Handle,
    options: Options<Conv2dOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let arrays = [("x", x), ("weight", weight)];
        place.write(options.read()?.run(ConvolvePass::Forward, &arrays, &[])?);
        Ok(())
    })
}

/// The gradient of a convolution by its images.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_conv2d_input_gradient(
    gradient: Handle,
    weight: Handle,
    shape: Items<i64>,
    options: Options<Conv2dOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let shape = shape.slice(AXES, "shape")?;
        let arrays = [("gradient", gradient), ("weight", weight)];
        let made = options
            .read()?
            .run(ConvolvePass::ImageGradient, &arrays, shape)?;
        place.write(made);
        Ok(())
    })
}

/// The gradient of a convolution by its weights.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_conv2d_weight_gradient(
    x: Handle,
    gradient: Handle,
    shape: Items<i64>,
    options: Options<Conv2dOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let shape = shape.slice(AXES, "shape")?;
        let arrays = [("x", x), ("gradient", gradient)];
        let made = options
            .read()?
            .run(ConvolvePass::WeightGradient, &arrays, shape)?;
        place.write(made);
        Ok(())
    })
}
