//! Functions of one, two and three tensors, element by element, with TensorFlow's broadcasting.

use std::ffi::CStr;

use super::{
    ALL_INTEGERS, ANY, ANY_AND_INT32, FLOATS, FLOATS_AND_I64, INTEGERS, NUMBERS, NUMBERS_AND_INT32,
    SIGNED, SIGNED_AND_INT32, T, row,
};
use crate::call::Call;
use crate::compute::{Steps, cast, launch};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Tensor, View, broadcast, shown};

pub const ROWS: &[Row] = &[
    row(c"Neg", &[(T, SIGNED)], &[], |_| unary(c"negative")),
    row(c"Abs", &[(T, SIGNED)], &[], |_| unary(c"absolute")),
    row(c"Sign", &[(T, SIGNED)], &[], |_| unary(c"sign")),
    row(c"Square", &[(T, NUMBERS)], &[], |_| unary(c"square")),
    row(c"Reciprocal", &[(T, FLOATS)], &[], |_| unary(c"reciprocal")),
    row(c"Inv", &[(T, FLOATS)], &[], |_| unary(c"reciprocal")),
    row(c"Sqrt", &[(T, FLOATS)], &[], |_| unary(c"sqrt")),
    row(c"Exp", &[(T, FLOATS)], &[], |_| unary(c"exp")),
    row(c"Expm1", &[(T, FLOATS)], &[], |_| unary(c"expm1")),
    row(c"Log", &[(T, FLOATS)], &[], |_| unary(c"log")),
    row(c"Log1p", &[(T, FLOATS)], &[], |_| unary(c"log1p")),
    row(c"Erf", &[(T, FLOATS)], &[], |_| unary(c"erf")),
    row(c"Tanh", &[(T, FLOATS)], &[], |_| unary(c"tanh")),
    row(c"Sigmoid", &[(T, FLOATS)], &[], |_| unary(c"sigmoid")),
    row(c"Sin", &[(T, FLOATS)], &[], |_| unary(c"sin")),
    row(c"Cos", &[(T, FLOATS)], &[], |_| unary(c"cos")),
    row(c"Tan", &[(T, FLOATS)], &[], |_| unary(c"tan")),
    row(c"Asin", &[(T, FLOATS)], &[], |_| unary(c"asin")),
    row(c"Acos", &[(T, FLOATS)], &[], |_| unary(c"acos")),
    row(c"Atan", &[(T, FLOATS)], &[], |_| unary(c"atan")),
    row(c"Sinh", &[(T, FLOATS)], &[], |_| unary(c"sinh")),
    row(c"Cosh", &[(T, FLOATS)], &[], |_| unary(c"cosh")),
    row(c"Asinh", &[(T, FLOATS)], &[], |_| unary(c"asinh")),
    row(c"Acosh", &[(T, FLOATS)], &[], |_| unary(c"acosh")),
    row(c"Atanh", &[(T, FLOATS)], &[], |_| unary(c"atanh")),
    row(c"Floor", &[(T, FLOATS)], &[], |_| unary(c"floor")),
    row(c"Ceil", &[(T, FLOATS)], &[], |_| unary(c"ceil")),
    row(c"Rint", &[(T, FLOATS)], &[], |_| unary(c"rint")),
    row(c"Round", &[(T, FLOATS)], &[], |_| unary(c"rint")),
    row(c"Relu", &[(T, NUMBERS_AND_INT32)], &[], |_| unary(c"relu")),
    row(c"Elu", &[(T, FLOATS)], &[], |_| unary_with(c"elu", 1.0)),
    row(c"Softplus", &[(T, FLOATS)], &[], |_| unary(c"softplus")),
    row(c"Invert", &[(T, ALL_INTEGERS)], &[], |_| unary(c"invert")),
    row(c"LeakyRelu", &[(T, FLOATS)], &[], |a| {
        unary_with(c"leaky_relu", a.real(c"alpha")?)
    }),
    row(c"IsNan", &[(T, FLOATS)], &[], |_| test(c"isnan")),
    row(c"IsInf", &[(T, FLOATS)], &[], |_| test(c"isinf")),
    row(c"IsFinite", &[(T, FLOATS)], &[], |_| test(c"isfinite")),
    row(c"LogicalNot", &[], &[], |_| test(c"logical_not")),
    row(c"ZerosLike", &[(T, ANY)], &[], |_| constant(0)),
    row(c"OnesLike", &[(T, ANY)], &[], |_| constant(1)),
    row(c"Rsqrt", &[(T, FLOATS)], &[], |_| {
        formula(|s, [x], out| {
            let root = s.made(c"sqrt", &[x.into()])?;
            s.into(c"reciprocal", &[(&root).into()], out)
        })
    }),
    row(c"Erfc", &[(T, FLOATS)], &[], |_| formula(erfc)),
    row(c"Relu6", &[(T, NUMBERS_AND_INT32)], &[], |_| {
        plain(|c| {
            let x = c.input(0)?;
            let out = c.output_in_place(&[0], x.dtype, &x.shape)?;
            launch(
                c"clip",
                &[(&x).into(), 0_i64.into(), 6_i64.into()],
                &out,
                0.0,
            )
        })
    }),
    row(c"Selu", &[(T, FLOATS)], &[], |_| formula(selu)),
    row(c"Softsign", &[(T, FLOATS)], &[], |_| {
        formula(|s, [x], out| {
            let below = softsign_divisor(s, x)?;
            s.into(c"divide", &[x.into(), (&below).into()], out)
        })
    }),
    row(c"AddV2", &[(T, NUMBERS)], &[], |_| binary(c"add")),
    row(c"Add", &[(T, NUMBERS_OF_ADD)], &[], |_| binary(c"add")),
    row(c"Sub", &[(T, NUMBERS)], &[], |_| binary(c"subtract")),
    row(c"Mul", &[(T, NUMBERS)], &[], |_| binary(c"multiply")),
    row(c"RealDiv", &[(T, FLOATS)], &[], |_| binary(c"divide")),
    row(c"Div", &[(T, FLOATS)], &[], |_| binary(c"divide")),
    row(c"FloorDiv", &[(T, NUMBERS)], &[], |_| {
        binary(c"floor_divide")
    }),
    row(c"FloorMod", &[(T, NUMBERS)], &[], |_| binary(c"remainder")),
    row(c"Mod", &[(T, FLOATS_AND_I64)], &[], |_| binary(c"fmod")),
    row(c"TruncateMod", &[(T, FLOATS_AND_I64)], &[], |_| {
        binary(c"fmod")
    }),
    row(c"TruncateDiv", &[(T, INTEGERS)], &[], |_| {
        plain(truncated_quotient)
    }),
    row(c"Maximum", &[(T, NUMBERS)], &[], |_| binary(c"maximum")),
    row(c"Minimum", &[(T, NUMBERS)], &[], |_| binary(c"minimum")),
    row(c"Pow", &[(T, SIGNED_AND_INT32)], &[], |_| binary(c"power")),
    row(c"Atan2", &[(T, FLOATS)], &[], |_| binary(c"atan2")),
    row(c"BitwiseAnd", &[(T, ALL_INTEGERS)], &[], |_| {
        binary(c"bitwise_and")
    }),
    row(c"BitwiseOr", &[(T, ALL_INTEGERS)], &[], |_| {
        binary(c"bitwise_or")
    }),
    row(c"BitwiseXor", &[(T, ALL_INTEGERS)], &[], |_| {
        binary(c"bitwise_xor")
    }),
    row(c"LeftShift", &[(T, ALL_INTEGERS)], &[], |_| {
        binary(c"left_shift")
    }),
    row(c"RightShift", &[(T, ALL_INTEGERS)], &[], |_| {
        binary(c"right_shift")
    }),
    row(c"Equal", &[(T, ANY)], &[], |a| {
        equality(c"equal", a.flag(c"incompatible_shape_error")?)
    }),
    row(c"NotEqual", &[(T, ANY)], &[], |a| {
        equality(c"not_equal", a.flag(c"incompatible_shape_error")?)
    }),
    row(c"Less", &[(T, NUMBERS)], &[], |_| comparison(c"less")),
    row(c"LessEqual", &[(T, NUMBERS)], &[], |_| {
        comparison(c"less_equal")
    }),
    row(c"Greater", &[(T, NUMBERS)], &[], |_| comparison(c"greater")),
    row(c"GreaterEqual", &[(T, NUMBERS)], &[], |_| {
        comparison(c"greater_equal")
    }),
    row(c"LogicalAnd", &[], &[], |_| comparison(c"logical_and")),
    row(c"LogicalOr", &[], &[], |_| comparison(c"logical_or")),
    row(c"SquaredDifference", &[(T, FLOATS_AND_I64)], &[], |_| {
        formula(|s, [x, y], out| {
            let difference = s.made(c"subtract", &[x.into(), y.into()])?;
            s.into(c"square", &[(&difference).into()], out)
        })
    }),
    row(c"DivNoNan", &[(T, FLOATS)], &[], |_| {
        formula(|s, [x, y], out| unless_zero(s, y, &s.made(c"divide", &[x.into(), y.into()])?, out))
    }),
    row(c"MulNoNan", &[(T, FLOATS)], &[], |_| {
        formula(|s, [x, y], out| {
            unless_zero(s, y, &s.made(c"multiply", &[x.into(), y.into()])?, out)
        })
    }),
    row(c"Xdivy", &[(T, FLOATS)], &[], |_| {
        formula(|s, [x, y], out| unless_zero(s, x, &s.made(c"divide", &[x.into(), y.into()])?, out))
    }),
    row(c"Xlogy", &[(T, FLOATS)], &[], |_| {
        formula(|s, [x, y], out| {
            let logarithm = s.made(c"log", &[y.into()])?;
            unless_zero(
                s,
                x,
                &s.made(c"multiply", &[x.into(), (&logarithm).into()])?,
                out,
            )
        })
    }),
    row(c"Xlog1py", &[(T, FLOATS)], &[], |_| {
        formula(|s, [x, y], out| {
            let logarithm = s.made(c"log1p", &[y.into()])?;
            unless_zero(
                s,
                x,
                &s.made(c"multiply", &[x.into(), (&logarithm).into()])?,
                out,
            )
        })
    }),
    row(c"SqrtGrad", &[(T, FLOATS)], &[], |_| {
        formula(|s, [y, dy], out| {
            let half = s.made(c"multiply", &[dy.into(), 0.5.into()])?;
            s.into(c"divide", &[(&half).into(), y.into()], out)
        })
    }),
    row(c"RsqrtGrad", &[(T, FLOATS)], &[], |_| {
        formula(|s, [y, dy], out| {
            let cube = s.made(
                c"multiply",
                &[(&s.made(c"square", &[y.into()])?).into(), y.into()],
            )?;
            let scaled = s.made(c"multiply", &[dy.into(), (-0.5).into()])?;
            s.into(c"multiply", &[(&cube).into(), (&scaled).into()], out)
        })
    }),
    row(c"ReciprocalGrad", &[(T, FLOATS)], &[], |_| {
        formula(reciprocal_gradient)
    }),
    row(c"InvGrad", &[(T, FLOATS)], &[], |_| {
        formula(reciprocal_gradient)
    }),
    row(c"TanhGrad", &[(T, FLOATS)], &[], |_| {
        binary(c"tanh_gradient")
    }),
    row(c"SigmoidGrad", &[(T, FLOATS)], &[], |_| {
        binary(c"sigmoid_gradient")
    }),
    row(c"ReluGrad", &[(T, FLOATS)], &[], |_| {
        gradient(c"relu_gradient", 0.0)
    }),
    row(c"SoftplusGrad", &[(T, FLOATS)], &[], |_| {
        gradient(c"softplus_gradient", 0.0)
    }),
    row(c"LeakyReluGrad", &[(T, FLOATS)], &[], |a| {
        gradient(c"leaky_relu_gradient", a.real(c"alpha")?)
    }),
    row(c"Relu6Grad", &[(T, FLOATS)], &[], |_| {
        formula(|s, [dy, x], out| {
            let cut = s.made(c"clip", &[x.into(), 0.0.into(), 6.0.into()])?;
            let is_inside = s.test(c"equal", &[(&cut).into(), x.into()])?;
            let is_edge = s.test(c"equal", &[x.into(), 0.0.into()])?;
            let is_end = s.test(c"equal", &[x.into(), 6.0.into()])?;
            let kept = s.made(c"where", &[(&is_inside).into(), dy.into(), 0.0.into()])?;
            let kept = s.made(c"where", &[(&is_edge).into(), 0.0.into(), (&kept).into()])?;
            s.into(
                c"where",
                &[(&is_end).into(), 0.0.into(), (&kept).into()],
                out,
            )
        })
    }),
    row(c"EluGrad", &[(T, FLOATS)], &[], |_| {
        formula(|s, [dy, y], out| bent_gradient(s, (dy, y), (1.0, 1.0), out))
    }),
    row(c"SeluGrad", &[(T, FLOATS)], &[], |_| {
        formula(|s, [dy, y], out| bent_gradient(s, (dy, y), (SELU_SCALE_ALPHA, SELU_SCALE), out))
    }),
    row(c"SoftsignGrad", &[(T, FLOATS)], &[], |_| {
        formula(|s, [dy, x], out| {
            let below = softsign_divisor(s, x)?;
            let square = s.made(c"square", &[(&below).into()])?;
            s.into(c"divide", &[dy.into(), (&square).into()], out)
        })
    }),
    row(c"SelectV2", &[(T, ANY_AND_INT32)], &[], |_| plain(select)),
    row(c"Select", &[(T, ANY_AND_INT32)], &[], |_| {
        plain(select_rows)
    }),
    row(c"ClipByValue", &[(T, NUMBERS_AND_INT32)], &[], |_| {
        plain(|c| {
            let (x, low, high) = (c.input(0)?, c.input(1)?, c.input(2)?);
            let out = c.output_in_place(&[0], x.dtype, &x.shape)?;
            launch(
                c"clip",
                &[(&x).into(), (&low).into(), (&high).into()],
                &out,
                0.0,
            )
        })
    }),
    row(c"AddN", &[(T, NUMBERS)], &[], |_| plain(sum_of_all)),
    row(
        c"Cast",
        &[(c"SrcT", ANY_AND_INT32), (c"DstT", ANY_AND_INT32)],
        &[],
        |_| {
            plain(|c| {
                let x = c.input(0)?;
                let dtype = c.output_dtype(0)?;
                if dtype == x.dtype {
                    return c.set_output(0, &c.tensor(0)?, &x.shape);
                }
                cast(&x, &*c.output(0, dtype, &x.shape)?)
            })
        },
    ),
    row(c"L2Loss", &[(T, FLOATS)], &[], |_| {
        plain(|c| {
            let x = c.input(0)?;
            let s = c.steps(x.dtype);
            let square = s.made(c"square", &[(&*s.of(&x)?).into()])?;
            let axes: Vec<i64> = (0..x.rank() as i64).collect();
            let sum = super::reduction::reduced(c, c"sum", &square, &axes, false)?;
            let out = c.output(0, x.dtype, &[])?;
            s.into(c"multiply", &[(&*sum).into(), 0.5.into()], &out)
        })
    }),
];

