//! Softmax and batch normalisation with gradients, and what is added to channels.

use std::ffi::CStr;

use super::elementwise::plain;
use super::reduction::{reduce, reduced_wide};
use super::spatial::Layout;
use super::{FLOATS, NUMBERS_AND_INT32, T, row};
use crate::amdgpu::{BatchNorm, Normalize, Owned, agpu};
use crate::call::{Attributes, Call};
use crate::compute::{Steps, cast, launch};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Made, Tensor, View, shown};

/// What x may be where statistics are float32.
const OF_FLOAT32: &[Dtype] = &[Dtype::F16, Dtype::BF16, Dtype::F32];
const F32: &[Dtype] = &[Dtype::F32];

pub const ROWS: &[Row] = &[
    row(c"Softmax", &[(T, FLOATS)], &[], |_| {
        plain(|c| softmax(c, c"softmax"))
    }),
    row(c"LogSoftmax", &[(T, FLOATS)], &[], |_| {
        plain(|c| softmax(c, c"log_softmax"))
    }),
    row(c"BiasAdd", &[(T, NUMBERS_AND_INT32)], &[], |a| {
        let channels_last = a.text(c"data_format")? == "NHWC";
        Ok(Box::new(move |c| add_bias(c, channels_last)))
    }),
    row(c"BiasAddV1", &[(T, NUMBERS_AND_INT32)], &[], |_| {
        plain(|c| add_bias(c, true))
    }),
    row(c"BiasAddGrad", &[(T, FLOATS)], &[], |a| {
        let channels_last = a.text(c"data_format")? == "NHWC";
        Ok(Box::new(move |c| bias_gradient(c, channels_last)))
    }),
    row(c"FusedBatchNorm", &[(T, F32)], &[], |a| batch_norm(a, 1.0)),
    row(
        c"FusedBatchNormV2",
        &[(T, OF_FLOAT32), (c"U", F32)],
        &[],
        |a| batch_norm(a, 1.0),
    ),
    row(
        c"FusedBatchNormV3",
        &[(T, OF_FLOAT32), (c"U", F32)],
        &[],
        |a| batch_norm(a, a.real(c"exponential_avg_factor")?),
    ),
    row(c"FusedBatchNormGrad", &[(T, F32)], &[], batch_norm_gradient),
    row(
        c"FusedBatchNormGradV2",
        &[(T, OF_FLOAT32), (c"U", F32)],
        &[],
        batch_norm_gradient,
    ),
    row(
        c"FusedBatchNormGradV3",
        &[(T, OF_FLOAT32), (c"U", F32)],
        &[],
        batch_norm_gradient,
    ),
];

