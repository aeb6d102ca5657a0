//! The native libraries of the other languages: where they are and whether they fit.

use std::path::PathBuf;

use amdgpu_abi::library::{self, NativeLibrary};
use amdgpu_abi::{Coded, ErrorCode, Language};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::operand::Operand;

/// Name, file, path, version and fitness of each native library; opens them.
#[pyfunction]
pub fn libraries(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let result = PyList::empty(py);
    for (name, language) in [("matrix", Language::Zig), ("neuro", Language::Nim)] {
        let entry = PyDict::new(py);
        entry.set_item("name", name)?;
        entry.set_item("file", format!("libagpu_{name}.so"))?;
        entry.set_item("language", language.name())?;
        match py.detach(|| NativeLibrary::open(name)) {
            Ok(library) => {
                let description = library.description();
                entry.set_item("is_ok", true)?;
                entry.set_item("path", library.path().display().to_string())?;
                entry.set_item("version", &description.version)?;
                entry.set_item("abi_version", description.abi_version)?;
                entry.set_item("layout_manifest", &description.layout_manifest)?;
                entry.set_item("reason", "")?;
            }
            Err(error) => {
                entry.set_item("is_ok", false)?;
                entry.set_item("path", py.None())?;
                entry.set_item("version", py.None())?;
                entry.set_item("abi_version", py.None())?;
                entry.set_item("layout_manifest", py.None())?;
                entry.set_item("reason", format!("{}: {error}", error.code().name()))?;
            }
        }
        result.append(entry)?;
    }
    Ok(result)
}

/// The Julia sources of the package.
#[pyfunction]
pub fn julia_source_path(py: Python<'_>) -> PyResult<PathBuf> {
    library::find("julia/src/AgpuKernels.jl").into_py_result(py)
}

/// Take over the memory of an object with DLPack or of a NumPy array, without a copy.
#[pyfunction]
pub fn from_dlpack(source: &Bound<'_, PyAny>) -> PyResult<Array> {
    let py = source.py();
    let operand = Operand::borrow(source, None)?.ok_or_else(|| {
        let name = source
            .get_type()
            .name()
            .map_or_else(|_| "?".to_owned(), |name| name.to_string());
        raise(
            py,
            ErrorCode::InvalidType,
            Language::Rust,
            &format!("{name} has neither __dlpack__ nor __cuda_array_interface__"),
        )
    })?;
    Array::adopt(py, operand)
}
