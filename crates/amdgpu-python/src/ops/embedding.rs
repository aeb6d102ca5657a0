//! Rows of a table by index, bound to `amdgpu_matrix::Matrix::embedding` and `amdgpu_ops::embedding`.

use amdgpu_abi::Language;
use amdgpu_matrix::{Matrix, describe_embedding};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::ops::on_device::{self, Out};
use crate::ops::tensors;

static EMBEDDING: Boundary = Boundary::new(Language::Python, Language::Rust, "embedding");

/// `table[indices]`, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (table, indices, out=None, *, threads=None))]
pub fn embedding<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = EMBEDDING.enter();
    let lent_table = tensors::array("embedding", "table", table)?;
    let lent_indices = tensors::array("embedding", "indices", indices)?;
    let table_view = lent_table.view().into_py_result(py)?;
    let indices_view = lent_indices.view().into_py_result(py)?;
    let described = describe_embedding(&table_view, &indices_view).into_py_result(py)?;
    let (made, target) =
        tensors::result("embedding", &described, out, std::slice::from_ref(table))?;
    let mut target = target.view_mut().into_py_result(py)?;
    py.detach(|| Matrix::global()?.embedding(&table_view, &indices_view, &mut target, threads))
        .into_py_result(py)?;
    Ok(made)
}

/// `table[indices]`, by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (table, indices, out=None, *, device))]
pub fn embedding_on_device<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = EMBEDDING.enter();
    let ops = on_device::ops_of(device)?;
    let rows = on_device::lend("embedding", "table", table, &ops)?;
    let indices = on_device::lend("embedding", "indices", indices, &ops)?;
    let out = Out::of("embedding", out, &ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::embedding(&ops, &rows, &indices, target))
        .into_py_result(py)?;
    out.deliver(py, "embedding", made)
}
