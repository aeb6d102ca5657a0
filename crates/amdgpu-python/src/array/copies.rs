//! Copies between arrays and memory of the host.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::{self as core, Side, recording, tracing};
use amdgpu_hal::DevicePointer;
use amdgpu_ops::strided;
use pyo3::prelude::*;

use super::bytes::host_side;
use super::{Array, indexing};
use crate::errors::{IntoPyResult, raise};
use crate::graph;
use crate::operand::Operand;
use crate::ops::transpose::transpose;

/// Copies `source`, an array of the same shape and dtype on any device, into an array.
pub fn copy_from(slf: &Bound<'_, Array>, source: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = slf.py();
    let this = slf.get();
    this.check_writable().into_py_result(py)?;
    if let (true, Ok(own)) = (tracing::is_tracing(), source.cast::<Array>()) {
        let from = &own.get().inner;
        return py
            .detach(|| strided::copy(&this.inner, from))
            .into_py_result(py);
    }
    let Some(operand) = Operand::borrow(source, None)? else {
        let message = format!(
            "copy_from needs an array, not {}",
            source.get_type().name()?
        );
        return Err(raise(py, ErrorCode::InvalidType, Language::Rust, &message));
    };
    this.check_same(py, &operand)?;
    if !this.is_contiguous() || !operand.is_contiguous() || tracing::is_tracing() {
        let from = match source.cast::<Array>() {
            Ok(own) => own.get().inner.clone(),
            Err(_) => operand.into_array(py)?,
        };
        return py
            .detach(|| strided::copy(&this.inner, &from))
            .into_py_result(py);
    }
    let lent = operand.device(py)?;
    let to = this.side();
    let from = Side {
        address: DevicePointer(operand.data.expose_provenance() as u64),
        device: lent.as_ref(),
    };
    let bytes = this.bytes() as u64;
    if recording::is_recording() {
        let device = this.recording_device().into_py_result(py)?;
        let (direction, _) = core::copy_direction(&to, &from);
        let gpu = operand.location.gpu();
        if gpu.is_some() && gpu != Some(this.device_name()) {
            let what = "copying between devices";
            return graph::check_not_recording(py, what);
        }
        let addresses = (to.address, from.address);
        recording::record_uses([this.storage().uses()]);
        if let Ok(source) = source.cast::<Array>() {
            recording::record_uses([source.get().storage().uses()]);
        }
        let owners = [slf.clone().unbind().into_any(), source.clone().unbind()];
        let owners = owners.map(|owner| Box::new(owner) as core::Owner);
        return recording::record_copy(device, addresses, bytes, direction, owners)
            .into_py_result(py);
    }
    this.settle_uses(py)?;
    let _held = Arc::clone(this.storage());
    // SAFETY: shape and dtype were compared, so both sides hold `bytes` bytes; they live until the wait is over.
    py.detach(|| unsafe { core::copy(&to, &from, bytes) })
        .into_py_result(py)
}

/// A copy in host memory.
pub fn to_host<'py>(array: &Array, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
    array.check_alive().into_py_result(py)?;
    graph::check_not_recording(py, "reading an array")?;
    tracing::check_values_unseen("reading an array", array.storage().is_traced())
        .into_py_result(py)?;
    if !array.inner.is_contiguous() && !array.is_host_visible() {
        let view = Bound::new(py, Array::from(array.inner.clone()))?;
        return indexing::cast(&view, array.inner.dtype)?.get().numpy(py);
    }
    if !array.inner.is_contiguous() {
        let view = Py::new(py, Array::from(array.inner.clone()))?;
        if array.inner.dtype != Dtype::BF16 {
            let numpy = py.import("numpy")?;
            return numpy
                .call_method1("from_dlpack", (view,))?
                .call_method0("copy");
        }
        // NumPy takes no bfloat16 through DLPack.
        let host = array.empty_host(py)?;
        let same_order = (0..array.inner.shape.len() as i64).collect();
        let view = view.bind(py).as_any();
        return transpose(view, Some(same_order), Some(&host), None);
    }
    let host = array.empty_host(py)?;
    let Some(operand) = Operand::borrow(&host, None)? else {
        return Err(raise(
            py,
            ErrorCode::Internal,
            Language::Rust,
            "numpy.empty made no array",
        ));
    };
    array.settle_uses(py)?;
    let (from, to) = (array.side(), host_side(&operand));
    // Another thread may free the array meanwhile.
    let _held = Arc::clone(array.storage());
    // SAFETY: both hold the bytes of this shape and dtype, and live until the wait is over.
    py.detach(|| unsafe { core::copy(&to, &from, array.bytes() as u64) })
        .into_py_result(py)?;
    Ok(host)
}
