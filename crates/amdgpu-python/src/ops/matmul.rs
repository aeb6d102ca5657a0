//! Matrix multiplication, bound to `amdgpu_ops::matmul`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::complex::matmul_on_host as on_host;
use amdgpu_ops::matmul::{HostMatmul, NAME, Precision};
use pyo3::prelude::*;

use crate::errors::raise;
use crate::math::activation_of;
use crate::operand::Operand;
use crate::ops::host::{self, Argument};

mod archived;
mod fast_call;
mod on_device;
mod options;

pub use archived::{
    MatmulCall, ProblemFields, fields_of, matmul_choice, matmul_choices, matmul_decision,
    matmul_is_verified, matmul_libraries, matmul_problem, matmul_ways, problem_of,
};
pub use fast_call::matmul_fast_call;
pub use on_device::{matmul_on_device, register_vendor_folders};
use options::{MATMUL, Options, given, named};

/// `activation(alpha * (a @ b) + beta * out + bias + residual)` computed in `precision` (None: as the dtypes of the operands ask for), into `out` or
/// a new array; axes as `numpy.matmul` takes them.
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
    let options = Options {
        precision,
        transposes: [transpose_a, transpose_b],
        bias: given(bias),
        activation,
        residual: given(residual),
        alpha,
        beta,
    };
    compute_on_host(py, &[a.clone(), b.clone()], given(out), &options, threads)
}

/// The product of operands in memory of the host.
fn compute_on_host<'py>(
    py: Python<'py>,
    inputs: &[Bound<'py, PyAny>; 2],
    out: Option<&Bound<'py, PyAny>>,
    options: &Options<'_, 'py>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let precision = named(py, "precision", options.precision, Precision::from_name)?;
    let (a, b) = (
        operand("a", &inputs[0], precision)?,
        operand("b", &inputs[1], precision)?,
    );
    let kept = |name: &str, object: Option<&Bound<'py, PyAny>>| {
        object
            .map(|object| borrowed(name, object, precision))
            .transpose()
    };
    let (bias, residual) = (
        kept("bias", options.bias)?,
        kept("residual", options.residual)?,
    );
    let activation = options
        .activation
        .map(|name| activation_of(py, name, None, None))
        .transpose()?;
    let asked = HostMatmul {
        precision,
        transposes: options.transposes,
        bias: bias.as_ref().map(Argument::view),
        residual: residual.as_ref().map(Argument::view),
        activation,
        alpha: options.alpha,
        beta: options.beta,
        thread_limit: threads,
        ..HostMatmul::of(a.view(), b.view())
    };
    let mut call = host::Call::new(NAME, inputs, out).unnamed();
    let done = on_host(&asked, &mut call);
    Ok(call.finish(done)?.0)
}

/// An operand: what lends memory is read where it is, the rest goes through `numpy.asarray`.
fn operand<'a, 'py>(
    name: &str,
    object: &'a Bound<'py, PyAny>,
    precision: Option<Precision>,
) -> PyResult<Argument<'a, 'py>> {
    match Argument::plain(object) {
        Some(argument) => Ok(argument),
        None => borrowed(name, object, precision),
    }
}

/// The same, held by the argument.
fn borrowed<'a, 'py>(
    name: &str,
    object: &Bound<'py, PyAny>,
    precision: Option<Precision>,
) -> PyResult<Argument<'a, 'py>> {
    if let Some(operand) = Operand::borrow_host(object)? {
        return Ok(Argument::Borrowed(Box::new(operand)));
    }
    let py = object.py();
    let refuse = |message: String| raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message);
    let array = py
        .import("numpy")?
        .call_method1("asarray", (object,))
        .map_err(|error| {
            let dtype = match precision {
                Some(Precision::Fp64) => "float64",
                Some(Precision::Int8) => "int8",
                _ => "float32",
            };
            let why = error.value(py);
            refuse(format!("{name} cannot be converted to {dtype}: {why}"))
        })?;
    let dtype = array.getattr("dtype")?;
    if !"biufcV".contains(&dtype.getattr("kind")?.extract::<String>()?) {
        return Err(refuse(format!(
            "{name} has dtype {dtype}; products are computed for real numbers"
        )));
    }
    let operand =
        Operand::borrow_host(&array)?.ok_or_else(|| refuse(format!("{name} lends no memory")))?;
    Ok(Argument::Borrowed(Box::new(operand)))
}
