//! Training on a device: weights, gradients and what the optimizer keeps lie in its memory, and `amdgpu-ops` computes.
//!
//! The host sees losses and whether numbers are finite. New weights are the network's behind each batch, and come to the host when somebody asks
//! for them, or behind an epoch.

use std::sync::Arc;

use amdgpu_abi::{Activation, Dtype, Language};
use amdgpu_array::{Array, Dims};
use amdgpu_ops::embedding::rows_on_device;
use amdgpu_ops::generated::elementwise::Body;
use amdgpu_ops::loss as losses;
use amdgpu_ops::matmul::{self, Matmul, Precision};
use amdgpu_ops::reduce::{self, Reduce, ReduceOptions};
use amdgpu_ops::{DeviceOps, Elementwise, Operand, elementwise, leaky};

use super::loss::{self, Columns, Score, Targets};
use super::operations::{ColumnRange, Extent, Operations, Shape, Tensors, TensorsRef};
use super::optimizer::{Optimizer, StepSize};
use crate::device::{self, number, numbers, part, reshaped};
use crate::error::{Error, Result};
use crate::finite;
use crate::layered_network::LayeredNetwork;
use crate::temporal::Temporal;

/// See the module.
pub struct DeviceOperations {
    ops: Arc<DeviceOps>,
    held: Option<Held>,
}

/// Samples in the device's memory.
struct Held {
    /// Address and length of the slice of the host.
    of: (usize, usize),
    rows: Array,
}

impl Held {
    fn id(rows: &[f32]) -> (usize, usize) {
        (rows.as_ptr() as usize, rows.len())
    }
}

/// Samples are held where they take at most one of so many parts of the memory that is free.
const HELD_PART: u64 = 4;

impl DeviceOperations {
    /// Operations of an open device.
    #[must_use]
    pub fn new(ops: Arc<DeviceOps>) -> Self {
        Self { ops, held: None }
    }

    /// `out = a @ b` of the layout that `call` says, in float32.
    fn multiply(&self, call: &Matmul<'_>) -> Result<()> {
        let precision = Some(Precision::Fp32);
        matmul::matmul(&self.ops, &Matmul { precision, ..*call })?;
        Ok(())
    }

    /// Whether so many numbers leave enough memory to the rest.
    fn has_room_for(&self, numbers: usize) -> Result<bool> {
        let memory = self.ops.device().device().memory_info();
        let free = memory.map_err(|error| Error::from_core(&error))?.free_bytes;
        Ok((numbers * size_of::<f32>()) as u64 <= free / HELD_PART)
    }

    /// Targets of the chosen samples on the device.
    fn targets(
        &self,
        targets: &Targets<'_>,
        samples: &[u32],
        columns: Columns,
        are_shares: bool,
    ) -> Result<Array> {
        let Columns { first, size, width } = columns;
        match targets {
            Targets::Labels(labels) => {
                let chosen = samples.iter().map(|sample| labels[*sample as usize] as i32);
                let chosen: Vec<i32> = chosen.collect();
                let shape = Dims::from_slice(&[samples.len() as i64]);
                let bytes = device::bytes_of(&chosen);
                Ok(Array::from_host(
                    self.ops.device(),
                    bytes,
                    shape,
                    Dtype::I32,
                )?)
            }
            Targets::Values(values) => {
                let mut chosen = Vec::with_capacity(samples.len() * size);
                for &sample in samples {
                    let row = &values[sample as usize * width + first..][..size];
                    for (column, value) in row.iter().enumerate() {
                        loss::check_target(*value, sample as usize, column + first, are_shares)?;
                    }
                    chosen.extend_from_slice(row);
                }
                device::upload(&self.ops, &chosen, [samples.len(), size])
            }
        }
    }
}

fn operand(array: Array) -> Operand {
    Operand::of_array(array)
}

fn sizes(extent: Extent) -> [usize; 3] {
    [extent.samples, extent.steps, extent.size]
}

