//! A driver for tests: runs every command at once, in host memory, and counts its calls and its objects. What it cannot show is asynchrony of
//! the driver itself, but for a clock that can be held; what it shows is everything on our side of the table, on machines without a GPU.
//! While a stream records, commands of it and of the streams that were ordered behind it go into the graph instead, and a stream that is not
//! joined again spoils the recording, as `cuStreamEndCapture` has it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use once_cell::race::OnceBox;

use super::functions::{Address, Dialect, Handle, NOT_READY, OUT_OF_MEMORY, SUCCESS, Status};
use super::vendor::{Attributes, Vendor};
use crate::{Capabilities, DeviceKind, Result, clock, gpu};

/// Bytes that the fake device has.
pub(super) const MEMORY_BYTES: usize = 1 << 20;
const CONTEXT: Handle = 0xc0de;
const ILLEGAL_ADDRESS: Status = 700;
const INVALID_VALUE: Status = 1;
const INVALID_PTX: Status = 218;
const UNJOINED: Status = 904;

/// What a function answers that [`refuse`] names.
pub(super) const REFUSED: Status = 999;
/// What the next wait for a stream answers.
pub(super) static NEXT_WAIT: AtomicI32 = AtomicI32::new(SUCCESS);
/// What the next recording of an event answers.
pub(super) static NEXT_RECORD: AtomicI32 = AtomicI32::new(SUCCESS);
/// Streams and events that are made before one is refused with a status of 999; negative for none.
pub(super) static CREATIONS_LEFT: AtomicI32 = AtomicI32::new(-1);
/// What every reset of the primary context answers.
pub(super) static RESET: AtomicI32 = AtomicI32::new(SUCCESS);
/// How many devices there are; a negative number is the status that counting them answers instead, times minus one.
pub(super) static DEVICE_COUNT: AtomicI32 = AtomicI32::new(1);
/// Bytes of the device that other processes hold.
pub(super) static HELD_BY_OTHERS: AtomicUsize = AtomicUsize::new(0);
/// How far ahead of the host's clock the driver takes events to be; negative for behind.
pub(super) static CLOCK_AHEAD_NS: AtomicI64 = AtomicI64::new(0);
static NEXT_HANDLE: AtomicUsize = AtomicUsize::new(1);

/// How often the primary context was reset and given back.
pub(super) static RESETS: AtomicUsize = AtomicUsize::new(0);
pub(super) static RELEASES: AtomicUsize = AtomicUsize::new(0);

/// Streams, events, modules, graphs and contexts that were made and not destroyed.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// While it is set, events are not reached.
static IS_HELD: AtomicBool = AtomicBool::new(false);
/// When events are reached: when they are recorded, or when the clock goes on.
static REACHED_NS: Mutex<Option<HashMap<Handle, u64>>> = Mutex::new(None);
/// Dynamic shared memory that the kernel may use.
static ALLOWED_SHARED_BYTES: AtomicI32 = AtomicI32::new(48 << 10);

type Commands = Vec<Box<dyn Fn() + Send>>;
static GRAPHS: Mutex<Option<HashMap<Handle, Commands>>> = Mutex::new(None);

/// How many commands of each stream are known to be over.
type Known = HashMap<Handle, usize>;

/// A recording: its commands, and who is behind whom.
#[derive(Default)]
struct Recorded {
    origin: Handle,
    commands: Commands,
    streams: HashMap<Handle, Known>,
    events: HashMap<Handle, Known>,
}

impl Recorded {
    fn has(&self, stream: Handle) -> bool {
        self.streams.contains_key(&stream)
    }

    fn count(&mut self, stream: Handle) {
        if let Some(known) = self.streams.get_mut(&stream) {
            *known.entry(stream).or_default() += 1;
        }
    }

    fn is_joined(&self) -> bool {
        let of_origin = &self.streams[&self.origin];
        self.streams.iter().all(|(stream, known)| {
            known.get(stream).unwrap_or(&0) <= of_origin.get(stream).unwrap_or(&0)
        })
    }
}

thread_local! {
    pub(super) static CURRENT: Cell<Handle> = const { Cell::new(0) };
    /// The calls of this thread since they were last looked at.
    static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    static RECORDING: RefCell<Option<Recorded>> = const { RefCell::new(None) };
    /// The function whose next call by this thread is refused.
    static REFUSAL: Cell<&'static str> = const { Cell::new("") };
    /// Grid, block and dynamic shared memory of the latest launch of this thread.
    pub(super) static LAUNCHED: Cell<[u32; 7]> = const { Cell::new([0; 7]) };
}

