//! The CPU in a device's place: what no kernel of the device computes is copied to the host, computed there and copied back. Each time is
//! counted, and told once.

use std::sync::Arc;

use amdgpu_abi::layout::{DEVICE_CPU, DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_FLOAT};
use amdgpu_abi::{DeviceRef, Dtype};
use amdgpu_array::{Array, Dims, Side, byte_range, copy, element_count, recording, row_major};
use amdgpu_hal::DevicePointer;
use amdgpu_matrix::{Described, TensorView, TensorViewMut};
use half::{bf16, f16};

use crate::operand::{Operand, Scalar};
use crate::{DeviceOps, Error, Result};

const HOST: DeviceRef = DeviceRef {
    device_type: DEVICE_CPU,
    device_id: 0,
};

/// Counts and tells that the CPU computes an operation because the device does not.
pub fn record(operation: &str, ops: &DeviceOps, error: &Error) {
    let reason = format!("the CPU computes what {} does not: {error}", ops.name());
    amdgpu_telemetry::fallback(operation, &reason);
}

/// What a device computed, or, where it has no kernel, what the CPU does in its place.
///
/// # Errors
///
/// Those of `on_device` that are no reason for a fallback, and those of `on_host`.
pub fn or_on_host<T>(
    operation: &str,
    ops: &DeviceOps,
    on_device: Result<T>,
    on_host: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match on_device {
        Err(error) if error.permits_fallback() => {
            record(operation, ops, &error);
            on_host()
        }
        done => done,
    }
}

/// Some bytes of an array's memory, from so many behind its first element on, once all work on it is over.
///
/// # Errors
///
/// What the device reports; `not-capturable` while a graph is recorded.
pub(crate) fn read_bytes(array: &Array, at: i64, len: usize) -> Result<Vec<u8>> {
    recording::check_not_recording("reading an array")?;
    array.wait()?;
    let _held = Arc::clone(array.storage());
    let mut bytes = vec![0; len];
    let to = Side {
        address: DevicePointer::from_host(bytes.as_mut_ptr()),
        device: None,
    };
    let from = Side {
        address: DevicePointer(array.address().address().wrapping_add_signed(at)),
        device: array.hal_device(),
    };
    // SAFETY: the caller names elements of the array, which is held; the copy is over when the call returns.
    unsafe { copy(&to, &from, len as u64) }?;
    Ok(bytes)
}

/// A tensor in memory of the host.
pub struct HostTensor {
    /// Aligned for every dtype.
    memory: Vec<u64>,
    /// Bytes from the beginning of the memory to index 0.
    offset_bytes: usize,
    dtype: Dtype,
    shape: Dims,
    strides: Dims,
}

impl HostTensor {
    /// A tensor for a result, in row-major order.
    #[must_use]
    pub fn new(shape: &[i64], dtype: Dtype) -> Self {
        let bytes = element_count(shape) as usize * dtype.size_bytes();
        Self {
            memory: vec![0; bytes.div_ceil(size_of::<u64>())],
            offset_bytes: 0,
            dtype,
            shape: Dims::from_slice(shape),
            strides: row_major(shape),
        }
    }

    /// A tensor for what an operation of the CPU describes.
    #[must_use]
    pub fn of_described(described: &Described) -> Self {
        Self::new(&described.shape, described.dtype)
    }

