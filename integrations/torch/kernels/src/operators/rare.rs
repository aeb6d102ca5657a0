//! Operators that are made of a few steps: less usual activations, sums, differences and choices.

use std::ffi::CStr;

use super::elementwise::write;
use super::indexing::pick;
use super::matmul::product;
use super::reduction::{axes_of, reduce, reduced, reduced_shape, steps_in};
use super::table;
use crate::call::{Call, Results, check_float, tensors, written};
use crate::compute::{
    Gives, Input, Number, Steps, broadcast_shape, cast, contiguous, narrowed, result_type, run,
};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Tensor, View, axis_of};

table! {
    c"aten::rsub.Tensor" => |c| reversed_difference(c, c.tensor(1)?.into(), 0),
    c"aten::rsub.Scalar" => |c| reversed_difference(c, c.number(0)?.into(), 1),
    c"aten::fmax.out" => |c| without_nan(c, c"maximum"),
    c"aten::fmin.out" => |c| without_nan(c, c"minimum"),
    c"aten::xlogy.OutTensor" => xlogy,
    c"aten::nan_to_num.out" => nan_to_num,
    c"aten::heaviside.out" => heaviside,
    c"aten::log_sigmoid_forward" => log_sigmoid,
    c"aten::log_sigmoid_backward" => log_sigmoid_backward,
    c"aten::glu.out" => glu,
    c"aten::glu_backward" => glu_backward,
    c"aten::hardshrink.out" => hardshrink,
    c"aten::hardshrink_backward.grad_input" => |c| shrink_backward(c),
    c"aten::softshrink.out" => softshrink,
    c"aten::softshrink_backward.grad_input" => |c| shrink_backward(c),
    c"aten::hardswish_backward" => hardswish_backward,
    c"aten::hardsigmoid_backward.grad_input" => hardsigmoid_backward,
    c"aten::_prelu_kernel" => prelu,
    c"aten::_prelu_kernel_backward" => prelu_backward,
    c"aten::nansum" => nansum,
    c"aten::count_nonzero.dim_IntList" => count_nonzero,
    c"aten::aminmax.out" => aminmax,
    c"aten::norm.out" => norm,
    c"aten::trace" => trace,
    c"aten::take" => take,
    c"aten::addbmm" => addbmm,
    c"aten::vdot" => vdot,
}

fn steps(x: &View) -> Steps {
    steps_in(x.dtype.wide(), x.place)
}

/// other - alpha x.
fn reversed_difference(c: &Call, other: Input<'_>, alpha: usize) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let inputs = [other, x.into()];
    let s = steps_in(result_type(&inputs, Dtype::F32), x.place);
    let factor = if c.has(alpha) {
        c.number(alpha)?
    } else {
        Number::Int(1)
    };
    if factor.is_one() {
        return Ok(tensors([s.made(c"subtract", &inputs)?]));
    }
    let part = s.made(c"multiply", &[x.into(), factor.into()])?;
    Ok(tensors([s.made(c"subtract", &[other, (&part).into()])?]))
}

