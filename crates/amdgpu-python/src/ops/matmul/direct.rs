//! The short way of a product: matrices that `NumPy` holds in the dtype that is computed in, and nothing after the sums. Nothing is put on the heap
//! but the result; at 64 x 64 the general way takes a tenth of the time of the product itself.

use std::ffi::c_void;

use amdgpu_abi::Dtype;
use amdgpu_matrix::{Described, MatmulOptions, Matrix, TensorView, TensorViewMut};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::HOST;
use crate::errors::IntoPyResult;
use crate::operand::{new_array, numpy_dtype, numpy_memory};
use crate::ops::tensors::made;

/// Multiply-adds up to which the interpreter is kept: about 20 us on one core, and giving it away costs other calls less than they wait.
const KEEPING_MULTIPLY_ADDS: i64 = 96 * 96 * 96;

/// A matrix of `NumPy`'s.
#[derive(Clone, Copy)]
struct Held {
    data: *mut c_void,
    shape: [i64; 2],
    strides: [i64; 2],
    is_writable: bool,
}

// SAFETY: while detached only the address is read; the arrays are borrowed by the caller for as long.
unsafe impl Send for Held {}

impl Held {
    /// `None` for anything but a matrix of that dtype.
    fn of(object: &Bound<'_, PyAny>, dtype: Dtype, is_transposed: bool) -> Option<Self> {
        // Subclasses may mean more than their values: masked arrays do.
        let array = object.cast_exact::<PyUntypedArray>().ok()?;
        let (&[rows, columns], &[down, along]) = (array.shape(), array.strides()) else {
            return None;
        };
        let item_bytes = dtype.size_bytes() as isize;
        let is_whole = down % item_bytes == 0 && along % item_bytes == 0;
        if !is_whole || numpy_dtype(&array.dtype()).ok()? != dtype {
            return None;
        }
        let (data, is_writable) = numpy_memory(array);
        let mut held = Self {
            data,
            shape: [rows as i64, columns as i64],
            strides: [(down / item_bytes) as i64, (along / item_bytes) as i64],
            is_writable,
        };
        if is_transposed {
            held.shape.reverse();
            held.strides.reverse();
        }
        Some(held)
    }
}

/// The dtype of a product of operands of `dtype`.
fn result_of(dtype: Dtype) -> Dtype {
    if dtype == Dtype::I8 {
        Dtype::I32
    } else {
        dtype
    }
}

/// A product that goes the short way.
pub struct Product<'py> {
    a: Held,
    b: Held,
    target: Held,
    result: Bound<'py, PyAny>,
    dtype: Dtype,
}

impl<'py> Product<'py> {
    /// `None` where anything asks for the general way, errors included.
    pub fn of(
        operands: [&Bound<'py, PyAny>; 2],
        out: Option<&Bound<'py, PyAny>>,
        dtype: Dtype,
        transposes: [bool; 2],
    ) -> Option<Self> {
        let a = Held::of(operands[0], dtype, transposes[0])?;
        let b = Held::of(operands[1], dtype, transposes[1])?;
        let ([rows, inner], [other, columns]) = (a.shape, b.shape);
        // A result that may not fit in memory is the general way's to make.
        let is_small = rows.checked_mul(columns).is_some_and(|len| len <= 1 << 26);
        if inner != other || !is_small {
            return None;
        }
        let py = operands[0].py();
        let result = match out {
            Some(out) => out.clone(),
            // Every element is written by the product; a failed one drops the array unread.
            None => new_array(py, &[rows, columns], result_of(dtype)).or_else(|| {
                // bfloat16 is none of NumPy's own.
                let described = Described {
                    shape: vec![rows, columns],
                    dtype: result_of(dtype),
                };
                made("matrix_multiply", &described, &[operands[0].clone()]).ok()
            })?,
        };
        let target = Held::of(&result, result_of(dtype), false)?;
        (target.shape == [rows, columns] && target.is_writable).then_some(Self {
            a,
            b,
            target,
            result,
            dtype,
        })
    }

    /// Computes it; the operands must live until then, which the borrows of the caller see to.
    pub fn compute(self, options: &MatmulOptions) -> PyResult<Bound<'py, PyAny>> {
        let Self {
            a,
            b,
            target,
            result,
            dtype,
        } = self;
        let py = result.py();
        let compute = move || {
            let (a, b, target) = (&a, &b, &target);
            // SAFETY: the arrays are held by the caller, `out` is writable, and overlap is refused by the core.
            unsafe {
                let a = TensorView::from_parts(a.data, dtype, HOST, &a.shape, Some(&a.strides))?;
                let b = TensorView::from_parts(b.data, dtype, HOST, &b.shape, Some(&b.strides))?;
                let mut target = TensorViewMut::from_parts(
                    target.data,
                    result_of(dtype),
                    HOST,
                    &target.shape,
                    Some(&target.strides),
                )?;
                Matrix::global()?.matmul(&a, &b, &mut target, options)
            }
        };
        let multiply_adds = a.shape[0]
            .saturating_mul(b.shape[1])
            .saturating_mul(a.shape[1]);
        if multiply_adds <= KEEPING_MULTIPLY_ADDS {
            compute()
        } else {
            py.detach(compute)
        }
        .into_py_result(py)?;
        Ok(result)
    }
}
