//! graph.h: graphs of operations, built by hand or parsed, and their runs.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Array;
use amdgpu_graph::attributes::operation_of;
use amdgpu_graph::{Executable, Graph, Input, NodeId, parse, parse_attributes, passes};
use amdgpu_ops::DeviceOps;

use crate::array::{ArrayObject, dims_of, dtype_of};
use crate::borrowed::{Described, Items, ItemsOut, Options, Out, Text, Versioned, fixed_text};
use crate::handles::{self, Handle, Object};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};
use crate::text::TextObject;

/// As `AGPU_MAX_DIMENSIONS`.
const MAX_DIMENSIONS: usize = 16;

pub struct GraphObject {
    graph: Mutex<Graph>,
    compiled: Mutex<Option<Arc<Compiled>>>,
}

impl Object for GraphObject {
    const KIND: u8 = 15;
}

struct Compiled {
    executable: Executable,
    device: Arc<DeviceObject>,
    report: passes::Report,
}

impl GraphObject {
    fn insert(graph: Graph) -> Handle {
        handles::insert(Arc::new(Self {
            graph: Mutex::new(graph),
            compiled: Mutex::default(),
        }))
    }

    fn get(handle: Handle) -> Answer<Arc<Self>> {
        handles::get(handle, "graph")
    }

    fn lock(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn compiled(&self) -> Answer<Arc<Compiled>> {
        let compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        compiled.clone().ok_or_else(|| {
            let message = "the graph is not compiled: call agpu_graph_compile first";
            Failure::new(ErrorCode::InvalidArgument, message)
        })
    }

    /// A node that the caller names.
    fn node(&self, node: u32) -> Answer<NodeId> {
        let count = self.lock().nodes().len();
        if (node as usize) < count {
            return Ok(NodeId(node));
        }
        Err(Failure::invalid(format!(
            "node {node} does not exist: the graph has {count} nodes"
        )))
    }
}

/// `agpu_graph_node_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NodeFacts {
    size_bytes: u64,
    operation: [u8; 32],
    dtype: [u8; 16],
    dimensions: u32,
    reserved: u32,
    shape: [i64; MAX_DIMENSIONS],
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for NodeFacts {
    const NAME: &'static str = "agpu_graph_node_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_graph_compile_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CompileOptions {
    size_bytes: u64,
    leaves_operations: u32,
    reserved: u32,
    workspace_bytes: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CompileOptions {
    const NAME: &'static str = "agpu_graph_compile_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// A graph without nodes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_create(graph: Out<Handle>) -> Status {
    answer(|| {
        let place = graph.required("graph")?;
        place.write(GraphObject::insert(Graph::new()));
        Ok(())
    })
}

/// The graph that a text describes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_parse(
    text: Text,
    constants: Items<Handle>,
    count: usize,
    graph: Out<Handle>,
) -> Status {
    answer(|| {
        let place = graph.required("graph")?;
        let constants = arrays(constants, count, "constants")?;
        place.write(GraphObject::insert(parse(
            text.required("text")?,
            &constants,
        )?));
        Ok(())
    })
}

fn arrays(handles: Items<Handle>, count: usize, name: &str) -> Answer<Vec<Array>> {
    handles
        .slice(count, name)?
        .iter()
        .map(|handle| Ok(ArrayObject::alive(name, *handle)?.array.clone()))
        .collect()
}

/// Adds an argument.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_add_input(
    graph: Handle,
    dtype: Text,
    dimensions: u32,
    shape: Items<i64>,
    node: Out<u32>,
) -> Status {
    answer(|| {
        let place = node.required("node")?;
        let graph = GraphObject::get(graph)?;
        let dtype = dtype_of(dtype.required("dtype")?)?;
        let shape = dims_of(shape, dimensions, "shape")?;
        if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
            return Err(Failure::invalid(format!("the extent {extent} is negative")));
        }
        place.write(graph.lock().add_input("", &shape, dtype).0);
        Ok(())
    })
}

/// Adds an array that is there.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_add_constant(graph: Handle, array: Handle, node: Out<u32>) -> Status {
    answer(|| {
        let place = node.required("node")?;
        let graph = GraphObject::get(graph)?;
        let array = ArrayObject::alive("array", array)?;
        place.write(graph.lock().add_constant("", &array.array).0);
        Ok(())
    })
}

