//! Random numbers of Philox, from the generators of the device; dropout.

use std::cell::Cell;
use std::ffi::{CStr, c_void};

use super::reduction::steps_in;
use super::table;
use crate::amdgpu::{Handle, RandomState, agpu};
use crate::call::{Call, Results, tensors, written};
use crate::compute::{Gives, Input, Number, Target, cast, run};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::host;
use crate::tensor::{Made, Tensor, View};

table! {
    c"aten::normal_" => |c| fill(c, c"normal", c.real_or(0, 0.0)?, c.real_or(1, 1.0)?, 2),
    c"aten::uniform_" => uniform,
    c"aten::exponential_" => |c| fill(c, c"exponential", 1.0 / c.real_or(0, 1.0)?, 0.0, 1),
    c"aten::bernoulli_.float" => bernoulli_number,
    c"aten::bernoulli_.Tensor" => |c| bernoulli(c.tensor(1)?, c.tensor(0)?, c.generator(0)?),
    c"aten::bernoulli.out" => |c| {
        let x = c.tensor(0)?;
        bernoulli(x, &c.last()?.resized(&x.shape)?, c.generator(0)?)
    },
    c"aten::random_" => random_all,
    c"aten::random_.to" => |c| random_span(c, 0, Some(c.int(0)?), 1),
    c"aten::random_.from" => |c| {
        let end = if c.has(1) { Some(c.int(1)?) } else { None };
        random_span(c, c.int(0)?, end, 2)
    },
    c"aten::randperm.generator_out" => permutation,
    c"aten::multinomial" => multinomial,
    c"aten::native_dropout" => dropout,
    c"aten::native_dropout_backward" => dropout_backward,
}

/// Words of 32 bits that an element takes at most.
const WORDS: u64 = 4;

thread_local! {
    /// The generator of libamdgpu that this thread sets to where a draw begins.
    static GENERATOR: Cell<Handle> = const { Cell::new(0) };
}

/// A generator that stands where so many elements are taken from one of torch's.
fn drawing(generator: *const c_void, index: i32, elements: i64) -> Outcome<Handle> {
    let words = elements as u64 * WORDS;
    let state: RandomState = host::get()?.take_random(generator, index, words)?;
    let known = GENERATOR.get();
    let handle = if known == 0 {
        let seed = [0_u32];
        let mut made = 0;
        agpu!(agpu_random_create(seed.as_ptr(), 1, &raw mut made))?;
        GENERATOR.set(made);
        made
    } else {
        known
    };
    agpu!(agpu_random_set_state(handle, &raw const state))?;
    Ok(handle)
}

/// Fills memory with numbers of a distribution.
fn draw(
    out: &View,
    distribution: &CStr,
    (a, b): (f64, f64),
    dtype: Dtype,
    generator: *const c_void,
) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let generator = drawing(generator, out.place.index()?, out.len())?;
    let target = Target::of(out, dtype)?;
    let place = target.view().array()?;
    agpu!(agpu_random_draw(
        generator,
        distribution.as_ptr(),
        a,
        b,
        place.0
    ))?;
    target.finish()
}

fn fill(c: &Call, distribution: &CStr, a: f64, b: f64, generator: usize) -> Outcome<Results> {
    let out = c.tensor(0)?;
    if !out.dtype.is_float() {
        return Err(Failure::no_kernel(format!(
            "{} of numbers that are not real has no kernel",
            c.name
        )));
    }
    if distribution == c"normal" && b < 0.0 {
        return Err(Failure::refused(format!(
            "normal expects std >= 0.0, but found std {b}"
        )));
    }
    draw(
        out,
        distribution,
        (a, b),
        out.dtype,
        c.generator(generator)?,
    )?;
    written()
}

fn uniform(c: &Call) -> Outcome<Results> {
    let (from, to) = (c.real_or(0, 0.0)?, c.real_or(1, 1.0)?);
    if from > to {
        return Err(Failure::refused(format!(
            "uniform_ expects to return a [from, to) range, but found from={from} > to={to}"
        )));
    }
    if from == to {
        cast(from, c.tensor(0)?)?;
        return written();
    }
    fill(c, c"uniform", from, to, 2)
}

fn check_chance(p: f64) -> Outcome {
    if (0.0..=1.0).contains(&p) {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "bernoulli_ expects p to be in [0, 1], but got p={p}"
    )))
}

fn bernoulli_number(c: &Call) -> Outcome<Results> {
    let p = c.real_or(0, 0.5)?;
    check_chance(p)?;
    let generator = c.generator(1)?;
    draw(c.tensor(0)?, c"bernoulli", (p, 0.0), Dtype::BOOL, generator)?;
    written()
}

