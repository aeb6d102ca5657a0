//! The forward pass: one dense layer after the other, in the order of the plan.

use std::borrow::Cow;

use amdgpu_abi::{ACTIVATION_IDENTITY, Activation, Language};
use amdgpu_telemetry::{Core, Kind, Record, emit, now_ns};

use crate::backend::{DenseBackend, DenseCall};
use crate::error::{Error, Result};
use crate::finite;
use crate::layered_network::LayeredNetwork;
use crate::parameters::{Parameters, zeros};
use crate::temporal::{Batch, Temporal, mean_of_steps};

/// Of layers whose activation is not the dense product's.
pub(crate) const IDENTITY: Activation = Activation {
    kind: ACTIVATION_IDENTITY,
    alpha: 0.0,
    beta: 0.0,
    reserved: 0,
};

/// Values of every layer for one batch, `[batch, size]` each; an input that passes unchanged is borrowed.
pub(crate) struct LayerValues<'a> {
    pub values: Vec<Cow<'a, [f32]>>,
}

impl LayeredNetwork {
    /// The outputs for `batch` samples `x[batch, inputs]`: `[batch, outputs]`, row-major. An empty batch gives an empty output.
    ///
    /// # Errors
    ///
    /// `x` has another length or holds NaN or infinity; memory is out; the backend's own failure.
    pub fn forward(&self, x: &[f32], batch: usize, backend: &dyn DenseBackend) -> Result<Vec<f32>> {
        self.forward_steps(x, batch, 1, backend)
    }

    /// The outputs for `samples` samples `x[samples, steps, inputs]`: `[samples, outputs]`, each the mean over the steps; softmax of an
    /// output layer is taken of the mean. Layers with a state begin every sample at rest; a network without such layers takes one step.
    ///
    /// # Errors
    ///
    /// As [`LayeredNetwork::forward`], or a number of steps that the network does not take.
    pub fn forward_steps(
        &self,
        x: &[f32],
        samples: usize,
        steps: usize,
        backend: &dyn DenseBackend,
    ) -> Result<Vec<f32>> {
        self.check_steps(steps)?;
        let batch = Batch { samples, steps };
        self.check_input_len(x.len(), batch.rows())?;
        let start_ns = now_ns();
        let parameters = self.read()?;
        let layers = self.propagate(x, batch, backend, &parameters)?;
        drop(parameters);
        let out = self.output_values(&layers, batch)?;
        self.report_step(backend, samples, start_ns);
        Ok(out)
    }

    /// Refuses a number of steps of each sample that the network does not take.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeMismatch`].
    pub fn check_steps(&self, steps: usize) -> Result<()> {
        if steps > 0 && (steps == 1 || self.is_temporal()) {
            return Ok(());
        }
        Err(Error::ShapeMismatch(format!(
            "samples of {steps} steps; {}",
            if steps == 0 {
                "at least one is needed"
            } else {
                "no layer of the network has a state (lif, leaky), so samples have one"
            }
        )))
    }

    /// Samples of an input with these extents, steps of each, and the extents of the result before its outputs: an input has the shape
    /// `[samples, inputs]`, or `[inputs]` for one sample; where samples have steps, `[samples, steps, inputs]` or `[steps, inputs]`.
    ///
    /// # Errors
    ///
    /// [`Error::ShapeMismatch`] for other extents.
    pub fn samples_of(&self, shape: &[usize]) -> Result<(usize, usize, Vec<usize>)> {
        let inputs = self.input_size();
        let is_temporal = self.is_temporal();
        Ok(match *shape {
            [columns] if !is_temporal && columns == inputs => (1, 1, vec![]),
            [rows, columns] if !is_temporal && columns == inputs => (rows, 1, vec![rows]),
            [steps, columns] if is_temporal && columns == inputs => (1, steps, vec![]),
            [rows, steps, columns] if is_temporal && columns == inputs => (rows, steps, vec![rows]),
            _ => {
                let steps = if is_temporal { "steps, " } else { "" };
                let one = if is_temporal {
                    format!("(steps, {inputs})")
                } else {
                    format!("({inputs},)")
                };
                return Err(Error::ShapeMismatch(format!(
                    "the network takes {one} or (batch, {steps}{inputs}); x has shape {shape:?}"
                )));
            }
        })
    }

