//! Elementwise operations, bound to `amdgpu_ops::elementwise`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::elementwise::ElementwiseOptions;
use amdgpu_ops::{DeviceOps, Named};
use amdgpu_telemetry::{Boundary, BoundaryGuard};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{IntoPyResult, raise};
use crate::fast_call::{self, Arguments, Choice, DeviceChoice, FastPath, is_on_host};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static ELEMENTWISE: Boundary = Boundary::new(Language::Python, Language::Rust, "elementwise");

fn known(py: Python<'_>, operation: &str) -> PyResult<Named> {
    Named::from_name(operation).ok_or_else(|| {
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
    compute_on_host(crossing, known(py, operation)?, &inputs, out, &options)
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
    known: Named,
    inputs: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    alpha: f64,
) -> PyResult<Bound<'py, PyAny>> {
    let name = known.name();
    let operands = on_device::lend_all(name, known.inputs(), inputs, ops)?;
    let out = Out::of(name, out, ops)?;
    let target = out.array();
    let made = py
        .detach(|| known.compute(ops, &operands, target, alpha))
        .into_py_result(py)?;
    out.deliver(py, name, made)
}

/// `function(*inputs, out=None)` of the façade, with its fast path in front: for memory of the host, and for arrays of a device. `host` and
/// `device` are a table of the dispatcher and the function of this module that the path replaces.
#[pyfunction]
pub fn elementwise_fast_call<'py>(
    function: &Bound<'py, PyAny>,
    operation: &str,
    alpha: f64,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let path = FastElementwise {
        operation: known(function.py(), operation)?,
        options: ElementwiseOptions {
            alpha,
            thread_limit: None,
        },
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("elementwise", &device.0, &device.1),
    };
    fast_call::new(function, Box::new(path))
}

struct FastElementwise {
    operation: Named,
    options: ElementwiseOptions,
    choice: Choice,
    on_device: DeviceChoice,
}

impl FastPath for FastElementwise {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some([out]) = arguments.bind(|| [intern!(py, "out")], &[]) else {
            return Ok(None);
        };
        let out = out.filter(|out| !out.is_none());
        let inputs = arguments.positional;
        if inputs.len() != self.operation.inputs().len() {
            return Ok(None);
        }
        let key = intern!(py, "elementwise").as_any();
        let mut taken = host::Arguments::new();
        if out.is_none_or(is_on_host)
            && let Some(has_numbers) = host::take_plain(inputs, &mut taken)
        {
            let Some(crossing) = self.choice.enter_brief(key, &ELEMENTWISE) else {
                return Ok(None);
            };
            if has_numbers {
                let operation = self.operation;
                host::fill_numbers(operation.name(), operation.inputs(), inputs, &mut taken)?;
            }
            return compute(crossing, self.operation, &taken, inputs, out, &self.options).map(Some);
        }
        if inputs.iter().chain(out).all(is_on_host) {
            let Some(crossing) = self.choice.enter(key, &ELEMENTWISE) else {
                return Ok(None);
            };
            return compute_on_host(crossing, self.operation, inputs, out, &self.options).map(Some);
        }
        let Some((ops, _crossing)) = self.on_device.enter(inputs.iter().chain(out), &ELEMENTWISE)
        else {
            return Ok(None);
        };
        compute_on_device(py, &ops, self.operation, inputs, out, self.options.alpha).map(Some)
    }
}

fn compute_on_host<'py>(
    crossing: BoundaryGuard,
    known: Named,
    inputs: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    options: &ElementwiseOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let mut arguments = host::Arguments::new();
    host::arrays_and_numbers(known.name(), known.inputs(), inputs, &mut arguments)?;
    compute(crossing, known, &arguments, inputs, out, options)
}

/// `arguments` are the memory of the inputs.
fn compute<'py>(
    mut crossing: BoundaryGuard,
    known: Named,
    arguments: &host::Arguments<'_, 'py>,
    inputs: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    options: &ElementwiseOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let mut call = host::Call::new(known.name(), inputs, out).within(&mut crossing);
    let done = known.on_host(&host::views(arguments), options, &mut call);
    let (result, end_ns) = call.finish(done)?;
    if end_ns > 0 {
        crossing.leave_at(end_ns);
    }
    Ok(result)
}