/// Adds an operation by name.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_add(
    graph: Handle,
    operation: Text,
    inputs: Items<u32>,
    count: usize,
    options: Text,
    node: Out<u32>,
) -> Status {
    answer(|| {
        let place = node.required("node")?;
        let graph = GraphObject::get(graph)?;
        let attributes = parse_attributes(options.optional("options")?.unwrap_or_default())?;
        let operation = operation_of(operation.required("operation")?, &attributes)?;
        let inputs = inputs
            .slice(count, "inputs")?
            .iter()
            .map(|input| graph.node(*input).map(Input::Node))
            .collect::<Answer<Vec<_>>>()?;
        place.write(graph.lock().add(operation, &inputs)?.0);
        Ok(())
    })
}

/// Adds another result of an operation.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_add_result(
    graph: Handle,
    operation: u32,
    index: u32,
    node: Out<u32>,
) -> Status {
    answer(|| {
        let place = node.required("node")?;
        let graph = GraphObject::get(graph)?;
        let operation = graph.node(operation)?;
        place.write(graph.lock().add_result(operation, index as usize)?.0);
        Ok(())
    })
}

/// Adds the elements of a node under another shape.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_add_reshape(
    graph: Handle,
    input: u32,
    dimensions: u32,
    shape: Items<i64>,
    node: Out<u32>,
) -> Status {
    answer(|| {
        let place = node.required("node")?;
        let graph = GraphObject::get(graph)?;
        let input = graph.node(input)?;
        let shape = dims_of(shape, dimensions, "shape")?;
        place.write(graph.lock().add_reshape(input, &shape)?.0);
        Ok(())
    })
}

/// Adds a node with its axes in another order.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_add_permuted(
    graph: Handle,
    input: u32,
    axes: Items<i64>,
    count: u32,
    node: Out<u32>,
) -> Status {
    answer(|| {
        let place = node.required("node")?;
        let graph = GraphObject::get(graph)?;
        let input = graph.node(input)?;
        let axes = dims_of(axes, count, "axes")?;
        place.write(graph.lock().add_permuted(input, &axes)?.0);
        Ok(())
    })
}

/// How many nodes there are.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_node_count(graph: Handle, count: Out<u32>) -> Status {
    answer(|| {
        let place = count.required("count")?;
        place.write(GraphObject::get(graph)?.lock().nodes().len() as u32);
        Ok(())
    })
}

/// Facts of a node.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_node_info(
    graph: Handle,
    node: u32,
    info: Described<NodeFacts>,
) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let graph = GraphObject::get(graph)?;
        let id = graph.node(node)?;
        let locked = graph.lock();
        let node = locked.node(id);
        let mut shape = [0; MAX_DIMENSIONS];
        if node.shape.len() > MAX_DIMENSIONS {
            return Err(Failure::invalid(format!(
                "node {id} has {} dimensions; {MAX_DIMENSIONS} are the most",
                node.shape.len()
            )));
        }
        shape[..node.shape.len()].copy_from_slice(&node.shape);
        place.set(&NodeFacts {
            size_bytes: size_of::<NodeFacts>() as u64,
            operation: fixed_text(node.operation_name()),
            dtype: fixed_text(Dtype::name(node.dtype).unwrap_or("?")),
            dimensions: node.shape.len() as u32,
            reserved: 0,
            shape,
        });
        Ok(())
    })
}

/// Names the nodes whose values a run gives.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_set_outputs(graph: Handle, nodes: Items<u32>, count: usize) -> Status {
    answer(|| {
        let graph = GraphObject::get(graph)?;
        let outputs = nodes
            .slice(count, "nodes")?
            .iter()
            .map(|node| graph.node(*node))
            .collect::<Answer<Vec<_>>>()?;
        graph.lock().set_outputs(outputs);
        Ok(())
    })
}

/// The graph as text.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_text(graph: Handle, text: Out<Handle>) -> Status {
    answer(|| {
        let place = text.required("text")?;
        let graph = GraphObject::get(graph)?;
        place.write(TextObject::insert(&graph.lock().to_string()));
        Ok(())
    })
}

