//! Convolution of images and its gradients: by an archived kernel where one fits, else by generated ones.

mod archived;

use amdgpu_abi::promotion::compute_type;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;
pub use amdgpu_matrix::{ConvolveOptions, ConvolvePass};
use amdgpu_matrix::{
    Described, ImageLayout, Matrix, Reduce, ReduceOptions, Sliding, TensorView, check_bias,
    four_axes,
};
use smallvec::SmallVec;

use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::elementwise;
use crate::generated::convolve::convolve_text;
use crate::generated::elementwise::Body;
use crate::generated::source;
use crate::operand::{Operand, Target};
use crate::reduce;
use crate::tiled::{TiledShape, launch_tiled};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

const NAME: &str = "conv2d";
/// Pixels that a part of a weight gradient sums; its results are few, its sums long.
const PART_PIXELS: i64 = 4096;

/// What a call of [`convolve`] asks for.
#[derive(Clone, Copy, Debug)]
pub struct Convolution<'a> {
    pub pass: ConvolvePass,
    pub options: ConvolveOptions,
    /// Of the result of a gradient: that of the images, or of the weight.
    pub shape: &'a [i64],
    /// Whether matrix units may round float32 to tf32, where there are such units.
    pub is_tf32: bool,
}

/// Convolves images, or computes a gradient of that. `inputs` are image, weight and an optional bias; gradient of the result and weight; or
/// image and gradient of the result. Where the device has no kernel, the CPU computes it.
///
/// # Errors
///
/// `shape-mismatch` when channels, groups, weight and the third tensor do not fit or the window is too large; `unsupported-dtype` for
/// anything but floats of one dtype; `invalid-argument` for steps that make no sense or an `out` that overlaps an input.
pub fn convolve(
    ops: &DeviceOps,
    inputs: &[Operand],
    out: Option<&Array>,
    call: &Convolution<'_>,
) -> Result<Array> {
    let named: SmallVec<[(&str, &Operand); 3]> =
        input_names(call.pass).iter().copied().zip(inputs).collect();
    let given = Call {
        ops,
        family: "convolve",
        name: NAME,
        inputs: &named,
        out,
    };
    let describe = || Operation::Convolve {
        options: call.options,
        is_tf32: call.is_tf32,
    };
    cpu::run_noted(
        &given,
        || (call.pass == ConvolvePass::Forward).then(describe),
        || on_device(ops, inputs, out, call),
        |views, host| on_host(views, call, host),
    )
}

/// [`convolve`] in memory of the host.
///
/// # Errors
///
/// As [`convolve`], and those of the host.
pub fn on_host<H: Host>(
    inputs: &[TensorView<'_>],
    call: &Convolution<'_>,
    host: &mut H,
) -> std::result::Result<(), H::Error> {
    let described = Geometry::of(inputs, call)?.described();
    // Each result is a sum, of more values than can be told here.
    host.write(&described, u64::MAX, |out| {
        Ok(Matrix::global()?.convolve(call.pass, inputs, out, &call.options)?)
    })
}

/// What the inputs of a pass are called.
#[must_use]
pub fn input_names(pass: ConvolvePass) -> &'static [&'static str] {
    match pass {
        ConvolvePass::Forward => &["x", "weight", "bias"],
        ConvolvePass::ImageGradient => &["gradient", "weight"],
        ConvolvePass::WeightGradient => &["x", "gradient"],
    }
}

/// [`convolve`] by kernels of the device.
///
/// # Errors
///
/// As [`convolve`]; `no-implementation` for too many axes.
pub fn on_device(
    ops: &DeviceOps,
    inputs: &[Operand],
    out: Option<&Array>,
    call: &Convolution<'_>,
) -> Result<Array> {
    for (input, name) in inputs.iter().zip(input_names(call.pass)) {
        input.check_dtype(NAME, name)?;
    }
    let views: SmallVec<[TensorView<'_>; 3]> = inputs.iter().map(Operand::view).collect();
    let geometry = Geometry::of(&views, call)?;
    if call.pass == ConvolvePass::Forward
        && out.is_none()
        && let Some(made) = archived::convolve(ops, inputs, &call.options, call.is_tf32)?
    {
        return Ok(made);
    }
    let reads: SmallVec<[&Operand; 3]> = inputs.iter().collect();
    let target = Target {
        operation: NAME,
        device: ops.device(),
        out,
        inputs: &reads,
        may_alias: false,
        is_dense: true,
    };
    let made = target
        .resolve(&geometry.made, geometry.dtype)?
        .into_array()?;
    if made.is_empty() {
        return Ok(made);
    }
    let dense = inputs
        .iter()
        .map(|one| dense(ops, one))
        .collect::<Result<SmallVec<[Array; 3]>>>()?;
    match call.pass {
        ConvolvePass::Forward => geometry.forward(ops, &dense, &made)?,
        ConvolvePass::ImageGradient => geometry.image_gradient(ops, &dense, &made)?,
        ConvolvePass::WeightGradient => geometry.weight_gradient(ops, &dense, &made)?,
    }
    Ok(made)
}

/// Extents of images and their strides in memory without gaps, both in the order batch, channels, rows, columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Image {
    extents: [i64; 4],
    strides: [i64; 4],
}

