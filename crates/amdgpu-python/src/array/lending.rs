//! Memory of arrays lent to others: the CUDA array interface and DLPack.

use amdgpu_abi::layout::DEVICE_CPU;
use amdgpu_array::{self as core, tracing};
use amdgpu_hal::DeviceKind;
use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Array, indexing};
use crate::errors::IntoPyResult;
use crate::{dlpack, graph};

/// The CUDA array interface, version 3.
pub fn cuda_interface<'py>(array: &Array, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    if array.device_kind() != DeviceKind::Cuda {
        // What `hasattr` understands.
        return Err(PyAttributeError::new_err(format!(
            "the array is on {}, not on a CUDA device",
            array.device()
        )));
    }
    array.check_alive().into_py_result(py)?;
    let _ = array.lend();
    array.pin();
    let interface = PyDict::new(py);
    interface.set_item("version", 3)?;
    interface.set_item("shape", array.shape(py)?)?;
    interface.set_item("strides", array.strides(py)?)?;
    interface.set_item("typestr", array.dtype(py)?.getattr("str")?)?;
    interface.set_item("data", (array.data() as usize, array.is_read_only))?;
    if let Some(device) = array.hal_device() {
        // Consumers wait for this one stream, so it is made to wait for the others first.
        let handle = device.default_stream().native_handle();
        if let Some(handle) = handle {
            // SAFETY: the device's own stream.
            py.detach(|| unsafe { core::order_before(device, Some(handle as i64)) })
                .into_py_result(py)?;
        }
        interface.set_item("stream", handle)?;
    }
    Ok(interface)
}

/// `kDLCPU`, the place that every array can be copied to.
const HOST: (i32, i32) = (DEVICE_CPU, 0);

/// A capsule by the protocol of `__dlpack__`; asked for host memory, an array elsewhere is copied there unless `copy` forbids it.
pub fn dlpack_capsule<'py>(
    array: &Array,
    py: Python<'py>,
    stream: Option<i64>,
    max_version: Option<(u32, u32)>,
    dl_device: Option<(i32, i32)>,
    copy: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    array.check_alive().into_py_result(py)?;
    let own = array.dlpack_device();
    if copy == Some(true) {
        let view = Bound::new(py, Array::from(array.inner.clone()))?;
        let copied = indexing::cast(&view, array.inner.dtype)?;
        return dlpack_capsule(copied.get(), py, stream, max_version, dl_device, None);
    }
    let is_elsewhere = dl_device.is_some_and(|wanted| wanted != (own.device_type, own.device_id));
    if is_elsewhere && dl_device == Some(HOST) && copy.is_none() {
        let view = Bound::new(py, Array::from(array.inner.clone()))?;
        let host = view.call_method1("to_device", ("cpu:0",))?;
        let options = PyDict::new(py);
        options.set_item("max_version", max_version)?;
        return host.call_method("__dlpack__", (), Some(&options));
    }
    if is_elsewhere {
        return Err(PyBufferError::new_err(
            "the array is lent where it is; use .to_device() or .numpy() for a copy elsewhere",
        ));
    }
    if own.device_type == DEVICE_CPU && stream.is_some_and(|stream| stream != -1) {
        return Err(PyBufferError::new_err(
            "host memory takes no stream; pass stream=None",
        ));
    }
    let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
    if array.is_read_only && !is_versioned {
        return Err(PyBufferError::new_err(
            "the array is read-only, which only versioned DLPack can say",
        ));
    }
    tracing::check_values_unseen("lending an array", array.storage().is_traced())
        .into_py_result(py)?;
    if own.device_type == DEVICE_CPU {
        array.settle_uses(py)?;
    } else if let Some(device) = array.hal_device() {
        graph::check_not_recording(py, "lending memory of a GPU")?;
        let _ = array.lend();
        // SAFETY: by the protocol of `__dlpack__` the consumer names one of its live streams.
        py.detach(|| unsafe { core::order_before(device, stream) })
            .into_py_result(py)?;
    }
    dlpack::export(py, &array.inner, is_versioned)
}
