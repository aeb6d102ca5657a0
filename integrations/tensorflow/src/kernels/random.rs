//! Random numbers in TensorFlow's own sequences: Philox, whose words become numbers as in `tsl/lib/random/random_distributions.h`.

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::PoisonError;

use super::elementwise::plain;
use super::{FLOATS, row, write_to_host};
use crate::amdgpu::{Handle, agpu};
use crate::call::{Attributes, Call};
use crate::compute::{cast, launch};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::registry::{Kernel, Row};
use crate::tensor::{Made, Tensor, View, shown};

const WHOLE: &[Dtype] = &[Dtype::I32, Dtype::I64];
const WORDS: &[Dtype] = &[Dtype::I32, Dtype::I64, Dtype::U32, Dtype::U64];
const STATE: &[&CStr] = &[c"shape", c"key", c"counter", c"alg"];
const STATE_AND_BOUNDS: &[&CStr] = &[c"shape", c"key", c"counter", c"alg", c"minval", c"maxval"];
const DTYPE: &CStr = c"dtype";

pub const ROWS: &[Row] = &[
    row(
        c"StatelessRandomGetKeyCounter",
        &[],
        &[c"seed", c"key", c"counter"],
        |_| {
            plain(|c| {
                let (key, counter) = scrambled(c)?;
                set(c, 0, &[key])?;
                set(c, 1, &counter)
            })
        },
    ),
    row(c"StatelessRandomGetAlg", &[], &[c"alg"], |_| {
        plain(|c| set_int32(c, 0, PHILOX))
    }),
    row(
        c"StatelessRandomGetKeyCounterAlg",
        &[],
        &[c"seed", c"key", c"counter", c"alg"],
        |_| {
            plain(|c| {
                let (key, counter) = scrambled(c)?;
                set(c, 0, &[key])?;
                set(c, 1, &counter)?;
                set_int32(c, 2, PHILOX)
            })
        },
    ),
    row(
        c"StatelessRandomUniformV2",
        &[(DTYPE, FLOATS)],
        STATE,
        |_| stateless(uniform),
    ),
    row(
        c"StatelessRandomNormalV2",
        &[(DTYPE, FLOATS)],
        STATE,
        |_| stateless(normal),
    ),
    row(
        c"StatelessTruncatedNormalV2",
        &[(DTYPE, FLOATS)],
        STATE,
        |_| stateless(truncated_normal),
    ),
    row(
        c"StatelessRandomUniformFullIntV2",
        &[(DTYPE, WORDS)],
        STATE,
        |_| stateless(whole),
    ),
    row(
        c"StatelessRandomUniformIntV2",
        &[(DTYPE, WHOLE)],
        STATE_AND_BOUNDS,
        |_| stateless(|c, bits, out| between(c, bits, (c.host_int(4)?, c.host_int(5)?), out)),
    ),
    row(c"RandomUniform", &[(DTYPE, FLOATS)], &[c"shape"], |a| {
        stateful(a, uniform)
    }),
    row(
        c"RandomStandardNormal",
        &[(DTYPE, FLOATS)],
        &[c"shape"],
        |a| stateful(a, normal),
    ),
    row(c"TruncatedNormal", &[(DTYPE, FLOATS)], &[c"shape"], |a| {
        stateful(a, truncated_normal)
    }),
    row(
        c"RandomUniformInt",
        &[(c"Tout", WHOLE)],
        &[c"shape", c"minval", c"maxval"],
        |a| {
            stateful(a, |c, bits, out| {
                between(c, bits, (c.host_int(1)?, c.host_int(2)?), out)
            })
        },
    ),
];

/// `RNG_ALG_PHILOX` and `RNG_ALG_AUTO_SELECT` of `tensorflow/core/framework/rng_alg.h`.
const PHILOX: i32 = 1;
const AUTOMATIC: i64 = 3;

/// Fills an output with numbers that are made of words.
type Draw = fn(&Call, &Words, &View) -> Outcome;

/// Where the words of a draw begin.
struct Words {
    key: u64,
    counter: u128,
}

impl Words {
    /// So many words, four for each value of the counter.
    fn take(&self, device: Handle, count: i64) -> Outcome<Made> {
        let (low, high) = (self.counter as u64, (self.counter >> 64) as u64);
        let mut result = 0;
        agpu!(agpu_random_tensorflow_bits(
            device,
            self.key,
            low,
            high,
            count,
            &raw mut result
        ))?;
        Made::of(result, device)
    }

