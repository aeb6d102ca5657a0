//! Images in another size: by the nearest pixel, or between pixels linearly or by cubic curves (Keys 1981), as products with the weights of each axis.
//!
//! Source: `aten/src/ATen/native/UpSample.h` of PyTorch for the places of pixels.

use super::creation::of_values;
use super::indexing::{pick, put};
use super::matmul::product;
use super::table;
use crate::call::{Call, Results, written};
use crate::compute::{Number, cast, contiguous, converted};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Place, Tensor, View, row_major};

table! {
    c"aten::upsample_nearest1d.out" => |c| nearest(c, 1, 0.0),
    c"aten::upsample_nearest1d_backward.grad_input" => |c| nearest_backward(c, 1, 0.0),
    c"aten::_upsample_nearest_exact1d.out" => |c| nearest(c, 1, 0.5),
    c"aten::_upsample_nearest_exact1d_backward.grad_input" => |c| nearest_backward(c, 1, 0.5),
    c"aten::upsample_nearest2d.out" => |c| nearest(c, 2, 0.0),
    c"aten::upsample_nearest2d_backward.grad_input" => |c| nearest_backward(c, 2, 0.0),
    c"aten::_upsample_nearest_exact2d.out" => |c| nearest(c, 2, 0.5),
    c"aten::_upsample_nearest_exact2d_backward.grad_input" => |c| nearest_backward(c, 2, 0.5),
    c"aten::upsample_nearest3d.out" => |c| nearest(c, 3, 0.0),
    c"aten::upsample_nearest3d_backward.grad_input" => |c| nearest_backward(c, 3, 0.0),
    c"aten::_upsample_nearest_exact3d.out" => |c| nearest(c, 3, 0.5),
    c"aten::_upsample_nearest_exact3d_backward.grad_input" => |c| nearest_backward(c, 3, 0.5),
    c"aten::upsample_linear1d.out" => |c| between(c, 1, LINEAR),
    c"aten::upsample_linear1d_backward.grad_input" => |c| between_backward(c, 1, LINEAR),
    c"aten::upsample_bilinear2d.out" => |c| between(c, 2, LINEAR),
    c"aten::upsample_bilinear2d_backward.grad_input" => |c| between_backward(c, 2, LINEAR),
    c"aten::upsample_trilinear3d.out" => |c| between(c, 3, LINEAR),
    c"aten::upsample_trilinear3d_backward.grad_input" => |c| between_backward(c, 3, LINEAR),
    c"aten::upsample_bicubic2d.out" => |c| between(c, 2, CUBIC),
    c"aten::upsample_bicubic2d_backward.grad_input" => |c| between_backward(c, 2, CUBIC),
}

/// Extents of images before and behind.
fn result_shape(x: &View, sizes: &[i64], spatial: usize) -> Outcome<Dims> {
    if x.rank() != spatial + 2 || sizes.len() != spatial {
        return Err(Failure::refused(format!(
            "It is expected output_size equals to {spatial}, but got size {}",
            sizes.len()
        )));
    }
    if !x.dtype.is_float() {
        return Err(Failure::no_kernel(
            "images of numbers that are not real have no kernel",
        ));
    }
    let mut shape = x.shape.clone();
    shape[2..].copy_from_slice(sizes);
    if shape.contains(&0) || x.is_empty() {
        return Err(Failure::no_kernel("images of no pixels have no kernel"));
    }
    Ok(shape)
}

/// How many pixels of the images lie between two of the result.
fn ratio(c: &Call, place: usize, input: i64, output: i64) -> Outcome<f64> {
    match c.real_or(place, 0.0)? {
        scale if scale > 0.0 => Ok(1.0 / scale),
        _ => Ok(input as f64 / output as f64),
    }
}

fn nearest_places(
    c: &Call,
    first: usize,
    middle: f32,
    from: &[i64],
    to: &[i64],
    place: Place,
) -> Outcome<Vec<Tensor>> {
    let mut all = Vec::new();
    for (axis, (input, output)) in from.iter().zip(to).enumerate() {
        let ratio = ratio(c, first + axis, *input, *output)? as f32;
        let places: Vec<i64> = (0..*output)
            .map(|pixel| (((pixel as f32 + middle) * ratio).floor() as i64).min(input - 1))
            .collect();
        let mut shape = Dims::from_elem(1, from.len());
        shape[axis] = *output;
        all.push(of_values(&places, &shape, Dtype::I64, place)?);
    }
    Ok(all)
}

/// The result of [`pick`], images and channels behind, in the order of images.
fn images_first(rank: usize, spatial: usize) -> Vec<usize> {
    (spatial..rank).chain(0..spatial).collect()
}

fn nearest(c: &Call, spatial: usize, middle: f32) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let shape = result_shape(x, c.ints(0)?, spatial)?;
    let out = c.last()?.resized(&shape)?;
    let places = nearest_places(c, 1, middle, &x.shape[2..], &shape[2..], x.place)?;
    let axes: Vec<i64> = (2..x.rank() as i64).collect();
    let views: Vec<&View> = places.iter().map(|one| &**one).collect();
    let picked = pick(x, &axes, &views)?;
    cast(&picked.permuted(&images_first(x.rank(), spatial)), &out)?;
    written()
}

