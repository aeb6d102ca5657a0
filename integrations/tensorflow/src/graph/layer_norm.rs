//! Layer normalisation over the last axis as Keras writes it: `tf.nn.moments`, then x m + (shift - mean m) with m = scale / sqrt(variance + epsilon).

use super::node::Node;
use super::rewrite::{Graph, Place, T};

pub const OPERATION: &str = "RdnaLayerNorm";

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

/// The input of a product that is such an operation, and the position of the other one.
fn side(graph: &Graph, place: Place, operation: &str) -> Option<(Place, usize)> {
    (0..2).find_map(|index| Some((graph.input_that_is(place, index, operation)?, 1 - index)))
}

fn is_sum(graph: &Graph, place: Place) -> bool {
    ["AddV2", "AddN"].iter().any(|one| graph.is(place, one)) && graph.node(place).inputs.len() >= 2
}

/// The three terms of a sum of a sum, each as an input of a node, and the inner sum. TensorFlow's own optimizer may add them in another order.
fn terms(graph: &Graph, root: Place) -> Option<([(Place, usize); 3], Place)> {
    if !is_sum(graph, root) {
        return None;
    }
    (0..2).find_map(|index| {
        let inner = graph
            .input(root, index)
            .filter(|inner| is_sum(graph, *inner))?;
        let is_product = |index| graph.input_that_is(inner, index, "Mul").is_some();
        let others = graph.input_that_is(root, 1 - index, "Mul").is_some();
        let is_one =
            (is_product(0) && is_product(1)) || (others && (is_product(0) || is_product(1)));
        is_one.then_some(([(root, 1 - index), (inner, 0), (inner, 1)], inner))
    })
}

/// The parts of x m - mean m + shift.
struct Parts {
    x: String,
    /// m, x m and -mean m.
    products: [Place; 3],
    negated: Place,
    shift: (Place, usize),
}

fn parts(graph: &Graph, terms: [(Place, usize); 3]) -> Option<Parts> {
    let product = |(place, index): (Place, usize)| graph.input_that_is(place, index, "Mul");
    // Any of the three may be the shift.
    (0..3).find_map(|shift| {
        let (one, other) = (terms[(shift + 1) % 3], terms[(shift + 2) % 3]);
        [(one, other), (other, one)]
            .into_iter()
            .find_map(|(moved, scaled)| {
                let (moved, scaled) = (product(moved)?, product(scaled)?);
                let (negated, of) = side(graph, moved, "Neg")?;
                let factor = graph.input_that_is(moved, of, "Mul")?;
                let index = (0..2).find(|index| graph.input(scaled, *index) == Some(factor))?;
                Some(Parts {
                    x: graph.input_name(scaled, 1 - index)?.to_owned(),
                    products: [factor, scaled, moved],
                    negated,
                    shift: terms[shift],
                })
            })
    })
}

fn found(graph: &mut Graph, root: Place) -> Option<(Node, Vec<Place>)> {
    if graph.is_gone(root) {
        return None;
    }
    let (terms, sum) = terms(graph, root)?;
    let Parts {
        x,
        products,
        negated,
        shift,
    } = parts(graph, terms)?;
    let factor = products[0];
    let (rsqrt, scale) = side(graph, factor, "Rsqrt")?;
    let moved = graph.input_that_is(rsqrt, 0, "AddV2")?;
    let (epsilon, of) = graph.scalar_operand(moved)?;
    let variance = graph.input_that_is(moved, of, "Mean")?;
    let squared = graph.input_that_is(variance, 0, "SquaredDifference")?;
    let index = (0..2).find(|index| graph.input_name(squared, *index) == Some(&x))?;
    let (mean, mut inner) = mean_of(graph, squared, 1 - index)?;
    let is_same = graph.input(negated, 0) == Some(mean) && graph.input_name(mean, 0)? == x;
    inner.extend([sum, rsqrt, moved, variance, squared, mean, negated]);
    inner.extend(products);
    let is_last = last_axis_alone(graph, mean, root) && last_axis_alone(graph, variance, root);
    let scale = parameter(graph, factor, scale, root)?;
    let shift = parameter(graph, shift.0, shift.1, root)?;
    if !is_same || !is_last || !graph.may_go(root, &inner) {
        return None;
    }
    let dtype = graph.dtype(root)?;
    let node = graph.node(root).replaced(OPERATION, vec![x, scale, shift]);
    let node = node
        .with_type(T, dtype)
        .with_float("epsilon", epsilon as f32);
    Some((node, inner))
}

/// The mean that an input is, maybe behind a `StopGradient`, which then goes as well.
fn mean_of(graph: &Graph, place: Place, index: usize) -> Option<(Place, Vec<Place>)> {
    if let Some(mean) = graph.input_that_is(place, index, "Mean") {
        return Some((mean, Vec::new()));
    }
    let stop = graph.input_that_is(place, index, "StopGradient")?;
    Some((graph.input_that_is(stop, 0, "Mean")?, vec![stop]))
}

/// Whether a mean is over the last axis, which stays with extent 1.
fn last_axis_alone(graph: &mut Graph, mean: Place, root: Place) -> bool {
    let Some(axes) = graph.constant(mean, 1) else {
        return false;
    };
    let rank = graph.shape(root).map(|shape| shape.len() as i64);
    let is_last = match axes.whole_numbers()[..] {
        [-1] => true,
        [axis] => rank == Some(axis + 1),
        _ => false,
    };
    is_last && graph.node(mean).flag("keep_dims")
}

/// A scale or shift: as many elements as the last axis has, along that axis.
fn parameter(graph: &mut Graph, place: Place, index: usize, root: Place) -> Option<String> {
    let name = graph.input_name(place, index)?.to_owned();
    let given = graph.input(place, index)?;
    let (own, whole) = (graph.shape(given)?, graph.shape(root)?);
    let extent = *whole.last()?;
    let is_row = own.last() == Some(&extent) && own[..own.len() - 1].iter().all(|one| *one == 1);
    (is_row && extent > 0).then_some(name)
}
