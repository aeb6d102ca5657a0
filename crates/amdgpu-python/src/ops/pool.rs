//! Pooling and its gradients, bound to `amdgpu_ops::pool`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::pool::{Pool, PoolOptions, Pooling, on_host};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::host;
use crate::ops::on_device::{self, Out};
use crate::ops::window::{Along, image_layout, spread};

static POOL: Boundary = Boundary::new(Language::Python, Language::Rust, "pool");

/// The options of a call, as Python gives them.
struct Given<'a> {
    window: Vec<i64>,
    along: Along,
    layout: &'a str,
    counts_padding: bool,
    ceil_mode: bool,
    divisor_override: i64,
    output_size: Vec<Option<i64>>,
    threads: Option<u32>,
}

impl Given<'_> {
    fn options(&self, py: Python<'_>, operation: Pool) -> PyResult<PoolOptions> {
        let (name, spatial) = (operation.name(), operation.spatial);
        let mut output = [None; 3];
        if operation.is_adaptive {
            // Axes that images lack have one pixel.
            output = spread(
                py,
                (name, "output_size"),
                &self.output_size,
                spatial,
                output,
            )?;
        }
        Ok(PoolOptions {
            window: spread(py, (name, "window"), &self.window, spatial, [1; 3])?,
            sliding: self.along.sliding(py, name, spatial)?,
            ceil_mode: self.ceil_mode,
            output,
            layout: image_layout(py, name, spatial, self.layout)?,
            counts_padding: self.counts_padding,
            divisor_override: self.divisor_override,
            thread_limit: self.threads,
        })
    }
}

fn refused(py: Python<'_>, message: &str) -> PyErr {
    raise(py, ErrorCode::InvalidArgument, Language::Rust, message)
}

fn known(py: Python<'_>, operation: &str) -> PyResult<Pool> {
    Pool::from_name(operation)
        .ok_or_else(|| refused(py, &format!("no pooling is called {operation:?}")))
}

/// What is computed: by its name, or as the inputs tell.
fn pooling<'a>(
    py: Python<'_>,
    direction: Option<&str>,
    has_other: bool,
    shape: &'a [i64],
) -> PyResult<Pooling<'a>> {
    match direction {
        None if has_other => Ok(Pooling::Gradient),
        None => Ok(Pooling::Forward),
        Some("with_indices") => Ok(Pooling::WithIndices),
        Some("indices_gradient") => Ok(Pooling::IndicesGradient(shape)),
        Some("unpool") => Ok(Pooling::Unpool(shape)),
        Some(other) => Err(refused(
            py,
            &format!("no direction of pooling is called {other:?}"),
        )),
    }
}

/// `operation(x)`, or with `other`, a gradient of the result, its gradient by x, into `out` or a new array. `direction` asks for more:
/// `"with_indices"` for a pair of results; `"indices_gradient"` and `"unpool"` of values x and indices `other` for images of `shape`.
#[pyfunction]
#[pyo3(signature = (operation, x, other=None, out=None, *, window=Vec::new(), stride=Vec::new(), padding=Vec::new(), dilation=Vec::new(), layout, counts_padding=true, ceil_mode=false, divisor_override=0, output_size=Vec::new(), direction=None, shape=Vec::new(), threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn pool<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    other: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    window: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    layout: &str,
    counts_padding: bool,
    ceil_mode: bool,
    divisor_override: i64,
    output_size: Vec<Option<i64>>,
    direction: Option<&str>,
    shape: Vec<i64>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = POOL.enter();
    let known = known(py, operation)?;
    let given = Given {
        window,
        along: Along {
            stride,
            padding,
            dilation,
        },
        layout,
        counts_padding,
        ceil_mode,
        divisor_override,
        output_size,
        threads,
    };
    let pooling = pooling(py, direction, other.is_some(), &shape)?;
    on_the_host(
        py,
        (known, pooling),
        x,
        other,
        out,
        &given.options(py, known)?,
    )
}

fn on_the_host<'py>(
    py: Python<'py>,
    (operation, pooling): (Pool, Pooling<'_>),
    x: &Bound<'py, PyAny>,
    other: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    options: &PoolOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let name = operation.name();
    let inputs: Vec<_> = [Some(x), other].into_iter().flatten().cloned().collect();
    let arguments = inputs
        .iter()
        .zip(pooling.input_names())
        .map(|(object, argument)| host::array(name, argument, object))
        .collect::<PyResult<Vec<_>>>()?;
    let mut call = host::Call::new(name, &inputs, out);
    let views = host::views(&arguments);
    let done = on_host(operation, (pooling, &views), options, &mut call);
    if pooling == Pooling::WithIndices {
        return Ok(call.finish_both(done)?.into_pyobject(py)?.into_any());
    }
    Ok(call.finish(done)?.0)
}

/// [`pool`] by a kernel of the device, into `out` or new arrays there.
#[pyfunction]
#[pyo3(signature = (operation, x, other=None, out=None, *, window=Vec::new(), stride=Vec::new(), padding=Vec::new(), dilation=Vec::new(), layout, counts_padding=true, ceil_mode=false, divisor_override=0, output_size=Vec::new(), direction=None, shape=Vec::new(), device))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn pool_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    other: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    window: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    layout: &str,
    counts_padding: bool,
    ceil_mode: bool,
    divisor_override: i64,
    output_size: Vec<Option<i64>>,
    direction: Option<&str>,
    shape: Vec<i64>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = POOL.enter();
    let known = known(py, operation)?;
    let given = Given {
        window,
        along: Along {
            stride,
            padding,
            dilation,
        },
        layout,
        counts_padding,
        ceil_mode,
        divisor_override,
        output_size,
        threads: None,
    };
    let pooling = pooling(py, direction, other.is_some(), &shape)?;
    let options = given.options(py, known)?;
    on_the_device(py, (known, pooling), (x, other, out), &options, device)
}

fn on_the_device<'py>(
    py: Python<'py>,
    (operation, pooling): (Pool, Pooling<'_>),
    (x, other, out): (
        &Bound<'py, PyAny>,
        Option<&Bound<'py, PyAny>>,
        Option<&Bound<'py, PyAny>>,
    ),
    options: &PoolOptions,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = operation.name();
    let ops = on_device::ops_of(device)?;
    let inputs = [Some(x), other]
        .into_iter()
        .flatten()
        .zip(pooling.input_names())
        .map(|(object, argument)| on_device::lend(name, argument, object, &ops))
        .collect::<PyResult<Vec<_>>>()?;
    let out = Out::of(name, out, &ops)?;
    let target = out.array();
    let mut made = py
        .detach(|| amdgpu_ops::pool(&ops, operation, (pooling, &inputs), target, options))
        .into_py_result(py)?
        .into_iter();
    match (made.next(), made.next()) {
        (Some(values), Some(indices)) => {
            let both = [values, indices].map(Array::from);
            Ok(PyTuple::new(py, both)?.into_any())
        }
        (Some(made), None) => out.deliver(py, name, made),
        _ => unreachable!("a pooling has a result"),
    }
}
