//! `_native.Trainer`: back-propagation over a `_native.LayeredNetwork`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_hal::attention;
use amdgpu_neuro::training::{
    self, Learner, Loss, Optimizer, Position, Report, Samples, Targets, TrainingOptions,
};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::floats::{to_f32, values};
use crate::layered_network::{LayeredNetwork, to_array};
use crate::ops::on_device;

/// Signals are looked at, and progress is told, as often as this.
const INTERVAL: Duration = Duration::from_millis(50);

#[pyclass(frozen, module = "amdgpu._native")]
pub struct Trainer {
    network: Py<LayeredNetwork>,
    learner: Mutex<Learner>,
    /// Of each sample.
    steps: usize,
}

/// Gradients by connection or layer.
type NamedArrays<'py> = Vec<(String, Bound<'py, PyArrayDyn<f32>>)>;

fn invalid(py: Python<'_>, message: &str) -> PyErr {
    raise(py, ErrorCode::InvalidArgument, Language::Rust, message)
}

#[pymethods]
impl Trainer {
    #[new]
    #[pyo3(signature = (network, loss, optimizer, parameters, batch_size, l2_penalty, seed, is_shuffled, uses_math_core, steps=1, device=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "the options of a training, named in Python"
    )]
    fn new(
        py: Python<'_>,
        network: Py<LayeredNetwork>,
        loss: Option<&str>,
        optimizer: &str,
        parameters: HashMap<String, f32>,
        batch_size: usize,
        l2_penalty: f64,
        seed: u64,
        is_shuffled: bool,
        uses_math_core: bool,
        steps: usize,
        device: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let parameters: Vec<(String, f32)> = parameters.into_iter().collect();
        let options = TrainingOptions {
            loss: loss.map(Loss::from_name).transpose().into_py_result(py)?,
            optimizer: Optimizer::from_name(optimizer, &parameters).into_py_result(py)?,
            batch_size,
            steps,
            l2_penalty,
            seed,
            is_shuffled,
            uses_math_core,
        };
        let core = &network.get().network;
        let ops = device.map(on_device::ops_of).transpose()?;
        let learner = py.detach(|| Learner::new(core, options, ops));
        Ok(Self {
            learner: Mutex::new(learner.into_py_result(py)?),
            network,
            steps,
        })
    }

    #[getter]
    fn loss(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(self.lock(py)?.loss().name())
    }

    /// (epoch, samples, step, loss sum, correct).
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<(u32, u64, u64, f64, u64)> {
        let position = self.lock(py)?.position();
        Ok((
            position.epoch,
            position.samples,
            position.step,
            position.loss_sum,
            position.correct,
        ))
    }

    fn state<'py>(&self, py: Python<'py>) -> PyResult<Vec<Vec<Bound<'py, PyArray1<f32>>>>> {
        let state = self.lock(py)?.state().into_py_result(py)?;
        let arrays = |slots: Vec<Vec<f32>>| {
            let slots = slots.into_iter();
            slots.map(|slot| PyArray1::from_vec(py, slot)).collect()
        };
        Ok(state.into_iter().map(arrays).collect())
    }

    fn restore(
        &self,
        py: Python<'_>,
        state: Vec<Vec<Bound<'_, PyAny>>>,
        position: (u32, u64, u64, f64, u64),
    ) -> PyResult<()> {
        let copy = |array: &Bound<'_, PyAny>| -> PyResult<Vec<f32>> {
            let array = to_f32("state", array)?;
            // SAFETY: the array is only read, while the interpreter is held.
            Ok(unsafe { values(&array) }.to_vec())
        };
        let slots = state
            .iter()
            .map(|slots| slots.iter().map(copy).collect::<PyResult<Vec<_>>>())
            .collect::<PyResult<Vec<_>>>()?;
        let (epoch, samples, step, loss_sum, correct) = position;
        let position = Position {
            epoch,
            samples,
            step,
            loss_sum,
            correct,
        };
        self.lock(py)?.restore(&slots, position).into_py_result(py)
    }

    /// Keeps samples near the device until `release`: epochs over the same array read them there.
    fn hold(&self, x: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = x.py();
        let inputs = to_f32("x", x)?;
        let of_sample = inputs.shape().last().copied().unwrap_or_default();
        // SAFETY: the array is only read; it is kept alive by `inputs`.
        let x = unsafe { values(&inputs) };
        let mut learner = self.lock(py)?;
        learner.hold(x, of_sample).into_py_result(py)
    }

    fn release(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.release();
        Ok(())
    }

    /// One epoch: (loss, accuracy or None, samples), or None when `progress` or a signal stopped it between two batches.
    #[pyo3(signature = (x, targets, chosen, learning_rate, progress=None))]
    fn epoch(
        &self,
        x: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        chosen: &Bound<'_, PyArray1<u32>>,
        learning_rate: f64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Option<(f64, Option<f64>, u64)>> {
        let py = x.py();
        let mut guard = self.lock(py)?;
        let learner = &mut *guard;
        let network = &self.network.get().network;
        let chosen = chosen.to_vec()?;
        let mut stopped = None;
        let report = with_samples((network, self.steps), x, targets, |samples| {
            py.detach(|| {
                // The network is whole between two batches.
                let _deferral = attention::defer();
                let mut last = Instant::now();
                let mut after_batch = |done: u64| {
                    if last.elapsed() < INTERVAL {
                        return true;
                    }
                    last = Instant::now();
                    let answer = Python::attach(|py| {
                        py.check_signals()?;
                        progress
                            .as_ref()
                            .map_or(Ok(()), |tell| tell.call1(py, (done,)).map(|_| ()))
                    });
                    stopped = answer.err();
                    stopped.is_none()
                };
                learner.epoch(network, samples, &chosen, learning_rate, &mut after_batch)
            })
        })?;
        if let Some(error) = stopped {
            return Err(error);
        }
        Ok(report.into_py_result(py)?.map(plain))
    }

    /// (loss, accuracy or None, samples) without learning.
    fn evaluate(
        &self,
        x: &Bound<'_, PyAny>,
        targets: &Bound<'_, PyAny>,
        chosen: &Bound<'_, PyArray1<u32>>,
    ) -> PyResult<(f64, Option<f64>, u64)> {
        let py = x.py();
        let mut guard = self.lock(py)?;
        let learner = &mut *guard;
        let network = &self.network.get().network;
        let chosen = chosen.to_vec()?;
        let report = with_samples((network, self.steps), x, targets, |samples| {
            py.detach(|| learner.evaluate(network, samples, &chosen))
        })?;
        Ok(plain(report.into_py_result(py)?))
    }

    /// Loss, and the gradient by every connection and bias, for one batch.
    fn gradients<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        targets: &Bound<'py, PyAny>,
    ) -> PyResult<(f64, NamedArrays<'py>)> {
        let py = x.py();
        let mut guard = self.lock(py)?;
        let learner = &mut *guard;
        let network = &self.network.get().network;
        let found = with_samples((network, self.steps), x, targets, |samples| {
            py.detach(|| learner.gradients(network, samples))
        })?;
        let (report, gradients) = found.into_py_result(py)?;
        let arrays = gradients
            .into_iter()
            .map(|(name, shape, values)| Ok((name, to_array(py, values, &shape)?)))
            .collect::<PyResult<_>>()?;
        Ok((report.loss, arrays))
    }
}

