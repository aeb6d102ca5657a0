//! The forward pass on a device.

use amdgpu_abi::{Coded, Dtype, ErrorCode, Language};
use amdgpu_array::{Array, Dims, row_major};
use amdgpu_ops::reduce::{self, Reduce, ReduceOptions};
use amdgpu_ops::{DeviceOps, Elementwise, Operand, elementwise, leaky, transpose};
use amdgpu_telemetry::now_ns;

use super::keepers::Placed;
use super::layers::{activate, copy, dense, empty, neuron_of};
use super::placed::placed;
use super::tensor::{are_finite, dims, read, reshaped, upload};
use crate::backend::DenseBackendKind;
use crate::error::{Error, Result};
use crate::forward::IDENTITY;
use crate::layered_network::{LayeredNetwork, count_on_device};
use crate::temporal::Batch;

/// As the pass is called in telemetry.
const NAME: &str = "dense_forward";

/// What a device computes a forward pass of.
#[derive(Clone, Copy, Debug)]
pub enum DeviceInput<'a> {
    /// Values of the host, `[samples, steps, inputs]`, which are copied to the device.
    Host(&'a [f32]),
    /// Dense float32 values on the device.
    Device(&'a Array),
}

impl DeviceInput<'_> {
    fn len(self) -> usize {
        match self {
            Self::Host(values) => values.len(),
            Self::Device(array) => array.len() as usize,
        }
    }

    /// The values on the device, none of them NaN or infinite, of shape (rows, inputs).
    fn checked(self, ops: &DeviceOps, network: &LayeredNetwork, rows: usize) -> Result<Array> {
        let shape = [rows, network.input_size()];
        match self {
            Self::Host(values) => {
                network.check_input(values)?;
                upload(ops, values, shape)
            }
            Self::Device(array) => {
                let x = reshaped(array, shape);
                if !are_finite(ops, &[&x])? {
                    network.check_input(&read(&x)?)?;
                }
                Ok(x)
            }
        }
    }
}

impl LayeredNetwork {
    /// The forward pass over a float32 array where it lies, of a shape that [`LayeredNetwork::samples_of`] knows: the result is an array of the same
    /// device. Where `ops` compute on the host the Matrix core does, with the bits of [`LayeredNetwork::forward_steps`].
    ///
    /// # Errors
    ///
    /// As [`LayeredNetwork::forward_on_device`]; another shape or dtype.
    pub fn forward_array(&self, ops: &DeviceOps, x: &Array) -> Result<Array> {
        if x.dtype != Dtype::F32 {
            let given = x.dtype.name().unwrap_or("of an unknown type");
            return Err(Error::Core {
                kind: ErrorCode::UnsupportedDtype,
                language: Language::Rust,
                message: format!("the network takes float32; x is {given}"),
            });
        }
        let shape: Vec<usize> = x.shape.iter().map(|extent| *extent as usize).collect();
        let (samples, steps, lead) = self.samples_of(&shape)?;
        let x = transpose::dense(ops, &Operand::of_array(x.clone()))?;
        let made = if ops.computes_on_host() {
            let backend = DenseBackendKind::Matrix.open()?;
            let values = self.forward_steps(&read(&x)?, samples, steps, backend.as_ref())?;
            upload(ops, &values, [samples, self.output_size()])?
        } else {
            self.forward_on_device(ops, DeviceInput::Device(&x), samples, steps)?
        };
        let shape = lead.into_iter().chain([self.output_size()]);
        let shape: Dims = shape.map(|extent| extent as i64).collect();
        let strides = row_major(&shape);
        Ok(made.view(shape, strides))
    }

    /// As [`LayeredNetwork::forward_steps`], on the device of `ops`, where the result, of shape (samples, outputs), stays. What the device has
    /// no kernel for, the CPU computes with a fallback that is counted.
    ///
    /// # Errors
    ///
    /// As [`LayeredNetwork::forward_steps`]; what the device reports.
    pub fn forward_on_device(
        &self,
        ops: &DeviceOps,
        x: DeviceInput<'_>,
        samples: usize,
        steps: usize,
    ) -> Result<Array> {
        self.check_steps(steps)?;
        let batch = Batch { samples, steps };
        self.check_input_len(x.len(), batch.rows())?;
        let start_ns = now_ns();
        let x = &x.checked(ops, self, batch.rows())?;
        if samples == 0 {
            return empty(ops, dims([0, self.output_size()]));
        }
        let placed = placed(ops, self)?;
        let device = DevicePass {
            network: self,
            ops,
            placed: &placed,
            batch,
        };
        let out = match device
            .propagate(x)
            .and_then(|layers| device.outputs(&layers))
        {
            Err(error) if permits_fallback(&error) => {
                let reason = format!("the CPU computes what {} does not: {error}", ops.name());
                amdgpu_telemetry::fallback(NAME, &reason);
                let backend = DenseBackendKind::Matrix.open()?;
                let values = self.forward_steps(&read(x)?, samples, steps, backend.as_ref())?;
                return upload(ops, &values, [samples, self.output_size()]);
            }
            done => done?,
        };
        count_on_device(ops.name(), Language::Rust);
        self.count_step(Language::Rust, samples, now_ns().saturating_sub(start_ns));
        Ok(out)
    }
}

/// What the device cannot do, as opposed to what the caller did wrong.
fn permits_fallback(error: &Error) -> bool {
    matches!(
        error.code(),
        ErrorCode::NoImplementation
            | ErrorCode::CompileFailed
            | ErrorCode::CodeGenerationFailed
            | ErrorCode::UnsupportedFeature
    )
}

