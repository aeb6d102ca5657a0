//! Sensors: readings, the sampler, histories, frames.

use std::sync::Mutex;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_telemetry::export::unit_of;
use amdgpu_telemetry::history::Resolution;
use amdgpu_telemetry::sampler::{FramePlan, Reading, Sampler, monitor, read};
use amdgpu_telemetry::sources::{SeriesKey, Tree, amd, nvidia};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Map, Value, json};

use crate::errors::raise;

fn labels(key: &SeriesKey) -> Value {
    let names = key.metric.metric().labels;
    let pairs = names.iter().zip(&key.labels);
    Value::Object(
        pairs
            .map(|(name, value)| ((*name).to_owned(), Value::from(&**value)))
            .collect::<Map<_, _>>(),
    )
}

fn reading(reading: &Reading) -> Value {
    let (value, reason) = match &reading.value {
        Ok(value) => (json!(value), Value::Null),
        Err(reason) => (Value::Null, json!(reason.to_string())),
    };
    json!({
        "metric": reading.key.metric.metric().name,
        "labels": labels(&reading.key),
        "value": value,
        "reason": reason,
        "time_ns": reading.time_ns,
        "period_ns": reading.period_ns,
        "source": reading.source,
    })
}

fn to_json(readings: &[Reading]) -> String {
    Value::Array(readings.iter().map(reading).collect()).to_string()
}

/// One reading for every series of this machine, as JSON.
#[pyfunction]
pub fn sensor_readings(py: Python<'_>) -> String {
    py.detach(|| to_json(&read()))
}

/// Processes that use GPUs, as JSON.
#[pyfunction]
pub fn sensor_processes(py: Python<'_>) -> String {
    py.detach(|| {
        let tree = Tree::default();
        let mut found = amd::clients::clients(&tree);
        found.extend(nvidia::clients(&tree));
        let rows = found.iter().map(|client| {
            json!({
                "pid": client.process_id,
                "command": client.command,
                "device": client.device,
                "memory_bytes": client.memory_bytes,
                "engine_seconds": client.engine_seconds,
            })
        });
        Value::Array(rows.collect()).to_string()
    })
}

/// Keeps the sensors being read while it is open.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct SensorSampler(Mutex<Option<Sampler>>);

impl SensorSampler {
    fn with<T: Send>(&self, py: Python<'_>, ask: impl FnOnce(&Sampler) -> T + Send) -> PyResult<T> {
        let answer = py.detach(|| {
            let guard = self
                .0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            match &*guard {
                None => Err((ErrorCode::Closed, "the sampler was closed")),
                Some(sampler) if !sampler.is_of_this_process() => Err((
                    ErrorCode::Forked,
                    "the sampler belongs to the process that made it",
                )),
                Some(sampler) => Ok(ask(sampler)),
            }
        });
        answer.map_err(|(code, message)| raise(py, code, Language::Rust, message))
    }
}

/// Times, and lowest, mean and highest values.
type Arrays<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

#[pymethods]
impl SensorSampler {
    #[new]
    fn new(py: Python<'_>) -> Self {
        Self(Mutex::new(Some(py.detach(|| monitor().sample()))))
    }

    /// Index, metric, labels, unit, source and period of every series, as JSON.
    fn series(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |sampler| {
            let rows = sampler
                .series()
                .into_iter()
                .enumerate()
                .map(|(index, info)| {
                    let metric = info.key.metric.metric();
                    json!({
                        "index": index,
                        "metric": metric.name,
                        "labels": labels(&info.key),
                        "unit": unit_of(metric.name).unwrap_or_default(),
                        "period_ns": info.period_ns,
                        "source": info.source,
                    })
                });
            Value::Array(rows.collect()).to_string()
        })
    }

    /// How many series there are so far.
    #[getter]
    fn series_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, Sampler::series_count)
    }

    /// Times and values in the order of the series; not-a-number is absent.
    fn latest(&self, py: Python<'_>) -> PyResult<(Vec<u64>, Vec<f64>)> {
        self.with(py, |sampler| {
            sampler.latest(|times, values| (times.to_vec(), values.to_vec()))
        })
    }

    /// Why values are absent, in the order of the series.
    fn reasons(&self, py: Python<'_>) -> PyResult<Vec<Option<String>>> {
        self.with(py, |sampler| {
            let reasons = sampler.reasons().into_iter();
            reasons
                .map(|reason| reason.map(|reason| reason.to_string()))
                .collect()
        })
    }

    /// Latest readings, as JSON.
    fn readings(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |sampler| to_json(&sampler.readings()))
    }

    /// The history of a series; None if there is no series or tier of that kind.
    fn history<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        tier: &str,
        start_ns: u64,
        end_ns: u64,
    ) -> PyResult<Option<Arrays<'py>>> {
        let points = self.with(py, |sampler| {
            let resolution = Resolution::from_name(tier)?;
            sampler.history(index, resolution, start_ns, end_ns)
        })?;
        Ok(points.map(|points| {
            (
                PyArray1::from_vec(py, points.time_ns),
                PyArray1::from_vec(py, points.min),
                PyArray1::from_vec(py, points.mean),
                PyArray1::from_vec(py, points.max),
            )
        }))
    }

    /// Bytes that all histories take.
    fn history_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, Sampler::history_bytes)
    }

    /// The matrix of `frame` as little-endian 32-bit floats, devices by metrics.
    fn frame_values<'py>(
        &self,
        py: Python<'py>,
        frame: &SensorFrame,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let values = self.with(py, |sampler| {
            let mut plan = frame
                .0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut values = Vec::new();
            sampler.frame(&mut plan, &mut values);
            values
        })?;
        Ok(PyBytes::new(py, &values))
    }

    /// Stop sampling, unless another sampler goes on.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let taken = self
                .0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .take();
            drop(taken);
        });
    }
}

/// Devices and metrics of a frame, looked up once.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct SensorFrame(Mutex<FramePlan>);

#[pymethods]
impl SensorFrame {
    #[new]
    fn new(
        py: Python<'_>,
        devices: Vec<String>,
        metrics: Vec<(String, Vec<(String, String)>)>,
    ) -> PyResult<Self> {
        let plan = FramePlan::new(devices, metrics).map_err(|name| {
            let message =
                format!("{name:?} is no metric of the catalogue; docs/metrics.md lists them");
            raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
        })?;
        Ok(Self(Mutex::new(plan)))
    }
    /// What stands behind the sensors of each device in frames from now on: as many bytes for each.
    fn set_tails(&self, py: Python<'_>, tails: &[u8]) -> PyResult<()> {
        let mut plan = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        plan.set_tails(tails).map_err(|devices| {
            let message = format!(
                "{} bytes are not the same for {devices} devices",
                tails.len()
            );
            raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
        })
    }
}
