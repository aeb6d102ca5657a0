//! An array: a view of memory.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::layout::{DEVICE_CPU, DEVICE_CUDA, DEVICE_ROCM};
use amdgpu_abi::{DeviceRef, Dtype, ErrorCode, Tensor};
use amdgpu_aura::OpenDevice;
use amdgpu_hal as hal;
use amdgpu_hal::{DeviceKind, DevicePointer, Module};
use amdgpu_memory::Block;

use crate::storage::External;
use crate::{
    Dims, Error, MemoryLocation, Result, Side, Storage, byte_range, element_count, is_contiguous,
    recording, row_major,
};

/// Memory of a device seen as an n-dimensional array. Clones and views share the memory.
#[derive(Clone, Debug)]
pub struct Array {
    storage: Arc<Storage>,
    /// Of index 0.
    address: DevicePointer,
    pub dtype: Dtype,
    pub shape: Dims,
    /// In elements.
    pub strides: Dims,
    pub is_read_only: bool,
}

impl Array {
    fn new(
        storage: Arc<Storage>,
        address: DevicePointer,
        dtype: Dtype,
        (shape, strides): (Dims, Dims),
    ) -> Self {
        Self {
            storage,
            address,
            dtype,
            shape,
            strides,
            is_read_only: false,
        }
    }

    /// A block of the device's allocator, seen with a shape and strides that stay within it.
    #[must_use]
    pub fn of_block(
        device: Arc<OpenDevice>,
        block: Block,
        layout: (Dims, Dims),
        dtype: Dtype,
    ) -> Self {
        let address = block.ptr();
        Self::new(Storage::of_block(device, block), address, dtype, layout)
    }

    /// A variable of a module, which the array keeps loaded.
    #[must_use]
    pub fn of_module(
        device: Arc<OpenDevice>,
        module: Arc<dyn Module>,
        address: DevicePointer,
        shape: Dims,
        dtype: Dtype,
    ) -> Self {
        let strides = row_major(&shape);
        let storage = Storage::of_module(device, module);
        Self::new(storage, address, dtype, (shape, strides))
    }

    /// Memory of another library. The caller vouches for shape and strides, which stay within what the owner keeps alive.
    #[must_use]
    pub fn of_external(
        external: External,
        address: DevicePointer,
        layout: (Dims, Dims),
        dtype: Dtype,
        is_read_only: bool,
    ) -> Self {
        let storage = Storage::of_external(external);
        Self {
            is_read_only,
            ..Self::new(storage, address, dtype, layout)
        }
    }