    pub(crate) fn check_input_len(&self, len: usize, batch: usize) -> Result<()> {
        if batch.checked_mul(self.input_size()) != Some(len) {
            return Err(Error::ShapeMismatch(format!(
                "the input has {len} elements, expected {batch} x {} for the layer '{}'",
                self.input_size(),
                self.plan.input
            )));
        }
        Ok(())
    }

    /// Refuses rows of inputs that hold NaN or infinity.
    ///
    /// # Errors
    ///
    /// [`Error::NotFinite`] with the row and column.
    pub(crate) fn check_input(&self, x: &[f32]) -> Result<()> {
        finite::check_matrix("the input", x, self.input_size())
    }

    /// Values of every layer.
    pub(crate) fn propagate<'a>(
        &self,
        x: &'a [f32],
        batch: Batch,
        backend: &dyn DenseBackend,
        parameters: &Parameters,
    ) -> Result<LayerValues<'a>> {
        let rows = batch.rows();
        self.check_input_len(x.len(), rows)?;
        self.check_input(x)?;
        let mut layers = LayerValues {
            values: vec![Cow::Borrowed(&[][..]); self.plan.layers.len()],
        };
        for &layer in &self.order {
            if layer == self.input {
                layers.values[layer] = self.enter_input(x, batch, backend, parameters)?;
                continue;
            }
            let size = self.plan.layers[layer].size;
            let mut values = zeros(rows.saturating_mul(size), || {
                format!("the values of layer '{}'", self.plan.layers[layer].name)
            })?;
            let stacked = self.stack_inputs(layer, rows, &layers)?;
            let inputs = match &stacked {
                Some(stacked) => stacked,
                None => &layers.values[self.layout.inputs[layer].sources[0]][..],
            };
            let call = DenseCall {
                x: inputs,
                weight: &parameters.weights[layer],
                bias: parameters.biases[layer].as_deref(),
                batch: rows,
                inputs: self.layout.inputs[layer].width,
                outputs: size,
                activation: if self.is_pooled_softmax(layer) {
                    IDENTITY
                } else {
                    self.activations[layer]
                },
            };
            backend.dense_forward(&call, &mut values)?;
            if let Some(temporal) = self.temporal[layer] {
                values = self.with_state(layer, temporal, batch.steps, values)?;
            }
            layers.values[layer] = Cow::Owned(values);
        }
        Ok(layers)
    }

    /// The input layer: `activation(x + bias)`, value by value. As a dense layer of one input and one output over all values, so that the
    /// activation is the backend's.
    fn enter_input<'a>(
        &self,
        x: &'a [f32],
        batch: Batch,
        backend: &dyn DenseBackend,
        parameters: &Parameters,
    ) -> Result<Cow<'a, [f32]>> {
        let mut biased = Cow::Borrowed(x);
        if let Some(bias) = &parameters.biases[self.input] {
            for sample in biased.to_mut().chunks_exact_mut(bias.len()) {
                for (value, bias) in sample.iter_mut().zip(bias) {
                    *value += bias;
                }
            }
        }
        if let Some(temporal) = self.temporal[self.input] {
            let sums = biased.into_owned();
            return Ok(Cow::Owned(self.with_state(
                self.input,
                temporal,
                batch.steps,
                sums,
            )?));
        }
        let activation = self.activations[self.input];
        if activation.kind == ACTIVATION_IDENTITY {
            return Ok(biased);
        }
        let mut values = zeros(x.len(), || {
            format!("the values of layer '{}'", self.plan.input)
        })?;
        let call = DenseCall {
            x: &biased,
            weight: &[1.0],
            bias: None,
            batch: batch.rows() * self.input_size(),
            inputs: 1,
            outputs: 1,
            activation,
        };
        backend.dense_forward(&call, &mut values)?;
        Ok(Cow::Owned(values))
    }

    /// The values of a layer with a state from what arrives at each step.
    fn with_state(
        &self,
        layer: usize,
        temporal: Temporal,
        steps: usize,
        mut sums: Vec<f32>,
    ) -> Result<Vec<f32>> {
        let mut values = zeros(sums.len(), || {
            format!("the values of layer '{}'", self.plan.layers[layer].name)
        })?;
        let size = self.plan.layers[layer].size;
        temporal.forward(steps, size, &mut sums, &mut values);
        Ok(values)
    }

    /// The values of several sources side by side; `None` for a layer with one source, which is read where it lies.
    fn stack_inputs(
        &self,
        layer: usize,
        batch: usize,
        layers: &LayerValues<'_>,
    ) -> Result<Option<Vec<f32>>> {
        let inputs = &self.layout.inputs[layer];
        if inputs.sources.len() == 1 {
            return Ok(None);
        }
        let mut stacked = zeros(batch.saturating_mul(inputs.width), || {
            format!("the inputs of layer '{}'", self.plan.layers[layer].name)
        })?;
        let mut first = 0;
        for &source in &inputs.sources {
            let size = self.plan.layers[source].size;
            copy_columns(
                &layers.values[source],
                size,
                &mut stacked,
                inputs.width,
                first,
            );
            first += size;
        }
        Ok(Some(stacked))
    }

    /// What the network gives: the values of its outputs side by side, of several steps their mean.
    pub(crate) fn output_values(&self, layers: &LayerValues<'_>, batch: Batch) -> Result<Vec<f32>> {
        let Batch { samples, steps } = batch;
        let width = self.output_size();
        let buffer = |len: usize| zeros(len, || "the output of the network".to_owned());
        let mut out = buffer(samples.saturating_mul(width))?;
        let mut first = 0;
        for &layer in &self.outputs {
            let size = self.plan.layers[layer].size;
            let mut values = Cow::Borrowed(&layers.values[layer][..]);
            if self.is_temporal() {
                let mut means = buffer(samples * size)?;
                mean_of_steps(&values, steps, size, &mut means);
                if self.is_pooled_softmax(layer) {
                    let sums = means.clone();
                    softmax_rows(&sums, &mut means, size);
                }
                values = Cow::Owned(means);
            }
            if samples > 0 {
                copy_columns(&values, size, &mut out, width, first);
            }
            first += size;
        }
        Ok(out)
    }

    pub(crate) fn report_step(&self, backend: &dyn DenseBackend, batch: usize, start_ns: u64) {
        let duration_ns = now_ns().saturating_sub(start_ns);
        self.steps.add_on_host(backend.language(), duration_ns);
        self.count_step(backend.language(), batch, duration_ns);
    }

    /// Counts a forward pass that ended now, and tells the telemetry bus of it.
    pub(crate) fn count_step(&self, language: Language, samples: usize, duration_ns: u64) {
        self.steps.total.increment();
        emit(
            Record::new(Kind::NetworkStep, self.steps.name)
                .core(Core::Neuromorphic)
                .language(language)
                .at(now_ns().saturating_sub(duration_ns), duration_ns)
                .value(samples as u64),
        );
    }
}

/// Copies the rows of `source[_, width]` into columns `first ..` of `target[_, target_width]`.
pub(crate) fn copy_columns(
    source: &[f32],
    width: usize,
    target: &mut [f32],
    target_width: usize,
    first: usize,
) {
    for (from, to) in source
        .chunks_exact(width)
        .zip(target.chunks_exact_mut(target_width))
    {
        to[first..first + width].copy_from_slice(from);
    }
}

/// Softmax belongs to rows, the other activations to values.
pub(crate) fn softmax_rows(sums: &[f32], values: &mut [f32], size: usize) {
    for (sums, values) in sums.chunks_exact(size).zip(values.chunks_exact_mut(size)) {
        let top = sums.iter().fold(f32::NEG_INFINITY, |top, x| top.max(*x));
        let mut total = 0.0;
        for (value, sum) in values.iter_mut().zip(sums) {
            *value = (sum - top).exp();
            total += *value;
        }
        for value in values {
            *value /= total;
        }
    }
}
