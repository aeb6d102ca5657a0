//! `_native.LayeredNetwork`: a layered network with its weights and biases.

use std::collections::HashMap;
use std::path::PathBuf;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_neuro as neuro;
use amdgpu_neuro::config::Built;
use amdgpu_neuro::{BuildOptions, DenseBackendKind, DeviceInput};
use amdgpu_telemetry::Boundary;
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::floats::{to_f32, values};
use crate::network_plan::NetworkPlan;
use crate::ops::on_device;

static FORWARD: Boundary =
    Boundary::new(Language::Python, Language::Rust, "LayeredNetwork.forward");

#[pyclass(frozen, module = "amdgpu._native", weakref)]
pub struct LayeredNetwork {
    pub(crate) network: neuro::LayeredNetwork,
    plan: neuro::NetworkPlan,
}

#[pymethods]
impl LayeredNetwork {
    #[new]
    #[pyo3(signature = (plan, *, base_directory=None, arrays=None))]
    fn new(
        py: Python<'_>,
        plan: &NetworkPlan,
        base_directory: Option<PathBuf>,
        arrays: Option<HashMap<String, PyReadonlyArrayDyn<'_, f64>>>,
    ) -> PyResult<Self> {
        let options = BuildOptions {
            base_directory: base_directory.unwrap_or_default(),
            arrays: crate::spiking_network::arrays_of(arrays),
        };
        let network = py.detach(|| neuro::LayeredNetwork::build(&plan.plan, &options));
        Ok(Self {
            network: network.into_py_result(py)?,
            plan: plan.plan.clone(),
        })
    }

    /// The network of a configuration, its plan, and the network text that the configuration stands for.
    #[staticmethod]
    fn from_config(py: Python<'_>, config_json: &str) -> PyResult<(Self, NetworkPlan, String)> {
        let built = py.detach(|| neuro::config::build(config_json, &BuildOptions::default()));
        let Built {
            network,
            plan,
            text,
        } = built.into_py_result(py)?;
        let own = plan.clone();
        Ok((Self { network, plan: own }, NetworkPlan { plan }, text))
    }

    #[getter]
    fn plan(&self) -> NetworkPlan {
        NetworkPlan {
            plan: self.plan.clone(),
        }
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

    /// The forward pass on a device. The result is an array of the device where `x` is one, else one of NumPy's.
    #[pyo3(signature = (x, *, device))]
    fn forward_on_device<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        device: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = x.py();
        let _crossing = FORWARD.enter();
        let ops = on_device::ops_of(device)?;
        let array = x.cast::<Array>().ok().map(Bound::get);
        let is_there = array.is_some_and(|array| array.device_name() == ops.name());
        if let Some(array) = array.filter(|array| is_there && array.dtype == Dtype::F32) {
            let made = py.detach(|| self.network.forward_array(&ops, array));
            return Ok(Bound::new(py, Array::from(made.into_py_result(py)?))?.into_any());
        }
        let is_far = array.is_some_and(|array| !array.is_host_visible());
        let input = if is_far {
            to_f32("x", &x.call_method0("numpy")?)?
        } else {
            to_f32("x", x)?
        };
        let (samples, steps, lead) = self.network.samples_of(input.shape()).into_py_result(py)?;
        // SAFETY: the array is only read; it is kept alive by `input`.
        let x = DeviceInput::Host(unsafe { values(&input) });
        let made = py.detach(|| self.network.forward_on_device(&ops, x, samples, steps));
        let made = Bound::new(py, self.shaped(py, made.into_py_result(py)?, &lead)?)?;
        if is_there {
            return Ok(made.into_any());
        }
        made.call_method0("numpy")
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

impl LayeredNetwork {
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
        let (batch, steps, mut shape) =
            self.network.samples_of(input.shape()).into_py_result(py)?;
        shape.push(self.output_size());
        // SAFETY: the array is only read; it is kept alive by `input`.
        let slice = unsafe { values(&input) };
        let output = py
            .detach(|| step(slice, batch, steps, kind.open()?.as_ref()))
            .into_py_result(py)?;
        to_array(py, output, &shape)
    }

    /// Outputs of shape (samples, outputs) with the axes that the input had before its values.
    fn shaped(&self, py: Python<'_>, out: amdgpu_array::Array, lead: &[usize]) -> PyResult<Array> {
        let shape = lead.iter().map(|extent| *extent as i64);
        let shape: Vec<i64> = shape.chain([self.output_size() as i64]).collect();
        Ok(Array::from(out.reshaped(&shape).into_py_result(py)?))
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
