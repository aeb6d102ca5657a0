//! Losses and their gradients, bound to `amdgpu_ops::loss`.

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_ops::loss::{
    ClassInputs, ClassLoss, ClassLossOptions, Classified, Compared, ElementLoss, Reduction,
    class_loss as class, class_loss_on_host, element_loss as element, element_loss_gradient,
};
use amdgpu_telemetry::Boundary;
use pyo3::prelude::*;

use crate::errors::{IntoPyResult, raise};
use crate::ops::host;
use crate::ops::place::Place;

static LOSS: Boundary = Boundary::new(Language::Python, Language::Rust, "loss");

fn unknown(py: Python<'_>, loss: &str) -> PyErr {
    let message = format!("no loss is called {loss:?}");
    raise(py, ErrorCode::InvalidArgument, Language::Rust, &message)
}

/// A loss of elements, or with `gradient` (of the result) its gradient by x, as a new array.
#[pyfunction]
#[pyo3(signature = (loss, x, target, weight=None, gradient=None, *, reduction, device=None))]
pub fn element_loss<'py>(
    loss: &str,
    x: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    weight: Option<&Bound<'py, PyAny>>,
    gradient: Option<&Bound<'py, PyAny>>,
    reduction: &str,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = LOSS.enter();
    let py = x.py();
    let known = ElementLoss::from_name(loss).ok_or_else(|| unknown(py, loss))?;
    let name = known.name(gradient.is_some());
    let reduction = Reduction::from_name(name, reduction).into_py_result(py)?;
    let place = Place::of(&[x, target], device)?;
    let x = place.lend(name, "x", x)?;
    let target = place.lend(name, "target", target)?;
    let weight = place.lend_optional(name, "weight", weight)?;
    let gradient = place.lend_optional(name, "gradient", gradient)?;
    let made = py.detach(|| {
        let compared = Compared {
            x: &x,
            target: &target,
            weight: weight.as_ref(),
        };
        match &gradient {
            Some(given) => element_loss_gradient(&place.ops, known, &compared, given, reduction),
            None => element(&place.ops, known, &compared, reduction),
        }
    });
    place.give(made.into_py_result(py)?)
}

/// A loss of classes, or with `gradient` (of the result) its gradient by x, as a new array.
#[pyfunction]
#[pyo3(signature = (loss, x, target, weight=None, gradient=None, *, reduction, ignore_index, label_smoothing=0.0, device=None))]
#[allow(clippy::too_many_arguments, reason = "arguments of a Python function")]
pub fn class_loss<'py>(
    loss: &str,
    x: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    weight: Option<&Bound<'py, PyAny>>,
    gradient: Option<&Bound<'py, PyAny>>,
    reduction: &str,
    ignore_index: i64,
    label_smoothing: f64,
    device: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let _crossing = LOSS.enter();
    let py = x.py();
    let known = ClassLoss::from_name(loss).ok_or_else(|| unknown(py, loss))?;
    let name = known.name(gradient.is_some());
    let options = ClassLossOptions {
        loss: known,
        reduction: Reduction::from_name(name, reduction).into_py_result(py)?,
        ignored: ignore_index,
        smoothing: label_smoothing,
        thread_limit: None,
    };
    let Some(device) = device else {
        return of_host(name, [Some(x), Some(target), weight, gradient], &options);
    };
    let place = Place::of(&[x, target], Some(device))?;
    let x = place.lend(name, "x", x)?;
    let target = place.lend(name, "target", target)?;
    let weight = place.lend_optional(name, "weight", weight)?;
    let gradient = place.lend_optional(name, "gradient", gradient)?;
    let made = py.detach(|| {
        let inputs = ClassInputs {
            x: &x,
            target: &target,
            weight: weight.as_ref(),
            gradient: gradient.as_ref(),
        };
        class(&place.ops, &inputs, &options)
    });
    place.give(made.into_py_result(py)?)
}

/// A loss of classes in memory of the host: x, target, weight and gradient, as they are there.
fn of_host<'py>(
    name: &'static str,
    given: [Option<&Bound<'py, PyAny>>; 4],
    options: &ClassLossOptions,
) -> PyResult<Bound<'py, PyAny>> {
    const NAMES: [&str; 4] = ["x", "target", "weight", "gradient"];
    let inputs: Vec<_> = given.into_iter().flatten().cloned().collect();
    let mut arguments = Vec::with_capacity(NAMES.len());
    for (object, argument) in given.into_iter().zip(NAMES) {
        arguments.push(object.map(|object| host::array(name, argument, object)));
    }
    let arguments = arguments
        .into_iter()
        .map(Option::transpose)
        .collect::<PyResult<Vec<_>>>()?;
    let view = |place: usize| arguments[place].as_ref().map(host::Argument::view);
    let (Some(x), Some(target)) = (view(0), view(1)) else {
        unreachable!("x and target are given");
    };
    let classified = Classified {
        x,
        target,
        weight: view(2),
        gradient: view(3),
    };
    let mut call = host::Call::new(name, &inputs, None);
    let done = class_loss_on_host(&classified, options, &mut call);
    Ok(call.finish(done)?.0)
}