/// Has the next call of a function by this thread refused.
pub(super) fn refuse(function: &'static str) {
    REFUSAL.set(function);
}

/// Ends a function of the driver that has to be refused.
macro_rules! unless_refused {
    ($name:expr) => {
        if REFUSAL.get() == $name {
            REFUSAL.set("");
            return REFUSED;
        }
    };
}

/// How many objects live.
pub(super) fn live_objects() -> usize {
    LIVE.load(Ordering::Relaxed)
}

fn made() {
    LIVE.fetch_add(1, Ordering::Relaxed);
}

fn ended() {
    assert!(LIVE.fetch_sub(1, Ordering::Relaxed) > 0, "destroyed twice");
}

/// Keeps events from being reached until [`release_events`].
pub(super) fn hold_events() {
    IS_HELD.store(true, Ordering::Relaxed);
}

pub(super) fn release_events() {
    let now_ns = clock::now_ns();
    with_events(|events| events.values_mut().for_each(|at| *at = (*at).min(now_ns)));
    IS_HELD.store(false, Ordering::Relaxed);
}

fn with_events<T>(work: impl FnOnce(&mut HashMap<Handle, u64>) -> T) -> T {
    work(REACHED_NS.lock().unwrap().get_or_insert_default())
}

/// The status of something that may be held.
fn when_not_held() -> Status {
    if IS_HELD.load(Ordering::Relaxed) {
        NOT_READY
    } else {
        SUCCESS
    }
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

/// Runs a command, or puts it into the graph that its stream records.
fn run_or_record(stream: Handle, command: impl Fn() + Send + 'static) {
    RECORDING.with_borrow_mut(|recording| match recording {
        Some(recorded) if recorded.has(stream) => {
            recorded.count(stream);
            recorded.commands.push(Box::new(command));
        }
        _ => command(),
    });
}

fn with_graphs<T>(work: impl FnOnce(&mut HashMap<Handle, Commands>) -> T) -> T {
    work(GRAPHS.lock().unwrap().get_or_insert_default())
}

pub(super) static VENDOR: Vendor = vendor(Some(-1));

/// The fake driver, with the number of the attribute for shared memory that kernels ask for.
pub(super) const fn vendor(shared_memory_per_block_opt_in: Option<i32>) -> Vendor {
    Vendor {
        kind: DeviceKind::Cuda,
        capabilities: Capabilities::GPU,
        dialect: Dialect::Cuda,
        name: "fake",
        driver: "the fake driver",
        libraries: Vec::<PathBuf>::new,
        look_for_devices: || Ok(()),
        attributes: Attributes {
            max_threads_per_block: 1,
            max_threads_per_unit: 39,
            max_block: [2, 3, 4],
            max_grid: [5, 6, 7],
            shared_memory_per_block: 8,
            shared_memory_per_block_opt_in,
            warp_size: 10,
            clock_kilohertz: 13,
            memory_clock_kilohertz: 36,
            memory_bus_bits: 37,
            compute_units: 16,
            level2_cache: 38,
        },
        launch_list_end: 0,
        set_function_attribute: Some(c"cuFuncSetAttribute"),
        properties: &[],
        architecture,
        uuid: |bytes| Some(format!("FAKE-{}", bytes[15])),
        version: |number| number.to_string(),
        module_statuses: &[INVALID_PTX],
        lost_statuses: &[ILLEGAL_ADDRESS],
        has_load_log: true,
        loaded: OnceBox::new(),
        loading: AtomicU64::new(0),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the vendor's field")]
fn architecture(_api: &gpu::Api, _device: i32) -> Result<String> {
    Ok("sm_90".to_string())
}

unsafe extern "C" fn take_number(_number: u32) -> Status {
    SUCCESS
}
unsafe extern "C" fn give_one(out: *mut i32) -> Status {
    unless_refused!("cuDriverGetVersion");
    // SAFETY: callers give valid places, as the table says.
    unsafe { out.write(1) };
    SUCCESS
}
unsafe extern "C" fn device_count(out: *mut i32) -> Status {
    let count = DEVICE_COUNT.load(Ordering::Relaxed);
    if count < 0 {
        return -count;
    }
    // SAFETY: as above.
    unsafe { out.write(count) };
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
    unless_refused!("cuDeviceGet");
    // SAFETY: as above.
    unsafe { out.write(ordinal) };
    SUCCESS
}
unsafe extern "C" fn device_name(out: *mut c_char, _len: i32, _device: i32) -> Status {
    unless_refused!("cuDeviceGetName");
    // SAFETY: the place has room for far more than five bytes.
    unsafe { c"fake".as_ptr().copy_to_nonoverlapping(out, 5) };
    SUCCESS
}
unsafe extern "C" fn device_uuid(out: *mut [u8; 16], _device: i32) -> Status {
    unless_refused!("cuDeviceGetUuid");
    // SAFETY: callers give valid places.
    unsafe { out.write([7; 16]) };
    SUCCESS
}
unsafe extern "C" fn device_memory(out: *mut usize, _device: i32) -> Status {
    unless_refused!("cuDeviceTotalMem");
    // SAFETY: as above.
    unsafe { out.write(MEMORY_BYTES) };
    SUCCESS
}
/// Each is 100 and its number; there are none of negative numbers.
unsafe extern "C" fn device_attribute(out: *mut i32, number: i32, _device: i32) -> Status {
    unless_refused!("cuDeviceGetAttribute");
    if number < 0 {
        return INVALID_VALUE;
    }
    // SAFETY: as above.
    unsafe { out.write(100 + number) };
    SUCCESS
}
unsafe extern "C" fn context_retain(out: *mut Handle, _device: i32) -> Status {
    unless_refused!("cuDevicePrimaryCtxRetain");
    made();
    // SAFETY: as above.
    unsafe { out.write(CONTEXT) };
    SUCCESS
}
unsafe extern "C" fn context_release(_device: i32) -> Status {
    RELEASES.fetch_add(1, Ordering::Relaxed);
    ended();
    SUCCESS
}
unsafe extern "C" fn context_reset(_device: i32) -> Status {
    RESETS.fetch_add(1, Ordering::Relaxed);
    RESET.load(Ordering::Relaxed)
}
/// The first page belongs to nobody; the address of any other is the number of its device.
unsafe extern "C" fn pointer_attribute(out: *mut c_void, number: i32, at: Address) -> Status {
    unless_refused!("cuPointerGetAttribute");
    assert_eq!(number, 9, "the ordinal of the device");
    if at < 4096 {
        return INVALID_VALUE;
    }
    // SAFETY: callers give a valid place for an `int`.
    unsafe { out.cast::<i32>().write((at >> 12) as i32) };
    SUCCESS
}
unsafe extern "C" fn context_current(out: *mut Handle) -> Status {
    unless_refused!("cuCtxGetCurrent");
    called("cuCtxGetCurrent");
    // SAFETY: as above.
    unsafe { out.write(CURRENT.get()) };
    SUCCESS
}
unsafe extern "C" fn context_set_current(context: Handle) -> Status {
    unless_refused!("cuCtxSetCurrent");
    CURRENT.set(context);
    SUCCESS
}
unsafe extern "C" fn memory_info(free: *mut usize, total: *mut usize) -> Status {
    unless_refused!("cuMemGetInfo");
    // SAFETY: as above.
    unsafe {
        free.write(MEMORY_BYTES - HELD_BY_OTHERS.load(Ordering::Relaxed));
        total.write(MEMORY_BYTES);
    }
    SUCCESS
}
/// Memory of the C library, which takes any size.
fn allocate_by(name: &'static str, out: *mut Address, bytes: usize) -> Status {
    called(name);
    unless_refused!(name);
    if bytes > MEMORY_BYTES / 2 {
        return OUT_OF_MEMORY;
    }
    // SAFETY: callers give valid places.
    unsafe { out.write(libc::calloc(1, bytes) as Address) };
    SUCCESS
}
unsafe extern "C" fn allocate(out: *mut Address, bytes: usize) -> Status {
    allocate_by("cuMemAlloc", out, bytes)
}
unsafe extern "C" fn allocate_pinned(out: *mut Address, bytes: usize, flags: u32) -> Status {
    assert_eq!(flags, 3, "for every context, and for kernels");
    allocate_by("cuMemHostAlloc", out, bytes)
}
unsafe extern "C" fn allocate_unified(out: *mut Address, bytes: usize, flags: u32) -> Status {
    assert_eq!(flags, 1, "for every stream");
    allocate_by("cuMemAllocManaged", out, bytes)
}
fn free_by(name: &'static str, address: Address) -> Status {
    called(name);
    unless_refused!(name);
    // SAFETY: callers free what was allocated above, once.
    unsafe { libc::free(address as *mut c_void) };
    SUCCESS
}
unsafe extern "C" fn free(address: Address) -> Status {
    free_by("cuMemFree", address)
}
unsafe extern "C" fn free_pinned(address: Address) -> Status {
    free_by("cuMemFreeHost", address)
}
fn copy(name: &'static str, to: Address, from: Address, bytes: usize, stream: Handle) -> Status {
    called(name);
    unless_refused!(name);
    // SAFETY: callers give valid ranges that lie apart.
    run_or_record(stream, move || unsafe {
        std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, bytes);
    });
    SUCCESS
}
unsafe extern "C" fn copy_in(to: Address, from: Address, bytes: usize, at: Handle) -> Status {
    copy("cuMemcpyHtoDAsync", to, from, bytes, at)
}
unsafe extern "C" fn copy_out(to: Address, from: Address, bytes: usize, at: Handle) -> Status {
    copy("cuMemcpyDtoHAsync", to, from, bytes, at)
}
unsafe extern "C" fn copy_over(to: Address, from: Address, bytes: usize, at: Handle) -> Status {
    copy("cuMemcpyDtoDAsync", to, from, bytes, at)
}
unsafe extern "C" fn fill(to: Address, value: u8, bytes: usize, stream: Handle) -> Status {
    called("cuMemsetD8Async");
    unless_refused!("cuMemsetD8Async");
    // SAFETY: callers give a valid range.
    run_or_record(stream, move || unsafe {
        std::ptr::write_bytes(to as *mut u8, value, bytes);
    });
    SUCCESS
}
unsafe extern "C" fn create(out: *mut Handle, _flags: u32) -> Status {
    called("create");
    let left = CREATIONS_LEFT.load(Ordering::Relaxed);
    if left >= 0 {
        CREATIONS_LEFT.store(left - 1, Ordering::Relaxed);
    }
    if left == 0 {
        return 999;
    }
    made();
    // SAFETY: callers give valid places.
    unsafe { out.write(NEXT_HANDLE.fetch_add(1, Ordering::Relaxed)) };
    SUCCESS
}
unsafe extern "C" fn destroy(_object: Handle) -> Status {
    called("destroy");
    ended();
    SUCCESS
}
unsafe extern "C" fn synchronize(_object: Handle) -> Status {
    called("cuStreamSynchronize");
    NEXT_WAIT.swap(SUCCESS, Ordering::Relaxed)
}
unsafe extern "C" fn stream_query(_stream: Handle) -> Status {
    unless_refused!("cuStreamQuery");
    when_not_held()
}
unsafe extern "C" fn event_query(_event: Handle) -> Status {
    unless_refused!("cuEventQuery");
    when_not_held()
}
unsafe extern "C" fn event_synchronize(_event: Handle) -> Status {
    unless_refused!("cuEventSynchronize");
    SUCCESS
}
unsafe extern "C" fn module_unload(_module: Handle) -> Status {
    ended();
    SUCCESS
}
unsafe extern "C" fn wait_event(stream: Handle, event: Handle, flags: u32) -> Status {
    unless_refused!("cuStreamWaitEvent");
    assert_eq!(flags, 0, "the manual allows no other");
    called("cuStreamWaitEvent");
    RECORDING.with_borrow_mut(|recording| {
        if let Some(recorded) = recording
            && let Some(before) = recorded.events.get(&event).cloned()
        {
            // Ordered behind a stream that records, this one records too.
            let known = recorded.streams.entry(stream).or_default();
            for (other, count) in before {
                let own = known.entry(other).or_default();
                *own = count.max(*own);
            }
        }
    });
    SUCCESS
}
unsafe extern "C" fn record(event: Handle, stream: Handle) -> Status {
    called("cuEventRecord");
    let status = NEXT_RECORD.swap(SUCCESS, Ordering::Relaxed);
    if status != SUCCESS {
        return status;
    }
    let is_recorded = RECORDING.with_borrow_mut(|recording| {
        let Some(recorded) = recording else {
            return false;
        };
        recorded.count(stream);
        let known = recorded.streams.get(&stream).cloned();
        known.is_some_and(|known| {
            recorded.events.insert(event, known);
            true
        })
    });
    if !is_recorded {
        let at = if IS_HELD.load(Ordering::Relaxed) {
            u64::MAX
        } else {
            clock::now_ns()
        };
        with_events(|events| events.insert(event, at));
    }
    SUCCESS
}
unsafe extern "C" fn capture_begin(stream: Handle, mode: u32) -> Status {
    unless_refused!("cuStreamBeginCapture");
    assert_eq!(mode, 1, "what other threads do meanwhile is not recorded");
    RECORDING.set(Some(Recorded {
        origin: stream,
        streams: HashMap::from([(stream, Known::new())]),
        ..Recorded::default()
    }));
    SUCCESS
}
unsafe extern "C" fn capture_end(_stream: Handle, out: *mut Handle) -> Status {
    let recorded = RECORDING.take().unwrap();
    // SAFETY: callers give valid places.
    unsafe { out.write(0) };
    unless_refused!("cuStreamEndCapture");
    if !recorded.is_joined() {
        return UNJOINED;
    }
    let handle = NEXT_HANDLE.fetch_add(1, Ordering::Relaxed);
    made();
    with_graphs(|graphs| graphs.insert(handle, recorded.commands));
    // SAFETY: as above.
    unsafe { out.write(handle) };
    SUCCESS
}
unsafe extern "C" fn graph_instantiate(out: *mut Handle, graph: Handle, _flags: u64) -> Status {
    unless_refused!("cuGraphInstantiate");
    let handle = NEXT_HANDLE.fetch_add(1, Ordering::Relaxed);
    with_graphs(|graphs| {
        let recorded = graphs.remove(&graph).unwrap();
        graphs.insert(handle, recorded);
    });
    made();
    // SAFETY: as above.
    unsafe { out.write(handle) };
    SUCCESS
}
unsafe extern "C" fn graph_launch(graph: Handle, _stream: Handle) -> Status {
    unless_refused!("cuGraphLaunch");
    called("cuGraphLaunch");
    with_graphs(|graphs| graphs[&graph].iter().for_each(|command| command()));
    SUCCESS
}
unsafe extern "C" fn graph_destroy(_graph: Handle) -> Status {
    ended();
    SUCCESS
}
unsafe extern "C" fn graph_executable_destroy(graph: Handle) -> Status {
    with_graphs(|graphs| graphs.remove(&graph).unwrap());
    ended();
    SUCCESS
}
unsafe extern "C" fn elapsed(out: *mut f32, from: Handle, to: Handle) -> Status {
    unless_refused!("cuEventElapsedTime");
    let [from_ns, to_ns] = with_events(|events| [events[&from], events[&to]]);
    let ahead_ns = i128::from(CLOCK_AHEAD_NS.load(Ordering::Relaxed));
    let elapsed_ms = (i128::from(to_ns) - i128::from(from_ns) + ahead_ns) as f64 / 1e6;
    // SAFETY: callers give valid places.
    unsafe { out.write(elapsed_ms as f32) };
    SUCCESS
}
/// Text with `.broken` in it is not taken, which the log says.
unsafe extern "C" fn module_load(
    out: *mut Handle,
    image: *const c_void,
    count: u32,
    options: *mut i32,
    values: *mut *mut c_void,
) -> Status {
    unless_refused!("cuModuleLoadDataEx");
    // SAFETY: the images of tests are text with a zero byte behind it.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
    if text.contains(".broken") {
        let log = c"line 3: .broken\n";
        // SAFETY: two options come with their values: a place for the log, and its size.
        unsafe {
            assert_eq!((count, *options, *options.add(1)), (2, 5, 6));
            assert!(values.add(1).read().addr() > log.count_bytes() + 1);
            let place: *mut c_char = values.read().cast();
            log.as_ptr()
                .copy_to_nonoverlapping(place, log.count_bytes() + 1);
        }
        return INVALID_PTX;
    }
    made();
    // SAFETY: as above.
    unsafe { out.write(1) };
    SUCCESS
}
unsafe extern "C" fn module_function(
    out: *mut Handle,
    _module: Handle,
    _name: *const c_char,
) -> Status {
    unless_refused!("cuModuleGetFunction");
    // SAFETY: as above.
    unsafe { out.write(1) };
    SUCCESS
}
/// Modules of the fake have one variable, and one that is not there at the moment.
unsafe extern "C" fn module_global(
    address: *mut Address,
    bytes: *mut usize,
    _module: Handle,
    name: *const c_char,
) -> Status {
    // SAFETY: callers give a text with a zero byte behind it.
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"counter" => {
            // SAFETY: callers give valid places.
            unsafe {
                address.write(0x7000);
                bytes.write(12);
            }
            SUCCESS
        }
        b"busy" => INVALID_VALUE,
        _ => 500,
    }
}
/// Each is 40 and its number.
unsafe extern "C" fn function_attribute(out: *mut i32, number: i32, _function: Handle) -> Status {
    unless_refused!("cuFuncGetAttribute");
    // SAFETY: as above.
    unsafe { out.write(40 + number) };
    SUCCESS
}
unsafe extern "C" fn set_function_attribute(_function: Handle, number: i32, value: i32) -> Status {
    unless_refused!("cuFuncSetAttribute");
    called("cuFuncSetAttribute");
    assert_eq!(number, 8, "the dynamic shared memory");
    ALLOWED_SHARED_BYTES.store(value, Ordering::Relaxed);
    SUCCESS
}

/// 2048 threads fit.
unsafe extern "C" fn max_active_blocks(
    out: *mut i32,
    _function: Handle,
    threads: i32,
    _shared_bytes: usize,
) -> Status {
    unless_refused!("cuOccupancyMaxActiveBlocks");
    // SAFETY: as above.
    unsafe { out.write(2048 / threads) };
    SUCCESS
}

/// The one kernel of the fake: writes its second argument to where the first points.
unsafe extern "C" fn launch(
    _function: Handle,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: Handle,
    _parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Status {
    unless_refused!("cuLaunchKernel");
    called("cuLaunchKernel");
    LAUNCHED.set([
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        shared_bytes,
    ]);
    let allowed_bytes = ALLOWED_SHARED_BYTES.load(Ordering::Relaxed);
    if block_x * block_y * block_z > 1024 || i64::from(shared_bytes) > i64::from(allowed_bytes) {
        return INVALID_VALUE;
    }
    if extra.is_null() {
        // A launch without arguments writes nowhere.
        return SUCCESS;
    }
    // SAFETY: the list is pointer marker, pointer, size marker, size, end; tests launch with two words.
    let [address, value] = unsafe {
        assert_eq!(*extra.add(3).read().cast::<usize>(), 16);
        assert!(extra.add(4).read().is_null());
        extra.add(1).read().cast::<[u64; 2]>().read_unaligned()
    };
    // SAFETY: tests launch with the address of a live word.
    run_or_record(stream, move || unsafe {
        (address as *mut u64).write(value);
    });
    SUCCESS
}

pub(super) fn find(name: &CStr) -> Option<*mut c_void> {
    let address = match name.to_str().ok()? {
        "cuInit" => take_number as *const (),
        "cuDriverGetVersion" => give_one as *const (),
        "cuDeviceGetCount" => device_count as *const (),
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
        "cuMemHostAlloc" => allocate_pinned as *const (),
        "cuMemAllocManaged" => allocate_unified as *const (),
        "cuMemFree_v2" => free as *const (),
        "cuMemFreeHost" => free_pinned as *const (),
        "cuMemcpyHtoDAsync_v2" => copy_in as *const (),
        "cuMemcpyDtoHAsync_v2" => copy_out as *const (),
        "cuMemcpyDtoDAsync_v2" => copy_over as *const (),
        "cuMemsetD8Async" => fill as *const (),
        "cuStreamCreate" | "cuEventCreate" => create as *const (),
        "cuStreamDestroy_v2" | "cuEventDestroy_v2" => destroy as *const (),
        "cuStreamSynchronize" => synchronize as *const (),
        "cuStreamQuery" => stream_query as *const (),
        "cuEventQuery" => event_query as *const (),
        "cuEventSynchronize" => event_synchronize as *const (),
        "cuModuleUnload" => module_unload as *const (),
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
        "cuFuncSetAttribute" => set_function_attribute as *const (),
        "cuOccupancyMaxActiveBlocksPerMultiprocessor" => max_active_blocks as *const (),
        "cuLaunchKernel" => launch as *const (),
        _ => return None,
    };
    Some(address.cast_mut().cast())
}
