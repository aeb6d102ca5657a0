//! Softmax and norms take up the elementwise steps around them: rows are computed some at a time, so that what lies between the steps and the
//! normalisation stays in the caches. The bits are those of the operations one by one.

use amdgpu_abi::promotion::is_float;
use amdgpu_ops::fused::{Region, Source, Step};
use amdgpu_ops::operation::Normalization;
use amdgpu_ops::{DeviceOps, Named, Operation, RowChain};
use smallvec::SmallVec;

use crate::passes::Report;
use crate::{Graph, Input, Kind, Node, NodeId};

/// Rows of more bytes do not stay in a core's second cache with what is computed from them.
pub(super) const MOST_ROW_BYTES: i64 = 128 << 10;
/// Of values that do not stay in the caches between the operations; smaller ones take up to 1.3 times as long by rows, these 0.6 to 1.0 times.
const LEAST_BYTES: u64 = 8 << 20;

/// Joins normalisations with the steps before and after them, on devices that compute where arrays of the host lie.
pub fn fuse_rows(graph: &mut Graph, ops: &DeviceOps, report: &mut Report) {
    if !ops.computes_on_host() {
        return;
    }
    let counts = graph.use_counts();
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let Some(norm) = norm_of(graph.node(id)) else {
            continue;
        };
        let Some(found) = Found::of(graph, id, norm.clone(), &counts) else {
            continue;
        };
        match found.reason(graph, id) {
            None => found.replace(graph, report),
            Some(reason) => report.notes.push(format!(
                "{id} ({}) is computed apart from what surrounds it: {reason}",
                norm.operation.name()
            )),
        }
    }
}

/// A normalisation of floats over the last axes.
fn norm_of(node: &Node) -> Option<&Normalization> {
    let Kind::Operation(Operation::Normalize(norm)) = &node.kind else {
        return None;
    };
    let rank = node.shape.len() as i64;
    let first = rank - norm.axes.len() as i64;
    let mut axes: Vec<i64> = norm
        .axes
        .iter()
        .map(|axis| if *axis < 0 { axis + rank } else { *axis })
        .collect();
    axes.sort_unstable();
    let are_last = norm.are_last || axes.into_iter().eq(first..rank);
    (are_last && is_float(node.dtype) && !node.is_empty()).then_some(norm)
}

/// The steps of a node, and what they read.
pub(super) fn region_of(graph: &Graph, id: NodeId) -> Option<(Region, SmallVec<[Input; 4]>)> {
    let node = graph.node(id);
    match &node.kind {
        Kind::Fused(region) => Some((region.clone(), node.inputs.clone())),
        Kind::Operation(Operation::Elementwise {
            operation: Named::Any(operation),
            alpha,
        }) => {
            let mut inputs: SmallVec<[Input; 4]> = SmallVec::new();
            let mut dtypes = SmallVec::new();
            let mut arguments = SmallVec::new();
            for input in &node.inputs {
                arguments.push(match input {
                    Input::Number(number, dtype) => Source::Number(*number, *dtype),
                    Input::Node(read) => {
                        let known = inputs.iter().position(|one| one == input);
                        Source::Input(known.unwrap_or_else(|| {
                            inputs.push(*input);
                            dtypes.push(graph.node(*read).dtype);
                            inputs.len() - 1
                        }))
                    }
                });
            }
            let step = Step {
                operation: *operation,
                alpha: *alpha,
                arguments,
                dtype: node.dtype,
            };
            (!inputs.is_empty()).then(|| (Region::new(dtypes, vec![step]), inputs))
        }
        _ => None,
    }
}

/// A normalisation with what surrounds it.
struct Found {
    chain: RowChain,
    inputs: SmallVec<[Input; 4]>,
    /// What is normalised, where steps give it.
    before: Option<NodeId>,
    /// Where the result stands.
    last: NodeId,
}

