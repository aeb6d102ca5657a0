//! Convolutions by archived kernels, which take images with their channels last and filters with their outputs last.

use amdgpu_abi::{Coded, Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Convolve, ConvolveOptions, Fitted, ImageLayout};

use crate::archived::Archived;
use crate::archived::problem::{Epilogue, Number, Problem, VECTOR_BYTES};
use crate::archived::{self, Convolution, convolution_layout, launch_convolution};
use crate::operand::Operand;
use crate::transpose::{dense, write};
use crate::{DeviceOps, Result};

/// Fewer channels of 16 bits, or of a group, leave most of a tile of the matrix units empty. Without groups float32 gains all the same: three
/// channels of 224 x 224 pixels, windows of 7 x 7, took the H200 504 us with an archived kernel and 1072 us without.
const CHANNELS: i64 = 8;

/// The result by an archived kernel; `None` for what generated kernels compute.
///
/// # Errors
///
/// What the device reports.
pub fn convolve(
    ops: &DeviceOps,
    inputs: &[Operand],
    (options, fitted): (&ConvolveOptions, &Fitted),
    is_tf32: bool,
) -> Result<Option<Array>> {
    match run(ops, inputs, (options, fitted), is_tf32) {
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
) -> Result<Option<Array>> {
    if Archived::of(ops).archive()?.is_none() {
        return Ok(None);
    }
    let has_filters_first = archived::takes_filters_first(ops, inputs[0].dtype, is_tf32)?;
    let Some(arranged) = Arranged::of(inputs, (options, fitted), has_filters_first) else {
        return Ok(None);
    };
    let images = dense(ops, &arranged.images)?;
    let filters = dense(ops, &arranged.filters)?;
    let bias = inputs.get(2).map(|bias| dense(ops, bias)).transpose()?;
    let device = ops.device();
    let dtype = inputs[0].dtype;
    let made = Array::empty(
        device,
        arranged.result.as_slice(),
        dtype,
        MemoryKind::Device,
    )?;
    // Arrays of other libraries may begin anywhere.
    let is_aligned = [&images, &filters, &made]
        .iter()
        .all(|one| one.address().address().is_multiple_of(VECTOR_BYTES));
    let call = Convolution {
        images: &images,
        filters: &filters,
        bias: bias.as_ref(),
        result: &made,
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
    if options.layout == ImageLayout::Nhwc {
        return Ok(Some(made));
    }
    let planar = Operand::of_array(made).permuted(&CHANNELS_SECOND);
    let shape = planar.shape.clone();
    let result = Array::empty(device, shape, dtype, MemoryKind::Device)?;
    write(ops, &planar, &Operand::of_array(result.clone()))?;
    Ok(Some(result))
}

/// Axes of images with their channels last, of images with their channels second; and the other way round.
const CHANNELS_LAST: [usize; 4] = [0, 2, 3, 1];
const CHANNELS_SECOND: [usize; 4] = [0, 3, 1, 2];
/// Axes of weights (outputs, channels, rows, columns) as filters (rows, columns, channels, outputs).
const OUTPUTS_LAST: [usize; 4] = [2, 3, 1, 0];

/// What an archived kernel is given, but for copies without gaps.
#[derive(Debug)]
struct Arranged {
    /// (images, rows, columns, channels)
    images: Operand,
    filters: Operand,
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
        let is_deep = channels >= CHANNELS || (x.dtype == Dtype::F32 && options.groups == 1);
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
        let operand = if has_filters_first {
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
    use crate::operand::Scalar;
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
        assert!(of(Dtype::F32, 3, &plain) && of(Dtype::F16, 8, &plain));
        assert!(!of(Dtype::F16, 3, &plain) && !of(Dtype::F64, 8, &plain));
        assert!(!of(Dtype::F32, 3, &options(1, 2, ImageLayout::Nchw)));
        let mut uneven = plain;
        uneven.sliding.stride = [1, 1, 2];
        assert!(!of(Dtype::F32, 16, &uneven));
        let mut same = plain;
        (same.sliding.padding, same.is_same) = ([0; 3], true);
        assert!(!of(Dtype::F32, 16, &same));
    }
}
