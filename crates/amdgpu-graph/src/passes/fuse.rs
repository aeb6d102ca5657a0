//! Elementwise operations that one kernel computes.
//!
//! A chain grows from its last operation towards its inputs: an operation joins when all its readers are in the chain already, it has the
//! shape of the result (or is cheap to compute again for every element, having no more elements), all steps are computed in one dtype, and the
//! kernel takes as many inputs.

use amdgpu_ops::fused::{MOST_INPUTS, Region, Source, Step};
use amdgpu_ops::{Named, Operation};
use smallvec::SmallVec;

use crate::passes::Report;
use crate::{Graph, Input, Kind, Node, NodeId};

/// Joins elementwise operations into fused nodes.
pub fn fuse_elementwise(graph: &mut Graph, report: &mut Report) {
    let counts = graph.use_counts();
    let mut is_taken = vec![false; graph.nodes().len()];
    let ids: Vec<NodeId> = graph.ids().rev().collect();
    for last in ids {
        if is_taken[last.index()] || step_of(graph.node(last)).is_none() {
            continue;
        }
        let chain = Chain::grown(graph, last, &counts, &is_taken);
        if chain.members.len() < 2 {
            continue;
        }
        let Some((region, inputs)) = chain.region(graph) else {
            continue;
        };
        report.fused += chain.members.len();
        report.notes.push(format!(
            "{} operations are one kernel, {last}: {}",
            chain.members.len(),
            region.name().replace('_', ", ")
        ));
        for member in &chain.members {
            is_taken[member.index()] = true;
        }
        let node = graph.node_mut(last);
        node.kind = Kind::Fused(region);
        node.inputs = inputs;
    }
}

/// The operation of a node that can be a step.
fn step_of(node: &Node) -> Option<(amdgpu_ops::Elementwise, f64)> {
    match &node.kind {
        Kind::Operation(Operation::Elementwise {
            operation: Named::Any(operation),
            alpha,
        }) => Some((*operation, *alpha)),
        _ => None,
    }
}

struct Chain {
    /// In the order of the graph.
    members: Vec<NodeId>,
    last: NodeId,
}

impl Chain {
    fn grown(graph: &Graph, last: NodeId, counts: &[usize], is_taken: &[bool]) -> Self {
        let mut chain = Self {
            members: vec![last],
            last,
        };
        loop {
            let found = chain.candidates(graph).into_iter().find(|candidate| {
                !is_taken[candidate.index()] && chain.takes(graph, *candidate, counts)
            });
            let Some(found) = found else {
                return chain;
            };
            chain.members.push(found);
            chain.members.sort_unstable();
        }
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
        let node = graph.node(candidate);
        let inside = self
            .members
            .iter()
            .flat_map(|id| graph.node(*id).reads())
            .filter(|read| *read == candidate)
            .count();
        if step_of(node).is_none()
            || counts[candidate.index()] != inside
            || node.shape != graph.node(self.last).shape
        {
            return false;
        }
        let mut members = self.members.clone();
        members.push(candidate);
        members.sort_unstable();
        let larger = Self {
            members,
            last: self.last,
        };
        larger.region(graph).is_some()
    }

    /// The region and what it reads; `None` where no kernel computes it.
    fn region(&self, graph: &Graph) -> Option<(Region, SmallVec<[Input; 4]>)> {
        let mut inputs: SmallVec<[Input; 4]> = SmallVec::new();
        let mut dtypes = SmallVec::new();
        let mut steps: Vec<Step> = Vec::new();
        for id in &self.members {
            let node = graph.node(*id);
            let (operation, alpha) = step_of(node)?;
            let mut arguments = SmallVec::new();
            for input in &node.inputs {
                arguments.push(match input {
                    Input::Number(number, dtype) => Source::Number(*number, *dtype),
                    Input::Node(read) => {
                        if let Some(step) = self.members.iter().position(|member| member == read) {
                            Source::Step(step)
                        } else {
                            let known = inputs.iter().position(|one| one == input);
                            let place = known.unwrap_or_else(|| {
                                inputs.push(*input);
                                dtypes.push(graph.node(*read).dtype);
                                inputs.len() - 1
                            });
                            Source::Input(place)
                        }
                    }
                });
            }
            steps.push(Step {
                operation,
                alpha,
                arguments,
                dtype: node.dtype,
            });
        }
        if inputs.len() > MOST_INPUTS || inputs.is_empty() {
            return None;
        }
        let region = Region::new(dtypes, steps);
        region.is_computable().then_some((region, inputs))
    }
}