/// `Add` does not take all integers that `AddV2` takes.
const NUMBERS_OF_ADD: &[Dtype] = &[
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F64,
    Dtype::I8,
    Dtype::I16,
    Dtype::I64,
    Dtype::U8,
];

/// Klambauer et al. 2017: the scale, and it times alpha.
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_SCALE_ALPHA: f64 = 1.758_099_340_847_376_8;

/// A kernel without attributes.
pub fn plain(compute: fn(&Call) -> Outcome) -> Outcome<Kernel> {
    Ok(Box::new(compute))
}

fn unary(operation: &'static CStr) -> Outcome<Kernel> {
    unary_with(operation, 0.0)
}

fn unary_with(operation: &'static CStr, alpha: f64) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let out = c.output_in_place(&[0], x.dtype, &x.shape)?;
        launch(operation, &[(&x).into()], &out, alpha)
    }))
}

/// A truth value for each element.
fn test(operation: &'static CStr) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let out = c.output(0, Dtype::BOOL, &x.shape)?;
        launch(operation, &[(&x).into()], &out, 0.0)
    }))
}

fn constant(value: i64) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let x = c.input(0)?;
        let out = c.output_in_place(&[0], x.dtype, &x.shape)?;
        cast(value, &out)
    }))
}

/// `operation(x, y)` in the dtype of both.
fn binary(operation: &'static CStr) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let (x, y) = (c.input(0)?, c.input(1)?);
        let out = c.output_in_place(&[0, 1], x.dtype, &broadcast(&x.shape, &y.shape)?)?;
        launch(operation, &[(&x).into(), (&y).into()], &out, 0.0)
    }))
}

