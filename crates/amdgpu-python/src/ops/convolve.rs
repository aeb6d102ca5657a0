//! Convolution and its gradients, bound to `amdgpu_ops::convolve`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::convolve::{Convolution, ConvolveOptions, ConvolvePass, input_names, on_host};
use amdgpu_ops::pool::{ImageLayout, Sliding};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{IntoPyResult, raise};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static CONVOLVE: Boundary = Boundary::new(Language::Python, Language::Rust, "convolve");

/// One pass of a convolution: `"forward"` of x, weight and a bias or none, `"image_gradient"` of gradient and weight, `"weight_gradient"` of x
/// and gradient; gradients have `shape`.
#[pyfunction]
#[pyo3(signature = (direction, inputs, out=None, *, stride, padding, dilation, groups, layout, shape=None, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn convolve<'py>(
    py: Python<'py>,
    direction: &str,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    stride: (i64, i64),
    padding: (i64, i64),
    dilation: (i64, i64),
    groups: i64,
    layout: &str,
    shape: Option<Vec<i64>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CONVOLVE.enter();
    let pass = pass_of(direction);
    let objects: Vec<_> = inputs.iter().collect();
    let arguments = objects
        .iter()
        .zip(input_names(pass))
        .map(|(object, name)| host::array("conv2d", name, object))
        .collect::<PyResult<Vec<_>>>()?;
    let asked = Convolution {
        pass,
        options: ConvolveOptions {
            sliding: Sliding {
                stride,
                padding,
                dilation,
            },
            groups,
            layout: image_layout(py, "conv2d", layout)?,
            thread_limit: threads,
        },
        shape: shape.as_deref().unwrap_or_default(),
        is_tf32: false,
    };
    let mut call = host::Call::new("conv2d", &objects, out);
    let done = on_host(&host::views(&arguments), &asked, &mut call);
    Ok(call.finish(done)?.0)
}

/// The pass as [`convolve`] computes it, by kernels of the device, into `out` or a new array there; "tf32" lets matrix units cut float32.
#[pyfunction]
#[pyo3(signature = (direction, inputs, out=None, *, stride, padding, dilation, groups, layout, shape=None, precision="fp32", device))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn convolve_on_device<'py>(
    py: Python<'py>,
    direction: &str,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    stride: (i64, i64),
    padding: (i64, i64),
    dilation: (i64, i64),
    groups: i64,
    layout: &str,
    shape: Option<Vec<i64>>,
    precision: &str,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CONVOLVE.enter();
    let pass = pass_of(direction);
    let ops = on_device::ops_of(device)?;
    let lent = inputs
        .iter()
        .zip(input_names(pass))
        .map(|(object, name)| on_device::lend("conv2d", name, &object, &ops))
        .collect::<PyResult<Vec<_>>>()?;
    let call = Convolution {
        pass,
        options: ConvolveOptions {
            sliding: Sliding {
                stride,
                padding,
                dilation,
            },
            groups,
            layout: image_layout(py, "conv2d", layout)?,
            thread_limit: None,
        },
        shape: shape.as_deref().unwrap_or_default(),
        is_tf32: precision == "tf32",
    };
    let out = Out::of("conv2d", out, &ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::convolve(&ops, &lent, target, &call))
        .into_py_result(py)?;
    out.deliver(py, "conv2d", made)
}

fn pass_of(direction: &str) -> ConvolvePass {
    match direction {
        "forward" => ConvolvePass::Forward,
        "image_gradient" => ConvolvePass::ImageGradient,
        _ => ConvolvePass::WeightGradient,
    }
}

pub fn image_layout(py: Python<'_>, operation: &str, layout: &str) -> PyResult<ImageLayout> {
    match layout {
        "NCHW" => Ok(ImageLayout::Nchw),
        "NHWC" => Ok(ImageLayout::Nhwc),
        _ => {
            let message = format!("{operation}: layout is {layout:?}; known are NCHW and NHWC");
            Err(raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                &message,
            ))
        }
    }
}
