//! Who else knows the memory of an array: what decides whether an operation may still be under way when its call returns.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use amdgpu_abi::layout::{DEVICE_CPU, DEVICE_CUDA, DEVICE_ROCM};
use amdgpu_abi::{DeviceRef, Tensor};
use amdgpu_aura::OpenDevice;
use amdgpu_hal::DeviceKind;

use super::{Array, Memory};

impl Array {
    /// Whether nobody but kernels and copies of this device knows the memory, so that the order of its default stream is all that matters.
    pub fn is_private_to(&self, device: &Arc<OpenDevice>) -> bool {
        self.allocated_by()
            .is_some_and(|(own, is_lent)| Arc::ptr_eq(own, device) && !is_lent)
    }

    /// The device whose allocator the memory is from, and whether somebody else knows the memory, too.
    pub fn allocated_by(&self) -> Option<(&Arc<OpenDevice>, bool)> {
        match &self.storage.memory {
            Memory::Block {
                device, is_lent, ..
            } => Some((device, is_lent.load(Ordering::Acquire))),
            Memory::Module { .. } | Memory::Foreign { .. } => None,
        }
    }

    /// The first byte of the elements and the one behind their last; None where there are no elements.
    pub fn byte_range(&self) -> Option<(u64, u64)> {
        let first = self.data().expose_provenance() as u64;
        let (mut low, mut high) = (0, 1);
        for (extent, stride) in self.shape.iter().zip(&self.strides) {
            if *extent < 1 {
                return None;
            }
            let step = (extent - 1) * stride;
            low += step.min(0);
            high += step.max(0);
        }
        let item_bytes = self.dtype.size_bytes() as i64;
        let at = |elements: i64| first.checked_add_signed(elements.checked_mul(item_bytes)?);
        Some((at(low)?, at(high)?))
    }

    /// Notes that somebody else gets to know the address; true the first time.
    pub(super) fn lend(&self) -> bool {
        match &self.storage.memory {
            Memory::Block { is_lent, .. } => !is_lent.swap(true, Ordering::AcqRel),
            Memory::Module { .. } | Memory::Foreign { .. } => false,
        }
    }

    /// Notes that somebody gets to know the address who holds the array object and nothing that can be counted: from now on `free()` leaves
    /// the memory to the object.
    pub(super) fn pin(&self) {
        self.storage.is_pinned.store(true, Ordering::Release);
    }

    pub(super) fn tensor(&self) -> Tensor {
        let mut tensor = Tensor::host(self.data(), self.dtype, &[], None);
        tensor.ndim = self.shape.len() as i32;
        tensor.device = self.dlpack_device();
        tensor
    }

    pub(super) fn dlpack_device(&self) -> DeviceRef {
        let device_type = match self.device_kind() {
            DeviceKind::Hip => DEVICE_ROCM,
            DeviceKind::Cuda => DEVICE_CUDA,
            _ => DEVICE_CPU,
        };
        let device_id = match &self.storage.memory {
            Memory::Block { device, .. } | Memory::Module { device, .. } => {
                device.info().ordinal as i32
            }
            Memory::Foreign { device, .. } => device
                .as_ref()
                .map_or(0, |device| device.info().ordinal as i32),
        };
        DeviceRef {
            device_type,
            device_id,
        }
    }
}
