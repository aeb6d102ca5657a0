//! `_native.Event`: points of streams.

use std::sync::{Arc, Mutex, PoisonError};

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array::recording;
use amdgpu_hal as hal;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::given;
use crate::graph;
use crate::stream::{Stream, check_device};

const NS_PER_MS: f64 = 1e6;

/// A point of a stream, made by `stream.record()`: it can be asked about, waited for and dated.
#[pyclass(frozen, module = "amdgpu")]
pub struct Event {
    device: String,
    state: Mutex<State>,
}

#[derive(Clone)]
enum State {
    Fresh,
    Recorded(Arc<dyn hal::Event>),
    /// A point of a graph: the number of the recording and of the mark in it.
    InGraph(u64, usize),
}

impl Event {
    pub fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            state: Mutex::new(State::Fresh),
        }
    }

    fn state(&self) -> State {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Record behind everything that the stream was told so far.
    pub fn record(&self, py: Python<'_>, stream: &Stream) -> PyResult<()> {
        check_device(py, "event", &self.device, stream.device_name())?;
        if let Some((recording, mark)) = recording::record_mark(stream.inner()) {
            self.set(State::InGraph(recording, mark));
            return Ok(());
        }
        let event = match self.state() {
            State::Recorded(event) => event,
            _ => stream.create_event().into_py_result(py)?,
        };
        stream.inner().record(&event).into_py_result(py)?;
        self.set(State::Recorded(event));
        Ok(())
    }

    /// Hold the stream back until the event has happened.
    pub fn hold_back(&self, py: Python<'_>, stream: &Stream) -> PyResult<()> {
        check_device(py, "event", &self.device, stream.device_name())?;
        match self.state() {
            State::Fresh => Ok(()),
            State::InGraph(number, mark) => {
                recording::record_wait(stream.inner(), number, mark).into_py_result(py)
            }
            State::Recorded(event) => {
                graph::check_not_recording(py, "waiting for an event that was recorded outside")?;
                stream.inner().wait(&event).into_py_result(py)
            }
        }
    }

    /// When the point was reached.
    fn reached(&self, py: Python<'_>, which: &str) -> PyResult<u64> {
        let event = self.outside(py, "elapsed_time")?;
        event.and_then(|event| event.timestamp_ns()).ok_or_else(|| {
            let message = format!(
                "elapsed_time: {which} was not reached yet; record it in a stream and call its synchronize() first"
            );
            raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
        })
    }

    fn outside(&self, py: Python<'_>, what: &str) -> PyResult<Option<Arc<dyn hal::Event>>> {
        match self.state() {
            State::Fresh => Ok(None),
            State::Recorded(event) => Ok(Some(event)),
            State::InGraph(..) => {
                let message = format!(
                    "{what}: the event orders streams inside a graph and is not there outside; record one behind graph.replay(stream)"
                );
                Err(raise(
                    py,
                    ErrorCode::NotCapturable,
                    Language::Rust,
                    &message,
                ))
            }
        }
    }
}

#[pymethods]
impl Event {
    /// Name of the device, for example `cpu:0`.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// Whether everything before the point is done.
    #[getter]
    fn is_complete(&self, py: Python<'_>) -> PyResult<bool> {
        let event = self.outside(py, "is_complete")?;
        Ok(event.is_none_or(|event| event.is_complete()))
    }

    /// When the point was reached, in nanoseconds of the clock of launches and telemetry; None before that.
    #[getter]
    fn timestamp_ns(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let event = self.outside(py, "timestamp_ns")?;
        Ok(event.and_then(|event| event.timestamp_ns()))
    }

    /// Milliseconds from this point to that of `end`, both of which were reached.
    fn elapsed_time(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = given::event)] end: Bound<'_, Event>,
    ) -> PyResult<f64> {
        let end = end.get();
        check_device(py, "event", &end.device, &self.device)?;
        let (from_ns, to_ns) = (self.reached(py, "this event")?, end.reached(py, "`end`")?);
        Ok((to_ns as f64 - from_ns as f64) / NS_PER_MS)
    }

    /// Wait until the point is reached; raises the error that the stream had there.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        graph::check_not_recording(py, "waiting for an event")?;
        let Some(event) = self.outside(py, "synchronize")? else {
            return Ok(());
        };
        py.detach(|| event.synchronize()).into_py_result(py)
    }

    fn __repr__(&self) -> String {
        let state = match self.state() {
            State::Fresh => "not recorded",
            State::InGraph(..) => "in a graph",
            State::Recorded(event) if event.is_complete() => "complete",
            State::Recorded(_) => "pending",
        };
        format!("<amdgpu.Event of {}, {state}>", self.device)
    }
}