impl Image {
    fn of(shape: &[i64], layout: ImageLayout) -> Result<Self> {
        let extents = layout.extents(four_axes(NAME, "x", shape)?);
        let [_, channels, rows, columns] = extents;
        // Shapes without elements may have any other extents.
        let plane = rows.saturating_mul(columns);
        let image = channels.saturating_mul(plane);
        let strides = match layout {
            ImageLayout::Nchw => [image, plane, columns, 1],
            ImageLayout::Nhwc => [image, 1, columns.saturating_mul(channels), channels],
        };
        Ok(Self { extents, strides })
    }

    fn pixels(&self) -> i64 {
        let [batch, _, rows, columns] = self.extents;
        batch * rows * columns
    }
}

/// A convolution with everything checked but `out`.
#[derive(Debug)]
struct Geometry {
    image: Image,
    result: Image,
    /// Channels and outputs of a group.
    channels: i64,
    outputs: i64,
    window: [i64; 2],
    sliding: Sliding,
    groups: i64,
    dtype: Dtype,
    /// Shape of what is computed.
    made: Dims,
}

impl Geometry {
    fn of(inputs: &[TensorView<'_>], call: &Convolution<'_>) -> Result<Self> {
        let names = input_names(call.pass);
        let (Some(first), Some(second)) = (inputs.first(), inputs.get(1)) else {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!("{NAME} takes {} inputs, not {}", names.len(), inputs.len()),
            ));
        };
        let of = |view: &TensorView<'_>| (Dims::from_slice(view.shape()), view.dtype());
        let given = (Dims::from_slice(call.shape), first.dtype());
        let (image, weight, result) = match call.pass {
            ConvolvePass::Forward => (of(first), of(second), None),
            ConvolvePass::ImageGradient => (given, of(second), Some(of(first))),
            ConvolvePass::WeightGradient => (of(first), given, Some(of(second))),
        };
        let (image_view, weight_view) = ((&*image.0, image.1), (&*weight.0, weight.1));
        let options = &call.options;
        let described = match &result {
            None => options.describe(image_view, weight_view)?,
            Some((shape, dtype)) => options.check(image_view, weight_view, (shape, *dtype))?,
        };
        if let (ConvolvePass::Forward, Some(bias)) = (call.pass, inputs.get(2)) {
            check_bias(bias, &weight.0, described.dtype)?;
        }
        let [outputs, channels, rows, columns] = four_axes(NAME, "weight", &weight.0)?;
        Ok(Self {
            image: Image::of(&image.0, options.layout)?,
            result: Image::of(&described.shape, options.layout)?,
            channels,
            outputs: outputs / options.groups,
            window: [rows, columns],
            sliding: options.sliding,
            groups: options.groups,
            dtype: described.dtype,
            made: match call.pass {
                ConvolvePass::Forward => Dims::from_slice(&described.shape),
                ConvolvePass::ImageGradient => image.0,
                ConvolvePass::WeightGradient => weight.0,
            },
        })
    }

    /// Shape and dtype of what is computed.
    fn described(&self) -> Described {
        Described {
            shape: self.made.to_vec(),
            dtype: self.dtype,
        }
    }

    /// Elements of a window.
    fn taps(&self) -> i64 {
        self.window[0] * self.window[1]
    }

    /// The arguments behind the arrays.
    fn push_arguments(&self, args: &mut SmallVec<[Arg<'_>; 32]>) {
        let [_, _, image_rows, image_columns] = self.image.extents;
        let [_, _, result_rows, result_columns] = self.result.extents;
        let sizes = [
            self.channels,
            image_rows,
            image_columns,
            self.outputs,
            result_rows,
            result_columns,
        ];
        args.extend(sizes.into_iter().chain(self.window).map(Arg::from));
        let Sliding {
            stride,
            padding,
            dilation,
        } = self.sliding;
        for (along_rows, along_columns) in [stride, padding, dilation] {
            args.extend([along_rows, along_columns].map(Arg::from));
        }
        let strides = self.image.strides.into_iter().chain(self.result.strides);
        args.extend(strides.map(Arg::from));
    }

    fn launch(
        &self,
        ops: &DeviceOps,
        (pass, has_bias): (ConvolvePass, bool),
        shape: TiledShape,
        arrays: &[&Array],
    ) -> Result<()> {
        let key = KernelKey::new("convolve")
            .with(pass as u64)
            .dtype(self.dtype)
            .flag(has_bias);
        let mut args: SmallVec<[Arg<'_>; 32]> = arrays.iter().map(|one| Arg::Array(one)).collect();
        self.push_arguments(&mut args);
        let text = || convolve_text(pass, self.dtype, has_bias);
        launch_tiled(ops, key, text, shape, &args)
    }

    fn forward(&self, ops: &DeviceOps, inputs: &[Array], out: &Array) -> Result<()> {
        let shape = TiledShape {
            m: self.result.pixels(),
            n: self.outputs,
            k: self.channels * self.taps(),
            batch: self.groups,
            split_k: 1,
        };
        let bias = inputs.get(2);
        let arrays = [&inputs[0], &inputs[1], out, bias.unwrap_or(&inputs[0])];
        self.launch(ops, (ConvolvePass::Forward, bias.is_some()), shape, &arrays)
    }

    fn image_gradient(&self, ops: &DeviceOps, inputs: &[Array], out: &Array) -> Result<()> {
        let shape = TiledShape {
            m: self.image.pixels(),
            n: self.channels,
            k: self.outputs * self.taps(),
            batch: self.groups,
            split_k: 1,
        };
        let arrays = [&inputs[0], &inputs[1], out];
        self.launch(ops, (ConvolvePass::ImageGradient, false), shape, &arrays)
    }

    fn weight_gradient(&self, ops: &DeviceOps, inputs: &[Array], out: &Array) -> Result<()> {
        if self.groups > source::GRID_LIMIT {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "{NAME}: {} groups are more than {}",
                    self.groups,
                    source::GRID_LIMIT
                ),
            ));
        }
        let pixels = self.result.pixels();
        let parts = parts_of(pixels);
        let count = out.len();
        let computed = compute_type(self.dtype);
        let shape = Dims::from_slice(&[parts, count]);
        let sums = Array::empty(ops.device(), shape, computed, MemoryKind::Device)?;
        let shape = TiledShape {
            m: self.outputs,
            n: self.channels * self.taps(),
            k: pixels,
            batch: self.groups,
            split_k: parts,
        };
        let arrays = [&inputs[0], &inputs[1], &sums];
        self.launch(ops, (ConvolvePass::WeightGradient, false), shape, &arrays)?;
        let options = ReduceOptions {
            axes: Some(&[0]),
            keeps_axes: false,
            correction: 0.0,
            result: None,
            thread_limit: None,
        };
        let (sums, flat) = (Operand::of_array(sums), out.reshaped(&[count])?);
        if computed == self.dtype {
            reduce::on_device(ops, Reduce::Sum, &sums, Some(&flat), &options)?;
            return Ok(());
        }
        let total = Operand::of_array(reduce::on_device(ops, Reduce::Sum, &sums, None, &options)?);
        let body = Body::Named("identity");
        let flat = Operand::of_array(flat);
        elementwise::compute(ops, &body, &[total], &flat, computed, 0.0)
    }
}

/// Parts that the pixels of a weight gradient are summed in.
fn parts_of(pixels: i64) -> i64 {
    pixels
        .div_ceil_positive(PART_PIXELS)
        .clamp(1, source::GRID_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_both_layouts_have_the_same_extents() {
        let planar = Image::of(&[2, 3, 9, 10], ImageLayout::Nchw).unwrap();
        let last = Image::of(&[2, 9, 10, 3], ImageLayout::Nhwc).unwrap();
        assert_eq!(planar.extents, last.extents);
        assert_eq!(planar.strides, [270, 90, 10, 1]);
        assert_eq!(last.strides, [270, 1, 30, 3]);
        assert_eq!(planar.pixels(), 180);
    }

    #[test]
    fn long_weight_gradients_are_summed_in_parts() {
        let parts: Vec<_> = [0, 1, 4096, 4097, 1 << 40].map(parts_of).to_vec();
        assert_eq!(parts, [1, 1, 1, 2, 65_535]);
    }
}