impl Trainer {
    /// Refuses instead of waiting: whoever holds the trainer may be waiting for the interpreter.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Learner>> {
        match self.learner.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(invalid(py, "this training is running in another thread"))
            }
        }
    }
}

fn plain(report: Report) -> (f64, Option<f64>, u64) {
    (report.loss, report.accuracy, report.samples)
}

/// Samples of `x[count, steps * inputs]` with `targets`: uint32 labels `[count]`, or values `[count, outputs]`.
fn with_samples<T>(
    (network, steps): (&amdgpu_neuro::LayeredNetwork, usize),
    x: &Bound<'_, PyAny>,
    targets: &Bound<'_, PyAny>,
    work: impl FnOnce(&Samples<'_>) -> T,
) -> PyResult<T> {
    let py = x.py();
    let shape_mismatch =
        |message: String| raise(py, ErrorCode::ShapeMismatch, Language::Rust, &message);
    let inputs = to_f32("x", x)?;
    let count = match *inputs.shape() {
        [rows, columns] if columns == network.input_size() * steps => rows,
        _ => {
            return Err(shape_mismatch(format!(
                "the network learns from x of shape (samples, {}); x has shape {:?}",
                network.input_size() * steps,
                inputs.shape()
            )));
        }
    };
    // SAFETY: the array is only read; it is kept alive by `inputs`.
    let x = unsafe { values(&inputs) };
    let samples_of = |targets| Samples {
        x,
        count,
        steps,
        targets,
    };
    if let Ok(labels) = targets.cast::<PyArray1<u32>>() {
        let labels = labels.to_vec()?;
        let targets = Targets::Labels(&labels);
        return Ok(work(&samples_of(targets)));
    }
    let wanted = to_f32("y", targets)?;
    if *wanted.shape() != [count, network.output_size()] {
        return Err(shape_mismatch(format!(
            "y has shape {:?}, expected ({count}, {}), or ({count},) with whole labels",
            wanted.shape(),
            network.output_size()
        )));
    }
    // SAFETY: as above, kept alive by `wanted`.
    let targets = Targets::Values(unsafe { values(&wanted) });
    Ok(work(&samples_of(targets)))
}

/// Splits `count` samples by chance into those to learn from and `held_back` to validate with.
#[pyfunction]
pub fn training_split(
    py: Python<'_>,
    count: u32,
    held_back: u32,
    seed: u64,
) -> (Bound<'_, PyArray1<u32>>, Bound<'_, PyArray1<u32>>) {
    let (training, validation) = training::split(count, held_back, seed);
    (
        PyArray1::from_vec(py, training),
        PyArray1::from_vec(py, validation),
    )
}

/// The order of an epoch over `count` samples.
#[pyfunction]
pub fn training_order(
    py: Python<'_>,
    count: u32,
    seed: u64,
    epoch: u32,
) -> Bound<'_, PyArray1<u32>> {
    PyArray1::from_vec(py, training::order(count, seed, epoch))
}