    /// Standard normal numbers of them.
    fn normal(&self, out: &View, is_truncated: bool) -> Outcome {
        let (low, high) = (self.counter as u64, (self.counter >> 64) as u64);
        let to = out.operand()?;
        agpu!(agpu_random_tensorflow_normal_at(
            out.place.0,
            self.key,
            low,
            high,
            is_truncated,
            &raw const to
        ))
    }
}

/// Key and counter of a seed: a block of Philox mixes it (`GenerateKey` of `tensorflow/core/kernels/stateless_random_ops.cc`).
fn scrambled(c: &Call) -> Outcome<(u64, [u64; 2])> {
    const KEY: u64 = 0x0246_1e29_3ec8_f720;
    let seed = c.host_ints(0)?;
    let [first, second] = seed[..] else {
        return Err(Failure::refused(format!(
            "seed must have shape [2], not [{}]",
            seed.len()
        )));
    };
    let start = Words {
        key: KEY,
        counter: u128::from(second as u64) << 64 | u128::from(first as u64),
    };
    let made = start.take(crate::call::host_device()?, 4)?;
    // SAFETY: memory of the CPU device with four words, whose work is done when it returns.
    let mixed = unsafe { std::slice::from_raw_parts(made.address.cast::<u32>(), 4) };
    let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    Ok((join(mixed[0], mixed[1]), [0, join(mixed[2], mixed[3])]))
}

/// Whole numbers to an output in the memory of the host.
fn set(c: &Call, place: usize, values: &[u64]) -> Outcome {
    let out = c.output(place, Dtype::U64, &[values.len() as i64])?;
    write_to_host(&out, values);
    Ok(())
}

fn set_int32(c: &Call, place: usize, value: i32) -> Outcome {
    let out = c.output(place, Dtype::I32, &[])?;
    write_to_host(&out, &[value]);
    Ok(())
}

fn stateless(draw: Draw) -> Outcome<Kernel> {
    Ok(Box::new(move |c| {
        let (shape, key, counter) = (c.host_ints(0)?, c.host_ints(1)?, c.host_ints(2)?);
        let algorithm = c.host_int(3)?;
        if algorithm != i64::from(PHILOX) && algorithm != AUTOMATIC {
            return Err(Failure::no_kernel(format!(
                "alg {algorithm} has no kernel; Philox is 1"
            )));
        }
        let (&[key], &[low, high]) = (&key[..], &counter[..]) else {
            return Err(Failure::refused(
                "key must have shape [1] and counter shape [2]",
            ));
        };
        let words = Words {
            key: key as u64,
            counter: u128::from(high as u64) << 64 | u128::from(low as u64),
        };
        drawn(c, &words, &shape, draw)
    }))
}

/// Draws that go on where the last one ended, from a seed; both seeds 0 stand for one that nobody knows.
fn stateful(a: &Attributes, draw: Draw) -> Outcome<Kernel> {
    /// Blocks that TensorFlow reserves for each number (`GuardedPhiloxRandom::ReserveRandomOutputs`).
    const RESERVED: u128 = 256;
    let (mut first, mut second) = (a.int(c"seed")? as u64, a.int(c"seed2")? as u64);
    if first == 0 && second == 0 {
        (first, second) = (unknown_number(), unknown_number());
    }
    let counter = Mutex::new(u128::from(second) << 64);
    Ok(Box::new(move |c| {
        let shape = c.host_ints(0)?;
        let count = shape.iter().product::<i64>().max(0) as u128;
        let mut next = counter.lock().unwrap_or_else(PoisonError::into_inner);
        let words = Words {
            key: first,
            counter: *next,
        };
        *next = next.wrapping_add(count * RESERVED);
        drop(next);
        drawn(c, &words, &shape, draw)
    }))
}

/// A number that differs between kernels and processes.
fn unknown_number() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

fn drawn(c: &Call, words: &Words, shape: &[i64], draw: Draw) -> Outcome {
    if shape.iter().any(|extent| *extent < 0) {
        return Err(Failure::refused(format!(
            "shape {} has a negative extent",
            shown(shape)
        )));
    }
    let out = c.output(0, c.output_dtype(0)?, shape)?;
    if out.is_empty() {
        return Ok(());
    }
    draw(c, words, &out.reshaped(&[out.len()]))
}

