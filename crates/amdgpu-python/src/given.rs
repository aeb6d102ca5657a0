//! Objects and texts among arguments: what is of another type is refused by name, as the modules of Python do it.

use amdgpu_abi::{ErrorCode, Language};
use pyo3::PyClass;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::errors::raise;
use crate::event::Event;
use crate::stream::Stream;

/// The error of an argument that is of another type than `expected`.
pub fn wrong_type(what: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let message = format!("{what} is {}; {expected} is expected", shown(value));
    let code = ErrorCode::InvalidType;
    raise(value.py(), code, Language::Rust, &message)
}

/// An object as messages show it: short, whatever it is.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let shorten = || -> PyResult<String> {
        let reprlib = value.py().import("reprlib")?;
        reprlib.call_method1("repr", (value,))?.extract()
    };
    shorten().unwrap_or_else(|_| "?".into())
}

fn object<'py, T: PyClass>(
    what: &str,
    value: &Bound<'py, PyAny>,
    expected: &str,
) -> PyResult<Option<Bound<'py, T>>> {
    if value.is_none() {
        return Ok(None);
    }
    let found = value.cast::<T>();
    let found = found.map_err(|_| wrong_type(what, value, expected))?;
    Ok(Some(found.clone()))
}

/// A stream, or None.
pub fn stream<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Stream>>> {
    object("stream", value, "a Stream")
}

/// An event, or None.
pub fn event_or_none<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Event>>> {
    object("event", value, "an Event")
}

pub fn event<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Event>> {
    event_or_none(value)?.ok_or_else(|| wrong_type("event", value, "an Event"))
}

/// The name of something that a kernel has.
pub fn name(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value
        .extract()
        .map_err(|_: PyErr| wrong_type("name", value, "a text"))
}

/// Arguments of a kernel, in a tuple or a list.
pub fn args<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>() {
        return value.extract();
    }
    Err(wrong_type(
        "args",
        value,
        "a tuple of the kernel's arguments",
    ))
}
