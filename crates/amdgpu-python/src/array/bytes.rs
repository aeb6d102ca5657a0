//! Sizes of arrays, and what two ends of a copy have to have in common.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_hal as hal;
use amdgpu_hal::DevicePointer;
use pyo3::prelude::*;

use super::Array;
use crate::errors::raise;
use crate::operand::{Operand, is_contiguous};
use crate::plan::trace;
use crate::transfer::Side;

impl Array {
    pub(super) fn side<'a>(&self, device: Option<&'a Arc<dyn hal::Device>>) -> Side<'a> {
        Side {
            address: self.pointer(),
            device,
        }
    }

    /// Refuses to write to arrays that are freed or read-only.
    pub(super) fn check_writable(&self, py: Python<'_>) -> PyResult<()> {
        self.check_alive(py)?;
        trace::give_up();
        if !self.is_read_only {
            return Ok(());
        }
        let message = "the array is read-only";
        Err(raise(py, ErrorCode::ReadOnly, Language::Rust, message))
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

    /// A shape of the same number of elements, with the extent for -1 where one is given.
    pub(super) fn resolved_shape(&self, py: Python<'_>, shape: &[i64]) -> PyResult<Vec<i64>> {
        let product = |extents: &[i64]| {
            extents
                .iter()
                .filter(|extent| **extent != -1)
                .try_fold(1_i64, |product, extent| product.checked_mul(*extent))
        };
        // None where it does not fit 64 bits, so that it is no number of elements.
        let known = product(shape).unwrap_or(-1);
        let holes = shape.iter().filter(|extent| **extent == -1).count();
        let mut resolved = shape.to_vec();
        if holes == 1 && known > 0 && self.len() % known == 0 {
            for extent in &mut resolved {
                if *extent == -1 {
                    *extent = self.len() / known;
                }
            }
        }
        let is_negative = resolved.iter().any(|extent| *extent < 0);
        if !is_negative && product(&resolved) == Some(self.len()) {
            return Ok(resolved);
        }
        let message = format!("cannot see shape {:?} as {shape:?}", self.shape);
        Err(raise(
            py,
            ErrorCode::ShapeMismatch,
            Language::Rust,
            &message,
        ))
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
