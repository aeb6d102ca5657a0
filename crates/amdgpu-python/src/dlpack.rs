//! DLPack's capsules for Python, in both directions; the structs in them are the core's.
//!
//! Source: DLPack 1.1 and the Python array API standard's data interchange page.

use std::ffi::CStr;
use std::sync::Arc;

use amdgpu_abi::Language;
use amdgpu_array::{Array, Capsule, DLPACK_VERSION, Imported};
use amdgpu_hal::Device;
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use crate::errors::{IntoPyResult, raise};

const LEGACY: &CStr = c"dltensor";
const USED_LEGACY: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// Frees what nobody consumed; a consumer renames the capsule first.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with the capsule; the name says which struct it holds and that it was not consumed.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr());
            Capsule::Legacy(managed.cast()).release();
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr());
            Capsule::Versioned(managed.cast()).release();
        }
    }
}

/// A capsule over an array, which lives as long as the consumer needs it.
pub fn export<'py>(
    py: Python<'py>,
    array: &Array,
    is_versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let managed = Capsule::export(array, is_versioned);
    let name = if is_versioned { VERSIONED } else { LEGACY };
    // SAFETY: pointer and name are valid; the destructor matches both.
    unsafe {
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyCapsule_New(managed.pointer(), name.as_ptr(), Some(drop_capsule)),
        )
    }
}

/// What a lender said against lending, as an error of ours; what is not about the tensor stays what it is.
fn refused(object: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = object.py();
    let is_refusal = error.is_instance_of::<PyBufferError>(py)
        || error.is_instance_of::<PyRuntimeError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py);
    if !is_refusal {
        return error;
    }
    let lender = object
        .get_type()
        .name()
        .map_or_else(|_| "the array".to_owned(), |name| name.to_string());
    let message = format!("{lender} does not lend its memory: {}", error.value(py));
    let raised = raise(
        py,
        amdgpu_abi::ErrorCode::InvalidArgument,
        Language::Rust,
        &message,
    );
    raised.set_cause(py, Some(error));
    raised
}

/// Take the tensor of any object with `__dlpack__`. `gpu` is where its memory is, `stream` where the consumer works on it there: producers
/// such as PyTorch refuse while another device is current.
pub fn import(
    object: &Bound<'_, PyAny>,
    gpu: Option<&Arc<dyn Device>>,
    stream: Option<u64>,
) -> PyResult<Imported> {
    let Some(gpu) = gpu else {
        return import_here(object, stream);
    };
    let mut imported = None;
    gpu.with_current(&mut || imported = Some(import_here(object, stream)))
        .into_py_result(object.py())?;
    imported.unwrap_or_else(|| import_here(object, stream))
}

fn import_here(object: &Bound<'_, PyAny>, stream: Option<u64>) -> PyResult<Imported> {
    let py = object.py();
    let keywords = PyDict::new(py);
    if let Some(stream) = stream {
        keywords.set_item("stream", stream)?;
    }
    let old_keywords = keywords.copy()?;
    keywords.set_item("max_version", (DLPACK_VERSION[0], DLPACK_VERSION[1]))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&keywords)) {
        // Producers older than the versioned protocol do not know the keyword.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            object.call_method("__dlpack__", (), Some(&old_keywords))
        }
        other => other,
    };
    let capsule = capsule.map_err(|error| refused(object, error))?;
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let is_versioned = capsule.is_valid_checked(Some(VERSIONED));
    let (name, used) = if is_versioned {
        (VERSIONED, USED_VERSIONED)
    } else {
        (LEGACY, USED_LEGACY)
    };
    let managed = capsule
        .pointer_checked(Some(name))
        .map_err(|_| {
            raise(
                py,
                amdgpu_abi::ErrorCode::InvalidArgument,
                Language::Rust,
                "the DLPack capsule was already consumed or is of an unknown kind",
            )
        })?
        .as_ptr();
    let managed = if is_versioned {
        Capsule::Versioned(managed.cast())
    } else {
        Capsule::Legacy(managed.cast())
    };
    // SAFETY: the capsule's name says which struct it holds; renaming it makes this the only consumer.
    unsafe {
        let imported = Imported::take(managed).into_py_result(py)?;
        if ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) != 0 {
            std::mem::forget(imported);
            return Err(PyErr::fetch(py));
        }
        Ok(imported)
    }
}
