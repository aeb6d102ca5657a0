//! Normalisations, bound to `amdgpu_ops::normalize`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::DeviceOps;
use amdgpu_ops::normalize::{Normalize, NormalizeOptions, RowAxes, gradient_on_host, on_host};
use amdgpu_telemetry::Boundary;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyTuple};
use smallvec::SmallVec;

use crate::errors::{IntoPyResult, raise};
use crate::fast_call::{self, Arguments, Choice, DeviceChoice, FastPath, is_on_host};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static NORMALIZE: Boundary = Boundary::new(Language::Python, Language::Rust, "normalize");
static GRADIENT: Boundary = Boundary::new(Language::Python, Language::Rust, "normalize_gradient");

/// The normalisation of a name.
pub fn known(py: Python<'_>, operation: &str) -> PyResult<Normalize> {
    Normalize::from_name(operation).ok_or_else(|| {
        let message = format!("no normalisation is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// `operation(x)` over `axes`, or over the last axes of shape `row_shape`, with scale and shift as far as given, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, x, parameters, axes, out=None, *, row_shape=None, epsilon=0.0, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn normalize<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyTuple>,
    axes: Vec<i64>,
    out: Option<&Bound<'py, PyAny>>,
    row_shape: Option<Vec<i64>>,
    epsilon: f64,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = NORMALIZE.enter();
    let options = NormalizeOptions {
        thread_limit: threads,
        ..options_of(&axes, row_shape.as_deref(), epsilon)
    };
    let parameters: Vec<_> = parameters.iter().collect();
    compute_on_host(known(py, operation)?, x, &parameters, out, &options)
}

/// `operation(x)` as [`normalize`] computes it, by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (operation, x, parameters, axes, out=None, *, row_shape=None, epsilon=0.0, device))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn normalize_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    parameters: &Bound<'py, PyTuple>,
    axes: Vec<i64>,
    out: Option<&Bound<'py, PyAny>>,
    row_shape: Option<Vec<i64>>,
    epsilon: f64,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = NORMALIZE.enter();
    let options = options_of(&axes, row_shape.as_deref(), epsilon);
    let parameters: Vec<_> = parameters.iter().collect();
    let ops = on_device::ops_of(device)?;
    let known = known(py, operation)?;
    compute_on_device(py, &ops, known, x, &parameters, out, &options)
}

fn compute_on_device<'py>(
    py: Python<'py>,
    ops: &DeviceOps,
    known: Normalize,
    x: &Bound<'py, PyAny>,
    parameters: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    options: &NormalizeOptions<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = known.name();
    let input = on_device::lend(name, "x", x, ops)?;
    let lent = parameters.iter().zip(known.parameter_names());
    let lent = lent
        .map(|(object, argument)| on_device::lend(name, argument, object, ops))
        .collect::<PyResult<Vec<_>>>()?;
    let out = Out::of(name, out, ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::normalize(ops, known, &input, &lent, target, options))
        .into_py_result(py)?;
    out.deliver(py, name, made)
}

/// The options of a call: axes by index, or the last ones by their extents.
fn options_of<'a>(
    axes: &'a [i64],
    row_shape: Option<&'a [i64]>,
    epsilon: f64,
) -> NormalizeOptions<'a> {
    NormalizeOptions {
        axes: row_shape.map_or(RowAxes::Named(axes), RowAxes::Last),
        epsilon,
        thread_limit: None,
    }
}

/// `softmax(x, axis=-1, *, out=None)` or `layer_norm(x, normalized_shape, weight=None, bias=None, eps, *, out=None)` of the façade, and their
/// kin, with its fast path in front, for memory of the host and for arrays of a device. `host` and `device` are a table of the dispatcher and
/// the function of this module that the path replaces.
#[pyfunction]
pub fn normalize_fast_call<'py>(
    function: &Bound<'py, PyAny>,
    operation: &str,
    epsilon: f64,
    host: (Bound<'py, PyDict>, Bound<'py, PyAny>),
    device: (Bound<'py, PyDict>, Bound<'py, PyAny>),
) -> PyResult<Bound<'py, PyAny>> {
    let path = FastNormalize {
        operation: known(function.py(), operation)?,
        epsilon,
        choice: Choice::new(&host.0, &host.1),
        on_device: DeviceChoice::new("normalize", &device.0, &device.1),
    };
    fast_call::new(function, Box::new(path))
}

