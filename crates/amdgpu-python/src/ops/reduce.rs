//! Reductions, bound to `amdgpu_matrix::Matrix::reduce`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_matrix::{Matrix, Reduce, ReduceOptions};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::ops::tensors;

static REDUCE: Boundary = Boundary::new(Language::Python, Language::Rust, "reduce");

/// `operation(x)` over `axes` (None: all), into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, x, axes=None, out=None, *, keepdims=false, correction=0.0, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn reduce<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axes: Option<Vec<i64>>,
    out: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    correction: f64,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = REDUCE.enter();
    let known = Reduce::from_name(operation).ok_or_else(|| {
        let message = format!("no reduction is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })?;
    let input = tensors::array(operation, "x", x)?;
    let view = input.view().into_py_result(py)?;
    let options = ReduceOptions {
        axes: axes.as_deref(),
        keeps_axes: keepdims,
        correction,
        thread_limit: threads,
    };
    let described = known.describe(&view, &options).into_py_result(py)?;
    let (made, target) = tensors::result(operation, &described, out, std::slice::from_ref(x))?;
    let mut target = target.view_mut().into_py_result(py)?;
    py.detach(|| Matrix::global()?.reduce(known, &view, &mut target, &options))
        .into_py_result(py)?;
    Ok(made)
}
