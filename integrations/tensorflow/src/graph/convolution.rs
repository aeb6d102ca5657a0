//! Convolutions with what follows them for each channel (a bias, a batch normalisation with statistics that are kept), an addend of their shape and an
//! activation, as one node `RdnaConv2D`. Factors of channels are multiplied into the filter.

use super::matmul::activation_of;
use super::node::Node;
use super::rewrite::{Graph, Place, T};

pub const OPERATION: &str = "RdnaConv2D";

/// What follows a convolution, in this order. The attribute `parts` has these words, which say what the further inputs are.
pub mod part {
    /// An addend for each channel.
    pub const BIAS: &str = "bias";
    /// A factor and an addend for each channel.
    pub const SCALE: &str = "scale";
    /// Scale, shift, mean and variance of each channel.
    pub const NORM: &str = "norm";
    /// An addend of the shape of the result.
    pub const RESIDUAL: &str = "residual";
}

/// Replaces each, and says how many nodes were made of how many.
pub fn join(graph: &mut Graph) -> (u64, u64) {
    let (mut made, mut joined) = (0, 0);
    for root in graph.readers_first() {
        if graph.is_gone(root) {
            continue;
        }
        if let Some((node, inner)) = found(graph, root) {
            made += 1;
            joined += 1 + inner.len() as u64;
            graph.replace(root, node, &inner);
        }
    }
    (made, joined)
}

/// A convolution and what follows it.
#[derive(Clone, Default)]
struct Chain {
    convolution: Place,
    parts: Vec<&'static str>,
    inputs: Vec<String>,
    epsilon: f32,
    /// All nodes, the last of which is the convolution.
    nodes: Vec<Place>,
}

impl Chain {
    fn with(mut self, part: &'static str, inputs: Vec<String>, node: Place) -> Self {
        self.parts.push(part);
        self.inputs.extend(inputs);
        self.nodes.push(node);
        self
    }
}

fn found(graph: &mut Graph, root: Place) -> Option<(Node, Vec<Place>)> {
    let activation = activation_of(graph, root);
    let top = activation.as_ref().map_or(root, |one| one.below);
    let chain = with_residual(graph, top)?;
    if chain.parts.is_empty() && activation.is_none() {
        return None;
    }
    let of_activation = activation.iter().flat_map(|one| &one.inner);
    let inner: Vec<Place> = { chain.nodes.iter().chain(of_activation) }
        .copied()
        .filter(|place| *place != root)
        .collect();
    if !graph.may_go(root, &inner) {
        return None;
    }
    let convolution = graph.node(chain.convolution);
    let mut inputs = convolution.inputs[..2].to_vec();
    inputs.extend(chain.inputs.iter().cloned());
    let mut node = graph.node(root).replaced(OPERATION, inputs);
    for name in [
        T,
        "strides",
        "padding",
        "explicit_paddings",
        "data_format",
        "dilations",
    ] {
        node = node.with_copied(name, convolution);
    }
    node = node
        .with_int("N", chain.inputs.len() as i64)
        .with_text("parts", &chain.parts.join(" "))
        .with_float("epsilon", chain.epsilon)
        .with_text("activation", activation.map_or("", |one| one.name));
    Some((node, inner))
}

/// A chain, or the sum of one and something of its shape.
fn with_residual(graph: &mut Graph, place: Place) -> Option<Chain> {
    if let Some(chain) = chain(graph, place).or_else(|| sum_of_three(graph, place)) {
        return Some(chain);
    }
    if !is_sum(graph, place) {
        return None;
    }
    let whole = graph.shape(place)?;
    for side in 0..2 {
        let (Some(one), Some(other)) = (graph.input(place, side), graph.input(place, 1 - side))
        else {
            continue;
        };
        let has_shape = graph
            .shape(other)
            .is_some_and(|own| own == whole && !own.contains(&-1));
        let name = graph.input_name(place, 1 - side)?.to_owned();
        if has_shape
            && let Some(chain) = chain(graph, one).filter(|chain| graph.may_go(place, &chain.nodes))
        {
            return Some(chain.with(part::RESIDUAL, vec![name], place));
        }
    }
    None
}

/// Where the channels of images are.
fn layout<'g>(graph: &'g Graph, place: Place) -> &'g str {
    graph.node(place).text("data_format").unwrap_or("NHWC")
}

