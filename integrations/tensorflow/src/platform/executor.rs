//! Memory, streams, events and copies of a device: the functions of `SP_StreamExecutor`.

use std::ffi::{c_int, c_void};
use std::mem::offset_of;

use super::{
    AllocatorStats, CreateStreamExecutorParams, Device, DeviceMemory, Platform, answered,
    write_up_to,
};
use crate::amdgpu::{Handle, MemoryOptions, OPERAND_INTEGER, OPERAND_MEMORY, Operand, agpu};
use crate::devices::{self, real, shown};
use crate::failure::{Failure, Outcome, caught};
use crate::streams::{Event, Stream, Timer};
use crate::tensorflow::{Opaque, Status};

type StreamPointer = *mut Stream;
type EventPointer = *mut Event;
type TimerPointer = *mut Timer;
type Callback = extern "C" fn(*mut c_void, Opaque);

/// `SP_StreamExecutor`.
#[repr(C)]
pub struct StreamExecutor {
    struct_size: usize,
    ext: *mut c_void,
    allocate: extern "C" fn(*const Device, u64, i64, *mut DeviceMemory),
    deallocate: extern "C" fn(*const Device, *mut DeviceMemory),
    host_memory_allocate: extern "C" fn(*const Device, u64) -> *mut c_void,
    host_memory_deallocate: extern "C" fn(*const Device, *mut c_void),
    unified_memory_allocate: Option<extern "C" fn(*const Device, u64) -> *mut c_void>,
    unified_memory_deallocate: Option<extern "C" fn(*const Device, *mut c_void)>,
    get_allocator_stats: extern "C" fn(*const Device, *mut AllocatorStats) -> u8,
    device_memory_usage: extern "C" fn(*const Device, *mut i64, *mut i64) -> u8,
    create_stream: extern "C" fn(*const Device, *mut StreamPointer, Opaque),
    destroy_stream: extern "C" fn(*const Device, StreamPointer),
    create_stream_dependency: extern "C" fn(*const Device, StreamPointer, StreamPointer, Opaque),
    get_stream_status: extern "C" fn(*const Device, StreamPointer, Opaque),
    create_event: extern "C" fn(*const Device, *mut EventPointer, Opaque),
    destroy_event: extern "C" fn(*const Device, EventPointer),
    get_event_status: extern "C" fn(*const Device, EventPointer) -> c_int,
    record_event: extern "C" fn(*const Device, StreamPointer, EventPointer, Opaque),
    wait_for_event: extern "C" fn(*const Device, StreamPointer, EventPointer, Opaque),
    create_timer: extern "C" fn(*const Device, *mut TimerPointer, Opaque),
    destroy_timer: extern "C" fn(*const Device, TimerPointer),
    start_timer: extern "C" fn(*const Device, StreamPointer, TimerPointer, Opaque),
    stop_timer: extern "C" fn(*const Device, StreamPointer, TimerPointer, Opaque),
    memcpy_dtoh:
        extern "C" fn(*const Device, StreamPointer, *mut c_void, *const DeviceMemory, u64, Opaque),
    memcpy_htod:
        extern "C" fn(*const Device, StreamPointer, *mut DeviceMemory, *const c_void, u64, Opaque),
    memcpy_dtod: extern "C" fn(
        *const Device,
        StreamPointer,
        *mut DeviceMemory,
        *const DeviceMemory,
        u64,
        Opaque,
    ),
    sync_memcpy_dtoh: extern "C" fn(*const Device, *mut c_void, *const DeviceMemory, u64, Opaque),
    sync_memcpy_htod: extern "C" fn(*const Device, *mut DeviceMemory, *const c_void, u64, Opaque),
    sync_memcpy_dtod:
        extern "C" fn(*const Device, *mut DeviceMemory, *const DeviceMemory, u64, Opaque),
    block_host_for_event: extern "C" fn(*const Device, EventPointer, Opaque),
    block_host_until_done: extern "C" fn(*const Device, StreamPointer, Opaque),
    synchronize_all_activity: extern "C" fn(*const Device, Opaque),
    mem_zero: extern "C" fn(*const Device, StreamPointer, *mut DeviceMemory, u64, Opaque),
    memset: extern "C" fn(*const Device, StreamPointer, *mut DeviceMemory, u8, u64, Opaque),
    memset32: extern "C" fn(*const Device, StreamPointer, *mut DeviceMemory, u32, u64, Opaque),
    host_callback: extern "C" fn(*const Device, StreamPointer, Callback, *mut c_void) -> u8,
}

impl StreamExecutor {
    /// `SP_STREAMEXECUTOR_STRUCT_SIZE`.
    pub const STRUCT_SIZE: usize = offset_of!(Self, host_callback) + size_of::<usize>();
}

