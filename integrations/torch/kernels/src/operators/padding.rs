//! Images with a border of their own pixels: mirrored at the edge, or the pixel of the edge repeated. Each axis is picked from by index.

use super::creation::of_values;
use super::indexing::{pick, put};
use super::table;
use crate::call::{Call, Results, tensors, written};
use crate::compute::{Number, cast, converted};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Tensor, View};

table! {
    c"aten::reflection_pad1d.out" => |c| padded(c, 1, reflected),
    c"aten::reflection_pad1d_backward.grad_input" => |c| backward_out(c, 1, reflected),
    c"aten::reflection_pad2d" => |c| padded_new(c, 2, reflected),
    c"aten::reflection_pad2d.out" => |c| padded(c, 2, reflected),
    c"aten::reflection_pad2d_backward" => |c| backward_new(c, 2, reflected),
    c"aten::reflection_pad2d_backward.grad_input" => |c| backward_out(c, 2, reflected),
    c"aten::reflection_pad3d.out" => |c| padded(c, 3, reflected),
    c"aten::reflection_pad3d_backward.grad_input" => |c| backward_out(c, 3, reflected),
    c"aten::replication_pad1d.out" => |c| padded(c, 1, repeated),
    c"aten::replication_pad1d_backward.grad_input" => |c| backward_out(c, 1, repeated),
    c"aten::replication_pad2d.out" => |c| padded(c, 2, repeated),
    c"aten::replication_pad2d_backward" => |c| backward_new(c, 2, repeated),
    c"aten::replication_pad2d_backward.grad_input" => |c| backward_out(c, 2, repeated),
    c"aten::replication_pad3d.out" => |c| padded(c, 3, repeated),
    c"aten::replication_pad3d_backward" => |c| backward_new(c, 3, repeated),
    c"aten::replication_pad3d_backward.grad_input" => |c| backward_out(c, 3, repeated),
}

/// The pixel of an axis that stands at a place before, in or behind it.
type Source = fn(i64, i64) -> i64;

fn reflected(place: i64, extent: i64) -> i64 {
    if place < 0 {
        -place
    } else if place >= extent {
        2 * (extent - 1) - place
    } else {
        place
    }
}

fn repeated(place: i64, extent: i64) -> i64 {
    place.clamp(0, extent - 1)
}

/// For each axis of the images, which pixels stand there behind.
struct Border {
    places: Vec<Tensor>,
    axes: Vec<i64>,
    shape: Dims,
}

impl Border {
    fn of(x: &View, padding: &[i64], spatial: usize, source: Source) -> Outcome<Self> {
        let rank = x.rank();
        if padding.len() != 2 * spatial || (rank != spatial + 1 && rank != spatial + 2) {
            return Err(Failure::refused(format!(
                "padding of {} values does not fit a tensor of {rank} axes",
                padding.len()
            )));
        }
        let first = rank - spatial;
        let (mut places, mut shape) = (Vec::new(), x.shape.clone());
        for axis in 0..spatial {
            // The last axis is named first.
            let (before, behind) = {
                let at = 2 * (spatial - 1 - axis);
                (padding[at], padding[at + 1])
            };
            let extent = x.shape[first + axis];
            let count = extent + before + behind;
            let is_too_far =
                source(-before, extent) >= extent || source(extent + behind - 1, extent) < 0;
            if count <= 0 || extent == 0 || is_too_far {
                return Err(Failure::refused(format!(
                    "Padding size should be less than the corresponding input dimension, but got: padding ({before}, {behind}) at dimension {} of input {:?}",
                    first + axis,
                    x.shape.as_slice()
                )));
            }
            let pixels: Vec<i64> = (0..count)
                .map(|place| source(place - before, extent))
                .collect();
            let mut extents = Dims::from_elem(1, spatial);
            extents[axis] = count;
            places.push(of_values(&pixels, &extents, Dtype::I64, x.place)?);
            shape[first + axis] = count;
        }
        Ok(Self {
            places,
            axes: (first as i64..rank as i64).collect(),
            shape,
        })
    }

    fn views(&self) -> Vec<&View> {
        self.places.iter().map(|one| &**one).collect()
    }

    fn write(&self, x: &View, out: &View) -> Outcome {
        if out.is_empty() {
            return Ok(());
        }
        let (rank, spatial) = (x.rank(), self.axes.len());
        let picked = pick(x, &self.axes, &self.views())?;
        let order: Vec<usize> = (spatial..rank).chain(0..spatial).collect();
        cast(&picked.permuted(&order), out)
    }

    fn backward(&self, gradient: &View, out: &View) -> Outcome {
        let (rank, spatial) = (out.rank(), self.axes.len());
        let wide = Tensor::empty(&out.shape, gradient.dtype.wide(), out.place)?;
        cast(Number::Int(0), &wide)?;
        let given = converted(gradient, wide.dtype)?;
        let order: Vec<usize> = (rank - spatial..rank).chain(0..rank - spatial).collect();
        put(
            &wide,
            &self.axes,
            &self.views(),
            &given.permuted(&order),
            c"add",
        )?;
        cast(&wide, out)
    }
}

fn padded(c: &Call, spatial: usize, source: Source) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let border = Border::of(x, c.ints(0)?, spatial, source)?;
    let out = c.last()?.resized(&border.shape)?;
    border.write(x, &out)?;
    written()
}

fn padded_new(c: &Call, spatial: usize, source: Source) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let border = Border::of(x, c.ints(0)?, spatial, source)?;
    let made = Tensor::empty(&border.shape, x.dtype, x.place)?;
    border.write(x, &made)?;
    Ok(tensors([made]))
}

fn backward_out(c: &Call, spatial: usize, source: Source) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let border = Border::of(x, c.ints(0)?, spatial, source)?;
    let out = c.last()?.resized(&x.shape)?;
    border.backward(gradient, &out)?;
    written()
}

fn backward_new(c: &Call, spatial: usize, source: Source) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let border = Border::of(x, c.ints(0)?, spatial, source)?;
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    border.backward(gradient, &made)?;
    Ok(tensors([made]))
}
