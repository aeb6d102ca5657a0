//! Plasticity: weights change by the activity of the two layers that they connect, without back-propagation of an error.

use amdgpu_telemetry::now_ns;

use crate::backend::DenseBackend;
use crate::error::{Error, Result};
use crate::finite;
use crate::layered_network::LayeredNetwork;
use crate::library::NeuroLibrary;
use crate::parameters::{weight_name, zeros};
use crate::plan::PlasticityPlan;
use crate::temporal::Batch;

impl LayeredNetwork {
    /// A forward pass of `x[batch, inputs]`, then every rule of the plan on what it gave, averaged over the batch. Returns the outputs of
    /// the pass.
    ///
    /// - `hebbian`: `weight += learning_rate * pre * post`.
    /// - `oja` (Oja 1982): `weight += learning_rate * post * (pre - post * weight)`; rows of weights tend to length 1.
    /// - `bcm` (Bienenstock, Cooper and Munro 1982, in the form of Intrator and Cooper 1992):
    ///   `weight += learning_rate * pre * post * (post - threshold)`, where the threshold of each output is the moving average of its
    ///   square; it starts at the first batch's.
    ///
    /// All rules see the values of the same pass; other threads see either none or all of the changes.
    ///
    /// # Errors
    ///
    /// As [`LayeredNetwork::forward`]; the plan has no plasticity; a weight would become NaN or infinite. Nothing is changed then.
    pub fn hebbian_step(
        &self,
        x: &[f32],
        batch: usize,
        backend: &dyn DenseBackend,
    ) -> Result<Vec<f32>> {
        if self.plan.plasticity.is_empty() {
            return Err(Error::InvalidArgument(format!(
                "the network '{}' has no plasticity: add `plasticity hebbian(learning_rate: …)` to its text",
                self.plan.name
            )));
        }
        let library = NeuroLibrary::global()?;
        let start_ns = now_ns();
        let mut parameters = self.write()?;
        let rows = Batch {
            samples: batch,
            steps: 1,
        };
        let layers = self.propagate(x, rows, backend, &parameters)?;
        let mut changed = Vec::new();
        for rule in &self.plan.plasticity {
            for &number in &rule.connections {
                let range = self.layout.ranges[number];
                let name = weight_name(&self.plan.connections[number].name());
                let mut weight = zeros(range.len, || name.clone())?;
                weight.copy_from_slice(parameters.weight(range));
                let change = Change {
                    library,
                    rule,
                    pre: &layers.values[range.source],
                    post: &layers.values[range.target],
                    batch,
                };
                let threshold =
                    change.apply(&mut weight, parameters.thresholds[number].as_deref())?;
                let after = |what: &str| format!("after the step of {} {what}", rule.rule);
                finite::check_matrix(&after(&name), &weight, range.outputs)?;
                if let Some(threshold) = &threshold {
                    finite::check_vector(&after("the threshold"), threshold)?;
                }
                changed.push((number, weight, threshold));
            }
        }
        for (number, weight, threshold) in changed {
            let range = self.layout.ranges[number];
            parameters.weight_mut(range).copy_from_slice(&weight);
            if threshold.is_some() {
                parameters.thresholds[number] = threshold;
            }
        }
        drop(parameters);
        let out = self.output_values(&layers, rows)?;
        self.report_step(backend, batch, start_ns);
        Ok(out)
    }
}

/// One rule on one connection.
struct Change<'a> {
    library: &'static NeuroLibrary,
    rule: &'a PlasticityPlan,
    /// `[batch, inputs]`.
    pre: &'a [f32],
    /// `[batch, outputs]`.
    post: &'a [f32],
    batch: usize,
}

impl Change<'_> {
    /// Changes `weight[inputs, outputs]`; the new threshold of `bcm`.
    fn apply(&self, weight: &mut [f32], threshold: Option<&[f32]>) -> Result<Option<Vec<f32>>> {
        if self.batch == 0 {
            return Ok(None);
        }
        match self.rule.rule.as_str() {
            "oja" => {
                let rate = self.rule.learning_rate as f32;
                let squares = self.mean_squares()?;
                for row in weight.chunks_exact_mut(squares.len()) {
                    for (weight, square) in row.iter_mut().zip(&squares) {
                        *weight -= rate * square * *weight;
                    }
                }
                self.add_product(weight, self.post)?;
                Ok(None)
            }
            "bcm" => {
                let squares = self.mean_squares()?;
                let mut threshold = threshold.map_or_else(|| squares.clone(), <[f32]>::to_vec);
                let mut post = zeros(self.post.len(), || "the rule bcm".to_owned())?;
                post.copy_from_slice(self.post);
                for row in post.chunks_exact_mut(threshold.len()) {
                    for (value, threshold) in row.iter_mut().zip(&threshold) {
                        *value *= *value - threshold;
                    }
                }
                self.add_product(weight, &post)?;
                let share = self.rule.threshold_rate.unwrap_or_default() as f32;
                for (threshold, square) in threshold.iter_mut().zip(&squares) {
                    *threshold += share * (square - *threshold);
                }
                Ok(Some(threshold))
            }
            _ => {
                self.add_product(weight, self.post)?;
                Ok(None)
            }
        }
    }

    /// `weight += learning_rate / batch * pre^T @ post`.
    fn add_product(&self, weight: &mut [f32], post: &[f32]) -> Result<()> {
        self.library
            .hebbian_update(weight, self.pre, post, self.batch, self.rule.learning_rate)
    }

    /// Of each output, over the batch.
    fn mean_squares(&self) -> Result<Vec<f32>> {
        let outputs = self.post.len() / self.batch;
        let mut means = zeros(outputs, || "a plasticity rule".to_owned())?;
        for (column, mean) in means.iter_mut().enumerate() {
            let values = self.post.iter().skip(column).step_by(outputs);
            let sum: f64 = values
                .map(|value| f64::from(*value) * f64::from(*value))
                .sum();
            *mean = (sum / self.batch as f64) as f32;
        }
        Ok(means)
    }
}
