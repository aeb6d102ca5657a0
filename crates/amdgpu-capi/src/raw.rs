//! raw.h: memory by its address.

mod live;
mod order;

use std::ffi::c_void;
use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::recording::{self, check_not_recording};
use amdgpu_array::{
    Array, Dims, External, MemoryLocation, byte_range, device_for_external, row_major,
};
use amdgpu_hal::{CopyDirection, DeviceKind, DevicePointer, MemoryKind};
use amdgpu_ops::trace;

use crate::array::{ArrayObject, dims_of, dtype_of};
use crate::borrowed::{Described, Items, Options, Out, Text, Versioned, fixed_text};
use crate::device::memory_kind;
use crate::handles::{self, Handle};
use crate::memory::MemoryOptions;
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};

use live::Allocation;
pub use live::{are_private, are_settled};
use order::Queue;

/// `AGPU_COPY_HOST_TO_DEVICE` and so on, in this order.
const DIRECTIONS: [CopyDirection; 4] = [
    CopyDirection::HostToDevice,
    CopyDirection::DeviceToHost,
    CopyDirection::DeviceToDevice,
    CopyDirection::DeviceToDevice,
];
/// `AGPU_COPY_BETWEEN_DEVICES`.
const BETWEEN_DEVICES: u32 = 3;

/// Bytes up to which the way to a stream or a library takes longer than the work.
pub const FEW_BYTES: u64 = 4096;

/// Whether the device computes in memory of the host, and nobody records what it does.
pub fn is_at_once(device: &DeviceObject) -> bool {
    device.context.info().kind == DeviceKind::Cpu
        && !trace::is_tracing()
        && !recording::is_recording()
}

/// An address that C gave.
type Address = *const c_void;

/// `agpu_raw_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawFacts {
    size_bytes: u64,
    first: *mut c_void,
    bytes: u64,
    device: [u8; 64],
    kind: u32,
    reserved: u32,
}

// SAFETY: plain numbers and a pointer; all zeros is a valid value.
unsafe impl Versioned for RawFacts {
    const NAME: &'static str = "agpu_raw_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Memory of a device, by its address.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_raw_allocate(
    device: Handle,
    bytes: u64,
    options: Options<MemoryOptions>,
    address: Out<*mut c_void>,
) -> Status {
    answer(|| {
        let place = address.required("address")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let options = options.read()?;
        let kind = memory_kind(options.kind)?;
        let queue = Queue::of(options.stream, &device)?;
        if bytes == 0 {
            place.write(std::ptr::null_mut());
            return Ok(());
        }
        let extent = i64::try_from(bytes).map_err(|_| {
            let message = format!("bytes is {bytes}; no memory is that large");
            Failure::new(ErrorCode::OutOfMemory, message)
        })?;
        let shape = Dims::from_slice(&[extent]);
        let memory = Array::empty(device.context.open_device()?, shape, Dtype::U8, kind)?;
        // The memory may have been in use a moment ago, by work that the default stream still has.
        queue.after(&device)?;
        place.write(memory.data());
        live::insert(Allocation {
            bytes: memory,
            device,
            kind,
        });
        Ok(())
    })
}

/// Free memory that was allocated by address.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_raw_free(address: Address, stream: Handle) -> Status {
    answer(|| {
        if address.is_null() {
            return Ok(());
        }
        let address = address as u64;
        let owner = live::find(address).ok_or_else(|| live::no_allocation(address))?;
        let queue = Queue::of(stream, &owner.device)?;
        let allocation = live::remove(address)?;
        match &queue {
            Queue::Default => {}
            // The stream may have kernels that were given the address alone.
            Queue::Ours(stream) => {
                let device = owner.device.context.device()?;
                stream.keep(std::slice::from_ref(&allocation.bytes), device.as_ref())?;
            }
            Queue::Native(_) => queue.before(&owner.device)?,
        }
        Ok(())
    })
}

/// The allocation that an address lies in.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_raw_info(address: Address, info: Described<RawFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let address = address as u64;
        let found = live::find(address).ok_or_else(|| live::no_allocation(address))?;
        let kind = MemoryKind::ALL.iter().position(|kind| *kind == found.kind);
        place.set(&RawFacts {
            size_bytes: size_of::<RawFacts>() as u64,
            first: found.bytes.data(),
            bytes: found.len_bytes(),
            device: fixed_text(found.device.name()),
            kind: kind.unwrap_or_default() as u32,
            reserved: 0,
        });
        Ok(())
    })
}

