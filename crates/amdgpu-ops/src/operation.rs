//! Operations as values: what a graph holds, and how it is computed again.

mod describe;

use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_matrix::{
    ConvolveOptions, Normalize, NormalizeOptions, Pool, PoolOptions, Reduce, ReduceOptions,
    RowAxes, ScanOptions, SortOptions,
};

use crate::batch_norm::{BatchNormOptions, ChannelParameters};
use crate::convolve::Convolution;
use crate::matmul::{Activation, Matmul};
use crate::pool::Pooling;
use crate::{DeviceOps, Error, Named, Operand, Result};
use crate::{
    batch_norm, blocks, complex, convolve, cpu, embedding, normalize, pool, sort, strided,
    transpose,
};

/// An operation with its options, without its operands. Each has one result.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Broadcasts its inputs. `alpha` is the slope of `leaky_relu` and the scale of `elu`.
    Elementwise {
        operation: Named,
        alpha: f64,
    },
    /// The elements in another dtype.
    Cast {
        dtype: Dtype,
    },
    /// The elements in row-major order without gaps.
    Copy,
    /// `None` reverses the axes.
    Transpose {
        axes: Option<Dims>,
    },
    Reduce(Reduction),
    Scan(ScanOptions),
    Sort(SortOptions),
    Normalize(Normalization),
    Matmul(Product),
    /// Images, weight and, where there is one, bias.
    Convolve {
        options: ConvolveOptions,
        is_tf32: bool,
    },
    Pool {
        operation: Pool,
        options: PoolOptions,
    },
    /// Table and indices.
    Embedding,
    /// An array and the offsets of blocks in it, in elements: blocks of that shape whose elements lie so far apart.
    Gather {
        shape: Dims,
        strides: Dims,
    },
    /// Images, mean, variance, then the factors and the addends that are there.
    BatchNorm {
        options: BatchNormOptions,
        has_weight: bool,
        has_bias: bool,
    },
}

/// As [`ReduceOptions`], with the operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    pub operation: Reduce,
    /// `None` for all.
    pub axes: Option<Dims>,
    pub keeps_axes: bool,
    pub correction: f64,
    pub result: Option<Dtype>,
}

impl Reduction {
    #[must_use]
    pub fn of(operation: Reduce, options: &ReduceOptions<'_>) -> Self {
        Self {
            operation,
            axes: options.axes.map(Dims::from_slice),
            keeps_axes: options.keeps_axes,
            correction: options.correction,
            result: options.result,
        }
    }

    #[must_use]
    pub fn options(&self) -> ReduceOptions<'_> {
        ReduceOptions {
            axes: self.axes.as_deref(),
            keeps_axes: self.keeps_axes,
            correction: self.correction,
            result: self.result,
            thread_limit: None,
        }
    }
}

/// As [`NormalizeOptions`], with the operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalization {
    pub operation: Normalize,
    /// By index, or the last ones, which have these extents.
    pub axes: Dims,
    pub are_last: bool,
    pub epsilon: f64,
}

impl Normalization {
    #[must_use]
    pub fn of(operation: Normalize, options: &NormalizeOptions<'_>) -> Self {
        let (axes, are_last) = match options.axes {
            RowAxes::Named(axes) => (axes, false),
            RowAxes::Last(extents) => (extents, true),
        };
        Self {
            operation,
            axes: Dims::from_slice(axes),
            are_last,
            epsilon: options.epsilon,
        }
    }

    #[must_use]
    pub fn options(&self) -> NormalizeOptions<'_> {
        NormalizeOptions {
            axes: if self.are_last {
                RowAxes::Last(&self.axes)
            } else {
                RowAxes::Named(&self.axes)
            },
            epsilon: self.epsilon,
            thread_limit: None,
        }
    }
}

