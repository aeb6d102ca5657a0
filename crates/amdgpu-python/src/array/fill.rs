//! Setting all elements of an array to one value.

use std::sync::Arc;

use amdgpu_abi::layout::{DTYPE_BOOL, DTYPE_INT, DTYPE_UINT};
use amdgpu_abi::{Dtype, ErrorCode, Language};
use amdgpu_hal as hal;
use amdgpu_hal::{CopyDirection, DevicePointer, MemoryKind};
use pyo3::prelude::*;

use super::Array;
use crate::errors::{IntoPyResult, raise};
use crate::graph;
use crate::operand::{is_contiguous, to_numpy_dtype};

/// Bytes that come from the host; the device doubles what it has until the array is full.
const SEED_BYTES: usize = 1 << 16;

/// The bytes of `value` as an element of the array.
pub(super) fn element_bytes(
    array: &Bound<'_, Array>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Vec<u8>> {
    let py = array.py();
    let dtype = array.get().dtype;
    let name = dtype.name().unwrap_or("?");
    let refuse = |code: ErrorCode, reason: &str| {
        let value = value
            .repr()
            .map_or_else(|_| "?".to_owned(), |text| text.to_string());
        let message = format!("fill of a {name} array with {value}: {reason}");
        raise(py, code, Language::Rust, &message)
    };
    let numpy = py.import("numpy")?;
    let given = numpy
        .call_method1("asarray", (value,))
        .map_err(|_| refuse(ErrorCode::InvalidType, "a number is expected"))?;
    let kind = given.getattr("dtype")?.getattr("kind")?;
    let kind = kind.extract::<String>()?;
    if given.getattr("ndim")?.extract::<usize>()? != 0 || !"biufcV".contains(&kind) {
        return Err(refuse(ErrorCode::InvalidType, "a number is expected"));
    }
    let wanted = to_numpy_dtype(py, dtype)?;
    if matches!(dtype.code, DTYPE_BOOL | DTYPE_INT | DTYPE_UINT) {
        check_whole(dtype, &given)?.ok_or_else(|| {
            refuse(
                ErrorCode::InvalidArgument,
                "the dtype does not hold this value",
            )
        })?;
    } else if kind == "c" && !name.starts_with("complex") {
        return Err(refuse(
            ErrorCode::InvalidType,
            "the dtype holds no complex numbers",
        ));
    }
    let element = given.call_method1("astype", (wanted,))?;
    element.call_method0("tobytes")?.extract()
}

/// Whether a value without axes is a whole number within the range of an integer dtype.
fn check_whole(dtype: Dtype, given: &Bound<'_, PyAny>) -> PyResult<Option<()>> {
    let number = given.call_method0("item")?;
    let Ok(whole) = number.call_method0("__int__") else {
        return Ok(None);
    };
    if !whole.eq(&number)? {
        return Ok(None);
    }
    let Ok(whole) = whole.extract::<i128>() else {
        return Ok(None);
    };
    let bits = u32::from(dtype.bits);
    let (low, high) = match dtype.code {
        DTYPE_BOOL => (0, 1),
        DTYPE_INT => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        _ => (0, (1_i128 << bits) - 1),
    };
    Ok((low..=high).contains(&whole).then_some(()))
}

