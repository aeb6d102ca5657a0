use amdgpu_abi::Activation;
use amdgpu_telemetry::Boundary;

use crate::matrix::{crossing, problem_of};
use crate::{Error, Matrix, TensorView, TensorViewMut};

/// How a dense layer is computed.
#[derive(Clone, Copy, Debug)]
pub struct DenseOptions {
    pub activation: Activation,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl Matrix {
    /// `out[batch, outputs] = f(x[batch, inputs] @ weight[inputs, outputs] + bias[outputs])`, float32, any strides.
    ///
    /// `f` is one of `amdgpu_abi::ACTIVATION_*`; softmax goes over the last axis, gelu is the exact form with erf.
    ///
    /// # Errors
    ///
    /// As [`Matrix::matmul`], and `invalid-argument` for an unknown activation.
    pub fn dense_forward(
        &self,
        x: &TensorView,
        weight: &TensorView,
        bias: Option<&TensorView>,
        out: &mut TensorViewMut,
        options: &DenseOptions,
    ) -> Result<(), Error> {
        static DENSE_FORWARD: Boundary = crossing("agpu_matrix_dense_forward");
        let (x_tensor, weight_tensor, mut out_tensor) = (x.to_abi(), weight.to_abi(), out.as_abi());
        let bias_tensor = bias.map(|bias| bias.to_abi());
        self.run(
            &DENSE_FORWARD,
            &problem_of(x, weight),
            options.thread_limit,
            |executor| {
                // SAFETY: the views guarantee the memory behind the tensors; the structs live until the call returns.
                unsafe {
                    (self.symbols.dense_forward)(
                        &raw const x_tensor,
                        &raw const weight_tensor,
                        bias_tensor
                            .as_ref()
                            .map_or(std::ptr::null(), std::ptr::from_ref),
                        &raw mut out_tensor,
                        &raw const options.activation,
                        executor,
                    )
                }
            },
        )
    }
}
