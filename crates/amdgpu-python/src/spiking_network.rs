//! `_native.SpikingNetwork`: a spiking network on a device.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::Language;
use amdgpu_hal::attention;
use amdgpu_neuro as neuro;
use amdgpu_neuro::external_inputs::{Array, Arrays};
use amdgpu_neuro::spiking::{
    Progress, RunResult, SpikingBatch as Batch, SpikingNetwork as Engine, SpikingOptions,
    StateArray,
};
use amdgpu_telemetry::Boundary;
use numpy::{
    PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::codegen::PythonCodeGenerator;
use crate::device::Device;
use crate::errors::IntoPyResult;
use crate::floats::to_f32;
use crate::network_plan::NetworkPlan;

static BUILD: Boundary = Boundary::new(Language::Python, Language::Rust, "SpikingNetwork.build");
static RUN: Boundary = Boundary::new(Language::Python, Language::Rust, "SpikingNetwork.run");

/// Arrays of the program as networks take them: copies, row-major.
pub(crate) fn arrays_of(arrays: Option<HashMap<String, PyReadonlyArrayDyn<'_, f64>>>) -> Arrays {
    let given = arrays.unwrap_or_default().into_iter();
    given
        .map(|(name, values)| {
            let array = Array {
                shape: values.shape().to_vec(),
                values: values.as_array().iter().copied().collect(),
            };
            (name, Arc::new(array))
        })
        .collect()
}

/// Predicted memory of the network of a plan on a device, as JSON.
#[pyfunction]
#[pyo3(signature = (plan, device, *, base_directory=None, arrays=None))]
pub fn network_memory(
    py: Python<'_>,
    plan: &NetworkPlan,
    device: &Device,
    base_directory: Option<PathBuf>,
    arrays: Option<HashMap<String, PyReadonlyArrayDyn<'_, f64>>>,
) -> PyResult<String> {
    let context = device.context();
    let options = SpikingOptions {
        base_directory: base_directory.unwrap_or_default(),
        arrays: arrays_of(arrays),
        ..SpikingOptions::default()
    };
    let estimate = py
        .detach(|| neuro::spiking::memory_estimate(&plan.plan, context, &options))
        .into_py_result(py)?;
    Ok(estimate.to_json())
}

#[pyclass(frozen, module = "amdgpu._native")]
pub struct SpikingNetwork {
    engine: Engine,
}

#[pymethods]
impl SpikingNetwork {
    #[new]
    #[pyo3(signature = (plan, device, *, base_directory=None, arrays=None, threads=None, by_launches=false))]
    #[allow(
        clippy::too_many_arguments,
        reason = "keyword arguments of a Python function"
    )]
    fn new(
        py: Python<'_>,
        plan: &NetworkPlan,
        device: &Device,
        base_directory: Option<PathBuf>,
        arrays: Option<HashMap<String, PyReadonlyArrayDyn<'_, f64>>>,
        threads: Option<usize>,
        by_launches: bool,
    ) -> PyResult<Self> {
        let _crossing = BUILD.enter();
        let options = SpikingOptions {
            base_directory: base_directory.unwrap_or_default(),
            arrays: arrays_of(arrays),
            threads,
            by_launches,
        };
        let context = device.context();
        let engine = py
            .detach(|| Engine::build(&plan.plan, context, &PythonCodeGenerator, &options))
            .into_py_result(py)?;
        Ok(Self { engine })
    }

    #[getter]
    fn name(&self) -> &str {
        self.engine.name()
    }

    #[getter]
    fn dt_seconds(&self) -> f64 {
        self.engine.plan().dt_seconds
    }

    /// The number of the next step.
    #[getter]
    fn step_number(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.engine.step_number())
    }

    /// Whether steps are replayed as graphs of the device.
    #[getter]
    fn is_replayed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.engine.is_replayed())
    }

    /// Predicted memory, as JSON.
    fn warnings(&self) -> Vec<String> {
        self.engine.warnings().to_vec()
    }

    fn memory_json(&self) -> String {
        self.engine.memory().to_json()
    }

    fn steps_of(&self, py: Python<'_>, seconds: f64) -> PyResult<u64> {
        self.engine.steps_of(seconds).into_py_result(py)
    }

    /// Make steps. `watch(done, total, spikes)` is called now and then. A signal that Python has waiting ends the run; the exception of its
    /// handler then stands under "error" beside what was done.
    #[pyo3(signature = (steps, watch=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        steps: u64,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _crossing = RUN.enter();
        let mut raised: Option<PyErr> = None;
        let result = py
            .detach(|| {
                // The network is whole between two steps.
                let _deferral = attention::defer();
                let watch = &mut |progress| is_watched(watch.as_ref(), progress, &mut raised);
                self.engine.run(steps, watch)
            })
            .into_py_result(py)?;
        let dict = to_dict(py, result)?;
        dict.set_item("error", raised.map(|error| error.into_value(py)))?;
        Ok(dict)
    }

    fn reward(&self, py: Python<'_>, value: f32) {
        py.detach(|| self.engine.reward(value));
    }

    /// Variables that the network keeps, as `population.variable`.
    fn state_names(&self) -> Vec<String> {
        self.engine.state_names()
    }

    fn state<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let values = py.detach(|| self.engine.state(name)).into_py_result(py)?;
        Ok(PyArray1::from_vec(py, values))
    }

    fn set_state(&self, name: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = values.py();
        let given = to_f32("states", values)?;
        // SAFETY: the array is only read; it is kept alive by `given`.
        let slice = unsafe { crate::floats::values(&given) };
        py.detach(|| self.engine.set_state(name, slice))
            .into_py_result(py)
    }

    fn projection_names(&self) -> Vec<String> {
        self.engine.projection_names().to_vec()
    }

    /// Sources, targets, weights and delays of a projection.
    /// Those of all sources, or of a range of them.
    #[pyo3(signature = (name, sources=None))]
    fn synapses<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        sources: Option<(usize, usize)>,
    ) -> PyResult<SynapseArrays<'py>> {
        let sources = sources.map(|(first, end)| first..end);
        let table = py
            .detach(|| self.engine.synapses(name, sources))
            .into_py_result(py)?;
        Ok((
            PyArray1::from_vec(py, table.sources),
            PyArray1::from_vec(py, table.targets),
            PyArray1::from_vec(py, table.weights),
            PyArray1::from_vec(py, table.delays_seconds),
        ))
    }

    fn set_weights(&self, name: &str, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = values.py();
        let given = to_f32("weights", values)?;
        // SAFETY: the array is only read; it is kept alive by `given`.
        let slice = unsafe { crate::floats::values(&given) };
        py.detach(|| self.engine.set_weights(name, slice))
            .into_py_result(py)
    }

    /// The number of the next step, and every array of the state by name.
    fn export_state<'py>(&self, py: Python<'py>) -> PyResult<(u64, Bound<'py, PyDict>)> {
        let (step, arrays) = py
            .detach(|| self.engine.export_state())
            .into_py_result(py)?;
        let dict = PyDict::new(py);
        for (name, array) in arrays {
            match array {
                StateArray::F32(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
                StateArray::I32(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
                StateArray::U32(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
                StateArray::I64(values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
            }
        }
        Ok((step, dict))
    }

    fn import_state(&self, step: u64, arrays: &Bound<'_, PyDict>) -> PyResult<()> {
        let py = arrays.py();
        let mut state = Vec::with_capacity(arrays.len());
        for (name, array) in arrays {
            let values = if let Ok(values) = array.extract::<PyReadonlyArray1<'_, f32>>() {
                StateArray::F32(values.as_array().to_vec())
            } else if let Ok(values) = array.extract::<PyReadonlyArray1<'_, i32>>() {
                StateArray::I32(values.as_array().to_vec())
            } else if let Ok(values) = array.extract::<PyReadonlyArray1<'_, i64>>() {
                StateArray::I64(values.as_array().to_vec())
            } else {
                StateArray::U32(
                    array
                        .extract::<PyReadonlyArray1<'_, u32>>()?
                        .as_array()
                        .to_vec(),
                )
            };
            state.push((name.extract::<String>()?, values));
        }
        py.detach(|| self.engine.import_state(step, &state))
            .into_py_result(py)
    }
}