/// Softmax or its logarithm over the last axis of x, to a place.
pub fn softmax_to(operation: &CStr, x: &View, out: &View) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let place = out.array()?;
    let options = Normalize {
        out: place.0,
        ..Normalize::default()
    };
    let (array, mut result) = (x.array()?, 0);
    agpu!(agpu_ops_normalize(
        operation.as_ptr(),
        array.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    Ok(())
}

fn softmax(c: &Call, operation: &CStr) -> Outcome {
    let x = c.input(0)?;
    if x.rank() == 0 {
        return Err(Failure::refused(format!(
            "logits must have >= 1 dimension, got {}",
            shown(&x.shape)
        )));
    }
    let out = c.output_in_place(&[0], x.dtype, &x.shape)?;
    softmax_to(operation, &x, &out)
}

/// Which axis has the channels.
fn channel_axis(x: &View, channels_last: bool) -> usize {
    if channels_last { x.rank() - 1 } else { 1 }
}

/// Values of channels as a tensor that broadcasts beside others of so many axes.
fn beside(channels: &View, axis: usize, rank: usize) -> View {
    let mut view = channels.clone();
    for _ in axis + 1..rank {
        view = view.with_axis(view.rank());
    }
    view
}

fn add_bias(c: &Call, channels_last: bool) -> Outcome {
    let (x, bias) = (c.input(0)?, c.input(1)?);
    if x.rank() < 2 || bias.rank() != 1 {
        return Err(Failure::refused(format!(
            "Input tensor must be at least 2D and biases 1D: {} and {}",
            shown(&x.shape),
            shown(&bias.shape)
        )));
    }
    let axis = channel_axis(&x, channels_last);
    if x.shape[axis] != bias.shape[0] {
        return Err(Failure::refused(format!(
            "Must provide as many biases as the channel dimension of the input tensor: {} vs. {}",
            shown(&bias.shape),
            shown(&x.shape)
        )));
    }
    let bias = beside(&bias, axis, x.rank());
    let out = c.output_in_place(&[0], x.dtype, &x.shape)?;
    launch(c"add", &[(&x).into(), (&bias).into()], &out, 0.0)
}

/// All axes but one.
fn other_axes(rank: usize, axis: usize) -> Vec<i64> {
    (0..rank)
        .filter(|other| *other != axis)
        .map(|other| other as i64)
        .collect()
}

fn bias_gradient(c: &Call, channels_last: bool) -> Outcome {
    let gradient = c.input(0)?;
    if gradient.rank() < 2 {
        return Err(Failure::refused(format!(
            "Input tensor must be at least 2D: {}",
            shown(&gradient.shape)
        )));
    }
    let axis = channel_axis(&gradient, channels_last);
    let out = c.output(0, gradient.dtype, &[gradient.shape[axis]])?;
    reduce(
        c,
        c"sum",
        &gradient,
        &other_axes(gradient.rank(), axis),
        false,
        &out,
    )
}

/// 1 / sqrt(variance + epsilon).
pub fn inverse_root(s: Steps<'_>, variance: &View, epsilon: f64) -> Outcome<Tensor> {
    let moved = s.made(c"add", &[variance.into(), epsilon.into()])?;
    let root = s.made(c"sqrt", &[(&moved).into()])?;
    s.made(c"reciprocal", &[(&root).into()])
}

/// The reserve of cuDNN, which is empty here, as an output of the versions that have it.
fn without_reserve(c: &Call, place: usize) -> Outcome {
    if c.output_count()? > place {
        c.output(place, Dtype::F32, &[0])?;
    }
    Ok(())
}

/// Outputs: y, mean and variance as they are to be kept, and what the gradient takes: mean and variance of the batch.
fn batch_norm(a: &Attributes, factor: f64) -> Outcome<Kernel> {
    let layout = Layout::of(a)?;
    let (epsilon, is_training) = (a.real(c"epsilon")?, a.flag(c"is_training")?);
    Ok(Box::new(move |c| {
        let (x, scale, shift) = (c.input(0)?, c.input(1)?, c.input(2)?);
        layout.check(&x)?;
        let axis = layout.channel_axis();
        let out = c.output(0, x.dtype, &x.shape)?;
        let s = c.steps(Dtype::F32);
        without_reserve(c, 5)?;
        if x.is_empty() {
            for place in 1..5 {
                cast(f64::NAN, &*c.output(place, Dtype::F32, &scale.shape)?)?;
            }
            return Ok(());
        }
        if !is_training {
            let given = [c.input(3)?, c.input(4)?];
            for place in 1..5 {
                cast(
                    &given[(place + 1) % 2],
                    &*c.output(place, Dtype::F32, &scale.shape)?,
                )?;
            }
            return standardize(
                s,
                &x,
                axis,
                [&given[0], &given[1], &scale, &shift],
                epsilon,
                &out,
            );
        }
        let axes = other_axes(x.rank(), axis);
        let mean = reduced_wide(c, c"mean", &x, &axes)?;
        let variance = reduced_wide(c, c"var", &x, &axes)?;
        standardize(
            s,
            &x,
            axis,
            [&mean, &variance, &scale, &shift],
            epsilon,
            &out,
        )?;
        let count = (x.len() / x.shape[axis]) as f64;
        let unbiased = s.made(
            c"multiply",
            &[(&variance).into(), (count / (count - 1.0).max(1.0)).into()],
        )?;
        for (place, of_batch) in [(1, &mean), (2, &unbiased)] {
            let kept = c.output(place, Dtype::F32, &scale.shape)?;
            if factor == 1.0 {
                cast(&**of_batch, &kept)?;
                continue;
            }
            let before = c.input(place + 2)?;
            let inputs = [
                of_batch.into(),
                (&before).into(),
                factor.into(),
                (1.0 - factor).into(),
            ];
            s.into(c"linear_combination", &inputs, &kept)?;
        }
        c.set_output(3, &mean, &scale.shape)?;
        c.set_output(4, &variance, &scale.shape)
    }))
}

/// (x - mean) scale / sqrt(variance + epsilon) + shift.
fn standardize(
    s: Steps<'_>,
    x: &View,
    axis: usize,
    [mean, variance, scale, shift]: [&View; 4],
    epsilon: f64,
    out: &View,
) -> Outcome {
    let factor = inverse_root(s, variance, epsilon)?;
    let factor = s.made(c"multiply", &[(&factor).into(), scale.into()])?;
    let [mean, factor, shift] = [mean, &factor, shift].map(|one| beside(one, axis, x.rank()));
    launch(
        c"standardize",
        &[x.into(), (&mean).into(), (&factor).into(), (&shift).into()],
        out,
        0.0,
    )
}

/// Inputs: gradient, x, scale, mean and variance of the batch, or those that are kept.
fn batch_norm_gradient(a: &Attributes) -> Outcome<Kernel> {
    let layout = Layout::of(a)?;
    let (epsilon, is_training) = (a.real(c"epsilon")?, a.flag(c"is_training")?);
    Ok(Box::new(move |c| {
        let (gradient, x, scale) = (c.input(0)?, c.input(1)?, c.input(2)?);
        layout.check(&x)?;
        if gradient.shape != x.shape {
            return Err(Failure::refused(format!(
                "x and y_backprop must have same shape, but x has shape {} and y_backprop has shape {}",
                shown(&x.shape),
                shown(&gradient.shape)
            )));
        }
        let by_x = c.output(0, x.dtype, &x.shape)?;
        let by_scale = c.output(1, Dtype::F32, &scale.shape)?;
        let by_shift = c.output(2, Dtype::F32, &scale.shape)?;
        for place in 3..c.output_count()? {
            c.output(place, Dtype::F32, &[0])?;
        }
        if x.is_empty() {
            cast(0_i64, &by_scale)?;
            return cast(0_i64, &by_shift);
        }
        let outs = [&*by_x, &*by_scale, &*by_shift];
        if !is_training {
            let kept = [c.input(3)?, c.input(4)?];
            return kept_gradient(
                c,
                layout.channel_axis(),
                [&gradient, &x, &scale, &kept[0], &kept[1]],
                epsilon,
                outs,
            );
        }
        // The sums of halves are wanted in float32.
        let s = c.steps(x.dtype);
        let (x, gradient) = (s.of(&x)?, s.of(&gradient)?);
        let weight = scale.array()?;
        let options = BatchNorm {
            weight: weight.0,
            epsilon,
            has_epsilon: 1,
            ..BatchNorm::default()
        };
        let (array, given) = (x.array()?, gradient.array()?);
        let mut made = [0; 3];
        let [first, second, third] = &mut made;
        agpu!(agpu_ops_batch_norm_gradient(
            array.0,
            given.0,
            layout.channel_axis() as i64,
            &raw const options,
            &raw mut *first,
            &raw mut *second,
            &raw mut *third
        ))?;
        for (handle, out) in made.into_iter().zip(outs) {
            let made = Made::of(handle, c.device)?;
            cast(&*made, out)?;
        }
        Ok(())
    }))
}

/// The gradients where statistics that are kept were used, which do not depend on x.
fn kept_gradient(
    c: &Call,
    axis: usize,
    [gradient, x, scale, mean, variance]: [&View; 5],
    epsilon: f64,
    [by_x, by_scale, by_shift]: [&View; 3],
) -> Outcome {
    let s = c.steps(Dtype::F32);
    let (gradient, x) = (s.of(gradient)?, s.of(x)?);
    let root = inverse_root(s, variance, epsilon)?;
    let factor = s.made(c"multiply", &[(&root).into(), scale.into()])?;
    let [mean, root, factor] = [mean, &root, &factor].map(|one| beside(one, axis, x.rank()));
    s.into(c"multiply", &[(&gradient).into(), (&factor).into()], by_x)?;
    let moved = s.made(c"subtract", &[(&x).into(), (&mean).into()])?;
    let moved = s.made(c"multiply", &[(&moved).into(), (&root).into()])?;
    let product = s.made(c"multiply", &[(&moved).into(), (&gradient).into()])?;
    let axes = other_axes(x.rank(), axis);
    reduce(c, c"sum", &product, &axes, false, by_scale)?;
    reduce(c, c"sum", &gradient, &axes, false, by_shift)
}
