//! Prefix sums and products, bound to `amdgpu_ops::scan`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::complex::scan_on_host as on_host;
use amdgpu_ops::scan::Scan;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static SCAN: Boundary = Boundary::new(Language::Python, Language::Rust, "scan");

fn known(py: Python<'_>, operation: &str) -> PyResult<Scan> {
    Scan::from_name(operation).ok_or_else(|| {
        let message = format!("no scan is called {operation:?}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

/// `operation(x)` along `axis`, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, x, axis, out=None, *, threads=None))]
pub fn scan<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axis: i64,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SCAN.enter();
    let known = known(py, operation)?;
    let input = host::array(operation, "x", x)?;
    let mut call = host::Call::new(operation, std::slice::from_ref(x), out);
    let done = on_host(known, &input.view(), axis, threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// `operation(x)` along `axis`, by kernels of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (operation, x, axis, out=None, *, device))]
pub fn scan_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axis: i64,
    out: Option<&Bound<'py, PyAny>>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SCAN.enter();
    let known = known(py, operation)?;
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend_any(known.name(), "x", x, &ops)?;
    let out = Out::of(known.name(), out, &ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::scan(&ops, known, &input, axis, target))
        .into_py_result(py)?;
    out.deliver(py, known.name(), made)
}
