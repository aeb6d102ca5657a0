//! Values in another dtype, bound to `amdgpu_ops::cast`.

use amdgpu_abi::promotion::{TENSOR_DTYPES, is_complex, is_tensor_dtype};
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_ops::complex::cast_on_host as on_host;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::ops::host;
use crate::ops::on_device::{self, Out};

static CAST: Boundary = Boundary::new(Language::Python, Language::Rust, "cast");

fn known(py: Python<'_>, name: &str) -> PyResult<Dtype> {
    let found =
        Dtype::from_name(name).filter(|dtype| is_complex(*dtype) || is_tensor_dtype(*dtype));
    found.ok_or_else(|| {
        let names: Vec<_> = TENSOR_DTYPES
            .iter()
            .filter_map(|dtype| dtype.name())
            .collect();
        let message = format!(
            "cast: no values are converted to {name}; known are {}",
            names.join(", ")
        );
        raise(py, ErrorCode::UnsupportedDtype, Language::Rust, &message)
    })
}

/// The values of `x` in another dtype, into `out`, to whose shape they broadcast, or a new array.
#[pyfunction]
#[pyo3(signature = (x, dtype, out=None, *, threads=None))]
pub fn cast<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: &str,
    out: Option<&Bound<'py, PyAny>>,
    threads: Option<u32>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CAST.enter();
    let dtype = known(py, dtype)?;
    let inputs = [x.clone()];
    let input = host::array("cast", "x", x)?;
    let view = input.view();
    let shape = match out.filter(|out| !out.is_none()) {
        Some(out) => out.getattr("shape")?.extract::<Vec<i64>>()?,
        None => view.shape().to_vec(),
    };
    let mut call = host::Call::new("cast", &inputs, out);
    let done = on_host(&view, &shape, dtype, threads, &mut call);
    Ok(call.finish(done)?.0)
}

/// The values of `x` in another dtype, by a kernel of the device, into `out` or a new array there.
#[pyfunction]
#[pyo3(signature = (x, dtype, out=None, *, device))]
pub fn cast_on_device<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: &str,
    out: Option<&Bound<'py, PyAny>>,
    device: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = CAST.enter();
    let dtype = known(py, dtype)?;
    let ops = on_device::ops_of(device)?;
    let input = on_device::lend_any("cast", "x", x, &ops)?;
    let out = Out::of("cast", out, &ops)?;
    let target = out.array();
    let made = py
        .detach(|| amdgpu_ops::complex::cast_on_device(&ops, &input, dtype, target))
        .into_py_result(py)?;
    out.deliver(py, "cast", made)
}
