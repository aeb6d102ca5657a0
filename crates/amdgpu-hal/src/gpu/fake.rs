//! A driver for tests: runs every command at once, in host memory, and counts its calls. What it cannot show is asynchrony of the driver
//! itself; what it shows is everything on our side of the table, on machines without a GPU. While a stream records, commands of the thread
//! go into the graph instead.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};

use once_cell::race::OnceBox;

use super::functions::{Address, Dialect, Handle, OUT_OF_MEMORY, SUCCESS, Status};
use super::vendor::{Attributes, Vendor};
use crate::{Capabilities, DeviceKind, Result, gpu};

/// Bytes that the fake device has.
pub(super) const MEMORY_BYTES: usize = 1 << 20;
const CONTEXT: Handle = 0xc0de;
const ILLEGAL_ADDRESS: Status = 700;
const INVALID_VALUE: Status = 1;

/// What the next wait for a stream answers.
pub(super) static NEXT_WAIT: AtomicI32 = AtomicI32::new(SUCCESS);
static NEXT_HANDLE: AtomicUsize = AtomicUsize::new(1);

/// How often the primary context was reset and given back.
pub(super) static RESETS: AtomicUsize = AtomicUsize::new(0);
pub(super) static RELEASES: AtomicUsize = AtomicUsize::new(0);

type Recorded = Vec<Box<dyn Fn() + Send>>;
static GRAPHS: Mutex<Option<HashMap<Handle, Recorded>>> = Mutex::new(None);

thread_local! {
    pub(super) static CURRENT: Cell<Handle> = const { Cell::new(0) };
    /// The calls of this thread since they were last looked at.
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static RECORDING: RefCell<Option<Recorded>> = const { RefCell::new(None) };
}

/// The calls that cost something, which this thread made during `run`.
pub(super) fn calls_of(run: impl FnOnce()) -> Vec<&'static str> {
    CALLS.take();
    run();
    CALLS.take()
}

fn called(name: &'static str) {
    CALLS.with_borrow_mut(|calls| calls.push(name));
}

/// Runs a command, or puts it into the graph that this thread records.
fn run_or_record(command: impl Fn() + Send + 'static) {
    RECORDING.with_borrow_mut(|recording| match recording {
        Some(recorded) => recorded.push(Box::new(command)),
        None => command(),
    });
}

fn with_graphs<T>(work: impl FnOnce(&mut HashMap<Handle, Recorded>) -> T) -> T {
    work(GRAPHS.lock().unwrap().get_or_insert_default())
}

pub(super) static VENDOR: Vendor = Vendor {
    kind: DeviceKind::Cuda,
    capabilities: Capabilities::GPU,
    dialect: Dialect::Cuda,
    name: "fake",
    driver: "the fake driver",
    libraries: Vec::<PathBuf>::new,
    attributes: Attributes {
        max_threads_per_block: 1,
        max_threads_per_unit: 39,
        max_block: [2, 3, 4],
        max_grid: [5, 6, 7],
        shared_memory_per_block: 8,
        shared_memory_per_block_opt_in: Some(-1),
        warp_size: 10,
        clock_kilohertz: 13,
        memory_clock_kilohertz: 36,
        memory_bus_bits: 37,
        compute_units: 16,
        level2_cache: 38,
    },
    launch_list_end: 0,
    set_function_attribute: None,
    properties: &[],
    architecture,
    uuid: |bytes| Some(format!("FAKE-{}", bytes[15])),
    version: |number| number.to_string(),
    module_statuses: &[],
    lost_statuses: &[ILLEGAL_ADDRESS],
    has_load_log: false,
    loaded: OnceBox::new(),
    loading: AtomicU64::new(0),
};

#[expect(clippy::unnecessary_wraps, reason = "the type of the vendor's field")]
fn architecture(_api: &gpu::Api, _device: i32) -> Result<String> {
    Ok("sm_90".to_string())
}

