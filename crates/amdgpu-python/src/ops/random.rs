//! `_native.RandomGenerator` and raw random words, bound to `amdgpu_ops::random`.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array as core;
use amdgpu_hal::{DeviceKind, MemoryKind};
use amdgpu_ops::random::{
    Choice, Draw, Generator, InterleavedLayout, SeedSequence, State, Stream, choice, draw, dropout,
    interleaved_bits, permutation, tensorflow_bits, tensorflow_normal, tensorflow_stateless,
};
use amdgpu_ops::{DeviceOps, Operand, trace};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::device::Device;
use crate::errors::{IntoPyResult, raise};
use crate::operand;
use crate::ops::number::is_number;
use crate::ops::on_device::{self, Out};

static RANDOM: Boundary = Boundary::new(Language::Python, Language::Rust, "random");

/// Key, position, jumps, entropy, path of children, number of children.
type StateTuple = (u64, u64, u32, Vec<u32>, Vec<u32>, u32);

/// A source of random numbers.
#[pyclass(frozen, module = "amdgpu")]
pub struct RandomGenerator(Generator);

fn state_of((key, position, jumps, entropy, spawn_key, children): StateTuple) -> State {
    State {
        stream: Stream {
            key,
            position,
            jumps,
        },
        seeds: SeedSequence {
            entropy,
            spawn_key,
            children,
        },
    }
}

#[pymethods]
impl RandomGenerator {
    #[new]
    fn new(entropy: Vec<u32>) -> Self {
        Self(Generator::new(&entropy))
    }

    /// Everything that decides about the next numbers: key, position, jumps, entropy, path of children, number of children.
    fn state(&self) -> StateTuple {
        let State { stream, seeds } = self.0.state();
        (
            stream.key,
            stream.position,
            stream.jumps,
            seeds.entropy,
            seeds.spawn_key,
            seeds.children,
        )
    }

    /// Puts the generator where another one stood.
    fn set_state(&self, state: StateTuple) {
        self.0.set_state(state_of(state));
    }

    /// Leaves out so many words of 32 bits.
    fn advance(&self, words: i64) {
        self.0.advance(words);
    }

    /// A generator 2^96 blocks further on for each jump.
    fn jumped(&self, py: Python<'_>, jumps: u32) -> PyResult<Self> {
        Ok(Self(self.0.jumped(jumps).into_py_result(py)?))
    }

    /// Generators with keys of their own.
    fn spawn(&self, count: u32) -> Vec<Self> {
        self.0.spawn(count).into_iter().map(Self).collect()
    }

    /// The place of so many elements, which nobody else gets: key, position, jumps.
    fn take(&self, py: Python<'_>, words_each: u64, count: u64) -> PyResult<(u64, u64, u32)> {
        trace::check_repeatable("a draw of random numbers").into_py_result(py)?;
        let stream = self.0.take(words_each, count);
        Ok((stream.key, stream.position, stream.jumps))
    }

    /// Numbers of a distribution by its name.
    #[pyo3(signature = (name, parameters, shape, dtype, out, device))]
    #[allow(clippy::too_many_arguments)] // One call of Python's.
    fn draw<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        parameters: Vec<(String, Bound<'py, PyAny>)>,
        shape: Option<Vec<i64>>,
        dtype: &str,
        out: Option<&Bound<'py, PyAny>>,
        device: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ops = ops_of(device)?;
        let what = described(name, &parameters, &ops)?;
        self.run(py, &what, shape.as_deref(), dtype, out, &ops)
    }

