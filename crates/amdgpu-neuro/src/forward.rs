//! The forward pass: one dense layer after the other, in the order of the plan.

use std::borrow::Cow;

use amdgpu_abi::ACTIVATION_IDENTITY;
use amdgpu_telemetry::{Core, Kind, Record, emit, now_ns};

use crate::backend::{DenseBackend, DenseCall};
use crate::error::{Error, Result};
use crate::finite;
use crate::network::Network;
use crate::parameters::{Parameters, zeros};

/// Values of every layer for one batch, `[batch, size]` each; an input that passes unchanged is borrowed.
pub(crate) struct LayerValues<'a> {
    pub values: Vec<Cow<'a, [f32]>>,
}

impl Network {
    /// The outputs for `batch` samples `x[batch, inputs]`: `[batch, outputs]`, row-major. An empty batch gives an empty output.
    ///
    /// # Errors
    ///
    /// `x` has another length or holds NaN or infinity; memory is out; the backend's own failure.
    pub fn forward(&self, x: &[f32], batch: usize, backend: &dyn DenseBackend) -> Result<Vec<f32>> {
        self.check_input_len(x, batch)?;
        let len = batch.saturating_mul(self.output_size());
        let mut out = zeros(len, || "the output of the network".to_owned())?;
        self.forward_into(x, batch, backend, &mut out)?;
        Ok(out)
    }

    /// Like [`Network::forward`], into `out[batch, outputs]`.
    ///
    /// # Errors
    ///
    /// As [`Network::forward`], or `out` has another length.
    pub fn forward_into(
        &self,
        x: &[f32],
        batch: usize,
        backend: &dyn DenseBackend,
        out: &mut [f32],
    ) -> Result<()> {
        if batch.checked_mul(self.output_size()) != Some(out.len()) {
            return Err(Error::ShapeMismatch(format!(
                "out has {} elements, expected {batch} x {}",
                out.len(),
                self.output_size()
            )));
        }
        let start_ns = now_ns();
        let parameters = self.read();
        let layers = self.propagate(x, batch, backend, &parameters)?;
        drop(parameters);
        self.gather_outputs(&layers, batch, out);
        self.report_step(backend, batch, start_ns);
        Ok(())
    }

    pub(crate) fn check_input_len(&self, x: &[f32], batch: usize) -> Result<()> {
        if batch.checked_mul(self.input_size()) != Some(x.len()) {
            return Err(Error::ShapeMismatch(format!(
                "the input has {} elements, expected {batch} x {} for the layer '{}'",
                x.len(),
                self.input_size(),
                self.plan.input
            )));
        }
        Ok(())
    }

    /// Values of every layer.
    pub(crate) fn propagate<'a>(
        &self,
        x: &'a [f32],
        batch: usize,
        backend: &dyn DenseBackend,
        parameters: &Parameters,
    ) -> Result<LayerValues<'a>> {
        self.check_input_len(x, batch)?;
        finite::check_matrix("the input", x, self.input_size())?;
        let mut layers = LayerValues {
            values: vec![Cow::Borrowed(&[][..]); self.plan.layers.len()],
        };
        for &layer in &self.order {
            if layer == self.input {
                layers.values[layer] = self.enter_input(x, batch, backend, parameters)?;
                continue;
            }
            let size = self.plan.layers[layer].size;
            let mut values = zeros(batch.saturating_mul(size), || {
                format!("the values of layer '{}'", self.plan.layers[layer].name)
            })?;
            let stacked = self.stack_inputs(layer, batch, &layers)?;
            let inputs = match &stacked {
                Some(stacked) => stacked,
                None => &layers.values[self.layout.inputs[layer].sources[0]][..],
            };
            let call = DenseCall {
                x: inputs,
                weight: &parameters.weights[layer],
                bias: parameters.biases[layer].as_deref(),
                batch,
                inputs: self.layout.inputs[layer].width,
                outputs: size,
                activation: self.activations[layer],
            };
            backend.dense_forward(&call, &mut values)?;
            layers.values[layer] = Cow::Owned(values);
        }
        Ok(layers)
    }

    /// The input layer: `activation(x + bias)`, value by value. As a dense layer of one input and one output over all values, so that the
    /// activation is the backend's.
    fn enter_input<'a>(
        &self,
        x: &'a [f32],
        batch: usize,
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
            batch: batch * self.input_size(),
            inputs: 1,
            outputs: 1,
            activation,
        };
        backend.dense_forward(&call, &mut values)?;
        Ok(Cow::Owned(values))
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

    fn gather_outputs(&self, layers: &LayerValues<'_>, batch: usize, out: &mut [f32]) {
        if let [single] = self.outputs[..] {
            out.copy_from_slice(&layers.values[single]);
            return;
        }
        let width = self.output_size();
        let mut first = 0;
        for &layer in &self.outputs {
            let size = self.plan.layers[layer].size;
            if batch > 0 {
                copy_columns(&layers.values[layer], size, out, width, first);
            }
            first += size;
        }
    }

    pub(crate) fn output_values(&self, layers: &LayerValues<'_>, batch: usize) -> Result<Vec<f32>> {
        let len = batch.saturating_mul(self.output_size());
        let mut out = zeros(len, || "the output of the network".to_owned())?;
        self.gather_outputs(layers, batch, &mut out);
        Ok(out)
    }

    pub(crate) fn report_step(&self, backend: &dyn DenseBackend, batch: usize, start_ns: u64) {
        self.steps.total.increment();
        emit(
            Record::new(Kind::NetworkStep, self.steps.name)
                .core(Core::Neuromorphic)
                .language(backend.language())
                .at(start_ns, now_ns().saturating_sub(start_ns))
                .value(batch as u64),
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
