//! The telemetry bus, as JSON and text.

pub mod attach;
pub mod exporters;
pub mod recorder;
pub mod sensors;

use std::sync::OnceLock;
use std::time::Duration;

use amdgpu_abi::Language;
use amdgpu_telemetry::{ClockOrigin, Core, Kind, Record, Subscription as Inner, export};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

use crate::errors::raise;

/// Wait of a poll without a limit: long, but short enough that Ctrl-C is answered.
const POLL_SLICE: Duration = Duration::from_millis(100);

/// Everything the bus knows now, as JSON.
#[pyfunction]
pub fn telemetry_snapshot(py: Python<'_>) -> PyResult<String> {
    py.detach(|| serde_json::to_string(&amdgpu_telemetry::snapshot()))
        .map_err(|error| {
            raise(
                py,
                amdgpu_abi::ErrorCode::Internal,
                Language::Rust,
                &error.to_string(),
            )
        })
}

/// The metrics as a Prometheus or OpenMetrics page.
#[pyfunction]
pub fn telemetry_prometheus(py: Python<'_>, is_open_metrics: bool) -> String {
    py.detach(|| {
        let snapshot = amdgpu_telemetry::snapshot();
        if is_open_metrics {
            export::open_metrics(&snapshot)
        } else {
            export::prometheus(&snapshot)
        }
    })
}

/// Recent records as a Chrome trace.
#[pyfunction]
pub fn telemetry_chrome_trace(py: Python<'_>) -> String {
    py.detach(|| {
        let snapshot = amdgpu_telemetry::snapshot();
        export::chrome_trace(&snapshot.records, &snapshot.names)
    })
}

#[pyfunction]
pub fn telemetry_set_enabled(enabled: bool) {
    amdgpu_telemetry::set_enabled(enabled);
}

#[pyfunction]
pub fn telemetry_is_enabled() -> bool {
    amdgpu_telemetry::is_enabled()
}

/// A choice of the dispatcher that is made again and again: names are looked up once.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct Decision(Record);

#[pymethods]
impl Decision {
    #[new]
    fn new(operation: &str, core_type: &str, device_kind: &str, language: &str) -> Self {
        let core = Core::ALL
            .into_iter()
            .find(|core| core.name() == core_type)
            .unwrap_or_default();
        let language = Language::ALL
            .into_iter()
            .find(|known| known.name() == language)
            .unwrap_or(Language::Python);
        let kind_name = amdgpu_telemetry::intern(device_kind);
        Self(
            Record::new(Kind::Dispatch, amdgpu_telemetry::intern(operation))
                .core(core)
                .language(language)
                .detail(u64::from(kind_name.number()), 0),
        )
    }

    /// Put it on the bus.
    fn record(&self) {
        if amdgpu_telemetry::is_enabled() {
            self.record_at(amdgpu_telemetry::now_ns());
        }
    }
}

impl Decision {
    /// Put it on the bus, as made at a moment that the caller has read off the clock for something else, too.
    pub fn record_at(&self, moment_ns: u64) {
        amdgpu_telemetry::emit(self.0.at(moment_ns, 0));
    }
}

/// Count a fallback; it is said once, as a Python warning.
#[pyfunction]
pub fn record_fallback(operation: &str, reason: &str) {
    amdgpu_telemetry::fallback(operation, reason);
}

/// Let fallbacks be said as `RuntimeWarning`.
pub fn warn_about_fallbacks() {
    amdgpu_telemetry::set_notice_handler(|notice| {
        let said = Python::try_attach(|py| {
            let text = std::ffi::CString::new(notice).unwrap_or_default();
            let kind = py.get_type::<PyRuntimeWarning>();
            // A warning that is turned into an exception has nobody to catch it here: show it as one.
            if let Err(error) = PyErr::warn(py, &kind, &text, 2) {
                error.write_unraisable(py, None);
            }
        });
        if said.is_none() {
            eprintln!("{notice}");
        }
    });
}

/// A reader of records as they happen.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct Subscription {
    inner: Inner,
    clock: OnceLock<ClockOrigin>,
}

#[pymethods]
impl Subscription {
    #[new]
    #[pyo3(signature = (capacity=4096))]
    fn new(py: Python<'_>, capacity: usize) -> Self {
        Self {
            inner: py.detach(|| amdgpu_telemetry::subscribe_as("python", capacity)),
            clock: OnceLock::new(),
        }
    }

    /// Records as newline-delimited JSON; empty when none came within `timeout_seconds` (None: waits for ever).
    #[pyo3(signature = (timeout_seconds=None))]
    fn poll(&self, py: Python<'_>, timeout_seconds: Option<f64>) -> PyResult<String> {
        const BATCH: usize = 1024;
        let mut left = timeout_seconds.map(attach::seconds);
        let mut records = Vec::new();
        loop {
            let slice = left.map_or(POLL_SLICE, |left| left.min(POLL_SLICE));
            let count = py.detach(|| self.inner.recv_batch(&mut records, BATCH, slice));
            py.check_signals()?;
            if let Some(left) = &mut left {
                *left = left.saturating_sub(slice);
            }
            if count > 0 || left.is_some_and(|left| left.is_zero()) || self.inner.is_closed() {
                break;
            }
        }
        if records.is_empty() {
            return Ok(String::new());
        }
        Ok(py.detach(|| {
            let snapshot = amdgpu_telemetry::snapshot();
            let clock = self.clock.get_or_init(|| snapshot.clock);
            export::ndjson(&records, &snapshot.names, clock)
        }))
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.inner.dropped()
    }
}
