//! Setting all elements of an array to one value.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_aura::OpenDevice;
use amdgpu_hal as hal;
use amdgpu_hal::{CopyDirection, DevicePointer, MemoryKind};

use crate::{Array, Dims, Error, Result, recording};

/// Bytes that come from the host; the device doubles what it has until the array is full.
const SEED_BYTES: usize = 1 << 16;

impl Array {
    /// Repeats `element`, whose size divides that of the array, over the whole array, and waits; while this thread records a graph, the
    /// fill becomes part of it and the graph holds the memory.
    ///
    /// # Errors
    ///
    /// `use-after-free`, `read-only`, `not-contiguous`; what the device reports.
    pub fn fill(&self, element: &[u8]) -> Result<()> {
        self.check_writable()?;
        if !self.is_contiguous() {
            return Err(Error::refused(
                ErrorCode::NotContiguous,
                "fill needs a contiguous array",
            ));
        }
        let (target, bytes) = (self.address(), self.bytes() as u64);
        let first = element.first().copied().unwrap_or_default();
        let is_uniform = element.iter().all(|byte| *byte == first);
        if recording::is_recording() {
            recording::record_uses([self.storage().uses()]);
            let device = self.recording_device()?;
            return if is_uniform {
                recording::record_fill(device, target, first, bytes, self.recorded_owner())
            } else {
                self.record_fill(device, element)
            };
        }
        self.finish_uses()?;
        // Another thread may free the array meanwhile.
        let _held = Arc::clone(self.storage());
        let Some(device) = self.hal_device() else {
            // SAFETY: the owner lent contiguous writable memory of this size, which is a multiple of the element's.
            let memory = unsafe {
                std::slice::from_raw_parts_mut(target.as_mut_ptr::<u8>(), bytes as usize)
            };
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
        // SAFETY: the memory holds `bytes` bytes, and lives as the seed does until the wait is over.
        unsafe {
            if is_uniform {
                stream.fill(target, first, bytes)?;
                stream.synchronize()?;
            } else {
                let seed = seed_of(element, bytes);
                submit(device, target, &seed, bytes)?;
            }
        }
        Ok(())
    }

    /// The device of one's own that the memory came from; a graph has no other.
    ///
    /// # Errors
    ///
    /// `not-capturable` for memory of other libraries.
    pub fn recording_device(&self) -> Result<&Arc<OpenDevice>> {
        self.open_device().ok_or_else(|| {
            Error::refused(
                ErrorCode::NotCapturable,
                "a graph copies into and fills arrays of amdgpu; this memory belongs to another library",
            )
        })
    }

    /// The fill as commands of the graph that this thread records; the seed stands in memory of the device's own, which the graph holds.
    fn record_fill(&self, device: &Arc<OpenDevice>, element: &[u8]) -> Result<()> {
        let (target, bytes) = (self.address(), self.bytes() as u64);
        let seed = seed_of(element, bytes);
        let filled = seed.len() as u64;
        if filled == 0 {
            return Ok(());
        }
        let shape = Dims::from_slice(&[(seed.len() / self.dtype.size_bytes()) as i64]);
        let held = Self::empty(device, shape, self.dtype, MemoryKind::Device)?;
        let from = held.address();
        // SAFETY: the memory was made for the seed, and both live until the wait is over.
        unsafe { submit(device.device(), from, &seed, filled) }?;
        let first = std::iter::once((from, target, filled));
        for (from, to, bytes) in first.chain(doublings(target, filled, bytes)) {
            let owners = [self.recorded_owner(), held.recorded_owner()];
            let direction = CopyDirection::DeviceToDevice;
            recording::record_copy(
                device,
                (to, from),
                bytes,
                direction,
                owners.into_iter().flatten(),
            )?;
        }
        Ok(())
    }
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
