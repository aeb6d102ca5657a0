//! `amdgpu.rocm`: devices by ROCm's ids and by texts.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_aura::rocm::{self, CurrentDevice, RocmDevice};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{IntoPyResult, raise};

/// The id of a device. One beyond 64 bits is none that a device has.
fn parse_id(id: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = id.py();
    if let Ok(index) = id.call_method0("__index__") {
        return Ok(index.extract::<i64>().unwrap_or(i64::MAX));
    }
    let message = format!("device_id must be an integer, got {}", id.repr()?);
    Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message))
}

fn describe<'py>(py: Python<'py>, device: &RocmDevice) -> PyResult<Bound<'py, PyDict>> {
    let described = PyDict::new(py);
    described.set_item("device_id", device.id)?;
    described.set_item("name", &device.info.product_name)?;
    described.set_item("architecture", &device.info.architecture)?;
    described.set_item("total_memory", device.total_memory_bytes)?;
    described.set_item("free_memory", device.free_memory_bytes)?;
    described.set_item("compute_units", device.compute_units())?;
    Ok(described)
}

/// Number of ROCm devices.
#[pyfunction]
pub fn rocm_device_count(py: Python<'_>) -> PyResult<usize> {
    py.detach(rocm::device_count).into_py_result(py)
}

/// Facts of a ROCm device.
#[pyfunction]
pub fn rocm_get_device_info<'py>(device_id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let (py, id) = (device_id.py(), parse_id(device_id)?);
    let device = py.detach(|| rocm::device(id)).into_py_result(py)?;
    describe(py, &device)
}

/// Make a ROCm device the current one of the calling thread.
#[pyfunction]
pub fn rocm_set_device(device_id: &Bound<'_, PyAny>) -> PyResult<()> {
    rocm::set_device_id(parse_id(device_id)?).into_py_result(device_id.py())
}

/// The id of the calling thread's current device, or -1.
#[pyfunction]
pub fn rocm_get_device(py: Python<'_>) -> PyResult<i64> {
    Ok(rocm::device_id().into_py_result(py)?.unwrap_or(-1))
}

/// Wait for the current ROCm device.
#[pyfunction]
pub fn rocm_synchronize(py: Python<'_>) -> PyResult<()> {
    py.detach(rocm::synchronize_rocm).into_py_result(py)
}

/// Make the device of a text the current one of the calling thread.
#[pyfunction]
pub fn set_device_text(device: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = device.py();
    let Ok(text) = device.extract::<String>() else {
        let message = format!(
            "device must be a text such as 'cpu' or 'rocm:0', got {}",
            device.repr()?
        );
        return Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message));
    };
    py.detach(|| rocm::set_device(&text)).into_py_result(py)
}

/// The text of the calling thread's current device.
#[pyfunction]
pub fn device_text(py: Python<'_>) -> PyResult<String> {
    rocm::device_text().into_py_result(py)
}

/// What the calling thread's current device is.
#[pyfunction]
pub fn current_device_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (described, kind) = match py.detach(rocm::device_info).into_py_result(py)? {
        CurrentDevice::Rocm(device) => (describe(py, &device)?, "rocm"),
        CurrentDevice::Other(device) => (describe(py, &device)?, device.info.kind.name()),
        CurrentDevice::Cpu(info) => {
            let described = PyDict::new(py);
            described.set_item("name", &info.product_name)?;
            described.set_item("cores", rocm::cores(&info))?;
            (described, "cpu")
        }
    };
    described.set_item("type", kind)?;
    Ok(described)
}

/// Wait for the calling thread's current device.
#[pyfunction]
pub fn synchronize_current_device(py: Python<'_>) -> PyResult<()> {
    py.detach(rocm::synchronize).into_py_result(py)
}