unsafe extern "C" fn take_number(_number: u32) -> Status {
    SUCCESS
}
unsafe extern "C" fn give_one(out: *mut i32) -> Status {
    // SAFETY: callers give valid places, as the table says.
    unsafe { out.write(1) };
    SUCCESS
}
unsafe extern "C" fn error_text(status: Status, out: *mut *const c_char) -> Status {
    let text = if status == ILLEGAL_ADDRESS {
        c"FAKE_ILLEGAL_ADDRESS"
    } else {
        c"FAKE_ERROR"
    };
    // SAFETY: as above.
    unsafe { out.write(text.as_ptr()) };
    SUCCESS
}
unsafe extern "C" fn device_at(out: *mut i32, ordinal: i32) -> Status {
    // SAFETY: as above.
    unsafe { out.write(ordinal) };
    SUCCESS
}
unsafe extern "C" fn device_name(out: *mut c_char, _len: i32, _device: i32) -> Status {
    // SAFETY: the place has room for far more than five bytes.
    unsafe { c"fake".as_ptr().copy_to_nonoverlapping(out, 5) };
    SUCCESS
}
unsafe extern "C" fn device_uuid(out: *mut [u8; 16], _device: i32) -> Status {
    // SAFETY: callers give valid places.
    unsafe { out.write([7; 16]) };
    SUCCESS
}
unsafe extern "C" fn device_memory(out: *mut usize, _device: i32) -> Status {
    // SAFETY: as above.
    unsafe { out.write(MEMORY_BYTES) };
    SUCCESS
}
unsafe extern "C" fn device_attribute(out: *mut i32, _number: i32, _device: i32) -> Status {
    // SAFETY: as above.
    unsafe { out.write(32) };
    SUCCESS
}
unsafe extern "C" fn context_retain(out: *mut Handle, _device: i32) -> Status {
    // SAFETY: as above.
    unsafe { out.write(CONTEXT) };
    SUCCESS
}
unsafe extern "C" fn context_release(_device: i32) -> Status {
    RELEASES.fetch_add(1, Ordering::Relaxed);
    SUCCESS
}
unsafe extern "C" fn context_reset(_device: i32) -> Status {
    RESETS.fetch_add(1, Ordering::Relaxed);
    SUCCESS
}
unsafe extern "C" fn pointer_attribute(_out: *mut c_void, _number: i32, _at: Address) -> Status {
    INVALID_VALUE
}
unsafe extern "C" fn context_current(out: *mut Handle) -> Status {
    called("cuCtxGetCurrent");
    // SAFETY: as above.
    unsafe { out.write(CURRENT.get()) };
    SUCCESS
}
unsafe extern "C" fn context_set_current(context: Handle) -> Status {
    CURRENT.set(context);
    SUCCESS
}
unsafe extern "C" fn memory_info(free: *mut usize, total: *mut usize) -> Status {
    // SAFETY: as above.
    unsafe {
        free.write(MEMORY_BYTES);
        total.write(MEMORY_BYTES);
    }
    SUCCESS
}
unsafe extern "C" fn allocate(out: *mut Address, bytes: usize) -> Status {
    if bytes > MEMORY_BYTES / 2 {
        return OUT_OF_MEMORY;
    }
    // SAFETY: as above; the C library takes any size.
    unsafe { out.write(libc::calloc(1, bytes) as Address) };
    SUCCESS
}
unsafe extern "C" fn allocate_shared(out: *mut Address, bytes: usize, _flags: u32) -> Status {
    // SAFETY: as above.
    unsafe { allocate(out, bytes) }
}
unsafe extern "C" fn free(address: Address) -> Status {
    // SAFETY: callers free what `allocate` gave, once.
    unsafe { libc::free(address as *mut c_void) };
    SUCCESS
}
unsafe extern "C" fn copy(to: Address, from: Address, bytes: usize, _stream: Handle) -> Status {
    // SAFETY: callers give valid ranges that lie apart.
    run_or_record(move || unsafe {
        std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
    });
    SUCCESS
}
unsafe extern "C" fn fill(to: Address, value: u8, bytes: usize, _stream: Handle) -> Status {
    // SAFETY: callers give a valid range.
    run_or_record(move || unsafe { std::ptr::write_bytes(to as *mut u8, value, bytes) });
    SUCCESS
}
unsafe extern "C" fn create(out: *mut Handle, _flags: u32) -> Status {
    called("create");
    // SAFETY: callers give valid places.
    unsafe { out.write(NEXT_HANDLE.fetch_add(1, Ordering::Relaxed)) };
    SUCCESS
}
unsafe extern "C" fn destroy(_object: Handle) -> Status {
    called("destroy");
    SUCCESS
}
unsafe extern "C" fn synchronize(_object: Handle) -> Status {
    called("cuStreamSynchronize");
    NEXT_WAIT.swap(SUCCESS, Ordering::Relaxed)
}
unsafe extern "C" fn done(_object: Handle) -> Status {
    SUCCESS
}
unsafe extern "C" fn wait_event(_stream: Handle, _event: Handle, _flags: u32) -> Status {
    called("cuStreamWaitEvent");
    SUCCESS
}
unsafe extern "C" fn record(_event: Handle, _stream: Handle) -> Status {
    called("cuEventRecord");
    SUCCESS
}
unsafe extern "C" fn capture_begin(_stream: Handle, _mode: u32) -> Status {
    RECORDING.set(Some(Vec::new()));
    SUCCESS
}
unsafe extern "C" fn capture_end(_stream: Handle, out: *mut Handle) -> Status {
    let handle = NEXT_HANDLE.fetch_add(1, Ordering::Relaxed);
    with_graphs(|graphs| graphs.insert(handle, RECORDING.take().unwrap()));
    // SAFETY: callers give valid places.
    unsafe { out.write(handle) };
    SUCCESS
}
unsafe extern "C" fn graph_instantiate(out: *mut Handle, graph: Handle, _flags: u64) -> Status {
    let handle = NEXT_HANDLE.fetch_add(1, Ordering::Relaxed);
    with_graphs(|graphs| {
        let recorded = graphs.remove(&graph).unwrap();
        graphs.insert(handle, recorded);
    });
    // SAFETY: as above.
    unsafe { out.write(handle) };
    SUCCESS
}
unsafe extern "C" fn graph_launch(graph: Handle, _stream: Handle) -> Status {
    called("cuGraphLaunch");
    with_graphs(|graphs| graphs[&graph].iter().for_each(|command| command()));
    SUCCESS
}
unsafe extern "C" fn graph_destroy(_graph: Handle) -> Status {
    SUCCESS
}
unsafe extern "C" fn graph_executable_destroy(graph: Handle) -> Status {
    with_graphs(|graphs| graphs.remove(&graph).unwrap());
    SUCCESS
}
unsafe extern "C" fn elapsed(out: *mut f32, _from: Handle, _to: Handle) -> Status {
    // SAFETY: callers give valid places.
    unsafe { out.write(0.0) };
    SUCCESS
}
unsafe extern "C" fn module_load(
    out: *mut Handle,
    _image: *const c_void,
    _count: u32,
    _options: *mut i32,
    _values: *mut *mut c_void,
) -> Status {
    // SAFETY: as above.
    unsafe { out.write(1) };
    SUCCESS
}
unsafe extern "C" fn module_function(
    out: *mut Handle,
    _module: Handle,
    _name: *const c_char,
) -> Status {
    // SAFETY: as above.
    unsafe { out.write(1) };
    SUCCESS
}
/// No module of the fake has variables.
unsafe extern "C" fn module_global(
    _address: *mut Address,
    _bytes: *mut usize,
    _module: Handle,
    _name: *const c_char,
) -> Status {
    500
}
unsafe extern "C" fn function_attribute(out: *mut i32, _number: i32, _function: Handle) -> Status {
    // SAFETY: as above.
    unsafe { out.write(32) };
    SUCCESS
}

