//! Pooling: the largest value or the average of windows, and their gradients.

use std::ffi::{CStr, c_char};

use super::table;
use crate::amdgpu::{Owned, Pool, agpu};
use crate::call::{Call, Results, tensors, written};
use crate::compute::{Held, Number, Target, cast, contiguous};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::images::{self, channels_last, has_channels_last};
use crate::tensor::{Dims, Made, Tensor, View};

table! {
    c"aten::max_pool2d_with_indices.out" => |c| max_pool(c, 2),
    c"aten::max_pool2d_with_indices_backward.grad_input" => |c| max_pool_backward(c, 2),
    c"aten::max_pool3d_with_indices.out" => |c| max_pool(c, 3),
    c"aten::max_pool3d_with_indices_backward.grad_input" => |c| max_pool_backward(c, 3),
    c"aten::max_pool3d_with_indices" => max_pool3d_new,
    c"aten::max_pool3d_with_indices_backward" => max_pool3d_backward_new,
    c"aten::avg_pool2d.out" => |c| average(c, 2),
    c"aten::avg_pool2d_backward.grad_input" => |c| average_backward(c, 2),
    c"aten::avg_pool3d.out" => |c| average(c, 3),
    c"aten::avg_pool3d_backward.grad_input" => |c| average_backward(c, 3),
    c"aten::_adaptive_avg_pool2d" => |c| adaptive_average(c, 2),
    c"aten::_adaptive_avg_pool2d_backward" => |c| adaptive_average_backward(c, 2),
    c"aten::adaptive_avg_pool2d.out" => |c| adaptive_average_out(c, 2),
    c"aten::_adaptive_avg_pool3d" => |c| adaptive_average(c, 3),
    c"aten::_adaptive_avg_pool3d_backward" => |c| adaptive_average_backward(c, 3),
    c"aten::adaptive_avg_pool3d.out" => |c| adaptive_average_out(c, 3),
    c"aten::adaptive_max_pool2d.out" => |c| adaptive_max(c, 2),
    c"aten::adaptive_max_pool2d_backward.grad_input" => |c| adaptive_max_backward(c, 2),
}

/// One value for each axis of the images; a single one is for all, none is the default.
fn along(given: &[i64], spatial: usize, default: &[i64]) -> Outcome<[i64; 3]> {
    let mut all = [1; 3];
    let own = &mut all[3 - spatial..];
    match given.len() {
        0 => own.copy_from_slice(&default[default.len() - spatial..]),
        1 => own.fill(given[0]),
        length if length == spatial => own.copy_from_slice(given),
        length => {
            return Err(Failure::refused(format!(
                "pooling of {spatial} axes takes 1 or {spatial} values, not {length}"
            )));
        }
    }
    Ok(all)
}

/// Window, stride, padding and dilation, of which the last axes count.
struct Windows {
    spatial: usize,
    window: [i64; 3],
    stride: [i64; 3],
    padding: [i64; 3],
    dilation: [i64; 3],
    ceil_mode: bool,
}

impl Windows {
    fn of(c: &Call, spatial: usize, has_dilation: bool) -> Outcome<Self> {
        let window = along(c.ints(0)?, spatial, &[1; 3])?;
        let dilation: &[i64] = if has_dilation { c.ints(3)? } else { &[] };
        Ok(Self {
            spatial,
            window,
            stride: along(c.ints(1)?, spatial, &window)?,
            padding: along(c.ints(2)?, spatial, &[0; 3])?,
            dilation: along(dilation, spatial, &[1; 3])?,
            ceil_mode: c.flag(if has_dilation { 4 } else { 3 })?,
        })
    }

    fn options(&self) -> Pool {
        let last = |values: [i64; 3]| [values[1], values[2]];
        let depth = |values: [i64; 3], default| {
            if self.spatial == 3 {
                values[0]
            } else {
                default
            }
        };
        Pool {
            window: last(self.window),
            stride: last(self.stride),
            padding: last(self.padding),
            dilation: last(self.dilation),
            window_depth: depth(self.window, 0),
            stride_depth: depth(self.stride, 0),
            padding_depth: depth(self.padding, 0),
            dilation_depth: depth(self.dilation, 0),
            ceil_mode: u32::from(self.ceil_mode),
            ..Pool::default()
        }
    }

