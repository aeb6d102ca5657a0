//! Shape and dtype of the result of an operation that is not computed.
//!
//! The functions that compute in memory of the host ask for the memory of the result once they have checked what they are given: here nobody
//! gives it. So the checks and the words of their errors are those of a call.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Dims;
use amdgpu_matrix::{ConvolvePass, ElementwiseOptions, TensorView, blocks_shape};

use super::{Operation, Product};
use smallvec::SmallVec;

use crate::convolve::Convolution;
use crate::cpu::{HOST, Host, HostMemory};
use crate::matmul::HostMatmul;
use crate::pool::Pooling;
use crate::{
    Error, Result, attention, batch_norm, complex, convolve, cumulative_best, embedding, loss,
    normalize, offsets, pool, segments, sort, top_k, transpose,
};

/// An address that is aligned for every dtype.
const ALIGNED: usize = 64;

/// Shape and dtype of each result.
pub type Described = SmallVec<[(Dims, Dtype); 3]>;

/// Notes what it is asked for and gives nothing.
struct Nowhere {
    /// Results of the operation.
    wanted: usize,
    asked: Described,
}

impl Host for Nowhere {
    type Error = Error;

    fn has_out(&self) -> bool {
        false
    }

    fn result(&mut self, shape: &[i64], dtype: Dtype, _: bool) -> Result<HostMemory> {
        self.asked.push((Dims::from_slice(shape), dtype));
        if self.asked.len() < self.wanted {
            let data = std::ptr::without_provenance_mut(ALIGNED);
            // SAFETY: nobody writes before all memory is there, and the last is refused.
            return Ok(unsafe { HostMemory::dense(data, dtype, shape) });
        }
        Err(Error::refused(ErrorCode::Internal, "nothing is computed"))
    }

    fn run<T: Send>(&mut self, _: u64, _: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        Err(Error::refused(ErrorCode::Internal, "nothing is computed"))
    }
}