struct FastNormalize {
    operation: Normalize,
    epsilon: f64,
    choice: Choice,
    on_device: DeviceChoice,
}

/// What a usual call asks for.
struct Plain<'a, 'py> {
    x: &'a Bound<'py, PyAny>,
    /// The axis of a softmax, the extent of the last axis of a norm.
    row: i64,
    parameters: Vec<Bound<'py, PyAny>>,
    epsilon: f64,
    out: Option<&'a Bound<'py, PyAny>>,
}

impl FastNormalize {
    fn is_softmax(&self) -> bool {
        matches!(self.operation, Normalize::Softmax | Normalize::LogSoftmax)
    }

    fn softmax<'a, 'py>(py: Python<'py>, arguments: &Arguments<'a, 'py>) -> Option<Plain<'a, 'py>> {
        if arguments.positional.len() > 2 {
            return None;
        }
        let names = || [intern!(py, "x"), intern!(py, "axis"), intern!(py, "out")];
        let [x, axis, out] = arguments.bind(names, arguments.positional)?;
        Some(Plain {
            x: x?,
            row: axis.map_or(Some(-1), integer)?,
            parameters: Vec::new(),
            epsilon: 0.0,
            out,
        })
    }

    fn norm<'a, 'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'a, 'py>,
    ) -> Option<Plain<'a, 'py>> {
        let [x, shape, weight] = [
            intern!(py, "x"),
            intern!(py, "normalized_shape"),
            intern!(py, "weight"),
        ];
        let (bias, eps, out) = (intern!(py, "bias"), intern!(py, "eps"), intern!(py, "out"));
        let given = arguments.positional;
        let [x, shape, weight, bias, eps, out] = if self.operation == Normalize::LayerNorm {
            (given.len() <= 5).then_some(())?;
            arguments.bind(|| [x, shape, weight, bias, eps, out], given)?
        } else {
            (given.len() <= 4).then_some(())?;
            let [x, shape, weight, eps, out] =
                arguments.bind(|| [x, shape, weight, eps, out], given)?;
            [x, shape, weight, None, eps, out]
        };
        let [weight, bias] =
            [weight, bias].map(|parameter| parameter.filter(|value| !value.is_none()));
        if weight.is_none() && bias.is_some() {
            return None;
        }
        let epsilon = match eps {
            None => self.epsilon,
            Some(eps) => eps.cast_exact::<PyFloat>().ok()?.extract().ok()?,
        };
        Some(Plain {
            x: x?,
            row: integer(shape?).filter(|extent| *extent >= 0)?,
            parameters: weight.into_iter().chain(bias).cloned().collect(),
            epsilon,
            out,
        })
    }
}

fn integer(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}

impl FastPath for FastNormalize {
    fn take<'py>(
        &self,
        py: Python<'py>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let plain = if self.is_softmax() {
            Self::softmax(py, arguments)
        } else {
            self.norm(py, arguments)
        };
        let Some(plain) = plain else {
            return Ok(None);
        };
        let out = plain.out.filter(|out| !out.is_none());
        let row = [plain.row];
        let options = NormalizeOptions {
            axes: if self.is_softmax() {
                RowAxes::Named(&row)
            } else {
                RowAxes::Last(&row)
            },
            epsilon: plain.epsilon,
            thread_limit: None,
        };
        let (x, parameters) = (plain.x, &plain.parameters[..]);
        let arrays = || std::iter::once(x).chain(parameters).chain(out);
        if arrays().all(is_on_host) {
            let name = intern!(py, "normalize").as_any();
            let Some(_crossing) = self.choice.enter(name, &NORMALIZE) else {
                return Ok(None);
            };
            return compute_on_host(self.operation, x, parameters, out, &options).map(Some);
        }
        let Some((ops, _crossing)) = self.on_device.enter(arrays(), &NORMALIZE) else {
            return Ok(None);
        };
        compute_on_device(py, &ops, self.operation, x, parameters, out, &options).map(Some)
    }
}