/// A convolution with what follows for each channel.
fn chain(graph: &mut Graph, place: Place) -> Option<Chain> {
    if graph.is(place, "Conv2D") {
        return Some(Chain {
            convolution: place,
            nodes: vec![place],
            ..Chain::default()
        });
    }
    let name = |index: usize| graph.input_name(place, index).map(str::to_owned);
    if graph.is(place, "BiasAdd") {
        let (bias, below) = (name(1)?, graph.input(place, 0)?);
        let below = chain(graph, below).filter(|below| below.parts.is_empty())?;
        let is_same = layout(graph, place) == layout(graph, below.convolution);
        return is_same.then(|| below.with(part::BIAS, vec![bias], place));
    }
    if graph.is(place, "FusedBatchNormV3") && !graph.node(place).flag("is_training") {
        let statistics = (1..5).map(name).collect::<Option<Vec<_>>>()?;
        let epsilon = graph.node(place).float("epsilon").unwrap_or_default();
        let below = graph.input(place, 0)?;
        let below = scalable(graph, below)?;
        if layout(graph, place) != layout(graph, below.convolution) {
            return None;
        }
        let mut made = below.with(part::NORM, statistics, place);
        made.epsilon = epsilon;
        return Some(made);
    }
    if graph.is(place, "AddV2") {
        return (0..2).find_map(|side| scaled(graph, place, side));
    }
    None
}

/// A chain whose channels can still be multiplied by factors: these are rounded with the filter, which is no loss where that has as many digits as sums.
fn scalable(graph: &mut Graph, place: Place) -> Option<Chain> {
    let is_wide = graph.dtype(place).is_some_and(|dtype| !dtype.is_half());
    chain(graph, place).filter(|chain| is_wide && chain.parts.iter().all(|one| *one == part::BIAS))
}

/// A chain times a factor of each channel, plus an addend of each.
fn scaled(graph: &mut Graph, sum: Place, side: usize) -> Option<Chain> {
    let product = graph.input_that_is(sum, side, "Mul")?;
    let shift = (
        graph.input(sum, 1 - side)?,
        graph.input_name(sum, 1 - side)?.to_owned(),
    );
    let mut made = product_of(graph, product, &shift)?;
    made.nodes.push(sum);
    Some(made)
}

/// A chain times a factor of each channel, to which a shift is added somewhere.
fn product_of(graph: &mut Graph, product: Place, (shift, name): &(Place, String)) -> Option<Chain> {
    for side in 0..2 {
        let (Some(below), Some(factor)) =
            (graph.input(product, side), graph.input(product, 1 - side))
        else {
            continue;
        };
        let factor_name = graph.input_name(product, 1 - side)?.to_owned();
        let Some(chain) = scalable(graph, below) else {
            continue;
        };
        let behind = if layout(graph, chain.convolution) == "NHWC" {
            0
        } else {
            2
        };
        let shape = graph.shape(chain.convolution)?;
        let channels = *shape.get(shape.len().checked_sub(1 + behind)?)?;
        if is_of_channels(graph, factor, channels, behind)
            && is_of_channels(graph, *shift, channels, behind)
        {
            return Some(chain.with(part::SCALE, vec![factor_name, name.clone()], product));
        }
    }
    None
}

/// Whether a tensor has a number for each channel, along the axis that has so many others behind it.
fn is_of_channels(graph: &mut Graph, place: Place, channels: i64, behind: usize) -> bool {
    let shape = graph.shape(place).unwrap_or_default();
    let Some(axis) = shape.len().checked_sub(1 + behind) else {
        return false;
    };
    let mut others = shape[..axis].iter().chain(&shape[axis + 1..]);
    channels > 0 && shape[axis] == channels && others.all(|extent| *extent == 1)
}

fn is_sum(graph: &Graph, place: Place) -> bool {
    graph.is(place, "AddV2") || (graph.is(place, "AddN") && graph.node(place).inputs.len() == 2)
}

