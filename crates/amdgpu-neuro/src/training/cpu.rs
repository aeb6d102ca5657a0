//! Training on this machine's cores: the Matrix core multiplies, loops over slices do the rest.

use std::sync::Arc;

use amdgpu_abi::{ACTIVATION_IDENTITY, ACTIVATION_SOFTMAX, Activation, Language};
use amdgpu_math::Math;
use amdgpu_matrix::{MatmulOptions, Matrix, TensorView, TensorViewMut};

use super::loss::{self, Columns, Score, Targets};
use super::operations::{ColumnRange, Extent, Operations, Shape, Tensors, TensorsRef};
use super::optimizer::{self, Arithmetic, Optimizer, StepSize};
use super::slope;
use crate::backend::{DenseBackend, DenseBackendKind, DenseCall};
use crate::error::{Error, Result};
use crate::finite;
use crate::forward::{copy_columns, softmax_rows};
use crate::layered_network::LayeredNetwork;
use crate::parameters::zeros;
use crate::temporal::{Temporal, mean_of_steps, spread_over_steps};

/// See the module.
pub struct CpuOperations {
    dense: Arc<dyn DenseBackend>,
    matrix: &'static Matrix,
    arithmetic: Arithmetic,
}

impl CpuOperations {
    /// With `uses_math_core` the Math core (Julia) does the optimizer's arithmetic; the bits are the same.
    ///
    /// # Errors
    ///
    /// The Matrix core, or Julia where it is asked for, is missing.
    pub fn open(uses_math_core: bool) -> Result<Self> {
        Ok(Self {
            dense: DenseBackendKind::Matrix.open()?,
            matrix: Matrix::global().map_err(|error| Error::from_core(&error))?,
            arithmetic: if uses_math_core {
                Arithmetic::Julia(Math::global().map_err(|error| Error::from_core(&error))?)
            } else {
                Arithmetic::Rust
            },
        })
    }
}

impl Operations for CpuOperations {
    type Buffer = Vec<f32>;

    fn language(&self) -> Language {
        self.dense.language()
    }

    fn zeros(&self, len: usize, what: &dyn Fn() -> String) -> Result<Vec<f32>> {
        zeros(len, what)
    }

    fn len(&self, buffer: &Vec<f32>) -> usize {
        buffer.len()
    }

    fn write(&self, values: &[f32], to: &mut Vec<f32>) -> Result<()> {
        to[..values.len()].copy_from_slice(values);
        Ok(())
    }

    fn read(&self, from: &Vec<f32>) -> Result<Vec<f32>> {
        let mut copy = zeros(from.len(), || "a copy of what is trained".to_owned())?;
        copy.copy_from_slice(from);
        Ok(copy)
    }

    fn copy(&self, from: &Vec<f32>, to: &mut Vec<f32>) -> Result<()> {
        to.copy_from_slice(from);
        Ok(())
    }

    fn gather_rows(
        &self,
        rows: &[f32],
        width: usize,
        chosen: &[u32],
        to: &mut Vec<f32>,
    ) -> Result<()> {
        for (row, &number) in to.chunks_exact_mut(width).zip(chosen) {
            row.copy_from_slice(&rows[number as usize * width..][..width]);
        }
        Ok(())
    }

    fn with_parameters<T>(
        &self,
        network: &LayeredNetwork,
        work: impl FnOnce(TensorsRef<'_, Vec<f32>>) -> Result<T>,
    ) -> Result<T> {
        let parameters = network.read()?;
        work(TensorsRef {
            weights: &parameters.weights,
            biases: &parameters.biases,
        })
    }

    fn commit(&self, network: &LayeredNetwork, next: &mut Tensors<Vec<f32>>) -> Result<()> {
        let mut parameters = network.write()?;
        let lens = |tensors: TensorsRef<'_, Vec<f32>>| -> Vec<usize> {
            tensors.iter().map(Vec::len).collect()
        };
        let current = TensorsRef {
            weights: &parameters.weights,
            biases: &parameters.biases,
        };
        if lens(current) != lens(next.as_ref()) {
            return Err(super::tensors::other_tensors());
        }
        std::mem::swap(&mut parameters.weights, &mut next.weights);
        std::mem::swap(&mut parameters.biases, &mut next.biases);
        Ok(())
    }

