//! Matrix product, bound to `amdgpu_matrix::Matrix::matmul`.

use amdgpu_abi::layout::{DEVICE_CPU, DTYPE_COMPLEX, DTYPE_FLOAT};
use amdgpu_abi::{DeviceRef, Dtype, ErrorCode, Language};
use amdgpu_matrix::{
    Activation, Described, Epilogue, MatmulOptions, Matrix, Precision, TensorView, TensorViewMut,
};
use amdgpu_telemetry::Boundary;
use numpy::PyUntypedArray;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::math::activation_of;
use crate::operand::Operand;
use crate::ops::tensors::made;

mod archived;
mod direct;
mod on_device;
mod short;

pub use archived::{
    MatmulCall, ProblemFields, fields_of, matmul_choice, matmul_choices, matmul_decision,
    matmul_is_verified, matmul_libraries, matmul_ways, problem_of,
};
pub use on_device::{matmul_on_device, register_vendor_folders};
pub use short::matmul_way;

static MATMUL: Boundary = Boundary::new(Language::Python, Language::Rust, "matmul");
const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

/// The dtypes of a product.
#[derive(Clone, Copy)]
struct Kinds {
    operands: Dtype,
    /// Of bias and residual, too.
    sums: Dtype,
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
                sums: Dtype::I32,
                result: Dtype::I32,
                ..Self::alike(Dtype::I8)
            },
            _ => Self::alike(Dtype::F32),
        }
    }

    fn alike(dtype: Dtype) -> Self {
        Self {
            operands: dtype,
            sums: if dtype == Dtype::F64 {
                dtype
            } else {
                Dtype::F32
            },
            result: dtype,
            precision: Precision::Operands,
        }
    }
}

/// `activation(alpha * (a @ b) + beta * out + bias + residual)` computed in `precision` (None: as the dtypes of the operands ask for), into `out` or
/// a new NumPy array; axes as `numpy.matmul` takes them.
#[pyfunction]
#[pyo3(signature = (a, b, out=None, *, precision=None, alpha=1.0, beta=0.0, threads=None, transpose_a=false, transpose_b=false, bias=None, residual=None, activation=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn matmul<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    precision: Option<&str>,
    alpha: f64,
    beta: f64,
    threads: Option<u32>,
    transpose_a: bool,
    transpose_b: bool,
    bias: Option<&Bound<'py, PyAny>>,
    residual: Option<&Bound<'py, PyAny>>,
    activation: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = MATMUL.enter();
    if bias.is_none()
        && residual.is_none()
        && activation.is_none()
        && (beta == 0.0 || out.is_some())
    {
        let options = MatmulOptions {
            alpha,
            beta,
            precision: Precision::Operands,
            thread_limit: threads,
        };
        let transposes = [transpose_a, transpose_b];
        for dtype in plain_dtypes(precision).into_iter().flatten() {
            if let Some(product) = direct::Product::of([a, b], out, dtype, transposes) {
                return product.compute(&options);
            }
        }
    }
    let operands = [a.clone(), b.clone()];
    let ((a, lent_a), (b, lent_b)) = (borrowed(a)?, borrowed(b)?);
    let (a, b) = (&a, &b);
    let dtype_of = |lent: &Option<Operand<'_>>| lent.as_ref().map(|operand| operand.dtype);
    let precision =
        precision.unwrap_or_else(|| precision_of([dtype_of(&lent_a), dtype_of(&lent_b)]));
    let kinds = Kinds::choose(precision, dtype_of(&lent_a), dtype_of(&lent_b));
    let mut a = operand("a", a, lent_a, kinds.operands)?;
    let mut b = operand("b", b, lent_b, kinds.operands)?;
    for (operand, is_transposed) in [(&mut a, transpose_a), (&mut b, transpose_b)] {
        let rank = operand.shape.len();
        if is_transposed && rank >= 2 {
            operand.shape.swap(rank - 2, rank - 1);
            operand.strides.swap(rank - 2, rank - 1);
        }
    }
    let axes = Axes::of(py, &mut a, &mut b)?;
    let lent_bias = bias
        .map(|bias| operand("bias", bias, Operand::borrow_host(bias)?, kinds.sums))
        .transpose()?;
    let mut lent_residual = residual
        .map(|given| operand("residual", given, Operand::borrow_host(given)?, kinds.sums))
        .transpose()?;
    if let Some(operand) = &mut lent_residual {
        stretch(py, operand, &axes.shape)?;
        axes.complete(operand);
    }
    let activation = activation
        .map(|name| activation_of(py, name, None, None))
        .transpose()?;
    let result = match out {
        Some(out) => out.clone(),
        None if beta == 0.0 => {
            let described = Described {
                shape: axes.shape.clone(),
                dtype: kinds.result,
            };
            made("matrix_multiply", &described, &operands)?
        }
        None => {
            let message = "beta scales what out holds, and no out was given";
            return Err(raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                message,
            ));
        }
    };
    let mut target = checked_out(&result, &axes.shape, kinds.result)?;
    axes.complete(&mut target);
    let options = MatmulOptions {
        alpha,
        beta,
        precision: kinds.precision,
        thread_limit: threads,
    };
    let views = Views {
        a: &a,
        b: &b,
        target: &target,
        bias: lent_bias.as_ref(),
        residual: lent_residual.as_ref(),
    };
    py.detach(move || -> Result<(), amdgpu_matrix::Error> {
        // SAFETY: the operands keep their memory alive until after the call; `out` is writable and overlap is refused by the core.
        unsafe { multiply(&views, activation, &options) }
    })
    .into_py_result(py)?;
    Ok(result)
}

