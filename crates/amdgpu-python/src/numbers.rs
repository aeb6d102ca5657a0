//! Integers among arguments: what is none, or does not fit, is refused by name, never by an `OverflowError` from inside.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array::Dims;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::errors::raise;
use crate::given::{shown, wrong_type};

fn integer<'py, T: FromPyObjectOwned<'py>>(what: &str, value: &Bound<'py, PyAny>) -> PyResult<T> {
    value.extract::<T>().map_err(|error| {
        let py = value.py();
        let error: PyErr = error.into();
        if !error.is_instance_of::<PyOverflowError>(py) {
            return wrong_type(what, value, "an integer");
        }
        let message = format!("{what} is {}, which is out of range", shown(value));
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
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

/// A byte that memory is filled with.
pub fn byte(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    integer("value", value)
}

/// The position of a node of a graph.
pub fn node(value: &Bound<'_, PyAny>) -> PyResult<usize> {
    integer("node", value)
}

/// Extents of a shape: integers, or one sequence of them.
pub fn extents(value: &Bound<'_, PyAny>) -> PyResult<Dims> {
    let Ok(items) = value.cast::<PyTuple>() else {
        let items = value.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        return extents(PyTuple::new(value.py(), items)?.as_any());
    };
    if let Ok(one) = items.get_borrowed_item(0)
        && items.len() == 1
        && (one.is_instance_of::<PyTuple>() || one.is_instance_of::<PyList>())
    {
        let items = one.try_iter()?;
        return items.map(|item| extent(&item?)).collect();
    }
    items.iter_borrowed().map(|item| extent(&item)).collect()
}

fn extent(item: &Bound<'_, PyAny>) -> PyResult<i64> {
    integer("an extent of the shape", item)
}

/// Axes: None, one integer, or a sequence of them.
pub fn axes(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<i64>>> {
    let Some(value) = value.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    if value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>() {
        let items = value.try_iter()?;
        return items
            .map(|item| integer("an axis", &item?))
            .collect::<PyResult<_>>()
            .map(Some);
    }
    Ok(Some(vec![integer("axis", value)?]))
}
