//! Rewrites of graphs that leave what they compute.

mod attention;
mod common;
mod constants;
mod epilogue;
mod fuse;
mod images;
mod layouts;
mod reductions;
mod rows;

use amdgpu_ops::DeviceOps;

use crate::{Graph, NodeId, Result};

pub use attention::fuse_attention;
pub use common::merge_common;
pub use constants::fold_constants;
pub use epilogue::fuse_epilogues;
pub use fuse::fuse_elementwise;
pub use images::fold_batch_norms;
pub use layouts::choose_layouts;
pub use reductions::fuse_reductions;
pub use rows::fuse_rows;

/// What the passes did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Nodes that were computed when the graph was made.
    pub folded: usize,
    /// Nodes that computed what another one computes.
    pub merged: usize,
    /// Operations that became part of a kernel with others.
    pub fused: usize,
    /// A sentence for each decision: what was joined, and what was not and why.
    pub notes: Vec<String>,
}

impl Report {
    /// Lets notes name nodes as they are after [`Graph::rebuild`]; those that are gone are named no more.
    pub(crate) fn renumber(&mut self, places: &[Option<NodeId>]) {
        for note in &mut self.notes {
            *note = renumbered(note, places);
        }
    }
}

fn renumbered(note: &str, places: &[Option<NodeId>]) -> String {
    let mut parts = note.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(part.len());
        let (digits, rest) = part.split_at(end);
        let place = digits.parse().ok().and_then(|at: usize| places.get(at));
        match place {
            Some(Some(id)) => text += &[id.to_string().as_str(), rest].concat(),
            Some(None) => {
                let kept = text.trim_end().len();
                text.truncate(kept);
                text += if text.is_empty() {
                    rest.trim_start()
                } else {
                    rest
                };
            }
            None => text += &["%", part].concat(),
        }
    }
    text
}

/// All passes, in order, for a graph that runs on the device of `ops`.
///
/// # Errors
///
/// The graph is not as it has to be; what the operations of constants fail with.
pub fn optimize(graph: &mut Graph, ops: &DeviceOps) -> Result<Report> {
    let mut report = Report::default();
    graph.verify()?;
    report.renumber(&graph.rebuild());
    fold_constants(graph, ops, &mut report)?;
    merge_common(graph, &mut report);
    fuse_attention(graph, ops, &mut report)?;
    fold_batch_norms(graph, ops, &mut report)?;
    choose_layouts(graph, ops, &mut report)?;
    fuse_epilogues(graph, &mut report);
    report.renumber(&graph.rebuild());
    fuse_elementwise(graph, &mut report);
    report.renumber(&graph.rebuild());
    fuse_rows(graph, ops, &mut report);
    report.renumber(&graph.rebuild());
    fuse_reductions(graph, ops, &mut report);
    report.renumber(&graph.rebuild());
    graph.verify()?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_name_nodes_that_are_there() {
        let places = [Some(NodeId(0)), None, Some(NodeId(1)), None];
        let renumbered = |note| renumbered(note, &places);
        assert_eq!(
            renumbered("%2 (tanh) is part of the product %1"),
            "%1 (tanh) is part of the product"
        );
        assert_eq!(
            renumbered("%3 (exp) follows; 5 % of %2: %0"),
            "(exp) follows; 5 % of %1: %0"
        );
        assert_eq!(renumbered("nothing"), "nothing");
    }
}
