//! Chains of elementwise operations, and trees of them, as one node `RdnaElementwise` that computes all steps in one pass.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::node::Node;
use super::rewrite::{Graph, Place, T, is_on_rdna, parts_of};
use crate::dtype::Dtype;

pub const OPERATION: &str = "RdnaElementwise";

/// Inputs of a pass at most, which is the limit of `agpu_ops_fused_at`.
const MOST_INPUTS: usize = 6;
/// Steps of a pass at most: what is written for a GPU should not outgrow its registers.
const MOST_STEPS: usize = 24;

/// An argument of a step: an input of the node, the step before, or a number.
#[derive(Clone, Copy)]
enum Argument {
    Input(usize),
    Before,
    Number(f64),
}

use Argument::{Before, Input, Number};

/// An operation of libamdgpu and its arguments.
type Formula = &'static [(&'static str, &'static [Argument])];

const UNARY: &[(&str, &str)] = &[
    ("Neg", "negative"),
    ("Abs", "absolute"),
    ("Sign", "sign"),
    ("Square", "square"),
    ("Reciprocal", "reciprocal"),
    ("Inv", "reciprocal"),
    ("Sqrt", "sqrt"),
    ("Exp", "exp"),
    ("Expm1", "expm1"),
    ("Log", "log"),
    ("Log1p", "log1p"),
    ("Erf", "erf"),
    ("Tanh", "tanh"),
    ("Sigmoid", "sigmoid"),
    ("Relu", "relu"),
    ("Softplus", "softplus"),
    ("Elu", "elu"),
    ("LeakyRelu", "leaky_relu"),
    ("Sin", "sin"),
    ("Cos", "cos"),
    ("Floor", "floor"),
    ("Ceil", "ceil"),
];
const BINARY: &[(&str, &str)] = &[
    ("AddV2", "add"),
    ("Add", "add"),
    ("Sub", "subtract"),
    ("Mul", "multiply"),
    ("RealDiv", "divide"),
    ("Pow", "power"),
    ("Maximum", "maximum"),
    ("Minimum", "minimum"),
    ("TanhGrad", "tanh_gradient"),
    ("SigmoidGrad", "sigmoid_gradient"),
];
/// Operations of several steps, which kernels compute in float32 where tensors are half precision.
const SEVERAL: &[(&str, Formula)] = &[
    ("Rsqrt", &[("sqrt", &[Input(0)]), ("reciprocal", &[Before])]),
    (
        "Softsign",
        &[
            ("absolute", &[Input(0)]),
            ("add", &[Before, Number(1.0)]),
            ("divide", &[Input(0), Before]),
        ],
    ),
    (
        "SquaredDifference",
        &[("subtract", &[Input(0), Input(1)]), ("square", &[Before])],
    ),
];
const OTHERS: &[(&str, Formula)] = &[
    ("Relu6", &[("clip", &[Input(0), Number(0.0), Number(6.0)])]),
    ("ReluGrad", &[("relu_gradient", &[Input(1), Input(0)])]),
    ("BiasAdd", &[("add", &[Input(0), Input(1)])]),
];

fn formula(node: &Node) -> Option<Vec<(&'static str, &'static [Argument])>> {
    let dtype = node.dtype(T)?;
    let name = node.operation.as_str();
    if !dtype.is_float() || !is_on_rdna(&node.device) {
        return None;
    }
    // Of NCHW the channels are not the last axis.
    if name == "BiasAdd"
        && node
            .text("data_format")
            .is_some_and(|layout| layout != "NHWC")
    {
        return None;
    }
    let named = |table: &'static [(&str, &str)]| {
        { table.iter() }.find_map(|(own, step)| (*own == name).then_some(*step))
    };
    if let Some(step) = named(UNARY) {
        return Some(vec![(step, &[Input(0)])]);
    }
    if let Some(step) = named(BINARY) {
        return Some(vec![(step, &[Input(0), Input(1)])]);
    }
    // The sum of many is in the order of its inputs, too.
    if name == "AddN" {
        let count = node
            .inputs
            .iter()
            .filter(|input| !input.starts_with('^'))
            .count();
        return match count {
            2 => Some(vec![("add", &[Input(0), Input(1)])]),
            3 => Some(vec![
                ("add", &[Input(0), Input(1)]),
                ("add", &[Before, Input(2)]),
            ]),
            _ => None,
        };
    }
    let mut several = OTHERS
        .iter()
        .chain(SEVERAL.iter().filter(|_| !dtype.is_half()));
    several.find_map(|(own, steps)| (*own == name).then(|| steps.to_vec()))
}

/// The number that an operation has beside its arguments, as it stands in its steps.
fn alpha(node: &Node) -> String {
    match node.operation.as_str() {
        "Elu" => " alpha 1.0".to_owned(),
        "LeakyRelu" => {
            // Without the attribute it is TensorFlow's own.
            let slope = node.float("alpha").unwrap_or(0.2);
            format!(" alpha {:?}", f64::from(slope))
        }
        _ => String::new(),
    }
}