fn comparison(operation: &'static CStr) -> Outcome<Kernel> {
    Ok(Box::new(move |c| compare(c, operation)))
}

fn compare(c: &Call, operation: &CStr) -> Outcome {
    let (x, y) = (c.input(0)?, c.input(1)?);
    let out = c.output(0, Dtype::BOOL, &broadcast(&x.shape, &y.shape)?)?;
    launch(operation, &[(&x).into(), (&y).into()], &out, 0.0)
}

/// Shapes that do not broadcast are refused, unless the attribute says that such tensors differ.
fn equality(operation: &'static CStr, refuses: bool) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let (x, y) = (c.input(0)?, c.input(1)?);
        if !refuses && broadcast(&x.shape, &y.shape).is_err() {
            let differs = i64::from(operation == c"not_equal");
            return cast(differs, &*c.output(0, Dtype::BOOL, &[])?);
        }
        compare(c, operation)
    }))
}

/// `operation(x, gradient)` for the arguments (gradient, x).
fn gradient(operation: &'static CStr, alpha: f64) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let (gradient, x) = (c.input(0)?, c.input(1)?);
        if gradient.shape != x.shape {
            return Err(Failure::refused(format!(
                "{}: the gradient has shape {}, the tensor {}",
                c.name.to_string_lossy(),
                shown(&gradient.shape),
                shown(&x.shape)
            )));
        }
        let out = c.output_in_place(&[0, 1], x.dtype, &x.shape)?;
        launch(operation, &[(&x).into(), (&gradient).into()], &out, alpha)
    }))
}

