//! Reductions over the last axes take up the elementwise steps before, between and behind them: what is reduced, and what is computed of it
//! again, stays in the caches of a CPU, or in one kernel of another device. The bits are those of the operations one by one.

use amdgpu_abi::promotion::is_float;
use amdgpu_array::Dims;
use amdgpu_ops::operation::Reduction;
use amdgpu_ops::reduce::Reduce;
use amdgpu_ops::{DeviceOps, FusedRows, Operation, RowReduction, RowStage, RowValue};
use smallvec::SmallVec;

use super::rows::{MOST_ROW_BYTES, region_of};
use crate::passes::Report;
use crate::{Graph, Input, Kind, Node, NodeId};

/// Inputs of the whole at most: as many as a kernel of elementwise steps takes.
const MOST_INPUTS: usize = 6;
/// Operations of the whole at most: a kernel computes steps before a reduction once more for each that reads them.
const MOST_STAGES: usize = 12;

/// Of values that do not stay in the caches between the operations: smaller ones take up to 1.2 times as long some rows at a time, these 0.5 to 1.0
/// times. With functions such as `exp` they take 1.0 to 1.3 times as long on one thread.
const LEAST_BYTES: u64 = 16 << 20;
/// Of shorter rows a block has so many that what is computed for each of them takes the time.
const LEAST_ROW: i64 = 512;

/// Joins reductions over the last axes with the steps around them, where that is no slower.
pub fn fuse_reductions(graph: &mut Graph, ops: &DeviceOps, report: &mut Report) {
    let counts = graph.use_counts();
    let mut is_taken = vec![false; graph.nodes().len()];
    let ids: Vec<NodeId> = graph.ids().rev().collect();
    for last in ids {
        if is_taken[last.index()] {
            continue;
        }
        let Some(group) = Group::of(graph, last, &counts, &is_taken) else {
            continue;
        };
        let Some((rows, inputs)) = group.rows(graph) else {
            continue;
        };
        let names = rows.steps().join(", ");
        if let Some(reason) = group.reason(graph, ops, &rows, &inputs) {
            report.notes.push(format!(
                "{last}: {names} are computed one after the other: {reason}"
            ));
            continue;
        }
        let how = if ops.computes_on_host() {
            "are computed for some rows at a time"
        } else {
            "are one kernel"
        };
        report.fused += rows.steps().len();
        report.notes.push(format!("{last}: {names} {how}"));
        for member in &group.members {
            is_taken[member.index()] = true;
        }
        let node = graph.node_mut(last);
        node.kind = Kind::FusedRows(Box::new(rows));
        node.inputs = inputs;
    }
}

/// Rows: the shape of a whole value, and how many of its last axes make a row.
#[derive(Clone, PartialEq)]
struct Frame {
    shape: Dims,
    row_rank: usize,
}

impl Frame {
    /// Of what a reduction over the last axes reads.
    fn of_reduction(graph: &Graph, node: &Node) -> Option<Self> {
        let Kind::Operation(Operation::Reduce(reduction)) = &node.kind else {
            return None;
        };
        let x = graph.node(node.inputs[0].node()?);
        let row_rank = row_rank(reduction, x.shape.len())?;
        let is_known = !matches!(reduction.operation, Reduce::Argmax | Reduce::Argmin);
        let has_own_dtype = reduction.operation.dtypes(x.dtype).1 == node.dtype;
        let length: i64 = x.shape[x.shape.len() - row_rank..].iter().product();
        (is_known && has_own_dtype && is_float(x.dtype) && is_float(node.dtype) && length > 1).then(
            || Self {
                shape: x.shape.clone(),
                row_rank,
            },
        )
    }

    /// Of the reduction that a node follows from by elementwise steps.
    fn behind(graph: &Graph, last: NodeId) -> Option<Self> {
        let mut open = vec![last];
        let mut seen = 0;
        while let Some(id) = open.pop() {
            let node = graph.node(id);
            if let Some(frame) = Self::of_reduction(graph, node) {
                return Some(frame);
            }
            seen += 1;
            if seen <= MOST_STAGES && region_of(graph, id).is_some() {
                open.extend(node.reads());
            }
        }
        None
    }

    /// The axes before those of a row.
    fn lead(&self) -> &[i64] {
        &self.shape[..self.shape.len() - self.row_rank]
    }

