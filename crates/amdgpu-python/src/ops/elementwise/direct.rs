//! The short way of an elementwise operation: arrays of `NumPy` of one dtype and shape without gaps, and numbers beside them. Nothing is put on
//! the heap but the result; a thousand elements take a tenth of the time that the general way takes around them.

use std::ffi::c_void;

use amdgpu_abi::Dtype;
use amdgpu_matrix::{Elementwise, ElementwiseOptions, Flat, MAX_RANK, Matrix};
use numpy::npyffi::{self, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE, PY_ARRAY_API};
use numpy::{PyArrayDescrMethods, PyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};

use crate::errors::IntoPyResult;

/// Inputs of an operation at most.
const MAX_INPUTS: usize = 4;
/// Elements up to which the interpreter is kept: about 20 us on one core, and giving it away costs other calls less than they wait.
const KEEPING_ELEMENTS: usize = 1 << 15;

/// An array of `NumPy`'s without gaps.
#[derive(Clone, Copy)]
struct Held<'a, 'py> {
    array: &'a Bound<'py, PyUntypedArray>,
    data: *mut c_void,
    dtype: Dtype,
    is_writable: bool,
}

impl<'a, 'py> Held<'a, 'py> {
    /// `None` for anything but an aligned, row-major array of a plain dtype.
    fn of(object: &'a Bound<'py, PyAny>) -> Option<Self> {
        let array = object.cast_exact::<PyUntypedArray>().ok()?;
        // SAFETY: the cast proved that this is an array object; both fields are set for its whole life.
        let (data, flags) = unsafe {
            let fields = npyffi::_PyArray_GET_ITEM_DATA(array.as_array_ptr());
            ((*fields).data, (*fields).flags)
        };
        let descr = array.dtype();
        let dtype = plain_dtype(descr.num())?;
        let is_plain = flags & NPY_ARRAY_C_CONTIGUOUS != 0
            && data.addr().is_multiple_of(dtype.size_bytes())
            && descr.is_native_byteorder() != Some(false);
        is_plain.then_some(Self {
            array,
            data: data.cast(),
            dtype,
            is_writable: flags & NPY_ARRAY_WRITEABLE != 0,
        })
    }

    /// Whether the `bytes` at both are apart, or the same.
    fn is_apart_or_same(&self, other: *const c_void, bytes: usize, other_bytes: usize) -> bool {
        let (here, there) = (self.data.addr(), other.addr());
        (here == there && bytes == other_bytes)
            || here + bytes <= there
            || there + other_bytes <= here
    }
}

/// Dtypes that are computed in as they are, by the type numbers of numpy/ndarraytypes.h.
fn plain_dtype(number: i32) -> Option<Dtype> {
    match number {
        0 => Some(Dtype::BOOL),
        5 => Some(Dtype::I32),
        7 | 9 => Some(Dtype::I64),
        8 | 10 => Some(Dtype::U64),
        11 => Some(Dtype::F32),
        12 => Some(Dtype::F64),
        _ => None,
    }
}

/// Pointers on their way into a detached call.
struct Lent<'a>(&'a [Flat], *mut c_void);

// SAFETY: while detached only addresses are read; the caller holds the arrays for as long.
unsafe impl Send for Lent<'_> {}

