//! Constant folding: what follows from constants alone is computed once, when the graph is made.

use amdgpu_array::Array;
use amdgpu_ops::{DeviceOps, Operand};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::passes::Report;
use crate::{Graph, Input, Kind, Node, NodeId, Result};

/// Results that take more memory than their operands by that factor stay operations: a broadcast zero is cheaper to make than to keep.
const MOST_GROWTH: u64 = 4;

/// Computes the nodes whose operands are all constants.
///
/// # Errors
///
/// What an operation fails with.
pub fn fold_constants(graph: &mut Graph, ops: &DeviceOps, report: &mut Report) -> Result<()> {
    let ids: Vec<NodeId> = graph.ids().collect();
    let other_bytes = bytes_of_others(graph);
    // Results behind the first of what was computed.
    let mut others: FxHashMap<NodeId, SmallVec<[Array; 3]>> = FxHashMap::default();
    for id in ids {
        if let Some(array) = other_result(graph.node(id), &others) {
            become_constant(graph.node_mut(id), array);
            continue;
        }
        let more = other_bytes.get(&id).copied().unwrap_or(0);
        let Some(made) = folded(graph, ops, id, more)? else {
            continue;
        };
        let node = graph.node_mut(id);
        if node.is_computed() {
            report.folded += 1;
            let name = node.operation_name();
            report.notes.push(format!(
                "{id} ({name}) follows from constants: it is computed once"
            ));
        }
        let mut made = made.into_iter();
        if let Some(first) = made.next() {
            become_constant(node, first);
            others.insert(id, made.collect());
        }
    }
    Ok(())
}

fn become_constant(node: &mut Node, array: Array) {
    node.kind = Kind::Constant(array);
    node.inputs.clear();
}

/// Bytes of the results behind the first that are used, by the node of the operation.
fn bytes_of_others(graph: &Graph) -> FxHashMap<NodeId, u64> {
    let mut bytes = FxHashMap::default();
    for node in graph.nodes() {
        if let (Kind::Result(_), Some(of)) = (&node.kind, node.reads().next()) {
            *bytes.entry(of).or_insert(0) += node.bytes();
        }
    }
    bytes
}

/// What another result of an operation is that was computed.
fn other_result(node: &Node, others: &FxHashMap<NodeId, SmallVec<[Array; 3]>>) -> Option<Array> {
    let Kind::Result(index) = node.kind else {
        return None;
    };
    let made = others.get(&node.reads().next()?)?;
    made.get(index.checked_sub(1)?).cloned()
}

/// All results of a node; `more` are the bytes of those behind the first.
fn folded(
    graph: &Graph,
    ops: &DeviceOps,
    id: NodeId,
    more: u64,
) -> Result<Option<SmallVec<[Array; 3]>>> {
    let node = graph.node(id);
    let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
    let mut bytes = 0;
    for input in &node.inputs {
        operands.push(match input {
            Input::Number(number, dtype) => Operand::of_number(*number, *dtype),
            Input::Node(read) => match &graph.node(*read).kind {
                Kind::Constant(array) => {
                    bytes += graph.node(*read).bytes();
                    Operand::of_array(array.clone())
                }
                _ => return Ok(None),
            },
        });
    }
    if node.inputs.is_empty() {
        return Ok(None);
    }
    Ok(match &node.kind {
        Kind::View(layout) => operands[0]
            .array
            .as_ref()
            .filter(|array| array.is_contiguous())
            .map(|array| {
                let seen = array.seen_as(
                    layout.offset_bytes,
                    node.dtype,
                    (layout.shape.clone(), layout.strides.clone()),
                );
                SmallVec::from_iter([seen])
            }),
        Kind::Operation(operation) if node.bytes() + more <= bytes.max(64) * MOST_GROWTH => {
            let outs: SmallVec<[Option<&Array>; 3]> =
                SmallVec::from_elem(None, operation.results());
            Some(
                operation
                    .run_all(ops, &operands, &outs)?
                    .into_iter()
                    .collect(),
            )
        }
        _ => None,
    })
}
