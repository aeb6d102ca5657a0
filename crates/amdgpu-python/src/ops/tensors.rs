//! Arguments and results of the tensor operations.

use amdgpu_abi::layout::{DEVICE_CPU, DTYPE_BFLOAT};
use amdgpu_abi::{DeviceRef, Dtype, ErrorCode, Language};
use amdgpu_array as core;
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::{Described, TensorView, TensorViewMut};
use pyo3::exceptions::{PyMemoryError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple};

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::operand::{Operand, new_array, to_numpy_dtype};

const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

/// Memory on its way into a detached call.
pub struct Lent<'py>(Operand<'py>);

// SAFETY: while detached only the plain fields are read; the Python owner is neither touched nor dropped there.
unsafe impl Sync for Lent<'_> {}

impl Lent<'_> {
    /// The memory, for as long as the argument is held.
    pub fn view(&self) -> Result<TensorView<'_>, amdgpu_matrix::Error> {
        let operand = &self.0;
        // SAFETY: the operand keeps its memory alive. Python code that writes to it during the call makes results mixed, as with NumPy.
        unsafe {
            TensorView::from_parts(
                operand.data,
                operand.dtype,
                HOST,
                &operand.shape,
                Some(&operand.strides),
            )
        }
    }

    /// The memory of an `out` that [`result`] returned.
    pub fn view_mut(&self) -> Result<TensorViewMut<'_>, amdgpu_matrix::Error> {
        let operand = &self.0;
        // SAFETY: as above; `result` checked that it is writable, and overlap is refused by the core.
        unsafe {
            TensorViewMut::from_parts(
                operand.data,
                operand.dtype,
                HOST,
                &operand.shape,
                Some(&operand.strides),
            )
        }
    }

    pub fn dtype(&self) -> Dtype {
        self.0.dtype
    }

    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Additions up to which the interpreter is kept: about 20 us on one core, and giving it away costs other calls less than they wait.
pub const KEEPING_OPERATIONS: u64 = 1 << 15;

/// Runs `call`, which takes as long as so many additions, without the interpreter where others gain by that.
pub fn compute<T: Send>(py: Python<'_>, operations: u64, call: impl FnOnce() -> T + Send) -> T {
    if operations <= KEEPING_OPERATIONS {
        call()
    } else {
        py.detach(call)
    }
}

/// An array argument: what lends memory is read where it is, the rest goes through `numpy.asarray`.
pub fn array<'py>(operation: &str, name: &str, object: &Bound<'py, PyAny>) -> PyResult<Lent<'py>> {
    if let Some(operand) = Operand::borrow_host(object)? {
        return Ok(Lent(operand));
    }
    let py = object.py();
    let refuse = |why: &str| {
        let message = format!("{operation}: {name} is no array of numbers: {why}");
        raise(py, ErrorCode::InvalidType, Language::Rust, &message)
    };
    let converted = py
        .import("numpy")?
        .call_method1("asarray", (object,))
        .map_err(|error| refuse(&error.value(py).to_string()))?;
    let kind = converted
        .getattr("dtype")?
        .getattr("kind")?
        .extract::<String>()?;
    if !"biuf".contains(&kind) {
        return Err(refuse(&format!(
            "it becomes {}",
            converted.getattr("dtype")?
        )));
    }
    Operand::borrow(&converted, None)?
        .map(Lent)
        .ok_or_else(|| refuse("it lends no memory"))
}

/// A Python number takes the dtype of the arrays beside it, unless it is of a higher kind (NumPy's rule for such scalars, NEP 50).
pub fn scalar_dtype(number: &Bound<'_, PyAny>, arrays: Dtype) -> Dtype {
    let is_float = matches!(
        arrays.name(),
        Some("float16" | "bfloat16" | "float32" | "float64")
    );
    if is_float || number.is_instance_of::<PyBool>() {
        return if is_float { arrays } else { Dtype::BOOL };
    }
    if number.is_instance_of::<PyFloat>() {
        return Dtype::F64;
    }
    if arrays == Dtype::BOOL {
        Dtype::I64
    } else {
        arrays
    }
}

/// Arguments of an operation that takes numbers beside arrays.
pub fn arrays_and_numbers<'py>(
    operation: &str,
    names: &[&str],
    objects: &[Bound<'py, PyAny>],
) -> PyResult<Vec<Lent<'py>>> {
    let is_number = |object: &Bound<'_, PyAny>| {
        object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>()
    };
    let mut common: Option<Dtype> = None;
    let mut lent = Vec::with_capacity(objects.len());
    for (index, object) in objects.iter().enumerate() {
        if is_number(object) {
            lent.push(None);
            continue;
        }
        let name = names.get(index).copied().unwrap_or("an input");
        let argument = array(operation, name, object)?;
        // The condition of `where` does not take part.
        if name != "condition" {
            let dtype = argument.dtype();
            common = Some(common.map_or(dtype, |before| amdgpu_matrix::promote(before, dtype)));
        }
        lent.push(Some(argument));
    }
    lent.into_iter()
        .zip(objects)
        .enumerate()
        .map(|(index, (argument, object))| {
            if let Some(argument) = argument {
                return Ok(argument);
            }
            let name = names.get(index).copied().unwrap_or("an input");
            match common {
                Some(dtype) if name != "condition" => {
                    number(operation, name, object, scalar_dtype(object, dtype))
                }
                _ => array(operation, name, object),
            }
        })
        .collect()
}

