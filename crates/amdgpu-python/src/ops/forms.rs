//! What the tuner asks about forms of generated kernels, bound to `amdgpu_ops`: what the database calls a kernel, its forms, results by one.

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_graph::{Graph, parse};
use amdgpu_ops::KernelForm;
use amdgpu_ops::fused::Region;
use amdgpu_ops::reduce::{self as core, ReduceOptions};
use amdgpu_ops::tuning::Forms;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::reduce::known;
use crate::array::Array;
use crate::errors::{IntoPyResult, raise};
use crate::ops::on_device;

/// A subject of the tuning database and the names of its forms, the usual one first; no forms where nothing is to choose.
type Found = (String, Vec<String>);

fn refused(py: Python<'_>, message: &str) -> PyErr {
    raise(py, ErrorCode::InvalidArgument, Language::Rust, message)
}

fn form_of(py: Python<'_>, name: &str) -> PyResult<KernelForm> {
    let form = KernelForm::from_name(name);
    form.ok_or_else(|| refused(py, &format!("no form of kernels is called {name:?}")))
}

fn names(found: Option<(String, Forms)>) -> Found {
    let (subject, forms) = match found {
        Some((subject, forms)) => (subject, forms.all()),
        None => Default::default(),
    };
    (subject, forms.into_iter().map(KernelForm::name).collect())
}

/// Refuses a form that a kernel does not have.
fn check(py: Python<'_>, form: KernelForm, found: Option<(String, Forms)>) -> PyResult<()> {
    if found.is_some_and(|(_, forms)| forms.all().contains(&form)) {
        return Ok(());
    }
    Err(refused(
        py,
        &format!("the kernel has no form {:?}", form.name()),
    ))
}

fn options(axes: &[i64]) -> ReduceOptions<'_> {
    ReduceOptions {
        axes: Some(axes),
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    }
}

/// The forms of the kernel that reduces an array without gaps on a device.
#[pyfunction]
pub fn reduce_forms(
    device: &Bound<'_, PyAny>,
    operation: &str,
    dtype: &str,
    shape: Vec<i64>,
    axes: Vec<i64>,
) -> PyResult<Found> {
    let py = device.py();
    let (ops, operation) = (on_device::ops_of(device)?, known(py, operation)?);
    let dtype = Dtype::from_name(dtype)
        .ok_or_else(|| refused(py, &format!("no dtype is called {dtype:?}")))?;
    let found = core::forms(&ops, operation, (&shape, dtype), &options(&axes));
    Ok(names(found.into_py_result(py)?))
}

/// A reduction on a device by a kernel of one form.
#[pyfunction]
pub fn reduce_by(
    device: &Bound<'_, PyAny>,
    form: &str,
    operation: &str,
    x: &Bound<'_, PyAny>,
    axes: Vec<i64>,
) -> PyResult<Array> {
    let py = device.py();
    let (ops, operation) = (on_device::ops_of(device)?, known(py, operation)?);
    let (form, options) = (form_of(py, form)?, options(&axes));
    let x = on_device::lend(operation.name(), "x", x, &ops)?;
    let known = core::forms(&ops, operation, (&x.shape, x.dtype), &options);
    check(py, form, known.into_py_result(py)?)?;
    let made = py.detach(|| core::on_device_as(&ops, operation, &x, None, &options, Some(form)));
    Ok(Array::from(made.into_py_result(py)?))
}

/// The nodes of joined steps in a graph's text, each as the text of a graph of its own.
#[pyfunction]
pub fn fused_texts(py: Python<'_>, text: &str) -> PyResult<Vec<String>> {
    let parts = parse(text, &[]).into_py_result(py)?.fused_parts();
    Ok(parts.iter().map(ToString::to_string).collect())
}

/// Joined elementwise steps: a text of `fused_texts`.
#[pyclass(frozen, module = "amdgpu._native")]
pub struct FusedSteps {
    graph: Graph,
    region: Region,
}

#[pymethods]
impl FusedSteps {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let graph = parse(text, &[]).into_py_result(py)?;
        let region = graph.only_fused().cloned();
        let region = region
            .ok_or_else(|| refused(py, "the graph is more than joined steps of its inputs"))?;
        Ok(Self { graph, region })
    }

    /// Shapes and dtypes of the inputs.
    #[getter]
    fn inputs(&self) -> Vec<(Vec<i64>, &'static str)> {
        let nodes = self.graph.inputs().iter().map(|id| self.graph.node(*id));
        nodes
            .map(|node| (node.shape.to_vec(), node.dtype.name().unwrap_or("")))
            .collect()
    }

    /// The forms of the kernel that computes the steps on a device.
    fn forms(&self, device: &Bound<'_, PyAny>) -> PyResult<Found> {
        let ops = on_device::own_ops_of(device)?;
        let nodes = self.graph.inputs().iter().map(|id| self.graph.node(*id));
        let shapes: Vec<&[i64]> = nodes.map(|node| node.shape.as_slice()).collect();
        let found = self.region.forms(&ops, &shapes);
        Ok(names(found.into_py_result(device.py())?))
    }

    /// The steps of arrays on a device, by a kernel of one form.
    fn compute(
        &self,
        device: &Bound<'_, PyAny>,
        form: &str,
        inputs: &Bound<'_, PyTuple>,
    ) -> PyResult<Array> {
        let py = device.py();
        let (ops, form) = (on_device::own_ops_of(device)?, form_of(py, form)?);
        let inputs = inputs
            .iter()
            .map(|one| on_device::lend("fused", "input", &one, &ops))
            .collect::<PyResult<Vec<_>>>()?;
        let shapes: Vec<&[i64]> = inputs.iter().map(|one| one.shape.as_slice()).collect();
        let known = self.region.forms(&ops, &shapes).into_py_result(py)?;
        check(py, form, known)?;
        let made = py.detach(|| self.region.run_as(&ops, &inputs, None, Some(form)));
        Ok(Array::from(made.into_py_result(py)?))
    }
}
