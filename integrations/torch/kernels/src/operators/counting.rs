//! Which values are among others, and how many fall between limits.

use std::ffi::CStr;

use super::indexing::put;
use super::reduction::{reduced, steps_in, value_of};
use super::table;
use crate::call::{Call, Results, tensors, written};
use crate::compute::{
    Gives, Held, Input, Number, Steps, cast, contiguous, converted, narrowed, result_type, run,
    zeros,
};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Dims, Tensor, View};

table! {
    c"aten::isin.Tensor_Tensor_out" => is_in,
    c"aten::isin.Tensor_Scalar_out" => is_number,
    c"aten::isin.Scalar_Tensor_out" => number_is_in,
    c"aten::histc" => |c| Ok(tensors([histogram(c)?])),
    c"aten::histc.out" => histogram_out,
    c"aten::bincount" => count_each,
}

/// Comparisons that are made at once: they are a tensor.
const BLOCK_COMPARISONS: i64 = 1 << 24;
/// Blocks of one call. Longer lists are for a sort, which the CPU does.
const MAX_BLOCKS: i64 = 64;

/// Whether each element is one of others: compared with each of them, in blocks.
fn is_in(c: &Call) -> Outcome<Results> {
    let (x, others) = (c.tensor(0)?, c.tensor(1)?);
    let out = c.last()?.resized(&x.shape)?;
    among(x, others, c.flag_or(1, false)?, &out)
}

/// Of one number whether it is one of the tensor's elements.
fn number_is_in(c: &Call) -> Outcome<Results> {
    let others = c.tensor(0)?;
    let x = Tensor::empty(&[], others.dtype, others.place)?;
    let number = c.number(0)?;
    cast(number, &x)?;
    // A number that its dtype does not hold is none of the elements.
    if result_type(&[others.into(), number.into()], others.dtype) != others.dtype {
        return Err(Failure::no_kernel(
            "numbers of another kind than the elements have no kernel",
        ));
    }
    let out = c.last()?.resized(&[])?;
    among(&x, others, c.flag_or(2, false)?, &out)
}

fn among(x: &View, others: &View, is_inverted: bool, out: &View) -> Outcome<Results> {
    others.place.check_same(x.place)?;
    if out.is_empty() {
        return written();
    }
    if others.is_empty() {
        cast(Number::Bool(is_inverted), out)?;
        return written();
    }
    let step = (BLOCK_COMPARISONS / x.len()).max(1);
    if others.len() > step.saturating_mul(MAX_BLOCKS) {
        return Err(Failure::no_kernel("so many elements have no kernel"));
    }
    let s = steps_in(result_type(&[x.into(), others.into()], Dtype::F32), x.place);
    let flat = contiguous(others)?;
    let flat = flat.with_layout(Dims::from_slice(&[others.len()]), Dims::from_slice(&[1]));
    let mut found: Option<Tensor> = None;
    let mut start = 0;
    while start < flat.len() {
        let count = step.min(flat.len() - start);
        let own = any_equal(s, x, &flat.narrow(0, start, count))?;
        found = Some(match found {
            None => own,
            Some(before) => steps_in(Dtype::BOOL, x.place)
                .test(c"logical_or", &[(&before).into(), (&own).into()])?,
        });
        start += count;
    }
    let Some(found) = found else { return written() };
    if is_inverted {
        let inputs = [(&found).into()];
        run(c"logical_not", &inputs, Dtype::BOOL, Gives::Bool, out, 0.0)?;
    } else {
        cast(&found, out)?;
    }
    written()
}

/// Whether each element equals one of a line.
fn any_equal(s: Steps, x: &View, line: &View) -> Outcome<Tensor> {
    let column = x.with_axis(x.rank());
    let same = s.test(c"equal", &[(&column).into(), line.into()])?;
    reduced(c"any", &same, &[x.rank() as i64], false)
}

