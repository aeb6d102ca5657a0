//! One batch forward and backward, in buffers that are kept from batch to batch.

use std::sync::Arc;

use amdgpu_abi::{ACTIVATION_IDENTITY, ACTIVATION_SOFTMAX};
use amdgpu_matrix::{MatmulOptions, Matrix, TensorView, TensorViewMut};

use super::loss::{self, Columns, Loss, Score, Targets};
use super::readout::Readout;
use super::slope;
use crate::backend::{DenseBackend, DenseCall};
use crate::error::{Error, Result};
use crate::finite;
use crate::forward::{IDENTITY, copy_columns, softmax_rows};
use crate::network::Network;
use crate::parameters::{Parameters, WeightRange, zeros};

/// Inputs and what the outputs should be.
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    /// `[count, steps, inputs]`.
    pub x: &'a [f32],
    pub count: usize,
    /// 1 where no layer has a state.
    pub steps: usize,
    pub targets: Targets<'a>,
}

/// Sums over samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    pub loss: f64,
    pub samples: u64,
    pub correct: u64,
}

impl Totals {
    pub fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.samples += other.samples;
        self.correct += other.correct;
    }
}

pub(crate) struct Workspace {
    capacity: usize,
    /// Rows of a sample.
    steps: usize,
    values: Vec<Vec<f32>>,
    /// Before the activation, where the slope or the loss needs it.
    sums: Vec<Vec<f32>>,
    /// Inputs side by side, of layers with several sources.
    stacked: Vec<Vec<f32>>,
    /// The gradient by a layer's values, then by its sums.
    deltas: Vec<Vec<f32>>,
    /// Of networks with layers that have a state.
    readout: Option<Readout>,
    pub gradients: Parameters,
}

/// What a batch is computed with.
pub(crate) struct Engine<'a> {
    pub network: &'a Network,
    pub parameters: &'a Parameters,
    pub dense: Arc<dyn DenseBackend>,
    pub matrix: &'static Matrix,
    pub loss: Loss,
}

impl Workspace {
    pub fn new(network: &Network, capacity: usize, steps: usize, loss: Loss) -> Result<Self> {
        let layers = &network.plan.layers;
        let buffer = |index: usize, width: usize, is_needed: bool| {
            let len = if is_needed {
                capacity.saturating_mul(steps).saturating_mul(width)
            } else {
                0
            };
            zeros(len, || {
                format!(
                    "a batch of {capacity} samples in layer '{}'",
                    layers[index].name
                )
            })
        };
        let all = || 0..layers.len();
        let values = all().map(|index| buffer(index, layers[index].size, true));
        let deltas = all().map(|index| buffer(index, layers[index].size, true));
        let sums = all().map(|index| {
            let is_needed = slope::needs_sum(network.activations[index])
                || network.temporal[index].is_some()
                || index == network.input
                || is_logits(network, loss, index);
            buffer(index, layers[index].size, is_needed)
        });
        let stacked = all().map(|index| {
            let inputs = &network.layout.inputs[index];
            buffer(index, inputs.width, inputs.sources.len() > 1)
        });
        Ok(Self {
            capacity,
            steps,
            readout: network
                .is_temporal()
                .then(|| Readout::new(network, capacity))
                .transpose()?,
            values: values.collect::<Result<_>>()?,
            sums: sums.collect::<Result<_>>()?,
            stacked: stacked.collect::<Result<_>>()?,
            deltas: deltas.collect::<Result<_>>()?,
            gradients: network.read().zeros_like()?,
        })
    }

    /// Forward, and the gradient of the batch's mean loss by the sums of the output layers (in `deltas`).
    pub fn forward(
        &mut self,
        engine: &Engine<'_>,
        data: &Samples<'_>,
        samples: &[u32],
    ) -> Result<Totals> {
        debug_assert!(samples.len() <= self.capacity);
        let network = engine.network;
        self.enter(engine, data, samples)?;
        for &layer in &network.order {
            if layer != network.input {
                self.forward_layer(engine, layer, samples.len() * self.steps)?;
            }
        }
        self.score(engine, data, samples)
    }

    fn enter(&mut self, engine: &Engine<'_>, data: &Samples<'_>, samples: &[u32]) -> Result<()> {
        let network = engine.network;
        let (input, width) = (network.input, network.input_size());
        let (rows, of_sample) = (samples.len() * self.steps, self.steps * width);
        let sums = &mut self.sums[input][..rows * width];
        for (row, &sample) in sums.chunks_exact_mut(of_sample).zip(samples) {
            row.copy_from_slice(&data.x[sample as usize * of_sample..][..of_sample]);
        }
        if let Some(place) = finite::first_not_finite(sums) {
            let (sample, step) = (samples[place / of_sample], place % of_sample / width);
            let step = if network.is_temporal() {
                format!(" {step},")
            } else {
                String::new()
            };
            return Err(Error::NotFinite {
                what: "the input".to_owned(),
                value: sums[place],
                place: format!("[{sample},{step} {}]", place % width),
            });
        }
        if let Some(bias) = &engine.parameters.biases[input] {
            for row in sums.chunks_exact_mut(width) {
                for (value, bias) in row.iter_mut().zip(bias) {
                    *value += bias;
                }
            }
        }
        self.activate(engine, input, rows)
    }

