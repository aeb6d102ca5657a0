//! What training asks of a device.
//!
//! [`super::Trainer`] and [`super::workspace`] are written against [`Operations`] alone: matrix multiplications with an epilogue, elementwise
//! operations, reductions and the updates of optimizers, on buffers of float32 in the memory of a device. [`super::cpu`] computes them on
//! this machine's cores, [`super::device`] on any device through `amdgpu-ops`. An implementation promises what its forward pass promises: the
//! same bits on every run, and on every device of its class.

use amdgpu_abi::{Activation, Language};

use super::loss::{Columns, Score, Targets};
use super::optimizer::{Optimizer, StepSize};
pub use super::tensors::{Tensors, TensorsRef};
use crate::error::Result;
use crate::layered_network::LayeredNetwork;
use crate::temporal::Temporal;

/// Sizes of a connection or layer: `rows` of `inputs` values each become rows of `outputs` values.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub rows: usize,
    pub inputs: usize,
    pub outputs: usize,
}

/// Samples of several steps, of which each has `size` values.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub samples: usize,
    pub steps: usize,
    pub size: usize,
}

/// Columns of a matrix: `width` of them, from `first` on.
#[derive(Clone, Copy, Debug)]
pub struct ColumnRange {
    /// Columns of the whole matrix.
    pub of: usize,
    pub first: usize,
    pub width: usize,
}

/// See the module. A length is in elements; buffers may be longer than what is used of them, and only the first elements are.
pub trait Operations: Send {
    /// float32 numbers in the device's memory.
    type Buffer: Send;

    /// Who computes, for counters.
    fn language(&self) -> Language;

    /// The device's name for counters; `None` for this machine's cores.
    fn device(&self) -> Option<&str> {
        None
    }

    // Memory.

    /// A buffer of zeros; `what` says in an error what it is for.
    ///
    /// # Errors
    ///
    /// Memory is out.
    fn zeros(&self, len: usize, what: &dyn Fn() -> String) -> Result<Self::Buffer>;

    fn len(&self, buffer: &Self::Buffer) -> usize;

    /// Host to device, as many values as the slice has.
    ///
    /// # Errors
    ///
    /// The device fails, as in all that follows.
    fn write(&self, values: &[f32], to: &mut Self::Buffer) -> Result<()>;

    /// Device to host, the whole buffer.
    ///
    /// # Errors
    ///
    /// Memory is out; the device fails.
    fn read(&self, from: &Self::Buffer) -> Result<Vec<f32>>;

    /// Device to device, the whole buffer.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn copy(&self, from: &Self::Buffer, to: &mut Self::Buffer) -> Result<()>;

