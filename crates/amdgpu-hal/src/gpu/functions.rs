//! The driver functions in use: each once, with its name in the CUDA driver interface and in HIP and the signature they share.
//!
//! Sources: CUDA Driver API reference manual; HIP Runtime API reference. Objects of the driver are opaque pointers, which travel as
//! [`Handle`]; device addresses are 64-bit numbers in both. `tests/gpu/test_hip_names.py` compares names and parameters of the HIP column
//! with AMD's declarations.

use std::ffi::{CStr, c_char, c_void};

/// What a driver function returns; 0 is success.
pub(crate) type Status = i32;
/// A context, stream, event, module or function of the driver: an opaque pointer.
pub(crate) type Handle = usize;
/// `CUdeviceptr`, or `void *` in HIP.
pub(crate) type Address = u64;

pub(crate) const SUCCESS: Status = 0;
pub(crate) const OUT_OF_MEMORY: Status = 2;
pub(crate) const NO_DEVICE: Status = 100;
/// What HIP answers instead where there is no AMD GPU at all.
pub(crate) const INVALID_DEVICE: Status = 101;
pub(crate) const NOT_READY: Status = 600;
pub(crate) const OUT_OF_RESOURCES: Status = 701;

/// Which of the twins is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Cuda,
    Hip,
}