    fn has_shape(&self, shape: &[i64]) -> bool {
        let lead = self.shape.len() - self.row_rank;
        shape == self.shape.as_slice()
            || (shape.len() == self.shape.len()
                && shape[..lead] == self.shape[..lead]
                && shape[lead..].iter().all(|extent| *extent == 1))
    }
}

/// How many axes are reduced, where they are the last ones.
fn row_rank(reduction: &Reduction, rank: usize) -> Option<usize> {
    let Some(axes) = &reduction.axes else {
        return (rank > 0).then_some(rank);
    };
    let mut axes: Vec<i64> = axes
        .iter()
        .map(|axis| if *axis < 0 { axis + rank as i64 } else { *axis })
        .collect();
    axes.sort_unstable();
    let first = rank - axes.len().min(rank);
    let are_last = axes.iter().copied().eq(first as i64..rank as i64);
    (are_last && !axes.is_empty()).then_some(axes.len())
}

/// Operations that are computed together; the last of them is the one value that others read.
struct Group {
    /// In the order of the graph.
    members: Vec<NodeId>,
    last: NodeId,
    frame: Frame,
}

impl Group {
    fn of(graph: &Graph, last: NodeId, counts: &[usize], is_taken: &[bool]) -> Option<Self> {
        let frame = Frame::behind(graph, last)?;
        let mut group = Self {
            members: vec![last],
            last,
            frame,
        };
        if !group.fits(graph, last) {
            return None;
        }
        while group.members.len() < MOST_STAGES {
            let found = group.candidates(graph).into_iter().find(|candidate| {
                !is_taken[candidate.index()] && group.takes(graph, *candidate, counts)
            });
            let Some(found) = found else {
                break;
            };
            group.members.push(found);
            group.members.sort_unstable();
        }
        let is_fold = |id: &NodeId| Frame::of_reduction(graph, graph.node(*id)).is_some();
        let has_fold = group.members.iter().any(is_fold);
        (has_fold && group.members.len() > 1).then_some(group)
    }

    /// Whether a node is a stage of these rows.
    fn fits(&self, graph: &Graph, id: NodeId) -> bool {
        let node = graph.node(id);
        if let Kind::Operation(Operation::Reduce(reduction)) = &node.kind {
            let is_of_rows = Frame::of_reduction(graph, node).as_ref() == Some(&self.frame);
            return is_of_rows && (reduction.keeps_axes || self.drops_axes(graph));
        }
        let has_shape = self.frame.has_shape(&node.shape)
            || (self.drops_axes(graph) && node.shape.as_slice() == self.frame.lead());
        is_float(node.dtype) && has_shape && region_of(graph, id).is_some()
    }

    /// Whether the result lacks the axes of the rows.
    fn drops_axes(&self, graph: &Graph) -> bool {
        self.lacks_axes(graph.node(self.last))
    }

    fn lacks_axes(&self, node: &Node) -> bool {
        node.shape.len() < self.frame.shape.len()
    }

    /// Whether values without the axes of the rows are computed of such values in the group alone, and read by such alone: to others they would
    /// broadcast along other axes.
    fn are_axes_apart(&self, graph: &Graph) -> bool {
        self.members.iter().all(|id| {
            let node = graph.node(*id);
            let is_fold = matches!(&node.kind, Kind::Operation(Operation::Reduce(_)));
            let mut reads = node.reads();
            if self.lacks_axes(node) && !is_fold {
                return reads
                    .all(|read| self.members.contains(&read) && self.lacks_axes(graph.node(read)));
            }
            !reads.any(|read| self.members.contains(&read) && self.lacks_axes(graph.node(read)))
        })
    }

    /// Nodes outside that members read, the latest first.
    fn candidates(&self, graph: &Graph) -> Vec<NodeId> {
        let reads = self.members.iter().flat_map(|id| graph.node(*id).reads());
        let mut outside: Vec<NodeId> = reads.filter(|id| !self.members.contains(id)).collect();
        outside.sort_unstable();
        outside.dedup();
        outside.reverse();
        outside
    }

    fn takes(&self, graph: &Graph, candidate: NodeId, counts: &[usize]) -> bool {
        let inside = self
            .members
            .iter()
            .flat_map(|id| graph.node(*id).reads())
            .filter(|read| *read == candidate)
            .count();
        if counts[candidate.index()] != inside || !self.fits(graph, candidate) {
            return false;
        }
        let reads = graph.node(candidate).reads();
        let mut outside = self.candidates(graph);
        outside.retain(|id| *id != candidate);
        outside.extend(reads.filter(|id| !self.members.contains(id)));
        outside.sort_unstable();
        outside.dedup();
        outside.len() <= MOST_INPUTS
    }

