//! Softmax, and normalisation over rows, channels and groups of channels.

use std::ffi::CStr;

use super::reduction::{reduced, reduced_wide, steps_in};
use super::table;
use crate::amdgpu::{BatchNorm, Normalize, Owned, agpu};
use crate::call::{Call, Results, Returned, check_float, tensors, written};
use crate::compute::{Gives, Held, Input, Steps, Target, cast, contiguous, converted, run};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::images::{self, channels_last, has_channels_last};
use crate::tensor::{Dims, Tensor, View, axis_of, row_major};

table! {
    c"aten::_softmax.out" => |c| softmax(c, c"softmax"),
    c"aten::_log_softmax.out" => |c| softmax(c, c"log_softmax"),
    c"aten::_softmax_backward_data.out" => |c| softmax_backward(c, c"softmax"),
    c"aten::_log_softmax_backward_data.out" => |c| softmax_backward(c, c"log_softmax"),
    c"aten::native_group_norm" => group_norm,
    c"aten::native_group_norm_backward" => group_norm_backward,
    c"aten::native_batch_norm" => |c| batch_norm(c, c.flag(0)?, c.real(1)?, c.real(2)?),
    c"aten::_native_batch_norm_legit" => |c| batch_norm(c, c.flag(0)?, c.real(1)?, c.real(2)?),
    c"aten::_native_batch_norm_legit.no_stats" => |c| batch_norm(c, true, c.real(1)?, c.real(2)?),
    c"aten::_batch_norm_with_update" => |c| with_reserve(c, batch_norm(c, true, c.real(0)?, c.real(1)?)?),
    c"aten::_batch_norm_no_update" => |c| with_reserve(c, batch_norm(c, false, c.real(0)?, c.real(1)?)?),
    c"aten::native_batch_norm_backward" => |c| batch_norm_backward(c, c.flag(0)?, c.real(1)?, c.flags(2)?),
    c"aten::batch_norm_backward" => |c| batch_norm_backward(c, c.flag(0)?, c.real(1)?, c.flags(2)?),
}

/// Whatever is added to a variance must not be negative.
pub fn check_epsilon(epsilon: f64) -> Outcome {
    if epsilon >= 0.0 {
        return Ok(());
    }
    Err(Failure::no_kernel("a negative epsilon has no kernel"))
}

