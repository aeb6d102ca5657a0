//! The tuning database of `amdgpu_ops`, as `amdgpu.tuning` sees it: entries travel as the text that files hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::archived::choice::Demand;
use amdgpu_ops::tuning::{self, Content, Entry, ImportError, Record, Request};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::ops::matmul::{ProblemFields, fields_of, problem_of};

/// An entry: product, seconds by way, reasons by way, device, time.
pub type EntryFields = (
    ProblemFields,
    BTreeMap<String, f64>,
    BTreeMap<String, String>,
    String,
    String,
);

fn fields(entry: Entry) -> EntryFields {
    (
        fields_of(&entry.product),
        entry.seconds,
        entry.failed,
        entry.device,
        entry.measured,
    )
}

fn entry(py: Python<'_>, fields: EntryFields) -> PyResult<Entry> {
    let (product, seconds, failed, device, measured) = fields;
    Ok(Entry {
        product: problem_of(py, &product)?,
        seconds,
        failed,
        device,
        measured,
    })
}

/// A record: subject, seconds by way, reasons by way, device, time.
pub type RecordFields = (
    String,
    BTreeMap<String, f64>,
    BTreeMap<String, String>,
    String,
    String,
);

fn record_fields(record: Record) -> RecordFields {
    (
        record.subject,
        record.seconds,
        record.failed,
        record.device,
        record.measured,
    )
}

fn record(py: Python<'_>, fields: RecordFields) -> PyResult<Record> {
    let (subject, seconds, failed, device, measured) = fields;
    let wrong = {
        let mut names = seconds.keys().chain(failed.keys()).chain([&subject]);
        names.find(|name| !tuning::is_name(name)).cloned()
    };
    if let Some(name) = wrong {
        let message =
            format!("{name:?} names no subject and no way: one line of at most 512 bytes does");
        let code = ErrorCode::InvalidArgument;
        return Err(raise(py, code, Language::Rust, &message));
    }
    Ok(Record {
        subject,
        seconds,
        failed,
        device,
        measured,
    })
}

/// An error of the system as Python has it, with the file it is about.
fn os_error(error: &std::io::Error, path: Option<&Path>) -> PyErr {
    let (Some(number), Some(path)) = (error.raw_os_error(), path) else {
        return PyOSError::new_err(error.to_string());
    };
    let text = std::io::Error::from_raw_os_error(number).to_string();
    let text = text.split(" (os error").next().unwrap_or("").to_owned();
    PyOSError::new_err((number, text, path.to_path_buf()))
}

/// The database of an architecture.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct TuningDatabase(std::sync::Arc<tuning::Database>);

#[pymethods]
impl TuningDatabase {
    /// The one that choices use; with `is_fresh` another one, read from the files now.
    #[new]
    #[pyo3(signature = (architecture, *, is_fresh=false))]
    fn new(py: Python<'_>, architecture: &str, is_fresh: bool) -> Self {
        py.detach(|| {
            Self(if is_fresh {
                tuning::Database::open(architecture)
            } else {
                tuning::database_of(architecture)
            })
        })
    }

    /// Name of the architecture.
    #[getter]
    fn architecture(&self) -> &str {
        self.0.architecture()
    }

    /// The file; None when nothing is kept.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.0.path()
    }

    /// All measurements.
    fn entries(&self) -> Vec<EntryFields> {
        self.0.entries().into_iter().map(fields).collect()
    }

    /// The measurement of this very product.
    fn exact(&self, py: Python<'_>, product: ProblemFields) -> PyResult<Option<EntryFields>> {
        Ok(self.0.exact(&problem_of(py, &product)?).map(fields))
    }

    /// The measurement of a product, or of the nearest one.
    fn find(&self, py: Python<'_>, product: ProblemFields) -> PyResult<Option<EntryFields>> {
        Ok(self.0.find(&problem_of(py, &product)?).map(fields))
    }

    /// Takes measurements in and writes them; tells how many changed.
    fn add(&self, py: Python<'_>, given: Vec<EntryFields>, is_newest: bool) -> PyResult<usize> {
        let given = given
            .into_iter()
            .map(|fields| entry(py, fields))
            .collect::<PyResult<Vec<_>>>()?;
        let given = Content {
            entries: given,
            ..Content::default()
        };
        py.detach(|| self.0.add(given, is_newest))
            .map_err(|error| os_error(&error, self.0.path().as_deref()))
    }

    /// All measurements of subjects.
    fn records(&self) -> Vec<RecordFields> {
        self.0.records().into_iter().map(record_fields).collect()
    }

    /// Whether there are measurements of subjects.
    #[getter]
    fn has_records(&self) -> bool {
        self.0.has_records()
    }

    /// The measurement of a subject, not counted.
    fn record(&self, subject: &str) -> Option<RecordFields> {
        self.0.record(subject).map(record_fields)
    }

    /// The measurement of a subject, counted as a hit or a miss.
    fn find_record(&self, subject: &str) -> Option<RecordFields> {
        self.0.find_record(subject).map(record_fields)
    }

    /// Takes a measurement of a subject in and writes it.
    fn add_record(&self, py: Python<'_>, given: RecordFields) -> PyResult<()> {
        let given = Content {
            records: vec![record(py, given)?],
            ..Content::default()
        };
        py.detach(|| self.0.add(given, true))
            .map(drop)
            .map_err(|error| os_error(&error, self.0.path().as_deref()))
    }

    /// Hits, misses, own measurements and those of the package.
    fn statistics(&self) -> (u64, u64, u64, u64) {
        let found = self.0.statistics();
        (found.hits, found.misses, found.entries, found.shipped)
    }

    /// Forgets own measurements and counts from zero; tells how many.
    fn clear(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.0.clear())
            .map_err(|error| os_error(&error, self.0.path().as_deref()))
    }

    /// Writes everything that is known to a file; tells how many measurements.
    fn export(&self, py: Python<'_>, path: PathBuf) -> PyResult<usize> {
        py.detach(|| self.0.export(&path))
            .map_err(|error| os_error(&error, Some(&path)))
    }

    fn __repr__(&self) -> String {
        format!("<amdgpu._native.TuningDatabase {}>", self.0.architecture())
    }
}

