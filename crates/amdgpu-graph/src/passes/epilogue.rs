//! What follows a product becomes part of it: factors, bias, residual and activation are applied to sums before they are stored.

use amdgpu_ops::matmul::Activation;
use amdgpu_ops::{Elementwise, Named, Operation, Scalar, operation::Product};

use crate::passes::Report;
use crate::{Graph, Input, Kind, Node, NodeId};

/// Lets products take up the elementwise operations that follow them.
pub fn fuse_epilogues(graph: &mut Graph, report: &mut Report) {
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let mut at = id;
        while let Some(next) = only_reader(graph, at) {
            let Some(joined) = joined(graph, at, next) else {
                break;
            };
            let name = graph.node(next).operation_name().to_owned();
            report.fused += 1;
            report
                .notes
                .push(format!("{next} ({name}) is part of the product {at}"));
            *graph.node_mut(next) = joined;
            at = next;
        }
    }
}

/// The node that alone reads a value that is no output.
fn only_reader(graph: &Graph, id: NodeId) -> Option<NodeId> {
    if !matches!(graph.node(id).kind, Kind::Operation(Operation::Matmul(_)))
        || graph.outputs().contains(&id)
    {
        return None;
    }
    let mut readers = graph
        .ids()
        .filter(|reader| graph.node(*reader).reads().any(|read| read == id));
    let first = readers.next()?;
    readers.next().is_none().then_some(first)
}

/// The product with what its reader does, in the reader's place.
fn joined(graph: &Graph, id: NodeId, reader: NodeId) -> Option<Node> {
    let (product, next) = (graph.node(id), graph.node(reader));
    let Kind::Operation(Operation::Matmul(options)) = &product.kind else {
        return None;
    };
    let Kind::Operation(Operation::Elementwise {
        operation: Named::Any(operation),
        alpha,
    }) = &next.kind
    else {
        return None;
    };
    if next.shape != product.shape
        || next.dtype != product.dtype
        || options.activation != Activation::Identity
    {
        return None;
    }
    let mut inputs = product.inputs.clone();
    let mut options = *options;
    match operation {
        Elementwise::Add => {
            let other = other_input(next, id)?;
            let added = graph.node(other);
            if added.dtype != product.dtype {
                return None;
            }
            let is_bias = added.shape.len() == 1 && added.shape.last() == product.shape.last();
            // A residual is added after the bias, so that what comes first has to be the bias.
            if is_bias && !options.has_bias && !options.has_residual {
                options.has_bias = true;
            } else if added.shape == product.shape && !options.has_residual {
                options.has_residual = true;
            } else {
                return None;
            }
            inputs.push(Input::Node(other));
        }
        Elementwise::Multiply => {
            let Input::Number(Scalar::Float(factor), _) = *next
                .inputs
                .iter()
                .find(|input| matches!(input, Input::Number(..)))?
            else {
                return None;
            };
            if options.has_bias || options.has_residual {
                return None;
            }
            options.alpha *= factor;
        }
        activation => {
            options.activation = activation_of(*activation, *alpha)?;
        }
    }
    Some(Node {
        kind: Kind::Operation(Operation::Matmul(Product { ..options })),
        inputs,
        shape: next.shape.clone(),
        dtype: next.dtype,
        name: product.name.clone(),
    })
}

fn other_input(node: &Node, id: NodeId) -> Option<NodeId> {
    let mut others = node
        .inputs
        .iter()
        .filter(|input| **input != Input::Node(id));
    match (others.next(), others.next()) {
        (Some(Input::Node(other)), None) => Some(*other),
        _ => None,
    }
}

/// The activation of products that an elementwise operation is, with the parameter that those have.
fn activation_of(operation: Elementwise, alpha: f64) -> Option<Activation> {
    let activation = Activation::from_name(operation.name())?;
    let own = activation.to_abi().alpha;
    let has_parameter = activation
        .row()
        .parameters
        .iter()
        .any(|(name, _)| *name == "alpha");
    (!has_parameter || own.to_bits() == (alpha as f32).to_bits()).then_some(activation)
}
