//! Blocks at offsets, bound to `amdgpu_ops::blocks`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array as core;
use amdgpu_matrix::{Block, Matrix, Scatter};
use amdgpu_ops::{DeviceOps, blocks};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static GATHER: Boundary = Boundary::new(Language::Python, Language::Rust, "gather");
static SCATTER: Boundary = Boundary::new(Language::Python, Language::Rust, "scatter");

/// Blocks of `x` at offsets, as a new array; offsets and strides count elements from index 0 of `x`.
#[pyfunction]
#[pyo3(signature = (x, offsets, block_shape, block_strides, *, threads=None))]
pub fn gather<'py>(
    x: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    block_shape: Vec<i64>,
    block_strides: Vec<i64>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = GATHER.enter();
    let inputs = [x.clone()];
    let (memory, at) = (
        host::array("gather", "x", x)?,
        host::array("gather", "offsets", offsets)?,
    );
    let block = (block_shape.as_slice(), block_strides.as_slice());
    let mut call = host::Call::new("gather", &inputs, None);
    let done = blocks::gather_on_host(&memory.view(), &at.view(), block, threads, &mut call);
    Ok(call.finish(done)?.0)
}

fn mode_of(py: Python<'_>, mode: &str) -> PyResult<Scatter> {
    Scatter::from_name(mode).ok_or_else(|| {
        let message = format!(
            "scatter: no mode is called {mode:?}; known are assign, add, multiply, maximum, minimum"
        );
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// Blocks of `target` at offsets take in values, in their order.
#[pyfunction]
#[pyo3(signature = (target, offsets, block_shape, block_strides, values, mode="assign", *, threads=None))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn scatter(
    py: Python<'_>,
    target: &Bound<'_, PyAny>,
    offsets: &Bound<'_, PyAny>,
    block_shape: Vec<i64>,
    block_strides: Vec<i64>,
    values: &Bound<'_, PyAny>,
    mode: &str,
    threads: Option<u32>,
) -> PyResult<()> {
    let _crossing = SCATTER.enter();
    let mode = mode_of(py, mode)?;
    let (at, given) = (
        host::array("scatter", "offsets", offsets)?,
        host::array("scatter", "values", values)?,
    );
    let (at, given) = (at.view(), given.view());
    let block = Block {
        shape: &block_shape,
        strides: &block_strides,
    };
    let inputs = [values.clone()];
    let mut call = host::Call::new("scatter", &inputs, Some(target));
    let done = call.write_out(amdgpu_ops::cpu::len(&given), |memory| {
        Ok(Matrix::global()?.scatter(memory, &at, block, &given, mode, threads)?)
    });
    call.finish(done).map(drop)
}

/// An argument as memory of the device; a number becomes an array of one.
fn memory_of(
    operation: &str,
    name: &str,
    object: &Bound<'_, PyAny>,
    ops: &DeviceOps,
) -> PyResult<core::Array> {
    let py = object.py();
    let lent = on_device::lend_any(operation, name, object, ops)?;
    if lent.array.is_some() {
        return lent.into_array().into_py_result(py);
    }
    amdgpu_ops::complex::cast_on_device(ops, &lent, lent.dtype, None).into_py_result(py)
}

/// Blocks of `x` at offsets, by a kernel of the device, as a new array there.
#[pyfunction]
#[pyo3(signature = (x, offsets, block_shape, block_strides, *, device))]
pub fn gather_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    offsets: &Bound<'_, PyAny>,
    block_shape: Vec<i64>,
    block_strides: Vec<i64>,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = GATHER.enter();
    let ops = on_device::ops_of(device)?;
    let memory = memory_of("gather", "x", x, &ops)?;
    let at = memory_of("gather", "offsets", offsets, &ops)?;
    let made = py
        .detach(|| blocks::gather_on_device(&ops, &memory, &at, (&block_shape, &block_strides)))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

/// Blocks of `target` at offsets take in values, by a kernel of the device.
#[pyfunction]
#[pyo3(signature = (target, offsets, block_shape, block_strides, values, mode="assign", *, device))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn scatter_on_device(
    py: Python<'_>,
    target: &Bound<'_, PyAny>,
    offsets: &Bound<'_, PyAny>,
    block_shape: Vec<i64>,
    block_strides: Vec<i64>,
    values: &Bound<'_, PyAny>,
    mode: &str,
    device: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let _crossing = SCATTER.enter();
    let mode = mode_of(py, mode)?;
    let ops = on_device::ops_of(device)?;
    let at = memory_of("scatter", "offsets", offsets, &ops)?;
    let given = on_device::lend_any("scatter", "values", values, &ops)?;
    let out = Out::of("scatter", Some(target), &ops)?;
    let Some(memory) = out.array() else {
        let message = "scatter: target is in memory of the host; copy it to the device first";
        return Err(raise(py, ErrorCode::WrongDevice, Language::Rust, message));
    };
    let block = (block_shape.as_slice(), block_strides.as_slice());
    py.detach(|| blocks::scatter_on_device(&ops, memory, &at, block, &given, mode))
        .into_py_result(py)
}
