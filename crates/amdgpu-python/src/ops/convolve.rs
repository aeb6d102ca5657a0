//! Convolution and its gradients, bound to `amdgpu_ops::convolve`.

pub mod ways;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::DeviceOps;
use amdgpu_ops::convolve::{Convolution, Convolve, ConvolveOptions, ConvolvePass, on_host};
use amdgpu_ops::pool::{ImageLayout, Sliding};
use amdgpu_telemetry::Boundary;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple};
use smallvec::SmallVec;

use crate::errors::{IntoPyResult, raise};
use crate::fast_call::{self, Arguments, Choice, DeviceChoice, FastPath, is_on_host};
use crate::ops::host;
use crate::ops::on_device::{self, Out};
use crate::ops::window::{Along, image_layout, spread};

static CONVOLVE: Boundary = Boundary::new(Language::Python, Language::Rust, "convolve");

/// The options of a call, as Python gives them.
struct Given<'a> {
    along: Along,
    groups: i64,
    layout: &'a str,
    operation: &'a str,
    same: bool,
    output_padding: Vec<i64>,
    threads: Option<u32>,
}

impl Given<'_> {
    fn options(&self, py: Python<'_>) -> PyResult<ConvolveOptions> {
        let operation = Convolve::from_name(self.operation).ok_or_else(|| {
            let message = format!("no convolution is called {:?}", self.operation);
            raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
        })?;
        let (name, spatial) = (operation.name(), operation.spatial);
        let output_padding = (name, "output_padding");
        Ok(ConvolveOptions {
            operation,
            sliding: self.along.sliding(py, name, spatial)?,
            is_same: self.same,
            output_padding: spread(py, output_padding, &self.output_padding, spatial, [0; 3])?,
            groups: self.groups,
            layout: image_layout(py, name, spatial, self.layout)?,
            thread_limit: self.threads,
        })
    }
}

/// One pass of a convolution: `"forward"` of x, weight and a bias or none, `"image_gradient"` of gradient and weight, `"weight_gradient"` of x
/// and gradient; gradients have `shape`.
#[pyfunction]
#[pyo3(signature = (direction, inputs, out=None, *, stride, padding, dilation, groups, layout, shape=None, precision="fp32", operation="conv2d", same=false, output_padding=Vec::new(), threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn convolve<'py>(
    py: Python<'py>,
    direction: &str,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    groups: i64,
    layout: &str,
    shape: Option<Vec<i64>>,
    precision: &str,
    operation: &str,
    same: bool,
    output_padding: Vec<i64>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CONVOLVE.enter();
    let given = Given {
        along: Along {
            stride,
            padding,
            dilation,
        },
        groups,
        layout,
        operation,
        same,
        output_padding,
        threads,
    };
    let objects: Vec<_> = inputs.iter().collect();
    let asked = Convolution {
        pass: pass_of(direction),
        options: given.options(py)?,
        shape: shape.as_deref().unwrap_or_default(),
        is_tf32: precision == "tf32",
    };
    compute_on_host(&objects, &asked, out)
}

fn compute_on_host<'py>(
    objects: &[Bound<'py, PyAny>],
    asked: &Convolution<'_>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = asked.options.operation.name();
    let arguments = objects
        .iter()
        .zip(asked.pass.input_names())
        .map(|(object, argument)| host::array(name, argument, object))
        .collect::<PyResult<SmallVec<[_; 3]>>>()?;
    let mut call = host::Call::new(name, objects, out);
    let done = on_host(&host::views(&arguments), asked, &mut call);
    Ok(call.finish(done)?.0)
}

/// The pass as [`convolve`] computes it, by kernels of the device, into `out` or a new array there; "tf32" lets matrix units cut float32.
#[pyfunction]
#[pyo3(signature = (direction, inputs, out=None, *, stride, padding, dilation, groups, layout, shape=None, precision="fp32", operation="conv2d", same=false, output_padding=Vec::new(), device))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn convolve_on_device<'py>(
    py: Python<'py>,
    direction: &str,
    inputs: &Bound<'py, PyTuple>,
    out: Option<&Bound<'py, PyAny>>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    groups: i64,
    layout: &str,
    shape: Option<Vec<i64>>,
    precision: &str,
    operation: &str,
    same: bool,
    output_padding: Vec<i64>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CONVOLVE.enter();
    let given = Given {
        along: Along {
            stride,
            padding,
            dilation,
        },
        groups,
        layout,
        operation,
        same,
        output_padding,
        threads: None,
    };
    let ops = on_device::ops_of(device)?;
    let objects: Vec<_> = inputs.iter().collect();
    let call = Convolution {
        pass: pass_of(direction),
        options: given.options(py)?,
        shape: shape.as_deref().unwrap_or_default(),
        is_tf32: precision == "tf32",
    };
    compute_on_device(py, &ops, &objects, &call, out)
}