/// An operand that lends its memory, or what `NumPy` makes of it.
fn borrowed<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Option<Operand<'py>>)> {
    let lent = Operand::borrow_host(object)?;
    if lent.is_none() {
        let numpy = object.py().import("numpy")?;
        // What is no array of numbers is refused later, with its name.
        if let Ok(array) = numpy.call_method1("asarray", (object,))
            && let Ok(lent) = Operand::borrow_host(&array)
        {
            return Ok((array, lent));
        }
    }
    Ok((object.clone(), lent))
}

/// What is computed in where the caller does not say it: float64 where an operand has digits that float32 has not, so float64 and integers of 32
/// and 64 bits.
fn precision_of(dtypes: [Option<Dtype>; 2]) -> &'static str {
    let needs_f64 = |dtype: Dtype| match dtype.code {
        DTYPE_FLOAT => dtype.bits > 32,
        _ => dtype.bits >= 32,
    };
    if dtypes.into_iter().flatten().any(needs_f64) {
        "fp64"
    } else {
        "fp32"
    }
}

/// The dtypes of operands that are computed in as they are: of one precision, or of those that operands may ask for.
fn plain_dtypes(precision: Option<&str>) -> [Option<Dtype>; 2] {
    match precision {
        Some(known) => [plain_dtype(known), None],
        None => [Some(Dtype::F32), Some(Dtype::F64)],
    }
}

/// The dtype of operands that a precision computes in as they are.
fn plain_dtype(precision: &str) -> Option<Dtype> {
    amdgpu_abi::dtypes::Precision::from_name(precision).map(|known| known.format().dtype())
}

/// How the axes of the operands become those of the result, by the rules of `numpy.matmul`.
struct Axes {
    shape: Vec<i64>,
    /// Where the operand was a vector and the result lacks the axis of its matrix.
    is_row_missing: bool,
    is_column_missing: bool,
}

impl Axes {
    /// Vectors become matrices of one row or column.
    fn of(py: Python<'_>, a: &mut Operand<'_>, b: &mut Operand<'_>) -> PyResult<Self> {
        let refuse =
            |message: String| raise(py, ErrorCode::ShapeMismatch, Language::Rust, &message);
        if a.shape.is_empty() || b.shape.is_empty() {
            return Err(refuse(format!(
                "matrix_multiply takes vectors, matrices and stacks of matrices, not shapes {:?} and {:?}",
                a.shape, b.shape
            )));
        }
        let inner = b.shape.len().saturating_sub(2);
        if a.shape.last() != b.shape.get(inner) {
            return Err(refuse(format!(
                "inner dimensions differ: {:?} @ {:?}",
                a.shape, b.shape
            )));
        }
        let is_row_missing = a.shape.len() == 1;
        let is_column_missing = b.shape.len() == 1;
        let (lead_a, lead_b) = (
            &a.shape[..a.shape.len().saturating_sub(2)],
            &b.shape[..inner],
        );
        let mut shape = stretched(lead_a, lead_b).ok_or_else(|| {
            refuse(format!(
                "the axes before the matrices do not stretch to each other: {:?} @ {:?}",
                a.shape, b.shape
            ))
        })?;
        if !is_row_missing {
            shape.push(a.shape[a.shape.len() - 2]);
        }
        if !is_column_missing {
            shape.push(b.shape[b.shape.len() - 1]);
        }
        if is_row_missing {
            insert(a, 0);
        }
        if is_column_missing {
            insert(b, 1);
        }
        Ok(Self {
            shape,
            is_row_missing,
            is_column_missing,
        })
    }

    /// Gives an array of the result's shape the axes that the result lacks.
    fn complete(&self, operand: &mut Operand<'_>) {
        if self.is_column_missing {
            insert(operand, operand.shape.len());
        }
        if self.is_row_missing {
            insert(operand, operand.shape.len() - 1);
        }
    }
}

fn insert(operand: &mut Operand<'_>, axis: usize) {
    operand.shape.insert(axis, 1);
    operand.strides.insert(axis, 1);
}

