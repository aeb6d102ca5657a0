//! Images of another size: each axis is a product with a matrix of weights, whose transpose gives the gradient.

use std::ffi::c_void;

use super::matmul::product;
use super::{T, row};
use crate::amdgpu::agpu;
use crate::call::{Attributes, Call};
use crate::compute::cast;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Tensor, View, shown};

const F32: &[Dtype] = &[Dtype::F32];
const WIDE: &[Dtype] = &[Dtype::F32, Dtype::F64];
const OF_FLOAT32: &[Dtype] = &[Dtype::F16, Dtype::BF16, Dtype::F32];
const SIZE: &[&std::ffi::CStr] = &[c"size"];

pub const ROWS: &[Row] = &[
    row(c"ResizeBilinear", &[(T, OF_FLOAT32)], SIZE, |a| {
        forward(Way::of(a, true)?)
    }),
    row(c"ResizeBilinearGrad", &[(T, F32)], &[], |a| {
        gradient(Way::of(a, true)?)
    }),
    row(c"ResizeNearestNeighbor", &[(T, WIDE)], SIZE, |a| {
        forward(Way::of(a, false)?)
    }),
    row(c"ResizeNearestNeighborGrad", &[(T, WIDE)], SIZE, |a| {
        gradient(Way::of(a, false)?)
    }),
];

/// How pixels of the result lie between those of the images.
#[derive(Clone, Copy)]
struct Way {
    is_linear: bool,
    aligns_corners: bool,
    has_half_pixels: bool,
}

impl Way {
    fn of(a: &Attributes, is_linear: bool) -> Outcome<Self> {
        Ok(Self {
            is_linear,
            aligns_corners: a.flag(c"align_corners")?,
            has_half_pixels: a.flag(c"half_pixel_centers")?,
        })
    }

    /// The matrix (to, from) along an axis, with the float32 arithmetic of `tensorflow/core/util/image_resizer_state.h`.
    fn weights(self, from: i64, to: i64) -> Vec<f32> {
        let scale = if self.aligns_corners && to > 1 {
            (from - 1) as f32 / (to - 1) as f32
        } else {
            from as f32 / to as f32
        };
        let mut weights = vec![0.0; (from * to) as usize];
        for place in 0..to {
            let mut add = |at: i64, weight: f32| weights[(place * from + at) as usize] += weight;
            if self.is_linear {
                let shift = if self.has_half_pixels { 0.5 } else { 0.0 };
                let at = (place as f32 + shift) * scale - shift;
                let below = at.floor();
                add((below as i64).clamp(0, from - 1), 1.0 - (at - below));
                add((below as i64 + 1).clamp(0, from - 1), at - below);
            } else {
                let shift = if self.has_half_pixels { 0.5 } else { 0.0 };
                let at = (place as f32 + shift) * scale;
                let at = if self.aligns_corners {
                    at.round()
                } else {
                    at.floor()
                };
                add((at as i64).clamp(0, from - 1), 1.0);
            }
        }
        weights
    }

    fn matrix(self, c: &Call, from: i64, to: i64, dtype: Dtype) -> Outcome<Tensor> {
        let weights = self.weights(from, to);
        let made = c.temporary(Dtype::F32, &[to, from])?;
        let array = made.array()?;
        let bytes = size_of_val(weights.as_slice()) as u64;
        agpu!(agpu_array_write(
            array.0,
            weights.as_ptr().cast::<c_void>(),
            bytes
        ))?;
        if dtype == Dtype::F32 {
            return Ok(made);
        }
        let wide = c.temporary(dtype, &made.shape)?;
        cast(&made, &wide)?;
        Ok(wide)
    }
}

fn extents(x: &View) -> Outcome<[i64; 4]> {
    <[i64; 4]>::try_from(x.shape.as_slice())
        .map_err(|_| Failure::refused(format!("input must be 4-dimensional: {}", shown(&x.shape))))
}

/// The size of the result, which must be two positive numbers.
fn checked(size: &[i64]) -> Outcome<[i64; 2]> {
    match *size {
        [rows, columns] if rows > 0 && columns > 0 => Ok([rows, columns]),
        _ => Err(Failure::refused(format!(
            "output dimensions must be positive, but size is {}",
            shown(size)
        ))),
    }
}

/// Multiplies the rows and the columns of images by matrices.
fn multiply(
    c: &Call,
    x: &View,
    [rows, columns]: [&View; 2],
    transposes: bool,
    out: &View,
) -> Outcome {
    let ([images, height, width, channels], [_, new_height, new_width, _]) =
        (extents(x)?, extents(out)?);
    let between = c.temporary(x.dtype, &[images, new_height, width * channels])?;
    let flags = [transposes, false];
    product(
        c,
        (rows, &x.reshaped(&[images, height, width * channels])),
        flags,
        &between,
    )?;
    let lines = between.reshaped(&[images * new_height, width, channels]);
    product(
        c,
        (columns, &lines),
        flags,
        &out.reshaped(&[images * new_height, new_width, channels]),
    )
}

fn forward(way: Way) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let [images, height, width, channels] = extents(&x)?;
        let [rows, columns] = checked(&c.host_ints(1)?)?;
        // Linear images are float32 whatever the dtype of the input is.
        let out = c.output(0, c.output_dtype(0)?, &[images, rows, columns, channels])?;
        if out.is_empty() {
            return Ok(());
        }
        let x = c.converted(&x, out.dtype)?;
        let matrices = (
            way.matrix(c, height, rows, out.dtype)?,
            way.matrix(c, width, columns, out.dtype)?,
        );
        multiply(c, &x, [&matrices.0, &matrices.1], false, &out)
    }))
}

/// Inputs: the gradient of the result, and the images or, of nearest pixels, their size.
fn gradient(way: Way) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let given = c.input(0)?;
        let [images, rows, columns, channels] = extents(&given)?;
        let [height, width] = if way.is_linear {
            let [_, height, width, _] = extents(&c.input(1)?)?;
            [height, width]
        } else {
            checked(&c.host_ints(1)?)?
        };
        let out = c.output(0, given.dtype, &[images, height, width, channels])?;
        if out.is_empty() {
            return Ok(());
        }
        let matrices = (
            way.matrix(c, height, rows, out.dtype)?,
            way.matrix(c, width, columns, out.dtype)?,
        );
        multiply(c, &given, [&matrices.0, &matrices.1], true, &out)
    }))
}
