//! Convolutions of one to three axes, transposed ones, and their gradients. Images whose channels are last in memory are taken as they lie, and
//! so are the results.

use std::ffi::CStr;

use super::reduction::sum_but;
use super::table;
use crate::amdgpu::{Convolve, Owned, agpu};
use crate::call::{Call, Results, Returned, tensors};
use crate::compute::{Held, contiguous, zeros};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::host;
use crate::images::{self, channels_last, has_channels_last};
use crate::tensor::{Dims, Tensor, View};

table! {
    c"aten::convolution_overrideable" => forward,
    c"aten::convolution_backward_overrideable" => backward,
}

/// What stands behind the tensors in both schemas.
struct Settings {
    name: &'static CStr,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    is_transposed: bool,
    output_padding: Vec<i64>,
    groups: i64,
    /// Whether images have their channels last in memory.
    is_last: bool,
    is_tf32: bool,
}

impl Settings {
    fn of(c: &Call, x: &View, weight: &View) -> Outcome<Self> {
        let spatial = x.rank() - 2;
        let along = |place: usize| -> Outcome<Vec<i64>> {
            let given = c.ints(place)?;
            match given.len() {
                1 => Ok(vec![given[0]; spatial]),
                length if length == spatial => Ok(given.to_vec()),
                length => Err(Failure::refused(format!(
                    "{}: {length} values for {spatial} axes of images",
                    c.name
                ))),
            }
        };
        let is_transposed = c.flag(3)?;
        let name = match (is_transposed, spatial) {
            (false, 1) => c"conv1d",
            (false, 2) => c"conv2d",
            (false, 3) => c"conv3d",
            (true, 1) => c"conv_transpose1d",
            (true, 2) => c"conv_transpose2d",
            (true, 3) => c"conv_transpose3d",
            _ => {
                return Err(Failure::no_kernel(format!(
                    "convolutions of {spatial} axes have no kernel"
                )));
            }
        };
        Ok(Self {
            name,
            stride: along(0)?,
            padding: along(1)?,
            dilation: along(2)?,
            is_transposed,
            output_padding: along(4)?,
            groups: c.int(5)?,
            is_last: has_channels_last(x) || has_channels_last(weight),
            is_tf32: x.dtype == Dtype::F32 && host::get()?.allows_tf32(),
        })
    }

    /// Options, where values of fewer axes stand behind.
    fn options(&self) -> Convolve {
        let three = |values: &[i64], default: i64| {
            let mut all = [default; 3];
            all[3 - values.len()..].copy_from_slice(values);
            all
        };
        let (stride, padding) = (three(&self.stride, 1), three(&self.padding, 0));
        let dilation = three(&self.dilation, 1);
        Convolve {
            stride: [stride[1], stride[2]],
            padding: [padding[1], padding[2]],
            dilation: [dilation[1], dilation[2]],
            groups: self.groups,
            stride_depth: stride[0],
            padding_depth: padding[0],
            dilation_depth: dilation[0],
            output_padding: if self.is_transposed {
                three(&self.output_padding, 0)
            } else {
                [0; 3]
            },
            layout: match (self.is_last, self.stride.len()) {
                (false, _) => std::ptr::null(),
                (true, 2) => c"NHWC".as_ptr(),
                (true, _) => c"NDHWC".as_ptr(),
            },
            precision: if self.is_tf32 {
                c"tf32".as_ptr()
            } else {
                std::ptr::null()
            },
            ..Convolve::default()
        }
    }

    /// Images in the order in which they lie.
    fn ordered(&self, images: &View) -> View {
        if self.is_last {
            channels_last(images)
        } else {
            images.clone()
        }
    }

    /// Images in row-major order, with their channels where the settings say.
    fn dense(&self, images: &View) -> Outcome<Held> {
        contiguous(&self.ordered(images))
    }

    /// The axis of channels of images in the order in which they lie.
    fn channel_axis(&self, images: &View) -> usize {
        if self.is_last { images.rank() - 1 } else { 1 }
    }

    /// New images of a shape (batch, channels, ...).
    fn images(&self, shape: &[i64], like: &View) -> Outcome<Tensor> {
        images::empty(shape, self.is_last, like.dtype, like.place)
    }

