//! float32 arrays in and out of the cores that compute in float32.

use amdgpu_abi::{ErrorCode, Language};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::raise;
use crate::operand::{MASKED, is_masked};

/// Anything array-like as a contiguous float32 array; the object itself when it is one already.
pub fn to_f32<'py>(
    what: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let py = object.py();
    if let Ok(array) = object.cast::<PyUntypedArray>()
        && is_masked(array)?
    {
        let message = format!("{what}: {MASKED}");
        let code = ErrorCode::InvalidArgument;
        return Err(raise(py, code, Language::Rust, &message));
    }
    if let Ok(array) = object.cast::<PyArrayDyn<f32>>()
        && array.is_c_contiguous()
    {
        return Ok(array.clone());
    }
    let numpy = py.import("numpy")?;
    let refuse = |reason: String| {
        raise(
            py,
            ErrorCode::UnsupportedDtype,
            Language::Rust,
            &format!("{what} cannot be converted to float32: {reason}"),
        )
    };
    let source = numpy
        .call_method1("asarray", (object,))
        .map_err(|error| refuse(error.value(py).to_string()))?;
    let kind = source
        .getattr("dtype")?
        .getattr("kind")?
        .extract::<String>()?;
    // Numbers, booleans and bfloat16 (kind V with a name); complex values, text and objects would lose their meaning.
    let is_bfloat16 = || -> PyResult<bool> {
        Ok(source
            .getattr("dtype")?
            .getattr("name")?
            .extract::<String>()?
            == "bfloat16")
    };
    if !"biuf".contains(&kind) && !is_bfloat16()? {
        return Err(refuse(format!("its dtype is {}", source.getattr("dtype")?)));
    }
    let keywords = PyDict::new(py);
    keywords.set_item("dtype", "float32")?;
    keywords.set_item("order", "C")?;
    let converted = numpy.call_method("asarray", (source,), Some(&keywords))?;
    Ok(converted.cast_into::<PyArrayDyn<f32>>()?)
}

/// The values of an array that `to_f32` returned.
///
/// # Safety
///
/// Nobody writes to the array while the slice is in use. Python code that does so from another thread during the call gets mixed values,
/// as with NumPy itself.
pub unsafe fn values<'a>(array: &'a Bound<'_, PyArrayDyn<f32>>) -> &'a [f32] {
    if array.len() == 0 {
        return &[];
    }
    // SAFETY: the array is contiguous, and its memory lives as long as the reference.
    unsafe { std::slice::from_raw_parts(array.data(), array.len()) }
}

/// The values of a writable contiguous float32 array.
///
/// # Errors
///
/// `unsupported-dtype`, `not-contiguous` or `read-only`: the array is written in place and so must be exactly that.
pub fn writable<'py>(
    what: &str,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let py = object.py();
    let array = object.cast::<PyArrayDyn<f32>>().map_err(|_| {
        raise(
            py,
            ErrorCode::UnsupportedDtype,
            Language::Rust,
            &format!("{what} is written in place and must be a float32 NumPy array"),
        )
    })?;
    if !array.is_c_contiguous() {
        return Err(raise(
            py,
            ErrorCode::NotContiguous,
            Language::Rust,
            &format!("{what} is not contiguous"),
        ));
    }
    if !crate::operand::numpy_memory(array.as_untyped()).1 {
        return Err(raise(
            py,
            ErrorCode::ReadOnly,
            Language::Rust,
            &format!("{what} is read-only"),
        ));
    }
    Ok(array.clone())
}

/// The values of an array that `writable` returned.
///
/// # Safety
///
/// As [`values`], and no other reference to the memory is used meanwhile.
#[allow(
    clippy::mut_from_ref,
    reason = "the memory belongs to the Python object, not to the reference"
)]
pub unsafe fn values_mut<'a>(array: &'a Bound<'_, PyArrayDyn<f32>>) -> &'a mut [f32] {
    if array.len() == 0 {
        return &mut [];
    }
    // SAFETY: as the caller promises; the array is contiguous and writable.
    unsafe { std::slice::from_raw_parts_mut(array.data(), array.len()) }
}

/// A fresh array of the shape of `like`.
pub fn empty_like<'py>(like: &Bound<'py, PyArrayDyn<f32>>) -> Bound<'py, PyArrayDyn<f32>> {
    PyArrayDyn::zeros(like.py(), like.shape(), false)
}
