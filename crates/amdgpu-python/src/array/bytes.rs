//! Sizes of arrays, and what two ends of a copy have to have in common.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_hal as hal;
use amdgpu_hal::DevicePointer;
use pyo3::prelude::*;

use super::Array;
use crate::errors::raise;
use crate::operand::{Operand, is_contiguous};
use crate::transfer::Side;

impl Array {
    pub(super) fn side<'a>(&self, device: Option<&'a Arc<dyn hal::Device>>) -> Side<'a> {
        Side {
            address: self.pointer(),
            device,
        }
    }

    /// Refuses to take several values, or none, for one.
    pub(super) fn check_single(&self, py: Python<'_>) -> PyResult<()> {
        if self.len() == 1 {
            return Ok(());
        }
        let message = format!(
            "an array of shape {:?} is not a single value; reduce it, or take .numpy()",
            self.shape
        );
        let code = ErrorCode::InvalidArgument;
        Err(raise(py, code, Language::Rust, &message))
    }

    /// Whether an operand can be copied into this array.
    pub(super) fn check_same(&self, py: Python<'_>, operand: &Operand<'_>) -> PyResult<()> {
        if operand.shape != self.shape {
            let message = format!(
                "cannot copy shape {:?} into shape {:?}",
                operand.shape, self.shape
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
        if !operand.is_contiguous() || !is_contiguous(&self.shape, &self.strides) {
            return Err(raise(
                py,
                ErrorCode::NotContiguous,
                Language::Rust,
                "copy_from needs contiguous arrays",
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

/// Bytes of an array; extents must not be negative and the product must fit.
pub(super) fn checked_bytes(py: Python<'_>, shape: &[i64], dtype: Dtype) -> PyResult<u64> {
    if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
        let message = format!("shape {shape:?} has the negative extent {extent}");
        return Err(raise(
            py,
            ErrorCode::InvalidArgument,
            Language::Rust,
            &message,
        ));
    }
    shape
        .iter()
        .try_fold(dtype.size_bytes() as i64, |bytes, extent| {
            bytes.checked_mul(*extent)
        })
        .map(|bytes| bytes as u64)
        .ok_or_else(|| {
            let message = format!("an array of shape {shape:?} is larger than any memory");
            raise(py, ErrorCode::OutOfMemory, Language::Rust, &message)
        })
}
