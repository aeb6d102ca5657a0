//! Numbers of Python's beside arrays.

use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::promotion::{as_complex, complex_part, is_float};
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_ops::Scalar;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt};

use crate::errors::raise;

/// The largest number of float16.
const MOST_F16: f64 = 65504.0;

pub fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyFloat>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyComplex>()
}

/// Whether it is a number of Python's own types.
#[inline]
pub fn is_plain_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyBool>()
}

/// A Python number takes the dtype of the arrays beside it, unless it is of a higher kind (NumPy's rule for such scalars, NEP 50). Beside complex
/// arrays real ones take that of their parts.
pub fn dtype_beside(number: &Bound<'_, PyAny>, arrays: Dtype) -> Dtype {
    let arrays = complex_part(arrays);
    let is_real = is_float(arrays);
    if number.is_instance_of::<PyComplex>() {
        return if is_real {
            as_complex(arrays)
        } else {
            Dtype::C128
        };
    }
    if is_real || number.is_instance_of::<PyBool>() {
        return if is_real { arrays } else { Dtype::BOOL };
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

/// What stands for an integer beside a comparison with a dtype that does not hold it: the infinity of its sign, so that `uint8 == -3` is false
/// and `uint8 > -3` true. `None` for every other number, and for other operations.
pub fn beyond(operation: &str, value: &Bound<'_, PyAny>, dtype: Dtype) -> PyResult<Option<f64>> {
    let is_comparison = matches!(
        operation,
        "equal" | "not_equal" | "less" | "less_equal" | "greater" | "greater_equal"
    );
    let is_integer =
        matches!(dtype.code, DTYPE_INT | DTYPE_UINT) && value.is_instance_of::<PyInt>();
    if !is_comparison || !is_integer {
        return Ok(None);
    }
    let bits = u32::from(dtype.bits);
    let (least, most) = if dtype.code == DTYPE_INT {
        (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1)
    } else {
        (0, (1_i128 << bits) - 1)
    };
    match value.extract::<i128>() {
        Ok(exact) if (least..=most).contains(&exact) => Ok(None),
        _ if value.lt(0)? => Ok(Some(f64::NEG_INFINITY)),
        _ => Ok(Some(f64::INFINITY)),
    }
}

/// The error about a number that NumPy does not convert: of integers that the dtype does not hold ours, else that of NumPy.
pub fn refused(
    operation: &str,
    name: &str,
    value: &Bound<'_, PyAny>,
    dtype: Option<Dtype>,
    error: PyErr,
) -> PyErr {
    let py = value.py();
    if !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    let known = dtype.and_then(Dtype::name).unwrap_or("any dtype");
    let message = format!("{operation}: {name} is {value}, which does not fit {known}");
    raise(py, ErrorCode::NumberOutOfRange, Language::Rust, &message)
}

/// A number without NumPy's help; `None` where it is out of range or takes more than a cast.
pub fn plain(value: &Bound<'_, PyAny>, dtype: Dtype) -> Option<Scalar> {
    let is_real = value.is_exact_instance_of::<PyFloat>();
    if !is_real && !value.is_exact_instance_of::<PyInt>() {
        return None;
    }
    match (dtype.code, dtype.bits) {
        (DTYPE_FLOAT, 64) => value.extract().ok().map(Scalar::Float),
        (DTYPE_FLOAT, 32) => {
            let exact = value.extract::<f64>().ok()?;
            let rounded = exact as f32;
            let fits = rounded.is_finite() || !exact.is_finite();
            fits.then_some(Scalar::Float(f64::from(rounded)))
        }
        (DTYPE_INT, bits) if !is_real => {
            let exact = value.extract::<i64>().ok()?;
            let unused = 64 - u32::from(bits);
            let fits = exact << unused >> unused == exact;
            fits.then_some(Scalar::Int(i128::from(exact)))
        }
        (DTYPE_UINT, bits) if !is_real => {
            let exact = value.extract::<u64>().ok()?;
            let fits = exact <= u64::MAX >> (64 - u32::from(bits));
            fits.then_some(Scalar::Int(i128::from(exact)))
        }
        _ => None,
    }
}

/// The same as an element in memory of the host, of float16 and bfloat16 too.
pub fn element(value: &Bound<'_, PyAny>, dtype: Dtype) -> Option<u64> {
    if dtype.bits != 16 || !is_float(dtype) {
        return plain(value, dtype).map(|number| number.element(dtype));
    }
    let is_plain = value.is_exact_instance_of::<PyFloat>() || value.is_exact_instance_of::<PyInt>();
    let exact = value.extract::<f64>().ok().filter(|_| is_plain)?;
    // NumPy warns where a number is beyond the type, and ml_dtypes rounds by way of float32.
    let is_safe = if dtype.code == DTYPE_BFLOAT {
        f64::from(exact as f32).to_bits() == exact.to_bits()
    } else {
        exact.abs() <= MOST_F16
    };
    is_safe.then(|| Scalar::Float(exact).element(dtype))
}