/// The text of a database.
#[pyfunction]
pub fn tuning_dump(
    py: Python<'_>,
    architecture: &str,
    entries: Vec<EntryFields>,
) -> PyResult<String> {
    let entries = entries
        .into_iter()
        .map(|fields| entry(py, fields))
        .collect::<PyResult<Vec<_>>>()?;
    Ok(tuning::dump(architecture, entries.iter(), [].iter()))
}

/// Architecture and entries of a text.
#[pyfunction]
#[pyo3(signature = (text, expected=None))]
pub fn tuning_parse(
    py: Python<'_>,
    text: &str,
    expected: Option<&str>,
) -> PyResult<(String, Vec<EntryFields>)> {
    let read = tuning::parse(text, expected)
        .map_err(|reason| raise(py, ErrorCode::InvalidArgument, Language::Rust, &reason))?;
    let entries = read.entries.into_iter().map(fields).collect();
    Ok((read.architecture, entries))
}

/// Merges a file into the database of its architecture; gives the architecture and how many measurements changed.
#[pyfunction]
pub fn tuning_import(py: Python<'_>, path: PathBuf) -> PyResult<(String, usize)> {
    py.detach(|| tuning::import(&path)).map_err(|error| {
        let reason = match error {
            ImportError::File(error) => return os_error(&error, Some(&path)),
            ImportError::Content(reason) => reason,
        };
        let message = format!("{} is not imported: {reason}", path.display());
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// Architectures that have measurements, shipped or own, sorted.
#[pyfunction]
pub fn tuning_architectures() -> Vec<String> {
    tuning::known_architectures()
}

/// The name of an architecture as files bear it.
#[pyfunction]
pub fn tuning_file_name(architecture: &str) -> String {
    tuning::check_architecture(architecture)
}

/// A count that grows when a database changes.
#[pyfunction]
pub fn tuning_changes() -> u64 {
    tuning::changes()
}

/// Lets `amdgpu.tuning.on_demand.measure` measure what a choice asks for: it is called with the device's name, the fields of a product, the
/// names of ways and the seconds that the process may spend, and returns the fields of an entry or None.
pub fn connect() {
    tuning::register(Box::new(|request: &Request<'_>| {
        Python::attach(|py| match ask(py, request) {
            Ok(entry) => entry,
            Err(error) => {
                let reason = format!("nothing was measured: {error}");
                amdgpu_telemetry::fallback("tuning", &reason);
                None
            }
        })
    }));
}

fn ask(py: Python<'_>, request: &Request<'_>) -> PyResult<Option<Entry>> {
    let arguments = (
        request.device,
        fields_of(&request.product),
        request.ways.clone(),
        request.budget_seconds,
    );
    let made = py
        .import("amdgpu.tuning.on_demand")?
        .call_method1("measure", arguments)?;
    if made.is_none() {
        return Ok(None);
    }
    entry(py, made.extract()?).map(Some)
}

/// Seconds that this process may spend on measuring shapes as they come, from `AMDGPU_TUNE`; 0 for none.
#[pyfunction]
pub fn tuning_budget_seconds(py: Python<'_>) -> PyResult<f64> {
    tuning::settings::budget_seconds().into_py_result(py)
}

/// Whose kernels compute products on GPUs, from `AMDGPU_MATMUL`: auto, ours or vendor.
#[pyfunction]
pub fn matmul_demand(py: Python<'_>) -> PyResult<&'static str> {
    Ok(match tuning::settings::demand().into_py_result(py)? {
        Demand::Auto => "auto",
        Demand::Ours => "ours",
        Demand::Vendor => "vendor",
    })
}

/// Where databases are kept; None when `AMDGPU_CACHE_DIR` is off or there is no home.
#[pyfunction]
pub fn tuning_folder() -> Option<PathBuf> {
    tuning::cache_folder()
}