/// A sum of a scaled chain, an addend of each channel and something of its shape. TensorFlow's own optimizer adds what has one shape first.
fn sum_of_three(graph: &mut Graph, sum: Place) -> Option<Chain> {
    if !is_sum(graph, sum) {
        return None;
    }
    for side in 0..2 {
        let (Some(inner), Some(shift)) = (graph.input(sum, side), graph.input(sum, 1 - side))
        else {
            continue;
        };
        if !is_sum(graph, inner) {
            continue;
        }
        let shift = (shift, graph.input_name(sum, 1 - side)?.to_owned());
        for side in 0..2 {
            let Some(product) = graph.input_that_is(inner, side, "Mul") else {
                continue;
            };
            let residual = graph.input_name(inner, 1 - side)?.to_owned();
            let other = graph.input(inner, 1 - side)?;
            let whole = graph.shape(product);
            let has_shape = whole
                .is_some_and(|whole| !whole.contains(&-1) && graph.shape(other) == Some(whole));
            if has_shape && let Some(chain) = product_of(graph, product, &shift) {
                let mut made = chain.with(part::RESIDUAL, vec![residual], inner);
                made.nodes.push(sum);
                return Some(made);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::super::rewrite::tests::{Table, nodes, shown};
    use super::*;

    #[test]
    fn a_residual_block_is_one_node() {
        let lines = [
            ("x", "Placeholder", ""),
            ("scale", "Placeholder", ""),
            ("shift", "Placeholder", ""),
            ("c", "Conv2D", "x w"),
            ("b", "BiasAdd", "c bias"),
            ("m", "Mul", "b scale"),
            ("n", "AddV2", "m shift"),
            ("r", "AddV2", "x n"),
            ("y", "Relu", "r"),
        ];
        let whole = vec![-2, 8, 8, 4];
        let mut table = Table(HashMap::from([
            ("x", whole.clone()),
            ("c", whole.clone()),
            ("r", whole),
            ("scale", vec![4]),
            ("shift", vec![4]),
        ]));
        let mut graph = Graph::new(nodes(&lines), HashSet::new(), &mut table);
        assert_eq!(join(&mut graph), (1, 6));
        let made = graph.finished();
        assert_eq!(shown(&made)[3..], ["y = RdnaConv2D x w bias scale shift x"]);
        assert_eq!(made.nodes[3].text("parts"), Some("bias scale residual"));
        assert_eq!(made.nodes[3].text("activation"), Some("relu"));
    }

    #[test]
    fn channels_may_come_before_the_places() {
        let lines = [
            ("x", "Placeholder", ""),
            ("scale", "Placeholder", ""),
            ("shift", "Placeholder", ""),
            ("c", "Conv2D", "x w"),
            ("b", "BiasAdd", "c bias"),
            ("m", "Mul", "b scale"),
            ("n", "AddV2", "m shift"),
            ("s", "Sigmoid", "n"),
            ("y", "Mul", "s n"),
        ];
        let read = |layouts: [&str; 2], width: i64| {
            let mut graph = nodes(&lines);
            for (place, layout) in [3, 4].into_iter().zip(layouts) {
                graph.nodes[place] = graph.nodes[place].clone().with_text("data_format", layout);
            }
            let mut table = Table(HashMap::from([
                ("c", vec![-2, 4, 8, width]),
                ("scale", vec![1, 4, 1, 1]),
                ("shift", vec![1, 4, 1, 1]),
            ]));
            let mut graph = Graph::new(graph, HashSet::new(), &mut table);
            join(&mut graph);
            let made = graph.finished();
            let parts = made.nodes.iter().find_map(|node| node.text("parts"));
            parts.map(str::to_owned)
        };
        assert_eq!(read(["NCHW", "NCHW"], 8).as_deref(), Some("bias scale"));
        // An addend of each column, and one of each channel that is added to columns.
        assert_eq!(read(["NHWC", "NHWC"], 4).as_deref(), Some("bias"));
        assert_eq!(read(["NCHW", "NHWC"], 8), None);
    }

    #[test]
    fn sums_in_another_order_are_known() {
        let lines = [
            ("x", "Placeholder", ""),
            ("scale", "Placeholder", ""),
            ("shift", "Placeholder", ""),
            ("c", "Conv2D", "x w"),
            ("m", "Mul", "scale c"),
            ("n", "AddN", "x m"),
            ("r", "AddV2", "shift n"),
            ("y", "Relu", "r"),
        ];
        let whole = vec![2, 8, 8, 4];
        let mut table = Table(HashMap::from([
            ("x", whole.clone()),
            ("c", whole.clone()),
            ("m", whole),
            ("scale", vec![1, 1, 1, 4]),
            ("shift", vec![1, 1, 1, 4]),
        ]));
        let mut graph = Graph::new(nodes(&lines), HashSet::new(), &mut table);
        assert_eq!(join(&mut graph), (1, 5));
        let made = graph.finished();
        assert_eq!(shown(&made)[3..], ["y = RdnaConv2D x w scale shift x"]);
        assert_eq!(made.nodes[3].text("parts"), Some("scale residual"));
    }

    #[test]
    fn a_convolution_that_others_read_stays() {
        let lines = [
            ("c", "Conv2D", "x w"),
            ("y", "Relu", "c"),
            ("z", "Neg", "c"),
        ];
        let mut table = Table::default();
        let mut graph = Graph::new(nodes(&lines), HashSet::new(), &mut table);
        assert_eq!(join(&mut graph), (0, 0));
    }
}