impl Found {
    fn of(graph: &Graph, id: NodeId, norm: Normalization, counts: &[usize]) -> Option<Self> {
        let node = graph.node(id);
        let x = node.inputs[0].node()?;
        if graph.node(x).dtype != node.dtype {
            return None;
        }
        let mut before = region_of(graph, x).filter(|_| graph.node(x).shape == node.shape);
        let mut keeps_before = before.is_some() && counts[x.index()] > 1;
        let after = only_reader(graph, id, counts).and_then(|last| {
            let (region, inputs) = region_of(graph, last)?;
            let (region, inputs) = with_first(region, &inputs, Input::Node(id))?;
            (graph.node(last).shape == node.shape).then_some((last, region, inputs))
        });
        let parameters = &node.inputs[1..];
        let following = after
            .as_ref()
            .map_or(&[][..], |(_, _, inputs)| &inputs[1..]);
        let others = || {
            parameters
                .iter()
                .chain(following)
                .filter_map(|input| input.node())
        };
        // What follows from the kept value cannot be there before it.
        if keeps_before && others().any(|other| depends(graph, other, x)) {
            (before, keeps_before) = (None, false);
        }
        if before.is_none() && after.is_none() {
            return None;
        }
        let mut inputs: SmallVec<[Input; 4]> = SmallVec::new();
        match &before {
            Some((_, own)) => inputs.extend_from_slice(own),
            None => inputs.push(node.inputs[0]),
        }
        inputs.extend_from_slice(parameters);
        inputs.extend_from_slice(following);
        let last = after.as_ref().map_or(id, |(last, _, _)| *last);
        Some(Self {
            before: before.as_ref().map(|_| x),
            chain: RowChain {
                before: before.map(|(region, _)| region),
                norm,
                parameters: parameters.len(),
                after: after.map(|(_, region, _)| region),
                keeps_before,
            },
            inputs,
            last,
        })
    }

    /// Why the parts are faster one after the other, by measurements on an AMD EPYC with caches of 1 and 32 MiB.
    fn reason(&self, graph: &Graph, id: NodeId) -> Option<String> {
        let node = graph.node(id);
        let row = &node.shape[node.shape.len() - self.chain.norm.axes.len()..];
        let row_bytes = row.iter().product::<i64>() * node.dtype.size_bytes() as i64;
        if self.chain.after.is_none() {
            return Some("of steps before it alone nothing is gained".to_owned());
        }
        if node.bytes() < LEAST_BYTES {
            return Some(format!(
                "values of {} bytes stay in the caches",
                node.bytes()
            ));
        }
        (row_bytes > MOST_ROW_BYTES)
            .then(|| format!("a row of {row_bytes} bytes does not stay in the caches"))
    }

    fn replace(self, graph: &mut Graph, report: &mut Report) {
        let steps = self.chain.steps().join(", ");
        let keeps_before = self.chain.keeps_before;
        report.fused += self.chain.steps().len();
        let kept = if keeps_before {
            "; what is normalised is kept for its other readers"
        } else {
            ""
        };
        report.notes.push(format!(
            "{}: {steps} are computed for some rows at a time{kept}",
            self.last
        ));
        let node = graph.node_mut(self.last);
        node.kind = Kind::Rows(Box::new(self.chain));
        node.inputs = self.inputs;
        if let Some(before) = self.before.filter(|_| keeps_before) {
            let node = graph.node_mut(before);
            node.kind = Kind::Result(1);
            node.inputs = SmallVec::from_slice(&[Input::Node(self.last)]);
        }
    }
}

/// The node that alone reads a value, if no output is it.
fn only_reader(graph: &Graph, id: NodeId, counts: &[usize]) -> Option<NodeId> {
    if graph.outputs().contains(&id) {
        return None;
    }
    let mut readers = graph
        .ids()
        .filter(|reader| graph.node(*reader).reads().any(|read| read == id));
    let (first, second) = (readers.next()?, readers.next());
    (second.is_none() && counts[id.index()] > 0).then_some(first)
}

/// The steps with their inputs in another order: that one first.
fn with_first(
    region: Region,
    inputs: &[Input],
    first: Input,
) -> Option<(Region, SmallVec<[Input; 4]>)> {
    let place = inputs.iter().position(|input| *input == first)?;
    let moved = |index: usize| match index.cmp(&place) {
        std::cmp::Ordering::Less => index + 1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => index,
    };
    let (mut dtypes, mut ordered) = (region.inputs.clone(), SmallVec::from_slice(inputs));
    for (index, input) in inputs.iter().enumerate() {
        dtypes[moved(index)] = region.inputs[index];
        ordered[moved(index)] = *input;
    }
    let mut steps = region.steps;
    for step in &mut steps {
        for source in &mut step.arguments {
            if let Source::Input(index) = source {
                *index = moved(*index);
            }
        }
    }
    Some((Region::new(dtypes, steps), ordered))
}

/// Whether a value follows from another one, or is it.
fn depends(graph: &Graph, value: NodeId, of: NodeId) -> bool {
    let mut seen = vec![false; graph.nodes().len()];
    let mut open = vec![value];
    while let Some(id) = open.pop() {
        if id == of {
            return true;
        }
        if !std::mem::replace(&mut seen[id.index()], true) {
            open.extend(graph.node(id).reads());
        }
    }
    false
}
