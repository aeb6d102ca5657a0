//! Convolutions by archived kernels, which take images with their channels last and filters with their outputs last.

use amdgpu_abi::{Coded, Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Convolve, ConvolveOptions, Fitted, ImageLayout};

use crate::archived::Archived;
use crate::archived::problem::{Epilogue, Number, Problem, VECTOR_BYTES};
use crate::archived::{
    self, ArchivedKernel, Convolution, Unit, convolution_layout, launch_convolution,
};
use crate::operand::{Operand, Scalar};
use crate::transpose::{dense, write};
use crate::{DeviceOps, Result, cast};

/// Fewer channels of 16 bits, or of a group, leave most of a tile of the matrix units empty. Without groups archived kernels gain all the same:
/// three channels of 224 x 224 pixels in float32, windows of 7 x 7, took the H200 504 us with one and 1072 us without; 16-bit numbers are
/// copied with as many channels of zeros as make vectors of 16 bytes.
const CHANNELS: i64 = 8;

/// What the copy engine of Hopper gathers of images: channels of 128 bytes at a time, and what its instructions have bits for (CUDA Driver API,
/// `cuTensorMapEncodeIm2col`; PTX ISA, "im2col mode").
const GATHERED_CHANNELS: i64 = 64;
/// With fewer, most of what is multiplied are the zeros behind them.
const LEAST_GATHERED_CHANNELS: i64 = 24;
const MAX_CORNER: i64 = 127;
const MAX_OFFSET: i64 = 255;
const MAX_STRIDE: i64 = 8;

/// Whether convolutions of a dtype are computed by archived kernels, which take images with their channels last.
///
/// # Errors
///
/// `library-missing` for a damaged archive.
pub fn takes_channels_last(ops: &DeviceOps, dtype: Dtype) -> Result<bool> {
    let archive = Archived::of(ops).archive()?;
    Ok(archive.is_some_and(|archive| {
        let is_it = |kernel: &ArchivedKernel| kernel.operand == Number::of_dtype(dtype);
        Number::of_dtype(dtype).is_some() && archive.first("convolution", is_it).is_some()
    }))
}

/// Computes into an array that has elements, by an archived kernel; false for what generated kernels compute.
///
/// # Errors
///
/// What the device reports.
pub fn convolve(
    ops: &DeviceOps,
    inputs: &[Operand],
    (options, fitted): (&ConvolveOptions, &Fitted),
    is_tf32: bool,
    made: &Array,
) -> Result<bool> {
    let is_last = options.layout == ImageLayout::Nhwc;
    let place = is_last.then_some(made);
    let found = channels_last(ops, inputs, (options, fitted), is_tf32, place)?;
    if let (Some(result), false) = (&found, is_last) {
        let planar = Operand::of_array(result.clone()).permuted(&CHANNELS_SECOND);
        write(ops, &planar, &Operand::of_array(made.clone()))?;
    }
    Ok(found.is_some())
}

/// The result of a forward pass with its channels last, by an archived kernel: `place`, or a new array; `None` for what generated kernels
/// compute.
///
/// # Errors
///
/// What the device reports.
pub fn channels_last(
    ops: &DeviceOps,
    inputs: &[Operand],
    (options, fitted): (&ConvolveOptions, &Fitted),
    is_tf32: bool,
    place: Option<&Array>,
) -> Result<Option<Array>> {
    match run(ops, inputs, (options, fitted), is_tf32, place) {
        Err(error)
            if matches!(
                error.code(),
                ErrorCode::NoImplementation | ErrorCode::LibraryMissing
            ) =>
        {
            Ok(None)
        }
        other => other,
    }
}

fn run(
    ops: &DeviceOps,
    inputs: &[Operand],
    (options, fitted): (&ConvolveOptions, &Fitted),
    is_tf32: bool,
    place: Option<&Array>,
) -> Result<Option<Array>> {
    if Archived::of(ops).archive()?.is_none() {
        return Ok(None);
    }
    let has_filters_first = match Number::of_dtype(inputs[0].dtype) {
        Some(Number::F32) => {
            is_tf32 && archived::takes_filters_first(ops, Number::Tf32, Unit::Mma)?
        }
        Some(number @ (Number::F16 | Number::Bf16)) => {
            is_gathered(inputs, (options, fitted), place)
                && archived::takes_filters_first(ops, number, Unit::Wgmma)?
        }
        _ => false,
    };
    let Some(arranged) = Arranged::of(inputs, (options, fitted), has_filters_first) else {
        return Ok(None);
    };
    let channels = arranged.channels * options.groups;
    let images = with_channels(ops, &arranged.images, 3, channels)?;
    let axis = if has_filters_first { 3 } else { 2 };
    let filters = with_channels(ops, &arranged.filters, axis, arranged.channels)?;
    let bias = inputs.get(2).map(|bias| dense(ops, bias)).transpose()?;
    let result = if let Some(place) = place {
        place.clone()
    } else {
        let (shape, dtype) = (arranged.result.as_slice(), inputs[0].dtype);
        Array::empty(ops.device(), shape, dtype, MemoryKind::Device)?
    };
    let is_aligned = [&images, &filters, &result]
        .iter()
        .all(|one| is_vector(one.address().address()));
    let call = Convolution {
        images: &images,
        filters: &filters,
        bias: bias.as_ref(),
        result: &result,
        stride: fitted.sliding.stride[1],
        padding: fitted.sliding.padding[1],
        dilation: fitted.sliding.dilation[1],
        groups: options.groups,
        problem: Problem {
            is_aligned: is_aligned && arranged.problem.is_aligned,
            ..arranged.problem
        },
    };
    launch_convolution(ops, &call)?;
    Ok(Some(result))
}

