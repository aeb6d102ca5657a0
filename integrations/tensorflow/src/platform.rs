//! What TensorFlow asks a plug-in for at the start: `SE_InitPlugin` of `tensorflow/c/experimental/stream_executor/stream_executor.h`, with
//! its structs, and the functions of a platform. Those of a device are in `platform/executor.rs`.

mod executor;

use std::ffi::{c_char, c_int, c_void};

use crate::amdgpu;
use crate::devices;
use crate::failure::{Outcome, caught};
use crate::graph;
use crate::registry;
use crate::streams::Timer;
use crate::tensorflow::{self, Opaque};

use executor::StreamExecutor;

/// Structs of the interface, which state their size up to the end of the last field that their side knows.
macro_rules! structs {
    ($($(#[$meta:meta])* $name:ident { $($field:ident: $type:ty,)*; $last:ident: $last_type:ty, })*) => {
        $(
            $(#[$meta])*
            #[allow(clippy::struct_field_names, reason = "fields have the names of TensorFlow's headers")]
            #[repr(C)]
            pub struct $name {
                pub struct_size: usize,
                $(pub $field: $type,)*
                pub $last: $last_type,
            }

            impl $name {
                /// What TensorFlow calls `TF_OFFSET_OF_END` of the last field.
                pub const STRUCT_SIZE: usize = std::mem::offset_of!(Self, $last) + size_of::<$last_type>();
            }
        )*

        /// The structs by their names in C, with the size of what is declared here.
        pub const STRUCT_SIZES: &[(&std::ffi::CStr, usize)] = &[$(($name::C_NAME, $name::STRUCT_SIZE)),*];
    };
}

pub(crate) use structs;

macro_rules! names {
    ($($name:ident: $text:literal,)*) => {
        $(impl $name {
            const C_NAME: &'static std::ffi::CStr = $text;
        })*
    };
}

structs! {
    DeviceMemory { ext: *mut c_void, opaque: *mut c_void, size: u64, ; payload: u64, }
    Device {
        ext: *mut c_void,
        ordinal: i32,
        device_handle: *mut c_void,
        hardware_name: *const c_char,
        device_vendor: *const c_char,
        ; pci_bus_id: *const c_char,
    }
    CreateDeviceParams { ext: *mut c_void, ordinal: i32, ; device: *mut Device, }
    DeviceFns {
        ext: *mut c_void,
        get_numa_node: Option<extern "C" fn(*const Device) -> i32>,
        get_memory_bandwidth: Option<extern "C" fn(*const Device) -> i64>,
        ; get_gflops: Option<extern "C" fn(*const Device) -> f64>,
    }
    CreateDeviceFnsParams { ext: *mut c_void, ; device_fns: *mut DeviceFns, }
    CreateStreamExecutorParams { ext: *mut c_void, ; stream_executor: *mut StreamExecutor, }
    TimerFns { ext: *mut c_void, ; nanoseconds: Option<extern "C" fn(*mut Timer) -> u64>, }
    AllocatorStats {
        num_allocs: i64,
        bytes_in_use: i64,
        peak_bytes_in_use: i64,
        largest_alloc_size: i64,
        has_bytes_limit: i8,
        bytes_limit: i64,
        bytes_reserved: i64,
        peak_bytes_reserved: i64,
        has_bytes_reservable_limit: i8,
        bytes_reservable_limit: i64,
        ; largest_free_block_bytes: i64,
    }
    Platform {
        ext: *mut c_void,
        name: *const c_char,
        type_name: *const c_char,
        supports_unified_memory: u8,
        use_bfc_allocator: u8,
        ; force_memory_growth: u8,
    }
    PlatformFns {
        ext: *mut c_void,
        get_device_count: Option<extern "C" fn(*const Platform, *mut c_int, Opaque)>,
        create_device: Option<extern "C" fn(*const Platform, *mut CreateDeviceParams, Opaque)>,
        destroy_device: Option<extern "C" fn(*const Platform, *mut Device)>,
        create_device_fns: Option<extern "C" fn(*const Platform, *mut CreateDeviceFnsParams, Opaque)>,
        destroy_device_fns: Option<extern "C" fn(*const Platform, *mut DeviceFns)>,
        create_stream_executor: Option<extern "C" fn(*const Platform, *mut CreateStreamExecutorParams, Opaque)>,
        destroy_stream_executor: Option<extern "C" fn(*const Platform, *mut StreamExecutor)>,
        create_timer_fns: Option<extern "C" fn(*const Platform, *mut TimerFns, Opaque)>,
        ; destroy_timer_fns: Option<extern "C" fn(*const Platform, *mut TimerFns)>,
    }
    RegistrationParams {
        ext: *mut c_void,
        major_version: i32,
        minor_version: i32,
        patch_version: i32,
        platform: *mut Platform,
        platform_fns: *mut PlatformFns,
        destroy_platform: Option<extern "C" fn(*mut Platform)>,
        ; destroy_platform_fns: Option<extern "C" fn(*mut PlatformFns)>,
    }
}

names! {
    DeviceMemory: c"SP_DeviceMemoryBase",
    Device: c"SP_Device",
    CreateDeviceParams: c"SE_CreateDeviceParams",
    DeviceFns: c"SP_DeviceFns",
    CreateDeviceFnsParams: c"SE_CreateDeviceFnsParams",
    CreateStreamExecutorParams: c"SE_CreateStreamExecutorParams",
    TimerFns: c"SP_TimerFns",
    AllocatorStats: c"SP_AllocatorStats",
    Platform: c"SP_Platform",
    PlatformFns: c"SP_PlatformFns",
    RegistrationParams: c"SE_PlatformRegistrationParams",
}

/// The size of a struct by its name in C as it is declared here; 0 for others. For tests, which compare it with TensorFlow's headers.
///
/// # Safety
///
/// `name` is a text that ends with a null byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tensorflow_struct_size(name: *const c_char) -> usize {
    // SAFETY: as the caller promises.
    let name = unsafe { std::ffi::CStr::from_ptr(name) };
    if name == c"SP_StreamExecutor" {
        return StreamExecutor::STRUCT_SIZE;
    }
    if name == c"TF_AllocatorAttributes" {
        return tensorflow::AllocatorAttributes::STRUCT_SIZE;
    }
    { STRUCT_SIZES.iter().chain(graph::STRUCT_SIZES) }
        .find_map(|(own, size)| (*own == name).then_some(*size))
        .unwrap_or(0)
}

/// Runs work and writes what became of it into a status.
pub fn answered(status: Opaque, work: impl FnOnce() -> Outcome) {
    tensorflow::tell(status, caught(work));
}

/// TensorFlow's entry: says which platform this is and how its devices are made.
///
/// # Safety
///
/// `params` is what TensorFlow gives a plug-in, with places for the platform and its functions; `status` is a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn SE_InitPlugin(params: *mut RegistrationParams, status: Opaque) {
    if tensorflow::find().is_err() {
        // Without TensorFlow's functions nothing can be told; a platform without a name is refused.
        return;
    }
    answered(status, || {
        amdgpu::find()?;
        devices::list()?;
        // SAFETY: as the caller promises.
        let params = unsafe { &mut *params };
        let platform = Platform {
            struct_size: Platform::STRUCT_SIZE,
            ext: std::ptr::null_mut(),
            name: c"RDNA_AMDGPU".as_ptr(),
            type_name: c"RDNA".as_ptr(),
            supports_unified_memory: 0,
            // The allocator of libamdgpu caches itself, and Python's arrays take their memory from the same one.
            use_bfc_allocator: 0,
            force_memory_growth: 1,
        };
        // SAFETY: places of TensorFlow's for these structs.
        unsafe {
            write_up_to(params.platform, platform, Platform::STRUCT_SIZE);
            write_up_to(params.platform_fns, functions(), PlatformFns::STRUCT_SIZE);
        }
        params.destroy_platform = Some(destroy_platform);
        params.destroy_platform_fns = Some(destroy_platform_fns);
        Ok(())
    });
}

/// Writes the first bytes of a struct; behind its last field lies what the other side may use for more.
pub unsafe fn write_up_to<T>(place: *mut T, value: T, bytes: usize) {
    // SAFETY: as the caller promises; `bytes` are no more than the struct has.
    unsafe {
        std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), place.cast::<u8>(), bytes);
    }
    std::mem::forget(value);
}

