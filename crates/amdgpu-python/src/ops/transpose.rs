//! Axes in another order, bound to `amdgpu_ops::transpose`.

mod fast_call;

use amdgpu_abi::Language;
use amdgpu_ops::DeviceOps;
use amdgpu_ops::transpose::on_host;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::ops::host;
use crate::ops::on_device::{self, Out};

pub use fast_call::transpose_fast_call;

static TRANSPOSE: Boundary = Boundary::new(Language::Python, Language::Rust, "transpose");

/// A row-major copy of `x` with its axes in another order (None: reversed), into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (x, axes=None, out=None, *, threads=None))]
pub fn transpose<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<Vec<i64>>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = TRANSPOSE.enter();
    compute_on_host(x, axes.as_deref(), out, threads)
}

fn compute_on_host<'py>(
    x: &Bound<'py, PyAny>,
    axes: Option<&[i64]>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = host::array("transpose", "x", x)?;
    let mut call = host::Call::new("transpose", std::slice::from_ref(x), out);
    let done = on_host(&input.view(), axes, threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// A row-major copy of `x` with its axes in another order (None: reversed), by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (x, axes=None, out=None, *, device))]
pub fn transpose_on_device<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    axes: Option<Vec<i64>>,
    out: Option<&Bound<'py, PyAny>>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = TRANSPOSE.enter();
    let ops = on_device::ops_of(device)?;
    compute_on_device(py, &ops, x, axes.as_deref(), out)
}

fn compute_on_device<'py>(
    py: Python<'py>,
    ops: &DeviceOps,
    x: &Bound<'py, PyAny>,
    axes: Option<&[i64]>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let input = on_device::lend("transpose", "x", x, ops)?;
    let out = Out::of("transpose", out, ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::transpose(ops, &input, axes, target))
        .into_py_result(py)?;
    out.deliver(py, "transpose", made)
}