/// A kernel of several steps over inputs that broadcast to one shape.
fn formula<const N: usize>(
    compute: fn(Steps<'_>, [&View; N], &View) -> Outcome,
) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let first = c.input(0)?;
        let (dtype, s) = (first.dtype, c.steps(first.dtype));
        let mut shape = first.shape.clone();
        let mut held = vec![s.of(&first)?];
        for place in 1..N {
            let input = c.input(place)?;
            shape = broadcast(&shape, &input.shape)?;
            held.push(s.of(&input)?);
        }
        let out = c.output(0, dtype, &shape)?;
        compute(s, std::array::from_fn(|place| &*held[place]), &out)
    }))
}

/// A result where a divisor or factor is other than zero, else zero.
fn unless_zero(s: Steps<'_>, tested: &View, result: &Tensor, out: &View) -> Outcome {
    let is_zero = s.test(c"equal", &[tested.into(), 0.0.into()])?;
    s.into(
        c"where",
        &[(&is_zero).into(), 0.0.into(), result.into()],
        out,
    )
}

fn softsign_divisor(s: Steps<'_>, x: &View) -> Outcome<Tensor> {
    let size = s.made(c"absolute", &[x.into()])?;
    s.made(c"add", &[(&size).into(), 1.0.into()])
}

fn reciprocal_gradient(s: Steps<'_>, [y, dy]: [&View; 2], out: &View) -> Outcome {
    let square = s.made(c"square", &[y.into()])?;
    let product = s.made(c"multiply", &[(&square).into(), dy.into()])?;
    s.into(c"negative", &[(&product).into()], out)
}

