//! Errors of every crate as the Python exceptions of the catalogue.

use amdgpu_abi::{Coded, ErrorCode, Language, MetricId};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::interrupt;

static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// The exception class of a code, from `amdgpu._generated.errors.BY_CODE`.
fn class_of(py: Python<'_>, code: ErrorCode) -> PyResult<Bound<'_, PyType>> {
    let classes = CLASSES.get_or_try_init(py, || {
        let module = py.import("amdgpu._generated.errors")?;
        let classes = module.getattr("BY_CODE")?.cast_into::<PyDict>()?;
        Ok::<_, PyErr>(classes.unbind())
    })?;
    Ok(classes
        .bind(py)
        .as_any()
        .get_item(code.code())?
        .cast_into::<PyType>()?)
}

/// An exception of the catalogue with this message.
pub fn raise(py: Python<'_>, code: ErrorCode, language: Language, message: &str) -> PyErr {
    amdgpu_telemetry::counter(MetricId::ErrorsTotal, &[code.name(), language.name()]).increment();
    let build = || -> PyResult<PyErr> {
        let keywords = PyDict::new(py);
        keywords.set_item("language", language.name())?;
        let value = class_of(py, code)?.call((message,), Some(&keywords))?;
        Ok(PyErr::from_value(value))
    };
    build().unwrap_or_else(|error| {
        PyRuntimeError::new_err(format!(
            "{message} (and the exception class of {} failed: {error})",
            code.name()
        ))
    })
}

/// The Python exception of an error, or what a signal handler raised instead.
pub fn from_coded(py: Python<'_>, error: &dyn Coded) -> PyErr {
    if let Some(raised) = interrupt::take() {
        return raised;
    }
    raise(py, error.code(), error.language(), &error.to_string())
}

/// Turns `Result<T, E: Coded>` into `PyResult<T>`.
pub trait IntoPyResult<T> {
    fn into_py_result(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Coded> IntoPyResult<T> for Result<T, E> {
    fn into_py_result(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| from_coded(py, &error))
    }
}