    /// `values = activation(sums)`, as a dense layer of one input and one output over all of them, so that the activation is the backend's.
    fn activate(&mut self, engine: &Engine<'_>, layer: usize, batch: usize) -> Result<()> {
        let size = engine.network.plan.layers[layer].size;
        let len = batch * size;
        let (sums, values) = (&mut self.sums[layer][..len], &mut self.values[layer][..len]);
        if let Some(temporal) = engine.network.temporal[layer] {
            temporal.forward(self.steps, size, sums, values);
            return Ok(());
        }
        let activation = engine.network.activations[layer];
        if activation.kind == ACTIVATION_IDENTITY {
            values.copy_from_slice(sums);
            return Ok(());
        }
        if activation.kind == ACTIVATION_SOFTMAX {
            softmax_rows(sums, values, size);
            return Ok(());
        }
        let call = DenseCall {
            x: sums,
            weight: &[1.0],
            bias: None,
            batch: len,
            inputs: 1,
            outputs: 1,
            activation,
        };
        engine.dense.dense_forward(&call, values)
    }

    fn forward_layer(&mut self, engine: &Engine<'_>, layer: usize, batch: usize) -> Result<()> {
        let network = engine.network;
        let size = network.plan.layers[layer].size;
        let inputs = &network.layout.inputs[layer];
        let has_sums = !self.sums[layer].is_empty();
        let mut out = std::mem::take(if has_sums {
            &mut self.sums[layer]
        } else {
            &mut self.values[layer]
        });
        if inputs.sources.len() > 1 {
            let mut first = 0;
            for &source in &inputs.sources {
                let width = network.plan.layers[source].size;
                copy_columns(
                    &self.values[source][..batch * width],
                    width,
                    &mut self.stacked[layer],
                    inputs.width,
                    first,
                );
                first += width;
            }
        }
        let x = if inputs.sources.len() > 1 {
            &self.stacked[layer]
        } else {
            &self.values[inputs.sources[0]]
        };
        let call = DenseCall {
            x: &x[..batch * inputs.width],
            weight: &engine.parameters.weights[layer],
            bias: engine.parameters.biases[layer].as_deref(),
            batch,
            inputs: inputs.width,
            outputs: size,
            activation: if has_sums {
                IDENTITY
            } else {
                network.activations[layer]
            },
        };
        let result = engine.dense.dense_forward(&call, &mut out[..batch * size]);
        if has_sums {
            self.sums[layer] = out;
        } else {
            self.values[layer] = out;
        }
        result?;
        if has_sums && !is_logits(network, engine.loss, layer) {
            self.activate(engine, layer, batch)?;
        }
        Ok(())
    }

    /// The loss over the samples; `deltas` of the output layers get its gradient by their sums.
    fn score(
        &mut self,
        engine: &Engine<'_>,
        data: &Samples<'_>,
        samples: &[u32],
    ) -> Result<Totals> {
        let network = engine.network;
        let width = network.output_size();
        let mut totals = Totals {
            samples: samples.len() as u64,
            ..Totals::default()
        };
        let mut first = 0;
        for &layer in &network.outputs {
            let size = network.plan.layers[layer].size;
            let columns = Columns { first, size, width };
            let score = match self.readout.take() {
                Some(mut readout) => {
                    let score =
                        self.score_means(engine, data, samples, (layer, columns), &mut readout);
                    self.readout = Some(readout);
                    score?
                }
                None => self.score_rows(engine, data, samples, (layer, columns))?,
            };
            totals.loss += score.loss;
            totals.correct += score.correct;
            first += size;
        }
        if !totals.loss.is_finite() {
            return Err(Error::NotFinite {
                what: "the training".to_owned(),
                value: totals.loss as f32,
                place: "the loss; a smaller learning rate may help".to_owned(),
            });
        }
        Ok(totals)
    }

    /// One output layer of a network without steps.
    fn score_rows(
        &mut self,
        engine: &Engine<'_>,
        data: &Samples<'_>,
        samples: &[u32],
        (layer, columns): (usize, Columns),
    ) -> Result<Score> {
        let len = samples.len() * columns.size;
        let delta = &mut self.deltas[layer][..len];
        if engine.loss == Loss::CrossEntropy {
            let (sums, values) = (&self.sums[layer][..len], &mut self.values[layer][..len]);
            return loss::cross_entropy(&data.targets, samples, columns, sums, values, delta);
        }
        let values = &self.values[layer][..len];
        let score = loss::squared_error(&data.targets, samples, columns, values, delta)?;
        self.delta_by_sums(engine.network, layer, samples.len())?;
        Ok(score)
    }

