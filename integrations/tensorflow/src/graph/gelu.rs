//! The Gaussian error linear unit as `tf.nn.gelu` writes it: 0.5 x erfc(-x / sqrt(2)).

use super::elementwise::single;
use super::node::Node;
use super::rewrite::{Graph, Place};
use crate::dtype::Dtype;

/// Replaces each, and says how many nodes were made of how many.
pub fn join(graph: &mut Graph) -> (u64, u64) {
    let (mut made, mut joined) = (0, 0);
    for root in 0..graph.len() {
        if let Some((node, inner)) = found(graph, root) {
            joined += 1 + inner.len() as u64;
            made += 1;
            graph.replace(root, node, &inner);
        }
    }
    (made, joined)
}

/// Whether a factor of the formula is a constant that its dtype rounds. TensorFlow rounds those of float64 to float32 first, which is another function.
fn is_rounded(value: f64, wanted: f64, dtype: Dtype) -> bool {
    let relative = match dtype {
        Dtype::F16 => f64::from(f32::EPSILON) * 8192.0,
        Dtype::BF16 => f64::from(f32::EPSILON) * 65536.0,
        Dtype::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    };
    (value - wanted).abs() <= relative * wanted.abs()
}

fn found(graph: &Graph, root: Place) -> Option<(Node, Vec<Place>)> {
    if graph.is_gone(root) || !graph.is(root, "Mul") {
        return None;
    }
    // TensorFlow's own optimizer may multiply the three factors in another order.
    let below = (0..2).filter_map(|side| Some((graph.input_that_is(root, side, "Mul")?, 1 - side)));
    below.into_iter().find_map(|(product, other)| {
        let factors = [(product, 0), (product, 1), (root, other)];
        of_factors(graph, root, product, factors)
    })
}

/// The unit of a product of three factors, each an input of a node, one of which is below the root.
fn of_factors(
    graph: &Graph,
    root: Place,
    product: Place,
    factors: [(Place, usize); 3],
) -> Option<(Node, Vec<Place>)> {
    let tail = factors
        .iter()
        .find_map(|(place, index)| graph.input_that_is(*place, *index, "Erfc"))?;
    let number = |(place, index): &(Place, usize)| graph.constant(*place, *index)?.scalar();
    let half = factors.iter().find_map(number)?;
    let mut names = factors.iter().filter(|(place, index)| {
        graph.input(*place, *index) != Some(tail) && number(&(*place, *index)).is_none()
    });
    let (place, index) = names.next()?;
    let x = graph.input_name(*place, *index)?;
    let (argument, mut inner) = scaled_argument(graph, tail, x)?;
    inner.extend([tail, product]);
    let dtype = graph.dtype(root)?;
    let is_gelu = is_rounded(half, 0.5, dtype)
        && is_rounded(argument, -std::f64::consts::FRAC_1_SQRT_2, dtype);
    if !is_gelu || names.next().is_some() || !graph.may_go(root, &inner) {
        return None;
    }
    let node = single(graph.node(root), x, "gelu", dtype)?;
    Some((node, inner))
}

/// The factor of x in the argument of a node: of c x, c (-x), (-x) c or -(c x); and the nodes that compute it.
fn scaled_argument(graph: &Graph, place: Place, x: &str) -> Option<(f64, Vec<Place>)> {
    if let Some(negated) = graph.input_that_is(place, 0, "Neg") {
        let scaled = graph.input_that_is(negated, 0, "Mul")?;
        let (factor, of) = graph.scalar_operand(scaled)?;
        let is_x = graph.input_name(scaled, of)? == x;
        return is_x.then_some((-factor, vec![negated, scaled]));
    }
    let scaled = graph.input_that_is(place, 0, "Mul")?;
    let (factor, of) = graph.scalar_operand(scaled)?;
    if graph.input_name(scaled, of)? == x {
        return Some((factor, vec![scaled]));
    }
    let negated = graph.input_that_is(scaled, of, "Neg")?;
    let is_x = graph.input_name(negated, 0)? == x;
    is_x.then_some((-factor, vec![scaled, negated]))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::node::GraphDef;
    use super::super::rewrite::T;
    use super::super::rewrite::tests::{DEVICE, Table, nodes, shown};
    use super::*;

    fn unit(lines: &[(&str, &str, &str)], half: f32) -> GraphDef {
        let mut graph = nodes(lines);
        for (name, value) in [("half", half), ("root", 0.707_106_77)] {
            let node = Node::new(name, "Const", Vec::new(), DEVICE).with_type(T, Dtype::F32);
            graph.nodes.push(node.with_scalar("value", value));
        }
        graph
    }

    const LINES: &[(&str, &str, &str)] = &[
        ("n", "Neg", "x"),
        ("s", "Mul", "n root"),
        ("e", "Erfc", "s"),
        ("h", "Mul", "half x"),
        ("y", "Mul", "h e"),
    ];
    const REWRITTEN: &[(&str, &str, &str)] = &[
        ("n", "Neg", "x"),
        ("s", "Mul", "root n"),
        ("e", "Erfc", "s"),
        ("h", "Mul", "half e"),
        ("y", "Mul", "h x"),
    ];

    #[test]
    fn both_orders_of_the_factors_are_known() {
        for lines in [LINES, REWRITTEN] {
            let mut table = Table::default();
            let mut graph = Graph::new(unit(lines, 0.5), HashSet::new(), &mut table);
            assert_eq!(join(&mut graph), (1, 5));
            assert_eq!(shown(&graph.finished())[0], "y = RdnaElementwise x");
        }
    }

    #[test]
    fn another_factor_is_another_function() {
        let mut table = Table::default();
        let mut graph = Graph::new(unit(LINES, 0.25), HashSet::new(), &mut table);
        assert_eq!(join(&mut graph), (0, 0));
    }
}
