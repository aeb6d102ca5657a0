//! Scores a network with steps: the loss is that of the mean of the outputs over the steps.

use amdgpu_abi::{ACTIVATION_SOFTMAX, Activation};

use super::loss::{Columns, Loss, Score};
use super::operations::{Extent, Operations};
use super::workspace::Samples;
use crate::error::Result;
use crate::layered_network::LayeredNetwork;

const SOFTMAX: Activation = Activation {
    kind: ACTIVATION_SOFTMAX,
    alpha: 0.0,
    beta: 0.0,
    reserved: 0,
};

/// Buffers for the widest output layer.
pub(crate) struct Readout<O: Operations> {
    means: O::Buffer,
    values: O::Buffer,
    delta: O::Buffer,
}

impl<O: Operations> Readout<O> {
    pub fn new(network: &LayeredNetwork, operations: &O, capacity: usize) -> Result<Self> {
        let buffer = || {
            operations.zeros(capacity.saturating_mul(network.output_size()), &|| {
                format!("the outputs of {capacity} samples")
            })
        };
        Ok(Self {
            means: buffer()?,
            values: buffer()?,
            delta: buffer()?,
        })
    }

    /// Scores the mean over the steps of `rows`, which are sums where softmax is still to come, and writes the gradient by them.
    pub fn score(
        &mut self,
        operations: &O,
        (goal, is_softmax): (Loss, bool),
        data: &Samples<'_>,
        samples: &[u32],
        columns: Columns,
        (rows, rows_delta): (&O::Buffer, &mut O::Buffer),
    ) -> Result<Score> {
        let (count, size) = (samples.len(), columns.size);
        let extent = Extent {
            samples: count,
            steps: data.steps,
            size,
        };
        let targets = (&data.targets, samples, columns);
        let Self {
            means,
            values,
            delta,
        } = self;
        operations.mean_of_steps(rows, extent, means)?;
        let score = if goal == Loss::CrossEntropy {
            operations.cross_entropy(targets, means, values, delta)?
        } else if is_softmax {
            operations.activate(SOFTMAX, means, count, size, values)?;
            let score = operations.squared_error(targets, values, delta)?;
            // The slope of softmax follows from its values.
            operations.apply_slope(SOFTMAX, means, values, count, size, delta)?;
            score
        } else {
            operations.squared_error(targets, means, delta)?
        };
        operations.spread_over_steps(delta, extent, rows_delta)?;
        Ok(score)
    }
}
