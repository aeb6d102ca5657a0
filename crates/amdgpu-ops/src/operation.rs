//! Operations as values: what a graph holds, and how it is computed again.

mod describe;
mod run;

pub use describe::Described;

use amdgpu_abi::dtypes::Precision;
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Dims;
use amdgpu_matrix::{
    AttentionOptions, ClassLossOptions, ConvolveOptions, ConvolvePass, IndexedAxis, JoinOptions,
    Normalize, NormalizeOptions, Pool, PoolOptions, Reduce, ReduceOptions, RowAxes, ScanOptions,
    SortOptions, TopKOptions,
};

use crate::batch_norm::BatchNormOptions;
use crate::blocks::Scatter;
use crate::matmul::{Activation, Matmul};
use crate::pool::{Direction, Pooling};
use crate::segments::ScatterReduce;
use crate::{Error, Named, Result};

/// An operation with its options, without its operands.
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
    /// Values and indices.
    TopK(TopKOptions),
    /// The best value up to each element, and its index.
    CumulativeBest(ScanOptions),
    /// A sorted line and values.
    SearchSorted {
        right: bool,
    },
    /// Values and indices of a pooling of images; its gradients and what undoes it, of what [`Pooling::input_names`] says.
    PoolPass {
        operation: Pool,
        options: PoolOptions,
        direction: Direction,
    },
    /// The gradient by images or by the weight, of that shape, of what [`ConvolvePass::input_names`] says.
    ConvolveGradient {
        pass: ConvolvePass,
        options: ConvolveOptions,
        shape: Dims,
        is_tf32: bool,
    },
    /// By x, of x, the gradient of the result and, where there is one, the weight.
    NormalizeGradient(Normalization),
    /// By x, weight and bias, of x, the gradient of the result and, where there is one, the weight.
    BatchNormGradient(BatchNormOptions),
    /// Queries, keys, values and, where there is one, a mask.
    Attention(AttentionOptions),
    /// By queries, keys and values, of these, the gradient of the result and, where there is one, the mask.
    AttentionGradient(AttentionOptions),
    /// Of x, targets and, where they are there, the weights of the classes and the gradient of the result.
    ClassLoss {
        options: ClassLossOptions,
        has_weight: bool,
        is_gradient: bool,
    },
    /// Values joined by their rows.
    SegmentReduce {
        options: JoinOptions,
        count: Option<i64>,
    },
    /// x, indices and values.
    IndexAdd {
        axis: i64,
    },
    /// x, indices and values.
    ScatterReduce(ScatterReduce),
    /// Where the elements lie that arrays of indices name, one for each axis.
    Offsets(Vec<IndexedAxis>),
    /// An array, offsets of blocks in it, in elements, and what is put there: the array afterwards.
    Scatter {
        shape: Dims,
        strides: Dims,
        how: Scatter,
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
            Self::Scan(options) | Self::CumulativeBest(options) => options.name(),
            Self::Sort(options) => options.name(),
            Self::Normalize(norm) => norm.operation.name(),
            Self::Matmul(_) => "matmul",
            Self::Convolve { options, .. } | Self::ConvolveGradient { options, .. } => {
                options.operation.name()
            }
            Self::Pool { operation, .. } | Self::PoolPass { operation, .. } => operation.name(),
            Self::Embedding => "embedding",
            Self::Gather { .. } => "gather",
            Self::BatchNorm { .. } => "batch_norm",
            Self::TopK(_) => "top_k",
            Self::SearchSorted { .. } => "searchsorted",
            Self::NormalizeGradient(norm) => norm.operation.gradient_name(),
            Self::BatchNormGradient(_) => "batch_norm_gradient",
            Self::Attention(_) => "scaled_dot_product_attention",
            Self::AttentionGradient(_) => "scaled_dot_product_attention_gradient",
            Self::ClassLoss {
                options,
                is_gradient,
                ..
            } => options.loss.name(*is_gradient),
            Self::SegmentReduce { options, .. } => options.name,
            Self::IndexAdd { .. } => "index_add",
            Self::ScatterReduce(_) => "scatter_reduce",
            Self::Offsets(_) => "offsets",
            Self::Scatter { .. } => "scatter",
        }
    }

    /// A pooling that was called.
    #[must_use]
    pub fn pool(operation: Pool, options: &PoolOptions, pooling: Pooling<'_>) -> Self {
        match Direction::of(pooling) {
            None => Self::Pool {
                operation,
                options: *options,
            },
            Some(direction) => Self::PoolPass {
                operation,
                options: *options,
                direction,
            },
        }
    }

    /// How many results it has.
    #[must_use]
    pub fn results(&self) -> usize {
        match self {
            Self::TopK(_)
            | Self::CumulativeBest(_)
            | Self::PoolPass {
                direction: Direction::WithIndices,
                ..
            } => 2,
            Self::BatchNormGradient(_) | Self::AttentionGradient(_) => 3,
            _ => 1,
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
            Self::Convolve { .. } | Self::NormalizeGradient(_) | Self::BatchNormGradient(_) => {
                (2, 3)
            }
            Self::Embedding
            | Self::Gather { .. }
            | Self::SearchSorted { .. }
            | Self::ConvolveGradient { .. }
            | Self::SegmentReduce { .. } => exactly(2),
            Self::PoolPass { direction, .. } => exactly(direction.pooling().input_names().len()),
            Self::Attention(_) => (3, 4),
            Self::AttentionGradient(_) => (4, 5),
            Self::ClassLoss {
                has_weight,
                is_gradient,
                ..
            } => exactly(2 + usize::from(*has_weight) + usize::from(*is_gradient)),
            Self::IndexAdd { .. } | Self::ScatterReduce(_) | Self::Scatter { .. } => exactly(3),
            Self::Offsets(axes) => exactly(axes.len().max(1)),
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