    fn result_shape(&self, x: &View, weight: &View) -> Outcome<Dims> {
        let mut shape = Dims::from_slice(&[
            x.shape[0],
            if self.is_transposed {
                weight.shape[1] * self.groups
            } else {
                weight.shape[0]
            },
        ]);
        for axis in 0..self.stride.len() {
            let (extent, kernel) = (x.shape[2 + axis], weight.shape[2 + axis]);
            let reach = self.dilation[axis] * (kernel - 1) + 1;
            let result = if self.is_transposed {
                (extent - 1) * self.stride[axis] - 2 * self.padding[axis]
                    + reach
                    + self.output_padding[axis]
            } else {
                (extent + 2 * self.padding[axis] - reach).div_euclid(self.stride[axis]) + 1
            };
            if result <= 0 {
                return Err(Failure::refused(format!(
                    "Calculated output size {result} of axis {axis} is too small: images of {extent} and a kernel that reaches {reach}"
                )));
            }
            shape.push(result);
        }
        Ok(shape)
    }
}

fn check(c: &Call, x: &View, weight: &View) -> Outcome {
    if !x.dtype.is_float() {
        return Err(Failure::no_kernel(
            "convolutions of numbers that are not real have no kernel",
        ));
    }
    if x.rank() != weight.rank() || x.rank() < 3 {
        return Err(Failure::no_kernel(format!(
            "{}: images of {} axes and weights of {}",
            c.name,
            x.rank(),
            weight.rank()
        )));
    }
    if x.dtype != weight.dtype {
        return Err(Failure::refused(format!(
            "Input type ({}) and weight type ({}) should be the same",
            x.dtype.name()?.to_string_lossy(),
            weight.dtype.name()?.to_string_lossy()
        )));
    }
    x.place.check_same(weight.place)
}

fn forward(c: &Call) -> Outcome<Results> {
    let (x, weight) = (c.tensor(0)?, c.tensor(1)?);
    check(c, x, weight)?;
    let settings = Settings::of(c, x, weight)?;
    let made = settings.images(&settings.result_shape(x, weight)?, x)?;
    if made.is_empty() {
        return Ok(tensors([made]));
    }
    let x = settings.dense(x)?;
    let target = settings.ordered(&made);
    let bias = c.optional(2).map(|bias| contiguous(bias)).transpose()?;
    let bias = bias.map(|bias| bias.array()).transpose()?;
    let (images, weights, place) = (x.array()?, weight.array()?, target.array()?);
    let mut options = settings.options();
    options.out = place.0;
    options.bias = bias.as_ref().map_or(0, |bias| bias.0);
    let mut result = 0;
    agpu!(agpu_ops_convolve(
        settings.name.as_ptr(),
        images.0,
        weights.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    Ok(tensors([made]))
}

/// Gradients by images, weights and bias; what the mask leaves out is not defined.
fn backward(c: &Call) -> Outcome<Results> {
    let (gradient, x, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check(c, x, weight)?;
    let settings = Settings::of(c, x, weight)?;
    let mask = c.flags(6)?;
    let mut results = Results::new();
    let dense = settings.dense(gradient)?;
    for (place, wanted) in mask.iter().enumerate() {
        let made = match (wanted, place) {
            (false, _) => None,
            (true, 0) => Some(by_images(&settings, &dense, x, weight)?),
            (true, 1) => Some(by_weights(&settings, &dense, x, weight)?),
            (true, _) => Some(sum_but(&dense, settings.channel_axis(&dense))?),
        };
        results.push(made.map_or(Returned::None, Returned::Tensor));
    }
    Ok(results)
}

fn by_images(settings: &Settings, gradient: &View, x: &View, weight: &View) -> Outcome<Tensor> {
    if gradient.is_empty() || x.is_empty() {
        return zeros(&x.shape, x.dtype, x.place);
    }
    let made = settings.images(&x.shape, x)?;
    let target = settings.ordered(&made);
    let (given, weights, place) = (gradient.array()?, weight.array()?, target.array()?);
    let mut options = settings.options();
    options.out = place.0;
    let mut result = 0;
    agpu!(agpu_ops_convolve_input_gradient(
        settings.name.as_ptr(),
        given.0,
        weights.0,
        target.rank() as u32,
        target.shape.as_ptr(),
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    Ok(made)
}

fn by_weights(settings: &Settings, gradient: &View, x: &View, weight: &View) -> Outcome<Tensor> {
    if gradient.is_empty() || x.is_empty() {
        return zeros(&weight.shape, weight.dtype, weight.place);
    }
    // As the weight lies, so that what adds gradients up copies nothing.
    let is_last = has_channels_last(weight);
    let made = images::empty(&weight.shape, is_last, weight.dtype, weight.place)?;
    let x = settings.dense(x)?;
    let (images, given, place) = (x.array()?, gradient.array()?, made.array()?);
    let mut options = settings.options();
    options.out = place.0;
    let mut result = 0;
    agpu!(agpu_ops_convolve_weight_gradient(
        settings.name.as_ptr(),
        images.0,
        given.0,
        made.rank() as u32,
        made.shape.as_ptr(),
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    Ok(made)
}