    /// Whole numbers from `low` on below `high`.
    #[pyo3(signature = (low, high, shape, dtype, out, device))]
    #[allow(clippy::too_many_arguments)] // One call of Python's.
    fn integers<'py>(
        &self,
        py: Python<'py>,
        low: i128,
        high: i128,
        shape: Option<Vec<i64>>,
        dtype: &str,
        out: Option<&Bound<'py, PyAny>>,
        device: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ops = ops_of(device)?;
        let what = Draw::Integers { low, high };
        self.run(py, &what, shape.as_deref(), dtype, out, &ops)
    }

    /// The numbers below a count in random order.
    fn permutation(
        &self,
        py: Python<'_>,
        count: i64,
        device: &Bound<'_, PyAny>,
    ) -> PyResult<Array> {
        let _crossing = RANDOM.enter();
        let ops = ops_of(device)?;
        let made = py.detach(|| permutation(&ops, &self.0, count));
        made.map(Array::from).into_py_result(py)
    }

    /// Numbers below a count, chosen at random.
    #[pyo3(signature = (count, shape, replace, p, device))]
    fn choice<'py>(
        &self,
        py: Python<'py>,
        count: i64,
        shape: Vec<i64>,
        replace: bool,
        p: Option<&Bound<'py, PyAny>>,
        device: &Bound<'py, PyAny>,
    ) -> PyResult<Array> {
        let _crossing = RANDOM.enter();
        let ops = ops_of(device)?;
        let chances = p
            .map(|p| on_device::lend("choice", "p", p, &ops))
            .transpose()?;
        let what = Choice {
            count,
            shape: &shape,
            replace,
            chances: chances.as_ref(),
        };
        let made = py.detach(|| choice(&ops, &self.0, &what));
        made.map(Array::from).into_py_result(py)
    }
}

impl RandomGenerator {
    fn run<'py>(
        &self,
        py: Python<'py>,
        what: &Draw,
        shape: Option<&[i64]>,
        dtype: &str,
        out: Option<&Bound<'py, PyAny>>,
        ops: &Arc<DeviceOps>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _crossing = RANDOM.enter();
        let dtype = dtype_of(py, what.name(), dtype)?;
        let out = out_of(what.name(), out, ops)?;
        let target = out.array();
        let held = shape.map(<[i64]>::to_vec).or_else(|| host_shape(&out));
        let made = py
            .detach(|| draw(ops, &self.0, what, held.as_deref(), dtype, target))
            .into_py_result(py)?;
        out.deliver(py, what.name(), made)
    }
}

/// The shape of memory that a result is copied to.
fn host_shape(out: &Out<'_, '_>) -> Option<Vec<i64>> {
    match out {
        Out::Host(object) => object.getattr("shape").ok()?.extract().ok(),
        Out::New | Out::Device(..) => None,
    }
}

/// Where numbers go: into memory of the host itself where the CPU draws them.
fn out_of<'a, 'py>(
    operation: &str,
    out: Option<&'a Bound<'py, PyAny>>,
    ops: &DeviceOps,
) -> PyResult<Out<'a, 'py>> {
    let found = Out::of(operation, out, ops)?;
    let Out::Host(object) = found else {
        return Ok(found);
    };
    if ops.device().info().kind == DeviceKind::Cpu
        && let Some(lent) = operand::Operand::borrow_host(object)?
    {
        let array: core::Array = lent.into_array(object.py())?;
        return Ok(Out::Device(object, array));
    }
    Ok(Out::Host(object))
}

/// Operations of a device, of the CPU in place.
fn ops_of(device: &Bound<'_, PyAny>) -> PyResult<Arc<DeviceOps>> {
    let py = device.py();
    let native = match device.cast::<Device>() {
        Ok(native) => native.clone(),
        Err(_) => device.getattr("native")?.cast_into::<Device>()?,
    };
    let opened = native.get().context().open_device().into_py_result(py)?;
    DeviceOps::of(opened).into_py_result(py)
}

fn dtype_of(py: Python<'_>, operation: &str, name: &str) -> PyResult<Dtype> {
    Dtype::from_name(name).ok_or_else(|| {
        let message = format!("{operation}: dtype {name} is not a type of device memory");
        raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
    })
}

