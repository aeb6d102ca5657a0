//! Lines in order, bound to `amdgpu_ops::sort`.

use amdgpu_abi::Language;
use amdgpu_matrix::SortOptions;
use amdgpu_ops::sort::{on_host, search_on_host};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::{host, on_device};

static SORT: Boundary = Boundary::new(Language::Python, Language::Rust, "sort");
static SEARCH_SORTED: Boundary = Boundary::new(Language::Python, Language::Rust, "search_sorted");

/// `x` in order along `axis`, or with `places` where its elements come from, as a new array.
#[pyfunction]
#[pyo3(signature = (x, axis, *, descending=false, places=false, threads=None))]
pub fn sort<'py>(
    x: &Bound<'py, PyAny>,
    axis: i64,
    descending: bool,
    places: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = SortOptions {
        axis,
        is_descending: descending,
        gives_places: places,
        thread_limit: threads,
    };
    let name = options.name();
    let mut crossing = host::enter(&SORT, x);
    let inputs = [x.clone()];
    let input = host::array(name, "x", x)?;
    let mut call = host::Call::new(name, &inputs, None).within(&mut crossing);
    let done = on_host(&input.view(), &options, &mut call);
    Ok(call.finish(done)?.0)
}

/// `x` in order along `axis`, or with `places` where its elements come from, by kernels of the device, as a new array there.
#[pyfunction]
#[pyo3(signature = (x, axis, *, descending=false, places=false, device))]
pub fn sort_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    axis: i64,
    descending: bool,
    places: bool,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = SORT.enter();
    let ops = on_device::ops_of(device)?;
    let options = SortOptions {
        axis,
        is_descending: descending,
        gives_places: places,
        thread_limit: None,
    };
    let input = on_device::lend(options.name(), "x", x, &ops)?;
    let made = py
        .detach(|| amdgpu_ops::sort::sorted(&ops, &input, &options))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

/// For each of the values, how many elements of `x` stand before it, as a new int64 array.
#[pyfunction]
#[pyo3(signature = (x, values, *, right=false, threads=None))]
pub fn search_sorted<'py>(
    x: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    right: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SEARCH_SORTED.enter();
    let inputs = [values.clone()];
    let line = host::array("searchsorted", "x", x)?;
    let wanted = host::array("searchsorted", "values", values)?;
    let mut call = host::Call::new("searchsorted", &inputs, None);
    let done = search_on_host(&line.view(), &wanted.view(), right, threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// For each of the values, how many elements of `x` stand before it, as a new int64 array of the device.
#[pyfunction]
#[pyo3(signature = (x, values, *, right=false, device))]
pub fn search_sorted_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    right: bool,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = SEARCH_SORTED.enter();
    let ops = on_device::ops_of(device)?;
    let line = on_device::lend("searchsorted", "x", x, &ops)?;
    let wanted = on_device::lend("searchsorted", "values", values, &ops)?;
    let made = py
        .detach(|| amdgpu_ops::searchsorted(&ops, &line, &wanted, right))
        .into_py_result(py)?;
    Ok(Array::from(made))
}