/// Whether a number below 1 is below the chance of each element.
fn bernoulli(chances: &View, out: &View, generator: *const c_void) -> Outcome<Results> {
    let dtype = if chances.dtype == Dtype::F64 {
        Dtype::F64
    } else {
        Dtype::F32
    };
    let numbers = Tensor::empty(&out.shape, dtype, out.place)?;
    draw(&numbers, c"uniform", (0.0, 1.0), dtype, generator)?;
    let inputs: [Input<'_>; 2] = [(&numbers).into(), chances.into()];
    run(c"less", &inputs, dtype, Gives::Bool, out, 0.0)?;
    written()
}

/// Whole numbers from `low` on, below `low` + `span`.
fn integers(out: &View, low: i64, span: u64, generator: *const c_void) -> Outcome {
    if out.is_empty() {
        return Ok(());
    }
    let generator = drawing(generator, out.place.index()?, out.len())?;
    let dtype = if out.dtype.is_integral() {
        out.dtype
    } else {
        Dtype::I64
    };
    let target = Target::of(out, dtype)?;
    let place = target.view().array()?;
    agpu!(agpu_random_integers(generator, low, span, place.0))?;
    target.finish()
}

/// One more than the largest whole number up to which a dtype holds all of them.
fn end_of(dtype: Dtype) -> Outcome<i64> {
    Ok(match dtype {
        Dtype::BOOL => 2,
        Dtype::U8 => 1 << 8,
        Dtype::I8 => 1 << 7,
        Dtype::I16 => 1 << 15,
        Dtype::U16 => 1 << 16,
        Dtype::I32 => 1 << 31,
        Dtype::U32 => 1 << 32,
        Dtype::I64 | Dtype::U64 => i64::MAX,
        Dtype::F16 => (1 << 11) + 1,
        Dtype::BF16 => (1 << 8) + 1,
        Dtype::F32 => (1 << 24) + 1,
        Dtype::F64 => (1 << 53) + 1,
        _ => {
            return Err(Failure::no_kernel(
                "random integers of this dtype have no kernel",
            ));
        }
    })
}

fn random_all(c: &Call) -> Outcome<Results> {
    let out = c.tensor(0)?;
    integers(out, 0, end_of(out.dtype)? as u64, c.generator(0)?)?;
    written()
}

fn random_span(c: &Call, from: i64, to: Option<i64>, generator: usize) -> Outcome<Results> {
    let out = c.tensor(0)?;
    let end = match to {
        Some(end) => end,
        None => end_of(out.dtype)?,
    };
    if end <= from {
        return Err(Failure::refused(format!(
            "random_ expects 'from' to be less than 'to', but got from={from} >= to={end}"
        )));
    }
    let span = (i128::from(end) - i128::from(from)) as u64;
    integers(out, from, span, c.generator(generator)?)?;
    written()
}

fn permutation(c: &Call) -> Outcome<Results> {
    let count = c.int(0)?;
    if count < 0 {
        return Err(Failure::refused("n must be non-negative"));
    }
    let out = c.last()?.resized(&[count])?;
    if count == 0 {
        return written();
    }
    let index = out.place.index()?;
    let generator = drawing(c.generator(1)?, index, count)?;
    let device = host::get()?.device(index)?;
    let mut result = 0;
    agpu!(agpu_random_permutation(
        generator,
        device,
        count,
        &raw mut result
    ))?;
    cast(&*Made::of(result, out.place)?, &out)?;
    written()
}

/// The places of values that are drawn with chances as large as they are: the largest of the chances divided by exponential numbers
/// (Efraimidis & Spirakis 2006). Several draws that may give one place again fall back.
fn multinomial(c: &Call) -> Outcome<Results> {
    let chances = c.tensor(0)?;
    let (count, is_replaced) = (c.int(0)?, c.flag_or(1, false)?);
    let Some(extent) = chances.shape.last().copied() else {
        return Err(Failure::refused("prob_dist must be 1 or 2 dim"));
    };
    if !chances.dtype.is_float() || chances.is_empty() || (is_replaced && count != 1) {
        return Err(Failure::no_kernel("such draws have no kernel"));
    }
    if count <= 0 || count > extent {
        return Err(Failure::refused(format!(
            "cannot sample n_sample={count} > prob_dist.size(-1)={extent} samples without replacement"
        )));
    }
    let s = steps_in(chances.dtype.wide(), chances.place);
    let numbers = Tensor::empty(&chances.shape, s.dtype, s.place)?;
    draw(
        &numbers,
        c"exponential",
        (1.0, 0.0),
        s.dtype,
        c.generator(2)?,
    )?;
    s.into(c"divide", &[chances.into(), (&numbers).into()], &numbers)?;
    let mut shape = chances.shape.clone();
    let last = shape.len() - 1;
    shape[last] = count;
    let values = Tensor::empty(&shape, s.dtype, s.place)?;
    let places = Tensor::empty(&shape, Dtype::I64, s.place)?;
    super::sorting::largest(&numbers, count, last, &values, &places)?;
    Ok(tensors([places]))
}

/// x where a mask is true, divided by the chance of that, and the mask.
fn dropout(c: &Call) -> Outcome<Results> {
    let x = c.tensor(0)?;
    let p = c.real(0)?;
    check_chance(p)?;
    let mask = Tensor::empty(&x.shape, Dtype::BOOL, x.place)?;
    let made = Tensor::empty(&x.shape, x.dtype, x.place)?;
    if !c.flag_or(1, true)? {
        cast(Number::Bool(true), &mask)?;
        cast(x, &made)?;
        return Ok(tensors([made, mask]));
    }
    if !x.dtype.is_float() {
        return Err(Failure::no_kernel("dropout of integers has no kernel"));
    }
    draw(
        &mask,
        c"bernoulli",
        (1.0 - p, 0.0),
        Dtype::BOOL,
        std::ptr::null(),
    )?;
    let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    masked(x, &mask, scale, &made)?;
    Ok(tensors([made, mask]))
}

/// x times a factor where the mask is true, else zero.
fn masked(x: &View, mask: &View, scale: f64, out: &View) -> Outcome {
    let s = steps_in(x.dtype, x.place);
    let scaled = s.made(c"multiply", &[x.into(), scale.into()])?;
    let inputs = [mask.into(), (&scaled).into(), Number::Int(0).into()];
    s.into(c"where", &inputs, out)
}

fn dropout_backward(c: &Call) -> Outcome<Results> {
    let (gradient, mask) = (c.tensor(0)?, c.tensor(1)?);
    let made = Tensor::empty(&gradient.shape, gradient.dtype, gradient.place)?;
    masked(gradient, mask, c.real(0)?, &made)?;
    Ok(tensors([made]))
}
