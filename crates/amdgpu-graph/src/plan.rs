//! Where the values of a graph lie: memory is shared by values whose lives do not overlap.
//!
//! Values get their places in the order of their computation: each the smallest gap among the values that live at that time, as in
//! "Efficient Memory Management for Deep Neural Net Inference" (Pisarchyk & Lee, 2020), greedy by size.

use amdgpu_ops::Operation;

use crate::{Graph, Kind, Node, NodeId};

/// Memory begins at multiples of so many bytes: a line of the cache, and what vector loads ask for.
const ALIGNMENT: u64 = 256;

/// Where a value lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The argument of that position.
    Input(usize),
    /// An array that the graph holds.
    Constant,
    /// In the memory of another node's value.
    Within(NodeId),
    /// In the shared memory, from that byte on.
    Shared(u64),
    /// In a new array, which is given away as the output of that position, or holds it.
    Output(usize),
    /// Nobody reads it.
    Nowhere,
}

/// The places of all values of a graph.
#[derive(Clone, Debug)]
pub struct Plan {
    pub places: Vec<Place>,
    /// Of the shared memory.
    pub bytes: u64,
    /// What the values in it would take if none shared memory with another.
    pub unshared_bytes: u64,
}

/// Memory that holds a value, or values one after the other that are computed in place.
struct Life {
    bytes: u64,
    first: usize,
    last: usize,
}

impl Plan {
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let roots = roots(graph);
        let count = graph.nodes().len();
        let mut last_use = vec![0; count];
        let mut is_read = vec![false; count];
        for (place, node) in graph.nodes().iter().enumerate() {
            for read in node.reads() {
                let root = roots[read.index()];
                last_use[root] = place;
                is_read[root] = true;
            }
        }
        let mut places: Vec<Place> = graph.ids().map(|id| start(graph, &roots, id)).collect();
        for (position, output) in graph.outputs().iter().enumerate() {
            let root = roots[output.index()];
            if graph.nodes()[root].is_written() && !matches!(places[root], Place::Output(_)) {
                places[root] = Place::Output(position);
            }
        }
        let mut lives: Vec<Life> = Vec::new();
        // For each node with a place in the shared memory, its position among the lives.
        let mut life_of: Vec<Option<usize>> = vec![None; count];
        let mut unshared_bytes = 0;
        for (place, node) in graph.nodes().iter().enumerate() {
            if places[place] != Place::Nowhere {
                continue;
            }
            // A value that nobody reads is computed all the same, somewhere.
            let last = if is_read[place] {
                last_use[place]
            } else {
                place
            };
            let bytes = node.bytes().next_multiple_of(ALIGNMENT).max(ALIGNMENT);
            unshared_bytes += bytes;
            let replaced = replaced_input(graph, &roots, NodeId(place as u32))
                .filter(|read| last_use[read.index()] == place)
                .and_then(|read| life_of[read.index()]);
            if let Some(life) = replaced {
                lives[life].last = last;
                life_of[place] = Some(life);
                continue;
            }
            // Results are written together, when the operation runs.
            let first = match (&node.kind, node.reads().next()) {
                (Kind::Result(_), Some(operation)) => operation.index(),
                _ => place,
            };
            life_of[place] = Some(lives.len());
            lives.push(Life { bytes, first, last });
        }
        let (offsets, bytes) = pack(&lives);
        for (place, life) in places.iter_mut().zip(&life_of) {
            if let Some(life) = life {
                *place = Place::Shared(offsets[*life]);
            }
        }
        Self {
            places,
            bytes,
            unshared_bytes,
        }
    }
}

