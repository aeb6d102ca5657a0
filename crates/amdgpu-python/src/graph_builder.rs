//! `_native.Graph`: a graph of operations that is built by hand or parsed, bound to `amdgpu_graph`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::Dims;
use amdgpu_graph::attributes::{Attributes, Value, names, operation_of};
use amdgpu_graph::{Input, NodeId, parse};
use amdgpu_ops::Scalar;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::array::Array;
use crate::device::Device;
use crate::errors::{IntoPyResult, raise};
use crate::jit::{ExecutableGraph, Wanted, nodes_of};

/// Names of the operations that graphs hold.
#[pyfunction]
pub fn graph_operations() -> Vec<&'static str> {
    names()
}

/// Nodes in the order of their computation; numbers name them.
#[pyclass(frozen, module = "amdgpu")]
pub struct Graph {
    inner: Mutex<amdgpu_graph::Graph>,
}

fn refuse(py: Python<'_>, message: &str) -> PyErr {
    raise(py, ErrorCode::InvalidArgument, Language::Rust, message)
}

impl Graph {
    fn lock(&self) -> MutexGuard<'_, amdgpu_graph::Graph> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn checked(&self, py: Python<'_>, id: u32) -> PyResult<NodeId> {
        let count = self.lock().nodes().len();
        if (id as usize) < count {
            return Ok(NodeId(id));
        }
        Err(refuse(
            py,
            &format!("node {id} does not exist: the graph has {count} nodes"),
        ))
    }
}

#[pymethods]
impl Graph {
    #[new]
    fn new() -> Self {
        Self {
            inner: Mutex::default(),
        }
    }

    /// The graph that a text describes, with its constants in order.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, constants: Vec<Bound<'_, Array>>) -> PyResult<Self> {
        let constants: Vec<_> = constants.iter().map(|one| (**one.get()).clone()).collect();
        let inner = parse(text, &constants).into_py_result(py)?;
        Ok(Self {
            inner: Mutex::new(inner),
        })
    }

    /// Adds an argument.
    fn input(&self, py: Python<'_>, shape: Vec<i64>, dtype: &str, name: &str) -> PyResult<u32> {
        let Some(dtype) = Dtype::from_name(dtype) else {
            return Err(refuse(py, &format!("no dtype is called {dtype:?}")));
        };
        if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
            return Err(refuse(py, &format!("the extent {extent} is negative")));
        }
        Ok(self.lock().add_input(name, &shape, dtype).0)
    }

    /// Adds an array that is there.
    fn constant(&self, array: &Bound<'_, Array>, name: &str) -> PyResult<u32> {
        let py = array.py();
        let array = array.get();
        array.check_alive().into_py_result(py)?;
        Ok(self.lock().add_constant(name, array).0)
    }

    /// Adds an operation by name; inputs are numbers of nodes, or pairs of a number and its dtype.
    #[pyo3(signature = (operation, inputs, options))]
    fn add(
        &self,
        py: Python<'_>,
        operation: &str,
        inputs: &Bound<'_, PyList>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<u32> {
        let operation = operation_of(operation, &attributes(options)?).into_py_result(py)?;
        let inputs = inputs
            .iter()
            .map(|input| self.input_of(&input))
            .collect::<PyResult<Vec<_>>>()?;
        let added = self.lock().add(operation, &inputs).into_py_result(py)?;
        Ok(added.0)
    }

    /// Adds another result of an operation.
    fn result(&self, py: Python<'_>, operation: u32, index: usize) -> PyResult<u32> {
        let id = self.checked(py, operation)?;
        let added = self.lock().add_result(id, index).into_py_result(py)?;
        Ok(added.0)
    }

    /// Adds the elements of a node under another shape.
    fn reshape(&self, py: Python<'_>, node: u32, shape: Vec<i64>) -> PyResult<u32> {
        let id = self.checked(py, node)?;
        let added = self.lock().add_reshape(id, &shape).into_py_result(py)?;
        Ok(added.0)
    }

    /// Adds a node with its axes in another order.
    fn permute(&self, py: Python<'_>, node: u32, axes: Vec<i64>) -> PyResult<u32> {
        let id = self.checked(py, node)?;
        let added = self.lock().add_permuted(id, &axes).into_py_result(py)?;
        Ok(added.0)
    }

    #[setter]
    fn set_outputs(&self, py: Python<'_>, outputs: Vec<u32>) -> PyResult<()> {
        let ids = outputs
            .into_iter()
            .map(|id| self.checked(py, id))
            .collect::<PyResult<Vec<_>>>()?;
        self.lock().set_outputs(ids);
        Ok(())
    }

    #[getter]
    fn outputs(&self) -> Vec<u32> {
        self.lock().outputs().iter().map(|id| id.0).collect()
    }

    /// One dict per node, as `ExecutableGraph.nodes`.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        nodes_of(py, &self.lock())
    }

    fn __str__(&self) -> String {
        self.lock().to_string()
    }

    /// The graph in the language of Graphviz.
    fn to_dot(&self) -> String {
        self.lock().to_dot()
    }

    /// The graph for a device, optimised and with planned memory.
    #[pyo3(signature = (device, *, optimize=true, replay=None, name="graph"))]
    fn compile(
        &self,
        device: &Bound<'_, Device>,
        optimize: bool,
        replay: Option<bool>,
        name: &str,
    ) -> PyResult<ExecutableGraph> {
        let py = device.py();
        let graph = self.lock().clone();
        if graph.outputs().is_empty() {
            return Err(refuse(
                py,
                "the graph has no outputs: name them before it is compiled",
            ));
        }
        let context = device.get().context();
        let opened = context.open_device().into_py_result(py)?;
        let wanted = Wanted {
            optimize,
            replay,
            name,
        };
        ExecutableGraph::of(py, graph, opened, &wanted)
    }
}

impl Graph {
    fn input_of(&self, input: &Bound<'_, PyAny>) -> PyResult<Input> {
        let py = input.py();
        if let Ok(id) = input.extract::<u32>() {
            return self.checked(py, id).map(Input::Node);
        }
        let (number, dtype): (Bound<'_, PyAny>, String) = input.extract()?;
        let Some(dtype) = Dtype::from_name(&dtype) else {
            return Err(refuse(py, &format!("no dtype is called {dtype:?}")));
        };
        let number = if number.is_instance_of::<PyInt>() {
            Scalar::Int(number.extract()?)
        } else {
            Scalar::Float(number.extract()?)
        };
        Ok(Input::Number(number.for_dtype(dtype), dtype))
    }
}

fn attributes(options: &Bound<'_, PyDict>) -> PyResult<Attributes> {
    let mut made = Attributes::new();
    for (name, value) in options.iter() {
        let name: String = name.extract()?;
        let value = if value.is_instance_of::<PyBool>() {
            Value::Flag(value.extract()?)
        } else if value.is_instance_of::<PyInt>() {
            Value::Int(value.extract()?)
        } else if value.is_instance_of::<PyFloat>() {
            Value::Float(value.extract()?)
        } else if value.is_instance_of::<PyString>() {
            Value::Text(value.extract()?)
        } else if let Ok(values) = value.extract::<Vec<i64>>() {
            Value::Ints(Dims::from_vec(values))
        } else {
            let message = format!("option {name}: {value} is no number, text or list of integers");
            return Err(raise(
                options.py(),
                ErrorCode::InvalidType,
                Language::Rust,
                &message,
            ));
        };
        made = made.with(&name, value);
    }
    Ok(made)
}