/// The better of both; where one is NaN the other.
fn without_nan(c: &Call, operation: &CStr) -> Outcome<Results> {
    let inputs: [Input<'_>; 2] = [c.tensor(0)?.into(), c.tensor(1)?.into()];
    let common = result_type(&inputs, c.last()?.dtype);
    if !common.is_float() {
        return write(c, operation, &inputs, common, Gives::Same, 0.0);
    }
    let s = steps_in(common, c.place()?);
    let a_is_nan = s.test(c"isnan", &inputs[..1])?;
    let b_is_nan = s.test(c"isnan", &inputs[1..])?;
    let best = s.made(operation, &inputs)?;
    let best = s.made(c"where", &[(&b_is_nan).into(), inputs[0], (&best).into()])?;
    let inputs = [(&a_is_nan).into(), inputs[1], (&best).into()];
    write(c, c"where", &inputs, common, Gives::Same, 0.0)
}

/// x log(y), 0 where x is 0 and y is a number.
fn xlogy(c: &Call) -> Outcome<Results> {
    let inputs: [Input<'_>; 2] = [c.tensor(0)?.into(), c.tensor(1)?.into()];
    let out = c.last()?;
    let common = result_type(&inputs, out.dtype);
    let common = if common.is_integral() {
        Dtype::F32
    } else {
        common
    };
    let s = steps_in(common.wide(), c.place()?);
    let logarithm = s.made(c"log", &inputs[1..])?;
    let product = s.made(c"multiply", &[inputs[0], (&logarithm).into()])?;
    let is_zero = s.test(c"equal", &[inputs[0], 0.0.into()])?;
    let is_nan = s.test(c"isnan", &inputs[1..])?;
    let result = s.made(
        c"where",
        &[(&is_zero).into(), 0.0.into(), (&product).into()],
    )?;
    let inputs = [(&is_nan).into(), f64::NAN.into(), (&result).into()];
    write(c, c"where", &inputs, s.dtype, Gives::Same, 0.0)
}

/// The largest finite number of a dtype.
fn largest(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::F16 => 65504.0,
        // (2 - 2^-7) 2^127.
        Dtype::BF16 => 3.389_531_389_251_535_5e38,
        Dtype::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

fn nan_to_num(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    if x.dtype.is_integral() {
        let out = c.last()?.resized(&x.shape)?;
        cast(x, &out)?;
        return written();
    }
    check_float(c, x)?;
    let limit = largest(x.dtype);
    let (nan, high, low) = (
        c.real_or(0, 0.0)?,
        c.real_or(1, limit)?,
        c.real_or(2, -limit)?,
    );
    let s = steps_in(x.dtype, x.place);
    let is_nan = s.test(c"isnan", &[x.into()])?;
    let is_high = s.test(c"equal", &[x.into(), f64::INFINITY.into()])?;
    let is_low = s.test(c"equal", &[x.into(), f64::NEG_INFINITY.into()])?;
    let result = s.made(c"where", &[(&is_nan).into(), nan.into(), x.into()])?;
    let result = s.made(
        c"where",
        &[(&is_high).into(), high.into(), (&result).into()],
    )?;
    let inputs = [(&is_low).into(), low.into(), (&result).into()];
    write(c, c"where", &inputs, x.dtype, Gives::Same, 0.0)
}

fn heaviside(c: &Call) -> Outcome<Results> {
    let (x, value) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps_in(x.dtype, x.place);
    let is_zero = s.test(c"equal", &[x.into(), Number::Int(0).into()])?;
    let is_high = s.test(c"greater", &[x.into(), Number::Int(0).into()])?;
    let step = s.made(c"identity", &[(&is_high).into()])?;
    let inputs = [(&is_zero).into(), value.into(), (&step).into()];
    write(c, c"where", &inputs, x.dtype, Gives::Same, 0.0)
}

/// -softplus(-x), and a buffer that the gradient does not need.
fn log_sigmoid(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let s = steps(x);
    let negated = s.made(c"negative", &[x.into()])?;
    let soft = s.made(c"softplus", &[(&negated).into()])?;
    let result = s.made(c"negative", &[(&soft).into()])?;
    let buffer = Tensor::empty(&[0], x.dtype, x.place)?;
    Ok(tensors([narrowed(result, x.dtype)?, buffer]))
}

fn log_sigmoid_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps(x);
    let negated = s.made(c"negative", &[x.into()])?;
    let part = s.made(c"sigmoid", &[(&negated).into()])?;
    let result = s.made(c"multiply", &[(&part).into(), gradient.into()])?;
    Ok(tensors([narrowed(result, x.dtype)?]))
}

/// Both halves along an axis.
fn halves(x: &View, axis: i64) -> Outcome<(usize, View, View)> {
    let axis = axis_of(axis, x.rank())?;
    let extent = x.shape.get(axis).copied().unwrap_or(1);
    if x.rank() == 0 || extent % 2 != 0 {
        return Err(Failure::refused(format!(
            "Halving dimension must be even, but dimension {axis} is size {extent}"
        )));
    }
    let size = extent / 2;
    Ok((axis, x.narrow(axis, 0, size), x.narrow(axis, size, size)))
}

fn glu(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let (_, a, b) = halves(x, c.int_or(0, -1)?)?;
    let s = steps(x);
    let gate = s.made(c"sigmoid", &[(&b).into()])?;
    let inputs = [(&a).into(), (&gate).into()];
    write(c, c"multiply", &inputs, s.dtype, Gives::Same, 0.0)
}

fn glu_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let (axis, a, b) = halves(x, c.int(0)?)?;
    let s = steps(x);
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    let size = a.shape[axis];
    let gate = s.made(c"sigmoid", &[(&b).into()])?;
    let inputs = [gradient.into(), (&gate).into()];
    s.into(c"multiply", &inputs, &made.narrow(axis, 0, size))?;
    let product = s.made(c"multiply", &[gradient.into(), (&a).into()])?;
    let inputs = [(&gate).into(), (&product).into()];
    s.into(c"sigmoid_gradient", &inputs, &made.narrow(axis, size, size))?;
    Ok(tensors([made]))
}

/// Whether values lie in [-limit, limit].
fn inside(x: &View, limit: f64) -> Outcome<Tensor> {
    let s = steps_in(x.dtype, x.place);
    let size = s.made(c"absolute", &[x.into()])?;
    s.test(c"less_equal", &[(&size).into(), limit.into()])
}

fn hardshrink(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let mask = inside(x, c.real_or(0, 0.5)?)?;
    let inputs = [(&mask).into(), 0.0.into(), x.into()];
    write(c, c"where", &inputs, x.dtype, Gives::Same, 0.0)
}

/// x moved towards zero by a limit, and zero where that reaches beyond.
fn softshrink(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let limit = c.real_or(0, 0.5)?;
    let s = steps(x);
    let mask = inside(x, limit)?;
    let cut = s.made(c"clip", &[x.into(), (-limit).into(), limit.into()])?;
    let rest = s.made(c"subtract", &[x.into(), (&cut).into()])?;
    let inputs = [(&mask).into(), 0.0.into(), (&rest).into()];
    write(c, c"where", &inputs, s.dtype, Gives::Same, 0.0)
}

fn shrink_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    check_float(c, x)?;
    let mask = inside(x, c.real(0)?)?;
    let inputs = [(&mask).into(), 0.0.into(), gradient.into()];
    write(c, c"where", &inputs, gradient.dtype, Gives::Same, 0.0)
}

