//! Attention and its gradients, bound to `amdgpu_ops::attention`.

use amdgpu_abi::Language;
use amdgpu_ops::attention::{Attention, AttentionOptions, Views, on_host};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::IntoPyResult;
use crate::ops::host;
use crate::ops::place::Place;

static ATTENTION: Boundary = Boundary::new(Language::Python, Language::Rust, "attention");

/// softmax(q k^T scale + mask) v, as a new array.
#[pyfunction]
#[pyo3(signature = (q, k, v, mask=None, *, is_causal=false, scale=None, device=None))]
pub fn attention<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    is_causal: bool,
    scale: Option<f64>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    const NAME: &str = "scaled_dot_product_attention";
    let _crossing = ATTENTION.enter();
    let options = AttentionOptions {
        is_causal,
        scale,
        thread_limit: None,
    };
    let Some(device) = device else {
        let mut inputs = vec![q.clone(), k.clone(), v.clone()];
        inputs.extend(mask.cloned());
        return of_host(NAME, &inputs, &options);
    };
    let py = q.py();
    let place = Place::of(&[q, k, v], Some(device))?;
    let (q, k) = (place.lend(NAME, "q", q)?, place.lend(NAME, "k", k)?);
    let v = place.lend(NAME, "v", v)?;
    let mask = place.lend_optional(NAME, "mask", mask)?;
    let made = py.detach(|| {
        let (q, k, v, mask) = (&q, &k, &v, mask.as_ref());
        amdgpu_ops::attention(&place.ops, &Attention { q, k, v, mask }, &options)
    });
    place.give(made.into_py_result(py)?)
}

/// Attention of q, k, v and where there is one a mask, in memory of the host.
fn of_host<'py>(
    name: &'static str,
    inputs: &[Bound<'py, PyAny>],
    options: &AttentionOptions,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = inputs
        .iter()
        .zip(["q", "k", "v", "mask"])
        .map(|(object, argument)| host::array(name, argument, object))
        .collect::<PyResult<Vec<_>>>()?;
    let views = host::views(&arguments);
    let given = Views {
        q: views[0],
        k: views[1],
        v: views[2],
        mask: views.get(3).copied(),
        gradient: None,
    };
    let mut call = host::Call::new(name, inputs, None);
    let done = on_host(&given, options, &mut call);
    Ok(call.finish(done)?.0)
}

/// Gradients of [`attention`] by queries, keys and values, as new arrays.
#[pyfunction]
#[pyo3(signature = (q, k, v, gradient, mask=None, *, is_causal=false, scale=None, device=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of a Python function")]
pub fn attention_gradient<'py>(
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    gradient: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    is_causal: bool,
    scale: Option<f64>,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    const NAME: &str = "scaled_dot_product_attention_gradient";
    let _crossing = ATTENTION.enter();
    let py = q.py();
    let place = Place::of(&[q, k, v], device)?;
    let (q, k) = (place.lend(NAME, "q", q)?, place.lend(NAME, "k", k)?);
    let v = place.lend(NAME, "v", v)?;
    let gradient = place.lend(NAME, "gradient", gradient)?;
    let mask = place.lend_optional(NAME, "mask", mask)?;
    let options = AttentionOptions {
        is_causal,
        scale,
        thread_limit: None,
    };
    let made = py.detach(|| {
        let (q, k, v, mask) = (&q, &k, &v, mask.as_ref());
        let given = Attention { q, k, v, mask };
        amdgpu_ops::attention_gradient(&place.ops, &given, &gradient, &options)
    });
    place.give_all(made.into_py_result(py)?)
}
