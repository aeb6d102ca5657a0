//! `_native.Network`: a checked network plan with its weights.

use std::collections::HashMap;
use std::path::PathBuf;

use amdgpu_abi::{ErrorCode, Language, MetricId};
use amdgpu_neuro as neuro;
use amdgpu_neuro::{BuildOptions, DenseBackendKind};
use amdgpu_telemetry::{Boundary, Core};
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::floats::{to_f32, values};

static COMPILE: Boundary = Boundary::new(Language::Python, Language::Rust, "Network.from_text");
static FORWARD: Boundary = Boundary::new(Language::Python, Language::Rust, "Network.forward");

#[pyclass(frozen, module = "amdgpu._native", weakref)]
pub struct Network {
    pub(crate) network: neuro::Network,
    text: String,
}

#[pymethods]
impl Network {
    #[staticmethod]
    #[pyo3(signature = (text, base_directory=None))]
    fn from_text(py: Python<'_>, text: String, base_directory: Option<PathBuf>) -> PyResult<Self> {
        let _crossing = COMPILE.enter();
        let options = BuildOptions {
            base_directory: base_directory.unwrap_or_default(),
            ..BuildOptions::default()
        };
        let network = py
            .detach(|| neuro::Network::from_text_with(&text, &options))
            .into_py_result(py)?;
        Ok(Self { network, text })
    }

    /// A network whose text was compiled before.
    #[staticmethod]
    #[pyo3(signature = (plan_json, text, base_directory=None, arrays=None))]
    fn from_plan(
        py: Python<'_>,
        plan_json: &str,
        text: String,
        base_directory: Option<PathBuf>,
        arrays: Option<HashMap<String, PyReadonlyArrayDyn<'_, f64>>>,
    ) -> PyResult<Self> {
        let options = BuildOptions {
            base_directory: base_directory.unwrap_or_default(),
            arrays: crate::spiking::arrays_of(arrays),
            ..BuildOptions::default()
        };
        let network = py
            .detach(|| neuro::Network::from_plan_json(plan_json, &options))
            .into_py_result(py)?;
        Ok(Self { network, text })
    }

    #[staticmethod]
    fn from_config(py: Python<'_>, config_json: &str) -> PyResult<Self> {
        let text = neuro::network_text_of_config(config_json).into_py_result(py)?;
        let network = py
            .detach(|| neuro::Network::from_config_json(config_json, &BuildOptions::default()))
            .into_py_result(py)?;
        Ok(Self { network, text })
    }

    #[getter]
    fn name(&self) -> &str {
        self.network.name()
    }

    #[getter]
    fn plan_json(&self, py: Python<'_>) -> PyResult<String> {
        self.network.plan_json().into_py_result(py)
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.network
            .warnings()
            .iter()
            .map(|warning| {
                format!(
                    "{}:{}: {} ({})",
                    warning.line, warning.column, warning.message, warning.hint
                )
            })
            .collect()
    }

    #[getter]
    fn input_size(&self) -> usize {
        self.network.input_size()
    }

    #[getter]
    fn output_size(&self) -> usize {
        self.network.output_size()
    }

    /// Whether a layer has a state, so that samples have steps.
    #[getter]
    fn is_temporal(&self) -> bool {
        self.network.is_temporal()
    }

    fn connection_names(&self) -> Vec<String> {
        self.network.connection_names().collect()
    }

