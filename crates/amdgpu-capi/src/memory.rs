//! runtime.h: memory of devices.

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_array::recording::{check_not_recording, is_recording};
use amdgpu_hal::CopyDirection;

use crate::borrowed::{Items, ItemsOut, Options, Out, Versioned};
use crate::captured_graph;
use crate::device::{is_host_visible, memory_kind};
use crate::handles::{self, Handle};
use crate::objects::{DeviceObject, MemoryObject, StreamObject};
use crate::status::{Failure, Status, answer};

/// `agpu_memory_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemoryOptions {
    size_bytes: u64,
    pub kind: u32,
    reserved: u32,
    pub stream: Handle,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for MemoryOptions {
    const NAME: &'static str = "agpu_memory_options";
    const FIRST_BYTES: usize = size_of::<Self>();
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
        if is_recording() {
            return captured_graph::record_copy(&to, &from, (target, origin), bytes);
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
        if is_recording() {
            return captured_graph::record_fill(&memory, offset, value, bytes);
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