fn nearest_backward(c: &Call, spatial: usize, middle: f32) -> Outcome<Results> {
    let gradient = c.tensor(0)?;
    let shape = Dims::from_slice(c.ints(1)?);
    if gradient.is_empty() || shape.len() != spatial + 2 {
        return Err(Failure::no_kernel("images of no pixels have no kernel"));
    }
    let out = c.last()?.resized(&shape)?;
    let places = nearest_places(c, 2, middle, &shape[2..], &gradient.shape[2..], out.place)?;
    let axes: Vec<i64> = (2..shape.len() as i64).collect();
    let views: Vec<&View> = places.iter().map(|one| &**one).collect();
    let wide = Tensor::empty(&shape, gradient.dtype.wide(), out.place)?;
    cast(Number::Int(0), &wide)?;
    let given = converted(gradient, wide.dtype)?;
    let order: Vec<usize> = (2..shape.len()).chain(0..2).collect();
    put(&wide, &axes, &views, &given.permuted(&order), c"add")?;
    cast(&wide, &out)?;
    written()
}

/// The pixels beside a place, and the share of each.
type Curve = fn(f64) -> Vec<(i64, f64)>;

const LINEAR: Curve = |at| {
    let at = at.max(0.0);
    let (first, way) = (at.floor() as i64, at.fract());
    vec![(first, 1.0 - way), (first + 1, way)]
};

const CUBIC: Curve = |at| {
    // The slope that torch and others choose.
    let slope = -0.75;
    let first = at.floor();
    let share = |distance: f64| {
        let d = distance.abs();
        if d <= 1.0 {
            ((slope + 2.0) * d - (slope + 3.0)) * d * d + 1.0
        } else {
            ((slope * d - 5.0 * slope) * d + 8.0 * slope) * d - 4.0 * slope
        }
    };
    let beside = (-1..=2).map(|offset| first as i64 + offset);
    beside
        .map(|pixel| (pixel, share(at - pixel as f64)))
        .collect()
};

/// Weights (output, input) of the pixels of an axis.
fn weights(
    c: &Call,
    (input, output): (i64, i64),
    scale: usize,
    (aligns_corners, curve): (bool, Curve),
    place: Place,
) -> Outcome<Tensor> {
    let ratio = if aligns_corners {
        if output > 1 {
            (input - 1) as f64 / (output - 1) as f64
        } else {
            0.0
        }
    } else {
        ratio(c, scale, input, output)?
    };
    let mut all = vec![0_f32; (input * output) as usize];
    for pixel in 0..output {
        let at = if aligns_corners {
            pixel as f64 * ratio
        } else {
            (pixel as f64 + 0.5) * ratio - 0.5
        };
        for (offset, share) in curve(at) {
            let from = offset.clamp(0, input - 1);
            all[(pixel * input + from) as usize] += share as f32;
        }
    }
    of_values(&all, &[output, input], Dtype::F32, place)
}

/// One axis of images times weights (to, from).
fn along(x: &View, axis: usize, weights: &View) -> Outcome<Tensor> {
    let mut order: Vec<usize> = (0..x.rank()).filter(|other| *other != axis).collect();
    order.push(axis);
    let transposed = x.permuted(&order);
    let dense = contiguous(&transposed)?;
    let (from, to) = (x.shape[axis], weights.shape[0]);
    let rows = dense.len() / from;
    let flat = |view: &View, extent: i64| {
        let shape = Dims::from_slice(&[rows, extent]);
        let strides = row_major(&shape);
        view.with_layout(shape, strides)
    };
    let mut shape = dense.shape.clone();
    shape[x.rank() - 1] = to;
    let made = Tensor::empty(&shape, x.dtype, x.place)?;
    let weights = converted(&weights.permuted(&[1, 0]), x.dtype)?;
    product(&flat(&dense, from), &weights, &flat(&made, to), (1.0, 0.0))?;
    let mut back: Vec<usize> = (0..x.rank() - 1).collect();
    back.insert(axis, x.rank() - 1);
    let result = Tensor::empty(&made.permuted(&back).shape, x.dtype, x.place)?;
    cast(&made.permuted(&back), &result)?;
    Ok(result)
}

fn between(c: &Call, spatial: usize, curve: Curve) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let shape = result_shape(x, c.ints(0)?, spatial)?;
    let aligns_corners = c.flag(1)?;
    let out = c.last()?.resized(&shape)?;
    let mut image = Tensor::empty(&x.shape, x.dtype.wide(), x.place)?;
    cast(x, &image)?;
    for axis in 0..spatial {
        let sizes = (x.shape[2 + axis], shape[2 + axis]);
        let weights = weights(c, sizes, 2 + axis, (aligns_corners, curve), x.place)?;
        image = along(&image, 2 + axis, &weights)?;
    }
    cast(&image, &out)?;
    written()
}

fn between_backward(c: &Call, spatial: usize, curve: Curve) -> Outcome<Results> {
    let gradient = c.tensor(0)?;
    let shape = Dims::from_slice(c.ints(1)?);
    let aligns_corners = c.flag(2)?;
    if gradient.is_empty() || shape.len() != spatial + 2 {
        return Err(Failure::no_kernel("images of no pixels have no kernel"));
    }
    let out = c.last()?.resized(&shape)?;
    let mut image = Tensor::empty(&gradient.shape, gradient.dtype.wide(), out.place)?;
    cast(gradient, &image)?;
    for axis in 0..spatial {
        let sizes = (shape[2 + axis], gradient.shape[2 + axis]);
        let weights = weights(c, sizes, 3 + axis, (aligns_corners, curve), out.place)?;
        image = along(&image, 2 + axis, &weights.permuted(&[1, 0]))?;
    }
    cast(&image, &out)?;
    written()
}