/// The result, or `None` where anything asks for the general way, errors included.
pub fn compute<'py>(
    operation: Elementwise,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    options: &ElementwiseOptions,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let count = inputs.len();
    if count != operation.inputs().len() || count > MAX_INPUTS {
        return Ok(None);
    }
    let first_object = inputs.get_borrowed_item(0)?;
    let Some(first) = Held::of(&first_object) else {
        return Ok(None);
    };
    let dtype = first.dtype;
    let Some(result_dtype) = operation.flat_result(dtype) else {
        return Ok(None);
    };
    let shape = first.array.shape();
    if shape.len() > MAX_RANK {
        return Ok(None);
    }
    let Some(len) = shape.iter().try_fold(1_usize, |len, e| len.checked_mul(*e)) else {
        return Ok(None);
    };
    let mut numbers = [[0_u8; 8]; MAX_INPUTS];
    let mut flat = [Flat::Each(first.data); MAX_INPUTS];
    for index in 1..count {
        let object = inputs.get_borrowed_item(index)?;
        if let Some(held) = Held::of(&object) {
            if held.dtype != dtype || held.array.shape() != shape {
                return Ok(None);
            }
            flat[index] = Flat::Each(held.data);
        } else if let Some(bytes) = number(&object, dtype) {
            numbers[index] = bytes;
            flat[index] = Flat::One(std::ptr::null());
        } else {
            return Ok(None);
        }
    }
    for (operand, bytes) in flat.iter_mut().zip(&numbers) {
        if matches!(operand, Flat::One(_)) {
            *operand = Flat::One(bytes.as_ptr().cast());
        }
    }
    let result = match out {
        Some(out) => out.clone(),
        None if result_dtype == dtype => like(first.array)?,
        // What may not fit in memory is the general way's to refuse.
        None if result_dtype == Dtype::BOOL && len <= 1 << 30 => {
            // SAFETY: every element is written; a failed operation drops the array unread.
            unsafe { PyArrayDyn::<bool>::new(inputs.py(), shape, false) }.into_any()
        }
        None => return Ok(None),
    };
    let Some(target) = Held::of(&result) else {
        return Ok(None);
    };
    let (bytes, result_bytes) = (len * dtype.size_bytes(), len * result_dtype.size_bytes());
    let is_apart = flat[..count].iter().all(|operand| match operand {
        Flat::Each(data) => target.is_apart_or_same(*data, result_bytes, bytes),
        Flat::One(_) => true,
    });
    if target.dtype != result_dtype
        || target.array.shape() != shape
        || !target.is_writable
        || !is_apart
    {
        return Ok(None);
    }
    if len == 0 {
        return Ok(Some(result));
    }
    let lent = Lent(&flat[..count], target.data);
    let call = move || {
        let Lent(flat, target) = &lent;
        // SAFETY: the arrays are held by the caller, of one length, and `out` was checked above.
        unsafe {
            Matrix::global()?.elementwise_flat(
                operation,
                dtype,
                flat,
                (*target, result_dtype),
                len,
                options,
            )
        }
    };
    if len <= KEEPING_ELEMENTS {
        call()
    } else {
        inputs.py().detach(call)
    }
    .into_py_result(inputs.py())?;
    Ok(Some(result))
}

/// An array of the same shape and dtype, row-major, whose elements are all written by the operation.
fn like<'py>(array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    // SAFETY: the prototype is an array; the result is a new reference, or null with an exception set. Subclasses are not asked for.
    unsafe {
        let made = PY_ARRAY_API.PyArray_NewLikeArray(
            py,
            array.as_array_ptr(),
            npyffi::NPY_ORDER::NPY_CORDER,
            std::ptr::null_mut(),
            0,
        );
        Bound::from_owned_ptr_or_err(py, made.cast())
    }
}

/// A Python number in the dtype of the arrays beside it; `None` where it is none, or the general way has to decide.
fn number(object: &Bound<'_, PyAny>, dtype: Dtype) -> Option<[u8; 8]> {
    let mut bytes = [0_u8; 8];
    let is_integer = object.is_exact_instance_of::<PyInt>();
    if dtype == Dtype::F32 || dtype == Dtype::F64 {
        if !is_integer && !object.is_exact_instance_of::<PyFloat>() {
            return None;
        }
        let value = object.extract::<f64>().ok()?;
        if dtype == Dtype::F64 {
            bytes = value.to_ne_bytes();
        } else {
            bytes[..4].copy_from_slice(&(value as f32).to_ne_bytes());
        }
    } else if is_integer && dtype == Dtype::I64 {
        bytes = object.extract::<i64>().ok()?.to_ne_bytes();
    } else if is_integer && dtype == Dtype::U64 {
        bytes = object.extract::<u64>().ok()?.to_ne_bytes();
    } else if is_integer && dtype == Dtype::I32 {
        bytes[..4].copy_from_slice(&object.extract::<i32>().ok()?.to_ne_bytes());
    } else {
        return None;
    }
    Some(bytes)
}
