//! Batch normalisation with constant statistics is a factor and an addend for each channel: the convolution before it takes them up.

use amdgpu_abi::Dtype;
use amdgpu_array::Array;
use amdgpu_ops::convolve::{Convolve, ConvolveOptions};
use amdgpu_ops::{
    DeviceOps, Elementwise, ImageLayout, Operand, Operation, Scalar, cast, elementwise,
};
use smallvec::SmallVec;

use crate::passes::Report;
use crate::{Graph, Input, Kind, NodeId, Result};

/// Lets convolutions take up the batch normalisation that alone reads them. The factors are computed in float64 and rounded once.
///
/// # Errors
///
/// What the operations on the constants fail with.
pub fn fold_batch_norms(graph: &mut Graph, ops: &DeviceOps, report: &mut Report) -> Result<()> {
    let counts = graph.use_counts();
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let Some(found) = Found::of(graph, id, &counts) else {
            continue;
        };
        let [weight, bias] = found.folded(ops)?;
        let operation = Operation::Convolve {
            options: found.options,
            is_tf32: found.is_tf32,
        };
        let image = found.image;
        let [weight, bias] = [weight, bias].map(|array| graph.add_constant("", &array));
        let node = graph.node_mut(id);
        node.kind = Kind::Operation(operation);
        node.inputs = SmallVec::from_slice(&[image, Input::Node(weight), Input::Node(bias)]);
        report.fused += 1;
        report.notes.push(format!(
            "{id} (batch_norm) is part of the weights of its convolution"
        ));
    }
    report.renumber(&graph.rebuild());
    Ok(())
}

/// A convolution and the batch normalisation that reads it, all but the images constant.
struct Found {
    image: Input,
    weight: Array,
    old_bias: Option<Array>,
    /// Mean, variance, then the factors and the addends that are there.
    statistics: Vec<Array>,
    has_weight: bool,
    has_bias: bool,
    epsilon: f64,
    options: ConvolveOptions,
    is_tf32: bool,
}

impl Found {
    fn of(graph: &Graph, id: NodeId, counts: &[usize]) -> Option<Self> {
        let norm = graph.node(id);
        let Kind::Operation(Operation::BatchNorm {
            options: of_norm,
            has_weight,
            has_bias,
        }) = &norm.kind
        else {
            return None;
        };
        let images = norm.inputs.first()?.node()?;
        let convolution = graph.node(images);
        let Kind::Operation(Operation::Convolve { options, is_tf32 }) = &convolution.kind else {
            return None;
        };
        let channel_axis = match options.layout {
            ImageLayout::Nchw => 1,
            ImageLayout::Nhwc => 3,
        };
        if options.operation != Convolve::CONV2D
            || counts[images.index()] != 1
            || of_norm.channel_axis.rem_euclid(4) != channel_axis
        {
            return None;
        }
        let constant = |input: &Input| match &graph.node(input.node()?).kind {
            Kind::Constant(array) => Some(array.clone()),
            _ => None,
        };
        let old_bias = match convolution.inputs.get(2) {
            Some(bias) => Some(constant(bias)?),
            None => None,
        };
        Some(Self {
            image: convolution.inputs[0],
            weight: constant(&convolution.inputs[1])?,
            old_bias,
            statistics: norm.inputs[1..]
                .iter()
                .map(constant)
                .collect::<Option<_>>()?,
            has_weight: *has_weight,
            has_bias: *has_bias,
            epsilon: of_norm.epsilon,
            options: *options,
            is_tf32: *is_tf32,
        })
    }

    /// Weight and bias of the convolution that gives the same.
    fn folded(&self, ops: &DeviceOps) -> Result<[Array; 2]> {
        let wide = |array: &Array| -> Result<Operand> {
            let x = Operand::of_array(array.clone());
            Ok(Operand::of_array(cast(ops, &x, Dtype::F64, None)?))
        };
        let compute = |operation: Elementwise, inputs: &[Operand]| -> Result<Operand> {
            Ok(Operand::of_array(elementwise(
                ops, operation, inputs, None, 0.0,
            )?))
        };
        let mut given = self.statistics.iter();
        let mut next = |is_there: bool| given.next().filter(|_| is_there).map(wide).transpose();
        let (mean, variance) = (next(true)?, next(true)?);
        let factors = if self.has_weight { next(true)? } else { None };
        let addends = if self.has_bias { next(true)? } else { None };
        let (Some(mean), Some(variance)) = (mean, variance) else {
            unreachable!("a batch normalisation has both")
        };
        let epsilon = Operand::of_number(Scalar::Float(self.epsilon), Dtype::F64);
        let deviation = compute(
            Elementwise::Sqrt,
            &[compute(Elementwise::Add, &[variance, epsilon])?],
        )?;
        let one = Operand::of_number(Scalar::Float(1.0), Dtype::F64);
        let scale = compute(Elementwise::Divide, &[factors.unwrap_or(one), deviation])?;
        let zero = Operand::of_number(Scalar::Float(0.0), Dtype::F64);
        let old = self
            .old_bias
            .as_ref()
            .map(wide)
            .transpose()?
            .unwrap_or(zero.clone());
        let centred = compute(Elementwise::Subtract, &[old, mean])?;
        let scaled = compute(Elementwise::Multiply, &[centred, scale.clone()])?;
        let bias = compute(Elementwise::Add, &[scaled, addends.unwrap_or(zero)])?;
        let of_outputs = scale
            .array
            .as_ref()
            .map(|array| array.reshaped(&[array.shape[0], 1, 1, 1]));
        let Some(of_outputs) = of_outputs.transpose()? else {
            unreachable!("results are arrays")
        };
        let weight = compute(
            Elementwise::Multiply,
            &[wide(&self.weight)?, Operand::of_array(of_outputs)],
        )?;
        let dtype = self.weight.dtype;
        Ok([
            cast(ops, &weight, dtype, None)?,
            cast(ops, &bias, dtype, None)?,
        ])
    }
}
