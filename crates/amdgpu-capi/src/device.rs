//! runtime.h: devices.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_array::recording::check_not_recording;
use amdgpu_aura::{Context, ContextOptions, CoreType, LaunchRecords, OpenDevice, flush_printf};
use amdgpu_compiler::OptimizationLevel;
use amdgpu_hal::{DeviceInfo, DeviceKind, MemoryKind, registry};
use amdgpu_memory::Stat;

use crate::borrowed::{Described, Items, Options, Out, Text, Versioned, fixed_text};
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};

/// `agpu_device_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DeviceOptions {
    size_bytes: u64,
    optimization_level: Text,
    telemetry: Text,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for DeviceOptions {
    const NAME: &'static str = "agpu_device_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_device_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DeviceFacts {
    size_bytes: u64,
    name: [u8; 64],
    product_name: [u8; 128],
    architecture: [u8; 64],
    kind: [u8; 8],
    ordinal: u32,
    compute_units: u32,
    physical_cores: u32,
    logical_cores: u32,
    warp_size: u32,
    max_threads_per_block: u32,
    max_block: [u32; 3],
    max_grid: [u32; 3],
    shared_memory_per_block_bytes: u64,
    total_memory_bytes: u64,
    clock_hertz: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for DeviceFacts {
    const NAME: &'static str = "agpu_device_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl DeviceFacts {
    fn of(info: &DeviceInfo) -> Self {
        Self {
            size_bytes: size_of::<Self>() as u64,
            name: fixed_text(&info.name),
            product_name: fixed_text(&info.product_name),
            architecture: fixed_text(&info.architecture),
            kind: fixed_text(info.kind.name()),
            ordinal: info.ordinal,
            compute_units: info.compute_units.unwrap_or_default(),
            physical_cores: info.physical_cores.unwrap_or_default(),
            logical_cores: info.logical_cores.unwrap_or_default(),
            warp_size: info.warp_size,
            max_threads_per_block: info.max_threads_per_block,
            max_block: info.max_block,
            max_grid: info.max_grid,
            shared_memory_per_block_bytes: info.shared_memory_per_block_bytes,
            total_memory_bytes: info.total_memory_bytes,
            clock_hertz: info.clock_hertz.unwrap_or_default(),
        }
    }
}

/// `agpu_memory_info`.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(clippy::struct_field_names, reason = "quantities carry their units")]
pub struct MemoryFacts {
    size_bytes: u64,
    free_bytes: u64,
    total_bytes: u64,
    used_bytes: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for MemoryFacts {
    const NAME: &'static str = "agpu_memory_info";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_memory_statistics`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MemoryStatistics {
    size_bytes: u64,
    allocations: u64,
    allocated_bytes: u64,
    allocated_bytes_peak: u64,
    reserved_bytes: u64,
    reserved_bytes_peak: u64,
    allocations_total: u64,
    cache_hits: u64,
    cache_misses: u64,
    out_of_memory: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for MemoryStatistics {
    const NAME: &'static str = "agpu_memory_statistics";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `AGPU_MEMORY_DEVICE` and so on, in this order.
pub fn memory_kind(number: u32) -> Answer<MemoryKind> {
    MemoryKind::ALL
        .get(number as usize)
        .copied()
        .ok_or_else(|| {
            Failure::invalid(format!(
                "kind of memory is {number}; known are 0 (device), 1 (pinned), 2 (unified)"
            ))
        })
}

/// Devices of this machine.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_count(count: Out<u32>) -> Status {
    answer(|| {
        let count = count.required("count")?;
        count.write(registry::list_devices()?.len() as u32);
        Ok(())
    })
}

/// Facts of a device by its place in the list, without opening it.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_info_at(index: u32, info: Described<DeviceFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let devices = registry::list_devices()?;
        let found = devices.get(index as usize).ok_or_else(|| {
            let message = format!("index is {index}; there are {} devices", devices.len());
            Failure::new(ErrorCode::DeviceNotFound, message)
        })?;
        place.set(&DeviceFacts::of(found));
        Ok(())
    })
}