/// 2048 threads fit.
unsafe extern "C" fn max_active_blocks(
    out: *mut i32,
    _function: Handle,
    threads: i32,
    _shared_bytes: usize,
) -> Status {
    // SAFETY: as above.
    unsafe { out.write(2048 / threads) };
    SUCCESS
}

/// The one kernel of the fake: writes its second argument to where the first points.
unsafe extern "C" fn launch(
    _function: Handle,
    _grid_x: u32,
    _grid_y: u32,
    _grid_z: u32,
    _block_x: u32,
    _block_y: u32,
    _block_z: u32,
    _shared_bytes: u32,
    _stream: Handle,
    _parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Status {
    called("cuLaunchKernel");
    // SAFETY: the list is pointer marker, pointer, size marker, size, end; tests launch with two words.
    let [address, value] = unsafe {
        assert_eq!(*extra.add(3).read().cast::<usize>(), 16);
        assert!(extra.add(4).read().is_null());
        extra.add(1).read().cast::<[u64; 2]>().read_unaligned()
    };
    // SAFETY: tests launch with the address of a live word.
    run_or_record(move || unsafe { (address as *mut u64).write(value) });
    SUCCESS
}

pub(super) fn find(name: &CStr) -> Option<*mut c_void> {
    let address = match name.to_str().ok()? {
        "cuInit" => take_number as *const (),
        "cuDriverGetVersion" | "cuDeviceGetCount" => give_one as *const (),
        "cuGetErrorName" | "cuGetErrorString" => error_text as *const (),
        "cuDeviceGet" => device_at as *const (),
        "cuDeviceGetName" => device_name as *const (),
        "cuDeviceGetUuid_v2" => device_uuid as *const (),
        "cuDeviceTotalMem_v2" => device_memory as *const (),
        "cuDeviceGetAttribute" => device_attribute as *const (),
        "cuDevicePrimaryCtxRetain" => context_retain as *const (),
        "cuDevicePrimaryCtxRelease_v2" => context_release as *const (),
        "cuDevicePrimaryCtxReset_v2" => context_reset as *const (),
        "cuPointerGetAttribute" => pointer_attribute as *const (),
        "cuCtxGetCurrent" => context_current as *const (),
        "cuCtxSetCurrent" => context_set_current as *const (),
        "cuMemGetInfo_v2" => memory_info as *const (),
        "cuMemAlloc_v2" => allocate as *const (),
        "cuMemHostAlloc" | "cuMemAllocManaged" => allocate_shared as *const (),
        "cuMemFree_v2" | "cuMemFreeHost" => free as *const (),
        "cuMemcpyHtoDAsync_v2" | "cuMemcpyDtoHAsync_v2" | "cuMemcpyDtoDAsync_v2" => {
            copy as *const ()
        }
        "cuMemsetD8Async" => fill as *const (),
        "cuStreamCreate" | "cuEventCreate" => create as *const (),
        "cuStreamDestroy_v2" | "cuEventDestroy_v2" => destroy as *const (),
        "cuStreamSynchronize" => synchronize as *const (),
        "cuStreamQuery" | "cuEventQuery" | "cuEventSynchronize" | "cuModuleUnload" => {
            done as *const ()
        }
        "cuStreamWaitEvent" => wait_event as *const (),
        "cuEventRecord" => record as *const (),
        "cuStreamBeginCapture_v2" => capture_begin as *const (),
        "cuStreamEndCapture" => capture_end as *const (),
        "cuGraphInstantiateWithFlags" => graph_instantiate as *const (),
        "cuGraphLaunch" => graph_launch as *const (),
        "cuGraphDestroy" => graph_destroy as *const (),
        "cuGraphExecDestroy" => graph_executable_destroy as *const (),
        "cuEventElapsedTime" => elapsed as *const (),
        "cuModuleLoadDataEx" => module_load as *const (),
        "cuModuleGetFunction" => module_function as *const (),
        "cuModuleGetGlobal_v2" => module_global as *const (),
        "cuFuncGetAttribute" => function_attribute as *const (),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor" => max_active_blocks as *const (),
        "cuLaunchKernel" => launch as *const (),
        _ => return None,
    };
    Some(address.cast_mut().cast())
}