/// Networks whose plans differ in seeds and listed spikes only, stepped by the same launches.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct SpikingBatch {
    engine: Mutex<Batch>,
}

#[pymethods]
impl SpikingBatch {
    #[new]
    #[pyo3(signature = (plans, device, *, base_directory=None, arrays=None))]
    fn new(
        py: Python<'_>,
        plans: Vec<PyRef<'_, NetworkPlan>>,
        device: &Device,
        base_directory: Option<PathBuf>,
        arrays: Option<HashMap<String, PyReadonlyArrayDyn<'_, f64>>>,
    ) -> PyResult<Self> {
        let _crossing = BUILD.enter();
        let options = SpikingOptions {
            base_directory: base_directory.unwrap_or_default(),
            arrays: arrays_of(arrays),
            ..SpikingOptions::default()
        };
        let context = device.context();
        let members: Vec<_> = plans.iter().map(|one| one.plan.clone()).collect();
        let engine = py
            .detach(|| Batch::build(&members, context, &PythonCodeGenerator, &options))
            .into_py_result(py)?;
        Ok(Self {
            engine: Mutex::new(engine),
        })
    }

    /// Make the steps of a time. `watch` and "error" are as in `SpikingNetwork.run`; the error is the same of all members.
    #[pyo3(signature = (seconds, watch=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let _crossing = RUN.enter();
        let mut raised: Option<PyErr> = None;
        let results = py
            .detach(|| {
                let _deferral = attention::defer();
                let mut engine = self.lock();
                let steps = engine.steps_of(seconds)?;
                let watch = &mut |progress| is_watched(watch.as_ref(), progress, &mut raised);
                engine.run(steps, watch)
            })
            .into_py_result(py)?;
        let error = raised.map(|error| error.into_value(py));
        let results = results.into_iter().map(|result| {
            let dict = to_dict(py, result)?;
            dict.set_item("error", error.as_ref())?;
            Ok(dict)
        });
        results.collect()
    }

    #[getter]
    fn dt_seconds(&self, py: Python<'_>) -> f64 {
        py.detach(|| self.lock().dt_seconds())
    }

    /// Whether steps are replayed as graphs of the device.
    #[getter]
    fn is_replayed(&self, py: Python<'_>) -> bool {
        py.detach(|| self.lock().is_replayed())
    }
}