/// As [`Matmul`] without a `beta`: the two factors, then the bias and the residual that are there.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "options of a call")]
pub struct Product {
    pub precision: Option<Precision>,
    pub transpose_a: bool,
    pub transpose_b: bool,
    pub has_bias: bool,
    pub has_residual: bool,
    pub activation: Activation,
    pub alpha: f64,
}

impl Product {
    /// `a @ b` and nothing else.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            precision: None,
            transpose_a: false,
            transpose_b: false,
            has_bias: false,
            has_residual: false,
            activation: Activation::Identity,
            alpha: 1.0,
        }
    }

    /// What a call asks for, but for its `beta`.
    #[must_use]
    pub fn of(call: &Matmul<'_>) -> Self {
        Self {
            precision: call.precision,
            transpose_a: call.transpose_a,
            transpose_b: call.transpose_b,
            has_bias: call.bias.is_some(),
            has_residual: call.residual.is_some(),
            activation: call.activation,
            alpha: call.alpha,
        }
    }

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
    /// As `amdgpu.ops` calls it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Elementwise { operation, .. } => operation.name(),
            Self::Cast { .. } => "cast",
            Self::Copy => "copy",
            Self::Transpose { .. } => "transpose",
            Self::Reduce(reduction) => reduction.operation.name(),
            Self::Scan(options) => options.name(),
            Self::Sort(options) => options.name(),
            Self::Normalize(norm) => norm.operation.name(),
            Self::Matmul(_) => "matmul",
            Self::Convolve { options, .. } => options.operation.name(),
            Self::Pool { operation, .. } => operation.name(),
            Self::Embedding => "embedding",
            Self::Gather { .. } => "gather",
            Self::BatchNorm { .. } => "batch_norm",
        }
    }

    /// The result, in `out` where it is given.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs; those of the family's function.
    pub fn run(&self, ops: &DeviceOps, inputs: &[Operand], out: Option<&Array>) -> Result<Array> {
        self.check_count(inputs.len())?;
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
                    pass: amdgpu_matrix::ConvolvePass::Forward,
                    options: *options,
                    shape: &[],
                    is_tf32: *is_tf32,
                };
                convolve::convolve(ops, inputs, out, &call)
            }
            Self::Pool { operation, options } => cpu::only(pool::pool(
                ops,
                *operation,
                (Pooling::Forward, inputs),
                out,
                options,
            )?),
            Self::Embedding => embedding::embedding(ops, &inputs[0], &inputs[1], out),
            Self::Gather { shape, strides } => {
                let (x, offsets) = (memory(&inputs[0])?, memory(&inputs[1])?);
                delivered(blocks::gather(ops, x, offsets, (shape, strides))?, out)
            }
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
        }
    }

    /// Numbers of inputs that it takes, at least and at most.
    #[must_use]
    pub fn arity(&self) -> (usize, usize) {
        let exactly = |count| (count, count);
        match self {
            Self::Elementwise { operation, .. } => exactly(operation.inputs().len()),
            Self::Normalize(norm) => (1, 1 + norm.operation.parameter_names().len()),
            Self::Matmul(product) => {
                exactly(2 + usize::from(product.has_bias) + usize::from(product.has_residual))
            }
            Self::Convolve { .. } => (2, 3),
            Self::Embedding | Self::Gather { .. } => exactly(2),
            Self::BatchNorm {
                has_weight,
                has_bias,
                ..
            } => exactly(3 + usize::from(*has_weight) + usize::from(*has_bias)),
            _ => exactly(1),
        }
    }

    /// Refuses a number of inputs that it does not take.
    ///
    /// # Errors
    ///
    /// `invalid-argument`.
    pub fn check_count(&self, count: usize) -> Result<()> {
        let (least, most) = self.arity();
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let wanted = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("{} takes {wanted} inputs, not {count}", self.name()),
        ))
    }
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
    let Some(out) = out else {
        return Ok(made);
    };
    strided::copy(out, &made)?;
    Ok(out.clone())
}
