use std::mem::size_of;

use amdgpu_telemetry::Boundary;

use crate::matrix::{crossing, problem_of};
use crate::{Error, Matrix, TensorView, TensorViewMut};

/// How a product is computed: `out = alpha * (a @ b) + beta * out`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatmulOptions {
    pub alpha: f64,
    pub beta: f64,
    /// Threads at most; `None` for as many as the pool has.
    pub thread_limit: Option<u32>,
}

impl Default for MatmulOptions {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 0.0,
            thread_limit: None,
        }
    }
}

impl Matrix {
    /// `out = alpha * (a @ b) + beta * out` for matrices of float32 or float64, with any strides.
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
        static MATMUL: Boundary = crossing("agpu_matrix_matmul");
        let (a_tensor, b_tensor, mut out_tensor) = (a.to_abi(), b.to_abi(), out.as_abi());
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