fn selu(s: Steps<'_>, [x]: [&View; 1], out: &View) -> Outcome {
    let bent = s.made(c"expm1", &[x.into()])?;
    let bent = s.made(c"multiply", &[(&bent).into(), SELU_SCALE_ALPHA.into()])?;
    let straight = s.made(c"multiply", &[x.into(), SELU_SCALE.into()])?;
    let is_bent = s.test(c"less", &[x.into(), 0.0.into()])?;
    s.into(
        c"where",
        &[(&is_bent).into(), (&bent).into(), (&straight).into()],
        out,
    )
}

/// The gradient of functions that are exponential below zero, from their result: (y + offset) dy there, else scale dy.
fn bent_gradient(
    s: Steps<'_>,
    (dy, y): (&View, &View),
    (offset, scale): (f64, f64),
    out: &View,
) -> Outcome {
    let slope = s.made(c"add", &[y.into(), offset.into()])?;
    let is_bent = s.test(c"less", &[y.into(), 0.0.into()])?;
    let slope = s.made(
        c"where",
        &[(&is_bent).into(), (&slope).into(), scale.into()],
    )?;
    s.into(c"multiply", &[(&slope).into(), dy.into()], out)
}

/// 1 - erf(x), and where that loses digits 2 gelu(t) / t of t = -sqrt(2) x, which is erfc(x), as gelu(t) = t erfc(-t / sqrt(2)) / 2.
fn erfc(s: Steps<'_>, [x]: [&View; 1], out: &View) -> Outcome {
    let near = s.made(c"erf", &[x.into()])?;
    let near = s.made(c"subtract", &[1.0.into(), (&near).into()])?;
    let t = s.made(c"multiply", &[x.into(), (-std::f64::consts::SQRT_2).into()])?;
    let far = s.made(c"gelu", &[(&t).into()])?;
    let far = s.made(c"divide", &[(&far).into(), (&t).into()])?;
    let far = s.made(c"multiply", &[(&far).into(), 2.0.into()])?;
    // Beyond 0.5 the difference has lost a bit or more.
    let is_far = s.test(c"greater", &[x.into(), 0.5.into()])?;
    // Of infinities gelu(t) / t is not a number.
    let is_end = s.test(c"equal", &[x.into(), f64::INFINITY.into()])?;
    let far = s.made(c"where", &[(&is_end).into(), 0.0.into(), (&far).into()])?;
    s.into(
        c"where",
        &[(&is_far).into(), (&far).into(), (&near).into()],
        out,
    )
}