    /// One output layer of a network with steps: what is scored is the mean over them.
    fn score_means(
        &mut self,
        engine: &Engine<'_>,
        data: &Samples<'_>,
        samples: &[u32],
        (layer, columns): (usize, Columns),
        readout: &mut Readout,
    ) -> Result<Score> {
        let rows = samples.len() * self.steps;
        let len = rows * columns.size;
        let is_softmax = engine.network.is_pooled_softmax(layer);
        let given = if is_softmax {
            &self.sums[layer][..len]
        } else {
            &self.values[layer][..len]
        };
        let delta = &mut self.deltas[layer][..len];
        let goal = (engine.loss, is_softmax);
        let score = readout.score(goal, data, samples, columns, (given, delta))?;
        if !is_softmax {
            self.delta_by_sums(engine.network, layer, rows)?;
        }
        Ok(score)
    }

    /// A layer's gradient by its values becomes the one by its sums.
    fn delta_by_sums(&mut self, network: &Network, layer: usize, rows: usize) -> Result<()> {
        let size = network.plan.layers[layer].size;
        let len = rows * size;
        let sums = self.sums[layer].get(..len).unwrap_or_default();
        let delta = &mut self.deltas[layer][..len];
        if let Some(temporal) = network.temporal[layer] {
            temporal.backward(self.steps, size, sums, delta);
            return Ok(());
        }
        let values = &self.values[layer][..len];
        slope::apply(network.activations[layer], sums, values, size, delta)
    }

    /// From the deltas of the output layers to the gradients of every weight and bias.
    pub fn backward(&mut self, engine: &Engine<'_>, samples: usize) -> Result<()> {
        let network = engine.network;
        let batch = samples * self.steps;
        let mut is_reached = vec![false; network.plan.layers.len()];
        for &output in &network.outputs {
            is_reached[output] = true;
        }
        for &layer in network.order.iter().rev() {
            let size = network.plan.layers[layer].size;
            let len = batch * size;
            if !network.outputs.contains(&layer) {
                if layer == network.input && engine.parameters.biases[layer].is_none() {
                    continue;
                }
                self.delta_by_sums(network, layer, batch)?;
            }
            if let Some(bias) = &mut self.gradients.biases[layer] {
                column_sums(&self.deltas[layer][..len], bias);
            }
            for range in network
                .layout
                .ranges
                .iter()
                .filter(|range| range.target == layer)
            {
                self.backward_connection(engine, *range, batch, &mut is_reached)?;
            }
        }
        Ok(())
    }

    fn backward_connection(
        &mut self,
        engine: &Engine<'_>,
        range: WeightRange,
        batch: usize,
        is_reached: &mut [bool],
    ) -> Result<()> {
        let network = engine.network;
        let inputs = network.plan.layers[range.source].size;
        let outputs = range.outputs;
        let [wide, tall, deep] = [outputs as i64, inputs as i64, batch as i64];
        let core = |error: amdgpu_matrix::Error| Error::from_core(&error);
        let delta = std::mem::take(&mut self.deltas[range.target]);
        // weights' gradient [inputs, outputs] = values^T @ delta.
        let mut product = || {
            let delta_shape = [deep, wide];
            let delta_view = TensorView::from_slice(&delta[..batch * outputs], &delta_shape)?;
            let (shape, strides) = ([tall, deep], [1, tall]);
            let values = &self.values[range.source][..batch * inputs];
            let values = TensorView::from_strided(values, 0, &shape, &strides)?;
            let shape = [tall, wide];
            let out = self.gradients.weight_mut(range);
            let mut out = TensorViewMut::from_slice(out, &shape)?;
            engine
                .matrix
                .matmul(&values, &delta_view, &mut out, &MatmulOptions::default())?;
            if range.source == network.input && engine.parameters.biases[network.input].is_none() {
                return Ok(());
            }
            // The source's delta [batch, inputs] (+)= delta @ weight^T.
            let (shape, strides) = ([wide, tall], [1, wide]);
            let weight = engine.parameters.weight(range);
            let weight = TensorView::from_strided(weight, 0, &shape, &strides)?;
            let shape = [deep, tall];
            let out = &mut self.deltas[range.source][..batch * inputs];
            let options = MatmulOptions {
                beta: f64::from(u8::from(is_reached[range.source])),
                ..MatmulOptions::default()
            };
            is_reached[range.source] = true;
            let mut out = TensorViewMut::from_slice(out, &shape)?;
            engine
                .matrix
                .matmul(&delta_view, &weight, &mut out, &options)
        };
        let result = product().map_err(core);
        self.deltas[range.target] = delta;
        result
    }
}

/// Whether the loss takes the layer's sums itself.
fn is_logits(network: &Network, loss: Loss, layer: usize) -> bool {
    (loss == Loss::CrossEntropy && network.outputs.contains(&layer))
        || network.is_pooled_softmax(layer)
}

fn column_sums(rows: &[f32], sums: &mut [f32]) {
    sums.fill(0.0);
    for row in rows.chunks_exact(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
}
