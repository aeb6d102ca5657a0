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
    Error, Result, batch_norm, complex, convolve, embedding, normalize, pool, sort, transpose,
};

/// An address that is aligned for every dtype.
const ALIGNED: usize = 64;

/// Notes what it is asked for and gives nothing.
#[derive(Default)]
struct Nowhere {
    asked: Option<(Dims, Dtype)>,
}

impl Host for Nowhere {
    type Error = Error;

    fn has_out(&self) -> bool {
        false
    }

    fn result(&mut self, shape: &[i64], dtype: Dtype, _: bool) -> Result<HostMemory> {
        self.asked = Some((Dims::from_slice(shape), dtype));
        Err(Error::refused(ErrorCode::Internal, "nothing is computed"))
    }

    fn run<T: Send>(&mut self, _: u64, _: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        Err(Error::refused(ErrorCode::Internal, "nothing is computed"))
    }
}

impl Operation {
    /// Shape and dtype of the result for inputs of these shapes and dtypes.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for another number of inputs; those of a call, as far as shapes and dtypes tell.
    pub fn describe(&self, inputs: &[TensorView<'_>]) -> Result<(Dims, Dtype)> {
        self.check_count(inputs.len())?;
        if let Self::BatchNorm { options, .. } = self {
            return batch_norm::describe(inputs, *options);
        }
        let mut host = Nowhere::default();
        let somewhere = inputs
            .iter()
            .map(|input| {
                let data = std::ptr::without_provenance(ALIGNED);
                // SAFETY: checks look at the address alone; nothing is computed without memory for the result, which nobody gives.
                unsafe { TensorView::from_parts(data, input.dtype(), HOST, input.shape(), None) }
            })
            .collect::<std::result::Result<SmallVec<[_; 4]>, _>>()?;
        let outcome = self.ask(&somewhere, &mut host);
        match (host.asked, outcome) {
            (Some(asked), _) => Ok(asked),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::refused(
                ErrorCode::Internal,
                format!("{} asked for no memory", self.name()),
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
            Self::BatchNorm { .. } => Ok(()),
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
