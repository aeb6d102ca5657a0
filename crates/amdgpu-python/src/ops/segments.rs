//! Values joined row by row, bound to `amdgpu_ops::segments`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::segments;
use amdgpu_ops::segments::{
    Join, JoinOptions, ScatterReduce, embedding_options, index_add_on_host, scatter_on_host,
    segment_on_host,
};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::{host, on_device};

static SEGMENTS: Boundary = Boundary::new(Language::Python, Language::Rust, "segments");

fn join_of(py: Python<'_>, name: &str, reduce: &str) -> PyResult<Join> {
    Join::from_name(reduce).ok_or_else(|| {
        let known = Join::ALL.map(Join::name).join(", ");
        let message = format!("{name}: reduce is {reduce:?}; known are {known}");
        raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
    })
}

fn segment_options(
    py: Python<'_>,
    reduce: &str,
    axis: i64,
    offsets: bool,
    threads: Option<u32>,
) -> PyResult<JoinOptions> {
    let join = join_of(py, "segment_reduce", reduce)?;
    Ok(JoinOptions {
        axis,
        has_offsets: offsets,
        thread_limit: threads,
        ..JoinOptions::new("segment_reduce", join)
    })
}

/// Values of each row joined along `axis`, as a new array: `segments` are rows, or offsets.
#[pyfunction]
#[pyo3(signature = (reduce, x, segments, count=None, axis=0, *, offsets=false, threads=None))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn segment_reduce<'py>(
    py: Python<'py>,
    reduce: &str,
    x: &Bound<'py, PyAny>,
    segments: &Bound<'py, PyAny>,
    count: Option<i64>,
    axis: i64,
    offsets: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SEGMENTS.enter();
    let options = segment_options(py, reduce, axis, offsets, threads)?;
    let values = host::array(options.name, "x", x)?;
    let rows = host::array(options.name, "segments", segments)?;
    let mut call = host::Call::new(options.name, std::slice::from_ref(x), None);
    let done = segment_on_host(&values.view(), &rows.view(), count, &options, &mut call);
    Ok(call.finish(done)?.0)
}

/// Values of each row joined along `axis`, by kernels of the device, as a new array there.
#[pyfunction]
#[pyo3(signature = (reduce, x, segments, count=None, axis=0, *, offsets=false, device))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn segment_reduce_on_device(
    py: Python<'_>,
    reduce: &str,
    x: &Bound<'_, PyAny>,
    segments: &Bound<'_, PyAny>,
    count: Option<i64>,
    axis: i64,
    offsets: bool,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = SEGMENTS.enter();
    let options = segment_options(py, reduce, axis, offsets, None)?;
    let ops = on_device::ops_of(device)?;
    let values = on_device::lend(options.name, "x", x, &ops)?;
    let rows = on_device::lend(options.name, "segments", segments, &ops)?;
    let made = py
        .detach(|| segments::segment_reduce(&ops, &values, &rows, count, &options))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

/// What each row of a table receives from the gradients of its look-ups, as a new array.
#[pyfunction]
#[pyo3(signature = (gradient, indices, rows, padding_idx=None, *, scale_by_frequency=false, threads=None))]
pub fn embedding_gradient<'py>(
    py: Python<'py>,
    gradient: &Bound<'py, PyAny>,
    indices: &Bound<'py, PyAny>,
    rows: i64,
    padding_idx: Option<i64>,
    scale_by_frequency: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SEGMENTS.enter();
    let mut options =
        embedding_options(rows, padding_idx, scale_by_frequency).into_py_result(py)?;
    options.thread_limit = threads;
    let values = host::array(options.name, "gradient", gradient)?;
    let at = host::array(options.name, "indices", indices)?;
    let mut call = host::Call::new(options.name, std::slice::from_ref(gradient), None);
    let done = segment_on_host(&values.view(), &at.view(), Some(rows), &options, &mut call);
    Ok(call.finish(done)?.0)
}

