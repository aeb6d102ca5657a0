//! The Math core (Julia).

use std::path::PathBuf;

use amdgpu_abi::layout::MathTable;
use amdgpu_abi::ops::{ACTIVATIONS, ActivationRow};
use amdgpu_abi::{Activation, ErrorCode, Language};
use amdgpu_math::Math;
use numpy::{PyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{IntoPyResult, raise};
use crate::floats::{empty_like, to_f32, values, values_mut, writable};

/// An activation by name, with its default parameters where none are given.
pub fn activation_of(
    py: Python<'_>,
    name: &str,
    alpha: Option<f32>,
    beta: Option<f32>,
) -> PyResult<Activation> {
    let Some((row, kind)) = ActivationRow::of_name(name).and_then(|row| Some((row, row.number?)))
    else {
        let stateless = ACTIVATIONS.iter().filter(|row| row.number.is_some());
        let known: Vec<_> = stateless.map(|row| row.name).collect();
        let message = format!("activation is {name:?}; known are {}", known.join(", "));
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            &message,
        ));
    };
    Ok(Activation {
        kind,
        alpha: alpha.unwrap_or(row.default_of(0) as f32),
        beta: beta.unwrap_or(row.default_of(1) as f32),
        reserved: 0,
    })
}

/// Whether Julia is there, without starting it.
#[pyfunction]
pub fn math_availability(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let availability = py.detach(Math::availability);
    let result = PyDict::new(py);
    result.set_item("found", availability.found)?;
    result.set_item("version", availability.version)?;
    result.set_item(
        "path",
        availability.path.map(|path| path.display().to_string()),
    )?;
    result.set_item("reason", availability.reason)?;
    Ok(result)
}

/// Whether the Math core runs already.
#[pyfunction]
pub fn math_is_started() -> bool {
    Math::is_started()
}

/// Address of the Matrix core's matrix multiplication, for `AgpuKernels.use_matmul`.
#[pyfunction]
pub fn math_matmul_address(py: Python<'_>) -> PyResult<usize> {
    amdgpu_math::matmul_address().into_py_result(py)
}

/// Use the Julia runtime that juliacall runs in this process.
#[pyfunction]
pub fn math_adopt_table(
    py: Python<'_>,
    pointer: usize,
    version: &str,
    source: PathBuf,
) -> PyResult<()> {
    let table = std::ptr::with_exposed_provenance::<MathTable>(pointer);
    // juliacall needs Julia 1.10, which adopts threads that enter through a C function pointer. The interpreter is held meanwhile, as it
    // is for every other call of juliacall: its garbage collector does not expect Julia code beside it.
    let runner = Box::new(|task: amdgpu_math::Task| Python::attach(|_| task()));
    // SAFETY: the façade passes what `AgpuKernels.table()` returned in the running Julia; the table lives as long as the process.
    unsafe { Math::adopt(table, runner, version, &source) }
        .map(|_| ())
        .into_py_result(py)
}

#[pyfunction]
#[pyo3(signature = (x, kind, alpha=None, beta=None))]
pub fn math_activation<'py>(
    x: &Bound<'py, PyAny>,
    kind: &str,
    alpha: Option<f32>,
    beta: Option<f32>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let py = x.py();
    let activation = activation_of(py, kind, alpha, beta)?;
    let input = to_f32("x", x)?;
    let output = empty_like(&input);
    // SAFETY: `output` is fresh; `input` is only read.
    let (from, to) = unsafe { (values(&input), values_mut(&output)) };
    py.detach(|| Math::global()?.activation(from, to, activation))
        .into_py_result(py)?;
    Ok(output)
}

#[pyfunction]
pub fn math_softmax<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let py = x.py();
    let input = to_f32("x", x)?;
    let columns = *input.shape().last().ok_or_else(|| {
        raise(
            py,
            ErrorCode::ShapeMismatch,
            Language::Rust,
            "softmax needs at least one axis; x is 0-d",
        )
    })?;
    let rows = input.len().checked_div(columns).unwrap_or(0);
    let output = empty_like(&input);
    // SAFETY: as above.
    let (from, to) = unsafe { (values(&input), values_mut(&output)) };
    py.detach(|| Math::global()?.softmax(from, to, rows, columns))
        .into_py_result(py)?;
    Ok(output)
}

#[pyfunction]
pub fn math_adaptive_learning_rate<'py>(
    gradients: &Bound<'py, PyAny>,
    momentum: &Bound<'py, PyAny>,
    learning_rate: f32,
    decay: f32,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let py = gradients.py();
    let gradients = to_f32("gradients", gradients)?;
    let momentum = writable("momentum", momentum)?;
    let rates = empty_like(&gradients);
    // SAFETY: three different arrays; momentum is the caller's to give.
    let (from, state, to) = unsafe {
        (
            values(&gradients),
            values_mut(&momentum),
            values_mut(&rates),
        )
    };
    py.detach(|| Math::global()?.adaptive_learning_rate(from, state, to, learning_rate, decay))
        .into_py_result(py)?;
    Ok(rates)
}

#[pyfunction]
pub fn math_momentum_update(
    weights: &Bound<'_, PyAny>,
    gradients: &Bound<'_, PyAny>,
    velocity: &Bound<'_, PyAny>,
    learning_rate: f32,
    momentum: f32,
) -> PyResult<()> {
    let py = weights.py();
    let weights = writable("weights", weights)?;
    let velocity = writable("velocity", velocity)?;
    let gradients = to_f32("gradients", gradients)?;
    if weights.is(&velocity) || weights.is(&gradients) || velocity.is(&gradients) {
        let message = "weights, gradients and velocity must be three different arrays";
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            message,
        ));
    }
    // SAFETY: three different arrays; two of them are the caller's to give.
    let (to, from, state) = unsafe {
        (
            values_mut(&weights),
            values(&gradients),
            values_mut(&velocity),
        )
    };
    py.detach(|| Math::global()?.momentum_update(to, from, state, learning_rate, momentum))
        .into_py_result(py)
}
