//! Convolution of images, transposed convolution, and their gradients: by an archived kernel, as products and forward convolutions, by the
//! vendor's library, or by generated kernels.

mod archived;
mod choice;
mod lowered;
mod lowering;
mod vendor;

use amdgpu_abi::promotion::compute_type;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, is_contiguous, is_row_major};
use amdgpu_hal::MemoryKind;
pub use amdgpu_matrix::{Convolve, ConvolveOptions, ConvolvePass};
use amdgpu_matrix::{Fitted, ImageLayout, Matrix, Reduce, ReduceOptions, SPATIAL, TensorView};
pub use archived::takes_channels_last;
pub use choice::{Situation, Way, Ways, chosen, is_for_library, libraries, subject, ways};
pub use lowering::{Grid, Lowering};
use smallvec::SmallVec;

use crate::cast;
use crate::cpu::{self, Call, Host};
use crate::div_ceil::DivCeil;
use crate::elementwise;
use crate::generated::convolve::Signature;
use crate::generated::elementwise::Body;
use crate::generated::source;
use crate::operand::{Operand, Target};
use crate::reduce;
use crate::tiled::{TiledShape, launch_tiled};
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, KernelKey, Operation, Result};

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

impl Convolution<'_> {
    fn name(&self) -> &'static str {
        self.options.operation.name()
    }

    fn fit(&self, inputs: &[TensorView<'_>]) -> Result<Fitted> {
        let given: SmallVec<[(&[i64], Dtype); 3]> = inputs
            .iter()
            .map(|view| (view.shape(), view.dtype()))
            .collect();
        Ok(self.options.fit(self.pass, &given, self.shape)?)
    }
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
    let names = call.pass.input_names().iter().copied();
    let operands: SmallVec<[(&str, &Operand); 3]> = names.zip(inputs).collect();
    let given = Call {
        ops,
        family: "convolve",
        name: call.name(),
        inputs: &operands,
        out,
    };
    let describe = || match call.pass {
        ConvolvePass::Forward => Operation::Convolve {
            options: call.options,
            is_tf32: call.is_tf32,
        },
        pass => Operation::ConvolveGradient {
            pass,
            options: call.options,
            shape: Dims::from_slice(call.shape),
            is_tf32: call.is_tf32,
        },
    };
    cpu::run_noted(
        &given,
        || Some(describe()),
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
    let described = call.fit(inputs)?.described;
    // Each result is a sum, of more values than can be told here.
    host.write(&described, u64::MAX, |out| {
        Ok(Matrix::global()?.convolve(call.pass, inputs, out, &call.options)?)
    })
}

/// [`convolve`] on the device: by kernels of ours or the vendor's library, as [`choice`] says.
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
    let geometry = check(inputs, call)?;
    let asked = Asked::of(ops, inputs, call, &geometry);
    let (way, shape) = choice::choose(ops, &geometry.fitted, call, asked.kind())?;
    let made = asked.target(out)?;
    if made.is_empty() {
        return Ok(made);
    }
    if let (Way::Vendor(library), Some(shape)) = (way, shape)
        && vendor::convolve(ops, library, (&shape, &geometry.fitted), inputs, &made)?
    {
        return Ok(made);
    }
    // What is chosen first, then whatever of ours computes it.
    let own = choice::ours(ops, asked.kind())?;
    for way in [way].into_iter().chain(own) {
        if asked.by(way, &made)? {
            break;
        }
    }
    Ok(made)
}