    fn dense(
        &self,
        x: &Vec<f32>,
        weights: &Vec<f32>,
        bias: Option<&Vec<f32>>,
        shape: Shape,
        activation: Activation,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        let Shape {
            rows,
            inputs,
            outputs,
        } = shape;
        let call = DenseCall {
            x: &x[..rows * inputs],
            weight: weights,
            bias: bias.map(Vec::as_slice),
            batch: rows,
            inputs,
            outputs,
            activation,
        };
        self.dense.dense_forward(&call, &mut out[..rows * outputs])
    }

    fn weight_gradient(
        &self,
        values: &Vec<f32>,
        delta: &Vec<f32>,
        shape: Shape,
        begin: usize,
        gradient: &mut Vec<f32>,
    ) -> Result<()> {
        let out = &mut gradient[begin..begin + shape.inputs * shape.outputs];
        let [wide, tall, deep] = dimensions(shape);
        let mut multiply = || {
            let delta_shape = [deep, wide];
            let delta = TensorView::from_slice(&delta[..shape.rows * shape.outputs], &delta_shape)?;
            let (transposed, strides) = ([tall, deep], [1, tall]);
            let values = &values[..shape.rows * shape.inputs];
            let values = TensorView::from_strided(values, 0, &transposed, &strides)?;
            let out_shape = [tall, wide];
            let mut out = TensorViewMut::from_slice(out, &out_shape)?;
            self.matrix
                .matmul(&values, &delta, &mut out, &MatmulOptions::default())
        };
        multiply().map_err(|error| Error::from_core(&error))
    }

    fn source_delta(
        &self,
        delta: &Vec<f32>,
        (weights, begin): (&Vec<f32>, usize),
        shape: Shape,
        adds: bool,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        let weights = &weights[begin..begin + shape.inputs * shape.outputs];
        let out = &mut out[..shape.rows * shape.inputs];
        let [wide, tall, deep] = dimensions(shape);
        let mut multiply = || {
            let delta_shape = [deep, wide];
            let delta = TensorView::from_slice(&delta[..shape.rows * shape.outputs], &delta_shape)?;
            let (transposed, strides) = ([wide, tall], [1, wide]);
            let weights = TensorView::from_strided(weights, 0, &transposed, &strides)?;
            let out_shape = [deep, tall];
            let options = MatmulOptions {
                beta: f64::from(u8::from(adds)),
                ..MatmulOptions::default()
            };
            let mut out = TensorViewMut::from_slice(out, &out_shape)?;
            self.matrix.matmul(&delta, &weights, &mut out, &options)
        };
        multiply().map_err(|error| Error::from_core(&error))
    }