/// Copy between the host and a device, or inside of a device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_raw_copy(
    device: Handle,
    destination: Address,
    source: Address,
    bytes: u64,
    direction: u32,
    stream: Handle,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let is_between = direction == BETWEEN_DEVICES;
        let direction = *DIRECTIONS.get(direction as usize).ok_or_else(|| {
            Failure::invalid(format!(
                "direction is {direction}; known are 0 (host to device), 1 (device to host), 2 (device to device), 3 (between devices)"
            ))
        })?;
        check_not_recording("copying by address")?;
        let queue = Queue::of(stream, &device)?;
        if bytes == 0 {
            return Ok(());
        }
        let (target, origin) = (
            checked("destination", destination, bytes)?,
            checked("source", source, bytes)?,
        );
        let mut memory = Vec::new();
        let owner = if is_between { of_driver } else { of_device };
        if direction != CopyDirection::DeviceToHost {
            memory.extend(owner("destination", target, bytes, &device)?);
        }
        if direction != CopyDirection::HostToDevice {
            memory.extend(owner("source", origin, bytes, &device)?);
        }
        if target == origin {
            return Ok(());
        }
        if direction == CopyDirection::DeviceToDevice && target.abs_diff(origin) < bytes {
            return Err(Failure::invalid("the two ranges of the copy overlap"));
        }
        let start_ns = amdgpu_telemetry::now_ns();
        let mut number = 0;
        queue.run(&device, &memory, |stream| {
            number = stream.id();
            // SAFETY: live ranges of that many bytes, as was checked or as the caller says, until the stream has passed the copy.
            unsafe {
                stream.copy(
                    DevicePointer(target),
                    DevicePointer(origin),
                    bytes,
                    direction,
                )
            }
        })?;
        let allocator = device.context.allocator()?;
        allocator.count_copy(direction, bytes, number, start_ns);
        Ok(())
    })
}

/// Set bytes.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_raw_fill(
    device: Handle,
    address: Address,
    bytes: u64,
    value: u8,
    stream: Handle,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        check_not_recording("filling by address")?;
        let queue = Queue::of(stream, &device)?;
        if bytes == 0 {
            return Ok(());
        }
        let target = checked("address", address, bytes)?;
        let is_short = stream.is_null() && bytes <= FEW_BYTES && is_at_once(&device);
        if is_short && are_settled(&[(target, bytes)], &device) {
            let first = std::ptr::with_exposed_provenance_mut::<u8>(target as usize);
            // SAFETY: bytes of the host that no stream was given work on, there and used by nobody else as the caller says.
            unsafe { first.write_bytes(value, bytes as usize) };
            return Ok(());
        }
        let memory: Vec<Array> = of_device("address", target, bytes, &device)?
            .into_iter()
            .collect();
        queue.run(&device, &memory, |stream| {
            // SAFETY: a live range of that many bytes, as was checked or as the caller says.
            unsafe { stream.fill(DevicePointer(target), value, bytes) }
        })
    })
}

/// An address that is none, and a range beyond the last one, are refused.
fn checked(name: &str, address: Address, bytes: u64) -> Answer<u64> {
    if address.is_null() {
        return Err(Failure::invalid(format!(
            "{name} is NULL; pass the address of {bytes} bytes"
        )));
    }
    let address = address as u64;
    match address.checked_add(bytes) {
        Some(_) => Ok(address),
        None => Err(Failure::invalid(format!(
            "{name}: {bytes} bytes from {address:#x} on leave the address space"
        ))),
    }
}

/// The memory of an allocation of ours that an address of the device lies in; none for memory of other libraries.
fn of_device(name: &str, address: u64, bytes: u64, device: &DeviceObject) -> Answer<Option<Array>> {
    if let Some(found) = live::find(address) {
        if found.is_of_host_for(device) {
            found.check_range(name, address, bytes)?;
            return Ok(None);
        }
        found.check(name, address, bytes, device)?;
        return Ok(Some(found.bytes.clone()));
    }
    let info = device.context.info();
    if matches!(info.kind, DeviceKind::Hip | DeviceKind::Cuda) {
        let owner = device
            .context
            .device()?
            .ordinal_of_address(DevicePointer(address));
        if owner != Some(info.ordinal) {
            let message = format!("{name}: {address:#x} is no memory of {}", device.name());
            return Err(Failure::new(ErrorCode::WrongDevice, message));
        }
    }
    Ok(None)
}