/// [`convolve`] on the device by one of its [`ways`].
///
/// # Errors
///
/// As [`convolve`]; [`Error::NoKernel`] where the way does not compute it.
pub fn convolve_by(
    ops: &DeviceOps,
    inputs: &[Operand],
    call: &Convolution<'_>,
    way: Way,
) -> Result<Array> {
    let geometry = check(inputs, call)?;
    let asked = Asked::of(ops, inputs, call, &geometry);
    let refused = || {
        let (way, name) = (way.name(), call.name());
        Error::no_kernel(format!("{way} does not compute this {name}"))
    };
    let made = asked.target(None)?;
    let is_taken = match way {
        Way::Vendor(library) => {
            let has_bias = inputs.len() > 2;
            let shape = choice::shape_of(ops, &geometry.fitted, call, has_bias);
            let shape = shape.ok_or_else(refused)?;
            choice::is_usable(ops, library, &shape)
                && vendor::convolve(ops, library, (&shape, &geometry.fitted), inputs, &made)?
        }
        own => asked.by(own, &made)?,
    };
    is_taken.then_some(made).ok_or_else(refused)
}

fn check(inputs: &[Operand], call: &Convolution<'_>) -> Result<Geometry> {
    for (input, argument) in inputs.iter().zip(call.pass.input_names()) {
        input.check_dtype(call.name(), argument)?;
    }
    let views: SmallVec<[TensorView<'_>; 3]> = inputs.iter().map(Operand::view).collect();
    Ok(Geometry::of(call.fit(&views)?, &call.options))
}

/// A call that was checked.
struct Asked<'a> {
    ops: &'a DeviceOps,
    inputs: &'a [Operand],
    call: &'a Convolution<'a>,
    geometry: &'a Geometry,
    lowering: Option<Lowering>,
}

impl<'a> Asked<'a> {
    fn of(
        ops: &'a DeviceOps,
        inputs: &'a [Operand],
        call: &'a Convolution<'a>,
        geometry: &'a Geometry,
    ) -> Self {
        let lowering = Lowering::of(&geometry.fitted, &call.options, inputs.len() > 2);
        Self {
            ops,
            inputs,
            call,
            geometry,
            lowering,
        }
    }

    fn kind(&self) -> choice::Kind {
        choice::Kind {
            is_forward: self.call.pass == ConvolvePass::Forward
                && self.geometry.fitted.pass == ConvolvePass::Forward,
            is_lowered: self.lowering.is_some(),
            has_bias: self.inputs.len() > 2,
        }
    }

