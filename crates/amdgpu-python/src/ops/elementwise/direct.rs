//! The short way of an elementwise operation: arrays of `NumPy` or of a CPU device of one dtype and shape without gaps, and numbers beside them. Nothing is put on
//! the heap but the result; a thousand elements take a tenth of the time that the general way takes around them.

use std::ffi::c_void;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_COMPLEX, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT};
use amdgpu_compiler::{bfloat16_from_f64, half_from_f64};
use amdgpu_matrix::{Elementwise, ElementwiseOptions, Flat, MAX_RANK, Matrix};
use numpy::npyffi::{self, NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_WRITEABLE};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::operand::{new_array, plain_dtype};
use crate::ops::tensors;

/// Inputs of an operation at most.
pub(super) const MAX_INPUTS: usize = 4;
/// The largest number of float16.
const MOST_F16: f64 = 65504.0;
/// An array of `NumPy`'s or of a CPU device, without gaps.
#[derive(Clone, Copy)]
struct Held<'a> {
    data: *mut c_void,
    dtype: Dtype,
    shape: &'a [i64],
    is_writable: bool,
    is_ours: bool,
}

impl<'a> Held<'a> {
    /// `None` for anything but an aligned, row-major array of a plain dtype.
    fn of(object: &'a Bound<'_, PyAny>) -> Option<Self> {
        if let Ok(array) = object.cast_exact::<PyUntypedArray>() {
            return Self::of_numpy(array);
        }
        let array = object.cast_exact::<Array>().ok()?.get();
        let data = array.data();
        let is_plain = array.is_plain_host()
            && !array.is_freed()
            // Streams may be at work on it, which the general path waits for.
            && !array.has_uses()
            && array.dtype.code != DTYPE_COMPLEX
            && data.addr().is_multiple_of(array.dtype.size_bytes())
            && array.is_contiguous();
        is_plain.then_some(Self {
            data,
            dtype: array.dtype,
            shape: &array.shape,
            is_writable: !array.is_read_only,
            is_ours: true,
        })
    }

    fn of_numpy(array: &'a Bound<'_, PyUntypedArray>) -> Option<Self> {
        // SAFETY: this is an array object; both fields are set for its whole life.
        let (data, flags) = unsafe {
            let fields = npyffi::_PyArray_GET_ITEM_DATA(array.as_array_ptr());
            ((*fields).data, (*fields).flags)
        };
        let descr = array.dtype();
        let dtype = plain_dtype(descr.num())?;
        let is_plain = flags & NPY_ARRAY_C_CONTIGUOUS != 0
            && data.addr().is_multiple_of(dtype.size_bytes())
            && descr.is_native_byteorder() != Some(false);
        let extents = array.shape();
        // SAFETY: extents are not negative and have the width of a pointer: 64 bits on the targets of this package.
        let shape =
            unsafe { std::slice::from_raw_parts(extents.as_ptr().cast::<i64>(), extents.len()) };
        is_plain.then_some(Self {
            data: data.cast(),
            dtype,
            shape,
            is_writable: flags & NPY_ARRAY_WRITEABLE != 0,
            is_ours: false,
        })
    }

    /// Whether `len` elements here and at `other` are apart, or the same ones.
    fn is_apart_or_same(&self, other: *const c_void, dtype: Dtype, len: usize) -> bool {
        let (here, there) = (self.data.addr(), other.addr());
        (here == there && self.dtype == dtype)
            || here + len * self.dtype.size_bytes() <= there
            || there + len * dtype.size_bytes() <= here
    }
}

/// Pointers on their way into a detached call.
struct Lent<'a>(&'a [Flat], *mut c_void);

// SAFETY: while detached only addresses are read; the caller holds the arrays for as long.
unsafe impl Send for Lent<'_> {}

