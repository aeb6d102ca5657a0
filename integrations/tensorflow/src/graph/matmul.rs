//! Matrix products with what is added to each row and an activation behind them, as one node `RdnaMatMul`.

use super::elementwise;
use super::node::Node;
use super::rewrite::{Graph, Place, T};

pub const OPERATION: &str = "RdnaMatMul";

/// Activations that `agpu_ops_matmul_at` computes, by TensorFlow's operations.
const ACTIVATIONS: &[(&str, &str)] = &[
    ("Relu", "relu"),
    ("Tanh", "tanh"),
    ("Sigmoid", "sigmoid"),
    ("Elu", "elu"),
    ("Softplus", "softplus"),
];

/// An activation behind something, and the nodes that compute it but the last.
pub struct Activation {
    pub name: &'static str,
    pub below: Place,
    pub inner: Vec<Place>,
}

/// The activation whose last node is at a place.
pub fn activation_of(graph: &Graph, place: Place) -> Option<Activation> {
    let node = graph.node(place);
    let one_node = |name| {
        Some(Activation {
            name,
            below: graph.input(place, 0)?,
            inner: Vec::new(),
        })
    };
    if node.operation == elementwise::OPERATION {
        let is_gelu = node
            .text("steps")
            .is_some_and(|steps| steps.starts_with("gelu(") && !steps.contains(';'));
        return is_gelu.then(|| one_node("gelu"))?;
    }
    if graph.is(place, "Mul") {
        return (0..2).find_map(|side| {
            let sigmoid = graph.input_that_is(place, side, "Sigmoid")?;
            let below = graph.input(place, 1 - side)?;
            (graph.input(sigmoid, 0) == Some(below)).then(|| Activation {
                name: "silu",
                below,
                inner: vec![sigmoid],
            })
        });
    }
    let found = ACTIVATIONS.iter().find(|(own, _)| graph.is(place, own));
    found.and_then(|(_, activation)| one_node(activation))
}

/// Replaces each, and says how many nodes were made of how many.
pub fn join(graph: &mut Graph) -> (u64, u64) {
    let (mut made, mut joined) = (0, 0);
    for root in graph.readers_first() {
        if graph.is_gone(root) {
            continue;
        }
        if let Some(found) = found(graph, root) {
            made += 1;
            joined += 1 + found.inner.len() as u64;
            write(graph, root, &found);
        }
    }
    (made, joined)
}

struct Found {
    product: Place,
    reshape: Option<Place>,
    bias: String,
    activation: &'static str,
    inner: Vec<Place>,
}

fn found(graph: &mut Graph, root: Place) -> Option<Found> {
    let (mut place, mut activation, mut inner) = (root, "", Vec::new());
    if let Some(own) = activation_of(graph, root) {
        (activation, place, inner) = (own.name, own.below, own.inner);
        inner.push(place);
    }
    let side = added_to(graph, place)?;
    let mut below = graph.input(place, side)?;
    inner.push(below);
    let mut reshape = None;
    if graph.is(below, "Reshape") {
        reshape = Some(below);
        below = graph.input(below, 0)?;
        inner.push(below);
    }
    if !graph.is(below, "MatMul") && !graph.is(below, "BatchMatMulV2") {
        return None;
    }
    let bias = graph.input_name(place, 1 - side)?.to_owned();
    let is_by_rows = adds_to_rows(graph, place, side, below, reshape.is_some());
    (is_by_rows && graph.may_go(root, &inner)).then_some(Found {
        product: below,
        reshape,
        bias,
        activation,
        inner,
    })
}

/// The input of a sum that may be a product.
fn added_to(graph: &Graph, place: Place) -> Option<usize> {
    if graph.is(place, "BiasAdd") {
        return graph
            .node(place)
            .text("data_format")
            .is_none_or(|layout| layout == "NHWC")
            .then_some(0);
    }
    if !graph.is(place, "AddV2") {
        return None;
    }
    (0..2).find(|side| {
        let found = graph.input(place, *side);
        found.is_some_and(|found| {
            ["Reshape", "MatMul", "BatchMatMulV2"]
                .iter()
                .any(|one| graph.is(found, one))
        })
    })
}

/// Whether the same is added to each row of a product: the addend has the last axes of the sum, which have the elements of a row.
fn adds_to_rows(
    graph: &mut Graph,
    place: Place,
    side: usize,
    product: Place,
    is_reshaped: bool,
) -> bool {
    if graph.is(place, "BiasAdd") && !is_reshaped {
        return true;
    }
    let Some(bias) = graph.input(place, 1 - side) else {
        return false;
    };
    let (Some(row), Some(own), Some(sum)) =
        (graph.shape(product), graph.shape(bias), graph.shape(place))
    else {
        return false;
    };
    let first = own
        .iter()
        .position(|extent| *extent != 1)
        .unwrap_or(own.len());
    let own = &own[first..];
    let count: i64 = own.iter().product();
    !own.is_empty()
        && own.iter().all(|extent| *extent > 0)
        && row.last() == Some(&count)
        && sum.ends_with(own)
}