fn softmax(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let axis = [axis_of(c.int(0)?, x.rank())? as i64];
    let out = c.last()?.resized(&x.shape)?;
    if x.is_empty() {
        return written();
    }
    let x = converted(x, if c.flag(1)? { Dtype::F32 } else { x.dtype })?;
    let x = contiguous(&x.with_axes())?;
    let out = out.with_axes();
    let target = Target::of(&out, x.dtype)?;
    let place = target.view().array()?;
    let options = Normalize {
        out: place.0,
        axes: axis.as_ptr(),
        axis_count: 1,
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
    target.finish()?;
    written()
}

fn softmax_backward(c: &Call, operation: &CStr) -> Outcome<Results> {
    let (gradient, result_of) = (c.tensor(0)?, c.tensor(1)?);
    let axis = [axis_of(c.int(0)?, result_of.rank())? as i64];
    let out = c.last()?.resized(&gradient.shape)?;
    if out.is_empty() {
        return written();
    }
    let (given, y) = (
        contiguous(&gradient.with_axes())?,
        contiguous(&result_of.with_axes())?,
    );
    let out = out.with_axes();
    let target = Target::of(&out, y.dtype)?;
    let place = target.view().array()?;
    let options = Normalize {
        out: place.0,
        axes: axis.as_ptr(),
        axis_count: 1,
        ..Normalize::default()
    };
    let (given, y, mut result) = (given.array()?, y.array()?, 0);
    let null = std::ptr::null_mut();
    agpu!(agpu_ops_normalize_gradient(
        operation.as_ptr(),
        y.0,
        given.0,
        &raw const options,
        &raw mut result,
        null,
        null
    ))?;
    drop(Owned(result));
    target.finish()?;
    written()
}

/// 1 / sqrt(variance + epsilon).
fn inverse_root(variance: &View, epsilon: f64) -> Outcome<Tensor> {
    let s = steps_in(variance.dtype, variance.place);
    let moved = s.made(c"add", &[variance.into(), epsilon.into()])?;
    let root = s.made(c"sqrt", &[(&moved).into()])?;
    s.made(c"reciprocal", &[(&root).into()])
}

/// Mean and 1 / sqrt(variance + epsilon) over axes, which stay with one element.
fn statistics(x: &View, axes: &[i64], epsilon: f64) -> Outcome<(Tensor, Tensor)> {
    let mean = reduced_wide(c"mean", x, axes, true)?;
    let variance = reduced_wide(c"var", x, axes, true)?;
    Ok((mean, inverse_root(&variance, epsilon)?))
}

/// (x - mean) scale + shift, in the dtype of x.
fn standardize(
    x: &View,
    mean: Input<'_>,
    scale: Input<'_>,
    shift: Input<'_>,
    out: &View,
) -> Outcome {
    let inputs = [x.into(), mean, scale, shift];
    run(c"standardize", &inputs, x.dtype, Gives::Same, out, 0.0)
}

/// What gradients of normalisations are made of: x normalised, and the gradient by it.
struct Normalized {
    steps: Steps,
    values: Tensor,
    gradient: Held,
}

/// The gradient by x of (x - mean) scale, where both are of x over axes: scale (g - mean(g) - y mean(g y)), y being the result.
fn by_normalized(of: &Normalized, by_result: &View, scale: &View, axes: &[i64]) -> Outcome<Tensor> {
    let s = of.steps;
    let y = &of.values;
    let by_result = converted(by_result, s.dtype)?;
    let product = s.made(c"multiply", &[(&*by_result).into(), y.into()])?;
    let along = reduced(c"mean", &product, axes, true)?;
    let level = reduced(c"mean", &by_result, axes, true)?;
    // Both memories are free again: one for what goes off, the other for the result.
    standardize(y, 0.0.into(), (&along).into(), (&level).into(), &product)?;
    let made = Tensor::empty(&by_result.shape, s.dtype, s.place)?;
    standardize(
        &by_result,
        (&product).into(),
        scale.into(),
        0.0.into(),
        &made,
    )?;
    Ok(made)
}

fn normalized(x: &View, gradient: &View, mean: &View, scale: &View) -> Outcome<Normalized> {
    let steps = steps_in(x.dtype.wide(), x.place);
    let x = converted(x, steps.dtype)?;
    let values = Tensor::empty(&x.shape, steps.dtype, x.place)?;
    standardize(&x, mean.into(), scale.into(), 0.0.into(), &values)?;
    Ok(Normalized {
        steps,
        values,
        gradient: converted(gradient, steps.dtype)?,
    })
}

/// The sum over the axes of `keep`'s complement, in the shape and dtype of a parameter.
fn parameter_gradient(values: &View, axes: &[i64], shape: &[i64], dtype: Dtype) -> Outcome<Tensor> {
    let made = Tensor::empty(shape, dtype, values.place)?;
    if axes.is_empty() {
        cast(
            &values.with_layout(Dims::from_slice(shape), row_major(shape)),
            &made,
        )?;
        return Ok(made);
    }
    let sum = reduced(c"sum", values, axes, false)?;
    cast(
        &sum.with_layout(Dims::from_slice(shape), row_major(shape)),
        &made,
    )?;
    Ok(made)
}

/// Images seen as (images, groups, channels of a group, pixels), which takes row-major order.
fn grouped(x: &View, [images, channels, pixels]: [i64; 3], groups: i64) -> View {
    let shape = Dims::from_slice(&[images, groups, channels / groups.max(1), pixels]);
    let strides = row_major(&shape);
    x.with_layout(shape, strides)
}

fn sizes(c: &Call) -> Outcome<([i64; 3], i64)> {
    let sizes = [c.int(0)?, c.int(1)?, c.int(2)?];
    let groups = c.int(3)?;
    if groups <= 0 || sizes[1] % groups != 0 {
        return Err(Failure::refused(format!(
            "Expected number of channels in input to be divisible by num_groups, but got {} channels and num_groups={groups}",
            sizes[1]
        )));
    }
    Ok((sizes, groups))
}

/// A value for each channel, beside images that are grouped.
fn of_channels(x: &View, groups: i64) -> View {
    let (channels, stride) = (x.shape[0], x.strides[0]);
    let of_group = channels / groups.max(1);
    x.with_layout(
        Dims::from_slice(&[1, groups, of_group, 1]),
        Dims::from_slice(&[1, stride * of_group, stride, 1]),
    )
}

fn group_norm(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let (sizes, groups) = sizes(c)?;
    let epsilon = c.real(4)?;
    check_epsilon(epsilon)?;
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    let shape = [sizes[0], groups];
    if x.is_empty() {
        let empty = || Tensor::empty(&shape, x.dtype.wide(), x.place);
        return Ok(tensors([made, empty()?, empty()?]));
    }
    let dense = contiguous(x)?;
    let images = grouped(&dense, sizes, groups);
    let (mean, scale) = statistics(&images, &[2, 3], epsilon)?;
    let s = steps_in(x.dtype.wide(), x.place);
    let moved = s.made(c"subtract", &[(&images).into(), (&mean).into()])?;
    let mut result = s.made(c"multiply", &[(&moved).into(), (&scale).into()])?;
    if let Some(weight) = c.optional(1) {
        let weight = of_channels(weight, groups);
        result = s.made(c"multiply", &[(&result).into(), (&weight).into()])?;
    }
    if let Some(bias) = c.optional(2) {
        let bias = of_channels(bias, groups);
        result = s.made(c"add", &[(&result).into(), (&bias).into()])?;
    }
    cast(&result, &grouped(&made, sizes, groups))?;
    let (flat_mean, flat_scale) = (
        Tensor::empty(&shape, mean.dtype, x.place)?,
        Tensor::empty(&shape, mean.dtype, x.place)?,
    );
    let flat = |view: &View| view.with_layout(Dims::from_slice(&shape), row_major(&shape));
    cast(&flat(&mean), &flat_mean)?;
    cast(&flat(&scale), &flat_scale)?;
    Ok(tensors([made, flat_mean, flat_scale]))
}

fn group_norm_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x, mean, scale) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?, c.tensor(3)?);
    let weight = c.optional(4);
    let (sizes, groups) = sizes(c)?;
    let mask = c.flags(4)?;
    let channels = [sizes[1]];
    let (dense, given) = (contiguous(x)?, contiguous(gradient)?);
    let (images, given) = (
        grouped(&dense, sizes, groups),
        grouped(&given, sizes, groups),
    );
    let (mean, scale) = (
        mean.with_axis(2).with_axis(3),
        scale.with_axis(2).with_axis(3),
    );
    let parts = normalized(&images, &given, &mean, &scale)?;
    let s = parts.steps;
    let mut results = Results::new();
    results.push(if mask[0] {
        let by_result = match weight {
            Some(weight) => {
                let weight = of_channels(weight, groups);
                Held::Made(s.made(c"multiply", &[(&*parts.gradient).into(), (&weight).into()])?)
            }
            None => Held::Given((*parts.gradient).clone()),
        };
        let by_x = by_normalized(&parts, &by_result, &scale, &[2, 3])?;
        let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
        cast(&by_x, &grouped(&made, sizes, groups))?;
        Returned::Tensor(made)
    } else {
        Returned::None
    });
    let dtype = weight.map_or(x.dtype, |one| one.dtype);
    results.push(if mask[1] && weight.is_some() {
        let product = s.made(
            c"multiply",
            &[(&*parts.gradient).into(), (&parts.values).into()],
        )?;
        Returned::Tensor(parameter_gradient(&product, &[0, 3], &channels, dtype)?)
    } else {
        Returned::None
    });
    results.push(if mask[2] {
        Returned::Tensor(parameter_gradient(
            &parts.gradient,
            &[0, 3],
            &channels,
            dtype,
        )?)
    } else {
        Returned::None
    });
    Ok(results)
}