fn compute_on_device<'py>(
    py: Python<'py>,
    ops: &DeviceOps,
    objects: &[Bound<'py, PyAny>],
    asked: &Convolution<'_>,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = asked.options.operation.name();
    let lent = objects
        .iter()
        .zip(asked.pass.input_names())
        .map(|(object, argument)| on_device::lend(name, argument, object, ops))
        .collect::<PyResult<Vec<_>>>()?;
    let out = Out::of(name, out, ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::convolve(ops, &lent, target, asked))
        .into_py_result(py)?;
    out.deliver(py, name, made)
}

/// `conv2d(x, weight, bias=None, *, stride=1, padding=0, dilation=1, groups=1, layout="NCHW", precision="fp32", out=None)` of the façade with
/// its fast path in front. `host` and `device` are a table of the dispatcher and the function of this module that the path replaces.
#[pyfunction]
pub fn convolve_fast_call<'py>(
    function: &Bound<'py, PyAny>,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let path = FastConvolve {
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("convolve", &device.0, &device.1),
    };
    fast_call::new(function, Box::new(path))
}

struct FastConvolve {
    choice: Choice,
    on_device: DeviceChoice,
}

/// Parameters that are given by position.
const POSITIONAL: usize = 3;

impl FastPath for FastConvolve {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some((inputs, out, asked)) = usual(py, arguments) else {
            return Ok(None);
        };
        if inputs.iter().chain(out).all(is_on_host) {
            let key = intern!(py, "convolve").as_any();
            let Some(_crossing) = self.choice.enter(key, &CONVOLVE) else {
                return Ok(None);
            };
            return compute_on_host(&inputs, &asked, out).map(Some);
        }
        let Some((ops, _crossing)) = self.on_device.enter(inputs.iter().chain(out), &CONVOLVE)
        else {
            return Ok(None);
        };
        compute_on_device(py, &ops, &inputs, &asked, out).map(Some)
    }
}

/// A call whose options are usual: images, weights and a bias or none, `out` and the options.
type Usual<'a, 'py> = (
    SmallVec<[Bound<'py, PyAny>; 3]>,
    Option<&'a Bound<'py, PyAny>>,
    Convolution<'static>,
);

fn usual<'a, 'py>(py: Python<'py>, arguments: &Arguments<'a, 'py>) -> Option<Usual<'a, 'py>> {
    if arguments.positional.len() > POSITIONAL {
        return None;
    }
    let names = || {
        [
            intern!(py, "x"),
            intern!(py, "weight"),
            intern!(py, "bias"),
            intern!(py, "stride"),
            intern!(py, "padding"),
            intern!(py, "dilation"),
            intern!(py, "groups"),
            intern!(py, "layout"),
            intern!(py, "precision"),
            intern!(py, "out"),
        ]
    };
    let [
        x,
        weight,
        bias,
        stride,
        padding,
        dilation,
        groups,
        layout,
        precision,
        out,
    ] = arguments.bind(names, arguments.positional)?;
    let inputs = [Some(x?), Some(weight?), bias.filter(|bias| !bias.is_none())];
    let is = |object: Option<&Bound<'py, PyAny>>, usual: &str, other: &str| match object {
        None => Some(true),
        Some(object) => {
            let text = object.cast_exact::<PyString>().ok()?;
            (text == usual || text == other).then(|| text == usual)
        }
    };
    let options = ConvolveOptions {
        operation: Convolve::CONV2D,
        sliding: Sliding {
            stride: pair(stride, 1)?,
            padding: pair(padding, 0)?,
            dilation: pair(dilation, 1)?,
        },
        is_same: false,
        output_padding: [0; 3],
        groups: groups.map_or(Some(1), integer)?,
        layout: if is(layout, "NCHW", "NHWC")? {
            ImageLayout::Nchw
        } else {
            ImageLayout::Nhwc
        },
        thread_limit: None,
    };
    Some((
        inputs.into_iter().flatten().cloned().collect(),
        out.filter(|out| !out.is_none()),
        Convolution {
            pass: ConvolvePass::Forward,
            options,
            shape: &[],
            is_tf32: !is(precision, "fp32", "tf32")?,
        },
    ))
}

fn integer(object: &Bound<'_, PyAny>) -> Option<i64> {
    object.cast_exact::<PyInt>().ok()?.extract().ok()
}

/// (along depth, rows, columns) of an integer or two; `None` for every other object.
fn pair(object: Option<&Bound<'_, PyAny>>, usual: i64) -> Option<[i64; 3]> {
    let Some(object) = object else {
        return Some([usual; 3]);
    };
    if let Some(both) = integer(object) {
        return Some([usual, both, both]);
    }
    let given = object.cast_exact::<PyTuple>().ok()?;
    if given.len() != 2 {
        return None;
    }
    let at = |index: usize| integer(&given.get_item(index).ok()?);
    Some([usual, at(0)?, at(1)?])
}

fn pass_of(direction: &str) -> ConvolvePass {
    match direction {
        "forward" => ConvolvePass::Forward,
        "image_gradient" => ConvolvePass::ImageGradient,
        _ => ConvolvePass::WeightGradient,
    }
}
