//! The elements of an array in memory of the host.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_hal::DevicePointer;

use crate::{Array, Error, Result, Side, copy, recording, tracing};

impl Array {
    /// The bytes of the elements in row-major order, once what streams were given to do with them is done.
    ///
    /// # Errors
    ///
    /// `use-after-free`; `not-capturable` while this thread records a graph; `not-contiguous`; what the device reports.
    pub fn read(&self) -> Result<Vec<u8>> {
        self.check_alive()?;
        recording::note_outside("the host reads values");
        recording::check_not_recording("reading an array")?;
        tracing::check_values_unseen("reading an array", self.storage().is_traced())?;
        if !self.is_contiguous() {
            return Err(Error::refused(
                ErrorCode::NotContiguous,
                "only contiguous arrays are read",
            ));
        }
        self.finish_uses()?;
        // Another thread may free the array meanwhile.
        let _held = Arc::clone(self.storage());
        let mut bytes = vec![0_u8; self.bytes()];
        let host = Side {
            address: DevicePointer::from_host(bytes.as_mut_ptr()),
            device: None,
        };
        // SAFETY: both hold as many bytes, and live until the wait is over.
        unsafe { copy(&host, &self.side(), bytes.len() as u64) }?;
        Ok(bytes)
    }
}
