//! Other shapes of the same elements.

use amdgpu_abi::promotion::is_complex;
use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array as core;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{Array, indexing};
use crate::errors::{IntoPyResult, raise};

/// The elements under another shape: a view, or a copy where they would have to move or one is asked for.
pub fn reshape<'py>(
    array: &Bound<'py, Array>,
    shape: &[i64],
    copy: Option<bool>,
) -> PyResult<Bound<'py, Array>> {
    let py = array.py();
    let own = array.get();
    own.check_alive().into_py_result(py)?;
    let view = own.reshaped_view(shape).into_py_result(py)?;
    match (view, copy) {
        (Some(view), None | Some(false)) => Bound::new(py, Array::from(view)),
        (None, Some(false)) => {
            let message = format!(
                "shape {shape:?} is no view of an array of shape {:?} and strides {:?}, and copy=False allows nothing else",
                own.shape.as_slice(),
                own.strides.as_slice()
            );
            Err(raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                &message,
            ))
        }
        (_, _) => {
            let dense = indexing::cast(array, own.dtype)?;
            let made = dense.get().reshaped(shape).into_py_result(py)?;
            Bound::new(py, Array::from(made))
        }
    }
}

/// The shape that all of these broadcast to; None where there is none.
#[pyfunction]
pub fn broadcast_shapes(py: Python<'_>, shapes: Vec<Vec<i64>>) -> PyResult<Option<Py<PyTuple>>> {
    let found = core::broadcast_shapes(shapes.iter().map(Vec::as_slice));
    found
        .map(|shape| Ok(PyTuple::new(py, shape.iter())?.unbind()))
        .transpose()
}

/// The real parts of complex numbers or the imaginary ones: a view. Real numbers are their own real parts, and have zeros for imaginary ones.
pub fn part<'py>(array: &Bound<'py, Array>, is_imaginary: bool) -> PyResult<Bound<'py, Array>> {
    let py = array.py();
    let own = array.get();
    own.check_alive().into_py_result(py)?;
    if is_complex(own.dtype) {
        return Bound::new(py, Array::from(own.complex_part(is_imaginary)));
    }
    if !is_imaginary {
        return Ok(array.clone());
    }
    let zeros = indexing::cast(array, own.dtype)?;
    zeros.call_method1("fill", (0,))?;
    Ok(zeros)
}

/// The last two axes swapped.
pub fn matrix_transpose(array: &core::Array) -> core::Result<core::Array> {
    let rank = array.shape.len() as i64;
    if rank < 2 {
        return Err(core::Error::refused(
            ErrorCode::InvalidArgument,
            format!("a matrix has two axes at least; the array has {rank}"),
        ));
    }
    let axes: Vec<_> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    array.permuted(&axes)
}
