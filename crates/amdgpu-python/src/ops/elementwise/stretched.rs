//! The short way of an elementwise operation whose arrays of `NumPy` have other shapes, strides or dtypes than one another: nothing is put on the
//! heap but the result.

use std::ffi::c_void;

use amdgpu_abi::Dtype;
use amdgpu_matrix::{Elementwise, ElementwiseOptions, Matrix, Stretched, promote};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::direct::{self, MAX_INPUTS};
use crate::errors::IntoPyResult;
use crate::operand::{new_array, numpy_memory, plain_dtype};
use crate::ops::tensors;

/// More axes are for the general way.
const MAX_AXES: usize = 8;

/// An array of `NumPy`'s, aligned, of a dtype that elementwise operations take.
struct Lent<'a> {
    data: *mut c_void,
    dtype: Dtype,
    shape: &'a [usize],
    strides_bytes: &'a [isize],
}

impl<'a> Lent<'a> {
    fn of(object: &'a Bound<'_, PyAny>) -> Option<Self> {
        let array = object.cast_exact::<PyUntypedArray>().ok()?;
        let descr = array.dtype();
        let dtype = plain_dtype(descr.num())?;
        let item_bytes = dtype.size_bytes();
        let strides_bytes = array.strides();
        let (data, _) = numpy_memory(array);
        let is_plain = data.addr().is_multiple_of(item_bytes)
            && descr.is_native_byteorder() != Some(false)
            && array.ndim() <= MAX_AXES
            && strides_bytes
                .iter()
                .all(|stride| stride % item_bytes as isize == 0);
        is_plain.then_some(Self {
            data,
            dtype,
            shape: array.shape(),
            strides_bytes,
        })
    }

    /// In elements, for axes of the result; those that the array lacks or has once have none.
    fn strides(&self, shape: &[i64]) -> [i64; MAX_AXES] {
        let mut strides = [0; MAX_AXES];
        let missing = shape.len() - self.shape.len();
        for (axis, (extent, stride)) in self.shape.iter().zip(self.strides_bytes).enumerate() {
            if *extent != 1 {
                strides[missing + axis] = (*stride / self.dtype.size_bytes() as isize) as i64;
            }
        }
        strides
    }
}

/// Pointers on their way into a detached call.
struct Call<'a>(&'a [Stretched<'a>], *mut c_void);

// SAFETY: while detached only addresses are read; the caller holds the arrays for as long.
unsafe impl Send for Call<'_> {}

/// The new result, or `None` where anything asks for the general way, errors included.
pub fn compute<'py>(
    operation: Elementwise,
    py: Python<'py>,
    inputs: &[Bound<'py, PyAny>],
    options: &ElementwiseOptions,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let count = inputs.len();
    if count != operation.inputs().len() || count > MAX_INPUTS {
        return Ok(None);
    }
    let mut lent: [Option<Lent<'_>>; MAX_INPUTS] = [const { None }; MAX_INPUTS];
    for (lent, object) in lent.iter_mut().zip(inputs) {
        *lent = Lent::of(object);
    }
    // The dtype in which they meet.
    let Some(dtype) = lent
        .iter()
        .flatten()
        .map(|array| array.dtype)
        .reduce(promote)
    else {
        return Ok(None);
    };
    let Some(result_dtype) = operation.flat_result(dtype) else {
        return Ok(None);
    };
    let mut extents = [1_i64; MAX_AXES];
    let mut rank = 0;
    for array in lent.iter().flatten() {
        rank = rank.max(array.shape.len());
        for (extent, other) in extents.iter_mut().rev().zip(array.shape.iter().rev()) {
            let other = *other as i64;
            if *extent == 1 {
                *extent = other;
            } else if other != 1 && other != *extent {
                return Ok(None);
            }
        }
    }
    let shape = &extents[MAX_AXES - rank..];
    let mut numbers = [[0_u8; 8]; MAX_INPUTS];
    let mut strides = [[0_i64; MAX_AXES]; MAX_INPUTS];
    for (index, object) in inputs.iter().enumerate() {
        match &lent[index] {
            Some(array) => strides[index] = array.strides(shape),
            None => match direct::number(object, dtype) {
                Some(bytes) => numbers[index] = bytes,
                None => return Ok(None),
            },
        }
    }
    let Some(len) = shape.iter().try_fold(1_i64, |len, e| len.checked_mul(*e)) else {
        return Ok(None);
    };
    let Some(result) = new_array(py, shape, result_dtype) else {
        return Ok(None);
    };
    if len == 0 {
        return Ok(Some(result));
    }
    let made = result.cast_exact::<PyUntypedArray>().map_err(PyErr::from)?;
    let target = numpy_memory(made).0;
    let stretched: [Stretched<'_>; MAX_INPUTS] = std::array::from_fn(|index| {
        let (data, dtype) = match &lent[index] {
            Some(array) => (array.data.cast_const(), array.dtype),
            None => (numbers[index].as_ptr().cast(), dtype),
        };
        let strides = &strides[index][..rank];
        Stretched {
            data,
            dtype,
            strides,
        }
    });
    let call = Call(&stretched[..count], target);
    let run = move || {
        let Call(inputs, target) = &call;
        // SAFETY: the caller holds the arrays, whose elements were stretched to `shape` above; the result is new, row-major and of that shape.
        unsafe {
            Matrix::global()?.elementwise_stretched(
                operation,
                dtype,
                inputs,
                (*target, result_dtype),
                shape,
                options,
            )
        }
    };
    tensors::compute(py, len as u64, run).into_py_result(py)?;
    Ok(Some(result))
}
