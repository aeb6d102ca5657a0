//! Indices of what is not zero, bound to `amdgpu_matrix::Matrix::nonzero` and `amdgpu_ops::nonzero`.

use amdgpu_abi::{Dtype, Language};
use amdgpu_matrix::{Described, Matrix};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::{on_device, tensors};

static NONZERO: Boundary = Boundary::new(Language::Python, Language::Rust, "nonzero");

/// The indices of the elements of `x` that are not zero, as a new int64 array with a row for each.
#[pyfunction]
#[pyo3(signature = (x, *, threads=None))]
pub fn nonzero<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = NONZERO.enter();
    let input = tensors::array("nonzero", "x", x)?;
    let view = input.view().into_py_result(py)?;
    let counts = tensors::compute(py, input.len(), || {
        Matrix::global()?.count_nonzero(&view, threads)
    })
    .into_py_result(py)?;
    let described = Described {
        shape: vec![counts.total() as i64, view.shape().len() as i64],
        dtype: Dtype::I64,
    };
    let (made, target) = tensors::result("nonzero", &described, None, std::slice::from_ref(x))?;
    let mut target = target.view_mut().into_py_result(py)?;
    tensors::compute(py, input.len(), || {
        Matrix::global()?.nonzero(&view, &counts, &mut target, threads)
    })
    .into_py_result(py)?;
    Ok(made)
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
        .detach(|| amdgpu_ops::nonzero::by_kernel(&ops, &input))
        .into_py_result(py)?;
    Ok(Array::from(made))
}
