//! Reductions, bound to `amdgpu_ops::reduce`.

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_ops::DeviceOps;
use amdgpu_ops::complex::reduce_on_host as on_host;
use amdgpu_ops::reduce::{Reduce, ReduceOptions};
use amdgpu_telemetry::{Boundary, BoundaryGuard};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};

use crate::errors::{IntoPyResult, raise};
use crate::fast_call::{self, Arguments, Choice, DeviceChoice, FastPath, is_on_host};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static REDUCE: Boundary = Boundary::new(Language::Python, Language::Rust, "reduce");

pub(super) fn known(py: Python<'_>, operation: &str) -> PyResult<Reduce> {
    Reduce::from_name(operation).ok_or_else(|| {
        let message = format!("no reduction is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

fn float_dtype(py: Python<'_>, name: &str) -> PyResult<Dtype> {
    Dtype::from_name(name).ok_or_else(|| {
        let message = format!("no dtype is called {name:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// `operation(x)` over `axes` (None: all), into `out` or a new array; rounded to `dtype`, where that is given.
#[pyfunction]
#[pyo3(signature = (operation, x, axes=None, out=None, *, keepdims=false, correction=0.0, dtype=None, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn reduce<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axes: Option<Vec<i64>>,
    out: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    correction: f64,
    dtype: Option<&str>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let crossing = REDUCE.enter();
    let options = ReduceOptions {
        axes: axes.as_deref(),
        keeps_axes: keepdims,
        correction,
        result: dtype.map(|name| float_dtype(py, name)).transpose()?,
        thread_limit: threads,
    };
    compute_on_host(crossing, known(py, operation)?, x, out, &options)
}

/// `operation(x)` over `axes` (None: all), by kernels of the device, into `out` or a new array there; rounded to `dtype`, where that is given.
#[pyfunction]
#[pyo3(signature = (operation, x, axes=None, out=None, *, keepdims=false, correction=0.0, dtype=None, device))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn reduce_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axes: Option<Vec<i64>>,
    out: Option<&Bound<'py, PyAny>>,
    keepdims: bool,
    correction: f64,
    dtype: Option<&str>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = REDUCE.enter();
    let options = ReduceOptions {
        axes: axes.as_deref(),
        keeps_axes: keepdims,
        correction,
        result: dtype.map(|name| float_dtype(py, name)).transpose()?,
        thread_limit: None,
    };
    let ops = on_device::ops_of(device)?;
    compute_on_device(py, &ops, known(py, operation)?, x, out, &options)
}

fn compute_on_device<'py>(
    py: Python<'py>,
    ops: &DeviceOps,
    known: Reduce,
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    options: &ReduceOptions<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = known.name();
    let input = on_device::lend_any(name, "x", x, ops)?;
    let out = Out::of(name, out, ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::reduce(ops, known, &input, target, options))
        .into_py_result(py)?;
    out.deliver(py, name, made)
}

/// `function(x, axis=None, *, keepdims=False, out=None)` of the façade, some with a `correction`, with its fast path in front, for
/// memory of the host and for arrays of a device. `host` and `device` are a table of the dispatcher and the function of this module that the
/// path replaces.
#[pyfunction]
pub fn reduce_fast_call<'py>(
    function: &Bound<'py, PyAny>,
    operation: &str,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let path = FastReduce {
        operation: known(function.py(), operation)?,
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("reduce", &device.0, &device.1),
    };
    fast_call::new(function, Box::new(path))
}

struct FastReduce {
    operation: Reduce,
    choice: Choice,
    on_device: DeviceChoice,
}

/// Parameters that are given by position.
const POSITIONAL: usize = 2;

impl FastReduce {
    /// The array, the axis, `out` and the options without axes.
    #[expect(clippy::type_complexity, reason = "four arguments of one call")]
    fn plain<'a, 'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'a, 'py>,
    ) -> Option<(
        &'a Bound<'py, PyAny>,
        Option<i64>,
        Option<&'a Bound<'py, PyAny>>,
        ReduceOptions<'static>,
    )> {
        if arguments.positional.len() > POSITIONAL {
            return None;
        }
        let names = || {
            [
                intern!(py, "x"),
                intern!(py, "axis"),
                intern!(py, "keepdims"),
                intern!(py, "out"),
                intern!(py, "correction"),
            ]
        };
        let [x, axis, keepdims, out, correction] = arguments.bind(names, arguments.positional)?;
        let axis = match axis.filter(|axis| !axis.is_none()) {
            None => None,
            Some(axis) => Some(axis.cast_exact::<PyInt>().ok()?.extract().ok()?),
        };
        let keeps_axes = match keepdims {
            None => false,
            Some(value) => value.cast_exact::<PyBool>().ok()?.is_true(),
        };
        let correction = match correction {
            None => 0.0,
            Some(value) if matches!(self.operation, Reduce::Variance | Reduce::Deviation) => {
                value.cast_exact::<PyFloat>().ok()?.extract().ok()?
            }
            Some(_) => return None,
        };
        let options = ReduceOptions {
            axes: None,
            keeps_axes,
            correction,
            result: None,
            thread_limit: None,
        };
        let out = out.filter(|out| !out.is_none());
        Some((x?, axis, out, options))
    }
}

impl FastPath for FastReduce {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((x, axis, out, options)) = self.plain(py, arguments) else {
            return Ok(None);
        };
        let options = ReduceOptions {
            axes: axis.as_ref().map(std::slice::from_ref),
            ..options
        };
        if is_on_host(x) && out.is_none_or(is_on_host) {
            let key = intern!(py, "reduce").as_any();
            let Some(crossing) = self.choice.enter_brief(key, &REDUCE) else {
                return Ok(None);
            };
            return compute_on_host(crossing, self.operation, x, out, &options).map(Some);
        }
        let arrays = std::iter::once(x).chain(out);
        let Some((ops, _crossing)) = self.on_device.enter(arrays, &REDUCE) else {
            return Ok(None);
        };
        compute_on_device(py, &ops, self.operation, x, out, &options).map(Some)
    }
}

fn compute_on_host<'py>(
    mut crossing: BoundaryGuard,
    known: Reduce,
    x: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    options: &ReduceOptions<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = known.name();
    let input = host::array(name, "x", x)?;
    let mut call = host::Call::new(name, std::slice::from_ref(x), out).within(&mut crossing);
    let done = on_host(known, &input.view(), options, &mut call);
    Ok(call.finish(done)?.0)
}
