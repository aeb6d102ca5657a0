//! Pooling and its gradients, bound to `amdgpu_ops::pool`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::pool::{Pool, PoolOptions, Sliding, on_host};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::ops::convolve::image_layout;
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static POOL: Boundary = Boundary::new(Language::Python, Language::Rust, "pool");

fn known(py: Python<'_>, operation: &str) -> PyResult<Pool> {
    Pool::from_name(operation).ok_or_else(|| {
        let message = format!("no pooling is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// `operation(x)`, or with `gradient` (of the result) its gradient by x, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, x, gradient=None, out=None, *, window, stride, padding, dilation, layout, counts_padding=true, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn pool<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    gradient: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    window: (i64, i64),
    stride: (i64, i64),
    padding: (i64, i64),
    dilation: (i64, i64),
    layout: &str,
    counts_padding: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = POOL.enter();
    let known = known(py, operation)?;
    let mut inputs = vec![x.clone()];
    inputs.extend(gradient.cloned());
    let arguments = inputs
        .iter()
        .zip(["x", "gradient"])
        .map(|(object, name)| host::array(operation, name, object))
        .collect::<PyResult<Vec<_>>>()?;
    let options = PoolOptions {
        window,
        sliding: Sliding {
            stride,
            padding,
            dilation,
        },
        layout: image_layout(py, operation, layout)?,
        counts_padding,
        thread_limit: threads,
    };
    let views = host::views(&arguments);
    let mut call = host::Call::new(operation, &inputs, out);
    let done = on_host(known, &views[0], views.get(1), &options, &mut call);
    Ok(call.finish(done)?.0)
}

/// `operation(x)`, or with `gradient` its gradient by x, by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (operation, x, gradient=None, out=None, *, window, stride, padding, dilation, layout, counts_padding=true, device))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn pool_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    gradient: Option<&Bound<'py, PyAny>>,
    out: Option<&Bound<'py, PyAny>>,
    window: (i64, i64),
    stride: (i64, i64),
    padding: (i64, i64),
    dilation: (i64, i64),
    layout: &str,
    counts_padding: bool,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = POOL.enter();
    let known = known(py, operation)?;
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend(operation, "x", x, &ops)?;
    let given = gradient
        .map(|object| on_device::lend(operation, "gradient", object, &ops))
        .transpose()?;
    let options = PoolOptions {
        window,
        sliding: Sliding {
            stride,
            padding,
            dilation,
        },
        layout: image_layout(py, operation, layout)?,
        counts_padding,
        thread_limit: None,
    };
    let out = Out::of(operation, out, &ops)?;
    let (given, target) = (given.as_ref(), out.array());
    let made = py
        .detach(|| amdgpu_ops::pool(&ops, known, &input, given, target, &options))
        .into_py_result(py)?;
    out.deliver(py, operation, made)
}
