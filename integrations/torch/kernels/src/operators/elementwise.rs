//! Functions of one tensor, activations and their gradients.

use std::ffi::CStr;

use super::table;
use crate::call::{Call, Results, check_castable, tensors, written};
use crate::compute::{Gives, Input, Number, Steps, cast, result_type, run};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Tensor, View};

table! {
    c"aten::abs.out" => |c| absolute(c),
    c"aten::neg.out" => |c| same(c, c"negative"),
    c"aten::sgn.out" => |c| same(c, c"sign"),
    c"aten::sign.out" => |c| same(c, c"sign"),
    c"aten::floor.out" => |c| same(c, c"floor"),
    c"aten::ceil.out" => |c| same(c, c"ceil"),
    c"aten::trunc.out" => |c| same(c, c"trunc"),
    c"aten::round.out" => |c| same(c, c"rint"),
    c"aten::frac.out" => frac,
    c"aten::conj_physical.out" => |c| same(c, c"conj"),
    c"aten::bitwise_not.out" => |c| same(c, c"invert"),
    c"aten::logical_not.out" => |c| test(c, c"logical_not"),
    c"aten::isnan" => |c| new_test(c, c"isnan"),
    c"aten::isinf" => |c| new_test(c, c"isinf"),
    c"aten::isneginf.out" => |c| infinite(c, f64::NEG_INFINITY),
    c"aten::isposinf.out" => |c| infinite(c, f64::INFINITY),
    c"aten::signbit.out" => |c| test(c, c"signbit"),
    c"aten::reciprocal.out" => |c| float(c, c"reciprocal"),
    c"aten::sqrt.out" => |c| float(c, c"sqrt"),
    c"aten::rsqrt.out" => rsqrt,
    c"aten::exp.out" => |c| float(c, c"exp"),
    c"aten::exp2.out" => |c| float(c, c"exp2"),
    c"aten::expm1.out" => |c| float(c, c"expm1"),
    c"aten::log.out" => |c| float(c, c"log"),
    c"aten::log1p.out" => |c| float(c, c"log1p"),
    c"aten::log2.out" => |c| float(c, c"log2"),
    c"aten::log10.out" => |c| float(c, c"log10"),
    c"aten::erf.out" => |c| float(c, c"erf"),
    c"aten::tanh.out" => |c| float(c, c"tanh"),
    c"aten::sigmoid.out" => |c| float(c, c"sigmoid"),
    c"aten::sin.out" => |c| float(c, c"sin"),
    c"aten::cos.out" => |c| float(c, c"cos"),
    c"aten::tan.out" => |c| float(c, c"tan"),
    c"aten::asin.out" => |c| float(c, c"asin"),
    c"aten::acos.out" => |c| float(c, c"acos"),
    c"aten::atan.out" => |c| float(c, c"atan"),
    c"aten::sinh.out" => |c| float(c, c"sinh"),
    c"aten::cosh.out" => |c| float(c, c"cosh"),
    c"aten::asinh.out" => |c| float(c, c"asinh"),
    c"aten::acosh.out" => |c| float(c, c"acosh"),
    c"aten::atanh.out" => |c| float(c, c"atanh"),
    c"aten::relu" => relu_new,
    c"aten::relu_" => |c| same_in_place(c, c"relu"),
    c"aten::silu.out" => |c| float(c, c"silu"),
    c"aten::silu_backward.grad_input" => |c| gradient(c, c"silu_gradient", 0.0),
    c"aten::silu_backward" => |c| new_gradient(c, c"silu_gradient"),
    c"aten::gelu.out" => |c| float(c, gelu_name(c, [c"gelu", c"gelu_tanh"])?),
    c"aten::gelu_backward.grad_input" => |c| {
        gradient(c, gelu_name(c, [c"gelu_gradient", c"gelu_tanh_gradient"])?, 0.0)
    },
    c"aten::sigmoid_backward.grad_input" => |c| gradient(c, c"sigmoid_gradient", 0.0),
    c"aten::tanh_backward.grad_input" => |c| gradient(c, c"tanh_gradient", 0.0),
    c"aten::threshold.out" => threshold,
    c"aten::threshold_backward.grad_input" => threshold_backward,
    c"aten::leaky_relu.out" => |c| activation(c, c"leaky_relu", c.real(0)?),
    c"aten::leaky_relu_backward.grad_input" => leaky_relu_backward,
    c"aten::elu.out" => elu,
    c"aten::elu_backward.grad_input" => elu_backward,
    c"aten::softplus.out" => softplus,
    c"aten::softplus_backward.grad_input" => softplus_backward,
    c"aten::hardtanh" => hardtanh_new,
    c"aten::hardtanh.out" => hardtanh,
    c"aten::hardtanh_" => hardtanh,
    c"aten::hardtanh_backward.grad_input" => hardtanh_backward,
    c"aten::hardtanh_backward" => hardtanh_backward_new,
    c"aten::hardswish" => hardswish_new,
    c"aten::hardswish.out" => hardswish,
    c"aten::hardswish_" => hardswish,
    c"aten::hardsigmoid.out" => hardsigmoid,
    c"aten::mish.out" => mish,
}

