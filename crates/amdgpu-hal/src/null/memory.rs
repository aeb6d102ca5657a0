//! Accounts of memory that is mostly not there.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{DevicePointer, Error, MemoryInfo, MemoryKind, Result};

/// Alignment that GPU drivers give at least.
const ALIGN_BYTES: u64 = 256;
/// Begin of the fake range: past every address that a user process of x86-64 or aarch64 can have.
const FIRST_ADDRESS: u64 = 1 << 56;

/// The allocations of a null device.
#[derive(Debug)]
pub(super) struct Memory {
    device: String,
    limit_bytes: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Length and kind by address.
    live: BTreeMap<u64, (u64, MemoryKind)>,
    used_bytes: u64,
    next_address: u64,
}

impl Memory {
    pub fn new(device: String, limit_bytes: u64) -> Self {
        Self {
            device,
            limit_bytes,
            state: Mutex::new(State {
                live: BTreeMap::new(),
                used_bytes: 0,
                next_address: FIRST_ADDRESS,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn info(&self) -> MemoryInfo {
        let used_bytes = self.lock().used_bytes;
        MemoryInfo {
            free_bytes: self.limit_bytes - used_bytes,
            total_bytes: self.limit_bytes,
            used_bytes,
        }
    }

    pub fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<DevicePointer> {
        let bytes = bytes.max(1);
        let mut state = self.lock();
        let out_of_memory = |used_bytes| Error::OutOfMemory {
            device: self.device.clone(),
            kind: kind.name(),
            requested_bytes: bytes,
            used_bytes,
            limit_bytes: self.limit_bytes,
        };
        let total = state
            .used_bytes
            .checked_add(bytes)
            .filter(|&total| total <= self.limit_bytes)
            .ok_or_else(|| out_of_memory(state.used_bytes))?;
        let address = match kind {
            MemoryKind::Device => {
                let address = state.next_address;
                state.next_address += bytes.next_multiple_of(ALIGN_BYTES);
                address
            }
            MemoryKind::PinnedHost | MemoryKind::Unified => {
                host_memory(bytes).ok_or_else(|| out_of_memory(state.used_bytes))?
            }
        };
        state.used_bytes = total;
        state.live.insert(address, (bytes, kind));
        Ok(DevicePointer(address))
    }

    /// # Safety
    /// As for [`crate::Device::free`], for pinned and unified memory; mistakes with device memory are noticed.
    pub unsafe fn free(&self, ptr: DevicePointer, bytes: u64, kind: MemoryKind) -> Result<()> {
        let bytes = bytes.max(1);
        let mut state = self.lock();
        if state.live.get(&ptr.address()) != Some(&(bytes, kind)) {
            return Err(self.not_allocated(ptr));
        }
        state.live.remove(&ptr.address());
        state.used_bytes -= bytes;
        if kind != MemoryKind::Device
            && let Some(layout) = host_layout(bytes)
        {
            // SAFETY: allocated by `host_memory` with the same layout; the entry just removed shows that it was live.
            unsafe { dealloc(ptr.as_mut_ptr(), layout) };
        }
        Ok(())
    }

    /// Whether `bytes` bytes from `ptr` lie inside one live allocation.
    pub fn check(&self, operation: &'static str, ptr: DevicePointer, bytes: u64) -> Result<()> {
        let address = ptr.address();
        let state = self.lock();
        let Some((&begin, &(len, _))) = state.live.range(..=address).next_back() else {
            return Err(self.not_allocated(ptr));
        };
        let end = begin + len;
        // One past the end is a place for zero bytes only.
        if address > end || (address == end && bytes > 0) {
            return Err(self.not_allocated(ptr));
        }
        let left = end - address;
        if bytes > left {
            return Err(Error::OutOfBounds {
                device: self.device.clone(),
                operation,
                address,
                bytes,
                excess_bytes: bytes - left,
            });
        }
        Ok(())
    }

    fn not_allocated(&self, ptr: DevicePointer) -> Error {
        Error::NotAllocated {
            device: self.device.clone(),
            address: ptr.address(),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (&address, &(bytes, kind)) in &state.live {
            if kind != MemoryKind::Device
                && let Some(layout) = host_layout(bytes)
            {
                // SAFETY: live host memory of this device, which ends here.
                unsafe { dealloc(DevicePointer(address).as_mut_ptr(), layout) };
            }
        }
    }
}

fn host_layout(bytes: u64) -> Option<Layout> {
    Layout::from_size_align(usize::try_from(bytes).ok()?, ALIGN_BYTES as usize).ok()
}

fn host_memory(bytes: u64) -> Option<u64> {
    let layout = host_layout(bytes)?;
    // SAFETY: the layout has a size of at least one byte.
    let ptr = unsafe { alloc_zeroed(layout) };
    (!ptr.is_null()).then(|| DevicePointer::from_host(ptr).address())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        Memory::new("null:gfx1100".to_string(), 1 << 20)
    }

    #[test]
    fn addresses_are_never_handed_out_twice() {
        let memory = memory();
        let first = memory.allocate(100, MemoryKind::Device).unwrap();
        // SAFETY: live, and nothing is stored there.
        unsafe { memory.free(first, 100, MemoryKind::Device) }.unwrap();
        let second = memory.allocate(100, MemoryKind::Device).unwrap();
        assert_ne!(first, second);
        assert!(matches!(
            memory.check("copy", first, 1),
            Err(Error::NotAllocated { .. })
        ));
        assert_eq!(memory.check("copy", second, 100), Ok(()));
    }

    #[test]
    fn double_free_and_wrong_size_are_errors_and_change_nothing() {
        let memory = memory();
        let ptr = memory.allocate(100, MemoryKind::Device).unwrap();
        // SAFETY: nothing is stored behind device addresses.
        unsafe {
            assert!(memory.free(ptr, 99, MemoryKind::Device).is_err());
            assert!(memory.free(ptr, 100, MemoryKind::Unified).is_err());
            assert_eq!(memory.info().used_bytes, 100);
            memory.free(ptr, 100, MemoryKind::Device).unwrap();
            assert!(memory.free(ptr, 100, MemoryKind::Device).is_err());
        }
        assert_eq!(memory.info().used_bytes, 0);
    }

    #[test]
    fn ranges_past_the_end_say_by_how_much() {
        let memory = memory();
        let ptr = memory.allocate(100, MemoryKind::Device).unwrap();
        let error = memory.check("fill", ptr.offset(90), 15).unwrap_err();
        assert!(
            matches!(
                error,
                Error::OutOfBounds {
                    excess_bytes: 5,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(memory.check("fill", ptr.offset(100), 0), Ok(()));
        assert!(memory.check("fill", ptr.offset(100), 1).is_err());
        assert!(memory.check("fill", ptr, u64::MAX).is_err());
    }

    #[test]
    fn pinned_memory_is_real_and_zeroed() {
        let memory = memory();
        let ptr = memory.allocate(64, MemoryKind::PinnedHost).unwrap();
        // SAFETY: 64 zeroed bytes of host memory, freed once.
        unsafe {
            assert_eq!(*ptr.as_mut_ptr::<[u8; 64]>(), [0; 64]);
            memory.free(ptr, 64, MemoryKind::PinnedHost).unwrap();
        }
    }
}
