//! Batch normalisation and gradients of norms by their parameters, bound to `amdgpu_ops::batch_norm` and `amdgpu_ops::norm_parameter_gradients`.

use amdgpu_abi::Language;
use amdgpu_ops::Operand;
use amdgpu_ops::batch_norm::{BatchNormOptions, ChannelParameters};
use amdgpu_ops::normalize::{NormalizeOptions, RowAxes};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::IntoPyResult;
use crate::ops::normalize::known;
use crate::ops::on_device::lend_in_place;
use crate::ops::place::Place;

static BATCH_NORM: Boundary = Boundary::new(Language::Python, Language::Rust, "batch_norm");
static GRADIENT: Boundary = Boundary::new(Language::Python, Language::Rust, "norm_gradient");

/// Factors and addends of the channels, wherever they lie.
struct Parameters {
    weight: Option<Operand>,
    bias: Option<Operand>,
}

impl Parameters {
    fn of(
        operation: &str,
        weight: Option<&Bound<'_, PyAny>>,
        bias: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let lent = |name: &str, given: Option<&Bound<'_, PyAny>>| {
            given
                .map(|given| lend_in_place(operation, name, given))
                .transpose()
        };
        Ok(Self {
            weight: lent("weight", weight)?,
            bias: lent("bias", bias)?,
        })
    }

    fn channels(&self) -> ChannelParameters<'_> {
        ChannelParameters {
            weight: self.weight.as_ref(),
            bias: self.bias.as_ref(),
        }
    }
}

/// x normalised with given statistics.
#[pyfunction]
#[pyo3(signature = (x, mean, variance, weight, bias, epsilon, channel_axis, *, device=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of a Python function")]
pub fn batch_norm<'py>(
    x: &Bound<'py, PyAny>,
    mean: &Bound<'py, PyAny>,
    variance: &Bound<'py, PyAny>,
    weight: Option<&Bound<'py, PyAny>>,
    bias: Option<&Bound<'py, PyAny>>,
    epsilon: f64,
    channel_axis: i64,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    const NAME: &str = "batch_norm";
    let _crossing = BATCH_NORM.enter();
    let place = Place::of(&[x], device)?;
    let x = place.lend(NAME, "x", x)?;
    let mean = lend_in_place(NAME, "mean", mean)?;
    let variance = lend_in_place(NAME, "variance", variance)?;
    let parameters = Parameters::of(NAME, weight, bias)?;
    let options = BatchNormOptions {
        channel_axis,
        epsilon,
    };
    let made = place.py.detach(|| {
        let (statistics, parameters) = ((&mean, &variance), parameters.channels());
        amdgpu_ops::batch_norm(&place.ops, &x, statistics, parameters, options)
    });
    place.give(made.into_py_result(place.py)?)
}

/// x normalised with its own statistics, its means and its variances.
#[pyfunction]
#[pyo3(signature = (x, weight, bias, epsilon, channel_axis, *, device=None))]
pub fn batch_norm_training<'py>(
    x: &Bound<'py, PyAny>,
    weight: Option<&Bound<'py, PyAny>>,
    bias: Option<&Bound<'py, PyAny>>,
    epsilon: f64,
    channel_axis: i64,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    const NAME: &str = "batch_norm_training";
    let _crossing = BATCH_NORM.enter();
    let place = Place::of(&[x], device)?;
    let x = place.lend(NAME, "x", x)?;
    let parameters = Parameters::of(NAME, weight, bias)?;
    let options = BatchNormOptions {
        channel_axis,
        epsilon,
    };
    let made = place
        .py
        .detach(|| amdgpu_ops::batch_norm_training(&place.ops, &x, parameters.channels(), options));
    let made = made.into_py_result(place.py)?;
    place.give_all([made.result, made.mean, made.variance])
}

/// Gradients of [`batch_norm_training`] by x, weight and bias.
#[pyfunction]
#[pyo3(signature = (x, gradient, weight, epsilon, channel_axis, *, device=None))]
pub fn batch_norm_gradient<'py>(
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    weight: Option<&Bound<'py, PyAny>>,
    epsilon: f64,
    channel_axis: i64,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    const NAME: &str = "batch_norm_gradient";
    let _crossing = GRADIENT.enter();
    let place = Place::of(&[x, gradient], device)?;
    let x = place.lend(NAME, "x", x)?;
    let gradient = place.lend(NAME, "gradient", gradient)?;
    let Parameters { weight, .. } = Parameters::of(NAME, weight, None)?;
    let options = BatchNormOptions {
        channel_axis,
        epsilon,
    };
    let made = place.py.detach(|| {
        amdgpu_ops::batch_norm_gradient(&place.ops, &x, &gradient, weight.as_ref(), options)
    });
    let made = made.into_py_result(place.py)?;
    place.give_all([made.by_x, made.by_weight, made.by_bias])
}

/// Gradients of a norm over the last axes by its scale and, where it has one, by its shift.
#[pyfunction]
#[pyo3(signature = (operation, x, gradient, row_shape, epsilon, *, device=None))]
pub fn norm_parameter_gradients<'py>(
    operation: &str,
    x: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    row_shape: Vec<i64>,
    epsilon: f64,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let _crossing = GRADIENT.enter();
    let norm = known(x.py(), operation)?;
    let name = norm.gradient_name();
    let place = Place::of(&[x, gradient], device)?;
    let x = place.lend(name, "x", x)?;
    let gradient = place.lend(name, "gradient", gradient)?;
    let options = NormalizeOptions {
        axes: RowAxes::Last(&row_shape),
        epsilon,
        thread_limit: None,
    };
    let made = place
        .py
        .detach(|| amdgpu_ops::norm_parameter_gradients(&place.ops, norm, &x, &gradient, &options));
    let (by_scale, by_shift) = made.into_py_result(place.py)?;
    place.give_all(std::iter::once(by_scale).chain(by_shift))
}
