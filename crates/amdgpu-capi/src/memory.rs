//! runtime.h: memory of devices.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_hal::{CopyDirection, MemoryKind};
use amdgpu_memory::Block;

use crate::borrowed::{Items, ItemsOut, Options, Out, Versioned};
use crate::device::{DeviceObject, is_host_visible, memory_kind};
use crate::graph::{self, check_not_recording};
use crate::handles::{self, Handle, Object};
use crate::status::{Answer, Failure, Status, answer};
use crate::stream::StreamObject;

pub struct MemoryObject {
    // First: the device goes after its memory.
    pub block: Block,
    pub device: Arc<DeviceObject>,
    kind: MemoryKind,
}

impl Object for MemoryObject {
    const KIND: u8 = 4;
}

/// `agpu_memory_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemoryOptions {
    size_bytes: u64,
    kind: u32,
    reserved: u32,
    stream: Handle,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for MemoryOptions {
    const NAME: &'static str = "agpu_memory_options";
    const FIRST_BYTES: usize = size_of::<Self>();
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

    fn stream_for(&self, stream: Handle) -> Answer<Option<Arc<StreamObject>>> {
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

/// Memory of a device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_memory_allocate(
    device: Handle,
    bytes: u64,
    options: Options<MemoryOptions>,
    memory: Out<Handle>,
) -> Status {
    answer(|| {
        let place = memory.required("memory")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let options = options.read()?;
        let kind = memory_kind(options.kind)?;
        let stream = StreamObject::of(options.stream, &device)?;
        let queue = stream.as_ref().map(|stream| &stream.queue);
        let block = device
            .context
            .allocator()?
            .allocate_kind(kind, bytes, queue)?;
        place.write(handles::insert(Arc::new(MemoryObject {
            block,
            device,
            kind,
        })));
        Ok(())
    })
}

/// The address on the device, and whether the host may use it.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_memory_address(
    memory: Handle,
    address: Out<*mut c_void>,
    is_host_visible_out: Out<bool>,
) -> Status {
    answer(|| {
        let place = address.required("address")?;
        let memory = handles::get::<MemoryObject>(memory, "memory")?;
        place.write(memory.block.ptr().as_mut_ptr());
        if let Some(visible) = is_host_visible_out.optional() {
            visible.write(is_host_visible(memory.device.context.info(), memory.kind));
        }
        Ok(())
    })
}

/// Its size.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_memory_size(memory: Handle, bytes: Out<u64>) -> Status {
    answer(|| {
        let place = bytes.required("bytes")?;
        let memory = handles::get::<MemoryObject>(memory, "memory")?;
        place.write(memory.block.len_bytes());
        Ok(())
    })
}

/// Copy from the host, and wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_memory_write(
    memory: Handle,
    offset: u64,
    data: Items<u8>,
    bytes: u64,
    stream: Handle,
) -> Status {
    answer(|| {
        let memory = handles::get::<MemoryObject>(memory, "memory")?;
        check_not_recording("copying from the host")?;
        memory.check_range("write", offset, bytes)?;
        let data = data.slice(bytes as usize, "data")?;
        let stream = memory.stream_for(stream)?;
        memory
            .block
            .write_bytes(offset, data, stream.as_ref().map(|stream| &stream.queue))?;
        Ok(())
    })
}

/// Copy to the host, and wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_memory_read(
    memory: Handle,
    offset: u64,
    data: ItemsOut<u8>,
    bytes: u64,
    stream: Handle,
) -> Status {
    answer(|| {
        let memory = handles::get::<MemoryObject>(memory, "memory")?;
        check_not_recording("copying to the host")?;
        memory.check_range("read", offset, bytes)?;
        let data = data.slice(bytes as usize, "data")?;
        let stream = memory.stream_for(stream)?;
        memory
            .block
            .read_bytes(offset, data, stream.as_ref().map(|stream| &stream.queue))?;
        Ok(())
    })
}

/// Copy inside of a device: in `stream` and return at once, or wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_memory_copy(
    destination: Handle,
    destination_offset: u64,
    source: Handle,
    source_offset: u64,
    bytes: u64,
    stream: Handle,
) -> Status {
    answer(|| {
        let to = handles::get::<MemoryObject>(destination, "destination")?;
        let from = handles::get::<MemoryObject>(source, "source")?;
        to.check_range("copy", destination_offset, bytes)?;
        from.check_range("copy", source_offset, bytes)?;
        from.device.check_same(&to.device, "source")?;
        let (target, origin) = (
            to.block.ptr().offset(destination_offset),
            from.block.ptr().offset(source_offset),
        );
        let distance = target.address().abs_diff(origin.address());
        if bytes == 0 || distance == 0 {
            return Ok(());
        }
        if distance < bytes {
            return Err(Failure::invalid("the two ranges of the copy overlap"));
        }
        let stream = to.stream_for(stream)?;
        if graph::is_recording() {
            let direction = CopyDirection::DeviceToDevice;
            return graph::record_copy(&to, &from, (target, origin), bytes, direction);
        }
        let queue = match &stream {
            Some(stream) => &stream.queue,
            None => to.device.context.device()?.default_stream(),
        };
        to.use_in(stream.as_ref())?;
        from.use_in(stream.as_ref())?;
        let start_ns = amdgpu_telemetry::now_ns();
        // SAFETY: both ranges lie inside live blocks, which stay unused by others until the stream has passed; they do not overlap.
        unsafe { queue.copy(target, origin, bytes, CopyDirection::DeviceToDevice)? };
        if stream.is_none() {
            queue.synchronize()?;
        }
        let allocator = to.device.context.allocator()?;
        allocator.count_copy(CopyDirection::DeviceToDevice, bytes, queue.id(), start_ns);
        Ok(())
    })
}

/// Set bytes: in `stream` and return at once, or wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_memory_fill(
    memory: Handle,
    offset: u64,
    bytes: u64,
    value: u8,
    stream: Handle,
) -> Status {
    answer(|| {
        let memory = handles::get::<MemoryObject>(memory, "memory")?;
        memory.check_range("fill", offset, bytes)?;
        let stream = memory.stream_for(stream)?;
        if graph::is_recording() {
            return graph::record_fill(&memory, offset, value, bytes);
        }
        let queue = match &stream {
            Some(stream) => &stream.queue,
            None => memory.device.context.device()?.default_stream(),
        };
        memory.block.fill(offset, bytes, value, Some(queue))?;
        if stream.is_none() {
            queue.synchronize()?;
        }
        Ok(())
    })
}

/// Memory that a call uses must be there: the message names the parameter.
pub fn wrong_device(memory: &MemoryObject, device: &DeviceObject, index: usize) -> Failure {
    Failure::new(
        ErrorCode::WrongDevice,
        format!(
            "argument {index} is memory of {}, and the kernel runs on {}",
            memory.device.name(),
            device.name()
        ),
    )
}