    /// The shape of the result, as `pooling_output_shape` of aten/src/ATen/native/Pool.h has it.
    fn result_shape(&self, x: &View) -> Outcome<Dims> {
        let mut shape = x.shape.clone();
        let first = x.rank() - self.spatial;
        for axis in 0..self.spatial {
            let at = 3 - self.spatial + axis;
            let (extent, stride) = (x.shape[first + axis], self.stride[at]);
            let padding = self.padding[at];
            if stride <= 0 {
                return Err(Failure::refused("stride should not be zero"));
            }
            let reach = self.dilation[at] * (self.window[at] - 1) + 1;
            let more = if self.ceil_mode { stride - 1 } else { 0 };
            let mut count = (extent + 2 * padding - reach + more).div_euclid(stride) + 1;
            if self.ceil_mode && (count - 1) * stride >= extent + padding {
                count -= 1;
            }
            if count <= 0 {
                return Err(Failure::refused(format!(
                    "Given input size {:?}, the calculated output size of axis {axis} is {count}: it is too small",
                    x.shape.as_slice()
                )));
            }
            shape[first + axis] = count;
        }
        Ok(shape)
    }
}

fn check(c: &Call, x: &View, spatial: usize) -> Outcome {
    if !x.dtype.is_float() {
        return Err(Failure::no_kernel(
            "pooling of numbers that are not real has no kernel",
        ));
    }
    if x.rank() == spatial + 1 || x.rank() == spatial + 2 {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "{}: non-empty {}D or {}D (batch mode) tensor expected for input, got {:?}",
        c.name,
        spatial + 1,
        spatial + 2,
        x.shape.as_slice()
    )))
}

/// With an axis for the images of a batch.
fn batched(x: &View, spatial: usize) -> View {
    if x.rank() == spatial + 1 {
        x.with_axis(0)
    } else {
        x.clone()
    }
}

/// The order in which kernels take images: with their channels last where these are last in memory.
struct Order {
    spatial: usize,
    is_last: bool,
}

impl Order {
    fn of(x: &View, spatial: usize) -> Self {
        Self {
            spatial,
            is_last: x.rank() == spatial + 2 && has_channels_last(x),
        }
    }

    fn seen(&self, images: &View) -> View {
        let batch = batched(images, self.spatial);
        if self.is_last {
            channels_last(&batch)
        } else {
            batch
        }
    }

    fn dense(&self, images: &View) -> Outcome<Held> {
        contiguous(&self.seen(images))
    }

    fn layout(&self) -> *const c_char {
        match (self.is_last, self.spatial) {
            (false, _) => std::ptr::null(),
            (true, 2) => c"NHWC".as_ptr(),
            (true, _) => c"NDHWC".as_ptr(),
        }
    }
}

fn names(spatial: usize, names: [&'static CStr; 2]) -> &'static CStr {
    names[usize::from(spatial == 3)]
}

fn max_pool(c: &Call, spatial: usize) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check(c, x, spatial)?;
    let windows = Windows::of(c, spatial, true)?;
    let shape = windows.result_shape(x)?;
    let (out, indices) = (c.tensor(1)?.resized(&shape)?, c.tensor(2)?.resized(&shape)?);
    let name = names(spatial, [c"max_pool2d", c"max_pool3d"]);
    with_indices(name, x, windows.options(), spatial, (&out, &indices))?;
    written()
}

fn with_indices(
    name: &CStr,
    x: &View,
    mut options: Pool,
    spatial: usize,
    (out, indices): (&View, &View),
) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let order = Order::of(x, spatial);
    let (dense, out) = (order.dense(x)?, order.seen(out));
    let target = Target::of(&out, x.dtype)?;
    let place = target.view().array()?;
    (options.out, options.layout) = (place.0, order.layout());
    let (array, mut values, mut found) = (dense.array()?, 0, 0);
    agpu!(agpu_ops_pool_with_indices(
        name.as_ptr(),
        array.0,
        &raw const options,
        &raw mut values,
        &raw mut found
    ))?;
    drop(Owned(values));
    cast(&*Made::of(found, x.place)?, &order.seen(indices))?;
    target.finish()
}