/// As [`of_device`]; memory of another GPU of the driver is fine, and nobody keeps it.
fn of_driver(name: &str, address: u64, bytes: u64, device: &DeviceObject) -> Answer<Option<Array>> {
    let kind = device.context.info().kind;
    if let Some(found) = live::find(address)
        && found.device.name() != device.name()
        && found.device.context.info().kind == kind
        && matches!(kind, DeviceKind::Hip | DeviceKind::Cuda)
    {
        found.check(name, address, bytes, &found.device)?;
        return Ok(None);
    }
    of_device(name, address, bytes, device)
}

/// An array over memory at an address.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_array_from_address(
    device: Handle,
    address: Address,
    dtype: Text,
    dimensions: u32,
    shape: Items<i64>,
    strides: Items<i64>,
    array: Out<Handle>,
) -> Status {
    answer(|| {
        let place = array.required("array")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let dtype = dtype_of(dtype.required("dtype")?)?;
        let shape = dims_of(shape, dimensions, "shape")?;
        let strides = if strides.is_null() {
            row_major(&shape)
        } else {
            dims_of(strides, dimensions, "strides")?
        };
        let made = array_at(&device, address as u64, dtype, (shape, strides))?;
        place.write(ArrayObject::insert(made, Some(device)));
        Ok(())
    })
}

pub fn array_at(
    device: &Arc<DeviceObject>,
    address: u64,
    dtype: Dtype,
    layout: (Dims, Dims),
) -> Answer<Array> {
    let (shape, strides) = &layout;
    let item_bytes = dtype.size_bytes();
    if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
        return Err(Failure::invalid(format!(
            "shape has the negative extent {extent}"
        )));
    }
    let first = match byte_range(shape, strides, item_bytes) {
        _ if shape.contains(&0) => None,
        Some((first, end)) => Some((address.checked_add_signed(first), (end - first) as u64)),
        None => {
            return Err(Failure::invalid(
                "shape and strides reach beyond the address space",
            ));
        }
    };
    if first.is_some() && address == 0 {
        return Err(Failure::invalid(
            "address is NULL; pass the address of the first element",
        ));
    }
    if !address.is_multiple_of(item_bytes as u64) {
        return Err(Failure::invalid(format!(
            "address {address:#x} is not aligned to {item_bytes} bytes, the size of an element"
        )));
    }
    let memory = match first {
        None => None,
        Some((Some(first), bytes)) => of_device("address", first, bytes, device)?,
        Some((None, _)) => return Err(Failure::invalid("shape and strides reach below address 0")),
    };
    if let Some(memory) = memory {
        let offset = address as i64 - memory.address().address() as i64;
        return Ok(memory.seen_as(offset, dtype, layout));
    }
    let info = device.context.info();
    let is_host = info.capabilities.host_visible;
    let external = External {
        location: if is_host {
            MemoryLocation::Host
        } else {
            MemoryLocation::Device(info.name.clone())
        },
        device: (!is_host)
            .then(|| device_for_external(&info.name))
            .transpose()?,
        owner: Box::new(()),
    };
    Ok(Array::of_external(
        external,
        DevicePointer(address),
        layout,
        dtype,
        false,
    ))
}

/// An array over memory that [`agpu_raw_allocate`] gave, which it keeps; `None` for other memory, or where elements lie outside.
#[must_use]
pub fn array_within(address: u64, dtype: Dtype, layout: (Dims, Dims)) -> Option<Array> {
    let (shape, strides) = &layout;
    if shape.contains(&0) {
        return None;
    }
    let (first, end) = byte_range(shape, strides, dtype.size_bytes())?;
    let found = live::find(address)?;
    let offset = address as i64 - found.first() as i64;
    let is_inside = offset + first >= 0 && (offset + end) as u64 <= found.len_bytes();
    is_inside.then(|| found.bytes.seen_as(offset, dtype, layout))
}

/// Let operations begin behind what a stream was given so far.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_wait_stream(device: Handle, stream: Handle) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        check_not_recording("waiting for a stream")?;
        Queue::of(stream, &device)?.before(&device)
    })
}

/// Hold a stream back until the operations so far are done.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_stream_wait_device(device: Handle, stream: Handle) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        check_not_recording("waiting for the device")?;
        Queue::of(stream, &device)?.after(&device)
    })
}
