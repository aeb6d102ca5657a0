//! Functions of several tensors and numbers: arithmetic, comparisons, choices, conversions to a value.

use std::ffi::CStr;

use super::elementwise::write;
use super::table;
use crate::call::{Call, Results, tensors, written};
use crate::compute::{Gives, Input, Number, Steps, broadcast_shape, cast, result_type, run};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::Tensor;

table! {
    c"aten::add.out" => |c| scaled(c, c"add", 1.0),
    c"aten::sub.out" => |c| scaled(c, c"subtract", -1.0),
    c"aten::mul.out" => |c| binary(c, c"multiply"),
    c"aten::div.out" => |c| quotient(c, ""),
    c"aten::div.out_mode" => |c| quotient(c, c.text(0)?),
    c"aten::floor_divide.out" => |c| binary(c, c"floor_divide"),
    c"aten::floor_divide_.Tensor" => |c| in_place(c, c"floor_divide"),
    c"aten::floor_divide" => |c| new_binary(c, c"floor_divide"),
    c"aten::remainder.Tensor_out" => |c| binary(c, c"remainder"),
    c"aten::fmod.Tensor_out" => |c| binary(c, c"fmod"),
    c"aten::maximum.out" => |c| binary(c, c"maximum"),
    c"aten::minimum.out" => |c| binary(c, c"minimum"),
    c"aten::atan2.out" => |c| float_binary(c, c"atan2"),
    c"aten::hypot.out" => |c| float_binary(c, c"hypot"),
    c"aten::copysign.out" => |c| float_binary(c, c"copysign"),
    c"aten::logaddexp.out" => |c| float_binary(c, c"logaddexp"),
    c"aten::nextafter.out" => |c| binary(c, c"nextafter"),
    c"aten::bitwise_and.Tensor_out" => |c| binary(c, c"bitwise_and"),
    c"aten::bitwise_or.Tensor_out" => |c| binary(c, c"bitwise_or"),
    c"aten::bitwise_xor.Tensor_out" => |c| binary(c, c"bitwise_xor"),
    c"aten::bitwise_left_shift.Tensor_out" => |c| binary(c, c"left_shift"),
    c"aten::bitwise_right_shift.Tensor_out" => |c| binary(c, c"right_shift"),
    c"aten::logical_and.out" => |c| compare(c, c"logical_and"),
    c"aten::logical_or.out" => |c| compare(c, c"logical_or"),
    c"aten::logical_xor.out" => |c| compare(c, c"logical_xor"),
    c"aten::eq.Tensor_out" => |c| compare(c, c"equal"),
    c"aten::eq.Scalar_out" => |c| compare_number(c, c"equal"),
    c"aten::ne.Tensor_out" => |c| compare(c, c"not_equal"),
    c"aten::ne.Scalar_out" => |c| compare_number(c, c"not_equal"),
    c"aten::lt.Tensor_out" => |c| compare(c, c"less"),
    c"aten::lt.Scalar_out" => |c| compare_number(c, c"less"),
    c"aten::le.Tensor_out" => |c| compare(c, c"less_equal"),
    c"aten::le.Scalar_out" => |c| compare_number(c, c"less_equal"),
    c"aten::gt.Tensor_out" => |c| compare(c, c"greater"),
    c"aten::gt.Scalar_out" => |c| compare_number(c, c"greater"),
    c"aten::ge.Tensor_out" => |c| compare(c, c"greater_equal"),
    c"aten::ge.Scalar_out" => |c| compare_number(c, c"greater_equal"),
    c"aten::pow.Tensor_Tensor_out" => |c| binary(c, c"power"),
    c"aten::pow.Tensor_Scalar_out" => power_number,
    c"aten::pow.Scalar_out" => |c| {
        let inputs = [c.number(0)?.into(), c.tensor(0)?.into()];
        of_inputs(c, c"power", &inputs)
    },
    c"aten::clamp.out" => clamp_numbers,
    c"aten::clamp_min.out" => |c| of_inputs(c, c"maximum", &[c.tensor(0)?.into(), c.number(0)?.into()]),
    c"aten::clamp_max.out" => |c| of_inputs(c, c"minimum", &[c.tensor(0)?.into(), c.number(0)?.into()]),
    c"aten::clamp.Tensor_out" => clamp_tensors,
    c"aten::clamp_min.Tensor_out" => |c| binary(c, c"maximum"),
    c"aten::clamp_max.Tensor_out" => |c| binary(c, c"minimum"),
    c"aten::lerp.Scalar_out" => lerp_number,
    c"aten::lerp.Tensor_out" => lerp_tensor,
    c"aten::addcmul.out" => |c| added(c, c"multiply"),
    c"aten::addcdiv.out" => |c| added(c, c"divide"),
    c"aten::where.self" => where_new,
    c"aten::where.self_out" => where_out,
    c"aten::fill_.Scalar" => |c| { cast(c.number(0)?, c.tensor(0)?)?; written() },
    c"aten::fill_.Tensor" => fill_tensor,
    c"aten::zero_" => |c| { cast(Number::Int(0), c.tensor(0)?)?; written() },
    c"aten::masked_fill_.Scalar" => |c| masked_fill(c, c.number(0)?.into()),
    c"aten::masked_fill_.Tensor" => |c| masked_fill(c, c.tensor(2)?.into()),
}

