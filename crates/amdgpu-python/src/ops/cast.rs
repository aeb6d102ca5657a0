//! Values in another dtype, bound to `amdgpu_matrix::Matrix::cast` and `amdgpu_ops::cast`.

use amdgpu_abi::promotion::TENSOR_DTYPES;
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_matrix::{Described, Matrix};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::ops::on_device::{self, Out};
use crate::ops::tensors;

static CAST: Boundary = Boundary::new(Language::Python, Language::Rust, "cast");

fn known(py: Python<'_>, name: &str) -> PyResult<Dtype> {
    let found = Dtype::from_name(name).filter(|dtype| TENSOR_DTYPES.contains(dtype));
    found.ok_or_else(|| {
        let names: Vec<_> = TENSOR_DTYPES
            .iter()
            .filter_map(|dtype| dtype.name())
            .collect();
        let message = format!(
            "cast: no values are converted to {name}; known are {}",
            names.join(", ")
        );
        raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
    })
}

/// The values of `x` in another dtype, into `out`, to whose shape they broadcast, or a new array.
#[pyfunction]
#[pyo3(signature = (x, dtype, out=None, *, threads=None))]
pub fn cast<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: &str,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CAST.enter();
    let dtype = known(py, dtype)?;
    let input = tensors::array("cast", "x", x)?;
    let view = input.view().into_py_result(py)?;
    let described = Described {
        shape: view.shape().to_vec(),
        dtype,
    };
    let (made, target) = tensors::result("cast", &described, out, std::slice::from_ref(x))?;
    if target.dtype() != dtype {
        let message = format!(
            "cast: out has dtype {}; the result has {}",
            target.dtype().name().unwrap_or("?"),
            dtype.name().unwrap_or("?")
        );
        return Err(raise(
            py,
            ErrorCode::UnsupportedDtype,
            Language::Rust,
            &message,
        ));
    }
    let mut target = target.view_mut().into_py_result(py)?;
    tensors::compute(py, input.len(), || {
        Matrix::global()?.cast(&view, &mut target, threads)
    })
    .into_py_result(py)?;
    Ok(made)
}

/// The values of `x` in another dtype, by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (x, dtype, out=None, *, device))]
pub fn cast_on_device<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: &str,
    out: Option<&Bound<'py, PyAny>>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CAST.enter();
    let dtype = known(py, dtype)?;
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend("cast", "x", x, &ops)?;
    let out = Out::of("cast", out, &ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::cast::by_kernel(&ops, &input, dtype, target))
        .into_py_result(py)?;
    out.deliver(py, "cast", made)
}
