//! What the handles of devices, streams, memory and kernels stand for, and what they have to do with each other.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_array::Array;
use amdgpu_aura::{Context, Kept, Kernel};
use amdgpu_compiler::OptimizationLevel;
use amdgpu_hal::{self as hal, MemoryKind};
use amdgpu_memory::Block;

use crate::handles::{self, Handle, Object};
use crate::status::{Answer, Failure};

/// An opening of a device. It is closed when its handle and everything made from it are gone.
pub struct DeviceObject {
    pub context: Arc<Context>,
    pub level: OptimizationLevel,
}

impl Object for DeviceObject {
    const KIND: u8 = 1;
}

impl DeviceObject {
    pub fn name(&self) -> &str {
        &self.context.info().name
    }

    /// Refuses an object of another device than the one it is used with.
    pub fn check_same(&self, wanted: &Self, what: &str) -> Answer {
        if self.name() == wanted.name() {
            return Ok(());
        }
        let message = format!(
            "{what} is of {}, and is used on {}",
            self.name(),
            wanted.name()
        );
        Err(Failure::new(ErrorCode::WrongDevice, message))
    }
}

impl Drop for DeviceObject {
    fn drop(&mut self) {
        // An error that sticks to the device has nobody left to hear it.
        let _ = self.context.close();
    }
}

pub struct StreamObject {
    pub device: Arc<DeviceObject>,
    pub queue: Arc<dyn hal::Stream>,
    /// Arrays of its launches.
    pub kept: Kept<Array>,
}

impl Object for StreamObject {
    const KIND: u8 = 2;
}

impl StreamObject {
    /// Hold the arrays of a launch that the stream was given just now until it has passed the launch.
    pub fn keep(&self, arrays: &[Array], device: &dyn hal::Device) -> hal::Result<()> {
        if arrays.is_empty() {
            return Ok(());
        }
        self.kept.keep(self.queue.as_ref(), device, |open| {
            let mut bytes: u64 = 0;
            for array in arrays {
                let mut last = open.iter().rev().take(arrays.len());
                if !last.any(|known| Arc::ptr_eq(known.storage(), array.storage())) {
                    open.push(array.clone());
                    bytes = bytes.saturating_add(array.bytes() as u64);
                }
            }
            bytes
        })
    }

    /// The stream of a handle, which is of this device; `None` for null.
    pub fn of(handle: Handle, device: &DeviceObject) -> Answer<Option<Arc<Self>>> {
        let stream = handles::get_optional::<Self>(handle, "stream")?;
        if let Some(stream) = &stream {
            stream.device.check_same(device, "stream")?;
        }
        Ok(stream)
    }
}

impl Drop for StreamObject {
    fn drop(&mut self) {
        // What its commands use may go only when they have run; an error that sticks to the stream has nobody left to hear it.
        let _ = self.queue.synchronize();
    }
}

pub struct MemoryObject {
    // First: the device goes after its memory.
    pub block: Block,
    pub device: Arc<DeviceObject>,
    pub kind: MemoryKind,
}

impl Object for MemoryObject {
    const KIND: u8 = 4;
}

impl MemoryObject {
    /// Refuses a range beyond the end.
    pub fn check_range(&self, what: &str, offset: u64, bytes: u64) -> Answer {
        let len = self.block.len_bytes();
        if offset.checked_add(bytes).is_some_and(|end| end <= len) {
            return Ok(());
        }
        Err(Failure::invalid(format!(
            "{what}: {bytes} bytes from byte {offset} on do not fit into memory of {len} bytes"
        )))
    }

    /// Holds the memory back from others until `stream` has passed what it was given so far.
    pub fn use_in(&self, stream: Option<&Arc<StreamObject>>) -> Answer {
        if let Some(stream) = stream
            && stream.queue.id() != self.block.stream().id()
        {
            self.block.record_stream(&stream.queue)?;
        }
        Ok(())
    }

    pub fn stream_for(&self, stream: Handle) -> Answer<Option<Arc<StreamObject>>> {
        let stream = StreamObject::of(stream, &self.device)?;
        if let Some(stream) = &stream {
            self.device
                .context
                .open_device()?
                .hold_back(stream.queue.as_ref())?;
        }
        Ok(stream)
    }
}

pub struct KernelObject {
    pub kernel: Arc<Kernel>,
    pub device: Arc<DeviceObject>,
}

impl Object for KernelObject {
    const KIND: u8 = 5;
}
