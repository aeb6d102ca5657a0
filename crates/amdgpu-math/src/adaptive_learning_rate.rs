use amdgpu_telemetry::Boundary;

use crate::math::crossing;
use crate::shape::check_same_length;
use crate::{Error, Math};

impl Math {
    /// `momentum = decay * momentum + (1 - decay) * gradient` in place and `rates[i] = learning_rate / (1 + |gradients[i]|)`.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`.
    pub fn adaptive_learning_rate(
        &self,
        gradients: &[f32],
        momentum: &mut [f32],
        rates: &mut [f32],
        learning_rate: f32,
        decay: f32,
    ) -> Result<(), Error> {
        static ADAPTIVE_LEARNING_RATE: Boundary = crossing("adaptive_learning_rate");
        check_same_length(&[
            ("gradients", gradients.len()),
            ("momentum", momentum.len()),
            ("rates", rates.len()),
        ])?;
        self.run(&ADAPTIVE_LEARNING_RATE, |table| {
            // SAFETY: on the owning thread; all three have `len` elements and none overlap.
            unsafe {
                (table.adaptive_learning_rate)(
                    gradients.as_ptr(),
                    momentum.as_mut_ptr(),
                    rates.as_mut_ptr(),
                    gradients.len() as u64,
                    learning_rate,
                    decay,
                )
            }
        })
    }
}
