use amdgpu_abi::Activation;
use amdgpu_telemetry::Boundary;

use crate::math::crossing;
use crate::shape::{check_matrix, check_vector};
use crate::{Error, Math};

impl Math {
    /// `y[batch, outputs] = f(x[batch, inputs] @ weight[inputs, outputs] + bias[outputs])`, row-major and contiguous.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`, `invalid-argument` for an unknown activation.
    // The argument list is that of the ABI.
    #[allow(clippy::too_many_arguments)]
    pub fn dense_forward(
        &self,
        x: &[f32],
        weight: &[f32],
        bias: Option<&[f32]>,
        y: &mut [f32],
        batch: usize,
        inputs: usize,
        outputs: usize,
        activation: Activation,
    ) -> Result<(), Error> {
        static DENSE_FORWARD: Boundary = crossing("dense_forward");
        check_matrix("x", x.len(), batch, inputs)?;
        check_matrix("weight", weight.len(), inputs, outputs)?;
        check_matrix("y", y.len(), batch, outputs)?;
        if let Some(bias) = bias {
            check_vector("bias", bias.len(), outputs)?;
        }
        self.run(&DENSE_FORWARD, |table| {
            // SAFETY: on the owning thread; the lengths were checked, and `y` is borrowed mutably, so it overlaps nothing.
            unsafe {
                (table.dense_forward)(
                    x.as_ptr(),
                    weight.as_ptr(),
                    bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
                    y.as_mut_ptr(),
                    batch as u64,
                    inputs as u64,
                    outputs as u64,
                    &raw const activation,
                )
            }
        })
    }
}