/// One pass over a batch.
struct DevicePass<'a> {
    network: &'a LayeredNetwork,
    ops: &'a DeviceOps,
    placed: &'a Placed,
    batch: Batch,
}

impl DevicePass<'_> {
    /// Values of every layer, of shape (rows, size).
    fn propagate(&self, x: &Array) -> Result<Vec<Option<Array>>> {
        let (network, tensors) = (self.network, &self.placed.tensors);
        let mut values: Vec<Option<Array>> = vec![None; network.plan.layers.len()];
        for &layer in &network.order {
            if layer == network.input {
                values[layer] = Some(self.enter_input(x)?);
                continue;
            }
            let inputs = &network.layout.inputs[layer];
            let sources = inputs.sources.iter();
            let sources: Vec<&Array> = sources.filter_map(|one| values[*one].as_ref()).collect();
            let x = self.side_by_side(&sources)?;
            let size = network.plan.layers[layer].size;
            let weights = reshaped(&tensors.weights[layer], [inputs.width, size]);
            let activation = if network.is_pooled_softmax(layer) {
                IDENTITY
            } else {
                network.activations[layer]
            };
            let bias = tensors.biases[layer].as_ref();
            let made = dense(self.ops, &x, &weights, bias, activation, None)?;
            values[layer] = Some(self.with_state(layer, made)?);
        }
        Ok(values)
    }

    /// The input layer: `activation(x + bias)`, value by value.
    fn enter_input(&self, x: &Array) -> Result<Array> {
        let (network, ops) = (self.network, self.ops);
        let shape = [self.batch.rows(), network.input_size()];
        let mut sums = reshaped(x, shape);
        let mut is_own = false;
        if let Some(bias) = &self.placed.tensors.biases[network.input] {
            let operands = [&sums, bias].map(|array| Operand::of_array(array.clone()));
            sums = elementwise::on_device(ops, Elementwise::Add, &operands, None, 0.0)?;
            is_own = true;
        }
        let activation = network.activations[network.input];
        if network.temporal[network.input].is_some() {
            if !is_own {
                // What arrives is the caller's: potentials are written over the sums.
                let operand = [Operand::of_array(sums)];
                sums = elementwise::on_device(ops, Elementwise::Identity, &operand, None, 0.0)?;
            }
            return self.with_state(network.input, sums);
        }
        if activation.kind == IDENTITY.kind {
            return Ok(sums);
        }
        let made = empty(ops, dims(shape))?;
        activate(ops, activation, &sums, &made)?;
        Ok(made)
    }

    /// Values of a layer with a state from what arrives at each step; those of another layer as they are.
    fn with_state(&self, layer: usize, sums: Array) -> Result<Array> {
        let Some(temporal) = self.network.temporal[layer] else {
            return Ok(sums);
        };
        let values = empty(self.ops, sums.shape.clone())?;
        let size = self.network.plan.layers[layer].size;
        let extents = [self.batch.samples, self.batch.steps, size];
        leaky::forward(self.ops, neuron_of(temporal), extents, &sums, &values)?;
        Ok(values)
    }

    /// Matrices of as many rows beside each other; the only one itself.
    fn side_by_side(&self, parts: &[&Array]) -> Result<Array> {
        if let [only] = parts {
            return Ok((*only).clone());
        }
        let rows = parts.first().map_or(0, |part| part.shape[0]);
        let width: i64 = parts.iter().map(|part| part.shape[1]).sum();
        let made = empty(self.ops, Dims::from_slice(&[rows, width]))?;
        let mut first = 0;
        for part in parts {
            copy_columns(self.ops, part, &made, first)?;
            first += part.shape[1];
        }
        Ok(made)
    }

    /// What the network gives: the values of its outputs side by side, of several steps their mean.
    fn outputs(&self, values: &[Option<Array>]) -> Result<Array> {
        let (network, Batch { samples, steps }) = (self.network, self.batch);
        let mut parts = Vec::new();
        for &layer in &network.outputs {
            let Some(values) = &values[layer] else {
                continue;
            };
            let mut part = values.clone();
            if network.is_temporal() {
                let size = network.plan.layers[layer].size;
                part = mean_of_steps(self.ops, &part, [samples, steps, size], None)?;
            }
            if network.is_pooled_softmax(layer) {
                activate(self.ops, network.activations[layer], &part, &part)?;
            }
            parts.push(part);
        }
        let parts: Vec<&Array> = parts.iter().collect();
        self.side_by_side(&parts)
    }
}

/// Copies `from` of shape (rows, width) into the columns of `to`, of shape (rows, ...), from `first` on.
pub(crate) fn copy_columns(ops: &DeviceOps, from: &Array, to: &Array, first: i64) -> Result<()> {
    let strides = row_major(&to.shape);
    let columns = to.view_at(first, from.shape.clone(), strides);
    copy(ops, from, &columns)
}

/// Means over the steps of `rows[samples, steps, size]`, of shape (samples, size).
pub(crate) fn mean_of_steps(
    ops: &DeviceOps,
    rows: &Array,
    extents: [usize; 3],
    out: Option<&Array>,
) -> Result<Array> {
    let operand = Operand::of_array(reshaped(rows, extents));
    let options = ReduceOptions {
        axes: Some(&[1]),
        keeps_axes: false,
        correction: 0.0,
        result: None,
        thread_limit: None,
    };
    Ok(reduce::on_device(
        ops,
        Reduce::Mean,
        &operand,
        out,
        &options,
    )?)
}
