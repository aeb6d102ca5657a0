//! `_native.matmul_on_device`: `amdgpu.matrix_multiply` on a GPU, bound to `amdgpu_ops::matmul`.

use std::path::Path;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_hal::DeviceKind;
use amdgpu_ops::complex::matmul;
use amdgpu_ops::matmul::{Activation, Matmul, NAME, Precision};
use amdgpu_ops::{DeviceOps, Operand};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::options::{MATMUL, Options, given, named};
use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::on_device::{self, Out};

/// `activation(alpha * (a @ b) + beta * out + bias + residual)` by a kernel of the device. The result is an array of the device where an
/// operand is one, a NumPy array otherwise; `out` where it was given.
#[pyfunction]
#[pyo3(signature = (a, b, out=None, *, device, precision=None, transpose_a=false, transpose_b=false, bias=None, activation=None, residual=None, alpha=1.0, beta=0.0))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn matmul_on_device<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    device: &Bound<'py, PyAny>,
    precision: Option<&str>,
    transpose_a: bool,
    transpose_b: bool,
    bias: Option<&Bound<'py, PyAny>>,
    activation: Option<&str>,
    residual: Option<&Bound<'py, PyAny>>,
    alpha: f64,
    beta: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = MATMUL.enter();
    let options = Options {
        precision,
        transposes: [transpose_a, transpose_b],
        bias: given(bias),
        activation,
        residual: given(residual),
        alpha,
        beta,
    };
    compute(
        py,
        &*on_device::ops_of(device)?,
        [a, b],
        given(out),
        &options,
    )
}

/// The product of operands that lie anywhere.
pub fn compute<'py>(
    py: Python<'py>,
    ops: &DeviceOps,
    [a, b]: [&Bound<'py, PyAny>; 2],
    out: Option<&Bound<'py, PyAny>>,
    options: &Options<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let precision = named(py, "precision", options.precision, Precision::from_name)?;
    let activation = named(py, "activation", options.activation, Activation::from_name)?;
    let lend = |name: &str, object: &Bound<'py, PyAny>| lend(name, object, precision, ops);
    let (lent_a, lent_b) = (lend("a", a)?, lend("b", b)?);
    let bias = options.bias.map(|bias| lend("bias", bias)).transpose()?;
    let residual = options
        .residual
        .map(|residual| lend("residual", residual))
        .transpose()?;
    let target = Out::of(NAME, out, ops)?;
    let held = held(
        &target,
        [Some(a), Some(b), options.bias, options.residual],
        options.beta,
        ops,
    )?;
    let call = Matmul {
        a: &lent_a,
        b: &lent_b,
        out: held.as_ref().or(target.array()),
        precision,
        transpose_a: options.transposes[0],
        transpose_b: options.transposes[1],
        bias: bias.as_ref(),
        residual: residual.as_ref(),
        activation: activation.unwrap_or_default(),
        alpha: options.alpha,
        beta: options.beta,
    };
    let made = py.detach(|| matmul(ops, &call)).into_py_result(py)?;
    let operands = [Some(a), Some(b), options.bias, options.residual];
    let is_there = operands.into_iter().flatten().any(|x| is_on(x, ops));
    if out.is_none() && !is_there {
        return Bound::new(py, Array::from(made))?.call_method0("numpy");
    }
    target.deliver(py, NAME, made)
}