    /// The stages, and what they read.
    fn rows(&self, graph: &Graph) -> Option<(FusedRows, SmallVec<[Input; 4]>)> {
        let mut inputs: SmallVec<[Input; 4]> = SmallVec::new();
        let mut stages: Vec<RowStage> = Vec::new();
        for id in &self.members {
            let node = graph.node(*id);
            let mut value = |input: &Input| {
                let stage = self
                    .members
                    .iter()
                    .position(|one| input.node() == Some(*one));
                if let Some(stage) = stage {
                    return RowValue::Stage(stage);
                }
                let known = inputs.iter().position(|one| one == input);
                RowValue::Input(known.unwrap_or_else(|| {
                    inputs.push(*input);
                    inputs.len() - 1
                }))
            };
            let stage = if let Kind::Operation(Operation::Reduce(reduction)) = &node.kind {
                RowStage::Reduce {
                    argument: value(&node.inputs[0]),
                    reduction: RowReduction {
                        operation: reduction.operation,
                        correction: reduction.correction,
                        dtype: node.dtype,
                    },
                }
            } else {
                let (region, read) = region_of(graph, *id)?;
                RowStage::Steps {
                    region: Box::new(region),
                    arguments: read.iter().map(value).collect(),
                }
            };
            stages.push(stage);
        }
        let rows = FusedRows {
            inputs: inputs.len(),
            stages,
            row_rank: self.frame.row_rank,
            keeps_axes: !self.drops_axes(graph),
        };
        let is_right = inputs.len() <= MOST_INPUTS
            && self.is_whole(graph, &inputs)
            && self.are_axes_apart(graph);
        is_right.then_some((rows, inputs))
    }

    /// Whether the inputs broadcast to the shape of the rows.
    fn is_whole(&self, graph: &Graph, inputs: &[Input]) -> bool {
        let nodes = inputs.iter().filter_map(|input| input.node());
        let shapes = nodes.map(|id| graph.node(id).shape.as_slice());
        amdgpu_array::broadcast_shapes(shapes).is_some_and(|shape| shape == self.frame.shape)
    }

    /// Why the operations are faster one after the other: on CPUs by measurements, as of norms; elsewhere where no kernel folds such rows.
    fn reason(
        &self,
        graph: &Graph,
        ops: &DeviceOps,
        rows: &FusedRows,
        inputs: &[Input],
    ) -> Option<String> {
        let shape = &self.frame.shape;
        let bytes = graph.node(self.last).dtype.size_bytes() as i64;
        let row: i64 = shape[shape.len() - self.frame.row_rank..].iter().product();
        if !ops.computes_on_host() {
            let given: Vec<_> = inputs
                .iter()
                .filter_map(|input| input.node())
                .map(|id| (graph.node(id).shape.as_slice(), graph.node(id).dtype))
                .collect();
            let is_one = rows.is_one_kernel(&given);
            return (!is_one).then(|| "no kernel folds such rows as the reductions do".to_owned());
        }
        let is_between =
            |id: &NodeId| *id != self.last && graph.node(*id).shape == self.frame.shape;
        if !self.members.iter().any(is_between) {
            return Some("no value of whole rows lies between them".to_owned());
        }
        let whole = shape.iter().product::<i64>() * bytes;
        if (whole as u64) < LEAST_BYTES {
            return Some(format!("values of {whole} bytes stay in the caches"));
        }
        if !is_exact(rows) {
            return Some("functions such as exp take the time, and not the memory".to_owned());
        }
        if row < LEAST_ROW {
            return Some(format!("a row of {row} elements is short"));
        }
        (row * bytes > MOST_ROW_BYTES)
            .then(|| format!("a row of {} bytes does not stay in the caches", row * bytes))
    }
}

/// Whether all steps are rounded correctly, so that they take little but memory.
fn is_exact(rows: &FusedRows) -> bool {
    rows.stages.iter().all(|stage| match stage {
        RowStage::Steps { region, .. } => region.steps.iter().all(|step| step.operation.is_exact()),
        RowStage::Reduce { .. } => true,
    })
}