    /// Copies the `chosen` rows of `width` values from the host, one after the other.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn gather_rows(
        &self,
        rows: &[f32],
        width: usize,
        chosen: &[u32],
        to: &mut Self::Buffer,
    ) -> Result<()>;

    /// Keeps rows of `width` values in the device's memory until [`Operations::release`], where batches of the same slice are gathered from then on:
    /// changes of them are not seen. Nothing where they are near already, where memory is short, or where one of them is NaN or infinite.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn hold(&mut self, _rows: &[f32], _width: usize) -> Result<()> {
        Ok(())
    }

    fn release(&mut self) {}

    /// Whether these rows are held, so that all of them are finite.
    fn holds(&self, _rows: &[f32]) -> bool {
        false
    }

    /// Hands the network's weights and biases to `work`, as buffers of the device.
    ///
    /// # Errors
    ///
    /// Those of `work`; the device fails.
    fn with_parameters<T>(
        &self,
        network: &LayeredNetwork,
        work: impl FnOnce(TensorsRef<'_, Self::Buffer>) -> Result<T>,
    ) -> Result<T>;

    /// Makes `next` the network's weights and biases, all or none of them; what `next` holds afterwards does not matter.
    ///
    /// # Errors
    ///
    /// The network has got other biases meanwhile; the device fails.
    fn commit(&self, network: &LayeredNetwork, next: &mut Tensors<Self::Buffer>) -> Result<()>;

    // Matrix multiplications.

    /// `out[rows, outputs] = activation(x[rows, inputs] @ weights[inputs, outputs] + bias)`.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn dense(
        &self,
        x: &Self::Buffer,
        weights: &Self::Buffer,
        bias: Option<&Self::Buffer>,
        shape: Shape,
        activation: Activation,
        out: &mut Self::Buffer,
    ) -> Result<()>;

    /// `gradient[inputs, outputs] = values[rows, inputs]^T @ delta[rows, outputs]`; the gradient begins at element `begin` of its buffer.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn weight_gradient(
        &self,
        values: &Self::Buffer,
        delta: &Self::Buffer,
        shape: Shape,
        begin: usize,
        gradient: &mut Self::Buffer,
    ) -> Result<()>;

    /// `out[rows, inputs] = delta[rows, outputs] @ weights[inputs, outputs]^T`, added to `out` where `adds`; the weights begin at element
    /// `begin` of their buffer.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn source_delta(
        &self,
        delta: &Self::Buffer,
        weights: (&Self::Buffer, usize),
        shape: Shape,
        adds: bool,
        out: &mut Self::Buffer,
    ) -> Result<()>;

    // Elementwise operations.

    /// Adds a bias to each of `rows` rows of `size` values.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn add_bias(
        &self,
        bias: &Self::Buffer,
        rows: usize,
        size: usize,
        sums: &mut Self::Buffer,
    ) -> Result<()>;

    /// `values[rows, size] = activation(sums[rows, size])`, softmax along rows.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn activate(
        &self,
        activation: Activation,
        sums: &Self::Buffer,
        rows: usize,
        size: usize,
        values: &mut Self::Buffer,
    ) -> Result<()>;

    /// Multiplies the gradient by a layer's values with the slope of its activation. `sums` are there where the slope needs them.
    ///
    /// # Errors
    ///
    /// The activation has no slope; the device fails.
    fn apply_slope(
        &self,
        activation: Activation,
        sums: &Self::Buffer,
        values: &Self::Buffer,
        rows: usize,
        size: usize,
        delta: &mut Self::Buffer,
    ) -> Result<()>;

    /// Values of a layer with a state over `steps` steps of each sample; `sums[samples, steps, size]` become its potentials.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn step_state(
        &self,
        temporal: Temporal,
        extent: Extent,
        sums: &mut Self::Buffer,
        values: &mut Self::Buffer,
    ) -> Result<()>;

    /// The gradient by a state layer's values becomes the one by its inputs, through all steps.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn step_state_back(
        &self,
        temporal: Temporal,
        extent: Extent,
        potentials: &Self::Buffer,
        delta: &mut Self::Buffer,
    ) -> Result<()>;

    /// Copies `from[rows, columns.width]` to some columns of `to[rows, columns.of]`.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn copy_columns(
        &self,
        from: &Self::Buffer,
        rows: usize,
        columns: ColumnRange,
        to: &mut Self::Buffer,
    ) -> Result<()>;

    /// `rows[samples, steps, size] = means[samples, size] / steps`.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn spread_over_steps(
        &self,
        means: &Self::Buffer,
        extent: Extent,
        rows: &mut Self::Buffer,
    ) -> Result<()>;

    // Reductions.

    /// Position and value of the first of `len` values that is NaN or infinite.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn first_not_finite(&self, values: &Self::Buffer, len: usize) -> Result<Option<(usize, f32)>>;

    /// Whether no value of these buffers is NaN or infinite.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn are_finite(&self, buffers: &[&Self::Buffer]) -> Result<bool> {
        for buffer in buffers {
            if self.first_not_finite(buffer, self.len(buffer))?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `sums[size]` of the columns of `values[rows, size]`.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn column_sums(
        &self,
        values: &Self::Buffer,
        rows: usize,
        size: usize,
        sums: &mut Self::Buffer,
    ) -> Result<()>;

    /// `means[samples, size]` over the steps of `rows[samples, steps, size]`.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn mean_of_steps(
        &self,
        rows: &Self::Buffer,
        extent: Extent,
        means: &mut Self::Buffer,
    ) -> Result<()>;

    /// Cross entropy of `sums[samples, size]`: their softmax goes to `values`, the gradient by the sums, divided by the batch, to `delta`.
    ///
    /// # Errors
    ///
    /// A target is NaN, infinite or negative; the device fails.
    fn cross_entropy(
        &self,
        targets: (&Targets<'_>, &[u32], Columns),
        sums: &Self::Buffer,
        values: &mut Self::Buffer,
        delta: &mut Self::Buffer,
    ) -> Result<Score>;

    /// Squared errors of `values[samples, size]`; the gradient by them, divided by batch and outputs, goes to `delta`.
    ///
    /// # Errors
    ///
    /// A target is NaN or infinite; the device fails.
    fn squared_error(
        &self,
        targets: (&Targets<'_>, &[u32], Columns),
        values: &Self::Buffer,
        delta: &mut Self::Buffer,
    ) -> Result<Score>;

    // Updates.

    /// Adds `penalty * weights` to the gradients, and the squared weights to `squares`.
    ///
    /// # Errors
    ///
    /// The device fails.
    fn add_penalty(
        &self,
        weights: &Self::Buffer,
        penalty: f32,
        gradients: &mut Self::Buffer,
        squares: &mut f64,
    ) -> Result<()>;

    /// Changes weights by their gradients; `slots` are the numbers that the optimizer keeps for them.
    ///
    /// # Errors
    ///
    /// Memory is out; the device fails.
    fn update(
        &self,
        optimizer: Optimizer,
        size: StepSize,
        gradients: &Self::Buffer,
        slots: &mut [Self::Buffer],
        weights: &mut Self::Buffer,
    ) -> Result<()>;
}