/// What each row of a table receives from the gradients of its look-ups, by kernels of the device, as a new array there.
#[pyfunction]
#[pyo3(signature = (gradient, indices, rows, padding_idx=None, *, scale_by_frequency=false, device))]
pub fn embedding_gradient_on_device(
    py: Python<'_>,
    gradient: &Bound<'_, PyAny>,
    indices: &Bound<'_, PyAny>,
    rows: i64,
    padding_idx: Option<i64>,
    scale_by_frequency: bool,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = SEGMENTS.enter();
    let options = embedding_options(rows, padding_idx, scale_by_frequency).into_py_result(py)?;
    let ops = on_device::ops_of(device)?;
    let values = on_device::lend(options.name, "gradient", gradient, &ops)?;
    let at = on_device::lend(options.name, "indices", indices, &ops)?;
    let made = py
        .detach(|| segments::segment_reduce(&ops, &values, &at, Some(rows), &options))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

/// `x` with values added to the rows along `axis` that indices name, as a new array.
#[pyfunction]
#[pyo3(signature = (x, axis, indices, values, *, threads=None))]
pub fn index_add<'py>(
    x: &Bound<'py, PyAny>,
    axis: i64,
    indices: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SEGMENTS.enter();
    let own = host::array("index_add", "x", x)?;
    let at = host::array("index_add", "indices", indices)?;
    let added = host::array("index_add", "values", values)?;
    let mut call = host::Call::new("index_add", std::slice::from_ref(x), None);
    let done = index_add_on_host(
        &own.view(),
        &at.view(),
        &added.view(),
        axis,
        threads,
        &mut call,
    );
    Ok(call.finish(done)?.0)
}

/// `x` with values added to the rows along `axis` that indices name, by kernels of the device, as a new array there.
#[pyfunction]
#[pyo3(signature = (x, axis, indices, values, *, device))]
pub fn index_add_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    axis: i64,
    indices: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = SEGMENTS.enter();
    let ops = on_device::ops_of(device)?;
    let own = on_device::lend("index_add", "x", x, &ops)?;
    let at = on_device::lend("index_add", "indices", indices, &ops)?;
    let added = on_device::lend("index_add", "values", values, &ops)?;
    let made = py
        .detach(|| segments::index_add(&ops, &own, &at, &added, axis))
        .into_py_result(py)?;
    Ok(Array::from(made))
}

fn scatter_options(
    py: Python<'_>,
    axis: i64,
    reduce: &str,
    include_self: bool,
    threads: Option<u32>,
) -> PyResult<ScatterReduce> {
    Ok(ScatterReduce {
        axis,
        join: join_of(py, "scatter_reduce", reduce)?,
        includes_self: include_self,
        thread_limit: threads,
    })
}

/// `x` whose elements along `axis` join the values whose index names them, as a new array.
#[pyfunction]
#[pyo3(signature = (x, axis, indices, values, reduce, *, include_self=true, threads=None))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn scatter_reduce<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    axis: i64,
    indices: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    reduce: &str,
    include_self: bool,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = SEGMENTS.enter();
    let options = scatter_options(py, axis, reduce, include_self, threads)?;
    let own = host::array("scatter_reduce", "x", x)?;
    let at = host::array("scatter_reduce", "indices", indices)?;
    let given = host::array("scatter_reduce", "values", values)?;
    let mut call = host::Call::new("scatter_reduce", std::slice::from_ref(x), None);
    let done = scatter_on_host(&own.view(), &at.view(), &given.view(), &options, &mut call);
    Ok(call.finish(done)?.0)
}

/// `x` whose elements along `axis` join the values whose index names them, by kernels of the device, as a new array there.
#[pyfunction]
#[pyo3(signature = (x, axis, indices, values, reduce, *, include_self=true, device))]
#[expect(clippy::too_many_arguments, reason = "Python's signature")]
pub fn scatter_reduce_on_device(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    axis: i64,
    indices: &Bound<'_, PyAny>,
    values: &Bound<'_, PyAny>,
    reduce: &str,
    include_self: bool,
    device: &Bound<'_, PyAny>,
) -> PyResult<Array> {
    let _crossing = SEGMENTS.enter();
    let options = scatter_options(py, axis, reduce, include_self, None)?;
    let ops = on_device::ops_of(device)?;
    let own = on_device::lend("scatter_reduce", "x", x, &ops)?;
    let at = on_device::lend("scatter_reduce", "indices", indices, &ops)?;
    let given = on_device::lend("scatter_reduce", "values", values, &ops)?;
    let made = py
        .detach(|| segments::scatter_reduce(&ops, &own, &at, &given, &options))
        .into_py_result(py)?;
    Ok(Array::from(made))
}