/// The slope (x + 1.5) / 3 between -3 and 3, 0 below and 1 above.
fn hardswish_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps(x);
    let slope = s.made(c"add", &[x.into(), 1.5.into()])?;
    let slope = s.made(c"divide", &[(&slope).into(), 3.0.into()])?;
    let is_low = s.test(c"less_equal", &[x.into(), (-3.0).into()])?;
    let is_high = s.test(c"greater_equal", &[x.into(), 3.0.into()])?;
    let slope = s.made(c"where", &[(&is_low).into(), 0.0.into(), (&slope).into()])?;
    let slope = s.made(c"where", &[(&is_high).into(), 1.0.into(), (&slope).into()])?;
    let result = s.made(c"multiply", &[(&slope).into(), gradient.into()])?;
    Ok(tensors([narrowed(result, x.dtype)?]))
}

fn hardsigmoid_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps(x);
    let size = s.made(c"absolute", &[x.into()])?;
    let mask = s.test(c"less", &[(&size).into(), 3.0.into()])?;
    let part = s.made(c"divide", &[gradient.into(), 6.0.into()])?;
    let inputs = [(&mask).into(), (&part).into(), 0.0.into()];
    write(c, c"where", &inputs, s.dtype, Gives::Same, 0.0)
}

fn prelu(c: &Call) -> Outcome<Results> {
    let (x, weight) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps_in(x.dtype, x.place);
    let bent = s.made(c"multiply", &[x.into(), weight.into()])?;
    let is_high = s.test(c"greater", &[x.into(), 0.0.into()])?;
    let made = s.made(c"where", &[(&is_high).into(), x.into(), (&bent).into()])?;
    Ok(tensors([made]))
}

fn prelu_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let s = steps_in(x.dtype, x.place);
    let is_high = s.test(c"greater", &[x.into(), 0.0.into()])?;
    let bent = s.made(c"multiply", &[gradient.into(), weight.into()])?;
    let by_x = s.made(
        c"where",
        &[(&is_high).into(), gradient.into(), (&bent).into()],
    )?;
    let bent = s.made(c"multiply", &[gradient.into(), x.into()])?;
    let by_weight = s.made(c"where", &[(&is_high).into(), 0.0.into(), (&bent).into()])?;
    Ok(tensors([by_x, by_weight]))
}

fn nansum(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    let dtype = c.dtype_or(2, x.dtype)?;
    let axes = axes_of(c.ints(0)?, x.rank())?;
    let keeps = c.flag_or(1, false)?;
    let s = steps_in(dtype, x.place);
    let is_nan = steps_in(x.dtype, x.place).test(c"isnan", &[x.into()])?;
    let clean = s.made(c"where", &[(&is_nan).into(), 0.0.into(), x.into()])?;
    Ok(tensors([reduced(c"sum", &clean, &axes, keeps)?]))
}

fn count_nonzero(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axes = axes_of(c.ints(0)?, x.rank())?;
    let test = Tensor::empty(&x.shape, Dtype::BOOL, x.place)?;
    let inputs = [x.into(), Number::Int(0).into()];
    run(c"not_equal", &inputs, x.dtype, Gives::Bool, &test, 0.0)?;
    let counts = Tensor::empty(&x.shape, Dtype::I64, x.place)?;
    cast(&test, &counts)?;
    Ok(tensors([reduced(c"sum", &counts, &axes, false)?]))
}

