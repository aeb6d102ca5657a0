//! The Gaussian error linear unit as `tf.nn.gelu` writes it: 0.5 x erfc(-x / sqrt(2)), in TensorFlow 2.18 0.5 x (1 + erf(x / sqrt(2))), and its
//! approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).

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
    let tail = factors.iter().find_map(|(place, index)| {
        ["Erfc", "AddV2"]
            .iter()
            .find_map(|one| graph.input_that_is(*place, *index, one))
    })?;
    let number = |(place, index): &(Place, usize)| graph.constant(*place, *index)?.scalar();
    let half = factors.iter().find_map(number)?;
    let mut names = factors.iter().filter(|(place, index)| {
        graph.input(*place, *index) != Some(tail) && number(&(*place, *index)).is_none()
    });
    let (place, index) = names.next()?;
    let x = graph.input_name(*place, *index)?;
    let dtype = graph.dtype(root)?;
    let (step, mut inner) = if graph.is(tail, "Erfc") {
        let (argument, inner) = scaled_argument(graph, tail, x)?;
        is_rounded(argument, -std::f64::consts::FRAC_1_SQRT_2, dtype).then_some(("gelu", inner))?
    } else {
        one_and_odd(graph, tail, x, dtype)?
    };
    inner.extend([tail, product]);
    let is_gelu = is_rounded(half, 0.5, dtype) && names.next().is_none();
    if !is_gelu || !graph.may_go(root, &inner) {
        return None;
    }
    let node = single(graph.node(root), x, step, dtype)?;
    Some((node, inner))
}

/// The function with 1 + erf(x / sqrt(2)) or 1 + tanh(...), and the nodes below this sum.
fn one_and_odd(
    graph: &Graph,
    sum: Place,
    x: &str,
    dtype: Dtype,
) -> Option<(&'static str, Vec<Place>)> {
    let (one, other) = graph.scalar_operand(sum)?;
    if !is_rounded(one, 1.0, dtype) {
        return None;
    }
    if let Some(erf) = graph.input_that_is(sum, other, "Erf") {
        let mut inner = over_root_of_two(graph, erf, x, dtype)?;
        inner.push(erf);
        return Some(("gelu", inner));
    }
    let tanh = graph.input_that_is(sum, other, "Tanh")?;
    let mut inner = cubic_argument(graph, tanh, x, dtype)?;
    inner.push(tanh);
    Some(("gelu_tanh", inner))
}

/// The node that computes x / sqrt(2) for a node.
fn over_root_of_two(graph: &Graph, reader: Place, x: &str, dtype: Dtype) -> Option<Vec<Place>> {
    if let Some(quotient) = graph.input_that_is(reader, 0, "RealDiv") {
        let divisor = graph.constant(quotient, 1)?.scalar()?;
        let is_exact = is_rounded(divisor, std::f64::consts::SQRT_2, dtype)
            && graph.input_name(quotient, 0)? == x;
        return is_exact.then_some(vec![quotient]);
    }
    let product = graph.input_that_is(reader, 0, "Mul")?;
    let (factor, other) = graph.scalar_operand(product)?;
    let is_exact = is_rounded(factor, std::f64::consts::FRAC_1_SQRT_2, dtype)
        && graph.input_name(product, other)? == x;
    is_exact.then_some(vec![product])
}

/// The nodes that compute sqrt(2 / pi) (x + 0.044715 x^3) for a node.
fn cubic_argument(graph: &Graph, tanh: Place, x: &str, dtype: Dtype) -> Option<Vec<Place>> {
    /// The factor of Hendrycks and Gimpel 2016.
    const CUBIC: f64 = 0.044_715;
    let root_of_two_over_pi = (2.0 / std::f64::consts::PI).sqrt();
    let scaled = graph.input_that_is(tanh, 0, "Mul")?;
    let (scale, other) = graph.scalar_operand(scaled)?;
    let argument = graph.input_that_is(scaled, other, "AddV2")?;
    let (cubic, inner) = (0..2).find_map(|side| {
        let product = graph.input_that_is(argument, side, "Mul")?;
        let is_x = graph.input_name(argument, 1 - side) == Some(x);
        let (cubic, other) = graph.scalar_operand(product)?;
        let mut inner = cube(graph, product, other, x).filter(|_| is_x)?;
        inner.extend([product, argument, scaled]);
        Some((cubic, inner))
    })?;
    let is_exact = is_rounded(scale, root_of_two_over_pi, dtype) && is_rounded(cubic, CUBIC, dtype);
    is_exact.then_some(inner)
}

