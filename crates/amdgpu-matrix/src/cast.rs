//! Values in another dtype.

use std::mem::size_of;

use amdgpu_abi::Tensor;
use amdgpu_telemetry::Boundary;

use crate::layout::Layout;
use crate::matrix::{Work, crossing};
use crate::{Error, Matrix, TensorView, TensorViewMut};

const NAME: &str = "cast";

impl Matrix {
    /// Values of `x`, broadcast to the shape of `out`, in the dtype of `out`, as NumPy's `astype(casting="unsafe")` converts them. `out` may
    /// have any strides, and may be `x` itself.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` where x does not broadcast to `out`, `unsupported-dtype`, `invalid-argument` for memory shared with `out`.
    pub fn cast(
        &self,
        x: &TensorView,
        out: &mut TensorViewMut,
        thread_limit: Option<u32>,
    ) -> Result<(), Error> {
        static CAST: Boundary = crossing("agpu_matrix_cast");
        let target = Layout::of(NAME, "out", &out.as_view())?;
        let input = Layout::of(NAME, "x", x)?.broadcast_into(NAME, "x", target.shape())?;
        target.check_out(NAME, out.dtype(), target.shape())?;
        target.check_apart(NAME, "x", &input, true)?;
        if target.is_same_view(&input) {
            return Ok(());
        }
        let tensors: [Tensor; 1] = [input.to_abi()];
        let target_tensor = target.to_abi();
        let work = Work {
            operations: target.len(),
            dtype: target.dtype,
            thread_limit,
        };
        self.run_tensor(&CAST, &work, |executor| {
            let given = amdgpu_abi::CastOptions {
                size_bytes: size_of::<amdgpu_abi::CastOptions>() as u64,
                executor,
            };
            // SAFETY: the views guarantee the memory behind the tensors; the layouts were checked and live until the call returns.
            unsafe {
                (self.symbols.cast)(
                    tensors.as_ptr(),
                    tensors.len() as u64,
                    &raw const target_tensor,
                    &raw const given,
                )
            }
        })
    }
}