/// Words as numbers from 0 to below 1, in `dtype`: the lowest bits of each, as many as the dtype has behind its point. Of float64 the lowest 20
/// bits of a word stand before those of the next.
fn fractions(c: &Call, bits: &View, dtype: Dtype) -> Outcome<Tensor> {
    let integers = c.steps(bits.dtype);
    if dtype == Dtype::F64 {
        let pairs = bits.reshaped(&[bits.len() / 2, 2]);
        let s = c.steps(Dtype::F64);
        let (high, low) = (pairs.narrow(1, 0, 1), pairs.narrow(1, 1, 1));
        let high = integers.made(c"bitwise_and", &[(&high).into(), 0xF_FFFF_i64.into()])?;
        let (high, low) = (s.of(&high)?, s.of(&low)?);
        let scales = [2.0_f64.powi(-20).into(), 2.0_f64.powi(-52).into()];
        let high = s.made(c"multiply", &[(&high).into(), scales[0]])?;
        let low = s.made(c"multiply", &[(&low).into(), scales[1]])?;
        return s.made(c"add", &[(&high).into(), (&low).into()]);
    }
    let kept = match dtype {
        Dtype::F16 => integers.made(c"bitwise_and", &[bits.into(), 0x3FF_i64.into()])?,
        Dtype::BF16 => integers.made(c"bitwise_and", &[bits.into(), 0x7F_i64.into()])?,
        _ => integers.made(c"bitwise_and", &[bits.into(), 0x7F_FFFF_i64.into()])?,
    };
    let width = match dtype {
        Dtype::F16 => 10,
        Dtype::BF16 => 7,
        _ => 23,
    };
    let s = c.steps(Dtype::F32);
    s.made(
        c"multiply",
        &[(&s.of(&kept)?).into(), 2.0_f64.powi(-width).into()],
    )
}

/// How many words so many numbers take, in whole blocks.
fn word_count(dtype: Dtype, numbers: i64) -> i64 {
    let each = if dtype.item_bytes() == 8 { 2 } else { 1 };
    (numbers * each + 3) / 4 * 4
}

/// The first numbers of more.
fn first(numbers: &View, count: i64) -> View {
    numbers.reshaped(&[numbers.len()]).narrow(0, 0, count)
}

fn uniform(c: &Call, words: &Words, out: &View) -> Outcome {
    let bits = words.take(c.device, word_count(out.dtype, out.len()))?;
    let numbers = fractions(c, &bits, out.dtype)?;
    cast(&first(&numbers, out.len()), out)
}

fn normal(_: &Call, words: &Words, out: &View) -> Outcome {
    words.normal(out, false)
}

/// Numbers between -2 and 2.
fn truncated_normal(_: &Call, words: &Words, out: &View) -> Outcome {
    words.normal(out, true)
}

/// The words themselves; of 64 bits the first of two is the lower half.
fn whole(c: &Call, words: &Words, out: &View) -> Outcome {
    let bits = words.take(c.device, word_count(out.dtype, out.len()))?;
    let unsigned = if out.dtype.item_bytes() == 8 {
        Dtype::U64
    } else {
        Dtype::U32
    };
    let numbers = bits.seen_as(unsigned).reshaped(&[out.len()]);
    cast(&numbers, &out.seen_as(unsigned))
}

/// Whole numbers from `low` on, below `high`: what division of a word by the span leaves.
fn between(c: &Call, words: &Words, (low, high): (i64, i64), out: &View) -> Outcome {
    if low >= high {
        return Err(Failure::refused(format!(
            "Need minval < maxval, got {low} >= {high}"
        )));
    }
    let bits = words.take(c.device, word_count(out.dtype, out.len()))?;
    let unsigned = if out.dtype == Dtype::I64 {
        Dtype::U64
    } else {
        Dtype::U32
    };
    let numbers = bits.seen_as(unsigned).reshaped(&[out.len()]);
    let span = high.wrapping_sub(low);
    let target = out.seen_as(unsigned);
    let rest = c.temporary(unsigned, &[out.len()])?;
    launch(c"remainder", &[(&numbers).into(), span.into()], &rest, 0.0)?;
    launch(
        c"add",
        &[(&rest.seen_as(out.dtype)).into(), low.into()],
        &target.seen_as(out.dtype),
        0.0,
    )
}