fn lens(tensors: TensorsRef<'_, Array>) -> Vec<i64> {
    tensors.iter().map(Array::len).collect()
}

impl Operations for DeviceOperations {
    type Buffer = Array;

    fn language(&self) -> Language {
        Language::Rust
    }

    fn device(&self) -> Option<&str> {
        Some(self.ops.name())
    }

    fn zeros(&self, len: usize, _what: &dyn Fn() -> String) -> Result<Array> {
        let made = device::empty(&self.ops, Dims::from_slice(&[len as i64]))?;
        if len > 0 {
            made.fill(&[0; 4])?;
        }
        Ok(made)
    }

    fn len(&self, buffer: &Array) -> usize {
        buffer.len() as usize
    }

    fn write(&self, values: &[f32], to: &mut Array) -> Result<()> {
        let made = device::upload(&self.ops, values, [values.len()])?;
        let to = reshaped(to, [values.len()]);
        device::copy(&self.ops, &made, &to)
    }

    fn read(&self, from: &Array) -> Result<Vec<f32>> {
        device::read(from)
    }

    fn copy(&self, from: &Array, to: &mut Array) -> Result<()> {
        device::copy(&self.ops, from, to)
    }

    fn gather_rows(
        &self,
        rows: &[f32],
        width: usize,
        chosen: &[u32],
        to: &mut Array,
    ) -> Result<()> {
        if let Some(held) = self.held.as_ref().filter(|held| held.of == Held::id(rows)) {
            let shape = Dims::from_slice(&[chosen.len() as i64]);
            let bytes = device::bytes_of(chosen);
            let index = Array::from_host(self.ops.device(), bytes, shape, Dtype::I32)?;
            let to = reshaped(to, [chosen.len(), width]);
            return Ok(rows_on_device(
                &self.ops,
                &operand(held.rows.clone()),
                &index,
                &to,
            )?);
        }
        let mut gathered = Vec::with_capacity(width * chosen.len());
        for &number in chosen {
            gathered.extend_from_slice(&rows[number as usize * width..][..width]);
        }
        self.write(&gathered, to)
    }

    fn hold(&mut self, rows: &[f32], width: usize) -> Result<()> {
        self.held = None;
        let count = rows.len() / width.max(1);
        // Kernels take the numbers of rows as int32.
        if rows.is_empty() || i32::try_from(count).is_err() || !self.has_room_for(rows.len())? {
            return Ok(());
        }
        let made = device::upload(&self.ops, rows, [count, width])?;
        if device::are_finite(&self.ops, &[&made])? {
            let of = Held::id(rows);
            self.held = Some(Held { of, rows: made });
        }
        Ok(())
    }

    fn release(&mut self) {
        self.held = None;
    }

    fn holds(&self, rows: &[f32]) -> bool {
        self.held
            .as_ref()
            .is_some_and(|held| held.of == Held::id(rows))
    }

