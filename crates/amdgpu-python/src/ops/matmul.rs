//! Matrix product, bound to `amdgpu_matrix::Matrix::matmul`.

use amdgpu_abi::layout::{DEVICE_CPU, DTYPE_COMPLEX};
use amdgpu_abi::{DeviceRef, Dtype, ErrorCode, Language};
use amdgpu_matrix::{MatmulOptions, Matrix, Precision, TensorView, TensorViewMut};
use amdgpu_telemetry::Boundary;
use numpy::PyArrayDyn;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::operand::{Operand, to_numpy_dtype};

static MATMUL: Boundary = Boundary::new(Language::Python, Language::Rust, "matmul");
const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

/// The dtypes of a product.
#[derive(Clone, Copy)]
struct Kinds {
    operands: Dtype,
    result: Dtype,
    precision: Precision,
}

impl Kinds {
    /// Half precision and bfloat16 stay what they are where both operands are; others are rounded from float32 and give float32.
    fn choose(precision: &str, a: Option<Dtype>, b: Option<Dtype>) -> Self {
        let narrow = |dtype: Dtype, rounding: Precision| {
            if a == Some(dtype) && b == Some(dtype) {
                Self::alike(dtype)
            } else {
                Self {
                    precision: rounding,
                    ..Self::alike(Dtype::F32)
                }
            }
        };
        match precision {
            "fp64" => Self::alike(Dtype::F64),
            "bf16" => narrow(Dtype::BF16, Precision::Bf16),
            "fp16" => narrow(Dtype::F16, Precision::F16),
            "int8" => Self {
                result: Dtype::I32,
                ..Self::alike(Dtype::I8)
            },
            _ => Self::alike(Dtype::F32),
        }
    }

    fn alike(dtype: Dtype) -> Self {
        Self {
            operands: dtype,
            result: dtype,
            precision: Precision::Operands,
        }
    }
}

/// `a @ b` computed in `precision`, into `out` or a new NumPy array.
#[pyfunction]
#[pyo3(signature = (a, b, out=None, *, precision="fp32", alpha=1.0, beta=0.0, threads=None, transpose_a=false, transpose_b=false))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn matmul<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    precision: &str,
    alpha: f64,
    beta: f64,
    threads: Option<u32>,
    transpose_a: bool,
    transpose_b: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = MATMUL.enter();
    let (lent_a, lent_b) = (Operand::borrow_host(a)?, Operand::borrow_host(b)?);
    let dtype_of = |lent: &Option<Operand<'_>>| lent.as_ref().map(|operand| operand.dtype);
    let kinds = Kinds::choose(precision, dtype_of(&lent_a), dtype_of(&lent_b));
    let mut a = operand("a", a, lent_a, kinds.operands)?;
    let mut b = operand("b", b, lent_b, kinds.operands)?;
    for (operand, is_transposed) in [(&mut a, transpose_a), (&mut b, transpose_b)] {
        if is_transposed {
            operand.shape.reverse();
            operand.strides.reverse();
        }
    }
    check_shapes(py, &a, &b)?;
    let result = match out {
        Some(out) => out.clone(),
        None => empty(py, a.shape[0], b.shape[1], kinds.result)?,
    };
    let target = checked_out(&result, kinds.result)?;
    let options = MatmulOptions {
        alpha,
        beta,
        precision: kinds.precision,
        thread_limit: threads,
    };
    let (a, b, target) = (View(&a), View(&b), View(&target));
    py.detach(move || -> Result<(), amdgpu_matrix::Error> {
        // SAFETY: the operands keep their memory alive until after the call; `out` is writable and overlap is refused by the core.
        unsafe { multiply(a, b, target, &options) }
    })
    .into_py_result(py)?;
    Ok(result)
}

/// A matrix whose elements are all written by the product; with an empty inner dimension it writes zeros.
fn empty(py: Python<'_>, rows: i64, columns: i64, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    let shape = [rows as usize, columns as usize];
    // SAFETY: see above; a failed product drops the array unread.
    unsafe {
        Ok(if dtype == Dtype::F32 {
            PyArrayDyn::<f32>::new(py, &shape[..], false).into_any()
        } else if dtype == Dtype::F64 {
            PyArrayDyn::<f64>::new(py, &shape[..], false).into_any()
        } else if dtype == Dtype::I32 {
            PyArrayDyn::<i32>::new(py, &shape[..], false).into_any()
        } else {
            py.import("numpy")?
                .call_method1("empty", ((rows, columns), to_numpy_dtype(py, dtype)?))?
        })
    }
}

