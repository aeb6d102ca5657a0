//! Typed arrays in the memory of the device that a network runs on.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_aura::Argument;
use amdgpu_hal::{DeviceKind, Stream};
use amdgpu_memory::{Allocator, Block};

use crate::error::{Error, Result};

mod sealed {
    /// Types without padding or invalid bit patterns.
    pub trait Plain: Copy + Default + Send + Sync + 'static {}
    impl Plain for f32 {}
    impl Plain for i32 {}
    impl Plain for u32 {}
    impl Plain for u64 {}
    impl Plain for i64 {}
    impl Plain for u8 {}
}

/// What device arrays hold.
pub(crate) trait Element: sealed::Plain {
    const DTYPE: Dtype;
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
}
impl Element for i32 {
    const DTYPE: Dtype = Dtype::I32;
}
impl Element for u32 {
    const DTYPE: Dtype = Dtype::U32;
}
impl Element for u64 {
    const DTYPE: Dtype = Dtype::U64;
}
impl Element for i64 {
    const DTYPE: Dtype = Dtype::I64;
}
impl Element for u8 {
    const DTYPE: Dtype = Dtype::U8;
}

fn bytes_of<T: Element>(values: &[T]) -> &[u8] {
    // SAFETY: elements have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn bytes_of_mut<T: Element>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: elements have no padding, and every bit pattern is one of theirs.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Elements on the device; at least one, so that there is always an address.
#[derive(Debug)]
pub(crate) struct DeviceArray<T: Element> {
    block: Block,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Element> DeviceArray<T> {
    pub fn zeros(allocator: &Allocator, len: usize) -> Result<Self> {
        let bytes = len.max(1) as u64 * size_of::<T>() as u64;
        let block = allocator
            .allocate(bytes, None)
            .map_err(|error| Error::from_core(&error))?;
        block
            .fill(0, bytes, 0, None)
            .map_err(|error| Error::from_core(&error))?;
        Ok(Self {
            block,
            len,
            element: PhantomData,
        })
    }

    pub fn from_slice(allocator: &Allocator, values: &[T]) -> Result<Self> {
        let array = Self::zeros(allocator, values.len())?;
        array.write(0, values)?;
        Ok(array)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies `values` to the places from `first` on.
    pub fn write(&self, first: usize, values: &[T]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let offset = (first * size_of::<T>()) as u64;
        self.block
            .write_bytes(offset, bytes_of(values), None)
            .map_err(|error| Error::from_core(&error))
    }

    /// A copy of a range.
    pub fn read(&self, range: Range<usize>) -> Result<Vec<T>> {
        let mut values = super::values::zeros(range.len(), "a copy of device memory")?;
        if !values.is_empty() {
            let offset = (range.start * size_of::<T>()) as u64;
            self.block
                .read_bytes(offset, bytes_of_mut(&mut values), None)
                .map_err(|error| Error::from_core(&error))?;
        }
        Ok(values)
    }

    /// All elements: in place on the CPU device, else a copy.
    pub fn look(&self) -> Result<Cow<'_, [T]>> {
        if self.block.device().info().kind == DeviceKind::Cpu {
            // SAFETY: memory of the host with as many elements; whoever changes it is not running now.
            return Ok(Cow::Borrowed(unsafe {
                std::slice::from_raw_parts(self.host_ptr(), self.len)
            }));
        }
        self.read(0..self.len).map(Cow::Owned)
    }

    /// Sets all elements to 0 in the order of a stream.
    pub fn fill_zero(&self, stream: &Arc<dyn Stream>) -> Result<()> {
        let bytes = (self.len * size_of::<T>()) as u64;
        self.block
            .fill(0, bytes, 0, Some(stream))
            .map_err(|error| Error::from_core(&error))
    }

    /// Address of element `index`.
    pub fn address(&self, index: usize) -> u64 {
        self.block.ptr().address() + (index * size_of::<T>()) as u64
    }

    /// The elements as a pointer of the host: for memory of the CPU device.
    pub fn host_ptr(&self) -> *mut T {
        self.block.ptr().as_mut_ptr()
    }

    /// The memory from element `first` on as an argument of a kernel.
    pub fn argument(&self, first: usize) -> Argument {
        Argument::Pointer {
            address: self.address(first),
            dtype: Some(T::DTYPE),
            is_read_only: false,
            bytes: ((self.len - first.min(self.len)) * size_of::<T>()) as u64,
        }
    }
}