/// A number as an array without axes.
fn number<'py>(
    operation: &str,
    name: &str,
    value: &Bound<'py, PyAny>,
    dtype: Dtype,
) -> PyResult<Lent<'py>> {
    let py = value.py();
    let descr = to_numpy_dtype(py, dtype)?;
    // ml_dtypes takes no integer beyond 64 bits for a bfloat16.
    let is_integer = dtype.code == DTYPE_BFLOAT && value.is_instance_of::<PyInt>();
    let taken = if is_integer {
        value.call_method0("__float__")
    } else {
        Ok(value.clone())
    };
    let made = taken
        .and_then(|taken| py.import("numpy")?.call_method1("array", (taken, descr)))
        .map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(py) {
                let message = format!(
                    "{operation}: {name} is {value}, which does not fit {}",
                    dtype.name().unwrap_or("the dtype of the arrays")
                );
                return raise(py, ErrorCode::InvalidArgument, Language::Rust, &message);
            }
            error
        })?;
    array(operation, name, &made)
}

/// `out` where it was given, checked for writing; else a new array: an `amdgpu.Array` when `like` is one, else a NumPy array.
pub fn result<'py>(
    operation: &str,
    described: &Described,
    out: Option<&Bound<'py, PyAny>>,
    like: &[Bound<'py, PyAny>],
) -> PyResult<(Bound<'py, PyAny>, Lent<'py>)> {
    if let Some(out) = out {
        return Ok((out.clone(), writable(operation, "out", out)?));
    }
    let made = made(operation, described, like)?;
    let lent = writable(operation, "out", &made)?;
    Ok((made, lent))
}

/// A new array for a result: an `amdgpu.Array` when `like` has one, else a NumPy array.
pub fn made<'py>(
    operation: &str,
    described: &Described,
    like: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    like.iter()
        .find_map(|object| own_array_like(object, &described.shape, described.dtype))
        .unwrap_or_else(|| match like.first() {
            Some(first) => empty(first.py(), operation, described),
            None => unreachable!("every operation has an input"),
        })
}

/// An array argument that is written where it is.
pub fn writable<'py>(operation: &str, name: &str, out: &Bound<'py, PyAny>) -> PyResult<Lent<'py>> {
    let py = out.py();
    let operand = Operand::borrow_host(out)?.ok_or_else(|| {
        let message = format!("{operation}: {name} must be an array to write to");
        raise(py, ErrorCode::InvalidType, Language::Rust, &message)
    })?;
    if !operand.is_writable {
        let message = format!("{operation}: {name} is read-only");
        return Err(raise(py, ErrorCode::ReadOnly, Language::Rust, &message));
    }
    Ok(Lent(operand))
}

/// A new array on the CPU device of `object`, if that is an array of ours there.
pub fn own_array_like<'py>(
    object: &Bound<'py, PyAny>,
    shape: &[i64],
    dtype: Dtype,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let py = object.py();
    let array = object.cast::<Array>().ok()?;
    let device = array.get().open_device()?;
    if !device.info().capabilities.host_visible {
        return None;
    }
    let made = core::Array::empty(device, shape, dtype, MemoryKind::Device).into_py_result(py);
    Some(made.and_then(|array| Ok(Bound::new(py, Array::from(array))?.into_any())))
}

/// A NumPy array whose elements are all written by the operation.
fn empty<'py>(
    py: Python<'py>,
    operation: &str,
    described: &Described,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(made) = new_array(py, &described.shape, described.dtype) {
        return Ok(made);
    }
    let descr = to_numpy_dtype(py, described.dtype)?;
    py.import("numpy")?
        .call_method1("empty", (PyTuple::new(py, &described.shape)?, descr))
        .map_err(|error| {
            // NumPy says ValueError where the bytes cannot even be counted.
            if error.is_instance_of::<PyMemoryError>(py) || error.is_instance_of::<PyValueError>(py)
            {
                let message = format!(
                    "{operation}: no memory for a result of shape {:?} and dtype {}",
                    described.shape,
                    described.dtype.name().unwrap_or("of the inputs")
                );
                return raise(py, ErrorCode::OutOfMemory, Language::Rust, &message);
            }
            error
        })
}