macro_rules! functions {
    ($($field:ident($($parameter:ty),*) = $cuda:literal, $hip:literal;)*) => {
        /// The functions of one opened driver.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Functions {
            $(pub $field: unsafe extern "C" fn($($parameter),*) -> Status,)*
        }

        impl Functions {
            /// Every function, looked up by name; the error is the name that is missing.
            ///
            /// # Safety
            /// `find` gives the addresses of the functions of a driver that speaks `dialect`.
            pub unsafe fn load(
                dialect: Dialect,
                find: impl Fn(&CStr) -> Option<*mut c_void>,
            ) -> Result<Self, &'static CStr> {
                Ok(Self {
                    $($field: {
                        let name = match dialect {
                            Dialect::Cuda => $cuda,
                            Dialect::Hip => $hip,
                        };
                        let address = find(name).filter(|address| !address.is_null()).ok_or(name)?;
                        // SAFETY: the caller gives the function of this name, whose signature in the vendor's manual is the one listed.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "C" fn($($parameter),*) -> Status,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    initialize(u32) = c"cuInit", c"hipInit";
    driver_version(*mut i32) = c"cuDriverGetVersion", c"hipDriverGetVersion";
    error_name(Status, *mut *const c_char) = c"cuGetErrorName", c"hipDrvGetErrorName";
    error_text(Status, *mut *const c_char) = c"cuGetErrorString", c"hipDrvGetErrorString";

    device_count(*mut i32) = c"cuDeviceGetCount", c"hipGetDeviceCount";
    device_at(*mut i32, i32) = c"cuDeviceGet", c"hipDeviceGet";
    device_name(*mut c_char, i32, i32) = c"cuDeviceGetName", c"hipDeviceGetName";
    device_uuid(*mut [u8; 16], i32) = c"cuDeviceGetUuid_v2", c"hipDeviceGetUuid";
    device_memory_bytes(*mut usize, i32) = c"cuDeviceTotalMem_v2", c"hipDeviceTotalMem";
    device_attribute(*mut i32, i32, i32) = c"cuDeviceGetAttribute", c"hipDeviceGetAttribute";

    context_reset(i32) = c"cuDevicePrimaryCtxReset_v2", c"hipDevicePrimaryCtxReset";
    context_retain(*mut Handle, i32) = c"cuDevicePrimaryCtxRetain", c"hipDevicePrimaryCtxRetain";
    context_release(i32) = c"cuDevicePrimaryCtxRelease_v2", c"hipDevicePrimaryCtxRelease";
    context_current(*mut Handle) = c"cuCtxGetCurrent", c"hipCtxGetCurrent";
    context_set_current(Handle) = c"cuCtxSetCurrent", c"hipCtxSetCurrent";

    memory_info(*mut usize, *mut usize) = c"cuMemGetInfo_v2", c"hipMemGetInfo";
    pointer_attribute(*mut c_void, i32, Address) = c"cuPointerGetAttribute", c"hipPointerGetAttribute";
    allocate(*mut Address, usize) = c"cuMemAlloc_v2", c"hipMalloc";
    free(Address) = c"cuMemFree_v2", c"hipFree";
    allocate_pinned(*mut Address, usize, u32) = c"cuMemHostAlloc", c"hipHostMalloc";
    free_pinned(Address) = c"cuMemFreeHost", c"hipHostFree";
    allocate_unified(*mut Address, usize, u32) = c"cuMemAllocManaged", c"hipMallocManaged";
    copy_to_device(Address, Address, usize, Handle) = c"cuMemcpyHtoDAsync_v2", c"hipMemcpyHtoDAsync";
    copy_to_host(Address, Address, usize, Handle) = c"cuMemcpyDtoHAsync_v2", c"hipMemcpyDtoHAsync";
    copy_on_device(Address, Address, usize, Handle) = c"cuMemcpyDtoDAsync_v2", c"hipMemcpyDtoDAsync";
    fill(Address, u8, usize, Handle) = c"cuMemsetD8Async", c"hipMemsetD8Async";

    stream_create(*mut Handle, u32) = c"cuStreamCreate", c"hipStreamCreateWithFlags";
    stream_destroy(Handle) = c"cuStreamDestroy_v2", c"hipStreamDestroy";
    stream_synchronize(Handle) = c"cuStreamSynchronize", c"hipStreamSynchronize";
    stream_query(Handle) = c"cuStreamQuery", c"hipStreamQuery";
    stream_wait_event(Handle, Handle, u32) = c"cuStreamWaitEvent", c"hipStreamWaitEvent";

    capture_begin(Handle, u32) = c"cuStreamBeginCapture_v2", c"hipStreamBeginCapture";
    capture_end(Handle, *mut Handle) = c"cuStreamEndCapture", c"hipStreamEndCapture";
    graph_instantiate(*mut Handle, Handle, u64) = c"cuGraphInstantiateWithFlags", c"hipGraphInstantiateWithFlags";
    graph_launch(Handle, Handle) = c"cuGraphLaunch", c"hipGraphLaunch";
    graph_destroy(Handle) = c"cuGraphDestroy", c"hipGraphDestroy";
    graph_executable_destroy(Handle) = c"cuGraphExecDestroy", c"hipGraphExecDestroy";

    event_create(*mut Handle, u32) = c"cuEventCreate", c"hipEventCreateWithFlags";
    event_destroy(Handle) = c"cuEventDestroy_v2", c"hipEventDestroy";
    event_record(Handle, Handle) = c"cuEventRecord", c"hipEventRecord";
    event_query(Handle) = c"cuEventQuery", c"hipEventQuery";
    event_synchronize(Handle) = c"cuEventSynchronize", c"hipEventSynchronize";
    event_elapsed_ms(*mut f32, Handle, Handle) = c"cuEventElapsedTime", c"hipEventElapsedTime";

    module_load(*mut Handle, *const c_void, u32, *mut i32, *mut *mut c_void) = c"cuModuleLoadDataEx", c"hipModuleLoadDataEx";
    module_unload(Handle) = c"cuModuleUnload", c"hipModuleUnload";
    module_function(*mut Handle, Handle, *const c_char) = c"cuModuleGetFunction", c"hipModuleGetFunction";
    module_global(*mut Address, *mut usize, Handle, *const c_char) = c"cuModuleGetGlobal_v2", c"hipModuleGetGlobal";
    function_attribute(*mut i32, i32, Handle) = c"cuFuncGetAttribute", c"hipFuncGetAttribute";
    max_active_blocks(*mut i32, Handle, i32, usize) = c"cuOccupancyMaxActiveBlocksPerMultiprocessor", c"hipModuleOccupancyMaxActiveBlocksPerMultiprocessor";
    launch(Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *mut *mut c_void, *mut *mut c_void) = c"cuLaunchKernel", c"hipModuleLaunchKernel";
}