fn functions() -> PlatformFns {
    PlatformFns {
        struct_size: PlatformFns::STRUCT_SIZE,
        ext: std::ptr::null_mut(),
        get_device_count: Some(get_device_count),
        create_device: Some(create_device),
        destroy_device: Some(destroy_device),
        create_device_fns: Some(create_device_fns),
        destroy_device_fns: Some(destroy_device_fns),
        create_stream_executor: Some(executor::create),
        destroy_stream_executor: Some(destroy_stream_executor),
        create_timer_fns: Some(create_timer_fns),
        destroy_timer_fns: Some(destroy_timer_fns),
    }
}

/// TensorFlow's entry: registers the kernels.
#[unsafe(no_mangle)]
pub extern "C" fn TF_InitKernel() {
    // Kernels that could not be registered are told by `agpu_tensorflow_registration_error`; TensorFlow has no place for it here.
    registry::register_all();
}

extern "C" fn destroy_platform(_platform: *mut Platform) {}

extern "C" fn destroy_platform_fns(_functions: *mut PlatformFns) {}

extern "C" fn destroy_device(_platform: *const Platform, _device: *mut Device) {}

extern "C" fn destroy_device_fns(_platform: *const Platform, _functions: *mut DeviceFns) {}

extern "C" fn destroy_stream_executor(_platform: *const Platform, _executor: *mut StreamExecutor) {}