/// Joins elementwise nodes, and says how many nodes were made of how many.
pub fn join(graph: &mut Graph) -> (u64, u64) {
    let (mut made, mut joined) = (0, 0);
    for root in graph.readers_first() {
        if graph.is_gone(root) || formula(graph.node(root)).is_none() {
            continue;
        }
        let members = members(graph, root);
        if members.len() < 2 {
            continue;
        }
        if let Some(node) = written(graph, &members) {
            graph.replace(root, node, &members[1..]);
            made += 1;
            joined += members.len() as u64;
        }
    }
    (made, joined)
}

/// The root and nodes whose results nobody reads but nodes of the same pass.
fn members(graph: &mut Graph, root: Place) -> Vec<Place> {
    let mut members = vec![root];
    let mut next = 0;
    while next < members.len() {
        let reader = members[next];
        next += 1;
        for index in 0..graph.node(reader).inputs.len() {
            let Some(place) = graph.input(reader, index) else {
                continue;
            };
            if members.contains(&place) || !fits(graph, root, reader, place) {
                continue;
            }
            members.push(place);
            let may_go = graph.may_go(root, &members[1..]);
            let is_small = external(graph, &members).len() <= MOST_INPUTS
                && count(graph, &members) <= MOST_STEPS;
            if may_go && is_small {
                // What others of the members read may fit now.
                next = 0;
            } else {
                members.pop();
            }
        }
    }
    members
}

fn count(graph: &Graph, members: &[Place]) -> usize {
    { members.iter() }
        .filter_map(|place| formula(graph.node(*place)))
        .map(|steps| steps.len())
        .sum()
}

/// Whether a node that a member reads can be a step: of the same dtype, and with as many elements as the result, so that nothing is computed twice.
fn fits(graph: &mut Graph, root: Place, reader: Place, place: Place) -> bool {
    if formula(graph.node(place)).is_none() || graph.dtype(place) != graph.dtype(root) {
        return false;
    }
    let others_are_numbers = (0..graph.node(reader).inputs.len())
        .filter(|index| graph.input(reader, *index) != Some(place))
        .all(|index| {
            let (.., is_order) = parts_of(&graph.node(reader).inputs[index]);
            is_order || number(graph, reader, index).is_some()
        });
    if others_are_numbers {
        return true;
    }
    match (graph.shape(place), graph.shape(root)) {
        (Some(own), Some(whole)) => own == whole && !own.contains(&-1),
        _ => false,
    }
}

/// A constant of one element, of no more axes than anything else, that is written into the steps.
fn number(graph: &Graph, place: Place, index: usize) -> Option<f64> {
    let constant = graph.constant(place, index)?;
    let value = constant.scalar()?;
    (constant.shape.is_empty() && value.is_finite()).then_some(value)
}

/// What members read from outside, each once.
fn external(graph: &Graph, members: &[Place]) -> Vec<String> {
    let names: HashSet<&str> = members
        .iter()
        .map(|place| graph.node(*place).name.as_str())
        .collect();
    let mut found: Vec<String> = Vec::new();
    for place in members {
        for (index, input) in graph.node(*place).inputs.iter().enumerate() {
            let (name, _, is_order) = parts_of(input);
            let is_outside =
                !is_order && !names.contains(name) && number(graph, *place, index).is_none();
            if is_outside && !found.contains(input) {
                found.push(input.clone());
            }
        }
    }
    found
}

/// The node that computes the members, the first of which is the root.
fn written(graph: &Graph, members: &[Place]) -> Option<Node> {
    let mut inputs = external(graph, members);
    let root = graph.node(members[0]);
    let dtype = root.dtype(T)?;
    let mut steps = Steps {
        graph,
        members,
        inputs: &inputs,
        dtype: dtype.name().ok()?.to_str().ok()?,
        text: String::new(),
        made: Vec::new(),
        count: 0,
    };
    steps.write(members[0])?;
    let text = steps.text;
    if inputs.is_empty() {
        return None;
    }
    let count = inputs.len() as i64;
    // What constants wait for decides whether and when a node in a branch or loop runs.
    for place in members {
        for index in 0..graph.node(*place).inputs.len() {
            if number(graph, *place, index).is_some()
                && let Some(constant) = graph.input(*place, index)
            {
                let orders = graph.node(constant).inputs.iter();
                inputs.extend(orders.filter(|one| one.starts_with('^')).cloned());
            }
        }
    }
    let node = root.replaced(OPERATION, inputs);
    Some(
        node.with_type(T, dtype)
            .with_int("N", count)
            .with_text("steps", &text),
    )
}

/// Steps as `agpu_ops_fused_at` reads them.
struct Steps<'g, 's> {
    graph: &'g Graph<'s>,
    members: &'g [Place],
    inputs: &'g [String],
    dtype: &'g str,
    text: String,
    /// Members that are written, with the number of their last step.
    made: Vec<(Place, usize)>,
    count: usize,
}