/// `AGPU_MEMORY_PINNED`.
const PINNED: u32 = 1;

/// `AGPU_COPY_HOST_TO_DEVICE` and so on.
#[derive(Clone, Copy)]
enum Direction {
    HostToDevice = 0,
    DeviceToHost = 1,
    BetweenDevices = 3,
}

/// `SE_EventStatus`.
const EVENT_ERROR: c_int = 1;
const EVENT_PENDING: c_int = 2;
const EVENT_COMPLETE: c_int = 3;

pub extern "C" fn create(
    _platform: *const Platform,
    params: *mut CreateStreamExecutorParams,
    status: Opaque,
) {
    answered(status, || {
        let made = StreamExecutor {
            struct_size: StreamExecutor::STRUCT_SIZE,
            ext: std::ptr::null_mut(),
            allocate,
            deallocate,
            host_memory_allocate,
            host_memory_deallocate,
            unified_memory_allocate: None,
            unified_memory_deallocate: None,
            get_allocator_stats,
            device_memory_usage,
            create_stream,
            destroy_stream,
            create_stream_dependency,
            get_stream_status,
            create_event,
            destroy_event,
            get_event_status,
            record_event,
            wait_for_event,
            create_timer,
            destroy_timer,
            start_timer,
            stop_timer,
            memcpy_dtoh,
            memcpy_htod,
            memcpy_dtod,
            sync_memcpy_dtoh,
            sync_memcpy_htod,
            sync_memcpy_dtod,
            block_host_for_event,
            block_host_until_done,
            synchronize_all_activity,
            mem_zero,
            memset,
            memset32,
            host_callback,
        };
        // SAFETY: TensorFlow's parameters with a place for the functions.
        unsafe { write_up_to((*params).stream_executor, made, StreamExecutor::STRUCT_SIZE) };
        Ok(())
    });
}

/// The device that TensorFlow means.
fn device_of(device: *const Device) -> Outcome<&'static devices::Device> {
    // SAFETY: a device that `create_device` filled in.
    devices::get(unsafe { (*device).ordinal })
}

/// What TensorFlow's pointer to an object of ours stands for.
fn object<'a, T>(pointer: *mut T) -> Outcome<&'a T> {
    // SAFETY: null, or an object that lives until TensorFlow has it destroyed.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::refused("a stream or an event is NULL"))
}

/// Gives TensorFlow an object, which comes back when it is destroyed.
fn give<T>(place: *mut *mut T, made: T) {
    // SAFETY: a place for a pointer.
    unsafe { place.write(Box::into_raw(Box::new(made))) };
}

fn take<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // A panic of a destructor ends here.
        let _ = caught(|| {
            // SAFETY: an object that `give` gave, for the last time.
            drop(unsafe { Box::from_raw(pointer) });
            Ok(())
        });
    }
}

extern "C" fn allocate(device: *const Device, bytes: u64, _space: i64, memory: *mut DeviceMemory) {
    let mut address = std::ptr::null_mut();
    // TensorFlow makes its own error of memory that is NULL.
    let done = caught(|| {
        let handle = device_of(device)?.open()?;
        agpu!(agpu_raw_allocate(
            handle,
            bytes,
            std::ptr::null(),
            &raw mut address
        ))
    });
    if done.is_err() {
        address = std::ptr::null_mut();
    }
    // SAFETY: TensorFlow's place for the memory.
    unsafe {
        (*memory).opaque = shown(address);
        (*memory).size = if address.is_null() { 0 } else { bytes };
        (*memory).payload = 0;
    }
}

extern "C" fn deallocate(_device: *const Device, memory: *mut DeviceMemory) {
    // Memory that cannot be given back, as after a fork, stays.
    let _ = caught(|| {
        // SAFETY: memory that `allocate` gave.
        let memory = unsafe { &mut *memory };
        agpu!(agpu_raw_free(real(memory.opaque), 0))?;
        memory.opaque = std::ptr::null_mut();
        memory.size = 0;
        Ok(())
    });
}

extern "C" fn host_memory_allocate(device: *const Device, bytes: u64) -> *mut c_void {
    let mut address = std::ptr::null_mut();
    let options = MemoryOptions {
        kind: PINNED,
        ..MemoryOptions::default()
    };
    let done = caught(|| {
        let handle = device_of(device)?.open()?;
        agpu!(agpu_raw_allocate(
            handle,
            bytes,
            &raw const options,
            &raw mut address
        ))
    });
    if done.is_err() {
        return std::ptr::null_mut();
    }
    address
}