/// The nodes that compute x^3 for an input: a power, or products of x and its square.
fn cube(graph: &Graph, reader: Place, index: usize, x: &str) -> Option<Vec<Place>> {
    if let Some(power) = graph.input_that_is(reader, index, "Pow") {
        let exponent = graph.constant(power, 1)?.scalar()?;
        let is_cube = graph.input_name(power, 0)? == x && (exponent - 3.0).abs() < f64::EPSILON;
        return is_cube.then_some(vec![power]);
    }
    let product = graph.input_that_is(reader, index, "Mul")?;
    (0..2).find_map(|side| {
        let is_x = |place: Place, index: usize| graph.input_name(place, index) == Some(x);
        if !is_x(product, 1 - side) {
            return None;
        }
        let square = graph.input_that_is(product, side, "Square");
        let square = square.or_else(|| {
            let found = graph.input_that_is(product, side, "Mul");
            found.filter(|found| is_x(*found, 1))
        })?;
        is_x(square, 0).then(|| vec![square, product])
    })
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
        let constants = [
            ("half", half),
            ("root", 0.707_106_77),
            ("one", 1.0),
            ("two", std::f32::consts::SQRT_2),
            ("three", 3.0),
            ("cubic", 0.044_715),
            ("scale", 0.797_884_6),
        ];
        for (name, value) in constants {
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

    const BY_TANH: &[(&str, &str, &str)] = &[
        ("p", "Pow", "x three"),
        ("k", "Mul", "cubic p"),
        ("a", "AddV2", "x k"),
        ("s", "Mul", "scale a"),
        ("t", "Tanh", "s"),
        ("e", "AddV2", "one t"),
        ("h", "Mul", "half x"),
        ("y", "Mul", "h e"),
    ];
    const BY_PRODUCTS: &[(&str, &str, &str)] = &[
        ("q", "Mul", "x x"),
        ("p", "Mul", "q x"),
        ("k", "Mul", "p cubic"),
        ("a", "AddV2", "k x"),
        ("s", "Mul", "a scale"),
        ("t", "Tanh", "s"),
        ("e", "AddV2", "t one"),
        ("h", "Mul", "half e"),
        ("y", "Mul", "x h"),
    ];

    #[test]
    fn the_approximation_by_tanh_is_known() {
        for lines in [BY_TANH, BY_PRODUCTS] {
            let mut table = Table::default();
            let mut graph = Graph::new(unit(lines, 0.5), HashSet::new(), &mut table);
            assert_eq!(join(&mut graph), (1, lines.len() as u64));
            let made = graph.finished();
            assert_eq!(shown(&made)[0], "y = RdnaElementwise x");
            assert_eq!(made.nodes[0].text("steps"), Some("gelu_tanh(i0) float32"));
        }
    }

    const BY_ERF: &[(&str, &str, &str)] = &[
        ("s", "RealDiv", "x two"),
        ("t", "Erf", "s"),
        ("e", "AddV2", "one t"),
        ("h", "Mul", "half x"),
        ("y", "Mul", "h e"),
    ];
    const BY_ERF_OF_A_PRODUCT: &[(&str, &str, &str)] = &[
        ("s", "Mul", "root x"),
        ("t", "Erf", "s"),
        ("e", "AddV2", "t one"),
        ("h", "Mul", "e half"),
        ("y", "Mul", "x h"),
    ];

    #[test]
    fn the_sum_of_one_and_an_error_function_is_known() {
        for lines in [BY_ERF, BY_ERF_OF_A_PRODUCT] {
            let mut table = Table::default();
            let mut graph = Graph::new(unit(lines, 0.5), HashSet::new(), &mut table);
            assert_eq!(join(&mut graph), (1, lines.len() as u64));
            let made = graph.finished();
            assert_eq!(made.nodes[0].text("steps"), Some("gelu(i0) float32"));
        }
    }

    #[test]
    fn another_power_is_another_function() {
        let mut lines = BY_TANH.to_vec();
        lines[0] = ("p", "Pow", "x one");
        let mut table = Table::default();
        let mut graph = Graph::new(unit(&lines, 0.5), HashSet::new(), &mut table);
        assert_eq!(join(&mut graph), (0, 0));
    }

    #[test]
    fn another_factor_is_another_function() {
        let mut table = Table::default();
        let mut graph = Graph::new(unit(LINES, 0.25), HashSet::new(), &mut table);
        assert_eq!(join(&mut graph), (0, 0));
    }
}