fn batch_options(epsilon: f64, weight: Option<&Owned>) -> BatchNorm {
    BatchNorm {
        weight: weight.map_or(0, |one| one.0),
        epsilon,
        has_epsilon: 1,
        ..BatchNorm::default()
    }
}

fn array_of(given: Option<&Held>) -> Outcome<Option<Owned>> {
    given.map(|one| one.array()).transpose()
}

/// A value for each channel, beside images whose channels lie along this axis.
fn beside(channels: &View, rank: usize, axis: usize) -> View {
    let mut shape = Dims::from_elem(1, rank);
    let mut strides = Dims::from_elem(1, rank);
    (shape[axis], strides[axis]) = (channels.shape[0], channels.strides[0]);
    channels.with_layout(shape, strides)
}

/// (x - mean) scale weight + bias of each channel.
fn of_each_channel(
    c: &Call,
    (x, axis): (&View, usize),
    mean: &View,
    scale: &View,
    out: &View,
) -> Outcome {
    let s = steps_in(scale.dtype, x.place);
    let product;
    let factor = match c.optional(1) {
        Some(weight) => {
            product = s.made(c"multiply", &[scale.into(), weight.into()])?;
            &product
        }
        None => scale,
    };
    let rank = x.rank();
    let (mean, factor) = (beside(mean, rank, axis), beside(factor, rank, axis));
    let bias = c.optional(2).map(|bias| beside(bias, rank, axis));
    let shift = bias.as_ref().map_or(0.0.into(), Input::from);
    standardize(x, (&mean).into(), (&factor).into(), shift, out)
}

