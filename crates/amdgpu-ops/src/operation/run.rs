//! Operations computed again.

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use amdgpu_matrix::ConvolvePass;

use super::{Operation, Product};
use crate::attention::{self, Attention};
use crate::batch_norm::ChannelParameters;
use crate::convolve::Convolution;
use crate::cpu::{Outs, Results};
use crate::loss::{self, ClassInputs};
use crate::matmul::Matmul;
use crate::pool::Pooling;
use crate::{
    DeviceOps, Error, Operand, Result, batch_norm, blocks, complex, convolve, cpu, cumulative_best,
    embedding, normalize, offsets, pool, segments, sort, top_k, transpose,
};

impl Product {
    fn run(&self, ops: &DeviceOps, inputs: &[Operand], out: Option<&Array>) -> Result<Array> {
        let call = Matmul {
            out,
            precision: self.precision,
            transpose_a: self.transpose_a,
            transpose_b: self.transpose_b,
            bias: self.has_bias.then(|| &inputs[2]),
            residual: self
                .has_residual
                .then(|| &inputs[2 + usize::from(self.has_bias)]),
            activation: self.activation,
            alpha: self.alpha,
            ..Matmul::of(&inputs[0], &inputs[1])
        };
        complex::matmul(ops, &call)
    }
}

impl Operation {
    /// The first result, in `out` where it is given.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs; those of the family's function.
    pub fn run(&self, ops: &DeviceOps, inputs: &[Operand], out: Option<&Array>) -> Result<Array> {
        cpu::only(self.run_all(ops, inputs, &[out])?)
    }

