//! Rewrites of graphs that leave what they compute.

mod attention;
mod common;
mod constants;
mod epilogue;
mod fuse;
mod images;
mod rows;

use amdgpu_ops::DeviceOps;

use crate::{Graph, Result};

pub use attention::fuse_attention;
pub use common::merge_common;
pub use constants::fold_constants;
pub use epilogue::fuse_epilogues;
pub use fuse::fuse_elementwise;
pub use images::fold_batch_norms;
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

/// All passes, in order, for a graph that runs on the device of `ops`.
///
/// # Errors
///
/// The graph is not as it has to be; what the operations of constants fail with.
pub fn optimize(graph: &mut Graph, ops: &DeviceOps) -> Result<Report> {
    let mut report = Report::default();
    graph.verify()?;
    graph.rebuild();
    fold_constants(graph, ops, &mut report)?;
    merge_common(graph, &mut report);
    fuse_attention(graph, ops, &mut report)?;
    fold_batch_norms(graph, ops, &mut report)?;
    fuse_epilogues(graph, &mut report);
    graph.rebuild();
    fuse_elementwise(graph, &mut report);
    graph.rebuild();
    fuse_rows(graph, ops, &mut report);
    graph.rebuild();
    graph.verify()?;
    Ok(report)
}