/// Values in row-major order, with zeros behind the channels where more are asked for.
fn with_channels(ops: &DeviceOps, x: &Operand, axis: usize, channels: i64) -> Result<Array> {
    if x.shape[axis] == channels {
        return dense(ops, x);
    }
    let mut shape = x.shape.clone();
    shape[axis] = channels;
    let made = Array::empty(ops.device(), shape, x.dtype, MemoryKind::Device)?;
    let zero = Operand::of_number(Scalar::Float(0.0), x.dtype);
    cast(ops, &zero, x.dtype, Some(&made))?;
    let seen = made.view(x.shape.clone(), made.strides.clone());
    cast(ops, x, x.dtype, Some(&seen))?;
    Ok(made)
}

/// Whether 16 bytes can be read from an address at once: arrays of other libraries may begin anywhere.
fn is_vector(address: u64) -> bool {
    address.is_multiple_of(VECTOR_BYTES)
}

/// Whether the copy engine can gather the patches of a convolution of 16-bit numbers.
fn is_gathered(
    inputs: &[Operand],
    (options, fitted): (&ConvolveOptions, &Fitted),
    place: Option<&Array>,
) -> bool {
    let [outputs, channels, _, rows, columns] = fitted.weight;
    let sliding = &fitted.sliding;
    let [stride, padding, dilation] = [sliding.stride[1], sliding.padding[1], sliding.dilation[1]];
    let reach = (rows.max(columns) - 1) * dilation;
    // Where the first tap of the last patch lies, from the last pixel on.
    let corner =
        |axis: usize| (fitted.result[axis] - 1) * stride - padding - (fitted.image[axis] - 1);
    let addresses = inputs.iter().filter_map(|one| one.array.as_ref());
    let is_aligned = addresses
        .chain(place)
        .all(|one| is_vector(one.address().address()));
    let (vector, groups) = (VECTOR_BYTES as i64 / 2, options.groups);
    is_aligned
        && channels >= LEAST_GATHERED_CHANNELS
        && channels % vector == 0
        && outputs / groups % vector == 0
        // Channels of the next group would be multiplied by zeros, and may be infinite.
        && (groups == 1 || channels % GATHERED_CHANNELS == 0)
        && stride <= MAX_STRIDE
        && padding <= MAX_CORNER
        && reach <= MAX_OFFSET
        && [3, 4].into_iter().all(|axis| corner(axis).abs() <= MAX_CORNER)
}

/// Axes of images with their channels last, of images with their channels second; and the other way round.
pub const CHANNELS_LAST: [usize; 4] = [0, 2, 3, 1];
pub const CHANNELS_SECOND: [usize; 4] = [0, 3, 1, 2];
/// Axes of weights (outputs, channels, rows, columns) as filters (rows, columns, channels, outputs).
const OUTPUTS_LAST: [usize; 4] = [2, 3, 1, 0];

/// What an archived kernel is given, but for copies without gaps.
#[derive(Debug)]
struct Arranged {
    /// (images, rows, columns, channels)
    images: Operand,
    filters: Operand,
    /// Of a group, with those that are added.
    channels: i64,
    /// Shape of the results, with their channels last.
    result: [i64; 4],
    /// The product that the convolution is; whether it is aligned depends on addresses, too.
    problem: Problem,
}