/// Open a device by name; null is the best one.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_open(
    name: Text,
    options: Options<DeviceOptions>,
    device: Out<Handle>,
) -> Status {
    answer(|| {
        let place = device.required("device")?;
        let options = options.read()?;
        crate::prepare();
        let opened = match name.optional("name")? {
            Some(name) => OpenDevice::open(name)?,
            None => OpenDevice::open(0_i64)?,
        };
        let level = match options.optimization_level.optional("optimization_level")? {
            None => OptimizationLevel::High,
            Some(level) => parse_level(level)?,
        };
        let telemetry = options.telemetry.optional("telemetry")?;
        let options = ContextOptions {
            cores: CoreType::ALL.to_vec(),
            launch_records: LaunchRecords::from_name(telemetry.unwrap_or("standard"))?,
        };
        let context = Arc::new(Context::open(opened, options)?);
        place.write(handles::insert(Arc::new(DeviceObject { context, level })));
        Ok(())
    })
}

pub fn parse_level(name: &str) -> Answer<OptimizationLevel> {
    OptimizationLevel::parse(name).ok_or_else(|| {
        Failure::invalid(format!(
            "optimization_level is {name:?}; known are none, low, high, max"
        ))
    })
}

/// Facts of an open device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_info(device: Handle, info: Described<DeviceFacts>) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        info.required("info")?
            .set(&DeviceFacts::of(device.context.info()));
        Ok(())
    })
}

/// Its memory now.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_memory(device: Handle, memory: Described<MemoryFacts>) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let place = memory.required("memory")?;
        let info = device.context.device()?.memory_info()?;
        place.set(&MemoryFacts {
            size_bytes: size_of::<MemoryFacts>() as u64,
            free_bytes: info.free_bytes,
            total_bytes: info.total_bytes,
            used_bytes: info.used_bytes,
        });
        Ok(())
    })
}

/// What the allocator of the device did so far, which all openings of the device share.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_memory_statistics(
    device: Handle,
    kind: u32,
    statistics: Described<MemoryStatistics>,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let place = statistics.required("statistics")?;
        let stats = device.context.allocator()?.stats_of(memory_kind(kind)?);
        let (allocations, allocated, reserved): (Stat, Stat, Stat) = (
            stats.allocation.all,
            stats.allocated_bytes.all,
            stats.reserved_bytes.all,
        );
        place.set(&MemoryStatistics {
            size_bytes: size_of::<MemoryStatistics>() as u64,
            allocations: allocations.current,
            allocated_bytes: allocated.current,
            allocated_bytes_peak: allocated.peak,
            reserved_bytes: reserved.current,
            reserved_bytes_peak: reserved.peak,
            allocations_total: allocations.allocated,
            cache_hits: stats.cache_hits,
            cache_misses: stats.cache_misses,
            out_of_memory: stats.num_ooms,
        });
        Ok(())
    })
}

/// Let peaks begin again at what is there now.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_reset_memory_peaks(device: Handle) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        device.context.allocator()?.reset_peak_stats();
        Ok(())
    })
}

/// Give cached memory back to the system.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_empty_cache(device: Handle, freed_bytes: Out<u64>) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let freed = device.context.allocator()?.empty_cache();
        if let Some(place) = freed_bytes.optional() {
            place.write(freed);
        }
        Ok(())
    })
}

/// Give cached memory of one kind back to the system.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_empty_pool(
    device: Handle,
    kind: u32,
    freed_bytes: Out<u64>,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let freed = device.context.allocator()?.empty_pool(memory_kind(kind)?);
        if let Some(place) = freed_bytes.optional() {
            place.write(freed);
        }
        Ok(())
    })
}

/// Reserve memory in advance.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_warm_up(
    device: Handle,
    kind: u32,
    sizes: Items<u64>,
    count: u64,
    reserved_bytes: Out<u64>,
) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        let kind = memory_kind(kind)?;
        let sizes = sizes.slice(count as usize, "sizes")?;
        let reserved = device.context.allocator()?.warm_up(kind, sizes)?;
        if let Some(place) = reserved_bytes.optional() {
            place.write(reserved);
        }
        Ok(())
    })
}

/// Wait for everything that the device was given.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_device_synchronize(device: Handle) -> Status {
    answer(|| {
        let device = handles::get::<DeviceObject>(device, "device")?;
        check_not_recording("waiting for the device")?;
        device.context.device()?.synchronize()?;
        Ok(flush_printf(None)?)
    })
}

/// Whether the host can use addresses of the device's memory: those of the CPU device.
pub fn is_host_visible(info: &DeviceInfo, kind: MemoryKind) -> bool {
    info.kind == DeviceKind::Cpu || kind != MemoryKind::Device
}
