//! Indices of what is not zero, bound to `amdgpu_ops::nonzero`.

use amdgpu_abi::Language;
use amdgpu_ops::nonzero::on_host;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::{host, on_device};

static NONZERO: Boundary = Boundary::new(Language::Python, Language::Rust, "nonzero");

/// The indices of the elements of `x` that are not zero, as a new int64 array with a row for each.
#[pyfunction]
#[pyo3(signature = (x, *, threads=None))]
pub fn nonzero<'py>(x: &Bound<'py, PyAny>, threads: Option<u32>) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = NONZERO.enter();
    let inputs = [x.clone()];
    let input = host::array("nonzero", "x", x)?;
    let mut call = host::Call::new("nonzero", &inputs, None);
    let done = on_host(&input.view(), threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// The indices of the elements of `x` that are not zero, by kernels of the device, as a new int64 array there.
#[pyfunction]
#[pyo3(signature = (x, *, device))]
pub fn nonzero_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = NONZERO.enter();
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend("nonzero", "x", x, &ops)?;
    let made = py
        .detach(|| amdgpu_ops::nonzero::on_device(&ops, &input))
        .into_py_result(py)?;
    Ok(Array::from(made))
}
