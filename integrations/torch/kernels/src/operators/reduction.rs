//! Reductions over axes, and prefix sums.

use std::ffi::CStr;

use super::table;
use crate::amdgpu::{Owned, Reduce, Scan, agpu};
use crate::call::{Call, Results, Returned, Scalar, check_castable, tensors, written};
use crate::compute::{
    Gives, Input, Number, Steps, Target, cast, converted, number_of_bytes, result_type, run,
};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Place, Tensor, View, axis_of};

table! {
    c"aten::sum.IntList_out" => |c| summed(c, c"sum"),
    c"aten::sum" => sum_all,
    c"aten::mean.out" => mean,
    c"aten::prod.int_out" => prod,
    c"aten::prod" => prod_all,
    c"aten::amax.out" => |c| best(c, c"max"),
    c"aten::amin.out" => |c| best(c, c"min"),
    c"aten::max" => |c| best_of_all(c, c"max"),
    c"aten::min" => |c| best_of_all(c, c"min"),
    c"aten::max.dim_max" => |c| best_with_index(c, [c"max", c"argmax"]),
    c"aten::min.dim_min" => |c| best_with_index(c, [c"min", c"argmin"]),
    c"aten::argmax.out" => |c| place_of_best(c, c"argmax"),
    c"aten::argmin.out" => |c| place_of_best(c, c"argmin"),
    c"aten::any.out" => |c| truth(c, c"any"),
    c"aten::any.dims_out" => |c| truth(c, c"any"),
    c"aten::any.all_out" => |c| truth_of_all(c, c"any"),
    c"aten::all.out" => |c| truth(c, c"all"),
    c"aten::all.dims_out" => |c| truth(c, c"all"),
    c"aten::all.all_out" => |c| truth_of_all(c, c"all"),
    c"aten::equal" => equal,
    c"aten::var.correction" => |c| spread(c, c"var"),
    c"aten::std.correction" => |c| spread(c, c"std"),
    c"aten::var.correction_out" => |c| spread_out(c, c"var"),
    c"aten::std.correction_out" => |c| spread_out(c, c"std"),
    c"aten::var_mean.correction" => |c| spread_and_mean(c, c"var"),
    c"aten::std_mean.correction" => |c| spread_and_mean(c, c"std"),
    c"aten::linalg_vector_norm.out" => vector_norm,
    c"aten::cumsum.out" => |c| scan(c, c"cumsum"),
    c"aten::cumprod.out" => |c| scan(c, c"cumprod"),
}

/// Axes that a reduction goes over, in their order; all of them where none are named.
pub fn axes_of(axes: &[i64], rank: usize) -> Outcome<Vec<i64>> {
    let mut chosen = Vec::with_capacity(axes.len());
    for axis in axes {
        chosen.push(axis_of(*axis, rank)? as i64);
    }
    if chosen.is_empty() || rank == 0 {
        chosen = (0..rank as i64).collect();
    }
    chosen.sort_unstable();
    if chosen.windows(2).any(|two| two[0] == two[1]) {
        return Err(Failure::refused(
            "a dim appears multiple times in the list of dims",
        ));
    }
    Ok(chosen)
}

/// The shape of what a reduction over these axes leaves.
pub fn reduced_shape(shape: &[i64], axes: &[i64], keeps: bool) -> Dims {
    let extents = shape.iter().enumerate().filter_map(|(axis, extent)| {
        if !axes.contains(&(axis as i64)) {
            Some(*extent)
        } else if keeps {
            Some(1)
        } else {
            None
        }
    });
    extents.collect()
}