fn indices_gradient(
    name: &CStr,
    (gradient, indices): (&View, &View),
    mut options: Pool,
    spatial: usize,
    out: &View,
) -> Outcome {
    if out.is_empty() || gradient.is_empty() {
        return cast(Number::Int(0), out);
    }
    let order = Order::of(out, spatial);
    let (given, at) = (order.dense(gradient)?, order.dense(indices)?);
    let out = order.seen(out);
    let target = Target::of(&out, gradient.dtype)?;
    let whole = target.view();
    let place = whole.array()?;
    (options.out, options.layout) = (place.0, order.layout());
    let (given, at, mut result) = (given.array()?, at.array()?, 0);
    agpu!(agpu_ops_pool_indices_gradient(
        name.as_ptr(),
        given.0,
        at.0,
        whole.rank() as u32,
        whole.shape.as_ptr(),
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    target.finish()
}

fn max_pool_backward(c: &Call, spatial: usize) -> Outcome<Results> {
    let (gradient, x, indices) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check(c, x, spatial)?;
    let windows = Windows::of(c, spatial, true)?;
    let out = c.last()?.resized(&x.shape)?;
    let name = names(spatial, [c"max_pool2d", c"max_pool3d"]);
    indices_gradient(name, (gradient, indices), windows.options(), spatial, &out)?;
    written()
}

fn max_pool3d_new(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check(c, x, 3)?;
    let windows = Windows::of(c, 3, true)?;
    let shape = windows.result_shape(x)?;
    let values = Tensor::empty(&shape, x.dtype, x.place)?;
    let indices = Tensor::empty(&shape, Dtype::I64, x.place)?;
    with_indices(c"max_pool3d", x, windows.options(), 3, (&values, &indices))?;
    Ok(tensors([values, indices]))
}

fn max_pool3d_backward_new(c: &Call) -> Outcome<Results> {
    let (gradient, x, indices) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check(c, x, 3)?;
    let windows = Windows::of(c, 3, true)?;
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    let given = (&**gradient, &**indices);
    indices_gradient(c"max_pool3d", given, windows.options(), 3, &made)?;
    Ok(tensors([made]))
}

/// Options of averages: windows, whether the padding counts, and a divisor.
fn average_options(c: &Call, windows: &Windows) -> Outcome<Pool> {
    let mut options = windows.options();
    options.excludes_padding = u32::from(!c.flag_or(4, true)?);
    options.divisor_override = c.int_or(5, 0)?;
    if c.has(5) && options.divisor_override == 0 {
        return Err(Failure::refused("divisor must be not zero"));
    }
    Ok(options)
}

fn pool_to(name: &CStr, x: &View, mut options: Pool, spatial: usize, out: &View) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let order = Order::of(x, spatial);
    let (dense, out) = (order.dense(x)?, order.seen(out));
    let target = Target::of(&out, x.dtype)?;
    let place = target.view().array()?;
    (options.out, options.layout) = (place.0, order.layout());
    let (array, mut result) = (dense.array()?, 0);
    agpu!(agpu_ops_pool(
        name.as_ptr(),
        array.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    target.finish()
}

fn gradient_to(
    name: &CStr,
    (x, gradient): (&View, &View),
    mut options: Pool,
    spatial: usize,
    out: &View,
) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let order = Order::of(x, spatial);
    let (images, given) = (order.dense(x)?, order.dense(gradient)?);
    let out = order.seen(out);
    let target = Target::of(&out, x.dtype)?;
    let place = target.view().array()?;
    (options.out, options.layout) = (place.0, order.layout());
    let (images, given, mut result) = (images.array()?, given.array()?, 0);
    agpu!(agpu_ops_pool_gradient(
        name.as_ptr(),
        images.0,
        given.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    target.finish()
}

fn average(c: &Call, spatial: usize) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check(c, x, spatial)?;
    let windows = Windows::of(c, spatial, false)?;
    let options = average_options(c, &windows)?;
    let out = c.last()?.resized(&windows.result_shape(x)?)?;
    let name = names(spatial, [c"avg_pool2d", c"avg_pool3d"]);
    pool_to(name, x, options, spatial, &out)?;
    written()
}

fn average_backward(c: &Call, spatial: usize) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    check(c, x, spatial)?;
    let windows = Windows::of(c, spatial, false)?;
    let options = average_options(c, &windows)?;
    let out = c.last()?.resized(&x.shape)?;
    let name = names(spatial, [c"avg_pool2d", c"avg_pool3d"]);
    gradient_to(name, (x, gradient), options, spatial, &out)?;
    written()
}

/// Options of windows that cut images into so many parts, and the shape of the result.
fn adaptive(x: &View, sizes: &[i64], spatial: usize) -> Outcome<(Pool, Dims)> {
    let first = x.rank() - spatial;
    let sizes = along(sizes, spatial, &[1; 3])?;
    let mut options = Pool::default();
    let mut shape = x.shape.clone();
    for axis in 0..spatial {
        let size = sizes[3 - spatial + axis];
        options.output_size[3 - spatial + axis] = size;
        shape[first + axis] = size;
    }
    if x.shape[first..].contains(&0) || shape[first..].iter().any(|extent| *extent <= 0) {
        return Err(Failure::no_kernel(
            "adaptive pooling of or to no pixels has no kernel",
        ));
    }
    Ok((options, shape))
}

const ADAPTIVE: [&CStr; 2] = [c"adaptive_avg_pool2d", c"adaptive_avg_pool3d"];

fn adaptive_average(c: &Call, spatial: usize) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check(c, x, spatial)?;
    let (options, shape) = adaptive(x, c.ints(0)?, spatial)?;
    let made = images::empty(&shape, has_channels_last(x), x.dtype, x.place)?;
    pool_to(names(spatial, ADAPTIVE), x, options, spatial, &made)?;
    Ok(tensors([made]))
}

fn adaptive_average_out(c: &Call, spatial: usize) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check(c, x, spatial)?;
    let (options, shape) = adaptive(x, c.ints(0)?, spatial)?;
    let out = c.last()?.resized(&shape)?;
    pool_to(names(spatial, ADAPTIVE), x, options, spatial, &out)?;
    written()
}

