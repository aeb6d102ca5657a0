use amdgpu_telemetry::Boundary;

use crate::math::crossing;
use crate::shape::check_same_length;
use crate::{Error, Math};

impl Math {
    /// `velocity = momentum * velocity + gradient` and `weights -= learning_rate * velocity`, both in place.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`.
    pub fn momentum_update(
        &self,
        weights: &mut [f32],
        gradients: &[f32],
        velocity: &mut [f32],
        learning_rate: f32,
        momentum: f32,
    ) -> Result<(), Error> {
        static MOMENTUM_UPDATE: Boundary = crossing("momentum_update");
        check_same_length(&[
            ("weights", weights.len()),
            ("gradients", gradients.len()),
            ("velocity", velocity.len()),
        ])?;
        self.run(&MOMENTUM_UPDATE, |table| {
            // SAFETY: on the owning thread; all three have `len` elements and none overlap.
            unsafe {
                (table.momentum_update)(
                    weights.as_mut_ptr(),
                    gradients.as_ptr(),
                    velocity.as_mut_ptr(),
                    weights.len() as u64,
                    learning_rate,
                    momentum,
                )
            }
        })
    }
}