impl SpikingBatch {
    /// A panic between two steps leaves a batch whose next run says what is wrong.
    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls the watcher of a run, and handlers of signals that wait; false ends the run, with what was raised.
fn is_watched(watch: Option<&Py<PyAny>>, progress: Progress, raised: &mut Option<PyErr>) -> bool {
    let Progress {
        done_steps,
        total_steps,
        spikes,
    } = progress;
    let answer = Python::attach(|py| {
        py.check_signals()?;
        if let Some(watch) = watch {
            watch.call1(py, (done_steps, total_steps, spikes))?;
        }
        Ok(())
    });
    *raised = answer.err();
    raised.is_none()
}

type SynapseArrays<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f32>>,
    Bound<'py, PyArray1<f64>>,
);

fn to_dict(py: Python<'_>, result: RunResult) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("first_step", result.first_step)?;
    dict.set_item("steps", result.steps)?;
    dict.set_item("wall_seconds", result.wall_seconds)?;
    dict.set_item("spike_hash", format!("{:016x}", result.spike_hash))?;
    dict.set_item("is_interrupted", result.is_interrupted)?;
    let counts = PyList::empty(py);
    for (name, size, count) in result.counts {
        counts.append((name, size, count))?;
    }
    dict.set_item("counts", counts)?;
    let spikes = PyList::empty(py);
    for record in result.spikes {
        let times = PyArray1::from_vec(py, record.times_seconds);
        let indices = PyArray1::from_vec(py, record.indices);
        spikes.append((record.name, times, indices))?;
    }
    dict.set_item("spikes", spikes)?;
    let states = PyList::empty(py);
    for record in result.states {
        let shape = [record.times_seconds.len(), record.count];
        let times = PyArray1::from_vec(py, record.times_seconds);
        let values = PyArray1::from_vec(py, record.values).reshape(shape)?;
        states.append((record.name, times, record.first, values))?;
    }
    dict.set_item("states", states)?;
    Ok(dict)
}