fn of_inputs(c: &Call, operation: &CStr, inputs: &[Input<'_>]) -> Outcome<Results> {
    let common = result_type(inputs, c.last()?.dtype);
    write(c, operation, inputs, common, Gives::Same, 0.0)
}

fn pair(c: &Call) -> Outcome<[Input<'_>; 2]> {
    Ok([c.tensor(0)?.into(), c.tensor(1)?.into()])
}

fn binary(c: &Call, operation: &CStr) -> Outcome<Results> {
    of_inputs(c, operation, &pair(c)?)
}

fn in_place(c: &Call, operation: &CStr) -> Outcome<Results> {
    let (inputs, out) = (pair(c)?, c.tensor(0)?);
    let common = result_type(&inputs, out.dtype);
    run(operation, &inputs, common, Gives::Same, out, 0.0)?;
    written()
}

fn new_binary(c: &Call, operation: &CStr) -> Outcome<Results> {
    let inputs = pair(c)?;
    let common = result_type(&inputs, Dtype::F32);
    let made = Tensor::empty(&broadcast_shape(&inputs)?, common, c.place()?)?;
    run(operation, &inputs, common, Gives::Same, &made, 0.0)?;
    Ok(tensors([made]))
}

/// The dtype in which functions of real numbers meet: that of new floats where all are integers.
fn float_type(inputs: &[Input<'_>], out: Dtype) -> Dtype {
    let common = result_type(inputs, out);
    if !common.is_integral() {
        common
    } else if out.is_integral() {
        Dtype::F32
    } else {
        out
    }
}

fn float_binary(c: &Call, operation: &CStr) -> Outcome<Results> {
    let inputs = pair(c)?;
    let common = float_type(&inputs, c.last()?.dtype);
    write(c, operation, &inputs, common, Gives::Same, 0.0)
}

fn compare(c: &Call, operation: &CStr) -> Outcome<Results> {
    let inputs = pair(c)?;
    let common = result_type(&inputs, Dtype::F32);
    write(c, operation, &inputs, common, Gives::Bool, 0.0)
}

fn compare_number(c: &Call, operation: &CStr) -> Outcome<Results> {
    let inputs = [c.tensor(0)?.into(), c.number(0)?.into()];
    let common = result_type(&inputs, Dtype::F32);
    write(c, operation, &inputs, common, Gives::Bool, 0.0)
}

/// a + alpha b, or a - alpha b.
fn scaled(c: &Call, operation: &CStr, sign: f64) -> Outcome<Results> {
    let inputs = pair(c)?;
    let alpha = if c.has(0) {
        c.number(0)?
    } else {
        Number::Int(1)
    };
    let common = result_type(&inputs, c.last()?.dtype);
    if alpha.is_one() {
        return write(c, operation, &inputs, common, Gives::Same, 0.0);
    }
    if common.is_float() {
        let factors = [1.0.into(), (sign * alpha.real()).into()];
        let inputs = [inputs[0], inputs[1], factors[0], factors[1]];
        return write(c, c"linear_combination", &inputs, common, Gives::Same, 0.0);
    }
    if common.is_integral() && matches!(alpha, Number::Real(_) | Number::Complex(..)) {
        return Err(Failure::refused(
            "For integral input tensors, argument alpha must not be a floating point number.",
        ));
    }
    let steps = Steps {
        dtype: common,
        place: c.place()?,
    };
    let product = steps.made(c"multiply", &[inputs[1], alpha.into()])?;
    let inputs = [inputs[0], (&product).into()];
    write(c, operation, &inputs, common, Gives::Same, 0.0)
}

fn quotient(c: &Call, mode: &str) -> Outcome<Results> {
    let inputs = pair(c)?;
    let common = result_type(&inputs, c.last()?.dtype);
    match mode {
        "" => {
            let common = float_type(&inputs, c.last()?.dtype);
            write(c, c"divide", &inputs, common, Gives::Same, 0.0)
        }
        "floor" => write(c, c"floor_divide", &inputs, common, Gives::Same, 0.0),
        "trunc" => {
            let steps = Steps {
                dtype: common.wide(),
                place: c.place()?,
            };
            if common.is_float() {
                let exact = steps.made(c"divide", &inputs)?;
                return write(
                    c,
                    c"trunc",
                    &[(&exact).into()],
                    steps.dtype,
                    Gives::Same,
                    0.0,
                );
            }
            // What is left of the division goes first, so that it comes out even.
            let rest = steps.made(c"fmod", &inputs)?;
            let even = steps.made(c"subtract", &[inputs[0], (&rest).into()])?;
            let inputs = [(&even).into(), inputs[1]];
            write(c, c"floor_divide", &inputs, common, Gives::Same, 0.0)
        }
        other => Err(Failure::refused(format!(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{other}'"
        ))),
    }
}

fn power_number(c: &Call) -> Outcome<Results> {
    let (x, exponent) = (c.tensor(0)?, c.number(0)?);
    let inputs = [x.into(), exponent.into()];
    let common = result_type(&inputs, c.last()?.dtype);
    let one = [x.into()];
    if common.is_float() {
        let short = match exponent.real() {
            2.0 => Some(c"square"),
            0.5 => Some(c"sqrt"),
            1.0 => Some(c"identity"),
            -1.0 => Some(c"reciprocal"),
            _ => None,
        };
        if let Some(operation) = short {
            return write(c, operation, &one, common, Gives::Same, 0.0);
        }
    }
    if common.is_integral() && exponent.real() < 0.0 {
        return Err(Failure::refused(
            "Integers to negative integer powers are not allowed.",
        ));
    }
    write(c, c"power", &inputs, common, Gives::Same, 0.0)
}

fn clamp_numbers(c: &Call) -> Outcome<Results> {
    let x: Input<'_> = c.tensor(0)?.into();
    match (c.has(0), c.has(1)) {
        (true, true) => of_inputs(c, c"clip", &[x, c.number(0)?.into(), c.number(1)?.into()]),
        (true, false) => of_inputs(c, c"maximum", &[x, c.number(0)?.into()]),
        (false, true) => of_inputs(c, c"minimum", &[x, c.number(1)?.into()]),
        (false, false) => Err(Failure::refused(
            "torch.clamp: At least one of 'min' or 'max' must not be None",
        )),
    }
}

fn clamp_tensors(c: &Call) -> Outcome<Results> {
    let x: Input<'_> = c.tensor(0)?.into();
    match (c.optional(1), c.optional(2)) {
        (Some(low), Some(high)) => {
            let inputs = [x, low.into(), high.into()];
            let common = result_type(&inputs, c.last()?.dtype);
            let steps = Steps {
                dtype: common,
                place: c.place()?,
            };
            // `max` wins where it is below `min`, and NaN stays.
            let raised = steps.made(c"maximum", &inputs[..2])?;
            let inputs = [(&raised).into(), high.into()];
            write(c, c"minimum", &inputs, common, Gives::Same, 0.0)
        }
        (Some(low), None) => of_inputs(c, c"maximum", &[x, low.into()]),
        (None, Some(high)) => of_inputs(c, c"minimum", &[x, high.into()]),
        (None, None) => Err(Failure::refused(
            "torch.clamp: At least one of 'min' or 'max' must not be None",
        )),
    }
}

/// a + weight (b - a), from the nearer end.
fn lerp_number(c: &Call) -> Outcome<Results> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let weight = c.number(0)?;
    if matches!(weight, Number::Complex(..)) || !a.dtype.is_float() {
        return Err(Failure::no_kernel("lerp of complex numbers has no kernel"));
    }
    let weight = weight.real();
    let steps = Steps {
        dtype: result_type(&pair(c)?, a.dtype).wide(),
        place: c.place()?,
    };
    let way = steps.made(c"subtract", &[b.into(), a.into()])?;
    let (from, factor) = if weight.abs() < 0.5 {
        (a, weight)
    } else {
        (b, weight - 1.0)
    };
    let inputs = [from.into(), (&way).into(), 1.0.into(), factor.into()];
    write(
        c,
        c"linear_combination",
        &inputs,
        steps.dtype,
        Gives::Same,
        0.0,
    )
}

fn lerp_tensor(c: &Call) -> Outcome<Results> {
    let (a, b, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let steps = Steps {
        dtype: result_type(&pair(c)?, a.dtype).wide(),
        place: c.place()?,
    };
    let way = steps.made(c"subtract", &[b.into(), a.into()])?;
    let part = steps.made(c"multiply", &[(&way).into(), weight.into()])?;
    let inputs = [a.into(), (&part).into()];
    write(c, c"add", &inputs, steps.dtype, Gives::Same, 0.0)
}

/// self + value (a operation b).
fn added(c: &Call, operation: &CStr) -> Outcome<Results> {
    let (x, a, b) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let value = if c.has(0) {
        c.number(0)?
    } else {
        Number::Int(1)
    };
    let inputs = [x.into(), a.into(), b.into()];
    let common = result_type(&inputs, c.last()?.dtype);
    if operation == c"divide" && common.is_integral() {
        return Err(Failure::no_kernel("addcdiv of integers has no kernel"));
    }
    let steps = Steps {
        dtype: common.wide(),
        place: c.place()?,
    };
    let part = steps.made(operation, &inputs[1..])?;
    if common.is_float() {
        let inputs = [inputs[0], (&part).into(), 1.0.into(), value.real().into()];
        return write(
            c,
            c"linear_combination",
            &inputs,
            steps.dtype,
            Gives::Same,
            0.0,
        );
    }
    let part = steps.made(c"multiply", &[(&part).into(), value.into()])?;
    let inputs = [inputs[0], (&part).into()];
    write(c, c"add", &inputs, steps.dtype, Gives::Same, 0.0)
}

fn choice(c: &Call) -> Outcome<([Input<'_>; 3], Dtype)> {
    let (condition, a, b) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    if condition.dtype != Dtype::BOOL && condition.dtype != Dtype::U8 {
        return Err(Failure::refused(
            "where expected condition to be a boolean tensor",
        ));
    }
    let inputs = [condition.into(), a.into(), b.into()];
    Ok((inputs, result_type(&inputs[1..], Dtype::F32)))
}

fn where_new(c: &Call) -> Outcome<Results> {
    let (inputs, common) = choice(c)?;
    let made = Tensor::empty(&broadcast_shape(&inputs)?, common, c.place()?)?;
    run(c"where", &inputs, common, Gives::Same, &made, 0.0)?;
    Ok(tensors([made]))
}

fn where_out(c: &Call) -> Outcome<Results> {
    let (inputs, common) = choice(c)?;
    write(c, c"where", &inputs, common, Gives::Same, 0.0)
}

fn fill_tensor(c: &Call) -> Outcome<Results> {
    let (x, value) = (c.tensor(0)?, c.tensor(1)?);
    if value.rank() != 0 {
        return Err(Failure::refused(format!(
            "fill_ only supports 0-dimension value tensor but got tensor with {} dimensions.",
            value.rank()
        )));
    }
    cast(value, x)?;
    written()
}

fn masked_fill(c: &Call, value: Input<'_>) -> Outcome<Results> {
    let (x, mask) = (c.tensor(0)?, c.tensor(1)?);
    if mask.dtype != Dtype::BOOL {
        return Err(Failure::refused("masked_fill_ only supports boolean masks"));
    }
    if let Input::View(view) = value
        && view.rank() != 0
    {
        return Err(Failure::refused(format!(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
            view.rank()
        )));
    }
    let inputs = [mask.into(), value, x.into()];
    run(c"where", &inputs, x.dtype, Gives::Same, x, 0.0)?;
    written()
}