/// `operation(x)` over axes to `out`, whose shape fits. `gives` is the dtype of the result before it is converted to that of `out`.
pub fn reduce(
    operation: &CStr,
    x: &View,
    axes: &[i64],
    keeps: bool,
    (out, gives): (&View, Dtype),
    correction: f64,
) -> Outcome {
    x.place.check_same(out.place)?;
    let target = Target::of(out, gives)?;
    let place = target.view().array()?;
    let is_wider = gives != x.dtype && gives.is_float() && x.dtype.is_float();
    let options = Reduce {
        out: place.0,
        dtype: if is_wider {
            gives.name()?.as_ptr()
        } else {
            std::ptr::null()
        },
        axes: axes.as_ptr(),
        axis_count: axes.len() as u64,
        correction,
        keeps_axes: u32::from(keeps),
        ..Reduce::default()
    };
    let (x, mut result) = (x.array()?, 0);
    agpu!(agpu_ops_reduce(
        operation.as_ptr(),
        x.0,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    target.finish()
}

/// As [`reduced`], with float32 results of half precision.
pub fn reduced_wide(operation: &CStr, x: &View, axes: &[i64], keeps: bool) -> Outcome<Tensor> {
    let dtype = x.dtype.wide();
    let made = Tensor::empty(&reduced_shape(&x.shape, axes, keeps), dtype, x.place)?;
    reduce(operation, x, axes, keeps, (&made, dtype), 0.0)?;
    Ok(made)
}

/// A new tensor with `operation(x)` over axes.
pub fn reduced(operation: &CStr, x: &View, axes: &[i64], keeps: bool) -> Outcome<Tensor> {
    let made = Tensor::empty(&reduced_shape(&x.shape, axes, keeps), x.dtype, x.place)?;
    reduce(operation, x, axes, keeps, (&made, x.dtype), 0.0)?;
    Ok(made)
}

/// The dtype that sums of integers are in.
fn summed_dtype(x: Dtype) -> Dtype {
    if x.is_integral() { Dtype::I64 } else { x }
}

/// Sum or product in the dtype of `out`.
fn join(operation: &CStr, x: &View, axes: &[i64], keeps: bool, out: &View) -> Outcome {
    let computed = if out.dtype.is_integral() {
        Dtype::I64
    } else {
        out.dtype
    };
    let x = converted(x, computed)?;
    reduce(operation, &x, axes, keeps, (out, computed), 0.0)
}

fn summed(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axes = axes_of(c.ints(0)?, x.rank())?;
    let keeps = c.flag_or(1, false)?;
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    join(operation, x, &axes, keeps, &out)?;
    written()
}

fn sum_all(c: &Call) -> Outcome<Results> {
    joined_all(c, c"sum")
}

fn prod_all(c: &Call) -> Outcome<Results> {
    joined_all(c, c"prod")
}

fn joined_all(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let dtype = c.dtype_or(0, summed_dtype(x.dtype))?;
    let made = Tensor::empty(&[], dtype, x.place)?;
    join(operation, x, &axes_of(&[], x.rank())?, false, &made)?;
    Ok(tensors([made]))
}

fn mean(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axes = axes_of(c.ints(0)?, x.rank())?;
    let keeps = c.flag_or(1, false)?;
    let dtype = c.dtype_or(2, c.last()?.dtype)?;
    if dtype.is_integral() {
        return Err(Failure::refused(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype.",
        ));
    }
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    let x = converted(x, dtype)?;
    reduce(c"mean", &x, &axes, keeps, (&out, dtype), 0.0)?;
    written()
}

fn prod(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axes = [axis_of(c.int(0)?, x.rank())? as i64];
    let axes = axes_of(&axes, x.rank())?;
    let keeps = c.flag_or(1, false)?;
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    join(c"prod", x, &axes, keeps, &out)?;
    written()
}

fn best(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axes = axes_of(c.ints(0)?, x.rank())?;
    let keeps = c.flag_or(1, false)?;
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    reduce(operation, x, &axes, keeps, (&out, x.dtype), 0.0)?;
    written()
}

fn best_of_all(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    if x.is_empty() {
        return Err(Failure::refused(format!(
            "{}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
            operation.to_string_lossy()
        )));
    }
    let axes = axes_of(&[], x.rank())?;
    Ok(tensors([reduced(operation, x, &axes, false)?]))
}

fn best_with_index(c: &Call, operations: [&CStr; 2]) -> Outcome<Results> {
    let (x, values, indices) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let axes = axes_of(&[axis_of(c.int(0)?, x.rank())? as i64], x.rank())?;
    let keeps = c.flag_or(1, false)?;
    let shape = reduced_shape(&x.shape, &axes, keeps);
    let (values, indices) = (values.resized(&shape)?, indices.resized(&shape)?);
    reduce(operations[0], x, &axes, keeps, (&values, x.dtype), 0.0)?;
    reduce(operations[1], x, &axes, keeps, (&indices, Dtype::I64), 0.0)?;
    written()
}

fn place_of_best(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let (axes, keeps) = if c.has(0) {
        let axis = axis_of(c.int(0)?, x.rank())? as i64;
        (axes_of(&[axis], x.rank())?, c.flag_or(1, false)?)
    } else {
        (axes_of(&[], x.rank())?, c.flag_or(1, false)?)
    };
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    reduce(operation, x, &axes, keeps, (&out, Dtype::I64), 0.0)?;
    written()
}

fn truth(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axes = match c.scalar(0) {
        Scalar::Int(axis) => axes_of(&[axis_of(*axis, x.rank())? as i64], x.rank())?,
        Scalar::Ints(axes) if axes.is_empty() => return truth_of_no_axes(c),
        _ => axes_of(c.ints(0)?, x.rank())?,
    };
    let keeps = c.flag_or(1, false)?;
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    reduce(operation, x, &axes, keeps, (&out, Dtype::BOOL), 0.0)?;
    written()
}

/// Of each element by itself whether it is other than zero.
fn truth_of_no_axes(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let out = c.last()?.resized(&x.shape)?;
    let inputs = [x.into(), Number::Int(0).into()];
    run(c"not_equal", &inputs, x.dtype, Gives::Bool, &out, 0.0)?;
    written()
}

fn truth_of_all(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let out = c.last()?.resized(&[])?;
    let axes = axes_of(&[], x.rank())?;
    reduce(operation, x, &axes, false, (&out, Dtype::BOOL), 0.0)?;
    written()
}

/// The element of a tensor that has one.
pub fn value_of(x: &View) -> Outcome<Number> {
    let (array, mut element) = (x.array()?, [0_u8; 16]);
    agpu!(agpu_array_read(
        array.0,
        element.as_mut_ptr().cast(),
        x.dtype.item_bytes() as u64
    ))?;
    number_of_bytes(x.dtype, element)
}

fn equal(c: &Call) -> Outcome<Results> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    a.place.check_same(b.place)?;
    if a.shape != b.shape {
        return Ok(Results::from_iter([Returned::Bool(false)]));
    }
    let inputs: [Input<'_>; 2] = [a.into(), b.into()];
    let steps = Steps {
        dtype: result_type(&inputs, Dtype::F32),
        place: a.place,
    };
    let same = steps.test(c"equal", &inputs)?;
    let all = reduced(c"all", &same, &axes_of(&[], a.rank())?, false)?;
    let is_equal = value_of(&all)?.real() != 0.0;
    Ok(Results::from_iter([Returned::Bool(is_equal)]))
}

/// Axes, correction and whether axes stay.
fn spread_arguments(c: &Call, x: &View) -> Outcome<(Vec<i64>, f64, bool)> {
    if !x.dtype.is_float() {
        return Err(Failure::no_kernel(
            "variances of numbers that are not real have no kernel",
        ));
    }
    let axes = axes_of(c.ints(0)?, x.rank())?;
    Ok((axes, c.real_or(1, 1.0)?, c.flag_or(2, false)?))
}

/// The variance or its root. What is divided by no positive number is an infinity or NaN, as torch says.
fn spread_to(
    operation: &CStr,
    x: &View,
    axes: &[i64],
    (correction, keeps): (f64, bool),
    out: &View,
) -> Outcome {
    let count: i64 = axes.iter().map(|axis| x.shape[*axis as usize]).product();
    if (count as f64) > correction {
        return reduce(operation, x, axes, keeps, (out, x.dtype), correction);
    }
    let zero = Tensor::empty(&out.shape, x.dtype, x.place)?;
    if count == 0 {
        return cast(f64::NAN, out);
    }
    reduce(c"var", x, axes, keeps, (&zero, x.dtype), 0.0)?;
    let inputs = [
        (&zero).into(),
        (count as f64).into(),
        Number::Real(0.0).into(),
    ];
    let steps = Steps {
        dtype: x.dtype,
        place: x.place,
    };
    let squares = steps.made(c"multiply", &inputs[..2])?;
    let quotient = [(&squares).into(), inputs[2]];
    if operation == c"var" {
        return steps.into(c"divide", &quotient, out);
    }
    let variance = steps.made(c"divide", &quotient)?;
    steps.into(c"sqrt", &[(&variance).into()], out)
}

fn spread(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let (axes, correction, keeps) = spread_arguments(c, x)?;
    let made = Tensor::empty(&reduced_shape(&x.shape, &axes, keeps), x.dtype, x.place)?;
    spread_to(operation, x, &axes, (correction, keeps), &made)?;
    Ok(tensors([made]))
}

fn spread_out(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let (axes, correction, keeps) = spread_arguments(c, x)?;
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    spread_to(operation, x, &axes, (correction, keeps), &out)?;
    written()
}

fn spread_and_mean(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let (axes, correction, keeps) = spread_arguments(c, x)?;
    let made = Tensor::empty(&reduced_shape(&x.shape, &axes, keeps), x.dtype, x.place)?;
    spread_to(operation, x, &axes, (correction, keeps), &made)?;
    let mean = reduced(c"mean", x, &axes, keeps)?;
    Ok(tensors([made, mean]))
}

/// (sum of |x|^order)^(1 / order); the largest or smallest |x| for an infinite order, how many are not zero for order 0.
fn vector_norm(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let order = c.real_or(0, 2.0)?;
    let axes = axes_of(c.ints(1)?, x.rank())?;
    let keeps = c.flag_or(2, false)?;
    if !x.dtype.is_float() {
        return Err(Failure::no_kernel(
            "norms of numbers that are not real have no kernel",
        ));
    }
    let dtype = c.dtype_or(3, x.dtype)?;
    check_castable(dtype, c.last()?)?;
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    if x.is_empty() && (order < 0.0 || order == f64::INFINITY) {
        return Err(Failure::no_kernel("a norm of no elements has no kernel"));
    }
    let steps = Steps {
        dtype: dtype.wide(),
        place: x.place,
    };
    let joined = |operation: &CStr, values: &View| {
        let made = Tensor::empty(&out.shape, steps.dtype, x.place)?;
        reduce(operation, values, &axes, keeps, (&made, steps.dtype), 0.0)?;
        Ok(made)
    };
    if order == 2.0 {
        let sum = joined(c"sum", &*steps.made(c"square", &[x.into()])?)?;
        steps.into(c"sqrt", &[(&sum).into()], &out)?;
        return written();
    }
    let size = steps.made(c"absolute", &[x.into()])?;
    let result = if order.is_infinite() {
        joined(if order > 0.0 { c"max" } else { c"min" }, &size)?
    } else if order == 0.0 {
        let test = steps.test(c"not_equal", &[(&size).into(), 0.0.into()])?;
        joined(c"sum", &*converted(&test, steps.dtype)?)?
    } else if order == 1.0 {
        joined(c"sum", &size)?
    } else {
        let powers = steps.made(c"power", &[(&size).into(), order.into()])?;
        let sum = joined(c"sum", &powers)?;
        steps.made(c"power", &[(&sum).into(), (1.0 / order).into()])?
    };
    cast(&result, &out)?;
    written()
}

fn scan(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axis = axis_of(c.int(0)?, x.rank())?;
    let out = c.last()?.resized(&x.shape)?;
    let dtype = c.dtype_or(1, out.dtype)?;
    check_castable(dtype, &out)?;
    if x.is_empty() {
        return written();
    }
    let computed = if dtype.is_integral() {
        Dtype::I64
    } else {
        dtype
    };
    let x = converted(x, computed)?;
    if x.rank() == 0 {
        cast(&*x, &out)?;
        return written();
    }
    let target = Target::of(&out, computed)?;
    let (array, place, mut result) = (x.array()?, target.view().array()?, 0);
    let options = Scan {
        out: place.0,
        ..Scan::default()
    };
    agpu!(agpu_ops_scan(
        operation.as_ptr(),
        array.0,
        axis as i64,
        &raw const options,
        &raw mut result
    ))?;
    drop(Owned(result));
    target.finish()?;
    written()
}

/// A sum over all axes but one.
pub fn sum_but(x: &View, axis: usize) -> Outcome<Tensor> {
    let axes: Vec<i64> = (0..x.rank() as i64)
        .filter(|other| *other != axis as i64)
        .collect();
    if axes.is_empty() {
        let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
        cast(x, &made)?;
        return Ok(made);
    }
    reduced(c"sum", x, &axes, false)
}

/// The device of a tensor.
pub fn steps_in(dtype: Dtype, place: Place) -> Steps {
    Steps { dtype, place }
}
