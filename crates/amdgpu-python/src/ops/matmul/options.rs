//! Options of a matrix multiplication as Python gives them.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::matmul::{Activation, Precision};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::raise;

pub static MATMUL: Boundary = Boundary::new(Language::Python, Language::Rust, "matmul");

/// What a call asks for beside its operands and its result.
#[derive(Clone, Copy)]
pub struct Options<'a, 'py> {
    pub precision: Option<&'a str>,
    pub transposes: [bool; 2],
    pub bias: Option<&'a Bound<'py, PyAny>>,
    pub activation: Option<&'a str>,
    pub residual: Option<&'a Bound<'py, PyAny>>,
    pub alpha: f64,
    pub beta: f64,
}

pub fn given<'a, 'py>(object: Option<&'a Bound<'py, PyAny>>) -> Option<&'a Bound<'py, PyAny>> {
    object.filter(|object| !object.is_none())
}

/// What a name stands for.
pub fn named<T>(
    py: Python<'_>,
    what: &str,
    name: Option<&str>,
    find: impl Fn(&str) -> Option<T>,
) -> PyResult<Option<T>> {
    let Some(name) = name else { return Ok(None) };
    if let Some(found) = find(name) {
        return Ok(Some(found));
    }
    let known: Vec<&str> = if what == "precision" {
        Precision::ALL.map(Precision::name).to_vec()
    } else {
        Activation::ALL.map(Activation::name).to_vec()
    };
    let message = format!("{what} is '{name}'; known are {}", known.join(", "));
    Err(raise(
        py,
        ErrorCode::InvalidArgument,
        Language::Rust,
        &message,
    ))
}

/// The text of a name, for the fast path.
pub fn text<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a str> {
    object.cast::<PyString>().ok()?.to_str().ok()
}