    /// All results, in `outs` where they are given.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub fn run_all(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        outs: &[Option<&Array>],
    ) -> Result<Results> {
        self.check_count(inputs.len())?;
        if self.results() > 1 {
            return self.run_several(ops, inputs, outs);
        }
        let out = outs.first().copied().flatten();
        Ok(Results::from_iter([self.run_one(ops, inputs, out)?]))
    }

    fn run_several(&self, ops: &DeviceOps, inputs: &[Operand], outs: &Outs<'_>) -> Result<Results> {
        let x = &inputs[0];
        match self {
            Self::TopK(options) => top_k::top_k_into(ops, x, options, outs),
            Self::CumulativeBest(options) => {
                cumulative_best::cumulative_best_into(ops, x, options, outs)
            }
            Self::PoolPass {
                operation,
                options,
                direction,
            } => pool::pool_into(
                ops,
                *operation,
                (direction.pooling(), inputs),
                outs,
                options,
            ),
            Self::BatchNormGradient(options) => {
                let made =
                    batch_norm::batch_norm_gradient(ops, x, &inputs[1], inputs.get(2), *options)?;
                cpu::delivered(made.into_results(), outs)
            }
            Self::AttentionGradient(options) => attention::attention_gradient_into(
                ops,
                &attended(inputs, 4),
                &inputs[3],
                options,
                outs,
            ),
            _ => Err(Error::refused(
                ErrorCode::Internal,
                format!("{} has one result", self.name()),
            )),
        }
    }

    fn run_one(&self, ops: &DeviceOps, inputs: &[Operand], out: Option<&Array>) -> Result<Array> {
        match self {
            Self::Elementwise { operation, alpha } => operation.compute(ops, inputs, out, *alpha),
            Self::Cast { dtype } => complex::cast(ops, &inputs[0], *dtype, out),
            Self::Copy => complex::cast(ops, &inputs[0], inputs[0].dtype, out),
            Self::Transpose { axes } => transpose::transpose(ops, &inputs[0], axes.as_deref(), out),
            Self::Reduce(reduction) => complex::reduce(
                ops,
                reduction.operation,
                &inputs[0],
                out,
                &reduction.options(),
            ),
            Self::Scan(options) => complex::scan(ops, &inputs[0], options, out),
            Self::Normalize(norm) => normalize::normalize(
                ops,
                norm.operation,
                &inputs[0],
                &inputs[1..],
                out,
                &norm.options(),
            ),
            Self::Matmul(product) => product.run(ops, inputs, out),
            Self::Convolve { options, is_tf32 } => {
                let call = Convolution {
                    pass: ConvolvePass::Forward,
                    options: *options,
                    shape: &[],
                    is_tf32: *is_tf32,
                };
                convolve::convolve(ops, inputs, out, &call)
            }
            Self::Pool { operation, options } => {
                let forward = (Pooling::Forward, inputs);
                cpu::only(pool::pool(ops, *operation, forward, out, options)?)
            }
            Self::Embedding => embedding::embedding(ops, &inputs[0], &inputs[1], out),
            Self::Sort(options) => delivered(sort::sorted(ops, &inputs[0], options)?, out),
            Self::BatchNorm {
                options,
                has_weight,
                has_bias,
            } => {
                let mut following = inputs[3..].iter();
                let parameters = ChannelParameters {
                    weight: has_weight.then(|| following.next()).flatten(),
                    bias: has_bias.then(|| following.next()).flatten(),
                };
                let statistics = (&inputs[1], &inputs[2]);
                delivered(
                    batch_norm::batch_norm(ops, &inputs[0], statistics, parameters, *options)?,
                    out,
                )
            }
            _ => self.run_indexed(ops, inputs, out),
        }
    }

    /// Operations of indices and places.
    fn run_indexed(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
    ) -> Result<Array> {
        let outs = &[out];
        match self {
            Self::Gather { shape, strides } => {
                let (x, offsets) = (memory(&inputs[0])?, memory(&inputs[1])?);
                delivered(blocks::gather(ops, x, offsets, (shape, strides))?, out)
            }
            Self::Scatter {
                shape,
                strides,
                how,
            } => {
                let [target, offsets, values] = three(inputs);
                let block = (shape.as_slice(), strides.as_slice());
                blocks::scatter_into(ops, [target, offsets, values], block, *how, out)
            }
            Self::Offsets(axes) => cpu::only(offsets::along_into(ops, inputs, axes, outs)?),
            Self::SearchSorted { right } => {
                let both = (&inputs[0], &inputs[1]);
                cpu::only(sort::searchsorted_into(ops, both, *right, outs)?)
            }
            Self::SegmentReduce { options, count } => {
                let both = (&inputs[0], &inputs[1]);
                cpu::only(segments::segment_reduce_into(
                    ops, both, *count, options, outs,
                )?)
            }
            Self::IndexAdd { axis } => {
                cpu::only(segments::index_add_into(ops, three(inputs), *axis, outs)?)
            }
            Self::ScatterReduce(options) => cpu::only(segments::scatter_reduce_into(
                ops,
                three(inputs),
                options,
                outs,
            )?),
            _ => self.run_trained(ops, inputs, out),
        }
    }

    /// Losses, attention and gradients.
    fn run_trained(
        &self,
        ops: &DeviceOps,
        inputs: &[Operand],
        out: Option<&Array>,
    ) -> Result<Array> {
        let x = &inputs[0];
        match self {
            Self::Attention(options) => cpu::only(attention::attention_into(
                ops,
                &attended(inputs, 3),
                options,
                &[out],
            )?),
            Self::ClassLoss {
                options,
                has_weight,
                is_gradient,
            } => {
                let given = ClassInputs {
                    x,
                    target: &inputs[1],
                    weight: has_weight.then(|| &inputs[2]),
                    gradient: inputs.last().filter(|_| *is_gradient),
                };
                cpu::only(loss::class_loss_into(ops, &given, options, &[out])?)
            }
            Self::PoolPass {
                operation,
                options,
                direction,
            } => {
                let given = (direction.pooling(), inputs);
                cpu::only(pool::pool_into(ops, *operation, given, &[out], options)?)
            }
            Self::ConvolveGradient {
                pass,
                options,
                shape,
                is_tf32,
            } => {
                let call = Convolution {
                    pass: *pass,
                    options: *options,
                    shape,
                    is_tf32: *is_tf32,
                };
                convolve::convolve(ops, inputs, out, &call)
            }
            Self::NormalizeGradient(norm) => normalize::normalize_gradient(
                ops,
                norm.operation,
                x,
                &inputs[1],
                inputs.get(2),
                out,
                &norm.options(),
            ),
            _ => Err(Error::refused(
                ErrorCode::Internal,
                format!("{} is not computed by itself", self.name()),
            )),
        }
    }
}

/// Queries, keys and values, and the mask behind what else there is.
fn attended(inputs: &[Operand], mask: usize) -> Attention<'_> {
    Attention {
        q: &inputs[0],
        k: &inputs[1],
        v: &inputs[2],
        mask: inputs.get(mask),
    }
}

fn three(inputs: &[Operand]) -> [&Operand; 3] {
    [&inputs[0], &inputs[1], &inputs[2]]
}

fn memory(operand: &Operand) -> Result<&Array> {
    operand.array.as_ref().ok_or_else(|| {
        Error::refused(
            ErrorCode::InvalidArgument,
            "gather takes arrays, not numbers",
        )
    })
}

/// The result where it is wanted, for functions that make a new array.
fn delivered(made: Array, out: Option<&Array>) -> Result<Array> {
    cpu::only(cpu::delivered(Results::from_iter([made]), &[out])?)
}