    /// Another view of the same memory, which stays within it.
    #[must_use]
    #[inline]
    pub fn view(&self, shape: Dims, strides: Dims) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            address: self.address,
            dtype: self.dtype,
            shape,
            strides,
            is_read_only: self.is_read_only,
        }
    }

    /// The same memory as elements of another dtype; it stays within the memory.
    #[must_use]
    pub(crate) fn view_in(&self, dtype: Dtype, shape: Dims, strides: Dims) -> Self {
        Self {
            dtype,
            ..self.view(shape, strides)
        }
    }

    /// A view in another dtype, whose index 0 is `offset_bytes` away; it stays within the memory.
    #[must_use]
    pub fn seen_as(&self, offset_bytes: i64, dtype: Dtype, layout: (Dims, Dims)) -> Self {
        let address = self.address.address().wrapping_add_signed(offset_bytes);
        Self {
            address: DevicePointer(address),
            ..self.view_in(dtype, layout.0, layout.1)
        }
    }

    /// A view whose index 0 is the element `offset` away; it stays within the memory.
    #[must_use]
    #[inline]
    pub fn view_at(&self, offset: i64, shape: Dims, strides: Dims) -> Self {
        let bytes = offset.wrapping_mul(self.dtype.size_bytes() as i64);
        Self {
            address: DevicePointer(self.address.address().wrapping_add_signed(bytes)),
            ..self.view(shape, strides)
        }
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    ///
    /// `shape-mismatch` where the number of elements differs, `not-contiguous` where there are gaps.
    pub fn reshaped(&self, shape: &[i64]) -> Result<Self> {
        let shape = self.resolved_shape(shape)?;
        if !self.is_contiguous() {
            return Err(Error::refused(
                ErrorCode::NotContiguous,
                "reshape needs a contiguous array",
            ));
        }
        let strides = row_major(&shape);
        Ok(self.view(shape, strides))
    }

    /// A shape of the same number of elements, with the extent for -1 where one is given.
    pub(crate) fn resolved_shape(&self, shape: &[i64]) -> Result<Dims> {
        let product = |extents: &[i64]| {
            extents
                .iter()
                .filter(|extent| **extent != -1)
                .try_fold(1_i64, |product, extent| product.checked_mul(*extent))
        };
        // None where it does not fit 64 bits, so that it is no number of elements.
        let known = product(shape).unwrap_or(-1);
        let holes = shape.iter().filter(|extent| **extent == -1).count();
        let mut resolved = Dims::from_slice(shape);
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
        Err(Error::refused(
            ErrorCode::ShapeMismatch,
            format!("cannot see shape {:?} as {shape:?}", self.shape.as_slice()),
        ))
    }

    /// Address of index 0.
    #[inline]
    #[must_use]
    pub fn address(&self) -> DevicePointer {
        self.address
    }

    /// The address as a pointer of the host.
    #[inline]
    #[must_use]
    pub fn data(&self) -> *mut c_void {
        self.address.as_mut_ptr()
    }

    /// The memory, to keep it from going back while work looks at it.
    #[must_use]
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The device whose memory it is; `None` for memory of other libraries.
    #[inline]
    #[must_use]
    pub fn open_device(&self) -> Option<&Arc<OpenDevice>> {
        self.storage.open_device()
    }

    /// The device through which the memory is reached; `None` for host memory of other libraries.
    #[must_use]
    pub fn hal_device(&self) -> Option<&Arc<dyn hal::Device>> {
        self.storage.hal_device()
    }

    /// Name of the device; host memory of other libraries counts as the CPU's.
    #[must_use]
    pub fn device_name(&self) -> &str {
        self.storage.device_name().unwrap_or("cpu:0")
    }

    #[must_use]
    pub fn device_kind(&self) -> DeviceKind {
        self.storage.device_kind()
    }

    /// Whether the memory is the host's: it is no device's, or that of a device whose memory the host reads at its address.
    #[must_use]
    pub fn is_host_visible(&self) -> bool {
        self.storage.is_host_visible()
    }

    #[must_use]
    pub fn location(&self) -> MemoryLocation {
        self.storage.location()
    }

    /// Whether the host reads the memory and no GPU has to be asked before.
    #[inline]
    #[must_use]
    pub fn is_plain_host(&self) -> bool {
        self.storage.is_plain_host()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> i64 {
        element_count(&self.shape)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all elements.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len() as usize * self.dtype.size_bytes()
    }

    /// Whether elements follow each other in row-major order.
    #[inline]
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        is_contiguous(&self.shape, &self.strides)
    }

    /// Addresses of the first byte of the elements and of the one behind their last; `None` where there are no elements.
    #[must_use]
    pub fn byte_range(&self) -> Option<(u64, u64)> {
        let (low, high) = byte_range(&self.shape, &self.strides, self.dtype.size_bytes())?;
        let at = |bytes| self.address.address().checked_add_signed(bytes);
        Some((at(low)?, at(high)?))
    }

    /// `use-after-free` once `free()` was called.
    ///
    /// # Errors
    ///
    /// The array was freed.
    #[inline]
    pub fn check_alive(&self) -> Result<()> {
        if self.is_freed() {
            return Err(Error::refused(
                ErrorCode::UseAfterFree,
                "the array was freed",
            ));
        }
        Ok(())
    }

    /// Refuses to write to arrays that are freed or read-only.
    ///
    /// # Errors
    ///
    /// `use-after-free`, `read-only`.
    pub fn check_writable(&self) -> Result<()> {
        self.check_alive()?;
        if self.is_read_only {
            return Err(Error::refused(
                ErrorCode::ReadOnly,
                "the array is read-only",
            ));
        }
        Ok(())
    }

    #[inline]
    #[must_use]
    pub fn is_freed(&self) -> bool {
        self.storage.is_freed()
    }

    /// Refuse all further use and give the memory back: at once, or when the last view or borrower is gone.
    ///
    /// # Errors
    ///
    /// `use-after-free` for an array that was freed before.
    pub fn free(&self) -> Result<()> {
        if self.storage.free() {
            return Ok(());
        }
        Err(Error::refused(
            ErrorCode::UseAfterFree,
            "the array was freed already",
        ))
    }

    /// Whether a stream was ever given work on the memory: who reads it has to wait then.
    #[inline]
    #[must_use]
    pub fn has_uses(&self) -> bool {
        self.storage.uses().is_used()
    }

    /// Waits for what streams were given to do with the memory; the default stream keeps the order by itself.
    ///
    /// # Errors
    ///
    /// What a stream has failed with.
    pub fn finish_uses(&self) -> Result<()> {
        self.storage.finish_uses()
    }

    /// Waits for all work on the array: operations, and launches in streams.
    ///
    /// # Errors
    ///
    /// What the work has failed with.
    pub fn wait(&self) -> Result<()> {
        if let Some(device) = self.open_device() {
            device.settle()?;
        }
        self.finish_uses()
    }

    /// Whether nobody but kernels and copies of this device knows the memory, so that the order of its default stream is all that matters.
    #[must_use]
    pub fn is_private_to(&self, device: &Arc<OpenDevice>) -> bool {
        self.storage
            .allocated_by()
            .is_some_and(|(own, is_lent)| Arc::ptr_eq(own, device) && !is_lent)
    }

    /// Notes that somebody else gets to know the address and may look at any time; true the first time.
    #[must_use]
    pub fn lend(&self) -> bool {
        self.storage.lend()
    }

    /// Notes that somebody gets to know the address who holds the array object and nothing that can be counted: from now on `free()` leaves
    /// the memory to the object.
    pub fn pin(&self) {
        self.storage.pin();
    }

    /// One end of a copy.
    #[must_use]
    pub fn side(&self) -> Side<'_> {
        Side {
            address: self.address,
            device: self.hal_device(),
        }
    }

    /// The device as DLPack names it.
    #[must_use]
    pub fn dlpack_device(&self) -> DeviceRef {
        let device = self.hal_device().map(|device| device.info());
        let device_type = match device.map(|info| info.kind) {
            Some(DeviceKind::Hip) => DEVICE_ROCM,
            Some(DeviceKind::Cuda) => DEVICE_CUDA,
            _ => DEVICE_CPU,
        };
        DeviceRef {
            device_type,
            device_id: device.map_or(0, |info| info.ordinal as i32),
        }
    }

    /// The array as other languages see it. Borrows shape and strides: the result is valid as long as the array is.
    #[must_use]
    pub fn tensor(&self) -> Tensor {
        Tensor {
            device: self.dlpack_device(),
            ..Tensor::host(self.data(), self.dtype, &self.shape, Some(&self.strides))
        }
    }

    /// What keeps the memory, and ends its use with it.
    #[must_use]
    pub fn owner(&self) -> crate::Owner {
        Box::new(Arc::clone(&self.storage))
    }

    /// What keeps the memory for the graph that this thread records; `None` where it is kept already.
    #[must_use]
    pub fn recorded_owner(&self) -> Option<crate::Owner> {
        let is_kept = self
            .storage
            .block_range()
            .is_some_and(|(first, bytes)| !recording::is_to_hold(first, bytes));
        (!is_kept).then(|| self.owner())
    }
}
