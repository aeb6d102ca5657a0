//! Common subexpressions: what is computed twice is computed once.

use crate::passes::Report;
use crate::{Graph, Input, Kind, Node, NodeId};

/// Lets readers of a node that computes what an earlier one computes read that one. Readers are compared with few others: those that read the
/// same first value.
pub fn merge_common(graph: &mut Graph, report: &mut Report) {
    let mut readers: Vec<Vec<NodeId>> = vec![Vec::new(); graph.nodes().len()];
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let node = graph.node(id);
        let Some(first) = node.reads().next() else {
            continue;
        };
        let twin = readers[first.index()]
            .iter()
            .find(|other| is_same(graph.node(**other), node))
            .copied();
        if let Some(twin) = twin {
            report.merged += 1;
            report.notes.push(format!(
                "{twin} ({}) is computed once, not again for each of its readers",
                node.operation_name()
            ));
            graph.replace(id, twin);
        } else {
            readers[first.index()].push(id);
        }
    }
}

fn is_same(one: &Node, other: &Node) -> bool {
    let is_kind = match (&one.kind, &other.kind) {
        (Kind::View(a), Kind::View(b)) | (Kind::Assign(a), Kind::Assign(b)) => a == b,
        (Kind::Operation(a), Kind::Operation(b)) => a == b,
        (Kind::Result(a), Kind::Result(b)) => a == b,
        (Kind::Fused(a), Kind::Fused(b)) => a == b,
        (Kind::Rows(a), Kind::Rows(b)) => a == b,
        (Kind::FusedRows(a), Kind::FusedRows(b)) => a == b,
        _ => false,
    };
    is_kind && one.dtype == other.dtype && one.shape == other.shape && same_inputs(one, other)
}

fn same_inputs(one: &Node, other: &Node) -> bool {
    let bits = |input: &Input| match input {
        Input::Node(id) => (0, u64::from(id.0), None),
        Input::Number(number, dtype) => (1, number.element(*dtype), Some(*dtype)),
    };
    one.inputs
        .iter()
        .map(bits)
        .eq(other.inputs.iter().map(bits))
}