impl Operation {
    /// Shape and dtype of the first result for inputs of these shapes and dtypes.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs; those of a call, as far as shapes and dtypes tell.
    pub fn describe(&self, inputs: &[TensorView<'_>]) -> Result<(Dims, Dtype)> {
        Ok(self.describe_all(inputs)?.swap_remove(0))
    }

    /// Shape and dtype of each result for inputs of these shapes and dtypes.
    ///
    /// # Errors
    ///
    /// As [`Self::describe`].
    pub fn describe_all(&self, inputs: &[TensorView<'_>]) -> Result<Described> {
        self.check_count(inputs.len())?;
        match self {
            Self::BatchNorm { options, .. } => {
                return Ok(Described::from_iter([batch_norm::describe(
                    inputs, *options,
                )?]));
            }
            Self::BatchNormGradient(options) => {
                let shapes = batch_norm::describe_gradient(inputs, *options)?;
                let dtype = inputs[0].dtype();
                return Ok(shapes.into_iter().map(|shape| (shape, dtype)).collect());
            }
            _ => {}
        }
        let mut host = Nowhere {
            wanted: self.results(),
            asked: Described::new(),
        };
        // Products convert operands of other dtypes before they ask for memory: they read zeros.
        let zeros = [0_u64; 2];
        let is_read = matches!(self, Self::Matmul(_));
        let still: SmallVec<[Dims; 4]> = inputs
            .iter()
            .map(|input| Dims::from_elem(0, input.shape().len()))
            .collect();
        let somewhere = inputs
            .iter()
            .zip(&still)
            .map(|(input, still)| {
                let (dtype, shape) = (input.dtype(), input.shape());
                let (data, strides) = if is_read {
                    (zeros.as_ptr().cast(), Some(still.as_slice()))
                } else {
                    (std::ptr::without_provenance(ALIGNED), None)
                };
                // SAFETY: all indices of what is read name one element; of others checks look at the address alone, since nothing is computed
                // without memory for the result, which nobody gives.
                unsafe { TensorView::from_parts(data, dtype, HOST, shape, strides) }
            })
            .collect::<std::result::Result<SmallVec<[_; 4]>, _>>()?;
        let outcome = self.ask(&somewhere, &mut host);
        match outcome {
            _ if host.asked.len() == host.wanted => Ok(host.asked),
            Err(error) => Err(error),
            Ok(()) => Err(Error::refused(
                ErrorCode::Internal,
                format!("{} did not ask for memory of each result", self.name()),
            )),
        }
    }

    fn ask(&self, inputs: &[TensorView<'_>], host: &mut Nowhere) -> Result<()> {
        let x = &inputs[0];
        match self {
            Self::Elementwise { operation, alpha } => {
                let options = ElementwiseOptions {
                    alpha: *alpha,
                    thread_limit: None,
                };
                operation.on_host(inputs, &options, host).map(drop)
            }
            Self::Cast { dtype } => complex::cast_on_host(x, x.shape(), *dtype, None, host),
            Self::Copy => complex::cast_on_host(x, x.shape(), x.dtype(), None, host),
            Self::Transpose { axes } => transpose::on_host(x, axes.as_deref(), None, host),
            Self::Reduce(one) => complex::reduce_on_host(one.operation, x, &one.options(), host),
            Self::Scan(options) => complex::scan_on_host(x, options, host),
            Self::Sort(options) => sort::on_host(x, options, host),
            Self::Normalize(norm) => {
                normalize::on_host(norm.operation, x, &inputs[1..], &norm.options(), host)
            }
            Self::Matmul(product) => complex::matmul_on_host(&of_host(product, inputs), host),
            Self::Convolve { options, is_tf32 } => {
                let call = Convolution {
                    pass: ConvolvePass::Forward,
                    options: *options,
                    shape: &[],
                    is_tf32: *is_tf32,
                };
                convolve::on_host(inputs, &call, host)
            }
            Self::Pool { operation, options } => {
                pool::on_host(*operation, (Pooling::Forward, inputs), options, host)
            }
            Self::Embedding => embedding::on_host(x, &inputs[1], None, host),
            Self::Gather { shape, .. } => {
                let made = blocks_shape(inputs[1].shape(), shape);
                host.result(&made, x.dtype(), false).map(drop)
            }
            _ => self.ask_more(inputs, host),
        }
    }

    fn ask_more(&self, inputs: &[TensorView<'_>], host: &mut Nowhere) -> Result<()> {
        let x = &inputs[0];
        match self {
            Self::TopK(options) => top_k::on_host(x, options, host),
            Self::CumulativeBest(options) => cumulative_best::on_host(x, options, host),
            Self::SearchSorted { right } => sort::search_on_host(x, &inputs[1], *right, None, host),
            Self::PoolPass {
                operation,
                options,
                direction,
            } => pool::on_host(*operation, (direction.pooling(), inputs), options, host),
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
                convolve::on_host(inputs, &call, host)
            }
            Self::NormalizeGradient(norm) => normalize::gradient_on_host(
                norm.operation,
                x,
                &inputs[1],
                inputs.get(2),
                &norm.options(),
                host,
            ),
            Self::Attention(options) => {
                attention::on_host(&attention::views_of(inputs, false), options, host)
            }
            Self::AttentionGradient(options) => {
                attention::gradient_on_host(&attention::views_of(inputs, true), options, host)
            }
            Self::ClassLoss {
                options,
                has_weight,
                is_gradient,
            } => {
                let given = loss::classified(inputs, *has_weight, *is_gradient);
                loss::class_loss_on_host(&given, options, host)
            }
            _ => self.ask_indexed(inputs, host),
        }
    }

    fn ask_indexed(&self, inputs: &[TensorView<'_>], host: &mut Nowhere) -> Result<()> {
        let x = &inputs[0];
        match self {
            Self::SegmentReduce { options, count } => {
                segments::segment_on_host(x, &inputs[1], *count, options, host)
            }
            Self::IndexAdd { axis } => {
                segments::index_add_on_host(x, &inputs[1], &inputs[2], *axis, None, host)
            }
            Self::ScatterReduce(options) => {
                segments::scatter_on_host(x, &inputs[1], &inputs[2], options, host)
            }
            Self::Offsets(axes) => offsets::on_host(inputs, axes, None, host),
            Self::Scatter { .. } => host.result(x.shape(), x.dtype(), false).map(drop),
            _ => Err(Error::refused(
                ErrorCode::Internal,
                format!("{} is not described", self.name()),
            )),
        }
    }
}

fn of_host<'a>(product: &Product, inputs: &[TensorView<'a>]) -> HostMatmul<'a> {
    let mut following = inputs[2..].iter().copied();
    HostMatmul {
        precision: product.precision,
        transposes: [product.transpose_a, product.transpose_b],
        bias: product.has_bias.then(|| following.next()).flatten(),
        residual: product.has_residual.then(|| following.next()).flatten(),
        activation: Some(product.activation.to_abi()),
        alpha: product.alpha,
        ..HostMatmul::of(inputs[0], inputs[1])
    }
}
