//! Offsets of the elements that indices name, bound to `amdgpu_ops::offsets`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_matrix::IndexedAxis;
use amdgpu_ops::offsets::on_host;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::{host, on_device};

static OFFSETS: Boundary = Boundary::new(Language::Python, Language::Rust, "offsets");

/// What each array of indices means; axes are numbered from 0 unless they have numbers of their own.
fn axes_of(
    py: Python<'_>,
    extents: &[i64],
    strides: &[i64],
    axes: Option<&[i64]>,
) -> PyResult<Vec<IndexedAxis>> {
    let numbered: Vec<i64> = (0..extents.len() as i64).collect();
    let axes = axes.unwrap_or(&numbered);
    if extents.len() != strides.len() || extents.len() != axes.len() {
        let message = format!(
            "offsets: {} extents, {} strides and {} axes; every axis has one of each",
            extents.len(),
            strides.len(),
            axes.len()
        );
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            &message,
        ));
    }
    let all = axes.iter().zip(extents).zip(strides);
    Ok(all
        .map(|((axis, extent), stride)| IndexedAxis {
            axis: *axis,
            extent: *extent,
            stride: *stride,
        })
        .collect())
}

/// Sums of indices times strides in elements, as a new int64 array.
#[pyfunction]
#[pyo3(signature = (indices, extents, strides, *, axes=None, threads=None))]
pub fn offsets<'py>(
    py: Python<'py>,
    indices: Vec<Bound<'py, PyAny>>,
    extents: Vec<i64>,
    strides: Vec<i64>,
    axes: Option<Vec<i64>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = OFFSETS.enter();
    let axes = axes_of(py, &extents, &strides, axes.as_deref())?;
    if indices.is_empty() {
        let message = "offsets: no arrays of indices";
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            message,
        ));
    }
    let inputs = indices
        .iter()
        .map(|one| host::array("offsets", "indices", one))
        .collect::<PyResult<Vec<_>>>()?;
    let views: Vec<_> = inputs.iter().map(host::Argument::view).collect();
    let mut call = host::Call::new("offsets", &indices, None);
    let done = on_host(&views, &axes, threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// Sums of indices times strides in elements, where the device computes them, as a new int64 array there.
#[pyfunction]
#[pyo3(signature = (indices, extents, strides, *, axes=None, device))]
pub fn offsets_on_device(
    py: Python<'_>,
    indices: Vec<Bound<'_, PyAny>>,
    extents: Vec<i64>,
    strides: Vec<i64>,
    axes: Option<Vec<i64>>,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = OFFSETS.enter();
    let axes = axes_of(py, &extents, &strides, axes.as_deref())?;
    let ops = on_device::ops_of(device)?;
    let inputs = indices
        .iter()
        .map(|one| on_device::lend("offsets", "indices", one, &ops))
        .collect::<PyResult<Vec<_>>>()?;
    let made = py
        .detach(|| amdgpu_ops::offsets::along(&ops, &inputs, &axes))
        .into_py_result(py)?;
    Ok(Array::from(made))
}