    fn add_bias(
        &self,
        bias: &Vec<f32>,
        rows: usize,
        size: usize,
        sums: &mut Vec<f32>,
    ) -> Result<()> {
        for row in sums[..rows * size].chunks_exact_mut(size) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value += bias;
            }
        }
        Ok(())
    }

    /// As a dense layer of one input and one output over all values, so that the activation is the backend's.
    fn activate(
        &self,
        activation: Activation,
        sums: &Vec<f32>,
        rows: usize,
        size: usize,
        values: &mut Vec<f32>,
    ) -> Result<()> {
        let len = rows * size;
        let (sums, values) = (&sums[..len], &mut values[..len]);
        match activation.kind {
            ACTIVATION_IDENTITY => values.copy_from_slice(sums),
            ACTIVATION_SOFTMAX => softmax_rows(sums, values, size),
            _ => {
                let call = DenseCall {
                    x: sums,
                    weight: &[1.0],
                    bias: None,
                    batch: len,
                    inputs: 1,
                    outputs: 1,
                    activation,
                };
                self.dense.dense_forward(&call, values)?;
            }
        }
        Ok(())
    }

    fn apply_slope(
        &self,
        activation: Activation,
        sums: &Vec<f32>,
        values: &Vec<f32>,
        rows: usize,
        size: usize,
        delta: &mut Vec<f32>,
    ) -> Result<()> {
        let len = rows * size;
        let sums = sums.get(..len).unwrap_or_default();
        slope::apply(activation, sums, &values[..len], size, &mut delta[..len])
    }

    fn step_state(
        &self,
        temporal: Temporal,
        extent: Extent,
        sums: &mut Vec<f32>,
        values: &mut Vec<f32>,
    ) -> Result<()> {
        let Extent { steps, size, .. } = extent;
        let len = extent.samples * steps * size;
        temporal.forward(steps, size, &mut sums[..len], &mut values[..len]);
        Ok(())
    }

    fn step_state_back(
        &self,
        temporal: Temporal,
        extent: Extent,
        potentials: &Vec<f32>,
        delta: &mut Vec<f32>,
    ) -> Result<()> {
        let Extent { steps, size, .. } = extent;
        let len = extent.samples * steps * size;
        let potentials = potentials.get(..len).unwrap_or_default();
        temporal.backward(steps, size, potentials, &mut delta[..len]);
        Ok(())
    }

    fn copy_columns(
        &self,
        from: &Vec<f32>,
        rows: usize,
        columns: ColumnRange,
        to: &mut Vec<f32>,
    ) -> Result<()> {
        let ColumnRange { of, first, width } = columns;
        copy_columns(&from[..rows * width], width, to, of, first);
        Ok(())
    }

    fn spread_over_steps(
        &self,
        means: &Vec<f32>,
        extent: Extent,
        rows: &mut Vec<f32>,
    ) -> Result<()> {
        let Extent { steps, size, .. } = extent;
        let len = extent.samples * size;
        spread_over_steps(&means[..len], steps, size, &mut rows[..len * steps]);
        Ok(())
    }

    fn first_not_finite(&self, values: &Vec<f32>, len: usize) -> Result<Option<(usize, f32)>> {
        let place = finite::first_not_finite(&values[..len]);
        Ok(place.map(|place| (place, values[place])))
    }

    fn column_sums(
        &self,
        values: &Vec<f32>,
        rows: usize,
        size: usize,
        sums: &mut Vec<f32>,
    ) -> Result<()> {
        sums.fill(0.0);
        for row in values[..rows * size].chunks_exact(size) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += value;
            }
        }
        Ok(())
    }

    fn mean_of_steps(&self, rows: &Vec<f32>, extent: Extent, means: &mut Vec<f32>) -> Result<()> {
        let Extent { steps, size, .. } = extent;
        let len = extent.samples * size;
        mean_of_steps(&rows[..len * steps], steps, size, &mut means[..len]);
        Ok(())
    }

    fn cross_entropy(
        &self,
        (targets, samples, columns): (&Targets<'_>, &[u32], Columns),
        sums: &Vec<f32>,
        values: &mut Vec<f32>,
        delta: &mut Vec<f32>,
    ) -> Result<Score> {
        let len = samples.len() * columns.size;
        let (values, delta) = (&mut values[..len], &mut delta[..len]);
        loss::cross_entropy(targets, samples, columns, &sums[..len], values, delta)
    }

    fn squared_error(
        &self,
        (targets, samples, columns): (&Targets<'_>, &[u32], Columns),
        values: &Vec<f32>,
        delta: &mut Vec<f32>,
    ) -> Result<Score> {
        let len = samples.len() * columns.size;
        loss::squared_error(targets, samples, columns, &values[..len], &mut delta[..len])
    }

    fn add_penalty(
        &self,
        weights: &Vec<f32>,
        penalty: f32,
        gradients: &mut Vec<f32>,
        squares: &mut f64,
    ) -> Result<()> {
        for (gradient, weight) in gradients.iter_mut().zip(weights) {
            *gradient += penalty * weight;
            *squares += f64::from(*weight) * f64::from(*weight);
        }
        Ok(())
    }

    fn update(
        &self,
        optimizer: Optimizer,
        size: StepSize,
        gradients: &Vec<f32>,
        slots: &mut [Vec<f32>],
        weights: &mut Vec<f32>,
    ) -> Result<()> {
        optimizer::update(optimizer, self.arithmetic, size, gradients, slots, weights)
    }
}

/// Outputs, inputs and rows as the Matrix core counts.
fn dimensions(shape: Shape) -> [i64; 3] {
    [shape.outputs, shape.inputs, shape.rows].map(|size| size as i64)
}
