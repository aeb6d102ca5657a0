//! softmax(q k^T scale + mask) v, as one node `RdnaAttention`. Transpositions around the products become orders of axes in which tensors are read.

use super::node::Node;
use super::rewrite::{Graph, Place, T};

pub const OPERATION: &str = "RdnaAttention";

const RANK: usize = 4;
const SAME: [usize; RANK] = [0, 1, 2, 3];

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

/// A tensor whose axes are read in another order, as (batch, heads, length, size).
struct Read {
    name: String,
    axes: [usize; RANK],
    place: Option<Place>,
}

impl Read {
    fn with_matrices_transposed(mut self) -> Self {
        self.axes.swap(2, 3);
        self
    }
}

/// The order of axes of a transposition.
fn axes_of(graph: &Graph, place: Place) -> Option<[usize; RANK]> {
    let axes = graph.constant(place, 1)?.whole_numbers();
    let axes: Vec<usize> = axes.iter().map(|axis| *axis as usize).collect();
    let mut sorted = axes.clone();
    sorted.sort_unstable();
    if sorted != SAME {
        return None;
    }
    axes.try_into().ok()
}

/// A factor of a product of matrices: through a transposition, which then is among the nodes that go.
fn factor(graph: &mut Graph, product: Place, index: usize, inner: &mut Vec<Place>) -> Option<Read> {
    let is_adjoint = graph.node(product).flag(["adj_x", "adj_y"][index]);
    let read = match graph.input_that_is(product, index, "Transpose") {
        Some(transposition) => {
            let axes = axes_of(graph, transposition)?;
            inner.push(transposition);
            Read {
                name: graph.input_name(transposition, 0)?.to_owned(),
                axes,
                place: graph.input(transposition, 0),
            }
        }
        None => Read {
            name: graph.input_name(product, index)?.to_owned(),
            axes: SAME,
            place: graph.input(product, index),
        },
    };
    Some(if is_adjoint {
        read.with_matrices_transposed()
    } else {
        read
    })
}

/// What a node multiplies by a number: the number and the position of the other input.
fn scaled(graph: &Graph, place: Place) -> Option<(f64, usize)> {
    if graph.is(place, "Mul") {
        return graph.scalar_operand(place);
    }
    let divisor = graph
        .is(place, "RealDiv")
        .then(|| graph.constant(place, 1)?.scalar())??;
    Some((1.0 / divisor, 0))
}

/// The product with v: the node of the softmax, v, and in which order of (batch, heads, length, size) the result has its axes.
fn weighted(
    graph: &mut Graph,
    root: Place,
    inner: &mut Vec<Place>,
) -> Option<(Place, Read, [usize; RANK])> {
    if graph.is(root, "Einsum") {
        let [weights, of_v, result] = labels(graph.node(root).text("equation")?)?;
        let [batch, heads, length, key] = weights;
        let size = *result.iter().find(|label| !weights.contains(label))?;
        let v = read_as(graph, root, 1, of_v, [batch, heads, key, size])?;
        let axes = order(result, [batch, heads, length, size])?;
        let mut back = SAME;
        for (place, axis) in axes.into_iter().enumerate() {
            back[axis] = place;
        }
        return Some((graph.input_that_is(root, 0, "Softmax")?, v, back));
    }
    let (product, axes) = if graph.is(root, "Transpose") {
        let product = graph.input_that_is(root, 0, "BatchMatMulV2")?;
        inner.push(product);
        (product, axes_of(graph, root)?)
    } else {
        (root, SAME)
    };
    if !graph.is(product, "BatchMatMulV2") || graph.node(product).flag("adj_x") {
        return None;
    }
    let softmax = graph.input_that_is(product, 0, "Softmax")?;
    Some((softmax, factor(graph, product, 1, inner)?, axes))
}

/// The labels of two operands and of the result of an equation, each of four axes.
fn labels(equation: &str) -> Option<[[char; RANK]; 3]> {
    let four =
        |text: &str| -> Option<[char; RANK]> { text.chars().collect::<Vec<_>>().try_into().ok() };
    let (operands, result) = equation.split_once("->")?;
    let (first, second) = operands.split_once(',')?;
    Some([four(first)?, four(second)?, four(result)?])
}

/// The axes of labels in a wanted order.
fn order(own: [char; RANK], wanted: [char; RANK]) -> Option<[usize; RANK]> {
    let axes = wanted.map(|label| own.iter().position(|one| *one == label));
    let found: Vec<usize> = axes.into_iter().collect::<Option<_>>()?;
    found.try_into().ok()
}

/// An operand of an equation in a wanted order of its labels.
fn read_as(
    graph: &Graph,
    place: Place,
    index: usize,
    own: [char; RANK],
    wanted: [char; RANK],
) -> Option<Read> {
    Some(Read {
        name: graph.input_name(place, index)?.to_owned(),
        axes: order(own, wanted)?,
        place: graph.input(place, index),
    })
}

fn found(graph: &mut Graph, root: Place) -> Option<(Node, Vec<Place>)> {
    let mut inner = Vec::new();
    let (softmax, v, result_axes) = weighted(graph, root, &mut inner)?;
    inner.push(softmax);
    let scores = scores(graph, softmax, &mut inner)?;
    let has_rank = graph
        .shape(softmax)
        .is_some_and(|shape| shape.len() == RANK);
    if !has_rank || !graph.may_go(root, &inner) {
        return None;
    }
    let text = |axes: [usize; RANK]| axes.map(|axis| axis.to_string()).concat();
    let mut inputs = vec![scores.q.name, scores.k.name, v.name];
    let masks = i64::from(scores.mask.is_some());
    inputs.extend(scores.mask);
    let node = graph.node(root).replaced(OPERATION, inputs);
    let node = node
        .with_copied(T, graph.node(softmax))
        .with_int("M", masks)
        .with_float("scale", scores.scale as f32)
        .with_text(
            "axes",
            &[scores.q.axes, scores.k.axes, v.axes, result_axes]
                .map(text)
                .join(" "),
        );
    Some((node, inner))
}

