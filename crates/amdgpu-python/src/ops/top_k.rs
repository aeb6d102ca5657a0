//! The best values and their indices, bound to `amdgpu_matrix::Matrix::top_k` and `amdgpu_ops::top_k`.

use amdgpu_abi::{Dtype, Language};
use amdgpu_matrix::{Described, Matrix, TopKOptions};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::{on_device, tensors};

static TOP_K: Boundary = Boundary::new(Language::Python, Language::Rust, "top_k");

/// The `k` best values of `x` along `axis` and their places, as two new arrays.
#[pyfunction]
#[pyo3(signature = (x, k, axis, *, largest=true, threads=None))]
pub fn top_k<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    k: i64,
    axis: i64,
    largest: bool,
    threads: Option<u32>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let _crossing = TOP_K.enter();
    let input = tensors::array("top_k", "x", x)?;
    let view = input.view().into_py_result(py)?;
    let options = TopKOptions {
        k,
        axis,
        is_largest: largest,
        thread_limit: threads,
    };
    let described = options.describe(&view).into_py_result(py)?;
    let of_places = Described {
        shape: described.shape.clone(),
        dtype: Dtype::I64,
    };
    let like = std::slice::from_ref(x);
    let (values, lent_values) = tensors::result("top_k", &described, None, like)?;
    let (places, lent_places) = tensors::result("top_k", &of_places, None, like)?;
    let mut value_view = lent_values.view_mut().into_py_result(py)?;
    let mut place_view = lent_places.view_mut().into_py_result(py)?;
    py.detach(|| Matrix::global()?.top_k(&view, &mut value_view, &mut place_view, &options))
        .into_py_result(py)?;
    Ok((values, places))
}

/// The `k` best values of `x` along `axis` and their indices, by a kernel of the device, as two new arrays there.
#[pyfunction]
#[pyo3(signature = (x, k, axis, *, largest=true, device))]
pub fn top_k_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    k: i64,
    axis: i64,
    largest: bool,
    device: &Bound<'_, PyAny>,
) -> PyResult<(Array, Array)> {
    let _crossing = TOP_K.enter();
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend("top_k", "x", x, &ops)?;
    let options = TopKOptions {
        k,
        axis,
        is_largest: largest,
        thread_limit: None,
    };
    let (values, indices) = py
        .detach(|| amdgpu_ops::top_k(&ops, &input, &options))
        .into_py_result(py)?;
    Ok((Array::from(values), Array::from(indices)))
}
