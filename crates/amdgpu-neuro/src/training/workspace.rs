//! One batch forward and backward, in buffers that are kept from batch to batch.

use super::loss::{Columns, Loss, Score, Targets};
use super::operations::{ColumnRange, Extent, Operations, Shape, Tensors, TensorsRef};
use super::readout::Readout;
use super::slope;
use crate::error::{Error, Result};
use crate::forward::IDENTITY;
use crate::layered_network::LayeredNetwork;
use crate::parameters::WeightRange;

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

pub(crate) struct Workspace<O: Operations> {
    capacity: usize,
    /// Rows of a sample.
    steps: usize,
    values: Vec<O::Buffer>,
    /// Before the activation, where the slope or the loss needs it.
    sums: Vec<O::Buffer>,
    /// Inputs side by side, of layers with several sources.
    stacked: Vec<O::Buffer>,
    /// The gradient by a layer's values, then by its sums.
    deltas: Vec<O::Buffer>,
    /// Of networks with layers that have a state.
    readout: Option<Readout<O>>,
    pub gradients: Tensors<O::Buffer>,
}

/// What a batch is computed with.
pub(crate) struct Engine<'a, O: Operations> {
    pub network: &'a LayeredNetwork,
    pub parameters: TensorsRef<'a, O::Buffer>,
    pub operations: &'a O,
    pub loss: Loss,
}

/// One output layer: its position, and the columns of its values in the targets.
type Output = (usize, Columns);