extern "C" fn host_memory_deallocate(_device: *const Device, memory: *mut c_void) {
    let _ = caught(|| agpu!(agpu_raw_free(memory, 0)));
}

extern "C" fn get_allocator_stats(device: *const Device, stats: *mut AllocatorStats) -> u8 {
    let done = caught(|| {
        let found = device_of(device)?.statistics()?;
        // SAFETY: TensorFlow's place for the numbers.
        let stats = unsafe { &mut *stats };
        stats.num_allocs = found.allocations_total as i64;
        stats.bytes_in_use = found.allocated_bytes as i64;
        stats.peak_bytes_in_use = found.allocated_bytes_peak as i64;
        stats.largest_alloc_size = 0;
        stats.has_bytes_limit = 0;
        stats.bytes_reserved = found.reserved_bytes as i64;
        stats.peak_bytes_reserved = found.reserved_bytes_peak as i64;
        stats.has_bytes_reservable_limit = 0;
        stats.largest_free_block_bytes = 0;
        Ok(())
    });
    u8::from(done.is_ok())
}

extern "C" fn device_memory_usage(device: *const Device, free: *mut i64, total: *mut i64) -> u8 {
    let done = caught(|| {
        let memory = device_of(device)?.memory()?;
        // SAFETY: places for two numbers.
        unsafe {
            free.write(memory.free_bytes as i64);
            total.write(memory.total_bytes as i64);
        }
        Ok(())
    });
    u8::from(done.is_ok())
}

extern "C" fn create_stream(device: *const Device, stream: *mut StreamPointer, status: Opaque) {
    answered(status, || {
        give(stream, Stream::new(device_of(device)?)?);
        Ok(())
    });
}

extern "C" fn destroy_stream(_device: *const Device, stream: StreamPointer) {
    take(stream);
}

extern "C" fn create_stream_dependency(
    _device: *const Device,
    dependent: StreamPointer,
    other: StreamPointer,
    status: Opaque,
) {
    answered(status, || object(dependent)?.wait_for(object(other)?));
}

extern "C" fn get_stream_status(_device: *const Device, _stream: StreamPointer, status: Opaque) {
    answered(status, || Ok(()));
}

extern "C" fn create_event(device: *const Device, event: *mut EventPointer, status: Opaque) {
    answered(status, || {
        give(event, Event::new(device_of(device)?)?);
        Ok(())
    });
}

extern "C" fn destroy_event(_device: *const Device, event: EventPointer) {
    take(event);
}

extern "C" fn get_event_status(_device: *const Device, event: EventPointer) -> c_int {
    match caught(|| object(event)?.is_complete()) {
        Ok(true) => EVENT_COMPLETE,
        Ok(false) => EVENT_PENDING,
        Err(_) => EVENT_ERROR,
    }
}

extern "C" fn record_event(
    _device: *const Device,
    stream: StreamPointer,
    event: EventPointer,
    status: Opaque,
) {
    answered(status, || object(event)?.record(object(stream)?));
}

extern "C" fn wait_for_event(
    _device: *const Device,
    stream: StreamPointer,
    event: EventPointer,
    status: Opaque,
) {
    answered(status, || object(event)?.hold_back(object(stream)?));
}

extern "C" fn create_timer(device: *const Device, timer: *mut TimerPointer, status: Opaque) {
    answered(status, || {
        give(timer, Timer::new(device_of(device)?)?);
        Ok(())
    });
}

extern "C" fn destroy_timer(_device: *const Device, timer: TimerPointer) {
    take(timer);
}

extern "C" fn start_timer(
    _device: *const Device,
    stream: StreamPointer,
    timer: TimerPointer,
    status: Opaque,
) {
    answered(status, || object(timer)?.start.record(object(stream)?));
}

extern "C" fn stop_timer(
    _device: *const Device,
    stream: StreamPointer,
    timer: TimerPointer,
    status: Opaque,
) {
    answered(status, || object(timer)?.stop.record(object(stream)?));
}

/// Copies in a stream; without one the copy is done when this returns.
fn copy(
    device: *const Device,
    (to, from): (*mut c_void, *const c_void),
    bytes: u64,
    direction: Direction,
    stream: Handle,
) -> Outcome {
    let handle = device_of(device)?.open()?;
    agpu!(agpu_raw_copy(
        handle,
        to,
        from,
        bytes,
        direction as u32,
        stream
    ))
}

/// The address of memory that TensorFlow names.
fn address_of(memory: *const DeviceMemory) -> *mut c_void {
    // SAFETY: memory that `allocate` gave, or a part of it.
    real(unsafe { (*memory).opaque })
}