impl Arranged {
    /// `None` for what no archived kernel takes: other dtypes, steps that differ along rows and columns or before and behind images, few
    /// channels, nothing, all but planes.
    fn of(
        inputs: &[Operand],
        (options, fitted): (&ConvolveOptions, &Fitted),
        has_filters_first: bool,
    ) -> Option<Self> {
        let (x, weight) = (&inputs[0], &inputs[1]);
        let sliding = &fitted.sliding;
        let steps = [sliding.stride, sliding.padding, sliding.dilation];
        let is_known = options.operation == Convolve::CONV2D
            && !options.is_same
            && [Dtype::F32, Dtype::F16, Dtype::BF16].contains(&x.dtype)
            && steps.iter().all(|[_, rows, columns]| rows == columns)
            && !x.is_empty()
            && !weight.is_empty();
        let channels = weight.shape[1];
        let is_deep = channels >= CHANNELS || options.groups == 1;
        if !is_known || !is_deep {
            return None;
        }
        let images = match options.layout {
            ImageLayout::Nhwc => x.clone(),
            ImageLayout::Nchw => x.permuted(&CHANNELS_LAST),
        };
        let order = if has_filters_first {
            &CHANNELS_LAST
        } else {
            &OUTPUTS_LAST
        };
        let [batch, outputs, _, rows, columns] = fitted.result;
        let number = Number::of_dtype(x.dtype)?;
        let channels = if x.dtype == Dtype::F32 {
            channels
        } else {
            channels.max(CHANNELS)
        };
        let operand = if has_filters_first && number == Number::F32 {
            Number::Tf32
        } else {
            number
        };
        let vector = (VECTOR_BYTES / number.bytes()) as i64;
        let own_outputs = outputs / options.groups;
        let has_bias = inputs.len() > 2;
        Some(Self {
            images,
            filters: weight.permuted(order),
            channels,
            result: [batch, rows, columns, outputs],
            problem: Problem {
                m: (batch * rows * columns) as u64,
                n: own_outputs as u64,
                k: (channels * weight.shape[2] * weight.shape[3]) as u64,
                batch: options.groups as u64,
                operand,
                output: number,
                layout: convolution_layout(has_filters_first),
                epilogue: if has_bias {
                    Epilogue::Bias
                } else {
                    Epilogue::None
                },
                is_aligned: channels % vector == 0 && own_outputs % vector == 0,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use amdgpu_array::{Dims, row_major};
    use amdgpu_matrix::{ConvolvePass, Sliding};

    /// A dense tensor of a shape; the values stand in a vector beside it.
    fn dense_operand(shape: &[i64], dtype: Dtype) -> Operand {
        Operand::of_number(Scalar::Int(0), dtype)
            .with_layout(Dims::from_slice(shape), row_major(shape))
    }

    fn options(step: i64, groups: i64, layout: ImageLayout) -> ConvolveOptions {
        ConvolveOptions {
            operation: Convolve::CONV2D,
            sliding: Sliding {
                stride: [1, step, step],
                padding: [0, 1, 1],
                dilation: [1; 3],
            },
            is_same: false,
            output_padding: [0; 3],
            groups,
            layout,
            thread_limit: None,
        }
    }

    fn arranged(
        inputs: &[Operand],
        options: &ConvolveOptions,
        has_filters_first: bool,
    ) -> Option<Arranged> {
        let given: Vec<_> = inputs.iter().map(|one| (&*one.shape, one.dtype)).collect();
        let fitted = options.fit(ConvolvePass::Forward, &given, &[]).unwrap();
        Arranged::of(inputs, (options, &fitted), has_filters_first)
    }

    /// The value of an operand at four indices.
    fn at(values: &[f64], operand: &Operand, indices: [i64; 4]) -> f64 {
        let offset: i64 = (0..4)
            .map(|axis| indices[axis] * operand.strides[axis])
            .sum();
        values[usize::try_from(offset).unwrap()]
    }

    /// What an archived kernel computes of images and filters (rows, columns, channels of a group, filters), at a pixel of a filter.
    fn archived_value(
        arranged: &Arranged,
        (x, weight): (&[f64], &[f64]),
        options: &ConvolveOptions,
        [n, row, column, filter]: [i64; 4],
    ) -> f64 {
        let [rows, columns, channels, filters] = *arranged.filters.shape.as_slice() else {
            panic!("four axes")
        };
        let group = filter / (filters / options.groups);
        let mut sum = 0.0;
        for (i, j, c) in (0..rows * columns * channels).map(|tap| {
            (
                tap / channels / columns,
                tap / channels % columns,
                tap % channels,
            )
        }) {
            let y = row * options.sliding.stride[1] - options.sliding.padding[1] + i;
            let z = column * options.sliding.stride[2] - options.sliding.padding[2] + j;
            let inside = (0..arranged.images.shape[1]).contains(&y)
                && (0..arranged.images.shape[2]).contains(&z);
            if inside {
                sum += at(x, &arranged.images, [n, y, z, group * channels + c])
                    * at(weight, &arranged.filters, [i, j, c, filter]);
            }
        }
        sum
    }

    #[test]
    fn archived_convolutions_get_images_and_filters_as_they_take_them() {
        for layout in [ImageLayout::Nchw, ImageLayout::Nhwc] {
            for groups in [1, 2] {
                let options = options(2, groups, layout);
                let shape = layout.shape([2, 16, 1, 9, 10], 2);
                let x = dense_operand(&shape, Dtype::F32);
                let weight = dense_operand(&[12, 16 / groups, 3, 2], Dtype::F32);
                let values = |count: i64, seed: i64| -> Vec<f64> {
                    let one = |index: i64| ((index * 37 + seed) % 11 - 5) as f64;
                    (0..count).map(one).collect()
                };
                let (x_values, weight_values) = (values(x.len(), 3), values(weight.len(), 7));
                let arranged = arranged(&[x.clone(), weight.clone()], &options, false).unwrap();
                assert_eq!(arranged.images.shape.as_slice(), [2, 9, 10, 16]);
                assert_eq!(arranged.filters.shape.as_slice(), [3, 2, 16 / groups, 12]);
                assert_eq!(arranged.result, [2, 5, 6, 12]);
                let planar = x.permuted(&layout.order(2)[..4]);
                for (row, column, output) in [(0, 0, 0), (4, 5, 11), (2, 3, 6), (1, 0, 5)] {
                    // Straight from the definition, over (outputs, channels, rows, columns).
                    let (mut wanted, own) = (0.0, 16 / groups);
                    let first = output / (12 / groups) * own;
                    for (c, i, j) in (0..own * 6).map(|tap| (tap / 6, tap / 2 % 3, tap % 2)) {
                        let (y, z) = (row * 2 - 1 + i, column * 2 - 1 + j);
                        if (0..9).contains(&y) && (0..10).contains(&z) {
                            wanted += at(&x_values, &planar, [1, first + c, y, z])
                                * at(&weight_values, &weight, [output, c, i, j]);
                        }
                    }
                    let place = [1, row, column, output];
                    let got =
                        archived_value(&arranged, (&x_values, &weight_values), &options, place);
                    assert!((got - wanted).abs() < 1e-9, "{layout:?} {groups} {place:?}");
                }
            }
        }
    }

    #[test]
    fn convolutions_are_the_products_that_kernels_are_chosen_for() {
        let options = options(1, 2, ImageLayout::Nhwc);
        let inputs = [
            dense_operand(&[2, 9, 10, 32], Dtype::F16),
            dense_operand(&[24, 16, 3, 3], Dtype::F16),
            dense_operand(&[24], Dtype::F16),
        ];
        let problem = arranged(&inputs, &options, false).unwrap().problem;
        assert_eq!(
            (problem.m, problem.n, problem.k, problem.batch),
            (180, 12, 144, 2)
        );
        assert_eq!(problem.epilogue, Epilogue::Bias);
        assert!(!problem.is_aligned);
        let filters_first = arranged(&inputs[..2], &options, true).unwrap();
        assert_eq!(filters_first.filters.shape.as_slice(), [24, 3, 3, 16]);
        assert_eq!(filters_first.problem.operand, Number::F16);
        assert_eq!(filters_first.problem.layout, convolution_layout(true));
        let wide = [
            dense_operand(&[2, 9, 10, 32], Dtype::F32),
            dense_operand(&[24, 16, 3, 3], Dtype::F32),
        ];
        let filters_first = arranged(&wide, &options, true).unwrap();
        assert_eq!(filters_first.problem.operand, Number::Tf32);
    }

    #[test]
    fn what_archived_kernels_do_not_take_is_left_to_generated_ones() {
        let of = |dtype, channels: i64, options: &ConvolveOptions| {
            let x = dense_operand(&[1, channels * options.groups, 9, 9], dtype);
            let weight = dense_operand(&[8, channels, 3, 3], dtype);
            arranged(&[x, weight], options, false).is_some()
        };
        let plain = options(1, 1, ImageLayout::Nchw);
        assert!(of(Dtype::F32, 3, &plain) && of(Dtype::F16, 3, &plain));
        assert!(!of(Dtype::F64, 8, &plain));
        let grouped = options(1, 2, ImageLayout::Nchw);
        assert!(!of(Dtype::F32, 3, &grouped) && !of(Dtype::F16, 3, &grouped));
        let mut uneven = plain;
        uneven.sliding.stride = [1, 1, 2];
        assert!(!of(Dtype::F32, 16, &uneven));
        let mut same = plain;
        (same.sliding.padding, same.is_same) = ([0; 3], true);
        assert!(!of(Dtype::F32, 16, &same));
    }
}
