//! Weights and biases of a layered network: one weight matrix, with the rows of all sources of a layer, and one bias for each layer that has
//! inputs.

use std::path::Path;
use std::sync::Arc;

use crate::device::keepers::Placed;
use crate::device::tensor;
use crate::error::{Error, Result};
use crate::finite;
use crate::initial::{self, bias_object, weight_object};
use crate::philox::Stream;
use crate::plan::LayeredNetworkPlan;

/// Where the weights of a connection lie: rows of its target's stacked matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightRange {
    pub source: usize,
    pub target: usize,
    pub begin: usize,
    pub len: usize,
    pub outputs: usize,
}

/// Sources of a layer in the order of its stacked rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct LayerInputs {
    pub sources: Vec<usize>,
    pub width: usize,
}

/// What follows from the plan and never changes.
#[derive(Debug)]
pub(crate) struct Layout {
    pub ranges: Vec<WeightRange>,
    pub inputs: Vec<LayerInputs>,
}

#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    /// For each layer: `[sum of its sources' sizes, its size]`; empty for the input layer.
    pub weights: Vec<Vec<f32>>,
    pub biases: Vec<Option<Vec<f32>>>,
    /// For each connection: what its rule `bcm` compares with, one for each output; `None` before its first step.
    pub thresholds: Vec<Option<Vec<f32>>>,
    /// A device that holds later weights and biases than these.
    pub ahead: Option<Arc<Placed>>,
}

impl Layout {
    pub(crate) fn of(plan: &LayeredNetworkPlan) -> Result<Self> {
        let mut inputs = vec![LayerInputs::default(); plan.layers.len()];
        let mut ranges = Vec::with_capacity(plan.connections.len());
        let index_of = plan.layer_indices();
        for connection in &plan.connections {
            let (source, target) = (
                index_of[connection.from.as_str()],
                index_of[connection.to.as_str()],
            );
            let [rows, outputs] = connection.shape;
            let too_large = || Error::OutOfMemory {
                what: format!("the weights of {}", connection.name()),
                bytes: usize::MAX,
            };
            let len = rows.checked_mul(outputs).ok_or_else(too_large)?;
            let begin = inputs[target]
                .width
                .checked_mul(outputs)
                .ok_or_else(too_large)?;
            ranges.push(WeightRange {
                source,
                target,
                begin,
                len,
                outputs,
            });
            inputs[target].sources.push(source);
            inputs[target].width += rows;
        }
        Ok(Self { ranges, inputs })
    }
}

/// A vector of zeros, or an error instead of an abort when memory is out.
pub(crate) fn zeros(len: usize, what: impl FnOnce() -> String) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    if values.try_reserve_exact(len).is_err() {
        return Err(Error::OutOfMemory {
            what: what(),
            bytes: len.saturating_mul(size_of::<f32>()),
        });
    }
    values.resize(len, 0.0);
    Ok(values)
}

/// How a bias is addressed in messages.
pub(crate) fn bias_name(layer: &str) -> String {
    format!("the bias of layer '{layer}'")
}

/// How a connection's weights are addressed in messages.
pub(crate) fn weight_name(connection: &str) -> String {
    format!("the weight of connection '{connection}'")
}

impl Parameters {
    pub(crate) fn initial(
        plan: &LayeredNetworkPlan,
        layout: &Layout,
        base_directory: &Path,
    ) -> Result<Self> {
        let mut weights = Vec::with_capacity(plan.layers.len());
        let mut biases = Vec::with_capacity(plan.layers.len());
        for (index, layer) in plan.layers.iter().enumerate() {
            let len = layout.inputs[index].width.saturating_mul(layer.size);
            weights.push(zeros(len, || {
                format!("the weights into layer '{}'", layer.name)
            })?);
            biases.push(match &layer.bias {
                None => None,
                Some(initializer) => {
                    let mut bias = zeros(layer.size, || bias_name(&layer.name))?;
                    let stream = Stream::new(plan.seed, bias_object(index), 0);
                    initial::fill(
                        initializer,
                        stream,
                        &[layer.size],
                        base_directory,
                        &mut bias,
                    )?;
                    finite::check_vector(&bias_name(&layer.name), &bias)?;
                    Some(bias)
                }
            });
        }
        for (number, (connection, range)) in plan.connections.iter().zip(&layout.ranges).enumerate()
        {
            let rows = &mut weights[range.target][range.begin..range.begin + range.len];
            let stream = Stream::new(plan.seed, weight_object(number), 0);
            initial::fill(
                &connection.weight,
                stream,
                &connection.shape,
                base_directory,
                rows,
            )?;
            finite::check_matrix(&weight_name(&connection.name()), rows, range.outputs)?;
        }
        Ok(Self {
            weights,
            biases,
            thresholds: vec![None; plan.connections.len()],
            ahead: None,
        })
    }

    /// Reads what a device holds that is later; all of it or nothing.
    ///
    /// # Errors
    ///
    /// The device fails.
    pub(crate) fn catch_up(&mut self) -> Result<()> {
        let Some(ahead) = &self.ahead else {
            return Ok(());
        };
        let weights = ahead.tensors.weights.iter().map(tensor::read);
        let weights = weights.collect::<Result<Vec<_>>>()?;
        let biases = ahead.tensors.biases.iter();
        let biases = biases.map(|bias| bias.as_ref().map(tensor::read).transpose());
        self.biases = biases.collect::<Result<Vec<_>>>()?;
        self.weights = weights;
        self.ahead = None;
        Ok(())
    }

    pub(crate) fn weight(&self, range: WeightRange) -> &[f32] {
        &self.weights[range.target][range.begin..range.begin + range.len]
    }

    pub(crate) fn weight_mut(&mut self, range: WeightRange) -> &mut [f32] {
        &mut self.weights[range.target][range.begin..range.begin + range.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r#"{
        "schema": "amdgpu.network_plan", "version": 1, "name": "net", "seed": 3, "dt_seconds": null,
        "layers": [
            {"name": "a", "size": 2, "activation": {"kind": "identity", "alpha": 0.0, "beta": 0.0}, "bias": null},
            {"name": "b", "size": 3, "activation": {"kind": "relu", "alpha": 0.0, "beta": 0.0},
             "bias": {"kind": "random", "low": 0.0, "high": 1.0}}
        ],
        "connections": [{"from": "a", "to": "b", "shape": [2, 3], "weight": {"kind": "random", "low": 0.0, "high": 1.0}}],
        "plasticity": [], "input": "a", "outputs": ["b"], "order": ["a", "b"], "warnings": []
    }"#;

    /// What a seed gives is the same in every version: programs are published with their seeds.
    #[test]
    fn a_seed_gives_these_weights_and_biases() {
        let plan = crate::NetworkPlan::from_json(PLAN).unwrap();
        let plan = plan.layered().unwrap();
        let layout = Layout::of(plan).unwrap();
        let found = Parameters::initial(plan, &layout, Path::new("")).unwrap();
        let digits =
            |values: &[f32]| -> Vec<u32> { values.iter().map(|value| value.to_bits()).collect() };
        assert!(found.weights[0].is_empty() && found.biases[0].is_none());
        assert_eq!(
            digits(&found.weights[1]),
            [
                1_062_277_197,
                1_039_090_238,
                1_059_582_700,
                1_061_414_440,
                1_049_187_497,
                1_057_829_191
            ]
        );
        assert_eq!(
            digits(found.biases[1].as_ref().unwrap()),
            [1_034_478_731, 1_053_338_373, 1_060_920_024]
        );
        assert_eq!(found.thresholds, [None]);
    }
}