/// The result and the moment at which it was there (0 where nobody looked), or `None` where anything asks for the general way, errors included.
pub fn compute<'py>(
    operation: Elementwise,
    py: Python<'py>,
    inputs: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    options: &ElementwiseOptions,
) -> PyResult<Option<(Bound<'py, PyAny>, u64)>> {
    let count = inputs.len();
    if count != operation.inputs().len() || count > MAX_INPUTS {
        return Ok(None);
    }
    let Some(first) = Held::of(&inputs[0]) else {
        return Ok(None);
    };
    let dtype = first.dtype;
    let Some(result_dtype) = operation.flat_result(dtype) else {
        return Ok(None);
    };
    let shape = first.shape;
    if shape.len() > MAX_RANK {
        return Ok(None);
    }
    let elements = shape.iter().try_fold(1_i64, |len, e| len.checked_mul(*e));
    let Some(len) = elements.map(|len| len as usize) else {
        return Ok(None);
    };
    let mut ours = first.is_ours.then_some(&inputs[0]);
    let mut numbers = [[0_u8; 8]; MAX_INPUTS];
    let mut flat = [Flat::Each(first.data); MAX_INPUTS];
    for (index, object) in inputs.iter().enumerate().skip(1) {
        if let Some(held) = Held::of(object) {
            if held.dtype != dtype || held.shape != shape {
                return Ok(None);
            }
            flat[index] = Flat::Each(held.data);
            if held.is_ours {
                ours = ours.or(Some(object));
            }
        } else if let Some(bytes) = number(object, dtype) {
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
    // Without the interpreter, another thread could free an array of ours meanwhile: the general way holds its memory.
    let is_long = len as u64 > tensors::KEEPING_OPERATIONS;
    if is_long && ours.is_some() {
        return Ok(None);
    }
    let own = |array| tensors::own_array_like(array, shape, result_dtype);
    let made = match out {
        Some(out) => Some(out.clone()),
        None => ours
            .and_then(own)
            .transpose()?
            .or_else(|| new_array(py, shape, result_dtype)),
    };
    let Some(result) = made else {
        return Ok(None);
    };
    let Some(target) = Held::of(&result) else {
        return Ok(None);
    };
    if is_long && target.is_ours {
        return Ok(None);
    }
    let is_apart = flat[..count].iter().all(|operand| match operand {
        Flat::Each(data) => target.is_apart_or_same(*data, dtype, len),
        Flat::One(_) => true,
    });
    if target.dtype != result_dtype || target.shape != shape || !target.is_writable || !is_apart {
        return Ok(None);
    }
    if len == 0 {
        return Ok(Some((result, 0)));
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
    let end_ns = tensors::compute(py, len as u64, call).into_py_result(py)?;
    Ok(Some((result, end_ns)))
}

/// A Python number in the dtype of the arrays beside it; `None` where it is none, or the general way has to decide.
pub(super) fn number(object: &Bound<'_, PyAny>, dtype: Dtype) -> Option<[u8; 8]> {
    let is_integer = object.is_exact_instance_of::<PyInt>();
    if dtype.code == DTYPE_FLOAT || dtype.code == DTYPE_BFLOAT {
        if !is_integer && !object.is_exact_instance_of::<PyFloat>() {
            return None;
        }
        return float_bytes(object.extract::<f64>().ok()?, dtype);
    }
    if !is_integer {
        return None;
    }
    match (dtype.code, dtype.bits) {
        (DTYPE_INT, 64) => Some(object.extract::<i64>().ok()?.to_ne_bytes()),
        (DTYPE_UINT, 64) => Some(object.extract::<u64>().ok()?.to_ne_bytes()),
        (DTYPE_INT, 32) => Some(padded(&object.extract::<i32>().ok()?.to_ne_bytes())),
        (DTYPE_UINT, 32) => Some(padded(&object.extract::<u32>().ok()?.to_ne_bytes())),
        (DTYPE_INT, 16) => Some(padded(&object.extract::<i16>().ok()?.to_ne_bytes())),
        (DTYPE_UINT, 16) => Some(padded(&object.extract::<u16>().ok()?.to_ne_bytes())),
        (DTYPE_INT, 8) => Some(padded(&object.extract::<i8>().ok()?.to_ne_bytes())),
        (DTYPE_UINT, 8) => Some(padded(&object.extract::<u8>().ok()?.to_ne_bytes())),
        _ => None,
    }
}

fn float_bytes(value: f64, dtype: Dtype) -> Option<[u8; 8]> {
    match (dtype.code, dtype.bits) {
        (DTYPE_FLOAT, 64) => Some(value.to_ne_bytes()),
        // `NumPy` warns where a number is beyond the type, and ml_dtypes rounds by way of float32.
        (DTYPE_FLOAT, 32) if (value as f32).is_finite() || !value.is_finite() => {
            Some(padded(&(value as f32).to_ne_bytes()))
        }
        (DTYPE_FLOAT, 16) if value.abs() <= MOST_F16 => {
            Some(padded(&half_from_f64(value).to_ne_bytes()))
        }
        (DTYPE_BFLOAT, 16) if f64::from(value as f32).to_bits() == value.to_bits() => {
            Some(padded(&bfloat16_from_f64(value).to_ne_bytes()))
        }
        _ => None,
    }
}

fn padded(bytes: &[u8]) -> [u8; 8] {
    let mut result = [0; 8];
    result[..bytes.len()].copy_from_slice(bytes);
    result
}
