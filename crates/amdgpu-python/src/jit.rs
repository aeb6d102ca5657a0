//! `_native.ExecutableGraph`: a traced function as a graph that runs, bound to `amdgpu_graph`.

use std::sync::Arc;

use amdgpu_abi::{ErrorCode, Language};
use amdgpu_array as core;
use amdgpu_array::tracing;
use amdgpu_aura::OpenDevice;
use amdgpu_graph::{Executable, Graph, Input, Kind, Replay, ReplayCounts, passes, trace};
use amdgpu_ops::{DeviceOps, Scalar};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;

use crate::array::Array;
use crate::errors::{IntoPyResult, raise};

/// Whether this thread traces a function.
#[pyfunction]
pub fn is_tracing() -> bool {
    tracing::is_tracing()
}

/// Calls `function` with a list of arrays like `arguments` while its operations are noted. It returns a list of arrays, the outputs of the
/// graph, and any object, which is given back beside the graph.
#[pyfunction]
#[pyo3(signature = (function, arguments, *, optimize=true, replay=None, name=""))]
pub fn trace_function<'py>(
    function: &Bound<'py, PyAny>,
    arguments: Vec<Bound<'py, Array>>,
    optimize: bool,
    replay: Option<bool>,
    name: &str,
) -> PyResult<(ExecutableGraph, Bound<'py, PyAny>)> {
    let py = function.py();
    let arrays = inner(&arguments);
    let Some(device) = arrays.iter().find_map(|array| array.open_device().cloned()) else {
        let message = "a graph runs on the device of its arguments: pass an array of a device";
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            message,
        ));
    };
    let traced = trace(
        &arrays,
        |copies| call(function, copies),
        |given| {
            given
                .as_ref()
                .map_or_else(|_| Vec::new(), |(outputs, _)| outputs.clone())
        },
    )
    .into_py_result(py)?;
    let (_, rest) = traced.given?;
    let wanted = Wanted {
        optimize,
        replay,
        name,
    };
    let made = ExecutableGraph::of(py, traced.graph, &device, &wanted)?;
    Ok((made, rest))
}

fn inner(arrays: &[Bound<'_, Array>]) -> Vec<core::Array> {
    arrays.iter().map(|array| (**array.get()).clone()).collect()
}

/// Outputs, and the seconds of nodes by position.
type Profiled = (Vec<Array>, Vec<(u32, f64)>);
type Called<'py> = (Vec<core::Array>, Bound<'py, PyAny>);

fn call<'py>(function: &Bound<'py, PyAny>, copies: &[core::Array]) -> PyResult<Called<'py>> {
    let py = function.py();
    let copies = copies
        .iter()
        .map(|copy| Bound::new(py, Array::from(copy.clone())))
        .collect::<PyResult<Vec<_>>>()?;
    let (outputs, rest): (Vec<Bound<'py, Array>>, Bound<'py, PyAny>) =
        function.call1((copies,))?.extract()?;
    Ok((inner(&outputs), rest))
}

/// A graph with planned memory, which runs for arrays of the shapes and dtypes it was made for.
#[pyclass(frozen, module = "amdgpu")]
pub struct ExecutableGraph {
    inner: Arc<Executable>,
    report: passes::Report,
}

/// How a graph is to be made.
pub struct Wanted<'a> {
    pub optimize: bool,
    /// Whether runs are replayed as one graph of the device; `None` for the usual choice.
    pub replay: Option<bool>,
    pub name: &'a str,
}

impl Wanted<'_> {
    fn replay(&self) -> Replay {
        match self.replay {
            None => Replay::Auto,
            Some(true) => Replay::On,
            Some(false) => Replay::Off,
        }
    }
}

impl ExecutableGraph {
    /// A graph for a device, with planned memory; watchers see it by its name.
    pub fn of(
        py: Python<'_>,
        mut graph: Graph,
        device: &Arc<OpenDevice>,
        wanted: &Wanted<'_>,
    ) -> PyResult<Self> {
        let made = py.detach(|| {
            let ops = DeviceOps::of(device)?;
            let report = if wanted.optimize {
                passes::optimize(&mut graph, &ops)?
            } else {
                passes::Report::default()
            };
            let inner = Executable::with_replay(graph, device, wanted.replay())?;
            let inner = Arc::new(inner);
            inner.set_origin(wanted.name, &report);
            Ok::<_, amdgpu_graph::Error>(Self { inner, report })
        });
        made.into_py_result(py)
    }
}

