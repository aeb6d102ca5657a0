//! The CPU in a device's place: what no kernel of the device computes is copied to the host, computed there and copied back. Each time is
//! counted, and told once.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{
    Array, Dims, Side, byte_range, copy, element_count, recording, row_major, tracing,
};
use amdgpu_hal::DevicePointer;
use amdgpu_matrix::TensorView;

use crate::host_memory::{HOST, HostMemory};
use crate::operand::Operand;
use crate::{DeviceOps, Error, Result};

/// Counts and tells that the CPU computes an operation because the device does not.
pub fn record(operation: &str, ops: &DeviceOps, error: &Error) {
    recording::note_outside("the host computes it");
    let reason = format!("the CPU computes what {} does not: {error}", ops.name());
    amdgpu_telemetry::fallback(operation, &reason);
}

/// Some bytes of an array's memory, from so many behind its first element on, once all work on it is over.
///
/// # Errors
///
/// What the device reports; `not-capturable` while a graph is recorded.
pub(crate) fn read_bytes(array: &Array, at: i64, len: usize) -> Result<Vec<u8>> {
    recording::note_outside("the host reads values");
    recording::check_not_recording("reading an array")?;
    tracing::check_values_unseen("reading an array", array.storage().is_traced())?;
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
    /// A tensor in row-major order, of zeros.
    ///
    /// # Errors
    ///
    /// `out-of-memory`.
    pub fn new(shape: &[i64], dtype: Dtype) -> Result<Self> {
        let bytes = element_count(shape) as usize * dtype.size_bytes();
        Ok(Self {
            memory: zeros(bytes)?,
            offset_bytes: 0,
            dtype,
            shape: Dims::from_slice(shape),
            strides: row_major(shape),
        })
    }

    /// A copy of an operand.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn of_operand(operand: &Operand) -> Result<Self> {
        let Some(array) = &operand.array else {
            let mut made = Self::new(&[], operand.dtype)?;
            for (word, element) in made.memory.iter_mut().zip(operand.element()) {
                *word = element;
            }
            return Ok(made);
        };
        array.wait()?;
        let range = byte_range(&operand.shape, &operand.strides, operand.item_bytes());
        let (low, high) = range.unwrap_or_default();
        let bytes = (high - low) as usize;
        let mut made = Self {
            memory: zeros(bytes)?,
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

    pub(crate) fn bytes(&self) -> &[u8] {
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

    /// The memory to write to, as long as this is neither changed nor dropped.
    pub(crate) fn memory_mut(&mut self) -> HostMemory {
        let first = self.memory.as_mut_ptr().cast::<u8>();
        let data = first.wrapping_add(self.offset_bytes).cast();
        // SAFETY: shape and strides stay within the memory, which is on the heap, where it stays when this moves.
        unsafe {
            if self.strides == row_major(&self.shape) {
                HostMemory::dense(data, self.dtype, &self.shape)
            } else {
                HostMemory::strided(data, self.dtype, &self.shape, self.strides.clone())
            }
        }
    }

    /// The elements as numbers of the type that they are stored as.
    ///
    /// # Safety
    ///
    /// `T` has the size of an element, and any bits are a value of it.
    pub(crate) unsafe fn elements_mut<T>(&mut self) -> &mut [T] {
        let len = element_count(&self.shape) as usize;
        // SAFETY: the memory holds so many elements of that size, aligned for every dtype.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), len) }
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

/// Words for so many bytes.
fn zeros(bytes: usize) -> Result<Vec<u64>> {
    let words = bytes.div_ceil(size_of::<u64>()).max(1);
    let mut made = Vec::new();
    made.try_reserve_exact(words).map_err(|_| {
        Error::refused(
            ErrorCode::OutOfMemory,
            format!("no memory of the host for {bytes} bytes"),
        )
    })?;
    made.resize(words, 0);
    Ok(made)
}
