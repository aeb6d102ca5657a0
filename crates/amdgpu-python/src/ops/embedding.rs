//! Rows of a table by index, bound to `amdgpu_ops::embedding`.

use amdgpu_abi::Language;
use amdgpu_ops::embedding::on_host;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static EMBEDDING: Boundary = Boundary::new(Language::Python, Language::Rust, "embedding");

/// `table[indices]`, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (table, indices, out=None, *, threads=None))]
pub fn embedding<'py>(
    table: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = EMBEDDING.enter();
    let inputs = [table.clone(), indices.clone()];
    let rows = host::array("embedding", "table", table)?;
    let indices = host::array("embedding", "indices", indices)?;
    let mut call = host::Call::new("embedding", &inputs, out);
    let done = on_host(&rows.view(), &indices.view(), threads, &mut call);
    Ok(call.finish(done)?.0)
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
