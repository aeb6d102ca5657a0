//! Convolutions as forward convolutions and products of matrices, which have the fastest kernels: what a [`Lowering`] says.
//!
//! Products are added in an order that extents alone decide, so results are the same in every run.

use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::promotion::compute_type;
use amdgpu_abi::{Coded, Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, is_row_major, row_major};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{
    Convolve, ConvolveOptions, ConvolvePass, Described, Fitted, ImageLayout, Sliding,
};
use smallvec::SmallVec;

use super::archived::{self, CHANNELS_LAST, CHANNELS_SECOND};
use super::lowering::{Grid, Lowering};
use super::{Convolution, Geometry, add_up, channels_behind};
use crate::archived::problem::{ArrayProduct, Problem, VECTOR_BYTES};
use crate::archived::{Gemm, multiply};
use crate::div_ceil::DivCeil;
use crate::generated::patches::Signature;
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::matmul::{self, Matmul};
use crate::operand::{Operand, Scalar};
use crate::transpose::{dense, write};
use crate::{Arg, DeviceOps, Error, KernelKey, Result, cast};

/// Of patches that are there at once: images are taken in blocks that fit. 64 images of 56 x 56 pixels and 64 channels in float32, windows of
/// 3 x 3, make 462 MB.
const WORKSPACE_BYTES: i64 = 512 << 20;
/// Patches of images with their channels last are copied as words of so many bytes where channels are whole ones.
const WORD_BYTES: i64 = 8;

/// A checked convolution of planes with its inputs, image before result.
pub struct Lowered<'a> {
    pub ops: &'a DeviceOps,
    pub inputs: &'a [&'a Operand],
    pub call: &'a Convolution<'a>,
    pub fitted: &'a Fitted,
}

