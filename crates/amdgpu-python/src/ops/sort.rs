//! Lines in order, bound to `amdgpu_matrix::Matrix::{sort, search_sorted}` and `amdgpu_ops::sort`.

use amdgpu_abi::{Dtype, Language};
use amdgpu_matrix::{Described, Matrix, SortOptions};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::{on_device, tensors};

static SORT: Boundary = Boundary::new(Language::Python, Language::Rust, "sort");
static SEARCH_SORTED: Boundary = Boundary::new(Language::Python, Language::Rust, "search_sorted");

/// `x` in order along `axis`, or with `places` where its elements come from, as a new array.
#[pyfunction]
#[pyo3(signature = (x, axis, *, descending=false, places=false, threads=None))]
pub fn sort<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    axis: i64,
    descending: bool,
    places: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SORT.enter();
    let options = SortOptions {
        axis,
        is_descending: descending,
        gives_places: places,
        thread_limit: threads,
    };
    let name = options.name();
    let input = tensors::array(name, "x", x)?;
    let view = input.view().into_py_result(py)?;
    let described = Described {
        shape: view.shape().to_vec(),
        dtype: options.result(view.dtype()),
    };
    let (made, target) = tensors::result(name, &described, None, std::slice::from_ref(x))?;
    let mut target = target.view_mut().into_py_result(py)?;
    tensors::compute(py, input.len().saturating_mul(16), || {
        Matrix::global()?.sort(&view, &mut target, &options)
    })
    .into_py_result(py)?;
    Ok(made)
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
        .detach(|| amdgpu_ops::sort::by_kernel(&ops, &input, &options))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

/// For each of the values, how many elements of `x` stand before it, as a new int64 array.
#[pyfunction]
#[pyo3(signature = (x, values, *, right=false, threads=None))]
pub fn search_sorted<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    right: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SEARCH_SORTED.enter();
    let line = tensors::array("searchsorted", "x", x)?;
    let wanted = tensors::array("searchsorted", "values", values)?;
    let line_view = line.view().into_py_result(py)?;
    let view = wanted.view().into_py_result(py)?;
    let described = Described {
        shape: view.shape().to_vec(),
        dtype: Dtype::I64,
    };
    let (made, target) = tensors::result(
        "searchsorted",
        &described,
        None,
        std::slice::from_ref(values),
    )?;
    let mut target = target.view_mut().into_py_result(py)?;
    tensors::compute(py, wanted.len().saturating_mul(32), || {
        Matrix::global()?.search_sorted(&line_view, &view, right, &mut target, threads)
    })
    .into_py_result(py)?;
    Ok(made)
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