fn compute_on_host<'py>(
    known: Normalize,
    x: &Bound<'py, PyAny>,
    parameters: &[Bound<'py, PyAny>],
    out: Option<&Bound<'py, PyAny>>,
    options: &NormalizeOptions<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let name = known.name();
    let mut inputs: SmallVec<[Bound<'py, PyAny>; 3]> = SmallVec::new();
    inputs.push(x.clone());
    inputs.extend(parameters.iter().cloned());
    let names = ["x", "scale", "shift"].into_iter();
    let arguments = names
        .zip(&inputs)
        .map(|(argument, object)| host::array(name, argument, object))
        .collect::<PyResult<SmallVec<[_; 3]>>>()?;
    let views = host::views(&arguments);
    let mut call = host::Call::new(name, &inputs, out);
    let done = on_host(known, &views[0], &views[1..], options, &mut call);
    Ok(call.finish(done)?.0)
}

/// The gradient of `operation` by `x` (of the softmaxes its result) from that of the result; axes as for [`normalize`].
#[pyfunction]
#[pyo3(signature = (operation, x, gradient, scale, axes, out=None, *, row_shape=None, epsilon=0.0, threads=None))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn normalize_gradient<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    scale: Option<&Bound<'py, PyAny>>,
    axes: Vec<i64>,
    out: Option<&Bound<'py, PyAny>>,
    row_shape: Option<Vec<i64>>,
    epsilon: f64,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = GRADIENT.enter();
    let known = known(py, operation)?;
    let name = format!("{operation}_gradient");
    let mut inputs = vec![x.clone(), gradient.clone()];
    inputs.extend(scale.cloned());
    let names = ["x", "gradient", "weight"].into_iter();
    let arguments = names
        .zip(&inputs)
        .map(|(argument, object)| host::array(&name, argument, object))
        .collect::<PyResult<Vec<_>>>()?;
    let options = NormalizeOptions {
        thread_limit: threads,
        ..options_of(&axes, row_shape.as_deref(), epsilon)
    };
    let views = host::views(&arguments);
    let mut call = host::Call::new(&name, &inputs, out);
    let done = gradient_on_host(
        known,
        &views[0],
        &views[1],
        views.get(2),
        &options,
        &mut call,
    );
    Ok(call.finish(done)?.0)
}

/// The gradient as [`normalize_gradient`] computes it, by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (operation, x, gradient, scale, axes, out=None, *, row_shape=None, epsilon=0.0, device))]
#[allow(
    clippy::too_many_arguments,
    reason = "keyword arguments of a Python function"
)]
pub fn normalize_gradient_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    scale: Option<&Bound<'py, PyAny>>,
    axes: Vec<i64>,
    out: Option<&Bound<'py, PyAny>>,
    row_shape: Option<Vec<i64>>,
    epsilon: f64,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = GRADIENT.enter();
    let known = known(py, operation)?;
    let name = known.gradient_name();
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend(name, "x", x, &ops)?;
    let given = on_device::lend(name, "gradient", gradient, &ops)?;
    let factors = scale
        .map(|object| on_device::lend(name, "weight", object, &ops))
        .transpose()?;
    let out = Out::of(name, out, &ops)?;
    let target = out.array();
    let options = options_of(&axes, row_shape.as_deref(), epsilon);
    let factors = factors.as_ref();
    let made = py
        .detach(|| {
            amdgpu_ops::normalize_gradient(&ops, known, &input, &given, factors, target, &options)
        })
        .into_py_result(py)?;
    out.deliver(py, name, made)
}