    fn with_parameters<T>(
        &self,
        network: &LayeredNetwork,
        work: impl FnOnce(TensorsRef<'_, Array>) -> Result<T>,
    ) -> Result<T> {
        let placed = device::placed(&self.ops, network)?;
        work(placed.tensors.as_ref())
    }

    fn commit(&self, network: &LayeredNetwork, next: &mut Tensors<Array>) -> Result<()> {
        let wanted = lens(next.as_ref());
        let placed = network.follow(next)?;
        let before = device::replace(&self.ops, network, placed);
        // What was there becomes the next batch's, if nobody reads it any more: kernels under way are before it in the same stream.
        if let Some(Ok(before)) = before.map(Arc::try_unwrap)
            && lens(before.tensors.as_ref()) == wanted
        {
            *next = before.tensors;
            return Ok(());
        }
        *next = self.with_parameters(network, |current| super::zeros_like(self, current))?;
        Ok(())
    }

    fn dense(
        &self,
        x: &Array,
        weights: &Array,
        bias: Option<&Array>,
        shape: Shape,
        activation: Activation,
        out: &mut Array,
    ) -> Result<()> {
        let Shape {
            rows,
            inputs,
            outputs,
        } = shape;
        let (x, weights) = (
            reshaped(x, [rows, inputs]),
            reshaped(weights, [inputs, outputs]),
        );
        let out = reshaped(out, [rows, outputs]);
        device::dense(&self.ops, &x, &weights, bias, activation, Some(&out))?;
        Ok(())
    }

    fn weight_gradient(
        &self,
        values: &Array,
        delta: &Array,
        shape: Shape,
        begin: usize,
        gradient: &mut Array,
    ) -> Result<()> {
        let values = operand(reshaped(values, [shape.rows, shape.inputs]));
        let delta = operand(reshaped(delta, [shape.rows, shape.outputs]));
        let out = part(gradient, begin, [shape.inputs, shape.outputs]);
        self.multiply(&Matmul {
            transpose_a: true,
            out: Some(&out),
            ..Matmul::of(&values, &delta)
        })
    }

    fn source_delta(
        &self,
        delta: &Array,
        (weights, begin): (&Array, usize),
        shape: Shape,
        adds: bool,
        out: &mut Array,
    ) -> Result<()> {
        let delta = operand(reshaped(delta, [shape.rows, shape.outputs]));
        let weights = operand(part(weights, begin, [shape.inputs, shape.outputs]));
        let out = reshaped(out, [shape.rows, shape.inputs]);
        self.multiply(&Matmul {
            transpose_b: true,
            out: Some(&out),
            beta: f64::from(u8::from(adds)),
            ..Matmul::of(&delta, &weights)
        })
    }

    fn add_bias(&self, bias: &Array, rows: usize, size: usize, sums: &mut Array) -> Result<()> {
        let sums = reshaped(sums, [rows, size]);
        let operands = [operand(sums.clone()), operand(bias.clone())];
        elementwise::on_device(&self.ops, Elementwise::Add, &operands, Some(&sums), 0.0)?;
        Ok(())
    }

    fn activate(
        &self,
        activation: Activation,
        sums: &Array,
        rows: usize,
        size: usize,
        values: &mut Array,
    ) -> Result<()> {
        let [sums, values] = [sums, &*values].map(|one| reshaped(one, [rows, size]));
        device::activate(&self.ops, activation, &sums, &values)
    }

    fn apply_slope(
        &self,
        activation: Activation,
        sums: &Array,
        values: &Array,
        rows: usize,
        size: usize,
        delta: &mut Array,
    ) -> Result<()> {
        let [sums, values, delta] = [sums, values, &*delta].map(|one| reshaped(one, [rows, size]));
        device::apply_slope(&self.ops, activation, &sums, &values, &delta)
    }

    fn step_state(
        &self,
        temporal: Temporal,
        extent: Extent,
        sums: &mut Array,
        values: &mut Array,
    ) -> Result<()> {
        let [sums, values] = [&*sums, &*values].map(|one| reshaped(one, sizes(extent)));
        let neuron = device::neuron_of(temporal);
        leaky::forward(&self.ops, neuron, sizes(extent), &sums, &values)?;
        Ok(())
    }

    fn step_state_back(
        &self,
        temporal: Temporal,
        extent: Extent,
        potentials: &Array,
        delta: &mut Array,
    ) -> Result<()> {
        let [potentials, delta] = [potentials, &*delta].map(|one| reshaped(one, sizes(extent)));
        let neuron = device::neuron_of(temporal);
        leaky::backward(&self.ops, neuron, sizes(extent), &potentials, &delta)?;
        Ok(())
    }

    fn copy_columns(
        &self,
        from: &Array,
        rows: usize,
        columns: ColumnRange,
        to: &mut Array,
    ) -> Result<()> {
        let from = reshaped(from, [rows, columns.width]);
        let to = reshaped(to, [rows, columns.of]);
        device::copy_columns(&self.ops, &from, &to, columns.first as i64)
    }

    fn spread_over_steps(&self, means: &Array, extent: Extent, rows: &mut Array) -> Result<()> {
        let means = operand(reshaped(means, [extent.samples, 1, extent.size]));
        let rows = reshaped(rows, sizes(extent));
        let body = Body::Statements {
            name: "spread".to_owned(),
            text: "return x * y;".to_owned(),
        };
        let share = number(1.0 / extent.steps as f32);
        device::compute(&self.ops, &body, &[means, share], &rows, 0.0)
    }

    fn first_not_finite(&self, values: &Array, len: usize) -> Result<Option<(usize, f32)>> {
        let values = reshaped(values, [len]);
        if device::are_finite(&self.ops, &[&values])? {
            return Ok(None);
        }
        let values = device::read(&values)?;
        let place = finite::first_not_finite(&values);
        Ok(place.map(|place| (place, values[place])))
    }

    fn are_finite(&self, buffers: &[&Array]) -> Result<bool> {
        device::are_finite(&self.ops, buffers)
    }

    fn column_sums(
        &self,
        values: &Array,
        rows: usize,
        size: usize,
        sums: &mut Array,
    ) -> Result<()> {
        let options = ReduceOptions {
            axes: Some(&[0]),
            keeps_axes: false,
            correction: 0.0,
            result: None,
            thread_limit: None,
        };
        let values = operand(reshaped(values, [rows, size]));
        reduce::on_device(&self.ops, Reduce::Sum, &values, Some(sums), &options)?;
        Ok(())
    }

    fn mean_of_steps(&self, rows: &Array, extent: Extent, means: &mut Array) -> Result<()> {
        let out = reshaped(means, [extent.samples, extent.size]);
        device::mean_of_steps(&self.ops, rows, sizes(extent), Some(&out))?;
        Ok(())
    }

    fn cross_entropy(
        &self,
        (targets, samples, columns): (&Targets<'_>, &[u32], Columns),
        sums: &Array,
        values: &mut Array,
        delta: &mut Array,
    ) -> Result<Score> {
        let shape = [samples.len(), columns.size];
        let targets = self.targets(targets, samples, columns, true)?;
        let [sums, values, delta] = [sums, &*values, &*delta].map(|one| reshaped(one, shape));
        let rows = losses::Rows {
            x: &sums,
            targets: &targets,
            delta: &delta,
            share: loss::cross_entropy_share(samples.len()),
        };
        let scores = losses::cross_entropy(&self.ops, &rows, &values)?.read()?;
        let mut score = Score::default();
        for pair in numbers(&scores, f64::from_ne_bytes).chunks_exact(2) {
            score.loss += pair[0];
            score.correct += pair[1] as u64;
        }
        Ok(score)
    }

    fn squared_error(
        &self,
        (targets, samples, columns): (&Targets<'_>, &[u32], Columns),
        values: &Array,
        delta: &mut Array,
    ) -> Result<Score> {
        let shape = [samples.len(), columns.size];
        let targets = self.targets(targets, samples, columns, false)?;
        let [values, delta] = [values, &*delta].map(|one| reshaped(one, shape));
        let rows = losses::Rows {
            x: &values,
            targets: &targets,
            delta: &delta,
            share: loss::squared_error_share(samples.len(), columns.width),
        };
        let scores = losses::squared_error(&self.ops, &rows)?.read()?;
        let sum: f64 = numbers(&scores, f64::from_ne_bytes).iter().sum();
        Ok(Score {
            loss: sum / columns.width as f64,
            correct: 0,
        })
    }

    fn add_penalty(
        &self,
        weights: &Array,
        penalty: f32,
        gradients: &mut Array,
        squares: &mut f64,
    ) -> Result<()> {
        device::add_share(&self.ops, weights, penalty, gradients)?;
        *squares += device::squares(&self.ops, weights)?;
        Ok(())
    }

    fn update(
        &self,
        optimizer: Optimizer,
        size: StepSize,
        gradients: &Array,
        slots: &mut [Array],
        weights: &mut Array,
    ) -> Result<()> {
        device::update(&self.ops, optimizer, size, gradients, slots, weights)
    }
}
