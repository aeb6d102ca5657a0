//! Watching processes: `_native.AttachClient`, `_native.RecordStream`, `_native.Watcher`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_telemetry::attach::{self, Client, RecordStream as Inner, SubscribeOptions};
use amdgpu_telemetry::{Kind, attach::Watcher as InnerWatcher};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{IntoPyResult, raise};

/// Wait of a poll without a limit: long, but short enough that Ctrl-C is answered.
const SLICE: Duration = Duration::from_millis(100);

/// Nothing here is left half done by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn seconds(value: f64) -> Duration {
    // NaN clamps to NaN; `max` makes it zero.
    Duration::from_secs_f64(value.clamp(0.0, 1e9).max(0.0))
}

/// Calls `poll` with parts of the time, between which signals are looked at, until it finds something.
pub fn in_slices<T>(
    py: Python<'_>,
    timeout_seconds: Option<f64>,
    mut poll: impl FnMut(Duration) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let mut left = timeout_seconds.map(seconds);
    loop {
        let slice = left.map_or(SLICE, |left| left.min(SLICE));
        let found = poll(slice)?;
        py.check_signals()?;
        if found.is_some() {
            return Ok(found);
        }
        if let Some(left) = &mut left {
            *left = left.saturating_sub(slice);
            if left.is_zero() {
                return Ok(None);
            }
        }
    }
}

/// Listen for watchers, unless `AMDGPU_ATTACH=off`. Opening a device does the same.
#[pyfunction]
pub fn attach_start(py: Python<'_>) -> bool {
    attach::start();
    py.detach(attach::is_listening)
}

/// The folder of the sockets, made where there is none; it is this user's alone.
#[pyfunction]
pub fn attach_folder(py: Python<'_>) -> PyResult<String> {
    let folder = py.detach(attach::folder);
    match folder {
        Ok(path) => Ok(path.to_string_lossy().into_owned()),
        Err(reason) => {
            let message = format!("there is no private folder: {reason}");
            Err(raise(
                py,
                ErrorCode::ConnectionFailed,
                Language::Rust,
                &message,
            ))
        }
    }
}

/// Stop listening.
#[pyfunction]
pub fn attach_stop(py: Python<'_>) {
    py.detach(attach::stop);
}

/// Whether this process can be watched.
#[pyfunction]
pub fn attach_is_listening(py: Python<'_>) -> bool {
    py.detach(attach::is_listening)
}

/// What a watcher of this process would be answered: a line of JSON for a line of JSON.
#[pyfunction]
pub fn attach_answer(py: Python<'_>, request: &str) -> String {
    py.detach(|| attach::answer(request))
}

/// The processes that can be watched, as JSON.
#[pyfunction]
pub fn attach_processes(py: Python<'_>, timeout_seconds: f64) -> String {
    py.detach(|| {
        let found = attach::processes(seconds(timeout_seconds));
        serde_json::json!(found).to_string()
    })
}

/// A connection to a process.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct AttachClient(Mutex<Client>);

#[pymethods]
impl AttachClient {
    #[new]
    fn new(py: Python<'_>, pid: u32) -> PyResult<Self> {
        let client = py.detach(|| Client::connect(pid)).into_py_result(py)?;
        Ok(Self(Mutex::new(client)))
    }

    /// The answer to a request, both JSON.
    fn request(&self, py: Python<'_>, request: &str, timeout_seconds: f64) -> PyResult<String> {
        let request: Value = serde_json::from_str(request).map_err(|error| {
            raise(
                py,
                ErrorCode::InvalidArgument,
                Language::Rust,
                &format!("a request is JSON: {error}"),
            )
        })?;
        py.detach(|| lock(&self.0).request(&request, seconds(timeout_seconds)))
            .into_py_result(py)
            .map(|answer| answer.to_string())
    }
}

fn options_of(
    py: Python<'_>,
    capacity: usize,
    kinds: Option<Vec<String>>,
    interval_seconds: f64,
    totals_seconds: Option<f64>,
    networks: bool,
) -> PyResult<SubscribeOptions> {
    let kind_of = |name: &String| {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| {
                let known = Kind::ALL.map(Kind::name).join(", ");
                let message = format!("there is no kind of record {name:?}; known are {known}");
                raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
            })
    };
    let kinds = kinds
        .map(|names| names.iter().map(kind_of).collect::<PyResult<Vec<Kind>>>())
        .transpose()?;
    Ok(SubscribeOptions {
        capacity,
        kinds,
        interval: seconds(interval_seconds),
        totals_every: totals_seconds.map(seconds),
        with_networks: networks,
    })
}