    /// A copy of an operand.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn of_operand(operand: &Operand) -> Result<Self> {
        let Some(array) = &operand.array else {
            let mut made = Self::new(&[], operand.dtype);
            made.bytes_mut()[..operand.item_bytes()].copy_from_slice(
                &element_bytes(operand.number, operand.dtype)[..operand.item_bytes()],
            );
            return Ok(made);
        };
        array.wait()?;
        let range = byte_range(&operand.shape, &operand.strides, operand.item_bytes());
        let (low, high) = range.unwrap_or_default();
        let bytes = (high - low) as usize;
        let mut made = Self {
            memory: vec![0; bytes.div_ceil(size_of::<u64>())],
            offset_bytes: (-low) as usize,
            dtype: operand.dtype,
            shape: operand.shape.clone(),
            strides: operand.strides.clone(),
        };
        let to = Side {
            address: DevicePointer::from_host(made.memory.as_mut_ptr()),
            device: None,
        };
        let from = Side {
            address: DevicePointer(array.address().address().wrapping_add_signed(low)),
            device: array.hal_device(),
        };
        // SAFETY: the range is that of the operand's elements, which the array keeps; the copy is over when the call returns.
        unsafe { copy(&to, &from, bytes as u64) }?;
        Ok(made)
    }

    /// Copies of operands.
    ///
    /// # Errors
    ///
    /// As [`Self::of_operand`].
    pub fn of_operands<'a>(operands: impl IntoIterator<Item = &'a Operand>) -> Result<Vec<Self>> {
        operands.into_iter().map(Self::of_operand).collect()
    }

    /// The tensors to read.
    ///
    /// # Errors
    ///
    /// As [`Self::view`].
    pub fn views(all: &[Self]) -> Result<Vec<TensorView<'_>>> {
        all.iter().map(Self::view).collect()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.memory.len() * size_of::<u64>();
        // SAFETY: the same memory, of which every byte is set.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), bytes) }
    }

    fn bytes(&self) -> &[u8] {
        let bytes = element_count(&self.shape) as usize * self.dtype.size_bytes();
        // SAFETY: the same memory, of which every byte is set.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), bytes) }
    }

    /// The tensor to read.
    ///
    /// # Errors
    ///
    /// None for what [`Self::of_operand`] gave.
    pub fn view(&self) -> Result<TensorView<'_>> {
        let data = self
            .memory
            .as_ptr()
            .cast::<u8>()
            .wrapping_add(self.offset_bytes);
        // SAFETY: shape and strides stay within the memory.
        let view = unsafe {
            TensorView::from_parts(
                data.cast(),
                self.dtype,
                HOST,
                &self.shape,
                Some(&self.strides),
            )
        };
        Ok(view?)
    }

    /// The tensor to write.
    ///
    /// # Errors
    ///
    /// None for what [`Self::new`] gave.
    pub fn view_mut(&mut self) -> Result<TensorViewMut<'_>> {
        let data = self.memory.as_mut_ptr();
        // SAFETY: as above, and borrowed for writing.
        let view = unsafe {
            TensorViewMut::from_parts(
                data.cast(),
                self.dtype,
                HOST,
                &self.shape,
                Some(&self.strides),
            )
        };
        Ok(view?)
    }

    /// The values on the device: in `out`, or in a new array.
    ///
    /// # Errors
    ///
    /// `out` does not fit; what the device reports.
    pub fn deliver(&self, ops: &DeviceOps, operation: &str, out: Option<&Array>) -> Result<Array> {
        let Some(out) = out else {
            let shape = self.shape.clone();
            return Ok(Array::from_host(
                ops.device(),
                self.bytes(),
                shape,
                self.dtype,
            )?);
        };
        let target = crate::Target {
            operation,
            device: ops.device(),
            out: Some(out),
            inputs: &[],
            may_alias: true,
            is_dense: true,
        };
        target.resolve(&self.shape, self.dtype)?;
        out.wait()?;
        let from = Side {
            address: DevicePointer::from_host(self.memory.as_ptr()),
            device: None,
        };
        // SAFETY: both hold the elements of this shape and dtype in row-major order until the copy is over.
        unsafe { copy(&out.side(), &from, self.bytes().len() as u64) }?;
        Ok(out.clone())
    }
}

/// A number as an element of a dtype, in the first of these bytes.
fn element_bytes(number: Scalar, dtype: Dtype) -> [u8; 8] {
    match (number.for_dtype(dtype), dtype.code, dtype.bits) {
        (Scalar::Float(value), DTYPE_FLOAT, 64) => value.to_ne_bytes(),
        (Scalar::Float(value), DTYPE_FLOAT, 32) => padded(&(value as f32).to_ne_bytes()),
        (Scalar::Float(value), DTYPE_FLOAT, _) => padded(&f16::from_f64(value).to_ne_bytes()),
        (Scalar::Float(value), DTYPE_BFLOAT, _) => padded(&bf16::from_f64(value).to_ne_bytes()),
        (Scalar::Int(value), DTYPE_BOOL, _) => padded(&[u8::from(value != 0)]),
        (Scalar::Int(value), _, _) => (value as u64).to_ne_bytes(),
        (Scalar::Float(value), _, _) => (value as i64).to_ne_bytes(),
    }
}

fn padded(bytes: &[u8]) -> [u8; 8] {
    let mut result = [0; 8];
    result[..bytes.len()].copy_from_slice(bytes);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_elements_of_every_width() {
        let first =
            |number, dtype: Dtype| element_bytes(number, dtype)[..dtype.size_bytes()].to_vec();
        assert_eq!(first(Scalar::Float(1.5), Dtype::F32), 1.5_f32.to_ne_bytes());
        assert_eq!(first(Scalar::Int(3), Dtype::F64), 3.0_f64.to_ne_bytes());
        assert_eq!(
            first(Scalar::Float(1.0), Dtype::F16),
            0x3c00_u16.to_ne_bytes()
        );
        assert_eq!(
            first(Scalar::Float(1.0), Dtype::BF16),
            0x3f80_u16.to_ne_bytes()
        );
        assert_eq!(first(Scalar::Int(-2), Dtype::I8), (-2_i8).to_ne_bytes());
        assert_eq!(first(Scalar::Int(2), Dtype::BOOL), [1]);
        assert_eq!(
            first(Scalar::Int(i128::from(u64::MAX)), Dtype::U64),
            u64::MAX.to_ne_bytes()
        );
    }
}