    /// Computes by kernels of ours into an array that has elements; false where the way does not compute the convolution.
    fn by(&self, way: Way, made: &Array) -> Result<bool> {
        let fitted = &self.geometry.fitted;
        match (way, &self.lowering) {
            (Way::Archived, _) if self.kind().is_forward => {
                let described = (&self.call.options, fitted);
                archived::convolve(self.ops, self.inputs, described, self.call.is_tf32, made)
            }
            (Way::Lowered, Some(lowering)) => {
                let mut inputs: SmallVec<[&Operand; 3]> = self.inputs.iter().collect();
                if fitted.swaps_inputs {
                    inputs.swap(0, 1);
                }
                let lowered = lowered::Lowered {
                    ops: self.ops,
                    inputs: &inputs,
                    call: self.call,
                    fitted,
                };
                lowered.compute(lowering, made)?;
                Ok(true)
            }
            (Way::Generated, _) if is_row_major(&made.shape, &made.strides) => {
                self.geometry.generated(self.ops, self.inputs, made)?;
                Ok(true)
            }
            (Way::Generated, _) => {
                let (shape, dtype) = (made.shape.as_slice(), made.dtype);
                let dense = Array::empty(self.ops.device(), shape, dtype, MemoryKind::Device)?;
                self.geometry.generated(self.ops, self.inputs, &dense)?;
                cast::on_device(self.ops, &Operand::of_array(dense), dtype, Some(made))?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Where the result goes: memory in row-major order, but that the gradient by a weight may have its channels last.
    fn target(&self, out: Option<&Array>) -> Result<Array> {
        let has_channels_last =
            self.call.pass == ConvolvePass::WeightGradient && out.is_some_and(has_channels_last);
        let reads: SmallVec<[&Operand; 3]> = self.inputs.iter().collect();
        let target = Target {
            operation: self.call.name(),
            device: self.ops.device(),
            out,
            inputs: &reads,
            may_alias: false,
            is_dense: !has_channels_last,
        };
        let described = &self.geometry.fitted.described;
        target
            .resolve(&described.shape, described.dtype)?
            .into_array()
    }
}

/// Whether a weight (outputs, channels, …) lies as (outputs, …, channels) without gaps.
fn has_channels_last(weight: &Array) -> bool {
    let stored = channels_behind(&Operand::of_array(weight.clone()));
    is_contiguous(&stored.shape, &stored.strides)
}

/// A weight with the axis of its channels behind the others.
fn channels_behind(weight: &Operand) -> Operand {
    let rank = weight.rank();
    let axes: SmallVec<[usize; 5]> = [0].into_iter().chain(2..rank).chain([1]).collect();
    weight.permuted(&axes)
}

/// Extents of images and their strides in memory without gaps, both in the order batch, channels, depth, rows, columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Image {
    extents: [i64; 5],
    strides: [i64; 5],
}

impl Image {
    fn of(extents: [i64; 5], layout: ImageLayout) -> Self {
        let [_, channels, depths, rows, columns] = extents;
        // Shapes without elements may have any other extents.
        let plane = rows.saturating_mul(columns);
        let volume = plane.saturating_mul(depths);
        let image = channels.saturating_mul(volume);
        let strides = match layout {
            ImageLayout::Nchw => [image, volume, plane, columns, 1],
            ImageLayout::Nhwc => {
                let row = columns.saturating_mul(channels);
                [image, 1, plane.saturating_mul(channels), row, channels]
            }
        };
        Self { extents, strides }
    }

    fn pixels(&self) -> i64 {
        let [batch, _, depths, rows, columns] = self.extents;
        batch * depths * rows * columns
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
    /// (depths, rows, columns)
    window: [i64; SPATIAL],
    groups: i64,
    fitted: Fitted,
}

impl Geometry {
    fn of(fitted: Fitted, options: &ConvolveOptions) -> Self {
        let [outputs, channels, window @ ..] = fitted.weight;
        Self {
            image: Image::of(fitted.image, options.layout),
            result: Image::of(fitted.result, options.layout),
            channels,
            outputs: outputs / options.groups,
            window,
            groups: options.groups,
            fitted,
        }
    }

    /// Elements of a window.
    fn taps(&self) -> i64 {
        self.window.iter().product()
    }

    /// Whether anything but planes is convolved.
    fn has_depth(&self) -> bool {
        [
            self.image.extents[2],
            self.result.extents[2],
            self.window[0],
        ] != [1; 3]
    }

    /// The arguments behind the arrays.
    fn push_arguments(&self, args: &mut SmallVec<[Arg<'_>; 32]>) {
        let [_, _, image_depths, image_rows, image_columns] = self.image.extents;
        let [_, _, result_depths, result_rows, result_columns] = self.result.extents;
        let [window_depths, window_rows, window_columns] = self.window;
        let sizes = [
            self.channels,
            image_rows,
            image_columns,
            self.outputs,
            result_rows,
            result_columns,
            window_rows,
            window_columns,
        ];
        args.extend(sizes.into_iter().map(Arg::from));
        let sliding = self.fitted.sliding;
        let steps = [sliding.stride, sliding.padding, sliding.dilation];
        for [_, along_rows, along_columns] in steps {
            args.extend([along_rows, along_columns].map(Arg::from));
        }
        for [batch, channel, _, row, column] in [self.image.strides, self.result.strides] {
            args.extend([batch, channel, row, column].map(Arg::from));
        }
        if self.has_depth() {
            args.extend([image_depths, result_depths, window_depths].map(Arg::from));
            args.extend(steps.map(|step| Arg::from(step[0])));
            let strides = [self.image.strides[2], self.result.strides[2]];
            args.extend(strides.map(Arg::from));
        }
    }

    fn launch(
        &self,
        ops: &DeviceOps,
        (pass, has_bias): (ConvolvePass, bool),
        shape: TiledShape,
        arrays: &[&Array],
    ) -> Result<()> {
        let signature = Signature {
            pass,
            dtype: self.fitted.described.dtype,
            has_bias,
            has_depth: self.has_depth(),
        };
        let key = KernelKey::new("convolve")
            .with(pass as u64)
            .dtype(signature.dtype)
            .flag(has_bias)
            .flag(signature.has_depth);
        let mut args: SmallVec<[Arg<'_>; 32]> = arrays.iter().map(|one| Arg::Array(one)).collect();
        self.push_arguments(&mut args);
        launch_tiled(ops, key, || signature.text(), shape, &args)
    }

    /// Computes by generated kernels into an array that has elements.
    fn generated(&self, ops: &DeviceOps, inputs: &[Operand], out: &Array) -> Result<()> {
        let mut dense = inputs
            .iter()
            .map(|one| dense(ops, one))
            .collect::<Result<SmallVec<[Array; 3]>>>()?;
        if self.fitted.swaps_inputs {
            dense.swap(0, 1);
        }
        match self.fitted.pass {
            ConvolvePass::Forward => self.forward(ops, &dense, out),
            ConvolvePass::ImageGradient => self.image_gradient(ops, &dense, out),
            ConvolvePass::WeightGradient => self.weight_gradient(ops, &dense, out),
        }
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
        let bias = inputs.get(2);
        let arrays = [&inputs[0], &inputs[1], out, bias.unwrap_or(&inputs[0])];
        let pass = (ConvolvePass::ImageGradient, bias.is_some());
        self.launch(ops, pass, shape, &arrays)
    }

    fn weight_gradient(&self, ops: &DeviceOps, inputs: &[Array], out: &Array) -> Result<()> {
        if self.groups > source::GRID_LIMIT {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "a convolution's gradient by weights of {} groups: at most {} are handled",
                    self.groups,
                    source::GRID_LIMIT
                ),
            ));
        }
        let pixels = self.result.pixels();
        let parts = parts_of(pixels);
        let count = out.len();
        let dtype = self.fitted.described.dtype;
        let computed = compute_type(dtype);
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
        add_up(ops, sums, out)
    }
}

/// Adds up the rows of sums, in their order, into an array whose numbers may be narrower.
fn add_up(ops: &DeviceOps, sums: Array, out: &Array) -> Result<()> {
    let options = ReduceOptions {
        axes: Some(&[0]),
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    };
    let computed = sums.dtype;
    let (sums, flat) = (Operand::of_array(sums), out.reshaped(&[out.len()])?);
    if computed == out.dtype {
        reduce::on_device(ops, Reduce::Sum, &sums, Some(&flat), &options)?;
        return Ok(());
    }
    let total = Operand::of_array(reduce::on_device(ops, Reduce::Sum, &sums, None, &options)?);
    let body = Body::Named("identity");
    let flat = Operand::of_array(flat);
    elementwise::compute(ops, &body, &[total], &flat, computed, 0.0)
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
    fn images_of_both_layouts_have_no_gaps() {
        let extents = [2, 3, 4, 9, 10];
        let planar = Image::of(extents, ImageLayout::Nchw);
        let last = Image::of(extents, ImageLayout::Nhwc);
        assert_eq!(planar.strides, [1080, 360, 90, 10, 1]);
        assert_eq!(last.strides, [1080, 1, 270, 30, 3]);
        assert_eq!(planar.pixels(), 720);
    }

    #[test]
    fn long_weight_gradients_are_summed_in_parts() {
        let parts: Vec<_> = [0, 1, 4096, 4097, 1 << 40].map(parts_of).to_vec();
        assert_eq!(parts, [1, 1, 1, 2, 65_535]);
    }
}