/// Records of one process as they happen; of this one for `pid` None.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct RecordStream(Mutex<Inner>);

impl RecordStream {
    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.0)
    }
}

#[pymethods]
impl RecordStream {
    #[new]
    #[pyo3(signature = (pid=None, *, capacity=65536, kinds=None, interval_seconds=0.0, totals_seconds=None, networks=false))]
    fn new(
        py: Python<'_>,
        pid: Option<u32>,
        capacity: usize,
        kinds: Option<Vec<String>>,
        interval_seconds: f64,
        totals_seconds: Option<f64>,
        networks: bool,
    ) -> PyResult<Self> {
        let options = options_of(
            py,
            capacity,
            kinds,
            interval_seconds,
            totals_seconds,
            networks,
        )?;
        let stream = py
            .detach(|| match pid {
                Some(pid) => Inner::connect(pid, &options),
                None => Ok(Inner::own(&options)),
            })
            .into_py_result(py)?;
        Ok(Self(Mutex::new(stream)))
    }

    /// Records as newline-delimited JSON; empty when none came within `timeout_seconds` (None: waits for ever).
    #[pyo3(signature = (timeout_seconds=None))]
    fn poll(&self, py: Python<'_>, timeout_seconds: Option<f64>) -> PyResult<String> {
        let found = in_slices(py, timeout_seconds, |slice| {
            py.detach(|| {
                let mut stream = self.inner();
                let batch = stream.recv(slice)?;
                Ok((!batch.records.is_empty()).then(|| stream.lines(&batch.records)))
            })
            .map_err(|error: attach::Error| crate::errors::from_coded(py, &error))
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Records lost because this reader was too slow.
    #[getter]
    fn dropped(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.inner().dropped())
    }

    #[getter]
    fn pid(&self, py: Python<'_>) -> u32 {
        py.detach(|| self.inner().pid())
    }
}

/// Process, kind, JSON.
type Document = (u32, &'static str, String);

/// Records of all processes of this user.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct Watcher(Mutex<InnerWatcher>);

#[pymethods]
impl Watcher {
    #[new]
    #[pyo3(signature = (*, capacity=65536, kinds=None, interval_seconds=0.0, totals_seconds=None, networks=false))]
    fn new(
        py: Python<'_>,
        capacity: usize,
        kinds: Option<Vec<String>>,
        interval_seconds: f64,
        totals_seconds: Option<f64>,
        networks: bool,
    ) -> PyResult<Self> {
        let options = options_of(
            py,
            capacity,
            kinds,
            interval_seconds,
            totals_seconds,
            networks,
        )?;
        Ok(Self(Mutex::new(py.detach(|| InnerWatcher::new(options)))))
    }

    /// Records as lines of JSON, the newest `limit` of each process, and documents as (pid, kind, JSON).
    fn poll(
        &self,
        py: Python<'_>,
        timeout_seconds: f64,
        limit: usize,
    ) -> PyResult<(String, Vec<Document>)> {
        let found = in_slices(py, Some(timeout_seconds), |slice| {
            let (lines, documents) = py.detach(|| lock(&self.0).poll_lines(slice, limit));
            let is_empty = lines.is_empty() && documents.is_empty();
            Ok((!is_empty).then_some((lines, documents)))
        })?;
        let (lines, documents) = found.unwrap_or_default();
        let documents = documents
            .into_iter()
            .map(|one| (one.pid, one.kind, one.text));
        Ok((lines, documents.collect()))
    }

    /// The processes that are watched, as JSON.
    fn processes(&self, py: Python<'_>) -> String {
        py.detach(|| serde_json::json!(lock(&self.0).processes()).to_string())
    }

    /// A descriptor that becomes readable when something has come; None where there is none.
    #[getter]
    fn descriptor(&self, py: Python<'_>) -> Option<i32> {
        py.detach(|| lock(&self.0).descriptor())
    }

    /// Make the descriptor unreadable until something else comes.
    fn acknowledge(&self, py: Python<'_>) {
        py.detach(|| lock(&self.0).acknowledge());
    }

    /// Goes up when a process comes or goes.
    #[getter]
    fn changes(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.0).changes())
    }

    /// Records lost so far.
    #[getter]
    fn dropped(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.0).dropped())
    }
}
