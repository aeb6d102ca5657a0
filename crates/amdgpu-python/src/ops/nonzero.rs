//! Indices of what is not zero and elements that differ from the one before, bound to `amdgpu_ops::nonzero` and `amdgpu_ops::unique_consecutive`.

use amdgpu_abi::Language;
use amdgpu_ops::nonzero::{on_host, select_on_host};
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
        .detach(|| amdgpu_ops::nonzero(&ops, &input))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

/// The elements of `x` where `mask` is not zero, as a new array of one axis.
#[pyfunction]
#[pyo3(signature = (x, mask, *, threads=None))]
pub fn masked_select<'py>(
    x: &Bound<'py, PyAny>,
    mask: &Bound<'py, PyAny>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = NONZERO.enter();
    let values = host::array("masked_select", "x", x)?;
    let chosen = host::array("masked_select", "mask", mask)?;
    let mut call = host::Call::new("masked_select", std::slice::from_ref(x), None);
    let done = select_on_host(&values.view(), &chosen.view(), threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// The elements of `x` where `mask` is not zero, by kernels of the device, as a new array of one axis there.
#[pyfunction]
#[pyo3(signature = (x, mask, *, device))]
pub fn masked_select_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    mask: &Bound<'_, PyAny>,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = NONZERO.enter();
    let ops = on_device::ops_of(device)?;
    let values = on_device::lend("masked_select", "x", x, &ops)?;
    let chosen = on_device::lend("masked_select", "mask", mask, &ops)?;
    let made = py
        .detach(|| amdgpu_ops::masked_select(&ops, &values, &chosen))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

/// The first element of `x`, and those that are not equal to the one before, as a new array of one axis.
#[pyfunction]
#[pyo3(signature = (x, *, threads=None))]
pub fn unique_consecutive<'py>(
    x: &Bound<'py, PyAny>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = NONZERO.enter();
    let input = host::array("unique_consecutive", "x", x)?;
    let mut call = host::Call::new("unique_consecutive", std::slice::from_ref(x), None);
    let done = amdgpu_ops::unique_consecutive::on_host(&input.view(), threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// The first element of `x`, and those that are not equal to the one before, by kernels of the device, as a new array of one axis there.
#[pyfunction]
#[pyo3(signature = (x, *, device))]
pub fn unique_consecutive_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = NONZERO.enter();
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend("unique_consecutive", "x", x, &ops)?;
    let made = py
        .detach(|| amdgpu_ops::unique_consecutive(&ops, &input))
        .into_py_result(py)?;
    Ok(Array::from(made))
}
