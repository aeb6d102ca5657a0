//! The best values and their indices, bound to `amdgpu_ops::top_k`.

use amdgpu_abi::Language;
use amdgpu_ops::top_k::{TopKOptions, on_host};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::IntoPyResult;
use crate::ops::{host, on_device};

static TOP_K: Boundary = Boundary::new(Language::Python, Language::Rust, "top_k");

/// The `k` best values of `x` along `axis` and their indices, as two new arrays.
#[pyfunction]
#[pyo3(signature = (x, k, axis, *, largest=true, threads=None))]
pub fn top_k<'py>(
    x: &Bound<'py, PyAny>,
    k: i64,
    axis: i64,
    largest: bool,
    threads: Option<u32>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let _crossing = TOP_K.enter();
    let input = host::array("top_k", "x", x)?;
    let options = TopKOptions {
        k,
        axis,
        is_largest: largest,
        thread_limit: threads,
    };
    let mut call = host::Call::new("top_k", std::slice::from_ref(x), None);
    let done = on_host(&input.view(), &options, &mut call);
    call.finish_both(done)
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