/// An argument as values on the device. Of host memory, what the precision rounds to is rounded before it is copied: fewer bytes move, and
/// dtypes that kernels do not have are those of NumPy.
fn lend(
    name: &str,
    object: &Bound<'_, PyAny>,
    precision: Option<Precision>,
    ops: &DeviceOps,
) -> PyResult<Operand> {
    let py = object.py();
    let is_operand = matches!(name, "a" | "b");
    if let Ok(array) = object.cast::<Array>() {
        let is_elsewhere = array.get().is_plain_host() && array.get().device_name() != ops.name();
        if !(is_operand && is_elsewhere) {
            return on_device::lend_any(NAME, name, object, ops);
        }
    } else if !is_operand || object.hasattr("__cuda_array_interface__")? {
        return on_device::lend_any(NAME, name, object, ops);
    }
    let refuse = |why: &str| {
        let message = format!("{NAME}: {name} is no array of numbers: {why}");
        raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
    };
    let mut values = py
        .import("numpy")?
        .call_method1("asarray", (object,))
        .map_err(|error| refuse(&error.value(py).to_string()))?;
    let dtype = values.getattr("dtype")?;
    let kind = dtype.getattr("kind")?.extract::<String>()?;
    if "OUSMm".contains(&kind) {
        return Err(refuse(&format!("it becomes {dtype}")));
    }
    let wide = match precision {
        Some(Precision::Fp64) => Some("float64"),
        Some(Precision::Fp32 | Precision::Tf32) => Some("float32"),
        _ => None,
    };
    if let Some(wide) = wide.filter(|_| "biuf".contains(&kind)) {
        let keywords = PyDict::new(py);
        keywords.set_item("copy", false)?;
        values = values.call_method("astype", (wide,), Some(&keywords))?;
    }
    if object.is_instance_of::<PyUntypedArray>() {
        crate::operand::check_mask(object.cast::<PyUntypedArray>()?)?;
    }
    on_device::lend_any(NAME, name, &values, ops)
}

/// What host memory for the result holds, on the device, where it is read; `None` where it is not. Refuses what the host's library
/// refuses, although operands that are copied to the device would not be overwritten.
fn held<'py>(
    target: &Out<'_, 'py>,
    others: [Option<&Bound<'py, PyAny>>; 4],
    beta: f64,
    ops: &DeviceOps,
) -> PyResult<Option<amdgpu_array::Array>> {
    let Out::Host(out) = target else {
        return Ok(None);
    };
    let py = out.py();
    if out.is_instance_of::<PyUntypedArray>() {
        let numpy = py.import("numpy")?;
        for (name, other) in ["a", "b", "bias", "residual"].into_iter().zip(others) {
            let Some(other) = other.filter(|other| other.is_instance_of::<PyUntypedArray>()) else {
                continue;
            };
            if numpy
                .call_method1("may_share_memory", (out, other))?
                .is_truthy()?
            {
                let message = format!("{NAME}: out shares memory with {name}");
                return Err(raise(
                    py,
                    ErrorCode::InvalidArgument,
                    Language::Rust,
                    &message,
                ));
            }
        }
    }
    if beta == 0.0 {
        return Ok(None);
    }
    Ok(on_device::lend_any(NAME, "out", out, ops)?.array)
}

/// Whether an argument lies on the device already, as an array of ours or of another library.
fn is_on(object: &Bound<'_, PyAny>, ops: &DeviceOps) -> bool {
    match object.cast::<Array>() {
        Ok(array) => array.get().device_name() == ops.name(),
        Err(_) => object.hasattr("__cuda_array_interface__").unwrap_or(false),
    }
}

/// Tells where wheels keep vendors' libraries: below the folders of `sys.path`.
pub fn register_vendor_folders() {
    amdgpu_ops::vendor::register_folders(Box::new(|kind| {
        let folders: &[&str] = match kind {
            DeviceKind::Cuda => &["nvidia/cu13/lib", "nvidia/cublas/lib", "nvidia/cudnn/lib"],
            DeviceKind::Hip => &["torch/lib"],
            _ => &[],
        };
        let path = Python::attach(|py| -> PyResult<Vec<String>> {
            let path = py.import("sys")?.getattr("path")?;
            let entries = path
                .try_iter()?
                .filter_map(|entry| entry.ok()?.extract().ok());
            Ok(entries.collect())
        });
        let below = |entry: String| {
            folders
                .iter()
                .map(move |folder| Path::new(&entry).join(folder))
        };
        path.unwrap_or_default()
            .into_iter()
            .flat_map(below)
            .collect()
    }));
}
