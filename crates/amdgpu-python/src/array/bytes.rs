//! What two ends of a copy have to have in common.

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_array::Side;
use amdgpu_hal::DevicePointer;
use pyo3::prelude::*;

use super::Array;
use crate::errors::raise;
use crate::operand::Operand;

impl Array {
    /// Refuses to take several values, or none, for one.
    pub(super) fn check_single(&self, py: Python<'_>) -> PyResult<()> {
        if self.len() == 1 {
            return Ok(());
        }
        let message = format!(
            "an array of shape {:?} is not a single value; reduce it, or take .numpy()",
            self.shape.as_slice()
        );
        let code = ErrorCode::InvalidArgument;
        Err(raise(py, code, Language::Rust, &message))
    }

    /// Whether an operand can be copied into this array.
    pub(super) fn check_same(&self, py: Python<'_>, operand: &Operand<'_>) -> PyResult<()> {
        if operand.shape != self.shape {
            let message = format!(
                "cannot copy shape {:?} into shape {:?}",
                operand.shape,
                self.shape.as_slice()
            );
            return Err(raise(
                py,
                ErrorCode::ShapeMismatch,
                Language::Rust,
                &message,
            ));
        }
        if operand.dtype != self.dtype {
            let name = |dtype: Dtype| dtype.name().unwrap_or("?");
            let message = format!(
                "cannot copy {} into {}",
                name(operand.dtype),
                name(self.dtype)
            );
            return Err(raise(
                py,
                ErrorCode::UnsupportedDtype,
                Language::Rust,
                &message,
            ));
        }
        Ok(())
    }
}

pub(super) fn host_side(operand: &Operand<'_>) -> Side<'static> {
    Side {
        address: DevicePointer::from_host(operand.data.cast::<u8>()),
        device: None,
    }
}
