//! New arrays.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_aura::OpenDevice;
use amdgpu_hal::{DevicePointer, MemoryKind};
use amdgpu_memory::Owner;

use crate::{Array, Dims, Error, Result, Side, copy, row_major};

/// Whom the memory of arrays is for, as watchers see it.
static ARRAY: Owner = Owner::new("array");

impl Array {
    /// An array of a device whose elements are not set.
    ///
    /// # Errors
    ///
    /// `invalid-argument` for negative extents, `out-of-memory`.
    pub fn empty(
        device: &Arc<OpenDevice>,
        shape: impl Into<Dims>,
        dtype: Dtype,
        kind: MemoryKind,
    ) -> Result<Self> {
        let shape = shape.into();
        let bytes = checked_bytes(&shape, dtype)?;
        let block = {
            let _owner = ARRAY.enter();
            device.allocator().allocate_kind(kind, bytes, None)?
        };
        let strides = row_major(&shape);
        Ok(Self::of_block(
            Arc::clone(device),
            block,
            (shape, strides),
            dtype,
        ))
    }

    /// An array of a device with the bytes of host memory, which holds the elements in row-major order.
    ///
    /// # Errors
    ///
    /// As [`Self::empty`], and `invalid-argument` where the bytes are not as many as the elements need.
    pub fn from_host(
        device: &Arc<OpenDevice>,
        bytes: &[u8],
        shape: impl Into<Dims>,
        dtype: Dtype,
    ) -> Result<Self> {
        let made = Self::empty(device, shape, dtype, MemoryKind::Device)?;
        if bytes.len() != made.bytes() {
            return Err(Error::refused(
                ErrorCode::InvalidArgument,
                format!(
                    "shape {:?} needs {} bytes, {} were given",
                    made.shape.as_slice(),
                    made.bytes(),
                    bytes.len()
                ),
            ));
        }
        let from = Side {
            address: DevicePointer::from_host(bytes.as_ptr()),
            device: None,
        };
        // SAFETY: both hold as many bytes, and live until the wait is over.
        unsafe { copy(&made.side(), &from, bytes.len() as u64) }?;
        Ok(made)
    }
}

/// Bytes of an array; extents must not be negative and the product must fit.
fn checked_bytes(shape: &[i64], dtype: Dtype) -> Result<u64> {
    if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!("shape {shape:?} has the negative extent {extent}"),
        ));
    }
    shape
        .iter()
        .try_fold(dtype.size_bytes() as i64, |bytes, extent| {
            bytes.checked_mul(*extent)
        })
        .map(|bytes| bytes as u64)
        .ok_or_else(|| {
            Error::refused(
                ErrorCode::OutOfMemory,
                format!("an array of shape {shape:?} is larger than any memory"),
            )
        })
}
