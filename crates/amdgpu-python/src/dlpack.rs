//! DLPack in both directions: legacy (`dltensor`) and versioned (`dltensor_versioned`) capsules.
//!
//! Source: DLPack 1.1, `dlpack.h`, and the Python array API standard's data interchange page.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use amdgpu_abi::{Language, Tensor};
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
const VERSION: [u32; 2] = [1, 1];
const FLAG_READ_ONLY: u64 = 1;

#[repr(C)]
struct ManagedTensor {
    tensor: Tensor,
    manager_context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

#[repr(C)]
struct ManagedTensorVersioned {
    version: [u32; 2],
    manager_context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensorVersioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What an exported capsule keeps alive.
struct Exported {
    shape: Vec<i64>,
    strides: Vec<i64>,
    owner: Box<dyn Send>,
}

impl Exported {
    fn leak(
        tensor: &mut Tensor,
        shape: &[i64],
        strides: &[i64],
        owner: Box<dyn Send>,
    ) -> *mut c_void {
        let exported = Box::new(Self {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            owner,
        });
        tensor.shape = exported.shape.as_ptr().cast_mut();
        tensor.strides = exported.strides.as_ptr().cast_mut();
        Box::into_raw(exported).cast()
    }

    /// # Safety
    ///
    /// `context` came from [`Exported::leak`] and is released once.
    unsafe fn release(context: *mut c_void) {
        // SAFETY: as the caller promises.
        let exported = unsafe { Box::from_raw(context.cast::<Self>()) };
        drop(exported.owner);
    }
}

unsafe extern "C" fn delete_legacy(managed: *mut ManagedTensor) {
    // SAFETY: consumers call the deleter once, with the pointer that `export` leaked.
    unsafe {
        let managed = Box::from_raw(managed);
        Exported::release(managed.manager_context);
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedTensorVersioned) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        Exported::release(managed.manager_context);
    }
}

/// Frees what nobody consumed; a consumer renames the capsule first.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: called by Python with the capsule; the name says which struct it holds and that it was not consumed.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) == 1 {
            delete_legacy(ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        }
    }
}

/// A capsule over `tensor`, whose shape and strides are copied; `owner` lives as long as the consumer needs the memory.
pub fn export<'py>(
    py: Python<'py>,
    mut tensor: Tensor,
    shape: &[i64],
    strides: &[i64],
    is_read_only: bool,
    is_versioned: bool,
    owner: Box<dyn Send>,
) -> PyResult<Bound<'py, PyAny>> {
    let context = Exported::leak(&mut tensor, shape, strides, owner);
    let (pointer, name) = if is_versioned {
        let managed = Box::new(ManagedTensorVersioned {
            version: VERSION,
            manager_context: context,
            deleter: Some(delete_versioned),
            flags: if is_read_only { FLAG_READ_ONLY } else { 0 },
            tensor,
        });
        (Box::into_raw(managed).cast::<c_void>(), VERSIONED)
    } else {
        let managed = Box::new(ManagedTensor {
            tensor,
            manager_context: context,
            deleter: Some(delete_legacy),
        });
        (Box::into_raw(managed).cast::<c_void>(), LEGACY)
    };
    // SAFETY: pointer and name are valid; the destructor matches both.
    unsafe {
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyCapsule_New(pointer, name.as_ptr(), Some(drop_capsule)),
        )
    }
}

/// A tensor that another library lent through DLPack; given back when dropped.
pub struct Imported {
    managed: *mut c_void,
    is_versioned: bool,
    pub tensor: Tensor,
    pub is_read_only: bool,
}

// SAFETY: DLPack lets the deleter run on any thread; the struct owns the only reference to `managed`.
unsafe impl Send for Imported {}
// SAFETY: shared access only reads plain fields.
unsafe impl Sync for Imported {}

impl Imported {
    /// Shape of the tensor.
    pub fn shape(&self) -> &[i64] {
        // SAFETY: the producer guarantees `ndim` entries while the tensor is not released.
        unsafe { dims(self.tensor.shape, self.tensor.ndim) }
    }

    /// Strides in elements; row-major when the producer gave none.
    pub fn strides(&self) -> Vec<i64> {
        if self.tensor.strides.is_null() {
            return row_major(self.shape());
        }
        // SAFETY: as for the shape.
        unsafe { dims(self.tensor.strides, self.tensor.ndim) }.to_vec()
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: `managed` came from a capsule that was renamed, so this is the only release.
        unsafe {
            if self.is_versioned {
                let managed = self.managed.cast::<ManagedTensorVersioned>();
                if let Some(deleter) = (*managed).deleter {
                    deleter(managed);
                }
            } else {
                let managed = self.managed.cast::<ManagedTensor>();
                if let Some(deleter) = (*managed).deleter {
                    deleter(managed);
                }
            }
        }
    }
}

/// # Safety
///
/// `pointer` is null with `ndim` 0, or points to `ndim` values.
unsafe fn dims<'a>(pointer: *const i64, ndim: i32) -> &'a [i64] {
    if pointer.is_null() || ndim <= 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(pointer, ndim as usize) }
}

/// Strides in elements of a contiguous row-major array.
pub fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
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
    keywords.set_item("max_version", (VERSION[0], VERSION[1]))?;
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
    // SAFETY: the capsule's name says which struct it holds; renaming it makes this the only consumer.
    unsafe {
        if is_versioned && (*managed.cast::<ManagedTensorVersioned>()).version[0] != VERSION[0] {
            let version = (*managed.cast::<ManagedTensorVersioned>()).version;
            let message = format!(
                "DLPack {}.{} is not understood; this build speaks {}.{}",
                version[0], version[1], VERSION[0], VERSION[1]
            );
            return Err(raise(
                py,
                amdgpu_abi::ErrorCode::InvalidArgument,
                Language::Rust,
                &message,
            ));
        }
        if ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) != 0 {
            return Err(PyErr::fetch(py));
        }
        let (tensor, is_read_only) = if is_versioned {
            let versioned = &*managed.cast::<ManagedTensorVersioned>();
            (versioned.tensor, versioned.flags & FLAG_READ_ONLY != 0)
        } else {
            ((*managed.cast::<ManagedTensor>()).tensor, false)
        };
        Ok(Imported {
            managed,
            is_versioned,
            tensor,
            is_read_only,
        })
    }
}
