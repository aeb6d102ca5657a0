//! Convolution and its gradients, bound to `amdgpu_matrix::Matrix::convolve` and `amdgpu_ops::convolve`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_matrix::{
    ConvolveOptions, ConvolvePass, Described, ImageLayout, Matrix, Sliding, TensorView,
};
use amdgpu_ops::convolve::Convolution;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{IntoPyResult, raise};
use crate::ops::on_device::{self, Out};
use crate::ops::tensors;

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
    let (known, names) = known(direction);
    let objects: Vec<_> = inputs.iter().collect();
    let lent = objects
        .iter()
        .zip(names)
        .map(|(object, name)| tensors::array("conv2d", name, object))
        .collect::<PyResult<Vec<_>>>()?;
    let views = lent
        .iter()
        .map(tensors::Lent::view)
        .collect::<Result<Vec<_>, _>>()
        .into_py_result(py)?;
    let options = ConvolveOptions {
        sliding: Sliding {
            stride,
            padding,
            dilation,
        },
        groups,
        layout: image_layout(py, "conv2d", layout)?,
        thread_limit: threads,
    };
    let described = match shape {
        None => forward_of(&views, &options),
        Some(shape) => gradient_of(known, &views, shape, &options),
    }
    .into_py_result(py)?;
    let (made, target) = tensors::result("conv2d", &described, out, &objects)?;
    let mut target = target.view_mut().into_py_result(py)?;
    py.detach(|| Matrix::global()?.convolve(known, &views, &mut target, &options))
        .into_py_result(py)?;
    Ok(made)
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
    let (known, names) = known(direction);
    let ops = on_device::ops_of(device)?;
    let lent = inputs
        .iter()
        .zip(names)
        .map(|(object, name)| on_device::lend("conv2d", name, &object, &ops))
        .collect::<PyResult<Vec<_>>>()?;
    let call = Convolution {
        pass: known,
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

/// A pass, and the names of its inputs.
fn known(direction: &str) -> (ConvolvePass, &'static [&'static str]) {
    match direction {
        "forward" => (ConvolvePass::Forward, &["x", "weight", "bias"]),
        "image_gradient" => (ConvolvePass::ImageGradient, &["gradient", "weight"]),
        _ => (ConvolvePass::WeightGradient, &["x", "gradient"]),
    }
}

fn forward_of(
    views: &[TensorView<'_>],
    options: &ConvolveOptions,
) -> Result<Described, amdgpu_matrix::Error> {
    let of = |view: &TensorView<'_>| (view.shape().to_vec(), view.dtype());
    let (image, weight) = (of(&views[0]), of(&views[1]));
    options.describe((&image.0, image.1), (&weight.0, weight.1))
}

/// What a gradient is: checked before there is memory for it.
fn gradient_of(
    pass: ConvolvePass,
    views: &[TensorView<'_>],
    shape: Vec<i64>,
    options: &ConvolveOptions,
) -> Result<Described, amdgpu_matrix::Error> {
    let dtype = views[0].dtype();
    let of = |view: &TensorView<'_>| (view.shape().to_vec(), view.dtype());
    let (first, second) = (of(&views[0]), of(&views[1]));
    let made = (&shape[..], dtype);
    match pass {
        ConvolvePass::WeightGradient => {
            options.check((&first.0, first.1), made, (&second.0, second.1))?;
        }
        _ => {
            options.check(made, (&second.0, second.1), (&first.0, first.1))?;
        }
    }
    Ok(Described { shape, dtype })
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
