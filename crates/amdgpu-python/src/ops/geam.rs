//! Sums of matrices, bound to `amdgpu_ops::geam`.

use amdgpu_abi::Language;
use amdgpu_ops::geam::Geam;
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::IntoPyResult;
use crate::ops::on_device::Out;
use crate::ops::place::Place;

static GEAM: Boundary = Boundary::new(Language::Python, Language::Rust, "geam");

/// `alpha op(a) + beta op(b)` of matrices, into `out` or a new array.
#[pyfunction]
#[pyo3(signature = (a, b, out=None, *, alpha=1.0, beta=1.0, transpose_a=false, transpose_b=false, device=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of a Python function")]
pub fn geam<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    out: Option<&Bound<'py, PyAny>>,
    alpha: f64,
    beta: f64,
    transpose_a: bool,
    transpose_b: bool,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    const NAME: &str = "geam";
    let _crossing = GEAM.enter();
    let py = a.py();
    let place = Place::of(&[a, b], device)?;
    let lent = [place.lend_any(NAME, "a", a)?, place.lend_any(NAME, "b", b)?];
    let target = Out::of(NAME, out, &place.ops)?;
    let host = place.lend_out(NAME, out)?;
    let written = host.as_ref().or_else(|| target.array());
    let made = py.detach(|| {
        let call = Geam {
            a: &lent[0],
            b: &lent[1],
            alpha,
            beta,
            transpose_a,
            transpose_b,
            out: written,
        };
        amdgpu_ops::geam(&place.ops, &call)
    });
    let made = made.into_py_result(py)?;
    match (out, host) {
        (Some(out), Some(_)) => Ok(out.clone()),
        (Some(_), None) => target.deliver(py, NAME, made),
        (None, _) => place.give(made),
    }
}