/// One dict per node.
pub fn nodes_of<'py>(py: Python<'py>, graph: &Graph) -> PyResult<Bound<'py, PyList>> {
    let result = PyList::empty(py);
    for node in graph.nodes() {
        let entry = PyDict::new(py);
        entry.set_item("operation", node.operation_name())?;
        entry.set_item("name", &node.name)?;
        let inputs = PyList::empty(py);
        for input in &node.inputs {
            match input {
                Input::Node(id) => inputs.append(id.0)?,
                Input::Number(Scalar::Float(value), _) => inputs.append(*value)?,
                Input::Number(Scalar::Int(value), _) => inputs.append(*value)?,
            }
        }
        entry.set_item("inputs", inputs)?;
        entry.set_item("shape", PyTuple::new(py, node.shape.iter())?)?;
        entry.set_item("dtype", node.dtype.name())?;
        if let Kind::Fused(_) | Kind::Rows(_) | Kind::FusedRows(_) = &node.kind {
            entry.set_item("steps", node.steps())?;
        }
        result.append(entry)?;
    }
    Ok(result)
}

#[pymethods]
impl ExecutableGraph {
    /// The outputs for these arguments.
    fn run<'py>(&self, py: Python<'py>, arguments: Vec<Bound<'py, Array>>) -> PyResult<Vec<Array>> {
        let arrays = inner(&arguments);
        let outputs = py.detach(|| self.inner.run(&arrays)).into_py_result(py)?;
        Ok(outputs.into_iter().map(Array::from).collect())
    }

    /// The only output, where the arguments are arrays of the shapes and dtypes that the graph was made for; None otherwise, and while this
    /// thread traces a function.
    fn run_fitting(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<Option<Array>> {
        let inputs = self.inner.graph().inputs();
        if arguments.len() != inputs.len() || tracing::is_tracing() {
            return Ok(None);
        }
        let mut arrays: SmallVec<[core::Array; 4]> = SmallVec::new();
        for (argument, id) in arguments.iter_borrowed().zip(inputs) {
            let Ok(array) = argument.cast_exact::<Array>() else {
                return Ok(None);
            };
            let (array, node) = (array.get(), self.inner.graph().node(*id));
            if array.shape != node.shape || array.dtype != node.dtype || !self.inner.is_on(array) {
                return Ok(None);
            }
            arrays.push((**array).clone());
        }
        let py = arguments.py();
        let made = py.detach(|| self.inner.run(&arrays)).into_py_result(py)?;
        Ok(made.into_iter().next().map(Array::from))
    }

    /// The outputs, and the seconds that each node took, by its position.
    fn profile<'py>(
        &self,
        py: Python<'py>,
        arguments: Vec<Bound<'py, Array>>,
    ) -> PyResult<Profiled> {
        let arrays = inner(&arguments);
        let (outputs, timings) = py
            .detach(|| self.inner.profile(&arrays))
            .into_py_result(py)?;
        let timings = timings
            .iter()
            .map(|one| (one.node.0, one.seconds))
            .collect();
        Ok((outputs.into_iter().map(Array::from).collect(), timings))
    }

    /// One dict per node, in the order of computation: `operation`, `inputs` (positions of nodes, or numbers), `shape`, `dtype`, and `steps` of
    /// a fused one.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        nodes_of(py, self.inner.graph())
    }

    /// The nodes of joined steps, each as the text of a graph of its own.
    #[getter]
    fn fused_texts(&self) -> Vec<String> {
        let parts = self.inner.graph().fused_parts();
        parts.iter().map(ToString::to_string).collect()
    }

    fn __str__(&self) -> String {
        self.inner.graph().to_string()
    }

    /// Positions of the nodes that are the outputs.
    #[getter]
    fn outputs(&self) -> Vec<u32> {
        self.inner.graph().outputs().iter().map(|id| id.0).collect()
    }

    /// What runs, what was joined and how much memory it takes, as text.
    fn explain(&self) -> String {
        self.inner.explain(&self.report)
    }

    /// Runs that were replays of one graph of the device, recordings that are kept, commands of one, bytes that they hold beside the memory of
    /// values, and why there are none.
    #[getter]
    fn replays(&self) -> (u64, u64, u64, u64, Option<String>) {
        let counts = self.inner.replays();
        let ReplayCounts {
            replays,
            recordings,
            commands,
            bytes,
            refusal,
        } = counts;
        (replays, recordings, commands, bytes, refusal)
    }

    /// Bytes of the memory that values within the graph share.
    #[getter]
    fn shared_bytes(&self) -> u64 {
        self.inner.plan().bytes
    }

    /// Bytes that they would take if none shared memory with another.
    #[getter]
    fn unshared_bytes(&self) -> u64 {
        self.inner.plan().unshared_bytes
    }

    /// The graph in the language of Graphviz.
    fn to_dot(&self) -> String {
        self.inner.graph().to_dot()
    }
}