/// The whole part of quotients: that of the sizes, with the sign of the quotient.
fn truncated_quotient(c: &Call) -> Outcome {
    let (x, y) = (c.input(0)?, c.input(1)?);
    let shape = broadcast(&x.shape, &y.shape)?;
    let out = c.output(0, x.dtype, &shape)?;
    // What is left has the sign of x, so that the rest divides without remainder.
    let rest = c.temporary(x.dtype, &shape)?;
    launch(c"fmod", &[(&x).into(), (&y).into()], &rest, 0.0)?;
    let whole = c.temporary(x.dtype, &shape)?;
    launch(c"subtract", &[(&x).into(), (&rest).into()], &whole, 0.0)?;
    launch(c"floor_divide", &[(&whole).into(), (&y).into()], &out, 0.0)
}

fn select(c: &Call) -> Outcome {
    let (condition, x, y) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let shape = broadcast(&broadcast(&condition.shape, &x.shape)?, &y.shape)?;
    let out = c.output(0, x.dtype, &shape)?;
    launch(
        c"where",
        &[(&condition).into(), (&x).into(), (&y).into()],
        &out,
        0.0,
    )
}

/// A condition of one axis chooses rows.
fn select_rows(c: &Call) -> Outcome {
    let (condition, x, y) = (c.input(0)?, c.input(1)?, c.input(2)?);
    let mut condition = condition;
    if condition.rank() == 1 {
        while condition.rank() < x.rank() {
            condition = condition.with_axis(condition.rank());
        }
    }
    let out = c.output(0, x.dtype, &x.shape)?;
    launch(
        c"where",
        &[(&condition).into(), (&x).into(), (&y).into()],
        &out,
        0.0,
    )
}

fn sum_of_all(c: &Call) -> Outcome {
    let inputs = c.inputs(0)?;
    let first = &inputs[0];
    if let Some(other) = inputs.iter().find(|input| input.shape != first.shape) {
        return Err(Failure::refused(format!(
            "Inputs to operation AddN must have the same size and shape. Input 0: {} != another: {}",
            shown(&first.shape),
            shown(&other.shape)
        )));
    }
    let out = c.output(0, first.dtype, &first.shape)?;
    let Some((second, rest)) = inputs[1..].split_first() else {
        return cast(first, &out);
    };
    launch(c"add", &[first.into(), second.into()], &out, 0.0)?;
    for input in rest {
        launch(c"add", &[(&*out).into(), input.into()], &out, 0.0)?;
    }
    Ok(())
}
