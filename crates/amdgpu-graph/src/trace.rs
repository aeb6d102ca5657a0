//! Graphs from functions: the operations that a function asks for, as nodes.

use std::any::Any;
use std::sync::{Arc, Weak};

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, Storage};
use amdgpu_hal::MemoryKind;
use amdgpu_ops::trace::Tracer;
use amdgpu_ops::{Operand, Operation, trace as noting};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::{Error, Graph, Input, Kind, Layout, Node, NodeId, Result};

/// A function as a graph, and what else it gave.
#[derive(Debug)]
pub struct Traced<T> {
    pub graph: Graph,
    pub given: T,
}

/// Calls a function with arrays like `arguments`, whose operations become a graph. `outputs` names the arrays of what it gave, which become the
/// outputs. The function sees copies of the arguments, and computes with them.
///
/// # Errors
///
/// `not-capturable` where this thread traces already, where the function changes an argument in place, or where it gives an array of another
/// device; what the operations fail with is `given`'s to say.
pub fn trace<T>(
    arguments: &[Array],
    function: impl FnOnce(&[Array]) -> T,
    outputs: impl FnOnce(&T) -> Vec<Array>,
) -> Result<Traced<T>> {
    let mut tracer = GraphTracer::default();
    let mut copies = Vec::with_capacity(arguments.len());
    for (position, argument) in arguments.iter().enumerate() {
        // Memory of its own, so that it is known by it, and without gaps.
        let copy = own_copy(argument)?;
        let id = tracer
            .graph
            .add_input(&format!("argument {position}"), &copy.shape, copy.dtype);
        tracer.learn(&copy, id);
        copies.push(copy);
    }
    let (given, tracer) = noting::trace(Box::new(tracer), || function(&copies))?;
    let mut tracer: Box<GraphTracer> = tracer
        .into_any()
        .downcast()
        .map_err(|_| Error::refused(ErrorCode::Internal, "another tracer came back"))?;
    for (position, copy) in copies.iter().enumerate() {
        if tracer
            .find(copy)
            .is_none_or(|known| known.node != tracer.graph.inputs()[position])
        {
            return Err(Error::refused(
                ErrorCode::NotCapturable,
                format!(
                    "the function changes its argument {position} in place, which a graph cannot: return the changed array instead"
                ),
            ));
        }
    }
    let mut ids = Vec::new();
    for array in outputs(&given) {
        ids.push(tracer.resolve(&array)?);
    }
    tracer.graph.set_outputs(ids);
    Ok(Traced {
        graph: tracer.graph,
        given,
    })
}

fn own_copy(array: &Array) -> Result<Array> {
    let ops = amdgpu_ops::strided::ops_of(array)?;
    let made = Array::empty(
        ops.device(),
        array.shape.clone(),
        array.dtype,
        MemoryKind::Device,
    )?;
    amdgpu_ops::strided::copy(&made, array)?;
    Ok(made)
}

/// Memory whose values a node computes.
struct Known {
    node: NodeId,
    /// Keeps the key from being used for other memory.
    storage: Weak<Storage>,
    /// Of index 0 of the node's value.
    address: u64,
}

#[derive(Default)]
struct GraphTracer {
    graph: Graph,
    known: FxHashMap<usize, Known>,
    constants: Vec<(Array, NodeId)>,
}

fn key(array: &Array) -> usize {
    Arc::as_ptr(array.storage()).addr()
}

impl GraphTracer {
    fn learn(&mut self, array: &Array, node: NodeId) {
        self.learn_at(array, node, array.address().address());
    }

    /// The memory that an array lies in, from that address on, is the value of a node.
    fn learn_at(&mut self, array: &Array, node: NodeId, address: u64) {
        array.storage().set_traced();
        let known = Known {
            node,
            storage: Arc::downgrade(array.storage()),
            address,
        };
        self.known.insert(key(array), known);
    }

    fn find(&self, array: &Array) -> Option<&Known> {
        let known = self.known.get(&key(array))?;
        debug_assert!(known.storage.strong_count() > 0);
        Some(known)
    }

    /// The node whose value an array is.
    fn resolve(&mut self, array: &Array) -> Result<NodeId> {
        let Some(known) = self.find(array) else {
            return self.constant(array);
        };
        let node = known.node;
        let layout = layout_in(known, array);
        Ok(self.graph.add_view(node, array.dtype, layout))
    }

    fn constant(&mut self, array: &Array) -> Result<NodeId> {
        if array.storage().made_in_trace() {
            // The function may write to it later on.
            let copy = own_copy(array)?;
            return Ok(self.graph.add_constant("", &copy));
        }
        let is_same = |one: &Array| {
            key(one) == key(array)
                && one.address() == array.address()
                && (one.dtype, &one.shape, &one.strides)
                    == (array.dtype, &array.shape, &array.strides)
        };
        if let Some((_, id)) = self.constants.iter().find(|(one, _)| is_same(one)) {
            return Ok(*id);
        }
        let id = self.graph.add_constant("", array);
        self.constants.push((array.clone(), id));
        Ok(id)
    }

    fn input(&mut self, operand: &Operand) -> Result<Input> {
        let Some(array) = &operand.array else {
            return Ok(Input::Number(operand.number, operand.dtype));
        };
        // An operand may see the array with another shape.
        let seen = array.view(operand.shape.clone(), operand.strides.clone());
        Ok(Input::Node(self.resolve(&seen)?))
    }