fn write(graph: &mut Graph, root: Place, found: &Found) {
    let product = graph.node(found.product);
    let inputs = vec![
        product.inputs[0].clone(),
        product.inputs[1].clone(),
        found.bias.clone(),
    ];
    let [first, second] = if product.operation == "MatMul" {
        ["transpose_a", "transpose_b"]
    } else {
        ["adj_x", "adj_y"]
    };
    let flags = [product.flag(first), product.flag(second)];
    let described = |node: Node| {
        node.with_copied(T, product)
            .with_flag("transpose_a", flags[0])
            .with_flag("transpose_b", flags[1])
            .with_text("activation", found.activation)
    };
    let Some(reshape) = found.reshape else {
        let node = described(graph.node(root).replaced(OPERATION, inputs));
        graph.replace(root, node, &found.inner);
        return;
    };
    // The sum of a row and the activation come before the other shape, which keeps rows together.
    let name = graph.free_name(root);
    let mut made = described(Node::new(
        &name,
        OPERATION,
        inputs,
        &graph.node(root).device,
    ));
    made.inputs.extend(graph.orders(root, &found.inner));
    let given = graph.node(reshape);
    let shape = given.inputs[1].clone();
    let last = graph.node(root).replaced("Reshape", vec![name, shape]);
    let last = last.with_copied(T, given).with_copied("Tshape", given);
    graph.add(made);
    graph.replace(root, last, &found.inner);
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::super::rewrite::tests::{Table, nodes, shown};
    use super::*;

    fn joined(
        lines: &[(&str, &str, &str)],
        kept: &[&str],
        shapes: &[(&'static str, &[i64])],
    ) -> Vec<String> {
        let known = shapes.iter().map(|(name, shape)| (*name, shape.to_vec()));
        let mut table = Table(known.collect::<HashMap<_, _>>());
        let kept: HashSet<String> = kept.iter().map(|name| (*name).to_owned()).collect();
        let mut graph = Graph::new(nodes(lines), kept, &mut table);
        join(&mut graph);
        shown(&graph.finished())
    }

    const LAYER: &[(&str, &str, &str)] = &[
        ("p", "MatMul", "x w"),
        ("s", "BiasAdd", "p b"),
        ("y", "Relu", "s"),
    ];

    #[test]
    fn a_dense_layer_is_one_node() {
        assert_eq!(joined(LAYER, &[], &[]), ["y = RdnaMatMul x w b"]);
    }

    #[test]
    fn an_activation_of_two_nodes_goes_with_the_product() {
        let lines = [
            ("p", "MatMul", "x w"),
            ("s", "BiasAdd", "p b"),
            ("g", "Sigmoid", "s"),
            ("y", "Mul", "s g"),
        ];
        assert_eq!(joined(&lines, &[], &[]), ["y = RdnaMatMul x w b"]);
        let wanted = ["s = RdnaMatMul x w b", "g = Sigmoid s", "y = Mul s g"];
        assert_eq!(joined(&lines, &["g"], &[]), wanted);
    }

    #[test]
    fn a_sum_that_is_asked_for_ends_the_node() {
        let wanted = ["s = RdnaMatMul x w b", "y = Relu s"];
        assert_eq!(joined(LAYER, &["s"], &[]), wanted);
        assert_eq!(joined(LAYER, &["p"], &[]).len(), 3);
    }

    #[test]
    fn another_shape_comes_behind_the_sum_where_it_keeps_rows() {
        let lines = [
            ("b", "Placeholder", ""),
            ("p", "MatMul", "x w"),
            ("r", "Reshape", "p shape"),
            ("s", "AddV2", "r b"),
        ];
        let shapes: &[(&'static str, &[i64])] = &[
            ("p", &[10, 8]),
            ("r", &[2, 5, 2, 4]),
            ("s", &[2, 5, 2, 4]),
            ("b", &[2, 4]),
        ];
        let wanted = [
            "b = Placeholder ",
            "s = Reshape s/rdna shape",
            "s/rdna = RdnaMatMul x w b",
        ];
        assert_eq!(joined(&lines, &[], shapes), wanted);
        let shapes: &[(&'static str, &[i64])] = &[
            ("p", &[10, 8]),
            ("r", &[2, 5, 2, 4]),
            ("s", &[2, 5, 2, 4]),
            ("b", &[4]),
        ];
        assert_eq!(joined(&lines, &[], shapes).len(), 4);
    }
}