/// Normalises each channel: with its own statistics, which move the running ones, or with the running ones.
fn batch_norm(c: &Call, is_training: bool, momentum: f64, epsilon: f64) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    check_epsilon(epsilon)?;
    if x.rank() < 2 || x.is_empty() {
        return Err(Failure::no_kernel(
            "batch norm of no values, or without an axis of channels, has no kernel",
        ));
    }
    if !is_training {
        let (stored, axis) = ordered(x);
        let dense = contiguous(&stored)?;
        let (made, place) = like(x, axis)?;
        let scale = inverse_root(c.tensor(4)?, epsilon)?;
        of_each_channel(c, (&dense, axis), c.tensor(3)?, &scale, &place)?;
        let empty = || Tensor::empty(&[0], x.dtype.wide(), x.place);
        return Ok(tensors([made, empty()?, empty()?]));
    }
    trained(c, x, (momentum, epsilon))
}

/// Images in the order in which they lie, with the axis of their channels: behind the others where they are last in memory.
fn ordered(x: &View) -> (View, usize) {
    if has_channels_last(x) {
        (channels_last(x), x.rank() - 1)
    } else {
        (x.clone(), 1)
    }
}

/// The same of other images than those whose channels lie along this axis.
fn in_order(images: &View, axis: usize) -> View {
    if axis == 1 {
        images.clone()
    } else {
        channels_last(images)
    }
}

/// A new tensor like images whose channels lie along this axis, and the view of it in their order.
fn like(x: &View, axis: usize) -> Outcome<(Tensor, View)> {
    let made = images::empty(&x.shape, axis != 1, x.dtype, x.place)?;
    let view = in_order(&made, axis);
    Ok((made, view))
}

/// Normalised with the statistics of the batch, which move the running ones: the result, mean and 1 / sqrt(variance + epsilon).
fn trained(c: &Call, x: &View, (momentum, epsilon): (f64, f64)) -> Outcome<Results> {
    let (stored, axis) = ordered(x);
    let dense = contiguous(&stored)?;
    let (made, place) = like(x, axis)?;
    let wide = x.dtype.wide();
    let saved = || Tensor::empty(&[x.shape[1]], wide, x.place);
    let (mean, scale) = (saved()?, saved()?);
    let held = [1, 2].map(|place| c.optional(place).map(|one| contiguous(one)).transpose());
    let [weight, bias] = held;
    let (weight, bias) = (weight?, bias?);
    let (weight, bias) = (array_of(weight.as_ref())?, array_of(bias.as_ref())?);
    let has_running = c.tensors.len() > 4;
    let running = |place: usize| -> Outcome<Option<Owned>> {
        let given = if has_running { c.optional(place) } else { None };
        given.map(|one| one.array()).transpose()
    };
    let (running_mean, running_variance) = (running(3)?, running(4)?);
    let handle = |one: &Option<Owned>| one.as_ref().map_or(0, |one| one.0);
    let places = (place.array()?, mean.array()?, scale.array()?);
    let options = BatchNorm {
        bias: handle(&bias),
        out: places.0.0,
        saved_mean: places.1.0,
        saved_scale: places.2.0,
        running_mean: handle(&running_mean),
        running_variance: handle(&running_variance),
        momentum,
        ..batch_options(epsilon, weight.as_ref())
    };
    let (array, null, mut result) = (dense.array()?, std::ptr::null_mut(), 0);
    agpu!(agpu_ops_batch_norm_training(
        array.0,
        axis as i64,
        &raw const options,
        &raw mut result,
        null,
        null
    ))?;
    drop(Owned(result));
    Ok(tensors([made, mean, scale]))
}