impl Lowered<'_> {
    /// Computes into an array that has elements.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn compute(&self, lowering: &Lowering, made: &Array) -> Result<()> {
        match lowering {
            Lowering::Pixels if self.fitted.pass == ConvolvePass::WeightGradient => {
                self.pixel_gradient(made)
            }
            Lowering::Pixels => self.pixels(made),
            Lowering::PixelRows => self.pixel_rows(made),
            Lowering::Grids(grids) => self.grids(grids, made),
            Lowering::Patches => self.patches(made),
        }
    }

    fn layout(&self) -> ImageLayout {
        self.call.options.layout
    }

    fn dtype(&self) -> Dtype {
        self.fitted.described.dtype
    }

    /// A product of the weight, as it is or transposed, and the planes of each image.
    fn pixels(&self, made: &Array) -> Result<()> {
        let images = dense(self.ops, self.inputs[0])?;
        let weight = self.inputs[1];
        let [batch, _, _, rows, columns] = self.fitted.image;
        let planes = |array: &Array| array.reshaped(&[batch, array.shape[1], rows * columns]);
        let matrix = weight.with_layout(
            Dims::from_slice(&weight.shape[..2]),
            Dims::from_slice(&weight.strides[..2]),
        );
        let (images, out) = (Operand::of_array(planes(&images)?), planes(made)?);
        let call = Matmul {
            out: Some(&out),
            precision: precision(self.dtype(), self.call.is_tf32),
            transpose_a: self.fitted.pass == ConvolvePass::ImageGradient,
            ..Matmul::of(&matrix, &images)
        };
        matmul::on_device(self.ops, &call)?;
        Ok(())
    }

    /// A product of the pixels of all images and the weight, as it is or transposed.
    fn pixel_rows(&self, made: &Array) -> Result<()> {
        let pixels: i64 = self.fitted.image[0] * self.fitted.image[3] * self.fitted.image[4];
        let rows = |array: &Array| array.reshaped(&[pixels, array.len() / pixels.max(1)]);
        let (images, out) = (rows(&dense(self.ops, self.inputs[0])?)?, rows(made)?);
        let (images, weight) = (Operand::of_array(images), self.inputs[1]);
        let matrix = weight.with_layout(
            Dims::from_slice(&weight.shape[..2]),
            Dims::from_slice(&weight.strides[..2]),
        );
        let call = Matmul {
            out: Some(&out),
            precision: precision(self.dtype(), self.call.is_tf32),
            transpose_b: self.fitted.pass == ConvolvePass::Forward,
            ..Matmul::of(&images, &matrix)
        };
        matmul::on_device(self.ops, &call)?;
        Ok(())
    }

    /// A product of the gradient and the planes of each image; the images are added up in their order.
    fn pixel_gradient(&self, made: &Array) -> Result<()> {
        let [batch, channels, _, rows, columns] = self.fitted.image;
        let outputs = self.fitted.result[1];
        let planes = |index: usize, count: i64| -> Result<Array> {
            let dense = dense(self.ops, self.inputs[index])?;
            Ok(dense.reshaped(&[batch, count, rows * columns])?)
        };
        let (images, gradient) = (planes(0, channels)?, planes(1, outputs)?);
        let dtype = compute_type(self.dtype());
        let parts = empty(self.ops, &[batch, outputs, channels], dtype)?;
        let operands = [&gradient, &images];
        product(
            self.ops,
            operands,
            [false, true],
            (&parts, 0.0),
            self.call.is_tf32,
        )?;
        add_up(
            self.ops,
            parts.reshaped(&[batch, outputs * channels])?,
            made,
        )
    }

    /// The gradient by the images, by a forward convolution for each grid of their pixels.
    fn grids(&self, grids: &[Grid], made: &Array) -> Result<()> {
        let gradient = self.with_channels_last(self.inputs[0]);
        let gradient = Operand::of_array(dense(self.ops, &gradient)?);
        let is_last = self.layout() == ImageLayout::Nhwc;
        if let ([grid], true) = (grids, is_last)
            && grid.skipped == [0; 2]
        {
            return self.grid(grid, &gradient, Some(made)).map(drop);
        }
        if let ([grid], false) = (grids, is_last) {
            let result = self.grid(grid, &gradient, None)?;
            let planar = needed(&result, grid).permuted(&CHANNELS_SECOND);
            return write(self.ops, &planar, &Operand::of_array(made.clone()));
        }
        // Grids are put together with their channels last, so that neighbours are written side by side.
        let whole = if is_last {
            made.clone()
        } else {
            let shape = ImageLayout::Nhwc.shape(self.fitted.image, 2);
            empty(self.ops, &shape, self.dtype())?
        };
        if grids.iter().any(|grid| grid.taps.contains(&0)) {
            let zero = Operand::of_number(Scalar::Float(0.0), self.dtype());
            cast::on_device(self.ops, &zero, self.dtype(), Some(&whole))?;
        }
        let stride = self.fitted.sliding.stride[1];
        for grid in grids.iter().filter(|grid| !grid.taps.contains(&0)) {
            let result = self.grid(grid, &gradient, None)?;
            let place = on_grid(&whole, grid, stride);
            let kept = needed(&result, grid);
            cast::on_device(self.ops, &kept, self.dtype(), Some(&place))?;
        }
        if is_last {
            return Ok(());
        }
        let planar = Operand::of_array(whole).permuted(&CHANNELS_SECOND);
        write(self.ops, &planar, &Operand::of_array(made.clone()))
    }

    /// The forward convolution of a grid, with its channels last.
    fn grid(&self, grid: &Grid, gradient: &Operand, place: Option<&Array>) -> Result<Array> {
        let (groups, sliding) = (self.call.options.groups, &self.fitted.sliding);
        let stride = sliding.stride[1];
        let [outputs, channels, ..] = self.fitted.weight;
        let [batch, all_channels, ..] = self.fitted.image;
        let rows = [0, 1].map(|axis| grid.extents[axis] + grid.skipped[axis]);
        let result = [batch, all_channels, 1, rows[0], rows[1]];
        let sliding = Sliding {
            stride: [1; 3],
            padding: [0, grid.padding, grid.padding],
            dilation: [1, sliding.dilation[1], sliding.dilation[2]],
        };
        let fitted = Fitted {
            pass: ConvolvePass::Forward,
            swaps_inputs: false,
            image: self.fitted.result,
            weight: [
                all_channels,
                outputs / groups,
                1,
                grid.taps[0],
                grid.taps[1],
            ],
            result,
            sliding,
            described: Described {
                shape: ImageLayout::Nhwc.shape(result, 2),
                dtype: self.dtype(),
            },
        };
        let filters = self.reversed(grid, stride, [outputs / groups, channels])?;
        let mut inputs: SmallVec<[Operand; 3]> = SmallVec::new();
        inputs.extend([gradient.clone(), filters]);
        inputs.extend(self.inputs.get(2).map(|bias| (*bias).clone()));
        self.forward(&inputs, &fitted, place)
    }

    /// The taps of a grid in the reverse order, as filters (channels, outputs of a group, rows, columns).
    fn reversed(&self, grid: &Grid, stride: i64, [outputs, channels]: [i64; 2]) -> Result<Operand> {
        let weight = self.inputs[1];
        let array = memory(weight)?;
        let groups = self.call.options.groups;
        let steps = [2, 3].map(|axis| weight.strides[axis]);
        let last = [0, 1].map(|axis| grid.tap[axis] + (grid.taps[axis] - 1) * stride);
        let first = last[0] * steps[0] + last[1] * steps[1];
        let [of_output, of_channel] = [weight.strides[0], weight.strides[1]];
        let back = steps.map(|step| -step * stride);
        if groups == 1 {
            let shape = [channels, outputs, grid.taps[0], grid.taps[1]];
            let strides = [of_channel, of_output, back[0], back[1]];
            return Ok(view(array, first, &shape, &strides));
        }
        let shape = [groups, channels, outputs, grid.taps[0], grid.taps[1]];
        let strides = [outputs * of_output, of_channel, of_output, back[0], back[1]];
        let apart = dense(self.ops, &view(array, first, &shape, &strides))?;
        let joined = [groups * channels, outputs, grid.taps[0], grid.taps[1]];
        Ok(Operand::of_array(apart.reshaped(&joined)?))
    }

    /// A forward pass over images with their channels last, by an archived kernel or by generated ones.
    fn forward(&self, inputs: &[Operand], fitted: &Fitted, place: Option<&Array>) -> Result<Array> {
        let options = ConvolveOptions {
            operation: Convolve::CONV2D,
            sliding: fitted.sliding,
            is_same: false,
            output_padding: [0; 3],
            layout: ImageLayout::Nhwc,
            ..self.call.options
        };
        let is_tf32 = self.call.is_tf32;
        let described = (&options, fitted);
        if let Some(made) = archived::channels_last(self.ops, inputs, described, is_tf32, place)? {
            return Ok(made);
        }
        let made = match place {
            Some(place) => place.clone(),
            None => empty(self.ops, &fitted.described.shape, self.dtype())?,
        };
        Geometry::of(fitted.clone(), &options).generated(self.ops, inputs, &made)?;
        Ok(made)
    }

    /// The gradient by the weight, as a product over the pixels of blocks of images.
    fn patches(&self, made: &Array) -> Result<()> {
        let (groups, dtype) = (self.call.options.groups, self.dtype());
        let [outputs, channels, _, rows, columns] = self.fitted.weight;
        let batch = self.fitted.image[0];
        let taps = rows * columns;
        // Rows of the product are outputs, columns are channels and taps in one order or the other.
        let has_pixel_rows = groups == 1 && self.layout() == ImageLayout::Nhwc;
        let width = width_of(channels * taps, groups, dtype);
        let shape: SmallVec<[i64; 3]> = if groups == 1 {
            SmallVec::from_slice(&[outputs, width])
        } else {
            SmallVec::from_slice(&[groups, outputs / groups, width])
        };
        // As the product has them where the channels of the weight are last in memory, or where there is one tap.
        let is_last = !is_row_major(&made.shape, &made.strides);
        let is_direct = dtype == compute_type(dtype)
            && width == channels * taps
            && (is_last == has_pixel_rows || taps == 1);
        let sums = if is_direct && is_last {
            let stored = channels_behind(&Operand::of_array(made.clone()));
            made.view(stored.shape.clone(), row_major(&stored.shape))
                .reshaped(&shape)?
        } else if is_direct {
            made.reshaped(&shape)?
        } else {
            empty(self.ops, &shape, compute_type(dtype))?
        };
        let step = images_of_block(self.fitted, groups, dtype);
        let mut start = 0;
        while start < batch {
            let count = step.min(batch - start);
            let block = Block {
                lowered: self,
                images: (start, count),
                has_pixel_rows,
            };
            let beta = if start == 0 { 0.0 } else { 1.0 };
            block.multiply(&sums, beta)?;
            start += count;
        }
        if is_direct {
            return Ok(());
        }
        // Behind the sums of a row may be some that nobody needs.
        let ordered = if has_pixel_rows {
            let shape = [outputs, rows, columns, channels];
            let strides = [width, columns * channels, channels, 1];
            view(&sums, 0, &shape, &strides).permuted(&CHANNELS_SECOND)
        } else {
            let strides = [width, taps, columns, 1];
            view(&sums, 0, &made.shape, &strides)
        };
        cast::on_device(self.ops, &ordered, dtype, Some(made))?;
        Ok(())
    }

    fn with_channels_last(&self, images: &Operand) -> Operand {
        match self.layout() {
            ImageLayout::Nhwc => images.clone(),
            ImageLayout::Nchw => images.permuted(&CHANNELS_LAST),
        }
    }
}