impl<O: Operations> Workspace<O> {
    pub fn new(
        network: &LayeredNetwork,
        operations: &O,
        (capacity, steps): (usize, usize),
        loss: Loss,
    ) -> Result<Self> {
        let layers = &network.plan.layers;
        let buffer = |index: usize, width: usize, is_needed: bool| {
            let len = if is_needed {
                capacity.saturating_mul(steps).saturating_mul(width)
            } else {
                0
            };
            operations.zeros(len, &|| {
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
                .then(|| Readout::new(network, operations, capacity))
                .transpose()?,
            values: values.collect::<Result<_>>()?,
            sums: sums.collect::<Result<_>>()?,
            stacked: stacked.collect::<Result<_>>()?,
            deltas: deltas.collect::<Result<_>>()?,
            gradients: operations.with_parameters(network, |parameters| {
                super::zeros_like(operations, parameters)
            })?,
        })
    }

    /// Forward, and the gradient of the batch's mean loss by the sums of the output layers (in `deltas`).
    pub fn forward(
        &mut self,
        engine: &Engine<'_, O>,
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

    fn enter(&mut self, engine: &Engine<'_, O>, data: &Samples<'_>, samples: &[u32]) -> Result<()> {
        let (network, operations) = (engine.network, engine.operations);
        let (input, width) = (network.input, network.input_size());
        let (rows, of_sample) = (samples.len() * self.steps, self.steps * width);
        let sums = &mut self.sums[input];
        operations.gather_rows(data.x, of_sample, samples, sums)?;
        let found = if operations.holds(data.x) {
            None
        } else {
            operations.first_not_finite(sums, rows * width)?
        };
        if let Some((place, value)) = found {
            let (sample, step) = (samples[place / of_sample], place % of_sample / width);
            let step = if network.is_temporal() {
                format!(" {step},")
            } else {
                String::new()
            };
            return Err(Error::NotFinite {
                what: "the input".to_owned(),
                value,
                place: format!("[{sample},{step} {}]", place % width),
            });
        }
        if let Some(bias) = &engine.parameters.biases[input] {
            operations.add_bias(bias, rows, width, sums)?;
        }
        self.activate(engine, input, rows)
    }

    fn extent(&self, rows: usize, size: usize) -> Extent {
        Extent {
            samples: rows / self.steps,
            steps: self.steps,
            size,
        }
    }

    /// `values = activation(sums)`.
    fn activate(&mut self, engine: &Engine<'_, O>, layer: usize, rows: usize) -> Result<()> {
        let (network, operations) = (engine.network, engine.operations);
        let size = network.plan.layers[layer].size;
        let extent = self.extent(rows, size);
        let (sums, values) = (&mut self.sums[layer], &mut self.values[layer]);
        match network.temporal[layer] {
            Some(temporal) => operations.step_state(temporal, extent, sums, values),
            None => operations.activate(network.activations[layer], sums, rows, size, values),
        }
    }

    fn forward_layer(&mut self, engine: &Engine<'_, O>, layer: usize, rows: usize) -> Result<()> {
        let (network, operations) = (engine.network, engine.operations);
        let inputs = &network.layout.inputs[layer];
        if inputs.sources.len() > 1 {
            let mut first = 0;
            for &source in &inputs.sources {
                let width = network.plan.layers[source].size;
                let columns = ColumnRange {
                    of: inputs.width,
                    first,
                    width,
                };
                let to = &mut self.stacked[layer];
                operations.copy_columns(&self.values[source], rows, columns, to)?;
                first += width;
            }
        }
        let shape = Shape {
            rows,
            inputs: inputs.width,
            outputs: network.plan.layers[layer].size,
        };
        let has_sums = operations.len(&self.sums[layer]) > 0;
        let weights = &engine.parameters.weights[layer];
        let bias = engine.parameters.biases[layer].as_ref();
        // A layer lies behind its sources, so its own buffer is none of theirs.
        let (before, behind) = self.values.split_at_mut(layer);
        let Some((own, after)) = behind.split_first_mut() else {
            return Ok(());
        };
        let x = match inputs.sources[..] {
            [source] if source < layer => &before[source],
            [source] => &after[source - layer - 1],
            _ => &self.stacked[layer],
        };
        let (out, activation) = if has_sums {
            (&mut self.sums[layer], IDENTITY)
        } else {
            (own, network.activations[layer])
        };
        operations.dense(x, weights, bias, shape, activation, out)?;
        if has_sums && !is_logits(network, engine.loss, layer) {
            self.activate(engine, layer, rows)?;
        }
        Ok(())
    }

    /// The loss over the samples; `deltas` of the output layers get its gradient by their sums.
    fn score(
        &mut self,
        engine: &Engine<'_, O>,
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
        engine: &Engine<'_, O>,
        data: &Samples<'_>,
        samples: &[u32],
        (layer, columns): Output,
    ) -> Result<Score> {
        let targets = (&data.targets, samples, columns);
        let (values, delta) = (&mut self.values[layer], &mut self.deltas[layer]);
        if engine.loss == Loss::CrossEntropy {
            let sums = &self.sums[layer];
            return engine
                .operations
                .cross_entropy(targets, sums, values, delta);
        }
        let score = engine.operations.squared_error(targets, values, delta)?;
        self.delta_by_sums(engine, layer, samples.len())?;
        Ok(score)
    }

    /// One output layer of a network with steps: what is scored is the mean over them.
    fn score_means(
        &mut self,
        engine: &Engine<'_, O>,
        data: &Samples<'_>,
        samples: &[u32],
        (layer, columns): Output,
        readout: &mut Readout<O>,
    ) -> Result<Score> {
        let is_softmax = engine.network.is_pooled_softmax(layer);
        let rows = if is_softmax {
            &self.sums[layer]
        } else {
            &self.values[layer]
        };
        let delta = &mut self.deltas[layer];
        let goal = (engine.loss, is_softmax);
        let score = readout.score(
            engine.operations,
            goal,
            data,
            samples,
            columns,
            (rows, delta),
        )?;
        if !is_softmax {
            self.delta_by_sums(engine, layer, samples.len() * self.steps)?;
        }
        Ok(score)
    }

    /// A layer's gradient by its values becomes the one by its sums.
    fn delta_by_sums(&mut self, engine: &Engine<'_, O>, layer: usize, rows: usize) -> Result<()> {
        let (network, operations) = (engine.network, engine.operations);
        let size = network.plan.layers[layer].size;
        let extent = self.extent(rows, size);
        let (sums, delta) = (&self.sums[layer], &mut self.deltas[layer]);
        if let Some(temporal) = network.temporal[layer] {
            return operations.step_state_back(temporal, extent, sums, delta);
        }
        let (activation, values) = (network.activations[layer], &self.values[layer]);
        operations.apply_slope(activation, sums, values, rows, size, delta)
    }

    /// From the deltas of the output layers to the gradients of every weight and bias.
    pub fn backward(&mut self, engine: &Engine<'_, O>, samples: usize) -> Result<()> {
        let network = engine.network;
        let rows = samples * self.steps;
        let mut is_reached = vec![false; network.plan.layers.len()];
        for &output in &network.outputs {
            is_reached[output] = true;
        }
        for &layer in network.order.iter().rev() {
            if !network.outputs.contains(&layer) {
                if layer == network.input && engine.parameters.biases[layer].is_none() {
                    continue;
                }
                self.delta_by_sums(engine, layer, rows)?;
            }
            if let Some(bias) = &mut self.gradients.biases[layer] {
                let size = network.plan.layers[layer].size;
                let delta = &self.deltas[layer];
                engine.operations.column_sums(delta, rows, size, bias)?;
            }
            let ranges = network.layout.ranges.iter();
            for range in ranges.filter(|range| range.target == layer) {
                self.backward_connection(engine, *range, rows, &mut is_reached)?;
            }
        }
        Ok(())
    }

    fn backward_connection(
        &mut self,
        engine: &Engine<'_, O>,
        range: WeightRange,
        rows: usize,
        is_reached: &mut [bool],
    ) -> Result<()> {
        let (network, operations) = (engine.network, engine.operations);
        let WeightRange { source, target, .. } = range;
        let shape = Shape {
            rows,
            inputs: network.plan.layers[source].size,
            outputs: range.outputs,
        };
        let (values, delta) = (&self.values[source], &self.deltas[target]);
        let gradient = &mut self.gradients.weights[target];
        operations.weight_gradient(values, delta, shape, range.begin, gradient)?;
        if source == network.input && engine.parameters.biases[network.input].is_none() {
            return Ok(());
        }
        let adds = std::mem::replace(&mut is_reached[source], true);
        let weights = (&engine.parameters.weights[target], range.begin);
        // No layer is its own source.
        let Ok([delta, out]) = self.deltas.get_disjoint_mut([target, source]) else {
            return Ok(());
        };
        operations.source_delta(delta, weights, shape, adds, out)
    }
}

/// Whether the loss takes the layer's sums itself.
fn is_logits(network: &LayeredNetwork, loss: Loss, layer: usize) -> bool {
    (loss == Loss::CrossEntropy && network.outputs.contains(&layer))
        || network.is_pooled_softmax(layer)
}