/// Writes `operation(inputs...)` to the last tensor, whose shape is set.
pub fn write(
    c: &Call,
    operation: &CStr,
    inputs: &[Input<'_>],
    common: Dtype,
    gives: Gives,
    alpha: f64,
) -> Outcome<Results> {
    let out = c.last()?;
    let out = out.resized(&crate::compute::broadcast_shape(inputs)?)?;
    if gives == Gives::Same {
        check_castable(common, &out)?;
    }
    run(operation, inputs, common, gives, &out, alpha)?;
    written()
}

/// The dtype in which functions of real numbers take a tensor.
pub fn float_of(x: &View, out: &View) -> Dtype {
    if !x.dtype.is_integral() {
        x.dtype
    } else if out.dtype.is_integral() {
        Dtype::F32
    } else {
        out.dtype
    }
}

fn same(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    write(c, operation, &[x.into()], x.dtype, Gives::Same, 0.0)
}

fn same_in_place(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    run(operation, &[x.into()], x.dtype, Gives::Same, x, 0.0)?;
    written()
}

fn float(c: &Call, operation: &CStr) -> Outcome<Results> {
    activation(c, operation, 0.0)
}

fn activation(c: &Call, operation: &CStr, alpha: f64) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let common = float_of(x, c.last()?);
    write(c, operation, &[x.into()], common, Gives::Same, alpha)
}

fn test(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    write(c, operation, &[x.into()], x.dtype, Gives::Bool, 0.0)
}

fn new_test(c: &Call, operation: &CStr) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let made = Tensor::empty_like(x, Dtype::BOOL)?;
    run(operation, &[x.into()], x.dtype, Gives::Bool, &made, 0.0)?;
    Ok(tensors([made]))
}

fn absolute(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    if x.dtype.is_complex() {
        return write(c, c"absolute", &[x.into()], x.dtype, Gives::Part, 0.0);
    }
    same(c, c"absolute")
}

fn infinite(c: &Call, value: f64) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let common = x.dtype.promoted(Dtype::F32);
    let inputs = [x.into(), value.into()];
    write(c, c"equal", &inputs, common, Gives::Bool, 0.0)
}

fn steps(x: &View, dtype: Dtype) -> Steps {
    Steps {
        dtype: dtype.wide(),
        place: x.place,
    }
}

fn frac(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let whole = steps(x, x.dtype).made(c"trunc", &[x.into()])?;
    let inputs = [x.into(), (&whole).into()];
    write(c, c"subtract", &inputs, x.dtype.wide(), Gives::Same, 0.0)
}

fn rsqrt(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let common = float_of(x, c.last()?);
    let root = steps(x, common).made(c"sqrt", &[x.into()])?;
    let common = common.wide();
    write(
        c,
        c"reciprocal",
        &[(&root).into()],
        common,
        Gives::Same,
        0.0,
    )
}

fn relu_new(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    if x.dtype == Dtype::BOOL {
        return Err(Failure::refused("Boolean inputs not supported for relu"));
    }
    let made = Tensor::empty_like(x, x.dtype)?;
    run(c"relu", &[x.into()], x.dtype, Gives::Same, &made, 0.0)?;
    Ok(tensors([made]))
}

fn gelu_name(c: &Call, names: [&'static CStr; 2]) -> Outcome<&'static CStr> {
    match c.text(0)? {
        "none" | "" => Ok(names[0]),
        "tanh" => Ok(names[1]),
        _ => Err(Failure::refused(
            "approximate argument must be either none or tanh.",
        )),
    }
}

/// `operation(x, gradient)` for the arguments (gradient, x).
fn gradient(c: &Call, operation: &CStr, alpha: f64) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let inputs = [x.into(), gradient.into()];
    let common = result_type(&inputs, Dtype::F32);
    write(c, operation, &inputs, common, Gives::Same, alpha)
}

fn new_gradient(c: &Call, operation: &CStr) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let inputs = [x.into(), gradient.into()];
    let common = result_type(&inputs, Dtype::F32);
    let made = Tensor::empty(
        &crate::compute::broadcast_shape(&inputs)?,
        common,
        c.place()?,
    )?;
    run(operation, &inputs, common, Gives::Same, &made, 0.0)?;
    Ok(tensors([made]))
}