fn adaptive_average_backward(c: &Call, spatial: usize) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    check(c, x, spatial)?;
    let (options, _) = adaptive(x, &gradient.shape[x.rank() - spatial..], spatial)?;
    let made = images::empty(&x.shape, has_channels_last(x), x.dtype, x.place)?;
    let name = names(spatial, ADAPTIVE);
    gradient_to(name, (x, gradient), options, spatial, &made)?;
    Ok(tensors([made]))
}

fn adaptive_max(c: &Call, spatial: usize) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check(c, x, spatial)?;
    let (options, shape) = adaptive(x, c.ints(0)?, spatial)?;
    let (out, indices) = (c.tensor(1)?.resized(&shape)?, c.tensor(2)?.resized(&shape)?);
    with_indices(
        c"adaptive_max_pool2d",
        x,
        options,
        spatial,
        (&out, &indices),
    )?;
    written()
}

fn adaptive_max_backward(c: &Call, spatial: usize) -> Outcome<Results> {
    let (gradient, x, indices) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    check(c, x, spatial)?;
    let (options, _) = adaptive(x, &gradient.shape[x.rank() - spatial..], spatial)?;
    let out = c.last()?.resized(&x.shape)?;
    let given = (&**gradient, &**indices);
    indices_gradient(c"adaptive_max_pool2d", given, options, spatial, &out)?;
    written()
}