impl Steps<'_, '_> {
    /// Writes a member behind those that it reads, and says which step it is.
    fn write(&mut self, place: Place) -> Option<usize> {
        if let Some((_, step)) = self.made.iter().find(|(own, _)| *own == place) {
            return Some(*step);
        }
        let node = self.graph.node(place);
        let mut read = Vec::new();
        for index in 0..node.inputs.len() {
            let (.., is_order) = parts_of(&node.inputs[index]);
            if !is_order {
                read.push(self.argument(place, index)?);
            }
        }
        for (operation, arguments) in formula(node)? {
            let mut shown = Vec::new();
            for argument in arguments {
                shown.push(match argument {
                    Input(index) => read.get(*index)?.clone(),
                    Before => format!("s{}", self.count - 1),
                    Number(value) => format!("{value:?} {}", self.dtype),
                });
            }
            if self.count > 0 {
                self.text.push_str("; ");
            }
            write!(
                self.text,
                "{operation}({}){} {}",
                shown.join(", "),
                alpha(node),
                self.dtype
            )
            .ok()?;
            self.count += 1;
        }
        self.made.push((place, self.count - 1));
        Some(self.count - 1)
    }

    fn argument(&mut self, place: Place, index: usize) -> Option<String> {
        if let Some(value) = number(self.graph, place, index) {
            return Some(format!("{value:?} {}", self.dtype));
        }
        if let Some(read) = self.graph.input(place, index)
            && self.members.contains(&read)
        {
            return Some(format!("s{}", self.write(read)?));
        }
        let name = self.graph.input_name(place, index)?;
        let position = self.inputs.iter().position(|own| own == name)?;
        Some(format!("i{position}"))
    }
}

/// A node of one step that libamdgpu has as an operation of its own.
pub fn single(root: &Node, input: &str, step: &str, dtype: Dtype) -> Option<Node> {
    let name = dtype.name().ok()?.to_str().ok()?;
    let node = root.replaced(OPERATION, vec![input.to_owned()]);
    let text = format!("{step}(i0) {name}");
    Some(
        node.with_type(T, dtype)
            .with_int("N", 1)
            .with_text("steps", &text),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::rewrite::tests::{Table, nodes, shown};
    use super::*;

    fn joined(
        lines: &[(&str, &str, &str)],
        kept: &[&str],
        shapes: &[(&'static str, &[i64])],
    ) -> (Vec<String>, Vec<String>) {
        let known = shapes.iter().map(|(name, shape)| (*name, shape.to_vec()));
        let mut table = Table(known.collect::<HashMap<_, _>>());
        let kept = kept.iter().map(|name| (*name).to_owned()).collect();
        let mut graph = Graph::new(nodes(lines), kept, &mut table);
        join(&mut graph);
        let made = graph.finished();
        let steps = made.nodes.iter().filter_map(|node| node.text("steps"));
        (shown(&made), steps.map(str::to_owned).collect())
    }

    const TREE: &[(&str, &str, &str)] = &[
        ("x", "Placeholder", ""),
        ("y", "Placeholder", ""),
        ("a", "Exp", "x"),
        ("b", "Mul", "a y"),
        ("c", "SquaredDifference", "b a"),
        ("d", "Relu", "c"),
    ];
    const SHAPES: &[(&str, &[i64])] = &[
        ("a", &[2, 3]),
        ("b", &[2, 3]),
        ("c", &[2, 3]),
        ("d", &[2, 3]),
    ];

    #[test]
    fn trees_are_one_pass() {
        let (graph, steps) = joined(TREE, &[], SHAPES);
        assert_eq!(graph[2..], ["d = RdnaElementwise y x"]);
        let wanted = "exp(i1) float32; multiply(s0, i0) float32; subtract(s1, s0) float32; square(s2) float32; relu(s3) float32";
        assert_eq!(steps, [wanted]);
    }

    #[test]
    fn slopes_stand_in_the_steps() {
        let lines = [
            ("x", "Placeholder", ""),
            ("a", "LeakyRelu", "x"),
            ("b", "Elu", "a"),
        ];
        let (_, steps) = joined(&lines, &[], &[]);
        let wanted = "leaky_relu(i0) alpha 0.20000000298023224 float32; elu(s0) alpha 1.0 float32";
        assert_eq!(steps, [wanted]);
    }

    #[test]
    fn results_that_are_asked_for_stay() {
        let (graph, _) = joined(TREE, &["b"], SHAPES);
        assert_eq!(graph[3..], ["b = Mul a y", "d = RdnaElementwise b a"]);
    }

    #[test]
    fn small_results_are_not_computed_for_every_element() {
        let (graph, _) = joined(
            TREE,
            &[],
            &[("a", &[3]), ("b", &[2, 3]), ("c", &[2, 3]), ("d", &[2, 3])],
        );
        assert!(graph.contains(&"a = Exp x".to_owned()));
        assert!(graph.contains(&"d = RdnaElementwise a y".to_owned()));
        let (graph, _) = joined(
            TREE,
            &[],
            &[
                ("a", &[-1, 3]),
                ("b", &[-1, 3]),
                ("c", &[-1, 3]),
                ("d", &[-1, 3]),
            ],
        );
        assert!(graph.contains(&"b = Mul a y".to_owned()));
    }
}
