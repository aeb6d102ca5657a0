//! What Python asks the plug-in: which kernels there are and how often they ran, memory, devices.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use crate::amdgpu::agpu;
use crate::devices;
use crate::failure::{Outcome, caught, last_error, status};
use crate::registry::{self, Entry};

fn entry(place: u64) -> Option<&'static Entry> {
    registry::entries().get(place as usize)
}

/// The operation of a row of kernels and how often they ran; 1 behind the last one.
///
/// # Safety
///
/// `name` and `calls` are places for the answers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tensorflow_native_calls(
    place: u64,
    name: *mut *const c_char,
    calls: *mut u64,
) -> i32 {
    let Some(entry) = entry(place) else { return 1 };
    // SAFETY: as the caller promises.
    unsafe {
        name.write(entry.row.operation.as_ptr());
        calls.write(entry.calls.load(Ordering::Relaxed));
    }
    0
}

fn described(entry: &Entry) -> String {
    let row = entry.row;
    let names = |dtypes: &[crate::dtype::Dtype]| -> Vec<String> {
        let name = |dtype: &crate::dtype::Dtype| {
            dtype.name().map_or_else(
                |_| dtype.0.to_string(),
                |name| name.to_string_lossy().into_owned(),
            )
        };
        dtypes.iter().map(name).collect()
    };
    let types: Vec<String> = row
        .types
        .iter()
        .map(|(attribute, dtypes)| {
            format!(
                "{}={}",
                attribute.to_string_lossy(),
                names(dtypes).join(" ")
            )
        })
        .collect();
    let host: Vec<_> = row.host.iter().map(|name| name.to_string_lossy()).collect();
    format!(
        "{}\t{}\t{}\t{}",
        row.operation.to_string_lossy(),
        types.join("; "),
        host.join(" "),
        names(row.host_types).join(" ")
    )
}

/// A row of kernels in words, by tabs: operation, dtypes by attribute, arguments of the host, dtypes that are all on the host. NULL behind the last.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_kernel(place: u64) -> *const c_char {
    static TEXTS: OnceLock<Vec<CString>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let text = |entry: &Entry| crate::failure::c_text(&described(entry));
        registry::entries().iter().map(text).collect()
    });
    texts
        .get(place as usize)
        .map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Why kernels could not be registered; NULL where all are.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_registration_error() -> *const c_char {
    static ERROR: OnceLock<Option<CString>> = OnceLock::new();
    let error = ERROR.get_or_init(registry::registration_error);
    error
        .as_ref()
        .map_or(std::ptr::null(), |text| text.as_ptr())
}

/// The name in libamdgpu of the device RDNA:`ordinal`; NULL where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_device_name(ordinal: i32) -> *const c_char {
    devices::get(ordinal).map_or(std::ptr::null(), |device| device.name.as_ptr())
}

/// Lets the peaks of memory of a device begin again; 0, or 1 with a message.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_reset_memory_peaks(ordinal: i32) -> i32 {
    status(caught(|| {
        let device = devices::get(ordinal)?.open()?;
        agpu!(agpu_device_reset_memory_peaks(device))
    }))
}

/// Why the last call of this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_last_error() -> *const c_char {
    last_error()
}

/// Bytes: of tensors now and at most, taken from the system, free and there at all.
#[repr(C)]
pub struct Memory {
    current: u64,
    peak: u64,
    reserved: u64,
    free: u64,
    total: u64,
}

/// Memory of a device; 0, or 1 with a message.
///
/// # Safety
///
/// `memory` is a place for the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tensorflow_memory(ordinal: i32, memory: *mut Memory) -> i32 {
    status(caught(|| {
        let device = devices::get(ordinal)?;
        let (statistics, info) = (device.statistics()?, device.memory()?);
        // SAFETY: as the caller promises.
        unsafe {
            memory.write(Memory {
                current: statistics.allocated_bytes,
                peak: statistics.allocated_bytes_peak,
                reserved: statistics.reserved_bytes,
                free: info.free_bytes,
                total: info.total_bytes,
            });
        }
        Ok(())
    }))
}

/// Whether the plug-in has kernels that update variables: whether this TensorFlow exports what they need.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_updates_variables() -> bool {
    crate::tensorflow::updates().is_some()
}

/// A kind of fusions: its name, how many nodes of graphs were made and of how many; 1 behind the last one.
///
/// # Safety
///
/// `name`, `made` and `joined` are places for the answers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tensorflow_fusions(
    place: u64,
    name: *mut *const c_char,
    made: *mut u64,
    joined: *mut u64,
) -> i32 {
    let Some(fusion) = crate::graph::FUSIONS.get(place as usize) else {
        return 1;
    };
    // SAFETY: as the caller promises.
    unsafe {
        name.write(fusion.name.as_ptr());
        made.write(fusion.made.load(Ordering::Relaxed));
        joined.write(fusion.joined.load(Ordering::Relaxed));
    }
    0
}

/// Lets the counts of fusions begin again.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_reset_fusions() {
    for fusion in &crate::graph::FUSIONS {
        fusion.made.store(0, Ordering::Relaxed);
        fusion.joined.store(0, Ordering::Relaxed);
    }
}

/// An engine of collectives: its name, how many collectives it did, of how many tensors and bytes of a rank; 1 behind the last one.
///
/// # Safety
///
/// `name` is a place for the name, `counts` for three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tensorflow_collectives(
    place: u64,
    name: *mut *const c_char,
    counts: *mut u64,
) -> i32 {
    let Some(count) = crate::collectives::COUNTS.get(place as usize) else {
        return 1;
    };
    let numbers = [&count.collectives, &count.tensors, &count.bytes];
    // SAFETY: as the caller promises.
    unsafe {
        name.write(count.engine.as_ptr());
        for (place, number) in numbers.into_iter().enumerate() {
            counts.add(place).write(number.load(Ordering::Relaxed));
        }
    }
    0
}

/// Lets the counts of collectives begin again.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tensorflow_reset_collectives() {
    for count in &crate::collectives::COUNTS {
        for number in [&count.collectives, &count.tensors, &count.bytes] {
            number.store(0, Ordering::Relaxed);
        }
    }
}

/// Says in which folders NCCL may lie that the loader does not know, one a line.
///
/// # Safety
///
/// `folders` is a text that ends with a null byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tensorflow_set_nccl_folders(folders: *const c_char) {
    // SAFETY: as the caller promises.
    let folders = unsafe { CStr::from_ptr(folders) };
    crate::collectives::set_nccl_folders(folders.to_string_lossy().into_owned());
}

/// Which engine reduces between devices of these numbers, and behind a tab why it is not NCCL; NULL with a message where none does. The text is
/// valid until the next call on this thread.
///
/// # Safety
///
/// `ordinals` are `count` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_tensorflow_collective_engine(
    ordinals: *const i32,
    count: usize,
) -> *const c_char {
    thread_local! {
        static TEXT: RefCell<CString> = RefCell::default();
    }
    let found = caught(|| {
        // SAFETY: as the caller promises.
        let ordinals = unsafe { std::slice::from_raw_parts(ordinals, count) };
        let devices: Vec<_> = { ordinals.iter() }
            .map(|ordinal| devices::get(*ordinal))
            .collect::<Outcome<_>>()?;
        crate::collectives::engine_of_devices(&devices)
    });
    match found {
        Ok(text) => TEXT.with(|kept| {
            kept.replace(text);
            kept.borrow().as_ptr()
        }),
        Err(failure) => {
            // The message stays with the thread.
            let _ = status(Err(failure));
            std::ptr::null()
        }
    }
}