/// The shape that both stretch to (`NumPy`'s rule: from the last axis on, extents are equal or 1).
fn stretched(first: &[i64], second: &[i64]) -> Option<Vec<i64>> {
    let (long, short) = if first.len() >= second.len() {
        (first, second)
    } else {
        (second, first)
    };
    let mut shape = long.to_vec();
    let lead = long.len() - short.len();
    for (extent, other) in shape[lead..].iter_mut().zip(short) {
        if *extent == 1 {
            *extent = *other;
        } else if *other != 1 && *other != *extent {
            return None;
        }
    }
    Some(shape)
}

/// Repeats a residual along the axes in which the result is longer.
fn stretch(py: Python<'_>, residual: &mut Operand<'_>, shape: &[i64]) -> PyResult<()> {
    if stretched(&residual.shape, shape).as_deref() != Some(shape) {
        let message = format!(
            "residual has shape {:?}, which does not stretch to the product's {shape:?}",
            residual.shape
        );
        return Err(raise(
            py,
            ErrorCode::ShapeMismatch,
            Language::Rust,
            &message,
        ));
    }
    let lead = shape.len() - residual.shape.len();
    let mut strides = vec![0; shape.len()];
    for (axis, stride) in residual.strides.iter().enumerate() {
        if residual.shape[axis] == shape[lead + axis] {
            strides[lead + axis] = *stride;
        }
    }
    residual.shape = shape.into();
    residual.strides = strides.into();
    Ok(())
}

/// Operands on their way into the detached call.
#[derive(Clone, Copy)]
struct Views<'a> {
    a: &'a Operand<'a>,
    b: &'a Operand<'a>,
    target: &'a Operand<'a>,
    bias: Option<&'a Operand<'a>>,
    residual: Option<&'a Operand<'a>>,
}

// SAFETY: only the plain fields are read while detached; the Python owners are neither touched nor dropped there.
unsafe impl Send for Views<'_> {}

/// # Safety
///
/// The memory of all operands is valid, and that of `target` writable.
unsafe fn multiply(
    views: &Views<'_>,
    activation: Option<Activation>,
    options: &MatmulOptions,
) -> Result<(), amdgpu_matrix::Error> {
    // SAFETY: as the caller promises.
    let read = |operand| unsafe { view(operand) };
    let (a, b, target) = (read(views.a)?, read(views.b)?, views.target);
    // SAFETY: as the caller promises.
    let mut target = unsafe {
        TensorViewMut::from_parts(
            target.data,
            target.dtype,
            HOST,
            &target.shape,
            Some(&target.strides),
        )
    }?;
    let epilogue = Epilogue {
        bias: views.bias.map(read).transpose()?,
        residual: views.residual.map(read).transpose()?,
        activation,
    };
    Matrix::global()?.matmul_then(&a, &b, &mut target, options, &epilogue)
}

/// # Safety
///
/// The memory of the operand is valid.
unsafe fn view<'a>(operand: &'a Operand<'a>) -> Result<TensorView<'a>, amdgpu_matrix::Error> {
    // SAFETY: as the caller promises.
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
            let refuse = |error: PyErr| {
                let message = format!(
                    "{name} cannot be converted to {}: {}",
                    dtype.name().unwrap_or("?"),
                    error.value(py)
                );
                let code = if error.is_instance_of::<PyMemoryError>(py) {
                    ErrorCode::OutOfMemory
                } else {
                    ErrorCode::UnsupportedDtype
                };
                raise(py, code, Language::Rust, &message)
            };
            let numpy = py.import("numpy")?;
            let as_array = |object: Bound<'py, PyAny>| {
                numpy.call_method1("asarray", (object,)).map_err(refuse)
            };
            let source = match borrowed {
                Some(lent) if !object.is_instance_of::<PyUntypedArray>() => {
                    let array = Array::adopt(py, lent)?;
                    // Of others than itself NumPy takes no bfloat16.
                    if array.dtype == Dtype::BF16 {
                        array.numpy(py)?
                    } else {
                        as_array(Bound::new(py, array)?.into_any())?
                    }
                }
                _ => as_array(object.clone())?,
            };
            let kind = source
                .getattr("dtype")?
                .getattr("kind")?
                .extract::<String>()?;
            if dtype == Dtype::I32 && !"biu".contains(&kind) {
                let message = format!(
                    "{name} has dtype {}; an integer product takes integers",
                    source.getattr("dtype")?
                );
                return Err(raise(
                    py,
                    ErrorCode::UnsupportedDtype,
                    Language::Rust,
                    &message,
                ));
            }
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

fn checked_out<'py>(
    out: &Bound<'py, PyAny>,
    shape: &[i64],
    dtype: Dtype,
) -> PyResult<Operand<'py>> {
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
    if operand.shape.as_slice() != shape {
        let message = format!("out has shape {:?}, the product {shape:?}", operand.shape);
        return Err(raise(
            py,
            ErrorCode::ShapeMismatch,
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
