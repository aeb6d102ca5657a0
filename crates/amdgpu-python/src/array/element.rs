//! A number as the bytes of an element.

use amdgpu_abi::layout::{DTYPE_BOOL, DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::{Dtype, ErrorCode, Language};
use numpy::PyArrayDescr;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::Array;
use crate::errors::raise;
use crate::given::shown;
use crate::operand::{numpy_dtype, to_numpy_dtype};

/// What an argument names: a name that is known here, or whatever NumPy takes for a dtype.
pub(super) fn dtype_of(given: &Bound<'_, PyAny>) -> PyResult<Dtype> {
    let py = given.py();
    if let Ok(name) = given.cast::<PyString>()
        && let Some(known) = Dtype::from_name(&name.to_string_lossy())
    {
        return Ok(known);
    }
    let descr = py
        .import("numpy")?
        .call_method1("dtype", (given,))
        .map_err(|_| {
            let message = format!("{} is no dtype", shown(given));
            raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
        })?;
    numpy_dtype(descr.cast::<PyArrayDescr>()?)
}

/// Whether elements are integers, truth values aside.
pub(super) fn is_integer(dtype: Dtype) -> bool {
    matches!(dtype.code, DTYPE_INT | DTYPE_UINT)
}

/// The bytes of `value` as an element of the array.
pub(super) fn element_bytes(
    array: &Bound<'_, Array>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Vec<u8>> {
    let py = array.py();
    let dtype = array.get().dtype;
    let name = dtype.name().unwrap_or("?");
    let refuse = |code: ErrorCode, reason: &str| {
        let value = value
            .repr()
            .map_or_else(|_| "?".to_owned(), |text| text.to_string());
        let message = format!("fill of a {name} array with {value}: {reason}");
        raise(py, code, Language::Rust, &message)
    };
    let numpy = py.import("numpy")?;
    let given = numpy
        .call_method1("asarray", (value,))
        .map_err(|_| refuse(ErrorCode::InvalidType, "a number is expected"))?;
    let kind = given.getattr("dtype")?.getattr("kind")?;
    let kind = kind.extract::<String>()?;
    if given.getattr("ndim")?.extract::<usize>()? != 0 || !"biufcV".contains(&kind) {
        return Err(refuse(ErrorCode::InvalidType, "a number is expected"));
    }
    let wanted = to_numpy_dtype(py, dtype)?;
    if matches!(dtype.code, DTYPE_BOOL | DTYPE_INT | DTYPE_UINT) {
        check_whole(dtype, &given)?.ok_or_else(|| {
            refuse(
                ErrorCode::InvalidArgument,
                "the dtype does not hold this value",
            )
        })?;
    } else if kind == "c" && !name.starts_with("complex") {
        return Err(refuse(
            ErrorCode::InvalidType,
            "the dtype holds no complex numbers",
        ));
    }
    let element = given.call_method1("astype", (wanted,))?;
    element.call_method0("tobytes")?.extract()
}

/// Whether a value without axes is a whole number within the range of an integer dtype.
fn check_whole(dtype: Dtype, given: &Bound<'_, PyAny>) -> PyResult<Option<()>> {
    let number = given.call_method0("item")?;
    let Ok(whole) = number.call_method0("__int__") else {
        return Ok(None);
    };
    if !whole.eq(&number)? {
        return Ok(None);
    }
    let Ok(whole) = whole.extract::<i128>() else {
        return Ok(None);
    };
    let bits = u32::from(dtype.bits);
    let (low, high) = match dtype.code {
        DTYPE_BOOL => (0, 1),
        DTYPE_INT => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        _ => (0, (1_i128 << bits) - 1),
    };
    Ok((low..=high).contains(&whole).then_some(()))
}
