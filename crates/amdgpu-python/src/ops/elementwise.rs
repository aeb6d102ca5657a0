//! Elementwise operations, bound to `amdgpu_matrix::Matrix::elementwise` and `amdgpu_ops::elementwise`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_matrix::{Elementwise, ElementwiseOptions, Matrix};
use amdgpu_ops::DeviceOps;
use amdgpu_telemetry::{Boundary, BoundaryGuard};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{IntoPyResult, raise};
use crate::ops::on_device::{self, Out};
use crate::ops::tensors;
use crate::short_way::{self, Arguments, Choice, DeviceChoice, Way, is_on_host};

mod direct;
mod stretched;

static ELEMENTWISE: Boundary = Boundary::new(Language::Python, Language::Rust, "elementwise");

fn known(py: Python<'_>, operation: &str) -> PyResult<Elementwise> {
    Elementwise::from_name(operation).ok_or_else(|| {
        let message = format!("no elementwise operation is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// `operation(*inputs)`, broadcast, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, inputs, out=None, *, alpha=0.0, threads=None))]
pub fn elementwise<'py>(
    py: Python<'py>,
    operation: &str,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    alpha: f64,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let crossing = ELEMENTWISE.enter();
    let options = ElementwiseOptions {
        alpha,
        thread_limit: threads,
    };
    let inputs: Vec<_> = inputs.iter().collect();
    compute(py, crossing, known(py, operation)?, &inputs, out, &options)
}

/// `operation(*inputs)`, broadcast, by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (operation, inputs, out=None, *, alpha=0.0, device))]
pub fn elementwise_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    alpha: f64,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let ops = on_device::ops_of(device)?;
    let inputs: Vec<_> = inputs.iter().collect();
    compute_on_device(py, &ops, known(py, operation)?, &inputs, out, alpha)
}

fn compute_on_device<'py>(
    py: Python<'py>,
    ops: &DeviceOps,
    known: Elementwise,
    inputs: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    alpha: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let name = known.name();
    let operands = on_device::lend_all(name, known.inputs(), inputs, ops)?;
    let out = Out::of(name, out, ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::elementwise(ops, known, &operands, target, alpha))
        .into_py_result(py)?;
    out.deliver(py, name, made)
}

/// `function(*inputs, out=None)` of the façade, with its fast path in front: for memory of the host, and for arrays of a device. `host` and
/// `device` are a table of the dispatcher and the function of this module that the path stands in for.
#[pyfunction]
pub fn elementwise_way<'py>(
    function: &Bound<'py, PyAny>,
    operation: &str,
    alpha: f64,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let way = Short {
        operation: known(function.py(), operation)?,
        options: ElementwiseOptions {
            alpha,
            thread_limit: None,
        },
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("elementwise", &device.0, &device.1),
    };
    short_way::new(function, Box::new(way))
}

struct Short {
    operation: Elementwise,
    options: ElementwiseOptions,
    choice: Choice,
    on_device: DeviceChoice,
}

impl Way for Short {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some([out]) = arguments.bind([intern!(py, "out")], &[]) else {
            return Ok(None);
        };
        let out = out.filter(|out| !out.is_none());
        let inputs = arguments.positional;
        if inputs.len() != self.operation.inputs().len() {
            return Ok(None);
        }
        if inputs.iter().chain(out).all(is_on_host) {
            let Some(crossing) = self
                .choice
                .enter(intern!(py, "elementwise").as_any(), &ELEMENTWISE)
            else {
                return Ok(None);
            };
            return compute(py, crossing, self.operation, inputs, out, &self.options).map(Some);
        }
        let Some((ops, _crossing)) = self.on_device.enter(inputs.iter().chain(out), &ELEMENTWISE)
        else {
            return Ok(None);
        };
        compute_on_device(py, &ops, self.operation, inputs, out, self.options.alpha).map(Some)
    }
}

fn compute<'py>(
    py: Python<'py>,
    crossing: BoundaryGuard,
    known: Elementwise,
    inputs: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    options: &ElementwiseOptions,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some((result, end_ns)) = direct::compute(known, py, inputs, out, options)? {
        if end_ns > 0 {
            crossing.leave_at(end_ns);
        }
        return Ok(result);
    }
    if out.is_none()
        && let Some(result) = stretched::compute(known, py, inputs, options)?
    {
        return Ok(result);
    }
    let operation = known.name();
    let lent = tensors::arrays_and_numbers(operation, known.inputs(), inputs)?;
    let views = lent
        .iter()
        .map(tensors::Lent::view)
        .collect::<Result<Vec<_>, _>>()
        .into_py_result(py)?;
    let described = known.describe(&views).into_py_result(py)?;
    let (made, target) = tensors::result(operation, &described, out, inputs)?;
    let elements = target.len();
    let mut target = target.view_mut().into_py_result(py)?;
    tensors::compute(py, elements, || {
        Matrix::global()?.elementwise(known, &views, &mut target, options)
    })
    .into_py_result(py)?;
    Ok(made)
}