/// With the reserve of cuDNN, which is empty here.
fn with_reserve(c: &Call, mut results: Results) -> Outcome<Results> {
    let reserve = Tensor::empty(&[0], Dtype::U8, c.place()?)?;
    results.push(Returned::Tensor(reserve));
    Ok(results)
}

/// Tensors: gradient, x, weight, running mean, running variance, mean, scale.
fn batch_norm_backward(
    c: &Call,
    is_training: bool,
    epsilon: f64,
    mask: &[bool],
) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    if x.rank() < 2 || x.is_empty() {
        return Err(Failure::no_kernel(
            "batch norm of no values, or without an axis of channels, has no kernel",
        ));
    }
    if !is_training {
        return running_backward(c, epsilon, mask);
    }
    let (stored, axis) = ordered(x);
    let dense = contiguous(&stored)?;
    let passed = contiguous(&in_order(gradient, axis))?;
    let dtype = c.optional(2).map_or(x.dtype.wide(), |one| one.dtype);
    let held = c.optional(2).map(|one| contiguous(one)).transpose()?;
    let weight = array_of(held.as_ref())?;
    let (by_x, place) = like(x, axis)?;
    let parameter = || Tensor::empty(&[x.shape[1]], dtype, x.place);
    let (by_weight, by_bias) = (parameter()?, parameter()?);
    let places = (place.array()?, by_weight.array()?, by_bias.array()?);
    let saved = |place: usize| c.optional(place).map(|one| one.array()).transpose();
    let (mean, scale) = (saved(5)?, saved(6)?);
    let handle = |one: &Option<Owned>| one.as_ref().map_or(0, |one| one.0);
    let options = BatchNorm {
        out: places.0.0,
        saved_mean: handle(&mean),
        saved_scale: handle(&scale),
        out_by_weight: places.1.0,
        out_by_bias: places.2.0,
        ..batch_options(epsilon, weight.as_ref())
    };
    let (array, passed) = (dense.array()?, passed.array()?);
    let mut made = [0; 3];
    let [of_x, of_weight, of_bias] = &mut made;
    agpu!(agpu_ops_batch_norm_gradient(
        array.0,
        passed.0,
        axis as i64,
        &raw const options,
        &raw mut *of_x,
        &raw mut *of_weight,
        &raw mut *of_bias
    ))?;
    drop(made.map(Owned));
    let results = mask.iter().zip([by_x, by_weight, by_bias]);
    Ok(results
        .map(|(wanted, made)| {
            if *wanted {
                Returned::Tensor(made)
            } else {
                Returned::None
            }
        })
        .collect())
}

/// The gradients where running statistics were used, which do not depend on x.
fn running_backward(c: &Call, epsilon: f64, mask: &[bool]) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let (mean, variance) = (c.tensor(3)?, c.tensor(4)?);
    let s = steps_in(x.dtype.wide(), x.place);
    let channels = [x.shape[1]];
    let (images, axis) = ordered(x);
    let beside = |channels: &View| beside(channels, x.rank(), axis);
    let scale = inverse_root(variance, epsilon)?;
    let axes: Vec<i64> = (0..x.rank() as i64)
        .filter(|other| *other != axis as i64)
        .collect();
    let given = converted(&in_order(gradient, axis), s.dtype)?;
    let dtype = c.optional(2).map_or(s.dtype, |one| one.dtype);
    let mut results = Results::new();
    results.push(if mask[0] {
        let factor = match c.optional(2) {
            Some(weight) => s.made(c"multiply", &[(&scale).into(), weight.into()])?,
            None => s.made(c"identity", &[(&scale).into()])?,
        };
        let (made, place) = like(x, axis)?;
        let factor = beside(&factor);
        s.into(c"multiply", &[(&*given).into(), (&factor).into()], &place)?;
        Returned::Tensor(made)
    } else {
        Returned::None
    });
    results.push(if mask[1] {
        let moved = s.made(c"subtract", &[(&images).into(), (&beside(mean)).into()])?;
        let y = s.made(c"multiply", &[(&moved).into(), (&beside(&scale)).into()])?;
        let product = s.made(c"multiply", &[(&*given).into(), (&y).into()])?;
        Returned::Tensor(parameter_gradient(&product, &axes, &channels, dtype)?)
    } else {
        Returned::None
    });
    results.push(if mask[2] {
        Returned::Tensor(parameter_gradient(&given, &axes, &channels, dtype)?)
    } else {
        Returned::None
    });
    Ok(results)
}