/// An operand on its way into the detached call.
#[derive(Clone, Copy)]
struct View<'a>(&'a Operand<'a>);

// SAFETY: only the plain fields are read while detached; the Python owner is neither touched nor dropped there.
unsafe impl Send for View<'_> {}

/// # Safety
///
/// The memory of all operands is valid, and `target` writable.
unsafe fn multiply(
    a: View<'_>,
    b: View<'_>,
    target: View<'_>,
    options: &MatmulOptions,
) -> Result<(), amdgpu_matrix::Error> {
    let (a, b, target) = (a.0, b.0, target.0);
    // SAFETY: as the caller promises.
    unsafe {
        let a = TensorView::from_parts(a.data, a.dtype, HOST, &a.shape, Some(&a.strides))?;
        let b = TensorView::from_parts(b.data, b.dtype, HOST, &b.shape, Some(&b.strides))?;
        let mut target = TensorViewMut::from_parts(
            target.data,
            target.dtype,
            HOST,
            &target.shape,
            Some(&target.strides),
        )?;
        Matrix::global()?.matmul(&a, &b, &mut target, options)
    }
}

/// The memory of an operand in `dtype`; converted through NumPy when it has another one.
fn operand<'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    borrowed: Option<Operand<'py>>,
    dtype: Dtype,
) -> PyResult<Operand<'py>> {
    let py = object.py();
    if let Some(operand) = &borrowed
        && operand.dtype.code == DTYPE_COMPLEX
    {
        let message = format!("{name} is complex; products are computed for real numbers");
        return Err(raise(
            py,
            ErrorCode::UnsupportedDtype,
            Language::Rust,
            &message,
        ));
    }
    match borrowed {
        Some(operand) if operand.dtype == dtype => Ok(operand),
        _ if dtype == Dtype::I8 => {
            let message = format!(
                "{name} is not an int8 array: precision 'int8' multiplies int8 operands; quantise them first"
            );
            Err(raise(
                py,
                ErrorCode::UnsupportedDtype,
                Language::Rust,
                &message,
            ))
        }
        _ => {
            let numpy = py.import("numpy")?;
            let refuse = |error: PyErr| {
                let message = format!(
                    "{name} cannot be converted to {}: {}",
                    dtype.name().unwrap_or("?"),
                    error.value(py)
                );
                raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
            };
            let source = numpy.call_method1("asarray", (object,)).map_err(refuse)?;
            let kind = source
                .getattr("dtype")?
                .getattr("kind")?
                .extract::<String>()?;
            if !"biufV".contains(&kind) {
                let message = format!(
                    "{name} has dtype {}; products are computed for real numbers",
                    source.getattr("dtype")?
                );
                return Err(raise(
                    py,
                    ErrorCode::UnsupportedDtype,
                    Language::Rust,
                    &message,
                ));
            }
            let converted = source
                .call_method1("astype", (dtype.name(),))
                .map_err(refuse)?;
            Operand::borrow(&converted, None)?.ok_or_else(|| {
                raise(
                    py,
                    ErrorCode::Internal,
                    Language::Rust,
                    "numpy.astype made no array",
                )
            })
        }
    }
}

fn check_shapes(py: Python<'_>, a: &Operand<'_>, b: &Operand<'_>) -> PyResult<()> {
    match (&a.shape[..], &b.shape[..]) {
        ([_, inner], [other, _]) if inner == other => Ok(()),
        ([_, _], [_, _]) => {
            let message = format!("inner dimensions differ: {:?} @ {:?}", a.shape, b.shape);
            Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ))
        }
        _ => {
            let message = format!(
                "matrix_multiply takes matrices (two axes), not shapes {:?} and {:?}",
                a.shape, b.shape
            );
            Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ))
        }
    }
}

fn checked_out<'py>(out: &Bound<'py, PyAny>, dtype: Dtype) -> PyResult<Operand<'py>> {
    let py = out.py();
    let operand = Operand::borrow_host(out)?.ok_or_else(|| {
        raise(
            py,
            ErrorCode::InvalidType,
            Language::Rust,
            "out must be an array to write to",
        )
    })?;
    if operand.dtype != dtype {
        let name = |dtype: Dtype| dtype.name().unwrap_or("?");
        let message = format!(
            "out has dtype {}, the product {}",
            name(operand.dtype),
            name(dtype)
        );
        return Err(raise(
            py,
            ErrorCode::UnsupportedDtype,
            Language::Rust,
            &message,
        ));
    }
    if !operand.is_writable {
        return Err(raise(
            py,
            ErrorCode::ReadOnly,
            Language::Rust,
            "out is read-only",
        ));
    }
    Ok(operand)
}