/// Repeats `element` over the whole array, whose size is a multiple of it, and waits.
pub(super) fn fill(array: &Bound<'_, Array>, element: &[u8]) -> PyResult<()> {
    let py = array.py();
    let this = array.get();
    if !is_contiguous(&this.shape, &this.strides) {
        let message = "fill needs a contiguous array";
        let code = ErrorCode::NotContiguous;
        return Err(raise(py, code, Language::Rust, message));
    }
    let (target, bytes) = (this.pointer(), this.bytes() as u64);
    let first = element.first().copied().unwrap_or_default();
    let is_uniform = element.iter().all(|byte| *byte == first);
    if graph::is_recording() {
        graph::record_uses(&[this.keep()]);
        return if is_uniform {
            let device = this.recording_device(py)?;
            let owner = array.clone().unbind().into_any();
            graph::record_fill(py, device, target, first, bytes, owner)
        } else {
            record(array, element)
        };
    }
    this.finish_uses(py)?;
    // Another thread may free the array meanwhile.
    let _held = this.keep();
    let Some(device) = this.hal_device() else {
        // SAFETY: the owner lent contiguous writable memory of this size, which is a multiple of the element's.
        let memory =
            unsafe { std::slice::from_raw_parts_mut(target.as_mut_ptr::<u8>(), bytes as usize) };
        if is_uniform {
            memory.fill(first);
        } else {
            memory
                .chunks_exact_mut(element.len())
                .for_each(|one| one.copy_from_slice(element));
        }
        return Ok(());
    };
    let stream = device.default_stream();
    py.detach(|| {
        // SAFETY: the memory holds `bytes` bytes, and lives as the seed does until the wait is over.
        unsafe {
            if is_uniform {
                stream.fill(target, first, bytes)?;
                return stream.synchronize();
            }
            let seed = seed_of(element, bytes);
            submit(&device, target, &seed, bytes)
        }
    })
    .into_py_result(py)
}

/// As many whole elements as come from the host.
fn seed_of(element: &[u8], bytes: u64) -> Vec<u8> {
    let most = usize::try_from(bytes).map_or(SEED_BYTES, |bytes| bytes.min(SEED_BYTES));
    element.repeat(most / element.len())
}

/// Copies within the memory that fill it up to `bytes` when its first `filled` bytes are set: source, destination and bytes of each.
fn doublings(
    target: DevicePointer,
    filled: u64,
    bytes: u64,
) -> impl Iterator<Item = (DevicePointer, DevicePointer, u64)> {
    let sizes = std::iter::successors(Some(filled), move |filled| filled.checked_mul(2));
    sizes
        .take_while(move |filled| *filled > 0 && *filled < bytes)
        .map(move |filled| (target, target.offset(filled), filled.min(bytes - filled)))
}

/// Puts the seed at the beginning of the memory, fills the rest from there and waits.
unsafe fn submit(
    device: &Arc<dyn hal::Device>,
    target: DevicePointer,
    seed: &[u8],
    bytes: u64,
) -> hal::Result<()> {
    let stream = device.default_stream();
    let filled = seed.len() as u64;
    let host = DevicePointer::from_host(seed.as_ptr());
    // SAFETY: as the caller promises; each copy stays within the memory, and its two ranges do not overlap.
    unsafe {
        stream.copy(target, host, filled, CopyDirection::HostToDevice)?;
        for (from, to, bytes) in doublings(target, filled, bytes) {
            stream.copy(to, from, bytes, CopyDirection::DeviceToDevice)?;
        }
    }
    stream.synchronize()
}

/// The same as commands of the graph that this thread records; the seed stands in memory of the device's own, which the graph holds.
fn record(array: &Bound<'_, Array>, element: &[u8]) -> PyResult<()> {
    let py = array.py();
    let this = array.get();
    let device = this.recording_device(py)?;
    let (target, bytes) = (this.pointer(), this.bytes() as u64);
    let seed = seed_of(element, bytes);
    let filled = seed.len() as u64;
    if filled == 0 {
        return Ok(());
    }
    let shape = vec![(seed.len() / this.dtype.size_bytes()) as i64];
    let held = Array::allocate(py, device, shape, this.dtype, MemoryKind::Device)?;
    let from = held.pointer();
    // SAFETY: the memory was made for the seed, and both live until the wait is over.
    py.detach(|| unsafe { submit(device.device(), from, &seed, filled) })
        .into_py_result(py)?;
    let held = Py::new(py, held)?.into_any();
    let first = std::iter::once((from, target, filled));
    for (from, to, bytes) in first.chain(doublings(target, filled, bytes)) {
        let owners = vec![array.clone().unbind().into_any(), held.clone_ref(py)];
        let direction = CopyDirection::DeviceToDevice;
        graph::record_copy(py, device, (to, from), bytes, direction, owners)?;
    }
    Ok(())
}