    fn weights<'py>(
        &self,
        py: Python<'py>,
        connection: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let (values, shape) = self.network.weights(connection).into_py_result(py)?;
        to_array(py, values, &shape)
    }

    fn set_weights(&self, connection: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = values.py();
        let wanted = self.network.weight_shape(connection).into_py_result(py)?;
        let given = to_f32("weights", values)?;
        if given.shape() != wanted {
            let message = format!(
                "the weights of {connection} have shape {wanted:?}, {:?} was given",
                given.shape()
            );
            return Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ));
        }
        // SAFETY: the array is only read, while the interpreter is held.
        let slice = unsafe { crate::floats::values(&given) };
        self.network
            .set_weights(connection, slice)
            .into_py_result(py)
    }

    fn layer_names(&self) -> Vec<String> {
        let layers = &self.network.plan().layers;
        layers.iter().map(|layer| layer.name.clone()).collect()
    }

    /// The biases of a layer; None for a layer without.
    fn biases<'py>(
        &self,
        py: Python<'py>,
        layer: &str,
    ) -> PyResult<Option<Bound<'py, PyArrayDyn<f32>>>> {
        let values = self.network.biases(layer).into_py_result(py)?;
        values
            .map(|values| {
                let len = values.len();
                to_array(py, values, &[len])
            })
            .transpose()
    }

    fn set_biases(&self, layer: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = values.py();
        let given = to_f32("biases", values)?;
        // SAFETY: the array is only read, while the interpreter is held.
        let slice = unsafe { crate::floats::values(&given) };
        self.network.set_biases(layer, slice).into_py_result(py)
    }

    /// What the rule bcm of a connection compares with; None before its first step.
    fn thresholds<'py>(
        &self,
        py: Python<'py>,
        connection: &str,
    ) -> PyResult<Option<Bound<'py, PyArrayDyn<f32>>>> {
        let values = self.network.thresholds(connection).into_py_result(py)?;
        values
            .map(|values| {
                let len = values.len();
                to_array(py, values, &[len])
            })
            .transpose()
    }

    fn set_thresholds(
        &self,
        py: Python<'_>,
        connection: &str,
        values: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let given = values
            .map(|values| to_f32("thresholds", values))
            .transpose()?;
        let slice = given
            .as_ref()
            // SAFETY: the array is only read, while the interpreter is held.
            .map(|given| unsafe { crate::floats::values(given) });
        self.network
            .set_thresholds(connection, slice)
            .into_py_result(py)
    }

    /// Another number whenever weights or biases may have changed since.
    #[getter]
    fn version(&self) -> u64 {
        self.network.version()
    }

    /// The version, and for each layer its weights `(width, size)` and its bias; None for what it does not have.
    fn layer_numbers<'py>(&self, py: Python<'py>) -> PyResult<(u64, Vec<LayerArrays<'py>>)> {
        let (version, layers) = py.detach(|| self.network.layer_numbers());
        let arrays = layers.into_iter().map(|layer| {
            let shape = [layer.width, layer.weights.len() / layer.width.max(1)];
            let weights = (layer.width > 0)
                .then(|| to_array(py, layer.weights, &shape))
                .transpose()?;
            let bias = layer.bias.map(|bias| {
                let shape = [bias.len()];
                to_array(py, bias, &shape)
            });
            Ok((weights, bias.transpose()?))
        });
        let arrays = arrays.collect::<PyResult<_>>()?;
        Ok((version, arrays))
    }

    /// What an input of a shape means: samples, steps of each, and the axes of the result before its outputs.
    fn input_samples(
        &self,
        py: Python<'_>,
        shape: Vec<usize>,
    ) -> PyResult<(usize, usize, Vec<usize>)> {
        let found = self.samples_of(py, &shape)?;
        self.network.check_steps(found.1).into_py_result(py)?;
        Ok(found)
    }

    /// An input as float32, of which no value is NaN or infinite.
    fn checked_input<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let py = x.py();
        let input = to_f32("x", x)?;
        self.input_samples(py, input.shape().to_vec())?;
        // SAFETY: the array is only read; it is kept alive by `input`.
        let slice = unsafe { values(&input) };
        py.detach(|| self.network.check_input(slice))
            .into_py_result(py)?;
        Ok(input)
    }

    /// Counts a forward pass that was computed on a device and ended now.
    fn count_step(&self, device: &str, samples: usize, duration_ns: u64) {
        let labels = [device, Core::Neuromorphic.name(), Language::Python.name()];
        amdgpu_telemetry::counter(MetricId::OperationsTotal, &labels).increment();
        self.network
            .count_step(Language::Python, samples, duration_ns);
    }

    #[getter]
    fn parameter_count(&self) -> usize {
        self.network.parameter_count()
    }

    fn forward<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        backend: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        self.run(x, backend, |input, batch, steps, backend| {
            self.network.forward_steps(input, batch, steps, backend)
        })
    }

    fn hebbian_step<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        backend: &str,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        self.run(x, backend, |input, batch, steps, backend| {
            self.network.hebbian_step(input, batch * steps, backend)
        })
    }
}

type LayerArrays<'py> = (
    Option<Bound<'py, PyArrayDyn<f32>>>,
    Option<Bound<'py, PyArrayDyn<f32>>>,
);

impl Network {
    fn run<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        backend: &str,
        step: impl FnOnce(&[f32], usize, usize, &dyn neuro::DenseBackend) -> neuro::Result<Vec<f32>>
        + Send,
    ) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
        let py = x.py();
        let _crossing = FORWARD.enter();
        let kind = DenseBackendKind::from_name(backend).ok_or_else(|| {
            let known = DenseBackendKind::ALL.map(DenseBackendKind::name).join(", ");
            raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                &format!("backend is {backend:?}; known are {known}"),
            )
        })?;
        let input = to_f32("x", x)?;
        let (batch, steps, mut shape) = self.samples_of(py, input.shape())?;
        shape.push(self.output_size());
        // SAFETY: the array is only read; it is kept alive by `input`.
        let slice = unsafe { values(&input) };
        let output = py
            .detach(|| step(slice, batch, steps, kind.open()?.as_ref()))
            .into_py_result(py)?;
        to_array(py, output, &shape)
    }

    /// Samples, steps of each, and the axes of the result before its outputs.
    fn samples_of(&self, py: Python<'_>, shape: &[usize]) -> PyResult<(usize, usize, Vec<usize>)> {
        let inputs = self.input_size();
        let is_temporal = self.network.is_temporal();
        Ok(match *shape {
            [columns] if !is_temporal && columns == inputs => (1, 1, vec![]),
            [rows, columns] if !is_temporal && columns == inputs => (rows, 1, vec![rows]),
            [steps, columns] if is_temporal && columns == inputs => (1, steps, vec![]),
            [rows, steps, columns] if is_temporal && columns == inputs => (rows, steps, vec![rows]),
            _ => {
                let steps = if is_temporal { "steps, " } else { "" };
                let one = if is_temporal {
                    format!("(steps, {inputs})")
                } else {
                    format!("({inputs},)")
                };
                let message = format!(
                    "the network takes {one} or (batch, {steps}{inputs}); x has shape {shape:?}"
                );
                return Err(raise(
                    py,
                    ErrorCode::ShapeMismatch,
                    Language::Rust,
                    &message,
                ));
            }
        })
    }
}

pub(crate) fn to_array<'py>(
    py: Python<'py>,
    values: Vec<f32>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<f32>>> {
    let flat = numpy::PyArray1::from_vec(py, values);
    flat.reshape(shape)
}