/// Columns of the product: channels and taps, and so many more that rows of the sums, and of patches of pixels, are whole vectors. What stands in
/// more columns of patches is not set, and their sums are left out.
fn width_of(count: i64, groups: i64, dtype: Dtype) -> i64 {
    if groups > 1 {
        return count;
    }
    let vector = VECTOR_BYTES as i64 / dtype.size_bytes() as i64;
    count.div_ceil_positive(vector) * vector
}

/// Images whose patches fit the workspace.
fn images_of_block(fitted: &Fitted, groups: i64, dtype: Dtype) -> i64 {
    let [_, outputs, _, rows, columns] = fitted.result;
    let [_, channels, _, window_rows, window_columns] = fitted.weight;
    let values = rows * columns * (groups * channels * window_rows * window_columns + outputs);
    let bytes = values.saturating_mul(dtype.size_bytes() as i64).max(1);
    (WORKSPACE_BYTES / bytes).clamp(1, fitted.image[0])
}

/// Some of the images of a gradient by the weight.
struct Block<'a> {
    lowered: &'a Lowered<'a>,
    /// The first one, and how many.
    images: (i64, i64),
    has_pixel_rows: bool,
}

impl Block<'_> {
    /// Adds the product of these images to `beta` times the sums.
    fn multiply(&self, sums: &Array, beta: f64) -> Result<()> {
        let Lowered {
            ops, fitted, call, ..
        } = *self.lowered;
        let (images, gradient) = (self.part(0)?, self.part(1)?);
        let window = [fitted.weight[3], fitted.weight[4]];
        let sliding = &fitted.sliding;
        let is_single =
            window == [1; 2] && sliding.stride[1..] == [1; 2] && sliding.padding[1..] == [0; 2];
        let pixels = self.images.1 * fitted.result[3] * fitted.result[4];
        let windows = Windows {
            window,
            result: [fitted.result[3], fitted.result[4]],
            sliding: *sliding,
            has_pixel_rows: self.has_pixel_rows,
            width: if call.options.groups == 1 {
                sums.shape[1]
            } else {
                fitted.image[1] * window[0] * window[1]
            },
        };
        if self.has_pixel_rows {
            let outputs = fitted.result[1];
            let a = dense(ops, &gradient)?.reshaped(&[pixels, outputs])?;
            let channels = fitted.image[1];
            let b = if is_single && windows.width == channels {
                dense(ops, &images)?.reshaped(&[pixels, channels])?
            } else {
                windows.patches(ops, &images.permuted(&CHANNELS_SECOND))?
            };
            return product(ops, [&a, &b], [true, false], (sums, beta), call.is_tf32);
        }
        let planar = |x: Operand| match self.lowered.layout() {
            ImageLayout::Nchw => x,
            ImageLayout::Nhwc => x.permuted(&CHANNELS_SECOND),
        };
        let b = windows.patches(ops, &planar(images))?;
        let of_results = Windows {
            window: [1; 2],
            sliding: Sliding {
                stride: [1; 3],
                padding: [0; 3],
                dilation: [1; 3],
            },
            width: fitted.result[1],
            ..windows
        };
        let a = of_results.patches(ops, &planar(gradient))?;
        let in_groups = |x: &Array| -> Result<Array> {
            if sums.shape.len() == 2 {
                return Ok(x.clone());
            }
            let groups = sums.shape[0];
            Ok(x.reshaped(&[groups, x.shape[0] / groups, pixels])?)
        };
        let (a, b) = (in_groups(&a)?, in_groups(&b)?);
        product(ops, [&a, &b], [false, true], (sums, beta), call.is_tf32)
    }

    /// The block's part of an input, whose first axis are images.
    fn part(&self, index: usize) -> Result<Operand> {
        let x = self.lowered.inputs[index];
        let (start, count) = self.images;
        let mut shape = x.shape.clone();
        shape[0] = count;
        Ok(view(memory(x)?, start * x.strides[0], &shape, &x.strides))
    }
}

