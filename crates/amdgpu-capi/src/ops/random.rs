//! random.h: generators of random numbers, draws into arrays, dropout.

use std::sync::Arc;

use amdgpu_array::Array;
use amdgpu_ops::random::{
    Draw, Generator, Stream, draw, dropout, permutation, tensorflow_bits, tensorflow_normal,
};
use amdgpu_ops::{DeviceOps, Operand, Scalar};

use super::at::CallAt;
use super::operand::COperand;
use super::{Call, OpsOptions, unknown};
use crate::array::ArrayObject;
use crate::borrowed::{Described, Items, ItemsOut, Options, Out, Text, Versioned};
use crate::handles::{self, Handle, Object};
use crate::objects::DeviceObject;
use crate::status::{Answer, Status, answer};
use crate::toolchain;

struct GeneratorObject(Generator);

impl Object for GeneratorObject {
    const KIND: u8 = 13;
}

fn insert(generator: Generator) -> Handle {
    handles::insert(Arc::new(GeneratorObject(generator)))
}

/// `agpu_random_state`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RandomState {
    size_bytes: u64,
    key: u64,
    position: u64,
    jumps: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for RandomState {
    const NAME: &'static str = "agpu_random_state";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl RandomState {
    fn stream(&self) -> Stream {
        Stream {
            key: self.key,
            position: self.position,
            jumps: self.jumps,
        }
    }
}

/// The generator of a seed.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_create(
    seed: Items<u32>,
    count: u64,
    generator: Out<Handle>,
) -> Status {
    answer(|| {
        let place = generator.required("generator")?;
        let words = seed.slice(count as usize, "seed")?;
        place.write(insert(Generator::new(words)));
        Ok(())
    })
}

/// Where a generator stands.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_get_state(
    generator: Handle,
    state: Described<RandomState>,
) -> Status {
    answer(|| {
        let place = state.required("state")?;
        let stream = of(generator)?.0.state().stream;
        place.set(&RandomState {
            size_bytes: size_of::<RandomState>() as u64,
            key: stream.key,
            position: stream.position,
            jumps: stream.jumps,
            reserved: 0,
        });
        Ok(())
    })
}

/// Puts a generator somewhere else.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_set_state(generator: Handle, state: Options<RandomState>) -> Status {
    answer(|| {
        let generator = of(generator)?;
        let mut whole = generator.0.state();
        whole.stream = state.read()?.stream();
        generator.0.set_state(whole);
        Ok(())
    })
}

/// Leaves words out.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_advance(generator: Handle, words: i64) -> Status {
    answer(|| {
        of(generator)?.0.advance(words);
        Ok(())
    })
}

/// A generator further on.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_jumped(generator: Handle, jumps: u32, result: Out<Handle>) -> Status {
    answer(|| {
        let place = result.required("result")?;
        place.write(insert(of(generator)?.0.jumped(jumps)?));
        Ok(())
    })
}

/// Generators of keys of their own.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_spawn(
    generator: Handle,
    count: u32,
    results: ItemsOut<u64>,
) -> Status {
    answer(|| {
        let places = results.slice(count as usize, "results")?;
        let children = of(generator)?.0.spawn(count);
        for (place, child) in places.iter_mut().zip(children) {
            *place = insert(child).bits();
        }
        Ok(())
    })
}

/// Fills an array with numbers of a distribution.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_draw(
    generator: Handle,
    distribution: Text,
    a: f64,
    b: f64,
    out: Handle,
) -> Status {
    answer(|| {
        let generator = of(generator)?;
        let what = described(distribution.required("distribution")?, a, b)?;
        fill(&generator.0, &what, out)
    })
}

/// Fills an array with whole numbers.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_integers(
    generator: Handle,
    low: i64,
    span: u64,
    out: Handle,
) -> Status {
    answer(|| {
        let generator = of(generator)?;
        let low = i128::from(low);
        let span = if span == 0 { 1 << 64 } else { i128::from(span) };
        let what = Draw::Integers {
            low,
            high: low + span,
        };
        fill(&generator.0, &what, out)
    })
}

/// The numbers below a count in random order.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_permutation(
    generator: Handle,
    device: Handle,
    count: i64,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let generator = of(generator)?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        toolchain::of_process();
        let ops = DeviceOps::of(device.context.open_device()?)?;
        let made = permutation(&ops, &generator.0, count)?;
        place.write(ArrayObject::insert(made, Some(device)));
        Ok(())
    })
}

/// x with elements set to zero and the others scaled.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_dropout(
    x: Handle,
    p: f64,
    state: Options<RandomState>,
    options: Options<OpsOptions>,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let stream = state.read()?.stream();
        let call = Call::of("dropout", &[("x", x)], &[], options.out()?)?;
        let made = dropout(&call.ops, call.operand(0), p, stream, call.out())?;
        place.write(call.insert(made));
        Ok(())
    })
}

/// Words in the order in which `TensorFlow` draws them.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_tensorflow_bits(
    device: Handle,
    key: u64,
    counter_low: u64,
    counter_high: u64,
    count: i64,
    result: Out<Handle>,
) -> Status {
    answer(|| {
        let place = result.required("result")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        toolchain::of_process();
        let ops = DeviceOps::of(device.context.open_device()?)?;
        let counter = u128::from(counter_high) << 64 | u128::from(counter_low);
        let made = tensorflow_bits(&ops, key, counter, count)?;
        place.write(ArrayObject::insert(made, Some(device)));
        Ok(())
    })
}

/// The normal numbers that `TensorFlow` draws, in memory at an address.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_random_tensorflow_normal_at(
    device: Handle,
    key: u64,
    counter_low: u64,
    counter_high: u64,
    is_truncated: bool,
    out: Items<COperand>,
) -> Status {
    answer(|| {
        let call = CallAt::of(device)?;
        let out = call.array(out, "out")?;
        let counter = u128::from(counter_high) << 64 | u128::from(counter_low);
        tensorflow_normal(&call.ops, key, counter, is_truncated, &out)?;
        Ok(())
    })
}

fn of(generator: Handle) -> Answer<Arc<GeneratorObject>> {
    handles::get(generator, "generator")
}

fn fill(generator: &Generator, what: &Draw, out: Handle) -> Answer {
    let out = ArrayObject::alive("out", out)?;
    toolchain::of_process();
    let array: &Array = &out.array;
    let device = out.open_device()?;
    let ops = DeviceOps::of(&device)?;
    draw(&ops, generator, what, None, array.dtype, Some(array))?;
    Ok(())
}

fn described(name: &str, a: f64, b: f64) -> Answer<Draw> {
    let dtype = amdgpu_abi::Dtype::F64;
    let [first, second] = [a, b].map(|value| Operand::of_number(Scalar::Float(value), dtype));
    let known = [
        "uniform",
        "normal",
        "exponential",
        "bernoulli",
        "gamma",
        "beta",
        "poisson",
        "binomial",
    ];
    Ok(match name {
        "uniform" => Draw::Uniform {
            low: first,
            high: second,
        },
        "normal" => Draw::Normal {
            mean: first,
            deviation: second,
        },
        "exponential" => Draw::Exponential { scale: first },
        "bernoulli" => Draw::Bernoulli { chance: first },
        "gamma" => Draw::Gamma {
            shape: first,
            scale: second,
        },
        "beta" => Draw::Beta {
            a: first,
            b: second,
        },
        "poisson" => Draw::Poisson { mean: first },
        "binomial" => Draw::Binomial {
            trials: first,
            chance: second,
        },
        _ => return Err(unknown("distribution", name, known.into_iter())),
    })
}