/// The input whose memory an elementwise result may take: each element depends on the one in its place alone.
fn replaced_input(graph: &Graph, roots: &[usize], id: NodeId) -> Option<NodeId> {
    let node = graph.node(id);
    let is_elementwise = matches!(
        node.kind,
        Kind::Fused(_) | Kind::Operation(Operation::Elementwise { .. })
    );
    let fits = |read: &NodeId| {
        let input = graph.node(*read);
        let is_seen_otherwise =
            |other: NodeId| other != *read && roots[other.index()] == read.index();
        input.is_written()
            && input.shape == node.shape
            && input.dtype == node.dtype
            && !node.reads().any(is_seen_otherwise)
    };
    is_elementwise.then(|| node.reads().find(fits)).flatten()
}

/// For each node, the one whose memory its value lies in.
fn roots(graph: &Graph) -> Vec<usize> {
    let mut roots: Vec<usize> = Vec::with_capacity(graph.nodes().len());
    for (place, node) in graph.nodes().iter().enumerate() {
        let of = match &node.kind {
            Kind::View(_) => node.reads().next().map_or(place, |of| roots[of.index()]),
            Kind::Result(index) => first_result(graph, node, *index).unwrap_or(place),
            _ => place,
        };
        roots.push(of);
    }
    roots
}

/// The first node that stands for a result.
fn first_result(graph: &Graph, node: &Node, index: usize) -> Option<usize> {
    let operation = node.reads().next()?;
    let is_same = |other: &Node| {
        matches!(&other.kind, Kind::Result(own) if *own == index)
            && other.reads().next() == Some(operation)
    };
    let behind = &graph.nodes()[operation.index()..];
    Some(operation.index() + behind.iter().position(is_same)?)
}

fn start(graph: &Graph, roots: &[usize], id: NodeId) -> Place {
    match &graph.node(id).kind {
        Kind::Input(position) => Place::Input(*position),
        Kind::Constant(_) => Place::Constant,
        Kind::View(_) => Place::Within(NodeId(roots[id.index()] as u32)),
        Kind::Result(_) if roots[id.index()] != id.index() => {
            Place::Within(NodeId(roots[id.index()] as u32))
        }
        _ => Place::Nowhere,
    }
}

/// Offsets for values, and the end of the last. The largest come first: they find the fewest gaps.
fn pack(lives: &[Life]) -> (Vec<u64>, u64) {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(lives[*index].bytes));
    let mut offsets = vec![0; lives.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut end = 0;
    for index in order {
        let life = &lives[index];
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|other| lives[**other].first <= life.last && life.first <= lives[**other].last)
            .map(|other| (offsets[*other], offsets[*other] + lives[*other].bytes))
            .collect();
        taken.sort_unstable();
        let mut best: Option<(u64, u64)> = None;
        let mut at = 0;
        for (from, to) in taken {
            if from >= at + life.bytes && best.is_none_or(|(gap, _)| from - at < gap) {
                best = Some((from - at, at));
            }
            at = at.max(to);
        }
        offsets[index] = best.map_or(at, |(_, offset)| offset);
        end = end.max(offsets[index] + life.bytes);
        placed.push(index);
    }
    (offsets, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lives_that_overlap_share_no_byte(
            sizes in prop::collection::vec((1_u64..50, 0_usize..40, 0_usize..12), 1..60),
        ) {
            let lives: Vec<Life> = sizes
                .iter()
                .map(|(bytes, first, length)| Life {
                    bytes: bytes * ALIGNMENT,
                    first: *first,
                    last: first + length,
                })
                .collect();
            let (offsets, end) = pack(&lives);
            for (a, (one, at)) in lives.iter().zip(&offsets).enumerate() {
                prop_assert!(at + one.bytes <= end);
                for (other, its) in lives.iter().zip(&offsets).skip(a + 1) {
                    let meet = one.first <= other.last && other.first <= one.last;
                    let share = at < &(its + other.bytes) && its < &(at + one.bytes);
                    prop_assert!(!(meet && share));
                }
            }
            let together = (0..64)
                .map(|time| lives.iter().filter(|life| life.first <= time && time <= life.last).map(|life| life.bytes).sum::<u64>())
                .max();
            prop_assert!(Some(end) >= together);
        }
    }
}
