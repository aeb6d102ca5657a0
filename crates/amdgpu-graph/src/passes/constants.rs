//! Constant folding: what follows from constants alone is computed once, when the graph is made.

use amdgpu_ops::{DeviceOps, Operand};
use smallvec::SmallVec;

use crate::passes::Report;
use crate::{Graph, Input, Kind, NodeId, Result};

/// Results that take more memory than their operands by that factor stay operations: a broadcast zero is cheaper to make than to keep.
const MOST_GROWTH: u64 = 4;

/// Computes the nodes whose operands are all constants.
///
/// # Errors
///
/// What an operation fails with.
pub fn fold_constants(graph: &mut Graph, ops: &DeviceOps, report: &mut Report) -> Result<()> {
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let Some(array) = folded(graph, ops, id)? else {
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
        node.kind = Kind::Constant(array);
        node.inputs.clear();
    }
    Ok(())
}

fn folded(graph: &Graph, ops: &DeviceOps, id: NodeId) -> Result<Option<amdgpu_array::Array>> {
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
                array.seen_as(
                    layout.offset_bytes,
                    node.dtype,
                    (layout.shape.clone(), layout.strides.clone()),
                )
            }),
        Kind::Operation(operation)
            if operation.results() == 1 && node.bytes() <= bytes.max(64) * MOST_GROWTH =>
        {
            Some(operation.run(ops, &operands, None)?)
        }
        _ => None,
    })
}
