use amdgpu_telemetry::Boundary;

use crate::math::crossing;
use crate::shape::check_matrix;
use crate::{Error, Math};

impl Math {
    /// Softmax over the last axis of `x[rows, cols]`, row-major.
    ///
    /// # Errors
    ///
    /// `shape-mismatch`.
    pub fn softmax(&self, x: &[f32], y: &mut [f32], rows: usize, cols: usize) -> Result<(), Error> {
        static SOFTMAX: Boundary = crossing("softmax");
        check_matrix("x", x.len(), rows, cols)?;
        check_matrix("y", y.len(), rows, cols)?;
        self.run(&SOFTMAX, |table| {
            // SAFETY: on the owning thread; both pointers have rows * cols elements.
            unsafe { (table.softmax)(x.as_ptr(), y.as_mut_ptr(), rows as u64, cols as u64) }
        })
    }
}