/// The distribution of a name with its parameters.
fn described(
    name: &str,
    parameters: &[(String, Bound<'_, PyAny>)],
    ops: &DeviceOps,
) -> PyResult<Draw> {
    let at = |place: usize| -> PyResult<Operand> {
        let (parameter, value) = &parameters[place];
        if is_number(value) {
            return on_device::number(name, parameter, value, None, ops);
        }
        on_device::lend(name, parameter, value, ops)
    };
    Ok(match name {
        "uniform" => Draw::Uniform {
            low: at(0)?,
            high: at(1)?,
        },
        "normal" => Draw::Normal {
            mean: at(0)?,
            deviation: at(1)?,
        },
        "exponential" => Draw::Exponential { scale: at(0)? },
        "bernoulli" => Draw::Bernoulli { chance: at(0)? },
        "gamma" => Draw::Gamma {
            shape: at(0)?,
            scale: at(1)?,
        },
        "beta" => Draw::Beta {
            a: at(0)?,
            b: at(1)?,
        },
        "poisson" => Draw::Poisson { mean: at(0)? },
        _ => Draw::Binomial {
            trials: at(0)?,
            chance: at(1)?,
        },
    })
}

/// x with elements set to zero and the others scaled; the stream says which.
#[pyfunction]
#[pyo3(signature = (x, p, stream, out, device))]
pub fn random_dropout<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    p: f64,
    stream: (u64, u64, u32),
    out: Option<&Bound<'py, PyAny>>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = RANDOM.enter();
    let ops = ops_of(device)?;
    let values = on_device::lend("dropout", "x", x, &ops)?;
    let out = out_of("dropout", out, &ops)?;
    let target = out.array();
    let stream = Stream {
        key: stream.0,
        position: stream.1,
        jumps: stream.2,
    };
    let made = py
        .detach(|| dropout(&ops, &values, p, stream, target))
        .into_py_result(py)?;
    out.deliver(py, "dropout", made)
}

/// Raw words in the order of `PyTorch`'s CUDA kernels.
#[pyfunction]
#[pyo3(signature = (count, seed, offset, threads, device))]
pub fn random_torch_bits(
    py: Python<'_>,
    count: i64,
    seed: u64,
    offset: u64,
    threads: u64,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = RANDOM.enter();
    let ops = ops_of(device)?;
    let made = py.detach(|| interleaved_bits(&ops, seed, offset, threads, count));
    made.map(Array::from).into_py_result(py)
}

/// Threads, and what the offset grows by, of a draw of `PyTorch`'s on a CUDA device.
#[pyfunction]
pub fn random_torch_layout(
    count: u64,
    multiprocessors: u64,
    threads_each: u64,
    unroll: u64,
) -> (u64, u64) {
    let layout = InterleavedLayout::of(count, multiprocessors, threads_each, unroll);
    (layout.threads, layout.offset_step)
}

/// Raw words of `TensorFlow`'s `PhiloxRandom`.
#[pyfunction]
#[pyo3(signature = (count, key, counter, device))]
pub fn random_tensorflow_bits(
    py: Python<'_>,
    count: i64,
    key: u64,
    counter: u128,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = RANDOM.enter();
    let ops = ops_of(device)?;
    let made = py.detach(|| tensorflow_bits(&ops, key, counter, count));
    made.map(Array::from).into_py_result(py)
}

/// Normal numbers of `TensorFlow`.
#[pyfunction]
#[pyo3(signature = (count, key, counter, dtype, is_truncated, device))]
pub fn random_tensorflow_normal(
    py: Python<'_>,
    count: i64,
    key: u64,
    counter: u128,
    dtype: &str,
    is_truncated: bool,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = RANDOM.enter();
    let ops = ops_of(device)?;
    let dtype = dtype_of(py, "tensorflow_normal", dtype)?;
    let shape = core::Dims::from_slice(&[count]);
    let out = core::Array::empty(ops.device(), shape, dtype, MemoryKind::Device);
    let out = out.into_py_result(py)?;
    py.detach(|| tensorflow_normal(&ops, key, counter, is_truncated, &out))
        .into_py_result(py)?;
    Ok(out.into())
}

/// Key and counter of `TensorFlow`'s stateless operations.
#[pyfunction]
pub fn random_tensorflow_stateless(
    py: Python<'_>,
    seed: [u64; 2],
    device: &Bound<'_, PyAny>,
) -> PyResult<(u64, u128)> {
    let ops = ops_of(device)?;
    py.detach(|| tensorflow_stateless(&ops, seed))
        .into_py_result(py)
}
