use amdgpu_abi::Activation;
use amdgpu_telemetry::Boundary;

use crate::math::crossing;
use crate::shape::check_same_length;
use crate::{Error, Math};

impl Math {
    /// `y[i] = f(x[i])` with an elementwise activation (`AGPU_ACTIVATION_*`; softmax has a function of its own).
    ///
    /// # Errors
    ///
    /// `shape-mismatch`, `invalid-argument` for softmax and unknown kinds.
    pub fn activation(
        &self,
        x: &[f32],
        y: &mut [f32],
        activation: Activation,
    ) -> Result<(), Error> {
        static ACTIVATION: Boundary = crossing("activation");
        check_same_length(&[("x", x.len()), ("y", y.len())])?;
        self.run(&ACTIVATION, |table| {
            // SAFETY: on the owning thread; both pointers have `len` elements.
            unsafe {
                (table.activation)(
                    x.as_ptr(),
                    y.as_mut_ptr(),
                    x.len() as u64,
                    &raw const activation,
                )
            }
        })
    }
}