fn is_number(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let out = c.last()?.resized(&x.shape)?;
    let inputs: [Input<'_>; 2] = [x.into(), c.number(0)?.into()];
    let common = result_type(&inputs, Dtype::F32);
    let operation = if c.flag_or(2, false)? {
        c"not_equal"
    } else {
        c"equal"
    };
    run(operation, &inputs, common, Gives::Bool, &out, 0.0)?;
    written()
}

fn histogram_out(c: &Call) -> Outcome<Results> {
    let made = histogram(c)?;
    cast(&made, &c.last()?.resized(&made.shape)?)?;
    written()
}

/// Least and largest value that counts: those given, or of the elements where both are the same.
fn limits(c: &Call, x: &View) -> Outcome<(f64, f64)> {
    let number = |place: usize| {
        if c.has(place) {
            c.number(place).map(Number::real)
        } else {
            Ok(0.0)
        }
    };
    let (mut least, mut most) = (number(1)?, number(2)?);
    if least == most && !x.is_empty() {
        let axes: Vec<i64> = (0..x.rank() as i64).collect();
        let best = |operation: &CStr| -> Outcome<f64> {
            let found = reduced(operation, x, &axes, false)?;
            Ok(value_of(&found)?.real())
        };
        (least, most) = (best(c"min")?, best(c"max")?);
    }
    if least == most {
        (least, most) = (least - 1.0, most + 1.0);
    }
    if !(least.is_finite() && most.is_finite()) {
        return Err(Failure::refused(format!(
            "range of [{least}, {most}] is not finite"
        )));
    }
    if least > most {
        return Err(Failure::refused("max must be larger than min"));
    }
    Ok((least, most))
}

/// How many elements fall in each of as many equal parts of a range; those beside it are left out.
fn histogram(c: &Call) -> Outcome<Tensor> {
    let x = c.tensor(0)?;
    if !x.dtype.is_float() && !x.dtype.is_integral() || x.dtype == Dtype::BOOL {
        return Err(Failure::no_kernel(
            "histograms of such numbers have no kernel",
        ));
    }
    let bins = c.int_or(0, 100)?;
    if bins <= 0 {
        return Err(Failure::refused("bins must be > 0"));
    }
    let (least, most) = limits(c, x)?;
    // One place more, for what is left out.
    let counts = zeros(&[bins + 1], Dtype::I64, x.place)?;
    if !x.is_empty() {
        let places = places_of(x, bins, (least, most))?;
        let one = Tensor::empty(&[], Dtype::I64, x.place)?;
        cast(Number::Int(1), &one)?;
        put(
            &counts,
            &[0],
            &[&places],
            &one.expanded(&places.shape)?,
            c"add",
        )?;
    }
    let made = Tensor::empty(&[bins], x.dtype, x.place)?;
    cast(&counts.narrow(0, 0, bins), &made)?;
    Ok(made)
}

/// The part in which each element lies; behind the last one for those that lie in none.
fn places_of(x: &View, bins: i64, (least, most): (f64, f64)) -> Outcome<Tensor> {
    let dense = contiguous(x)?;
    let flat = dense.with_layout(Dims::from_slice(&[x.len()]), Dims::from_slice(&[1]));
    let is_float = x.dtype.is_float();
    let s = steps_in(if is_float { x.dtype.wide() } else { Dtype::F64 }, x.place);
    let x = converted(&flat, s.dtype)?;
    let moved = s.made(c"subtract", &[(&*x).into(), least.into()])?;
    // Floats are rounded as torch's CPU does it; of integers the product is exact.
    let (width, count): (Input<'_>, Input<'_>) = ((most - least).into(), (bins as f64).into());
    let place = if is_float {
        let share = s.made(c"divide", &[(&moved).into(), width])?;
        s.made(c"multiply", &[(&share).into(), count])?
    } else {
        let product = s.made(c"multiply", &[(&moved).into(), count])?;
        s.made(c"divide", &[(&product).into(), width])?
    };
    let whole = s.made(c"floor", &[(&place).into()])?;
    let last = (bins - 1) as f64;
    let whole = s.made(c"minimum", &[(&whole).into(), last.into()])?;
    let is_high_enough = s.test(c"greater_equal", &[(&*x).into(), least.into()])?;
    let is_low_enough = s.test(c"less_equal", &[(&*x).into(), most.into()])?;
    let both = [(&is_high_enough).into(), (&is_low_enough).into()];
    let inside = steps_in(Dtype::BOOL, x.place).test(c"logical_and", &both)?;
    let chosen = s.made(c"where", &[(&inside).into(), (&whole).into(), count])?;
    narrowed(chosen, Dtype::I64)
}

/// How often each number from 0 on occurs, or the sums of its weights.
fn count_each(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let weights = c.optional(1);
    let least = c.int_or(0, 0)?;
    if !x.dtype.is_integral() || x.dtype == Dtype::BOOL || x.rank() != 1 || least < 0 {
        return Err(Failure::refused(
            "bincount only supports 1-d non-negative integral inputs, and minlength should be >= 0",
        ));
    }
    if weights.is_some_and(|weights| weights.shape != x.shape) {
        return Err(Failure::refused(
            "weights should be 1-d and have the same length as input",
        ));
    }
    let dtype = match weights {
        None => Dtype::I64,
        Some(weights) if weights.dtype == Dtype::F32 => Dtype::F32,
        Some(_) => Dtype::F64,
    };
    if x.is_empty() {
        // Without elements there is nothing to weigh.
        return Ok(tensors([zeros(&[least], Dtype::I64, x.place)?]));
    }
    let end = |operation: &CStr| -> Outcome<i64> {
        let found = reduced(operation, x, &[0], false)?;
        Ok(value_of(&found)?.real() as i64)
    };
    if end(c"min")? < 0 {
        return Err(Failure::refused(
            "bincount only supports 1-d non-negative integral inputs.",
        ));
    }
    let counts = zeros(&[least.max(end(c"max")? + 1)], dtype, x.place)?;
    let one = Tensor::empty(&[], dtype, x.place)?;
    cast(Number::Int(1), &one)?;
    let added = match weights {
        Some(weights) => converted(weights, dtype)?,
        None => Held::Given(one.expanded(&x.shape)?),
    };
    let places = converted(x, Dtype::I64)?;
    put(&counts, &[0], &[&places], &added, c"add")?;
    Ok(tensors([counts]))
}
