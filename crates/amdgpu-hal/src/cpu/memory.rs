//! Host memory with accounts.

use std::alloc::{Layout, alloc, dealloc};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use once_cell::race::OnceBox;

use crate::{DevicePointer, Error, MemoryKind, Result};

/// A cache line, and the widest vector register.
pub(super) const ALIGN_BYTES: usize = 64;
/// Size of a huge page on x86-64 and on aarch64 with 4 KiB base pages. Allocations from this size on are mapped on their own, aligned to it.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// What may be allocated and what is. Shared by every device opened without a limit of its own.
#[derive(Debug)]
pub(super) struct Budget {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

static PROCESS: OnceBox<Arc<Budget>> = OnceBox::new();

impl Budget {
    pub fn new(limit_bytes: u64) -> Arc<Self> {
        Arc::new(Self {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
        })
    }

    /// The budget of the process; its limit is read once.
    pub fn of_process() -> Result<Arc<Self>> {
        if let Some(budget) = PROCESS.get() {
            return Ok(Arc::clone(budget));
        }
        let budget = Self::new(super::limits::memory_limit_bytes()?);
        Ok(Arc::clone(PROCESS.get_or_init(|| Box::new(budget))))
    }

    /// What devices without a limit of their own have allocated.
    pub fn used_by_process() -> u64 {
        PROCESS.get().map_or(0, |budget| budget.used_bytes())
    }

    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: u64, kind: MemoryKind) -> Result<()> {
        let within = |used: u64| {
            used.checked_add(bytes)
                .filter(|&total| total <= self.limit_bytes)
        };
        self.used_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, within)
            .map(|_| ())
            .map_err(|used| self.out_of_memory(bytes, used, kind))
    }

    fn release(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn out_of_memory(&self, requested_bytes: u64, used_bytes: u64, kind: MemoryKind) -> Error {
        Error::OutOfMemory {
            device: "cpu:0".to_string(),
            kind: kind.name(),
            requested_bytes,
            used_bytes,
            limit_bytes: self.limit_bytes,
        }
    }

    /// Allocates host memory within the budget.
    pub fn allocate(&self, bytes: u64, kind: MemoryKind) -> Result<DevicePointer> {
        let bytes = bytes.max(1);
        self.reserve(bytes, kind)?;
        let ptr = match usize::try_from(bytes) {
            Ok(len) if len >= HUGE_PAGE_BYTES => map_aligned(len),
            Ok(len) => Layout::from_size_align(len, ALIGN_BYTES)
                .ok()
                // SAFETY: the layout has a size of at least one byte.
                .map(|layout| unsafe { alloc(layout) })
                .filter(|ptr| !ptr.is_null()),
            Err(_) => None,
        };
        ptr.map(|ptr| DevicePointer::from_host(ptr)).ok_or_else(|| {
            self.release(bytes);
            self.out_of_memory(bytes, self.used_bytes(), kind)
        })
    }

    /// Frees what [`Self::allocate`] gave.
    ///
    /// # Safety
    /// As for [`crate::Device::free`].
    pub unsafe fn free(&self, ptr: DevicePointer, bytes: u64) -> Result<()> {
        let bytes = bytes.max(1);
        let len = bytes as usize;
        if len >= HUGE_PAGE_BYTES {
            // SAFETY: the range was mapped by `map_aligned` with this length and nobody uses it any more.
            if unsafe { libc::munmap(ptr.as_mut_ptr(), len) } != 0 {
                return Err(fault("munmap"));
            }
        } else if let Ok(layout) = Layout::from_size_align(len, ALIGN_BYTES) {
            // SAFETY: allocated with the same layout and freed once.
            unsafe { dealloc(ptr.as_mut_ptr(), layout) };
        }
        self.release(bytes);
        Ok(())
    }
}

pub(super) fn fault(operation: &'static str) -> Error {
    Error::DriverFault {
        device: "cpu:0".to_string(),
        operation,
        reason: std::io::Error::last_os_error().to_string(),
    }
}

/// Maps memory at a multiple of the huge page size and asks for huge pages.
fn map_aligned(len: usize) -> Option<*mut u8> {
    let padded = len.checked_add(HUGE_PAGE_BYTES)?;
    // SAFETY: an anonymous private mapping at an address of the system's choice touches no memory of ours.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            padded,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return None;
    }
    let head = base.addr().next_multiple_of(HUGE_PAGE_BYTES) - base.addr();
    let start = base.wrapping_byte_add(head);
    // The kernel frees whole pages, so the end of the kept part is rounded up as it will be when it is unmapped.
    let kept_end = head + len.next_multiple_of(page_bytes());
    // SAFETY: both ranges lie inside the mapping made above and outside the part that is kept. Trimming and huge pages are economy:
    // where the system refuses, more address space stays mapped, which is harmless.
    unsafe {
        if head > 0 {
            libc::munmap(base, head);
        }
        if padded > kept_end {
            libc::munmap(base.wrapping_byte_add(kept_end), padded - kept_end);
        }
        libc::madvise(start, len, libc::MADV_HUGEPAGE);
    }
    Some(start.cast())
}

/// The system's page size.
pub(super) fn page_bytes() -> usize {
    // SAFETY: sysconf only reads a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_writable_at_every_size() {
        let budget = Budget::new(1 << 30);
        let sizes = [
            1,
            63,
            64,
            4096,
            (2 << 20) - 1,
            2 << 20,
            (2 << 20) + 1,
            (5 << 20) + 4097,
        ];
        for bytes in sizes {
            let ptr = budget.allocate(bytes, MemoryKind::Device).unwrap();
            let expected = if bytes >= 2 << 20 {
                2 << 20
            } else {
                ALIGN_BYTES as u64
            };
            assert!(ptr.address().is_multiple_of(expected), "{bytes}");
            // SAFETY: the block holds `bytes` bytes and is freed once.
            unsafe {
                ptr.as_mut_ptr::<u8>().write_bytes(0xa5, bytes as usize);
                budget.free(ptr, bytes).unwrap();
            }
        }
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn the_limit_is_exact_and_a_refusal_changes_nothing() {
        let budget = Budget::new(1000);
        let first = budget.allocate(600, MemoryKind::Device).unwrap();
        let error = budget.allocate(401, MemoryKind::PinnedHost).unwrap_err();
        assert_eq!(
            error,
            Error::OutOfMemory {
                device: "cpu:0".to_string(),
                kind: "pinned",
                requested_bytes: 401,
                used_bytes: 600,
                limit_bytes: 1000,
            }
        );
        let second = budget.allocate(400, MemoryKind::Device).unwrap();
        // SAFETY: both are live and freed once.
        unsafe {
            budget.free(first, 600).unwrap();
            budget.free(second, 400).unwrap();
        }
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn sizes_beyond_the_address_space_are_out_of_memory() {
        let budget = Budget::new(u64::MAX);
        for bytes in [u64::MAX, 1 << 62, 1 << 50] {
            assert!(matches!(
                budget.allocate(bytes, MemoryKind::Device),
                Err(Error::OutOfMemory { .. })
            ));
        }
        assert_eq!(budget.used_bytes(), 0);
    }
}
