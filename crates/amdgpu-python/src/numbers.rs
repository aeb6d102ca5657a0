//! Integers among arguments: what is none, or does not fit, is refused by name, never by an `OverflowError` from inside.

use amdgpu_abi::{ErrorCode, Language};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::errors::raise;

fn integer<'py, T: FromPyObjectOwned<'py>>(what: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    value.extract::<T>().map_err(|error| {
        let py = value.py();
        let error: PyErr = error.into();
        let is_number = error.is_instance_of::<PyOverflowError>(py);
        let given = value
            .repr()
            .map_or_else(|_| "?".into(), |text| text.to_string());
        let (code, message) = if is_number {
            let message = format!("{what} is {given}, which is out of range");
            (ErrorCode::InvalidArgument, message)
        } else {
            let message = format!("{what} is {given}; pass an integer");
            (ErrorCode::InvalidType, message)
        };
        raise(py, code, Language::Rust, &message)
    })
}

/// A time limit in milliseconds; None waits for ever.
pub fn timeout_ms(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    if value.is_none() {
        return Ok(None);
    }
    integer("timeout_ms", value).map(Some)
}

pub fn shared_bytes(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    integer("shared_bytes", value)
}

/// The position of a node of a graph.
pub fn node(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    integer("node", value)
}

/// Extents of a shape: integers, or one sequence of them.
pub fn extents(value: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    let items = value.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let items = match items.as_slice() {
        [one] if one.is_instance_of::<PyTuple>() || one.is_instance_of::<PyList>() => {
            one.try_iter()?.collect::<PyResult<Vec<_>>>()?
        }
        _ => items,
    };
    items
        .iter()
        .map(|item| integer("an extent of the shape", item))
        .collect()
}
