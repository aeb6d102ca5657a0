//! The best values and their places, bound to `amdgpu_matrix::Matrix::top_k`.

use amdgpu_abi::{Dtype, Language};
use amdgpu_matrix::{Described, Matrix, TopKOptions};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::ops::tensors;

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
