//! ops.h: convolution of images, transposed convolution, and their gradients.

use amdgpu_ops::convolve::{Convolution, Convolve, ConvolveOptions, ConvolvePass, convolve};
use amdgpu_ops::pool::Sliding;

use super::{Call, Given, along, image_layout, unknown};
use crate::array::dims_of;
use crate::borrowed::{Items, Options, Out, Text, Versioned};
use crate::handles::Handle;
use crate::status::{Answer, Failure, Status, answer};

/// Extents of the images and of the weights of `conv2d`.
const AXES: u32 = 4;

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
    stride_depth: i64,
    padding_depth: i64,
    dilation_depth: i64,
    output_padding: [i64; 3],
    pads_same: u32,
    reserved: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for Conv2dOptions {
    const NAME: &'static str = "agpu_ops_conv2d_options";
    const FIRST_BYTES: usize = std::mem::offset_of!(Self, stride_depth);
}

impl Conv2dOptions {
    fn options(&self, operation: Convolve) -> Answer<ConvolveOptions> {
        Ok(ConvolveOptions {
            operation,
            sliding: Sliding {
                stride: along(self.stride_depth, self.stride, [1; 3]),
                padding: along(self.padding_depth, self.padding, [0; 3]),
                dilation: along(self.dilation_depth, self.dilation, [1; 3]),
            },
            is_same: self.pads_same != 0,
            output_padding: self.output_padding,
            groups: if self.groups == 0 { 1 } else { self.groups },
            layout: image_layout(self.layout, operation.spatial)?,
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
    fn run(
        &self,
        operation: Convolve,
        pass: ConvolvePass,
        handles: [Handle; 2],
        shape: &[i64],
    ) -> Answer<Handle> {
        let mut name = operation.name().to_owned();
        if pass != ConvolvePass::Forward {
            name += if pass == ConvolvePass::ImageGradient {
                "_input_gradient"
            } else {
                "_weight_gradient"
            };
            if !self.bias.is_null() {
                let message = format!("{name} does not depend on the bias; leave it NULL");
                return Err(Failure::invalid(message));
            }
        }
        let description = Convolution {
            pass,
            options: self.options(operation)?,
            shape,
            is_tf32: self.is_tf32()?,
        };
        let names = pass.input_names().iter().copied();
        let arrays: Vec<Given<'_>> = names.zip(handles).collect();
        let call = Call::of(&name, &arrays, &[("bias", self.bias)], self.out)?;
        let mut inputs = call.operands.clone();
        inputs.extend(call.optional(0).cloned());
        let made = convolve(&call.ops, &inputs, call.out(), &description)?;
        Ok(call.insert(made))
    }
}

fn known(operation: Text) -> Answer<Convolve> {
    let name = operation.required("operation")?;
    Convolve::from_name(name)
        .ok_or_else(|| unknown("operation", name, Convolve::all().map(Convolve::name)))
}

/// One pass of a convolution by its name.
fn compute(
    operation: Answer<Convolve>,
    pass: ConvolvePass,
    handles: [Handle; 2],
    shape: Option<(u32, Items<i64>)>,
    (options, result): (Options<Conv2dOptions>, Out<Handle>),
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let (dimensions, shape) = shape.unwrap_or((0, Items::from_address(0)));
        let shape = dims_of(shape, dimensions, "shape")?;
        place.write(options.read()?.run(operation?, pass, handles, &shape)?);
        Ok(())
    })
}

/// Convolve images with weights.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_conv2d(
    x: Handle,
    weight: Handle,
    options: Options<Conv2dOptions>,
    result: Out<Handle>,
) -> Status {
    let (operation, pass) = (Ok(Convolve::CONV2D), ConvolvePass::Forward);
    compute(operation, pass, [x, weight], None, (options, result))
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
    let (operation, handles, shape) = (
        Ok(Convolve::CONV2D),
        [gradient, weight],
        Some((AXES, shape)),
    );
    let pass = ConvolvePass::ImageGradient;
    compute(operation, pass, handles, shape, (options, result))
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
    let (operation, handles, shape) = (Ok(Convolve::CONV2D), [x, gradient], Some((AXES, shape)));
    let pass = ConvolvePass::WeightGradient;
    compute(operation, pass, handles, shape, (options, result))
}

/// Convolve images of one to three axes with weights, or the transpose of that.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_convolve(
    operation: Text,
    x: Handle,
    weight: Handle,
    options: Options<Conv2dOptions>,
    result: Out<Handle>,
) -> Status {
    let (operation, pass) = (known(operation), ConvolvePass::Forward);
    compute(operation, pass, [x, weight], None, (options, result))
}

/// The gradient of [`agpu_ops_convolve`] by its images.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_convolve_input_gradient(
    operation: Text,
    gradient: Handle,
    weight: Handle,
    dimensions: u32,
    shape: Items<i64>,
    options: Options<Conv2dOptions>,
    result: Out<Handle>,
) -> Status {
    let (operation, handles, shape) = (
        known(operation),
        [gradient, weight],
        Some((dimensions, shape)),
    );
    let pass = ConvolvePass::ImageGradient;
    compute(operation, pass, handles, shape, (options, result))
}

/// The gradient of [`agpu_ops_convolve`] by its weights.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_ops_convolve_weight_gradient(
    operation: Text,
    x: Handle,
    gradient: Handle,
    dimensions: u32,
    shape: Items<i64>,
    options: Options<Conv2dOptions>,
    result: Out<Handle>,
) -> Status {
    let (operation, handles, shape) = (known(operation), [x, gradient], Some((dimensions, shape)));
    let pass = ConvolvePass::WeightGradient;
    compute(operation, pass, handles, shape, (options, result))
}
