use std::mem::size_of;

use amdgpu_abi::layout::{PRECISION_BF16, PRECISION_F16, PRECISION_OPERANDS};
use amdgpu_telemetry::Boundary;

use crate::matrix::{crossing, problem_of};
use crate::{Activation, Error, Matrix, TensorView, TensorViewMut};

/// What a product computes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// The type of the operands; float16 and bfloat16 are summed in float32, int8 in int32.
    #[default]
    Operands,
    /// float32 operands are rounded to bfloat16 (nearest, ties to even), sums are float32.
    Bf16,
    /// float32 operands are rounded to float16, sums are float32.
    F16,
}

/// How a product is computed: `out = alpha * (a @ b) + beta * out`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatmulOptions {
    pub alpha: f64,
    pub beta: f64,
    pub precision: Precision,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl Default for MatmulOptions {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 0.0,
            precision: Precision::Operands,
            thread_limit: None,
        }
    }
}

/// What follows the sums of a product, while they are in cache: `out = activation(alpha * (a @ b) + beta * out + bias + residual)`.
///
/// Both tensors are of the type that is summed in: float32 for float16 and bfloat16, int32 for int8.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'a> {
    /// One value for each column.
    pub bias: Option<TensorView<'a>>,
    /// As large as `out`, or broadcast to it along the axes before the matrices.
    pub residual: Option<TensorView<'a>>,
    /// Any but softmax and neuromorphic; of integers relu only.
    pub activation: Option<Activation>,
}

impl Matrix {
    /// `out = alpha * (a @ b) + beta * out` for matrices with any strides: float32, float64, float16, bfloat16, or int8 into int32.
    /// Half-precision and bfloat16 operands may be written to float32, too.
    ///
    /// With `beta` zero, `out` is not read. A depth of zero gives `beta * out`.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`, `unsupported-dtype`, `wrong-device` for memory that is not the host's, `invalid-argument` when `out` shares
    /// memory with an operand or with itself.
    ///
    /// ```
    /// # use amdgpu_matrix::{Matrix, MatmulOptions, TensorView, TensorViewMut};
    /// # let Ok(matrix) = Matrix::global() else { return Ok(()) };
    /// let a = [1.0_f32, 2.0, 3.0, 4.0];
    /// let mut out = [0.0_f32; 4];
    /// let view = TensorView::from_slice(&a, &[2, 2])?;
    /// matrix.matmul(&view, &view, &mut TensorViewMut::from_slice(&mut out, &[2, 2])?, &MatmulOptions::default())?;
    /// assert_eq!(out, [7.0, 10.0, 15.0, 22.0]);
    /// # Ok::<(), amdgpu_matrix::Error>(())
    /// ```
    pub fn matmul(
        &self,
        a: &TensorView,
        b: &TensorView,
        out: &mut TensorViewMut,
        options: &MatmulOptions,
    ) -> Result<(), Error> {
        self.matmul_then(a, b, out, options, &Epilogue::default())
    }

    /// As [`Matrix::matmul`], followed by an epilogue. Operands may be batches of matrices: the axes before the last two broadcast as `NumPy`'s do.
    ///
    /// # Errors
    ///
    /// As [`Matrix::matmul`]; `invalid-argument` for an activation that is none of a product.
    pub fn matmul_then(
        &self,
        a: &TensorView,
        b: &TensorView,
        out: &mut TensorViewMut,
        options: &MatmulOptions,
        epilogue: &Epilogue,
    ) -> Result<(), Error> {
        static MATMUL: Boundary = crossing("agpu_matrix_matmul");
        let (a_tensor, b_tensor, mut out_tensor) = (a.to_abi(), b.to_abi(), out.as_abi());
        let bias = epilogue.bias.map(TensorView::to_abi);
        let residual = epilogue.residual.map(TensorView::to_abi);
        self.run(
            &MATMUL,
            &problem_of(a, b),
            options.thread_limit,
            |executor| {
                let given = amdgpu_abi::MatmulOptions {
                    size_bytes: size_of::<amdgpu_abi::MatmulOptions>() as u64,
                    alpha: options.alpha,
                    beta: options.beta,
                    executor,
                    bias: address(bias.as_ref()),
                    residual: address(residual.as_ref()),
                    activation: address(epilogue.activation.as_ref()),
                    precision: match options.precision {
                        Precision::Operands => PRECISION_OPERANDS,
                        Precision::Bf16 => PRECISION_BF16,
                        Precision::F16 => PRECISION_F16,
                    },
                    reserved: 0,
                };
                // SAFETY: the views guarantee the memory behind the tensors; the structs live until the call returns.
                unsafe {
                    (self.symbols.matmul)(
                        &raw const a_tensor,
                        &raw const b_tensor,
                        &raw mut out_tensor,
                        &raw const given,
                    )
                }
            },
        )
    }
}

fn address<T>(value: Option<&T>) -> *const T {
    value.map_or(std::ptr::null(), std::ptr::from_ref)
}