extern "C" fn destroy_timer_fns(_platform: *const Platform, _functions: *mut TimerFns) {}

extern "C" fn get_device_count(_platform: *const Platform, count: *mut c_int, status: Opaque) {
    answered(status, || {
        let devices = devices::list()?.len();
        // SAFETY: a place for the count.
        unsafe { count.write(devices as c_int) };
        Ok(())
    });
}

extern "C" fn create_device(
    _platform: *const Platform,
    params: *mut CreateDeviceParams,
    status: Opaque,
) {
    answered(status, || {
        // SAFETY: TensorFlow's parameters with a place for the device.
        let params = unsafe { &mut *params };
        let device = devices::get(params.ordinal)?;
        device.open()?;
        let made = Device {
            struct_size: Device::STRUCT_SIZE,
            ext: std::ptr::null_mut(),
            ordinal: params.ordinal,
            device_handle: std::ptr::from_ref(device).cast_mut().cast(),
            hardware_name: device.product_name.as_ptr(),
            device_vendor: c"amdgpu".as_ptr(),
            pci_bus_id: c"".as_ptr(),
        };
        // SAFETY: as above.
        unsafe { write_up_to(params.device, made, Device::STRUCT_SIZE) };
        Ok(())
    });
}

/// The numbers that schedulers of TensorFlow want to know; negative ones say that nobody knows.
extern "C" fn create_device_fns(
    _platform: *const Platform,
    params: *mut CreateDeviceFnsParams,
    status: Opaque,
) {
    extern "C" fn numa_node(_device: *const Device) -> i32 {
        -1
    }
    extern "C" fn memory_bandwidth(_device: *const Device) -> i64 {
        -1
    }
    extern "C" fn gflops(_device: *const Device) -> f64 {
        -1.0
    }
    answered(status, || {
        let made = DeviceFns {
            struct_size: DeviceFns::STRUCT_SIZE,
            ext: std::ptr::null_mut(),
            get_numa_node: Some(numa_node),
            get_memory_bandwidth: Some(memory_bandwidth),
            get_gflops: Some(gflops),
        };
        // SAFETY: TensorFlow's parameters with a place for the functions.
        unsafe { write_up_to((*params).device_fns, made, DeviceFns::STRUCT_SIZE) };
        Ok(())
    });
}

extern "C" fn create_timer_fns(_platform: *const Platform, timer: *mut TimerFns, status: Opaque) {
    extern "C" fn nanoseconds(timer: *mut Timer) -> u64 {
        // SAFETY: a timer that `create_timer` made.
        unsafe { timer.as_ref() }.map_or(0, Timer::nanoseconds)
    }
    answered(status, || {
        let made = TimerFns {
            struct_size: TimerFns::STRUCT_SIZE,
            ext: std::ptr::null_mut(),
            nanoseconds: Some(nanoseconds),
        };
        // SAFETY: a place for the functions.
        unsafe { write_up_to(timer, made, TimerFns::STRUCT_SIZE) };
        Ok(())
    });
}
