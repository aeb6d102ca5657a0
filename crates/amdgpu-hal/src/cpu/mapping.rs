//! Memory for machine code: written first, then executable, never both.

use std::ops::Range;

use super::memory::{fault, page_bytes};
use crate::Result;

/// A private mapping that is unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: *mut u8,
    len_bytes: usize,
}

// SAFETY: the mapping is plain memory; writes go through `&mut self`, and what runs in it is the concern of whoever calls it.
unsafe impl Send for Mapping {}
// SAFETY: see `Send`.
unsafe impl Sync for Mapping {}

/// What may be done with a part of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Protection {
    Execute,
    Read,
    Write,
}

impl Mapping {
    /// Maps `len_bytes` zero bytes (at least one page) for writing.
    pub fn new(len_bytes: usize) -> Result<Self> {
        let len_bytes = len_bytes.max(1).next_multiple_of(page_bytes());
        // SAFETY: an anonymous private mapping at an address of the system's choice touches no memory of ours.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(fault("mmap of code"));
        }
        Ok(Self {
            base: base.cast(),
            len_bytes,
        })
    }

    /// Where it begins.
    pub fn base(&self) -> *const u8 {
        self.base
    }

    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// The bytes, as long as nothing is protected yet.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is readable and writable until `protect` is called, which consumes the builder in `link`; `&mut self` makes
        // this the only view.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.len_bytes) }
    }

    /// Gives the pages of `range`, which begins at a page, their final protection.
    pub fn protect(&mut self, range: Range<usize>, protection: Protection) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let flags = match protection {
            Protection::Execute => libc::PROT_READ | libc::PROT_EXEC,
            Protection::Read => libc::PROT_READ,
            Protection::Write => libc::PROT_READ | libc::PROT_WRITE,
        };
        assert!(range.end <= self.len_bytes && range.start.is_multiple_of(page_bytes()));
        // SAFETY: the range lies inside this mapping.
        let status =
            unsafe { libc::mprotect(self.base.add(range.start).cast(), range.len(), flags) };
        if status == 0 {
            Ok(())
        } else {
            Err(fault("mprotect of code"))
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length. A failure would leave the pages mapped, which is harmless.
        unsafe { libc::munmap(self.base.cast(), self.len_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether anything is mapped at an address.
    fn is_mapped(base: *const u8) -> bool {
        // SAFETY: asks about the page, and changes nothing.
        unsafe { libc::msync(base.cast_mut().cast(), page_bytes(), libc::MS_ASYNC) == 0 }
    }

    #[test]
    fn dropped_mappings_are_gone() {
        // Another test may take the same address at once, though hardly each time.
        let are_gone = (0..20).filter(|_| {
            let mapping = Mapping::new(1 << 20).expect("there is memory");
            let base = mapping.base();
            assert!(is_mapped(base) && mapping.len_bytes() == 1 << 20);
            drop(mapping);
            !is_mapped(base)
        });
        assert!(are_gone.count() > 0);
    }

    #[test]
    fn lengths_are_whole_pages_and_at_least_one() {
        let page = page_bytes();
        for (asked, given) in [(0, page), (1, page), (page, page), (page + 1, 2 * page)] {
            let mut mapping = Mapping::new(asked).expect("there is memory");
            assert_eq!(mapping.len_bytes(), given);
            assert!(mapping.bytes_mut().iter().all(|byte| *byte == 0));
        }
    }
}