struct Scores {
    q: Read,
    k: Read,
    scale: f64,
    mask: Option<String>,
}

/// The scores that a softmax takes.
fn scores(graph: &mut Graph, softmax: Place, inner: &mut Vec<Place>) -> Option<Scores> {
    let mut place = graph.input(softmax, 0)?;
    let mut mask = None;
    if graph.is(place, "AddV2") {
        let side = (0..2).find(|side| {
            let found = graph.input(place, *side);
            found.is_some_and(|found| {
                ["BatchMatMulV2", "Einsum", "Transpose", "Mul", "RealDiv"]
                    .iter()
                    .any(|one| graph.is(found, one))
            })
        })?;
        let given = graph.input(place, 1 - side)?;
        let (own, whole) = (graph.shape(given)?, graph.shape(place)?);
        let fits = own.len() == RANK && { own.iter().zip(&whole) }
            .all(|(own, whole)| *own == 1 || (own == whole && *own != -1));
        if !fits || graph.node(given).device != graph.node(place).device {
            return None;
        }
        mask = Some(graph.input_name(place, 1 - side)?.to_owned());
        inner.push(place);
        place = graph.input(place, side)?;
    }
    let mut scale = 1.0;
    if let Some((factor, of)) = scaled(graph, place) {
        scale *= factor;
        inner.push(place);
        place = graph.input(place, of)?;
    }
    let (mut q, mut k) = product_of(graph, place, inner)?;
    for read in [&mut q, &mut k] {
        if let Some(place) = read.place
            && let Some((factor, of)) = scaled(graph, place)
        {
            scale *= factor;
            inner.push(place);
            graph.input_name(place, of)?.clone_into(&mut read.name);
        }
    }
    Some(Scores { q, k, scale, mask })
}

/// q and k of q k^T: of a product of matrices, maybe transposed, or of an equation.
fn product_of(graph: &mut Graph, mut place: Place, inner: &mut Vec<Place>) -> Option<(Read, Read)> {
    if graph.is(place, "Einsum") {
        let [first, second, [batch, heads, length, key]] =
            labels(graph.node(place).text("equation")?)?;
        let size = *first
            .iter()
            .find(|label| second.contains(label) && ![batch, heads].contains(label))?;
        let (of_q, of_k) = if first.contains(&length) {
            (0, 1)
        } else {
            (1, 0)
        };
        let own = [first, second];
        inner.push(place);
        let q = read_as(graph, place, of_q, own[of_q], [batch, heads, length, size])?;
        let k = read_as(graph, place, of_k, own[of_k], [batch, heads, key, size])?;
        return Some((q, k));
    }
    let is_transposed = graph.is(place, "Transpose");
    if is_transposed {
        if axes_of(graph, place)? != [0, 1, 3, 2] {
            return None;
        }
        inner.push(place);
        place = graph.input(place, 0)?;
    }
    if !graph.is(place, "BatchMatMulV2") {
        return None;
    }
    inner.push(place);
    let (left, right) = (
        factor(graph, place, 0, inner)?,
        factor(graph, place, 1, inner)?,
    );
    // Of k q^T transposed the factors change sides.
    Some(if is_transposed {
        (right.with_matrices_transposed(), left)
    } else {
        (left, right.with_matrices_transposed())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::rewrite::tests::{Table, nodes, shown};
    use super::*;

    #[test]
    fn products_with_a_softmax_between_them_are_one_node() {
        let lines = [
            ("m", "BatchMatMulV2", "q k"),
            ("s", "Softmax", "m"),
            ("y", "BatchMatMulV2", "s v"),
        ];
        let mut table = Table(HashMap::from([("s", vec![2, 3, 5, 5])]));
        let mut graph = Graph::new(nodes(&lines), ["y".to_owned()].into(), &mut table);
        assert_eq!(join(&mut graph), (1, 3));
        let made = graph.finished();
        assert_eq!(shown(&made), ["y = RdnaAttention q k v"]);
        assert_eq!(made.nodes[0].text("axes"), Some("0123 0132 0123 0123"));
        let mut table = Table(HashMap::from([("s", vec![2, 3, 5, 5])]));
        let mut graph = Graph::new(nodes(&lines), ["s".to_owned()].into(), &mut table);
        assert_eq!(join(&mut graph), (0, 0));
    }

    #[test]
    fn equations_say_how_axes_are_read() {
        let lines = [
            ("m", "Einsum", "q k"),
            ("s", "Softmax", "m"),
            ("y", "Einsum", "s v"),
        ];
        let mut given = nodes(&lines);
        given.nodes[0] = given.nodes[0]
            .clone()
            .with_text("equation", "BTNH,BSNH->BNTS");
        given.nodes[2] = given.nodes[2]
            .clone()
            .with_text("equation", "BNTS,BSNH->BTNH");
        let mut table = Table(HashMap::from([("s", vec![2, 3, 5, 5])]));
        let mut graph = Graph::new(given, ["y".to_owned()].into(), &mut table);
        assert_eq!(join(&mut graph), (1, 3));
        let made = graph.finished();
        assert_eq!(shown(&made), ["y = RdnaAttention q k v"]);
        assert_eq!(made.nodes[0].text("axes"), Some("0213 0213 0213 0213"));
    }
}
