//! Memory of the host in huge pages, from the Zig library.

use std::ptr::NonNull;

use amdgpu_abi as abi;

use crate::Result;
use crate::strategy::{check, symbols};

/// Where the pages of a [`HostBlock`] come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostPages {
    /// Plain pages: the system knows no huge ones.
    Plain,
    /// Huge pages were asked for, and come where the system finds some.
    Advised,
    /// Huge pages of the system's pool.
    Pool,
}

/// Statistics of the library's host memory, workspaces included: bytes by kind of page, calls.
pub type HostMemoryStats = abi::HostMemoryStats;

/// Whole huge pages of the host, zero at first; freed when dropped. Needs the Zig library (`libagpu_matrix.so`). Pages of the pool must not be
/// touched in a child of `fork()`: the system may have none left for its copy and end it.
#[derive(Debug)]
pub struct HostBlock {
    data: NonNull<u8>,
    len_bytes: u64,
    pages: HostPages,
}

// SAFETY: the block owns its memory, and the library frees it from any thread.
unsafe impl Send for HostBlock {}
// SAFETY: a shared reference gives no access but by the address.
unsafe impl Sync for HostBlock {}

impl HostBlock {
    /// At least `bytes`, from the system's pool of huge pages when it has enough.
    pub fn allocate(bytes: u64) -> Result<Self> {
        let symbols = symbols()?;
        let mut out = abi::HostMemory {
            size_bytes: size_of::<abi::HostMemory>() as u64,
            data: std::ptr::null_mut(),
            bytes: 0,
            kind: 0,
            reserved: 0,
        };
        // SAFETY: the struct states its size and is valid for the call.
        let status = unsafe { (symbols.host_memory_allocate)(bytes, &raw mut out) };
        check(symbols, status)?;
        Ok(Self {
            data: NonNull::new(out.data.cast()).unwrap_or(NonNull::dangling()),
            len_bytes: out.bytes,
            pages: match out.kind {
                abi::HOST_MEMORY_POOL => HostPages::Pool,
                abi::HOST_MEMORY_ADVISED => HostPages::Advised,
                _ => HostPages::Plain,
            },
        })
    }

    /// Where it begins: a multiple of 2 MiB.
    #[must_use]
    pub fn data(&self) -> NonNull<u8> {
        self.data
    }

    /// What was given, a multiple of 2 MiB.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    #[must_use]
    pub fn pages(&self) -> HostPages {
        self.pages
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        if let Ok(symbols) = symbols() {
            // SAFETY: the address was given out by this library and is given back once.
            unsafe { (symbols.host_memory_free)(self.data.as_ptr().cast()) };
        }
    }
}

/// The library's accounts of host memory in this process.
pub fn host_memory_stats() -> Result<HostMemoryStats> {
    let symbols = symbols()?;
    let mut accounts = HostMemoryStats {
        size_bytes: size_of::<HostMemoryStats>() as u64,
        plain_bytes: 0,
        advised_bytes: 0,
        pool_bytes: 0,
        allocations_total: 0,
        frees_total: 0,
        failures_total: 0,
    };
    // SAFETY: the struct states its size and is valid for the call.
    let status = unsafe { (symbols.host_memory_get_stats)(&raw mut accounts) };
    check(symbols, status)?;
    Ok(accounts)
}
