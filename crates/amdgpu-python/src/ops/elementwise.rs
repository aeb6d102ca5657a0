//! Elementwise operations, bound to `amdgpu_matrix::Matrix::elementwise`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_matrix::{Elementwise, ElementwiseOptions, Matrix};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{IntoPyResult, raise};
use crate::ops::tensors;

mod direct;

static ELEMENTWISE: Boundary = Boundary::new(Language::Python, Language::Rust, "elementwise");

/// `operation(*inputs)`, broadcast, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, inputs, out=None, *, alpha=0.0, threads=None))]
pub fn elementwise<'py>(
    py: Python<'py>,
    operation: &str,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    alpha: f64,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = ELEMENTWISE.enter();
    let known = Elementwise::from_name(operation).ok_or_else(|| {
        let message = format!("no elementwise operation is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })?;
    let options = ElementwiseOptions {
        alpha,
        thread_limit: threads,
    };
    if let Some(result) = direct::compute(known, inputs, out, &options)? {
        return Ok(result);
    }
    let lent = tensors::arrays_and_numbers(operation, known.inputs(), inputs)?;
    let views = lent
        .iter()
        .map(tensors::Lent::view)
        .collect::<Result<Vec<_>, _>>()
        .into_py_result(py)?;
    let described = known.describe(&views).into_py_result(py)?;
    let objects: Vec<_> = inputs.iter().collect();
    let (made, target) = tensors::result(operation, &described, out, &objects)?;
    let mut target = target.view_mut().into_py_result(py)?;
    py.detach(|| Matrix::global()?.elementwise(known, &views, &mut target, &options))
        .into_py_result(py)?;
    Ok(made)
}