/// Windows over images, which slide along rows and columns.
#[derive(Clone, Copy)]
struct Windows {
    window: [i64; 2],
    result: [i64; 2],
    sliding: Sliding,
    has_pixel_rows: bool,
    /// Channels and taps, or more.
    width: i64,
}

impl Windows {
    /// The patches of images (batch, channels, rows, columns) of any strides: (pixels, taps and channels) or (channels and taps, pixels). More of
    /// them than there are is not set.
    fn patches(&self, ops: &DeviceOps, images: &Operand) -> Result<Array> {
        let [batch, channels, rows, columns] = *images.shape.as_slice() else {
            return Err(Error::no_kernel("patches are of images with four axes"));
        };
        let pixels = batch * self.result[0] * self.result[1];
        let shape = if self.has_pixel_rows {
            [pixels, self.width]
        } else {
            [self.width, pixels]
        };
        let made = empty(ops, &shape, images.dtype)?;
        let item = images.item_bytes() as i64;
        let is_whole = self.width * item % WORD_BYTES == 0;
        let word = if self.has_pixel_rows && is_whole && has_words(images) {
            WORD_BYTES
        } else {
            item
        };
        let per_word = word / item;
        let signature = Signature {
            word_bytes: word as usize,
            has_pixel_rows: self.has_pixel_rows,
            is_narrow: source::is_narrow(made.len()),
        };
        let key = KernelKey::new("patches")
            .with(word as u64)
            .flag(signature.has_pixel_rows)
            .flag(signature.is_narrow);
        let kernel = ops.kernel(key, "patches", || signature.text())?;
        let channels = channels / per_word;
        let mut args: SmallVec<[Arg<'_>; 24]> = SmallVec::new();
        args.extend([Arg::Address(memory(images)?), Arg::Array(&made)]);
        args.extend([channels, pixels, self.width / per_word, rows, columns].map(Arg::from));
        args.extend(self.result.into_iter().chain(self.window).map(Arg::from));
        let Sliding {
            stride,
            padding,
            dilation,
        } = self.sliding;
        for [_, along_rows, along_columns] in [stride, padding, dilation] {
            args.extend([along_rows, along_columns].map(Arg::from));
        }
        let [of_batch, of_channel, of_row, of_column] =
            [0, 1, 2, 3].map(|axis| images.strides[axis] / per_word);
        let of_channel = if per_word > 1 { 1 } else { of_channel };
        args.extend([of_batch, of_channel, of_row, of_column].map(Arg::from));
        let blocks = (channels * pixels).div_ceil_positive(source::BLOCK);
        launch(&kernel, Shape::line(blocks, source::BLOCK), &args)?;
        drop(args);
        Ok(made)
    }
}

/// Whether the channels of images, which are adjacent, are whole words.
fn has_words(images: &Operand) -> bool {
    let item = images.item_bytes() as i64;
    let others = [0, 2, 3].map(|axis| images.strides[axis] * item);
    item < WORD_BYTES
        && images.strides[1] == 1
        && images.shape[1] * item % WORD_BYTES == 0
        && others.iter().all(|bytes| bytes % WORD_BYTES == 0)
        && images.address().is_multiple_of(WORD_BYTES as u64)
}

/// Adds a product of matrices to `beta` times the sums, which are float32 where the operands are narrower.
fn product(
    ops: &DeviceOps,
    [a, b]: [&Array; 2],
    are_transposed: [bool; 2],
    (sums, beta): (&Array, f64),
    is_tf32: bool,
) -> Result<()> {
    let is_wide = a.dtype != sums.dtype;
    if is_wide {
        let asked = ArrayProduct {
            are_transposed,
            is_wide,
            ..ArrayProduct::default()
        };
        let call = Gemm {
            problem: Problem::of_arrays(a, b, asked)?,
            a,
            b,
            out: sums,
            bias: None,
            alpha: 1.0,
            beta,
        };
        match multiply(ops, &call) {
            Err(error)
                if matches!(
                    error.code(),
                    ErrorCode::NoImplementation | ErrorCode::LibraryMissing
                ) => {}
            other => return other,
        }
    }
    let widened = |x: &Array| -> Result<Operand> {
        let x = Operand::of_array(x.clone());
        if !is_wide {
            return Ok(x);
        }
        let wide = cast::on_device(ops, &x, sums.dtype, None)?;
        Ok(Operand::of_array(wide))
    };
    let (a, b) = (widened(a)?, widened(b)?);
    let call = Matmul {
        out: Some(sums),
        precision: precision(sums.dtype, is_tf32),
        transpose_a: are_transposed[0],
        transpose_b: are_transposed[1],
        beta,
        ..Matmul::of(&a, &b)
    };
    matmul::on_device(ops, &call)?;
    Ok(())
}

/// What products of a dtype are computed in.
fn precision(dtype: Dtype, is_tf32: bool) -> Option<Precision> {
    if dtype == Dtype::F32 && is_tf32 {
        return Some(Precision::Tf32);
    }
    let all = [
        (Dtype::F64, Precision::Fp64),
        (Dtype::F32, Precision::Fp32),
        (Dtype::F16, Precision::Fp16),
        (Dtype::BF16, Precision::Bf16),
    ];
    let mut known = all.into_iter();
    known
        .find(|(own, _)| *own == dtype)
        .map(|(_, precision)| precision)
}

fn empty(ops: &DeviceOps, shape: &[i64], dtype: Dtype) -> Result<Array> {
    Ok(Array::empty(
        ops.device(),
        Dims::from_slice(shape),
        dtype,
        MemoryKind::Device,
    )?)
}

fn memory(x: &Operand) -> Result<&Array> {
    let array = x.array.as_ref();
    array.ok_or_else(|| Error::no_kernel("a number is no image"))
}

/// Memory from an element on, with another layout that stays within it.
fn view(array: &Array, offset: i64, shape: &[i64], strides: &[i64]) -> Operand {
    let (shape, strides) = (Dims::from_slice(shape), Dims::from_slice(strides));
    Operand::of_array(array.view_at(offset, shape, strides))
}

/// The results of a grid that are needed, of an array with its channels last.
fn needed(result: &Array, grid: &Grid) -> Operand {
    let skipped = [0, 1].map(|axis| grid.skipped[axis] * result.strides[axis + 1]);
    let (batch, channels) = (result.shape[0], result.shape[3]);
    let shape = [batch, grid.extents[0], grid.extents[1], channels];
    view(result, skipped[0] + skipped[1], &shape, &result.strides)
}

/// The pixels of a grid of images with their channels last.
fn on_grid(images: &Array, grid: &Grid, stride: i64) -> Array {
    let [of_image, of_row, of_column] = [0, 1, 2].map(|axis| images.strides[axis]);
    let first = grid.first[0] * of_row + grid.first[1] * of_column;
    let (batch, channels) = (images.shape[0], images.shape[3]);
    let shape = [batch, grid.extents[0], grid.extents[1], channels];
    let strides = [of_image, of_row * stride, of_column * stride, 1];
    images.view_at(first, Dims::from_slice(&shape), Dims::from_slice(&strides))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_images_fit_the_workspace() {
        let fitted = |batch: i64, extent: i64| Fitted {
            pass: ConvolvePass::WeightGradient,
            swaps_inputs: false,
            image: [batch, 64, 1, extent, extent],
            weight: [64, 64, 1, 3, 3],
            result: [batch, 64, 1, extent, extent],
            sliding: Sliding {
                stride: [1; 3],
                padding: [0, 1, 1],
                dilation: [1; 3],
            },
            described: Described {
                shape: vec![64, 64, 3, 3],
                dtype: Dtype::F32,
            },
        };
        assert_eq!(images_of_block(&fitted(16, 56), 1, Dtype::F32), 16);
        let images = images_of_block(&fitted(256, 56), 1, Dtype::F32);
        assert!((1..256).contains(&images));
        let bytes = images * 56 * 56 * 64 * 10 * 4;
        assert!(bytes <= WORKSPACE_BYTES && bytes * 10 > WORKSPACE_BYTES * 9);
        // An image whose patches do not fit is taken alone.
        assert_eq!(images_of_block(&fitted(8, 4096), 1, Dtype::F32), 1);
        assert_eq!(images_of_block(&fitted(16, 56), 1, Dtype::BF16), 16);
    }

    #[test]
    fn rows_of_sums_are_whole_vectors() {
        assert_eq!(width_of(147, 1, Dtype::F32), 148);
        assert_eq!(width_of(147, 1, Dtype::BF16), 152);
        assert_eq!(width_of(576, 1, Dtype::F32), 576);
        assert_eq!(width_of(147, 2, Dtype::F32), 147);
    }
}