/// The graph in the language of Graphviz.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_dot(graph: Handle, text: Out<Handle>) -> Status {
    answer(|| {
        let place = text.required("text")?;
        let graph = GraphObject::get(graph)?;
        place.write(TextObject::insert(&graph.lock().to_dot()));
        Ok(())
    })
}

/// Optimises the graph for a device and plans its memory.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_compile(
    graph: Handle,
    device: Handle,
    options: Options<CompileOptions>,
) -> Status {
    answer(|| {
        let graph = GraphObject::get(graph)?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let options = options.read()?;
        let mut copy = graph.lock().clone();
        if copy.outputs().is_empty() {
            let message = "the graph has no outputs: call agpu_graph_set_outputs first";
            return Err(Failure::invalid(message));
        }
        let opened = Arc::clone(device.context.open_device()?);
        crate::toolchain::of_process();
        let report = if options.leaves_operations == 0 {
            let ops = DeviceOps::of(&opened)?;
            passes::optimize(&mut copy, &ops)?
        } else {
            passes::Report::default()
        };
        let executable = Executable::new(copy, &opened)?;
        executable.set_origin("graph", &report);
        let needed = executable.plan().bytes;
        if options.workspace_bytes > 0 && needed > options.workspace_bytes {
            return Err(Failure::new(
                ErrorCode::OutOfMemory,
                format!(
                    "values within the graph need {needed} bytes, workspace_bytes allows {}",
                    options.workspace_bytes
                ),
            ));
        }
        let made = Arc::new(Compiled {
            executable,
            device,
            report,
        });
        *graph
            .compiled
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(made);
        Ok(())
    })
}

/// What runs, what was joined and how much memory it takes, as text.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_explain(graph: Handle, text: Out<Handle>) -> Status {
    answer(|| {
        let place = text.required("text")?;
        let compiled = GraphObject::get(graph)?.compiled()?;
        place.write(TextObject::insert(
            &compiled.executable.explain(&compiled.report),
        ));
        Ok(())
    })
}

/// Runs a graph that was compiled.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_run(
    graph: Handle,
    inputs: Items<Handle>,
    input_count: usize,
    outputs: ItemsOut<u64>,
    output_count: usize,
) -> Status {
    answer(|| {
        let compiled = GraphObject::get(graph)?.compiled()?;
        let arguments = arrays(inputs, input_count, "inputs")?;
        let places = checked_places(&compiled, outputs, output_count)?;
        let made = compiled.executable.run(&arguments)?;
        deliver(&compiled, made, places);
        Ok(())
    })
}

/// As `agpu_graph_run`, and how long each node took.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_graph_profile(
    graph: Handle,
    inputs: Items<Handle>,
    input_count: usize,
    outputs: ItemsOut<u64>,
    output_count: usize,
    report: Out<Handle>,
) -> Status {
    answer(|| {
        let place = report.required("report")?;
        let compiled = GraphObject::get(graph)?.compiled()?;
        let arguments = arrays(inputs, input_count, "inputs")?;
        let places = checked_places(&compiled, outputs, output_count)?;
        let (made, timings) = compiled.executable.profile(&arguments)?;
        let mut text = String::new();
        for timing in &timings {
            let node = compiled.executable.graph().node(timing.node);
            let _ = writeln!(
                text,
                "{} {} {:e}",
                timing.node,
                node.operation_name(),
                timing.seconds
            );
        }
        deliver(&compiled, made, places);
        place.write(TextObject::insert(&text));
        Ok(())
    })
}

fn checked_places<'a>(
    compiled: &Compiled,
    outputs: ItemsOut<u64>,
    count: usize,
) -> Answer<&'a mut [u64]> {
    let wanted = compiled.executable.graph().outputs().len();
    if count != wanted {
        return Err(Failure::invalid(format!(
            "output_count is {count}; the graph has {wanted} outputs"
        )));
    }
    outputs.slice(count, "outputs")
}

fn deliver(compiled: &Compiled, made: Vec<Array>, places: &mut [u64]) {
    for (place, array) in places.iter_mut().zip(made) {
        *place = ArrayObject::insert(array, Some(Arc::clone(&compiled.device))).bits();
    }
}
