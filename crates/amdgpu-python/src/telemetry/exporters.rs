//! Traces and lines for other tools: of this process's bus, or of a snapshot that is given as JSON.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_telemetry::Snapshot;
use amdgpu_telemetry::export::{self, Reading};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;

use crate::errors::raise;

/// Recent records and sensor readings as a Perfetto trace.
#[pyfunction]
pub fn telemetry_perfetto_trace<'py>(
    py: Python<'py>,
    readings_json: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let readings: Vec<Reading> = parse(py, "readings", readings_json)?;
    let trace = py.detach(|| export::perfetto_trace(&amdgpu_telemetry::snapshot(), &readings));
    Ok(PyBytes::new(py, &trace))
}

/// The records of a snapshot, and sensor readings, as a Perfetto trace.
#[pyfunction]
pub fn telemetry_perfetto_trace_of<'py>(
    py: Python<'py>,
    snapshot_json: &str,
    readings_json: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let snapshot: Snapshot = parse(py, "snapshot", snapshot_json)?;
    let readings: Vec<Reading> = parse(py, "readings", readings_json)?;
    let trace = py.detach(|| export::perfetto_trace(&snapshot, &readings));
    Ok(PyBytes::new(py, &trace))
}

/// Recent records as newline-delimited JSON.
#[pyfunction]
pub fn telemetry_ndjson(py: Python<'_>) -> String {
    py.detach(|| ndjson(&amdgpu_telemetry::snapshot()))
}

/// The records of a snapshot as a Chrome trace.
#[pyfunction]
pub fn telemetry_chrome_trace_of(py: Python<'_>, snapshot_json: &str) -> PyResult<String> {
    let snapshot: Snapshot = parse(py, "snapshot", snapshot_json)?;
    Ok(py.detach(|| export::chrome_trace(&snapshot.records, &snapshot.names)))
}

/// The records of a snapshot as newline-delimited JSON.
#[pyfunction]
pub fn telemetry_ndjson_of(py: Python<'_>, snapshot_json: &str) -> PyResult<String> {
    let snapshot: Snapshot = parse(py, "snapshot", snapshot_json)?;
    Ok(py.detach(|| ndjson(&snapshot)))
}

/// The metrics of a snapshot as an OpenMetrics page.
#[pyfunction]
pub fn telemetry_open_metrics_of(py: Python<'_>, snapshot_json: &str) -> PyResult<String> {
    let snapshot: Snapshot = parse(py, "snapshot", snapshot_json)?;
    Ok(py.detach(|| export::open_metrics(&snapshot)))
}

fn ndjson(snapshot: &Snapshot) -> String {
    export::ndjson(&snapshot.records, &snapshot.names, &snapshot.clock)
}

fn parse<T: DeserializeOwned + Send>(py: Python<'_>, what: &str, json: &str) -> PyResult<T> {
    py.detach(|| serde_json::from_str(json)).map_err(|error| {
        let message = format!("{what}: {error}");
        raise(py, ErrorCode::InvalidMessage, Language::Rust, &message)
    })
}