fn aminmax(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let axes = if c.has(0) {
        axes_of(&[axis_of(c.int(0)?, x.rank())? as i64], x.rank())?
    } else {
        axes_of(&[], x.rank())?
    };
    let keeps = c.flag_or(1, false)?;
    let shape = reduced_shape(&x.shape, &axes, keeps);
    for (place, operation) in [(1, c"min"), (2, c"max")] {
        let out = c.tensor(place)?.resized(&shape)?;
        reduce(operation, x, &axes, keeps, (&out, x.dtype), 0.0)?;
    }
    written()
}

/// The norm of order 2 over axes.
fn norm(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    check_float(c, x)?;
    if c.real_or(0, 2.0)? != 2.0 {
        return Err(Failure::no_kernel(
            "norms of another order have no kernel here",
        ));
    }
    let axes = axes_of(c.ints(1)?, x.rank())?;
    let keeps = c.flag_or(2, false)?;
    let out = c.last()?.resized(&reduced_shape(&x.shape, &axes, keeps))?;
    let s = steps(x);
    let squares = s.made(c"square", &[x.into()])?;
    let sum = reduced(c"sum", &squares, &axes, keeps)?;
    s.into(c"sqrt", &[(&sum).into()], &out)?;
    written()
}

fn trace(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    if x.rank() != 2 {
        return Err(Failure::refused("trace: expected a matrix"));
    }
    let count = x.shape[0].min(x.shape[1]);
    let diagonal = x.with_layout(
        Dims::from_slice(&[count]),
        Dims::from_slice(&[x.strides[0] + x.strides[1]]),
    );
    let dtype = if x.dtype.is_integral() {
        Dtype::I64
    } else {
        x.dtype
    };
    let wide = Tensor::empty(&diagonal.shape, dtype, x.place)?;
    cast(&diagonal, &wide)?;
    Ok(tensors([reduced(c"sum", &wide, &[0], false)?]))
}

/// Elements by their places in row-major order.
fn take(c: &Call) -> Outcome<Results> {
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    if index.dtype != Dtype::I64 {
        return Err(Failure::refused("take(): Expected a long tensor for index"));
    }
    let made = Tensor::empty(&index.shape, x.dtype, x.place)?;
    if made.is_empty() {
        return Ok(tensors([made]));
    }
    let dense = contiguous(x)?;
    let flat = dense.with_layout(Dims::from_slice(&[x.len()]), Dims::from_slice(&[1]));
    cast(&*pick(&flat, &[0], &[index])?, &made)?;
    Ok(tensors([made]))
}

/// beta self + alpha times the sum of the products of a batch, which is one product of longer rows.
fn addbmm(c: &Call) -> Outcome<Results> {
    let (x, a, b) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let fits =
        a.rank() == 3 && b.rank() == 3 && a.shape[2] == b.shape[1] && a.shape[0] == b.shape[0];
    if !fits || !a.dtype.is_float() || a.dtype != b.dtype {
        return Err(Failure::no_kernel(
            "such products of batches have no kernel",
        ));
    }
    let rows = contiguous(&a.permuted(&[1, 0, 2]))?;
    let columns = contiguous(b)?;
    let depth = a.shape[0] * a.shape[2];
    let shape = [a.shape[1], b.shape[2]];
    let flat = |view: &View, rows: i64, columns: i64| {
        view.with_layout(
            Dims::from_slice(&[rows, columns]),
            Dims::from_slice(&[columns, 1]),
        )
    };
    let sum = Tensor::empty(&shape, a.dtype, a.place)?;
    let beta = c.real_or(0, 1.0)?;
    if beta != 0.0 {
        cast(&x.expanded(&shape)?, &sum)?;
    }
    let (left, right) = (
        flat(&rows, shape[0], depth),
        flat(&columns, depth, shape[1]),
    );
    product(&left, &right, &sum, (c.real_or(1, 1.0)?, beta))?;
    Ok(tensors([sum]))
}

fn vdot(c: &Call) -> Outcome<Results> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    check_float(c, a)?;
    let both = [a.into(), b.into()];
    if a.rank() != 1 || a.shape != b.shape || a.dtype != b.dtype {
        return Err(Failure::refused(
            "1D tensors of one size and dtype are expected",
        ));
    }
    debug_assert_eq!(broadcast_shape(&both)?, a.shape);
    let made = Tensor::empty(&[], a.dtype, a.place)?;
    let (row, column) = (a.with_axis(0), b.with_axis(1));
    product(&row, &column, &made.with_axis(0).with_axis(0), (1.0, 0.0))?;
    Ok(tensors([made]))
}
