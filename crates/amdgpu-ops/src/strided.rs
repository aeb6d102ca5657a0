//! Setting and copying the elements of arrays, views with gaps included, whatever their dtype.
//!
//! What has no gaps is bytes, which `amdgpu-array` fills and copies. Elements of views with gaps are unsigned words, which [`cast`] writes as
//! they are.

use std::sync::Arc;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims, recording};
use amdgpu_aura::OpenDevice;
use amdgpu_hal::{CopyDirection, MemoryKind};

use crate::operand::{Operand, Scalar};
use crate::{DeviceOps, Error, Result, cast, trace, transpose};

/// Sets every element of an array to the one of these bytes, whose number divides that of an element.
///
/// # Errors
///
/// `use-after-free`, `read-only`; `invalid-argument` for a view of which two elements lie in one place; what the device reports.
pub fn fill(array: &Array, element: &[u8]) -> Result<()> {
    trace::noted_fill(array, element, || fill_elements(array, element))
}

fn fill_elements(array: &Array, element: &[u8]) -> Result<()> {
    if array.is_contiguous() {
        return Ok(array.fill(element)?);
    }
    array.check_writable()?;
    let ops = ops_of(array)?;
    let (words, count) = word_of(array.dtype);
    let bytes = element.repeat(array.dtype.size_bytes() / element.len().max(1));
    for (place, word) in bytes.chunks_exact(words.size_bytes()).enumerate() {
        let mut value = [0; 8];
        value[..word.len()].copy_from_slice(word);
        // Hosts are little-endian, so bytes beyond the word are its leading zeros.
        let value = Scalar::Int(i128::from(u64::from_le_bytes(value)));
        let to = lane(array, words, count, place);
        cast(&ops, &Operand::of_number(value, words), words, Some(&to))?;
    }
    Ok(())
}

/// Copies the elements of an array of the same shape and dtype, which may be on another device, and waits.
///
/// # Errors
///
/// `use-after-free`, `read-only`, `shape-mismatch`; `invalid-argument` for a view of which two elements lie in one place; `not-capturable`
/// between devices while this thread records a graph; what the devices report.
pub fn copy(to: &Array, from: &Array) -> Result<()> {
    to.check_writable()?;
    from.check_alive()?;
    if to.shape != from.shape || to.dtype != from.dtype {
        let message = "destination and source differ in shape or dtype";
        return Err(Error::refused(ErrorCode::ShapeMismatch, message));
    }
    trace::noted_assignment(to, from, || copy_elements(to, from))
}

fn copy_elements(to: &Array, from: &Array) -> Result<()> {
    if to.is_contiguous() && from.is_contiguous() {
        return copy_bytes(to, from);
    }
    let ops = ops_of(to)?;
    let is_near = to.device_name() == from.device_name();
    let is_shared = Arc::ptr_eq(to.storage(), from.storage());
    let from = match (is_near, is_shared) {
        (true, false) => from.clone(),
        // Views of one memory may overlap.
        (true, true) => copied(&ops, from)?,
        (false, _) => {
            let own = ops_of(from)?;
            let dense = transpose::dense(&own, &Operand::of_array(from.clone()))?;
            let shape = dense.shape.clone();
            let moved = Array::empty(ops.device(), shape, dense.dtype, MemoryKind::Device)?;
            copy_bytes(&moved, &dense)?;
            moved
        }
    };
    let (words, count) = word_of(to.dtype);
    for place in 0..count {
        let [to, from] = [to, &from].map(|array| lane(array, words, count, place));
        cast(&ops, &Operand::of_array(from), words, Some(&to))?;
    }
    if recording::is_recording() {
        return Ok(());
    }
    Ok(to.wait()?)
}

/// A copy without gaps on the same device.
fn copied(ops: &DeviceOps, from: &Array) -> Result<Array> {
    let made = Array::empty(
        ops.device(),
        from.shape.clone(),
        from.dtype,
        MemoryKind::Device,
    )?;
    let (words, count) = word_of(from.dtype);
    for place in 0..count {
        let [to, from] = [&made, from].map(|array| lane(array, words, count, place));
        cast(ops, &Operand::of_array(from), words, Some(&to))?;
    }
    Ok(made)
}

fn copy_bytes(to: &Array, from: &Array) -> Result<()> {
    let device = to.open_device().filter(|device| {
        let is_near = from
            .open_device()
            .is_some_and(|own| Arc::ptr_eq(own, device));
        // Commands of a graph copy between ranges that lie apart.
        is_near && !Arc::ptr_eq(to.storage(), from.storage())
    });
    match device {
        Some(device) if recording::is_recording() => return record_copy(device, to, from),
        Some(_) => {}
        None => {
            recording::note_outside("the host copies it");
            recording::check_not_recording("copying an array between devices or within itself")?;
        }
    }
    to.finish_uses()?;
    from.finish_uses()?;
    // SAFETY: both hold as many bytes, and live until the wait is over.
    unsafe { amdgpu_array::copy(&to.side(), &from.side(), from.bytes() as u64) }
        .map_err(amdgpu_array::Error::from)?;
    Ok(())
}

/// The copy as a command of the graph that this thread records.
fn record_copy(device: &Arc<OpenDevice>, to: &Array, from: &Array) -> Result<()> {
    recording::record_uses([to, from].map(|array| array.storage().uses()));
    let owners = [to, from].map(Array::recorded_owner);
    Ok(recording::record_copy(
        device,
        (to.address(), from.address()),
        from.bytes() as u64,
        CopyDirection::DeviceToDevice,
        owners.into_iter().flatten(),
    )?)
}

/// Operations of the device that an array is on, which is opened for memory of other libraries.
///
/// # Errors
///
/// There is no such device; it is lost.
pub fn ops_of(array: &Array) -> Result<Arc<DeviceOps>> {
    match array.open_device() {
        Some(device) => DeviceOps::of(device),
        None => DeviceOps::of(&OpenDevice::open(array.device_name())?),
    }
}

/// The unsigned type that elements of a dtype are read as, and of how many of them one is made.
fn word_of(dtype: Dtype) -> (Dtype, usize) {
    match dtype.size_bytes() {
        1 => (Dtype::U8, 1),
        2 => (Dtype::U16, 1),
        4 => (Dtype::U32, 1),
        bytes => (Dtype::U64, bytes / 8),
    }
}

/// One word of every element.
fn lane(array: &Array, words: Dtype, count: usize, place: usize) -> Array {
    let mut same = array.clone();
    same.dtype = words;
    let strides = array.strides.iter().map(|stride| stride * count as i64);
    let strides: Dims = strides.collect();
    same.view_at(place as i64, array.shape.clone(), strides)
}