extern "C" fn memcpy_dtoh(
    device: *const Device,
    stream: StreamPointer,
    to: *mut c_void,
    from: *const DeviceMemory,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || {
        let stream = object(stream)?.handle;
        let places = (to, address_of(from).cast_const());
        copy(device, places, bytes, Direction::DeviceToHost, stream)
    });
}

extern "C" fn memcpy_htod(
    device: *const Device,
    stream: StreamPointer,
    to: *mut DeviceMemory,
    from: *const c_void,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || {
        let stream = object(stream)?.handle;
        let places = (address_of(to), from);
        copy(device, places, bytes, Direction::HostToDevice, stream)
    });
}

extern "C" fn memcpy_dtod(
    device: *const Device,
    stream: StreamPointer,
    to: *mut DeviceMemory,
    from: *const DeviceMemory,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || {
        let stream = object(stream)?.handle;
        let places = (address_of(to), address_of(from).cast_const());
        copy(device, places, bytes, Direction::BetweenDevices, stream)
    });
}

extern "C" fn sync_memcpy_dtoh(
    device: *const Device,
    to: *mut c_void,
    from: *const DeviceMemory,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || {
        let places = (to, address_of(from).cast_const());
        copy(device, places, bytes, Direction::DeviceToHost, 0)
    });
}

extern "C" fn sync_memcpy_htod(
    device: *const Device,
    to: *mut DeviceMemory,
    from: *const c_void,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || {
        copy(
            device,
            (address_of(to), from),
            bytes,
            Direction::HostToDevice,
            0,
        )
    });
}

extern "C" fn sync_memcpy_dtod(
    device: *const Device,
    to: *mut DeviceMemory,
    from: *const DeviceMemory,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || {
        let places = (address_of(to), address_of(from).cast_const());
        copy(device, places, bytes, Direction::BetweenDevices, 0)
    });
}

extern "C" fn block_host_for_event(_device: *const Device, event: EventPointer, status: Opaque) {
    answered(status, || object(event)?.synchronize());
}

extern "C" fn block_host_until_done(_device: *const Device, stream: StreamPointer, status: Opaque) {
    answered(status, || object(stream)?.synchronize());
}

extern "C" fn synchronize_all_activity(device: *const Device, status: Opaque) {
    answered(status, || {
        let handle = device_of(device)?.open()?;
        agpu!(agpu_device_synchronize(handle))
    });
}

fn fill(
    device: *const Device,
    stream: StreamPointer,
    memory: *mut DeviceMemory,
    value: u8,
    bytes: u64,
) -> Outcome {
    let handle = device_of(device)?.open()?;
    let stream = object(stream)?.handle;
    agpu!(agpu_raw_fill(
        handle,
        address_of(memory),
        bytes,
        value,
        stream
    ))
}

extern "C" fn mem_zero(
    device: *const Device,
    stream: StreamPointer,
    memory: *mut DeviceMemory,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || fill(device, stream, memory, 0, bytes));
}

extern "C" fn memset(
    device: *const Device,
    stream: StreamPointer,
    memory: *mut DeviceMemory,
    value: u8,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || fill(device, stream, memory, value, bytes));
}

extern "C" fn memset32(
    device: *const Device,
    stream: StreamPointer,
    memory: *mut DeviceMemory,
    value: u32,
    bytes: u64,
    status: Opaque,
) {
    answered(status, || {
        let [first, rest @ ..] = value.to_le_bytes();
        if rest.iter().all(|byte| *byte == first) {
            return fill(device, stream, memory, first, bytes);
        }
        let handle = device_of(device)?.open()?;
        let shape = [(bytes / 4) as i64];
        let operand = |kind, integer, dimensions, address| Operand {
            kind,
            dimensions,
            dtype: c"uint32".as_ptr(),
            address,
            shape: shape.as_ptr(),
            strides: std::ptr::null(),
            integer,
            real: 0.0,
            imaginary: 0.0,
        };
        let number = operand(OPERAND_INTEGER, i64::from(value), 0, std::ptr::null_mut());
        let out = operand(OPERAND_MEMORY, 0, 1, address_of(memory));
        object(stream)?.in_order(|| {
            agpu!(agpu_ops_elementwise_at(
                handle,
                c"cast".as_ptr(),
                &raw const number,
                1,
                0.0,
                &raw const out
            ))
        })
    });
}

/// Runs a function of the host behind what a stream was given. The host waits for it, so that what the stream is given later comes behind it.
extern "C" fn host_callback(
    _device: *const Device,
    stream: StreamPointer,
    callback: Callback,
    argument: *mut c_void,
) -> u8 {
    let done = caught(|| {
        object(stream)?.synchronize()?;
        let status = Status::new()?;
        callback(argument, status.0);
        status.done()
    });
    u8::from(done.is_ok())
}
