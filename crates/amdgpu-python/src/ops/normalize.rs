//! Normalisations, bound to `amdgpu_matrix::Matrix::normalize`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_matrix::{Matrix, Normalize, NormalizeOptions, RowAxes};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{IntoPyResult, raise};
use crate::ops::tensors;

static NORMALIZE: Boundary = Boundary::new(Language::Python, Language::Rust, "normalize");
static GRADIENT: Boundary = Boundary::new(Language::Python, Language::Rust, "normalize_gradient");

fn known(py: Python<'_>, operation: &str) -> PyResult<Normalize> {
    Normalize::from_name(operation).ok_or_else(|| {
        let message = format!("no normalisation is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// `operation(x)` over `axes`, or over the last axes of shape `row_shape`, with scale and shift as far as given, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, x, parameters, axes, out=None, *, row_shape=None, epsilon=0.0, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn normalize<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyTuple>,
    axes: Vec<i64>,
    out: Option<&Bound<'py, PyAny>>,
    row_shape: Option<Vec<i64>>,
    epsilon: f64,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = NORMALIZE.enter();
    let known = known(py, operation)?;
    let input = tensors::array(operation, "x", x)?;
    let lent = parameters
        .iter()
        .zip(["scale", "shift"])
        .map(|(object, name)| tensors::array(operation, name, &object))
        .collect::<PyResult<Vec<_>>>()?;
    let view = input.view().into_py_result(py)?;
    let parameter_views = lent
        .iter()
        .map(tensors::Lent::view)
        .collect::<Result<Vec<_>, _>>()
        .into_py_result(py)?;
    let described = known.describe(&view);
    let (made, target) = tensors::result(operation, &described, out, std::slice::from_ref(x))?;
    let options = NormalizeOptions {
        axes: row_shape
            .as_deref()
            .map_or(RowAxes::Named(&axes), RowAxes::Last),
        epsilon,
        thread_limit: threads,
    };
    let mut target = target.view_mut().into_py_result(py)?;
    py.detach(|| {
        Matrix::global()?.normalize(known, &view, &parameter_views, &mut target, &options)
    })
    .into_py_result(py)?;
    Ok(made)
}

/// The gradient of `operation` by `x` (of the softmaxes its result) from that of the result; axes as for [`normalize`].
#[pyfunction]
#[pyo3(signature = (operation, x, gradient, scale, axes, out=None, *, row_shape=None, epsilon=0.0, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn normalize_gradient<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    scale: Option<&Bound<'py, PyAny>>,
    axes: Vec<i64>,
    out: Option<&Bound<'py, PyAny>>,
    row_shape: Option<Vec<i64>>,
    epsilon: f64,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = GRADIENT.enter();
    let known = known(py, operation)?;
    let name = format!("{operation}_gradient");
    let input = tensors::array(&name, "x", x)?;
    let lent_gradient = tensors::array(&name, "gradient", gradient)?;
    let lent_scale = scale
        .map(|object| tensors::array(&name, "weight", object))
        .transpose()?;
    let view = input.view().into_py_result(py)?;
    let gradient_view = lent_gradient.view().into_py_result(py)?;
    let scale_view = lent_scale
        .as_ref()
        .map(tensors::Lent::view)
        .transpose()
        .into_py_result(py)?;
    let described = known.describe(&view);
    let (made, target) = tensors::result(&name, &described, out, std::slice::from_ref(x))?;
    let options = NormalizeOptions {
        axes: row_shape
            .as_deref()
            .map_or(RowAxes::Named(&axes), RowAxes::Last),
        epsilon,
        thread_limit: threads,
    };
    let mut target = target.view_mut().into_py_result(py)?;
    py.detach(|| {
        Matrix::global()?.normalize_gradient(
            known,
            &view,
            &gradient_view,
            scale_view.as_ref(),
            &mut target,
            &options,
        )
    })
    .into_py_result(py)?;
    Ok(made)
}