fn threshold(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let below = steps(x, x.dtype);
    let below = Steps {
        dtype: x.dtype,
        ..below
    }
    .test(c"less_equal", &[x.into(), c.number(0)?.into()])?;
    let inputs = [(&below).into(), c.number(1)?.into(), x.into()];
    write(c, c"where", &inputs, x.dtype, Gives::Same, 0.0)
}

fn threshold_backward(c: &Call) -> Outcome<Results> {
    let (gradient_of, x) = (c.tensor(0)?, c.tensor(1)?);
    if c.real(0)? == 0.0 && x.dtype.is_float() {
        return gradient(c, c"relu_gradient", 0.0);
    }
    let test = Steps {
        dtype: x.dtype,
        place: x.place,
    };
    let below = test.test(c"less_equal", &[x.into(), c.number(0)?.into()])?;
    let inputs = [(&below).into(), Number::Int(0).into(), gradient_of.into()];
    write(c, c"where", &inputs, gradient_of.dtype, Gives::Same, 0.0)
}

fn leaky_relu_backward(c: &Call) -> Outcome<Results> {
    let slope = c.real(0)?;
    if c.flag(1)? && slope < 0.0 {
        return Err(Failure::refused(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported.",
        ));
    }
    gradient(c, c"leaky_relu_gradient", slope)
}

/// `scale x` where x is positive, else `scale alpha (e^(input_scale x) - 1)`.
fn elu(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let (alpha, scale, input_scale) = (c.real_or(0, 1.0)?, c.real_or(1, 1.0)?, c.real_or(2, 1.0)?);
    if scale == 1.0 && input_scale == 1.0 {
        return activation(c, c"elu", alpha);
    }
    let s = steps(x, x.dtype);
    let scaled = s.made(c"multiply", &[x.into(), input_scale.into()])?;
    let bent = s.made(c"expm1", &[(&scaled).into()])?;
    let bent = s.made(c"multiply", &[(&bent).into(), (alpha * scale).into()])?;
    let straight = s.made(c"multiply", &[x.into(), scale.into()])?;
    let is_bent = s.test(c"less_equal", &[x.into(), 0.0.into()])?;
    let inputs = [(&is_bent).into(), (&bent).into(), (&straight).into()];
    write(c, c"where", &inputs, s.dtype, Gives::Same, 0.0)
}

fn elu_backward(c: &Call) -> Outcome<Results> {
    let (alpha, scale, input_scale) = (c.real(0)?, c.real(1)?, c.real(2)?);
    if !c.flag(3)? && scale == 1.0 && input_scale == 1.0 {
        return gradient(c, c"elu_gradient", alpha);
    }
    let (gradient, given) = (c.tensor(0)?, c.tensor(1)?);
    let s = steps(given, given.dtype);
    // Of the result y the slope below zero is input_scale (y + alpha scale), of x it is input_scale alpha scale e^(input_scale x).
    let slope = if c.flag(3)? {
        let sum = s.made(c"add", &[given.into(), (alpha * scale).into()])?;
        s.made(c"multiply", &[(&sum).into(), input_scale.into()])?
    } else {
        let scaled = s.made(c"multiply", &[given.into(), input_scale.into()])?;
        let power = s.made(c"exp", &[(&scaled).into()])?;
        s.made(
            c"multiply",
            &[(&power).into(), (alpha * scale * input_scale).into()],
        )?
    };
    let is_bent = s.test(c"less_equal", &[given.into(), 0.0.into()])?;
    let slope = s.made(
        c"where",
        &[(&is_bent).into(), (&slope).into(), scale.into()],
    )?;
    let inputs = [(&slope).into(), gradient.into()];
    write(c, c"multiply", &inputs, s.dtype, Gives::Same, 0.0)
}

/// log(1 + e^(beta x)) / beta, and x where beta x is beyond the threshold.
fn softplus(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let (beta, limit) = (c.real_or(0, 1.0)?, c.real_or(1, 20.0)?);
    let s = steps(x, x.dtype);
    let scaled = s.made(c"multiply", &[x.into(), beta.into()])?;
    let bent = s.made(c"softplus", &[(&scaled).into()])?;
    let bent = s.made(c"divide", &[(&bent).into(), beta.into()])?;
    let is_straight = s.test(c"greater", &[(&scaled).into(), limit.into()])?;
    let inputs = [(&is_straight).into(), x.into(), (&bent).into()];
    write(c, c"where", &inputs, s.dtype, Gives::Same, 0.0)
}