    /// The elements of a target became the value of a node.
    fn assign(&mut self, target: &Array, values: NodeId) -> Result<()> {
        if self.find(target).is_none() {
            if Self::is_whole(target)? {
                let values = self.graph.dense(values);
                self.learn(target, values);
                return Ok(());
            }
            // Some elements of new memory, whose others are what they are.
            self.learn_memory(target)?;
        }
        let Some(known) = self.find(target) else {
            unreachable!("it was learnt a moment ago")
        };
        let (base, address) = (known.node, known.address);
        let layout = layout_in(known, target);
        let (old, new) = (self.graph.node(base), self.graph.node(values));
        let covers =
            layout.is_dense(old.len()) && new.dtype == old.dtype && layout.shape == old.shape;
        let node = if covers {
            self.graph.dense(values)
        } else {
            let (shape, dtype) = (old.shape.clone(), old.dtype);
            self.graph.push(Node {
                kind: Kind::Assign(layout),
                inputs: SmallVec::from_slice(&[Input::Node(base), Input::Node(values)]),
                shape,
                dtype,
                name: String::new(),
            })
        };
        self.learn_at(target, node, address);
        Ok(())
    }

    /// Whether a target is all of memory that the function made.
    ///
    /// # Errors
    ///
    /// `not-capturable` for other memory.
    fn is_whole(target: &Array) -> Result<bool> {
        let range = target.storage().block_range();
        let (Some((first, bytes)), true) = (range, target.storage().made_in_trace()) else {
            return Err(Error::refused(
                ErrorCode::NotCapturable,
                "the function writes to an array that it did not make itself: a graph cannot change it. Return the new values instead",
            ));
        };
        let is_all = (first, bytes) == (target.address().address(), target.bytes() as u64);
        Ok(is_all && target.is_contiguous())
    }

    /// Memory that the function made, as bytes.
    fn learn_memory(&mut self, target: &Array) -> Result<()> {
        let (first, bytes) = target.storage().block_range().unwrap_or_default();
        let offset = first.wrapping_sub(target.address().address()).cast_signed();
        let shape = Dims::from_slice(&[bytes.cast_signed()]);
        let strides = amdgpu_array::row_major(&shape);
        let all = target.seen_as(offset, Dtype::U8, (shape, strides));
        // What it holds now: later operations write to it.
        let copy = own_copy(&all)?;
        let id = self.graph.add_constant("", &copy);
        self.learn_at(target, id, first);
        Ok(())
    }
}

fn layout_in(known: &Known, array: &Array) -> Layout {
    Layout {
        offset_bytes: array
            .address()
            .address()
            .wrapping_sub(known.address)
            .cast_signed(),
        shape: array.shape.clone(),
        strides: dense_where_one(&array.shape, &array.strides),
    }
}

/// Strides, with those of the row-major order for axes of one element, whose strides are never walked.
fn dense_where_one(shape: &[i64], strides: &[i64]) -> Dims {
    let dense = amdgpu_array::row_major(shape);
    let chosen = shape.iter().zip(strides).zip(dense.iter());
    chosen
        .map(|((extent, stride), dense)| if *extent == 1 { *dense } else { *stride })
        .collect()
}

fn refused(error: Error) -> amdgpu_ops::Error {
    match error {
        Error::Ops(error) => error,
        Error::Node { source, .. } => *source,
        Error::Array(error) => error.into(),
        Error::Refused { code, message } => amdgpu_ops::Error::refused(code, message),
    }
}

impl Tracer for GraphTracer {
    fn note(
        &mut self,
        operation: Operation,
        inputs: &[&Operand],
        results: &[Array],
    ) -> amdgpu_ops::Result<()> {
        let mut arrays = inputs
            .iter()
            .filter_map(|operand| operand.array.as_ref())
            .chain(results);
        if !arrays.any(|array| self.depends(array)) {
            // A constant like its operands.
            return Ok(());
        }
        let inputs = inputs
            .iter()
            .map(|operand| self.input(operand))
            .collect::<Result<SmallVec<[Input; 4]>>>()
            .map_err(refused)?;
        let mut nodes: SmallVec<[NodeId; 3]> = SmallVec::new();
        let mut kind = Kind::Operation(operation);
        let mut inputs = inputs;
        for (place, result) in results.iter().enumerate() {
            let id = self.graph.push(Node {
                kind,
                inputs,
                shape: result.shape.clone(),
                dtype: result.dtype,
                name: String::new(),
            });
            nodes.push(id);
            kind = Kind::Result(place + 1);
            inputs = SmallVec::from_slice(&[Input::Node(nodes[0])]);
        }
        for (result, node) in results.iter().zip(nodes) {
            self.assign(result, node).map_err(refused)?;
        }
        Ok(())
    }

    fn note_assignment(&mut self, target: &Array, values: &Array) -> amdgpu_ops::Result<()> {
        if !self.depends(values) && self.find(target).is_none() {
            return Ok(());
        }
        let values = self.resolve(values).map_err(refused)?;
        self.assign(target, values).map_err(refused)
    }

    fn note_fill(&mut self, target: &Array, element: &[u8]) -> amdgpu_ops::Result<()> {
        if self.find(target).is_none() {
            // A constant, which has the value already.
            return Ok(());
        }
        let value = Array::empty(
            amdgpu_ops::strided::ops_of(target)?.device(),
            Dims::new(),
            target.dtype,
            MemoryKind::Device,
        )?;
        value.fill(element)?;
        let scalar = self.graph.add_constant("", &value);
        let layout = Layout {
            offset_bytes: 0,
            shape: target.shape.clone(),
            strides: Dims::from_elem(0, target.shape.len()),
        };
        let values = self.graph.add_view(scalar, target.dtype, layout);
        self.assign(target, values).map_err(refused)
    }

    fn depends(&self, array: &Array) -> bool {
        self.find(array).is_some()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
