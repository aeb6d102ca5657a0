//! Plasticity: changes of weights by what fires together.

use amdgpu_telemetry::now_ns;

use crate::backend::DenseBackend;
use crate::error::{Error, Result};
use crate::finite;
use crate::library::NeuroLibrary;
use crate::network::Network;
use crate::parameters::{weight_name, zeros};

impl Network {
    /// A forward pass of `x[batch, inputs]`, then every Hebbian rule of the plan on what it gave:
    /// `weight += learning_rate / batch * pre^T @ post`. Returns the outputs of the pass.
    ///
    /// All rules see the values of the same pass; other threads see either none or all of the changes.
    ///
    /// # Errors
    ///
    /// As [`Network::forward`]; the plan has no plasticity; a weight would become NaN or infinite. Nothing is changed then.
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
        let mut parameters = self.write();
        let layers = self.propagate(x, batch, backend, &parameters)?;
        let mut changed = Vec::new();
        for rule in &self.plan.plasticity {
            for &number in &rule.connections {
                let connection = &self.plan.connections[number];
                let range = self.layout.ranges[number];
                let name = weight_name(&connection.name());
                let mut weight = zeros(range.len, || name.clone())?;
                weight.copy_from_slice(parameters.weight(range));
                library.hebbian_update(
                    &mut weight,
                    &layers.values[range.source],
                    &layers.values[range.target],
                    batch,
                    rule.learning_rate,
                )?;
                finite::check_matrix(
                    &format!("after the Hebbian step {name}"),
                    &weight,
                    range.outputs,
                )?;
                changed.push((range, weight));
            }
        }
        for (range, weight) in changed {
            parameters.weight_mut(range).copy_from_slice(&weight);
        }
        drop(parameters);
        let out = self.output_values(&layers, batch)?;
        self.report_step(backend, batch, start_ns);
        Ok(out)
    }
}
