//! What a network with steps is scored by: the mean of its outputs over the steps.

use amdgpu_abi::{ACTIVATION_SOFTMAX, Activation};

use super::loss::{self, Columns, Loss, Score};
use super::slope;
use super::workspace::Samples;
use crate::error::Result;
use crate::forward::softmax_rows;
use crate::network::Network;
use crate::parameters::zeros;
use crate::temporal::{mean_of_steps, spread_over_steps};

const SOFTMAX: Activation = Activation {
    kind: ACTIVATION_SOFTMAX,
    alpha: 0.0,
    beta: 0.0,
    reserved: 0,
};

/// Buffers for the widest output layer.
pub(crate) struct Readout {
    means: Vec<f32>,
    values: Vec<f32>,
    delta: Vec<f32>,
}

impl Readout {
    pub fn new(network: &Network, capacity: usize) -> Result<Self> {
        let buffer = || {
            zeros(capacity.saturating_mul(network.output_size()), || {
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
        (goal, is_softmax): (Loss, bool),
        data: &Samples<'_>,
        samples: &[u32],
        columns: Columns,
        (rows, rows_delta): (&[f32], &mut [f32]),
    ) -> Result<Score> {
        let size = columns.size;
        let len = samples.len() * size;
        let means = &mut self.means[..len];
        let (values, delta) = (&mut self.values[..len], &mut self.delta[..len]);
        mean_of_steps(rows, data.steps, size, means);
        let score = if goal == Loss::CrossEntropy {
            loss::cross_entropy(&data.targets, samples, columns, means, values, delta)?
        } else if is_softmax {
            softmax_rows(means, values, size);
            let score = loss::squared_error(&data.targets, samples, columns, values, delta)?;
            slope::apply(SOFTMAX, &[], values, size, delta)?;
            score
        } else {
            loss::squared_error(&data.targets, samples, columns, means, delta)?
        };
        spread_over_steps(delta, data.steps, size, rows_delta);
        Ok(score)
    }
}
