//! Prefix sums, products, bests and truth values, bound to `amdgpu_ops::scan`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::complex::scan_on_host as on_host;
use amdgpu_ops::scan::{Scan, ScanOptions};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static SCAN: Boundary = Boundary::new(Language::Python, Language::Rust, "scan");

fn options_of(
    py: Python<'_>,
    operation: &str,
    axis: i64,
    exclusive: bool,
    reverse: bool,
    threads: Option<u32>,
) -> PyResult<ScanOptions> {
    let Some(known) = Scan::from_name(operation) else {
        let message = format!("no scan is called {operation:?}");
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            &message,
        ));
    };
    Ok(ScanOptions {
        is_exclusive: exclusive,
        is_reversed: reverse,
        thread_limit: threads,
        ..ScanOptions::new(known, axis)
    })
}

/// `operation(x)` along `axis`, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (operation, x, axis, out=None, *, exclusive=false, reverse=false, threads=None))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn scan<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axis: i64,
    out: Option<&Bound<'py, PyAny>>,
    exclusive: bool,
    reverse: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SCAN.enter();
    let options = options_of(py, operation, axis, exclusive, reverse, threads)?;
    let input = host::array(operation, "x", x)?;
    let mut call = host::Call::new(operation, std::slice::from_ref(x), out);
    let done = on_host(&input.view(), &options, &mut call);
    Ok(call.finish(done)?.0)
}

/// `operation(x)` along `axis`, by kernels of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (operation, x, axis, out=None, *, exclusive=false, reverse=false, device))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn scan_on_device<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axis: i64,
    out: Option<&Bound<'py, PyAny>>,
    exclusive: bool,
    reverse: bool,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SCAN.enter();
    let options = options_of(py, operation, axis, exclusive, reverse, None)?;
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend_any(options.name(), "x", x, &ops)?;
    let out = Out::of(options.name(), out, &ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::scan(&ops, &input, &options, target))
        .into_py_result(py)?;
    out.deliver(py, options.name(), made)
}

/// The best value so far along `axis` and its index, as two new arrays; `operation` is "cummax" or "cummin".
#[pyfunction]
#[pyo3(signature = (operation, x, axis, *, threads=None))]
pub fn cumulative_best<'py>(
    py: Python<'py>,
    operation: &str,
    x: &Bound<'py, PyAny>,
    axis: i64,
    threads: Option<u32>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let _crossing = SCAN.enter();
    let options = options_of(py, operation, axis, false, false, threads)?;
    let input = host::array(operation, "x", x)?;
    let mut call = host::Call::new(operation, std::slice::from_ref(x), None);
    let done = amdgpu_ops::cumulative_best::on_host(&input.view(), &options, &mut call);
    call.finish_both(done)
}

/// The best value so far along `axis` and its index, by kernels of the device, as two new arrays there.
#[pyfunction]
#[pyo3(signature = (operation, x, axis, *, device))]
pub fn cumulative_best_on_device(
    py: Python<'_>,
    operation: &str,
    x: &Bound<'_, PyAny>,
    axis: i64,
    device: &Bound<'_, PyAny>,
) -> PyResult<(Array, Array)> {
    let _crossing = SCAN.enter();
    let options = options_of(py, operation, axis, false, false, None)?;
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend(options.name(), "x", x, &ops)?;
    let (values, indices) = py
        .detach(|| amdgpu_ops::cumulative_best(&ops, &input, &options))
        .into_py_result(py)?;
    Ok((Array::from(values), Array::from(indices)))
}