fn softplus_backward(c: &Call) -> Outcome<Results> {
    let (gradient, x) = (c.tensor(0)?, c.tensor(1)?);
    let (beta, limit) = (c.real(0)?, c.real(1)?);
    let s = steps(x, x.dtype);
    let scaled = s.made(c"multiply", &[x.into(), beta.into()])?;
    let bent = s.made(c"softplus_gradient", &[(&scaled).into(), gradient.into()])?;
    let is_straight = s.test(c"greater", &[(&scaled).into(), limit.into()])?;
    let inputs = [(&is_straight).into(), gradient.into(), (&bent).into()];
    write(c, c"where", &inputs, s.dtype, Gives::Same, 0.0)
}

fn limits(c: &Call) -> Outcome<(Number, Number)> {
    let limit = |place, default| {
        if c.has(place) {
            c.number(place)
        } else {
            Ok(Number::Int(default))
        }
    };
    Ok((limit(0, -1)?, limit(1, 1)?))
}

fn hardtanh(c: &Call) -> Outcome<Results> {
    let (x, (low, high)) = (c.tensor(0)?, limits(c)?);
    let inputs = [x.into(), low.into(), high.into()];
    write(c, c"clip", &inputs, x.dtype, Gives::Same, 0.0)
}

fn hardtanh_new(c: &Call) -> Outcome<Results> {
    let (x, (low, high)) = (c.tensor(0)?, limits(c)?);
    let made = Tensor::empty_like(x, x.dtype)?;
    let inputs = [x.into(), low.into(), high.into()];
    run(c"clip", &inputs, x.dtype, Gives::Same, &made, 0.0)?;
    Ok(tensors([made]))
}

fn hardtanh_gradient(c: &Call, out: &View) -> Outcome {
    let (gradient, x, (low, high)) = (c.tensor(0)?, c.tensor(1)?, limits(c)?);
    let s = Steps {
        dtype: x.dtype,
        place: x.place,
    };
    let above = s.test(c"greater", &[x.into(), low.into()])?;
    let below = s.test(c"less", &[x.into(), high.into()])?;
    let truth = Steps {
        dtype: Dtype::BOOL,
        ..s
    };
    let inside = truth.test(c"logical_and", &[(&above).into(), (&below).into()])?;
    let inputs = [(&inside).into(), gradient.into(), Number::Int(0).into()];
    run(c"where", &inputs, gradient.dtype, Gives::Same, out, 0.0)
}

fn hardtanh_backward(c: &Call) -> Outcome<Results> {
    let out = c.last()?.resized(&c.tensor(0)?.shape)?;
    hardtanh_gradient(c, &out)?;
    written()
}

fn hardtanh_backward_new(c: &Call) -> Outcome<Results> {
    let gradient = c.tensor(0)?;
    let made = Tensor::empty_like(gradient, gradient.dtype)?;
    hardtanh_gradient(c, &made)?;
    Ok(tensors([made]))
}

/// min(max(x + 3, 0), 6) / 6.
fn hard_part(x: &View) -> Outcome<Tensor> {
    let s = steps(x, x.dtype);
    let moved = s.made(c"add", &[x.into(), 3.0.into()])?;
    let cut = s.made(c"clip", &[(&moved).into(), 0.0.into(), 6.0.into()])?;
    s.made(c"divide", &[(&cut).into(), 6.0.into()])
}

fn hardswish(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let part = hard_part(x)?;
    let inputs = [x.into(), (&part).into()];
    write(c, c"multiply", &inputs, x.dtype.wide(), Gives::Same, 0.0)
}

fn hardswish_new(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let part = hard_part(x)?;
    let made = Tensor::empty_like(x, x.dtype)?;
    let inputs = [x.into(), (&part).into()];
    run(
        c"multiply",
        &inputs,
        x.dtype.wide(),
        Gives::Same,
        &made,
        0.0,
    )?;
    Ok(tensors([made]))
}

fn hardsigmoid(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let part = hard_part(x)?;
    let out = c.last()?.resized(&x.shape)?;
    cast(&part, &out)?;
    written()
}

/// x tanh(softplus(x)).
fn mish(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let s = steps(x, x.dtype);
    let soft = s.made(c"softplus", &[x.into()])?;
    let part = s.made(c"tanh", &[(&soft).into()])?;
    let inputs = [x.into(), (&part).into()];
    write(c, c"multiply", &inputs, s.dtype, Gives::Same, 0.0)
}
