//! Recordings: `_native.RecordingWriter`, `_native.Recording`, the flight recorder.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_telemetry::frames::FrameKind;
use amdgpu_telemetry::recorder::{self, Recording as Inner, RecordingWriter as InnerWriter};
use pyo3::prelude::*;

use super::attach::{RecordStream, seconds};
use crate::errors::{IntoPyResult, from_coded, raise};

/// The kind of a name.
fn kind_of(py: Python<'_>, name: &str) -> PyResult<FrameKind> {
    FrameKind::from_name(name).ok_or_else(|| {
        let message = format!("there is no kind of frame {name:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// Keep the newest records of this process in memory.
#[pyfunction]
pub fn flight_start(py: Python<'_>, span_seconds: f64, capacity_bytes: usize) {
    py.detach(|| recorder::start_flight(seconds(span_seconds), capacity_bytes));
}

/// Keep nothing any more.
#[pyfunction]
pub fn flight_stop(py: Python<'_>) {
    py.detach(recorder::stop_flight);
}

/// What is kept, as JSON; None while the recorder is off.
#[pyfunction]
pub fn flight_status(py: Python<'_>) -> Option<String> {
    py.detach(recorder::flight_status)
        .map(|status| serde_json::json!(status).to_string())
}

/// Write what is kept, and documents of (kind, JSON), into a recording; the number of records, None while the recorder is off.
#[pyfunction]
pub fn flight_save(
    py: Python<'_>,
    path: PathBuf,
    documents: Vec<(String, String)>,
) -> PyResult<Option<u64>> {
    let documents = documents
        .into_iter()
        .map(|(kind, text)| Ok((kind_of(py, &kind)?, text)))
        .collect::<PyResult<Vec<_>>>()?;
    py.detach(|| recorder::save_flight(&path, &documents))
        .into_py_result(py)
}

/// A recording that grows.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct RecordingWriter(Mutex<Option<InnerWriter>>);

impl RecordingWriter {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut InnerWriter) -> Result<T, recorder::RecorderError> + Send,
    ) -> PyResult<T> {
        let outcome = py.detach(|| {
            let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(act)
        });
        match outcome {
            Some(outcome) => outcome.into_py_result(py),
            None => Err(raise(
                py,
                ErrorCode::Closed,
                Language::Rust,
                "the recording was finished",
            )),
        }
    }
}

#[pymethods]
impl RecordingWriter {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let writer = py
            .detach(|| InnerWriter::create(&path))
            .into_py_result(py)?;
        Ok(Self(Mutex::new(Some(writer))))
    }

    /// Add a document of a kind.
    fn document(&self, py: Python<'_>, kind: &str, source: u16, text: &str) -> PyResult<()> {
        let kind = kind_of(py, kind)?;
        self.with(py, |writer| writer.document(kind, source, text))
    }

    /// Add what a stream has within `timeout_seconds`; the number of records. Raises when the process has ended.
    fn take(
        &self,
        py: Python<'_>,
        source: u16,
        stream: &RecordStream,
        timeout_seconds: f64,
    ) -> PyResult<usize> {
        let timeout = seconds(timeout_seconds);
        let batch = py.detach(|| stream.inner().recv(timeout));
        let batch = batch.map_err(|error| from_coded(py, &error))?;
        self.with(py, |writer| {
            writer.batch(source, &stream.inner(), &batch)?;
            Ok(batch.records.len())
        })
    }

    /// Write what waits.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, InnerWriter::flush)
    }

    /// Records and bytes so far.
    fn progress(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |writer| {
            Ok((writer.records_so_far(), writer.bytes_so_far()))
        })
    }

    /// Write the end. Returns the number of records.
    fn finish(&self, py: Python<'_>) -> PyResult<u64> {
        let writer = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
        match writer {
            Some(writer) => py.detach(|| writer.finish()).into_py_result(py),
            None => Ok(0),
        }
    }
}

/// A recording that was read.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct Recording(Inner);

#[pymethods]
impl Recording {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| recorder::read_recording(&path))
            .into_py_result(py)
            .map(Self)
    }

    /// The header as JSON; None where it is damaged.
    #[getter]
    fn header(&self) -> Option<&str> {
        self.0.header.as_deref()
    }

    /// Number, process as JSON, records, and lost records of each source.
    fn sources(&self) -> Vec<(u16, Option<String>, usize, u64)> {
        let all = self.0.sources.iter();
        all.map(|(number, source)| {
            let process = source.process.clone();
            (*number, process, source.records.len(), source.lost)
        })
        .collect()
    }

    /// `count` records of a source from `first` on as lines of JSON, in the order of time.
    fn lines(&self, py: Python<'_>, source: u16, first: usize, count: usize) -> String {
        py.detach(|| self.0.lines(source, first, count))
    }

    /// All documents as (kind, source, JSON), in the order of the file.
    fn documents(&self) -> Vec<(&'static str, u16, String)> {
        let all = self.0.documents.iter();
        all.map(|(kind, source, text)| (kind.name(), *source, text.clone()))
            .collect()
    }

    /// What could not be read, in a sentence.
    #[getter]
    fn damage(&self) -> Option<&str> {
        self.0.damage.as_deref()
    }

    #[getter]
    fn is_complete(&self) -> bool {
        self.0.is_complete
    }
}
