//! Sub-allocation: one block of device memory, cut up by a strategy of the Zig library.
//!
//! The strategies manage offsets only and never touch the memory, so they work for memory of any device.

use std::sync::Arc;

use amdgpu_abi::library::{NativeLibrary, last_error};
use amdgpu_abi::{self as abi, Coded, ErrorCode, MatrixSymbols};
use amdgpu_hal::DevicePointer;
use once_cell::race::OnceBox;

use crate::block::Block;
use crate::{Error, Result};

/// How a [`SubPool`] divides its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Equal slots of `min_block_bytes`; for many objects of one size.
    Slab,
    /// Powers of two, halved and joined; for mixed sizes with bounded fragmentation.
    Buddy,
    /// One after the other, forgotten all at once; for what lives through one step.
    Arena,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Slab, Self::Buddy, Self::Arena];

    const fn code(self) -> u32 {
        match self {
            Self::Slab => abi::ALLOCATOR_SLAB,
            Self::Buddy => abi::ALLOCATOR_BUDDY,
            Self::Arena => abi::ALLOCATOR_ARENA,
        }
    }
}

/// Statistics of a [`SubPool`].
pub type SubPoolStats = abi::AllocatorStats;

pub(crate) fn symbols() -> Result<&'static MatrixSymbols> {
    // A lock would stay taken in a child of `fork()`.
    static SYMBOLS: OnceBox<Result<MatrixSymbols>> = OnceBox::new();
    SYMBOLS
        .get_or_init(|| Box::new(load_symbols()))
        .as_ref()
        .map_err(Clone::clone)
}

fn load_symbols() -> Result<MatrixSymbols> {
    let unusable = |error: &dyn Coded| Error::Library {
        code: error.code(),
        message: error.to_string(),
    };
    let library = NativeLibrary::open("matrix").map_err(|error| unusable(&error))?;
    // SAFETY: the library passed the check of its ABI hash, so its functions have the prototypes of agpu.h.
    unsafe { MatrixSymbols::resolve(|name| library.symbol(name)) }
        .map_err(|name| unusable(&library.lacks(name)))
}

/// A block divided by a strategy. Its pieces keep it alive. Needs the Zig library (`libagpu_matrix.so`).
///
/// ```no_run
/// use amdgpu_hal::registry;
/// use amdgpu_memory::{Allocator, AllocatorOptions, Strategy, SubPool};
///
/// let allocator = Allocator::new(registry::open_device("cpu:0")?, AllocatorOptions::default())?;
/// let pool = SubPool::new(allocator.allocate(1 << 20, None)?, Strategy::Buddy, 512)?;
/// let piece = pool.allocate(3000, 256)?;
/// assert!(piece.offset_bytes() + 3000 <= 1 << 20);
/// # Ok::<(), amdgpu_memory::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SubPool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    block: Block,
    handle: abi::Allocator,
}

// SAFETY: the ABI lets every function of the library be called from any thread at the same time.
unsafe impl Send for Inner {}
// SAFETY: see `Send`.
unsafe impl Sync for Inner {}

impl SubPool {
    /// Divides `block`. `min_block_bytes` is the size of a slot (slab), the smallest block (buddy, a power of two) or the smallest step
    /// (arena).
    pub fn new(block: Block, strategy: Strategy, min_block_bytes: u64) -> Result<Self> {
        let symbols = symbols()?;
        let options = abi::AllocatorOptions {
            size_bytes: size_of::<abi::AllocatorOptions>() as u64,
            kind: strategy.code(),
            reserved: 0,
            capacity_bytes: block.len_bytes(),
            min_block_bytes,
        };
        let mut handle: abi::Allocator = std::ptr::null_mut();
        // SAFETY: both pointers are valid for the call.
        let status = unsafe { (symbols.allocator_create)(&raw const options, &raw mut handle) };
        check(symbols, status)?;
        Ok(Self {
            inner: Arc::new(Inner { block, handle }),
        })
    }

    /// Hands out a piece of at least `bytes`, aligned to `align_bytes`, a power of two that counts from the address of the whole block.
    pub fn allocate(&self, bytes: u64, align_bytes: u64) -> Result<SubBlock> {
        let symbols = symbols()?;
        let mut offset = 0;
        // SAFETY: the handle lives as long as `inner`, and the result has a valid place.
        let status = unsafe {
            (symbols.allocator_allocate)(self.inner.handle, bytes, align_bytes, &raw mut offset)
        };
        check(symbols, status)?;
        Ok(SubBlock {
            pool: self.clone(),
            offset_bytes: offset,
            len_bytes: bytes,
        })
    }

    /// The library's own accounts.
    pub fn stats(&self) -> Result<SubPoolStats> {
        let symbols = symbols()?;
        let mut accounts = SubPoolStats {
            size_bytes: size_of::<SubPoolStats>() as u64,
            capacity_bytes: 0,
            used_bytes: 0,
            peak_used_bytes: 0,
            largest_free_bytes: 0,
            live_blocks: 0,
            allocations_total: 0,
            frees_total: 0,
            failures_total: 0,
        };
        // SAFETY: the handle lives as long as `inner`, and the struct states its size.
        let status = unsafe { (symbols.allocator_get_stats)(self.inner.handle, &raw mut accounts) };
        check(symbols, status)?;
        Ok(accounts)
    }

    /// The block that is divided.
    #[must_use]
    pub fn block(&self) -> &Block {
        &self.inner.block
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Ok(symbols) = symbols() {
            // SAFETY: created by this library, destroyed once; no piece is left, because pieces keep `Inner` alive.
            unsafe { (symbols.allocator_destroy)(self.handle) };
        }
    }
}

/// A piece of a [`SubPool`]; dropping it gives it back.
#[derive(Debug)]
pub struct SubBlock {
    pool: SubPool,
    offset_bytes: u64,
    len_bytes: u64,
}

impl SubBlock {
    /// Where it begins.
    #[must_use]
    pub fn ptr(&self) -> DevicePointer {
        self.pool.inner.block.ptr().offset(self.offset_bytes)
    }

    /// Where it begins in the block that is divided.
    #[must_use]
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// What was asked for.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }
}

impl Drop for SubBlock {
    fn drop(&mut self) {
        if let Ok(symbols) = symbols() {
            // SAFETY: the handle is alive, and the offset was given out by it and is given back once.
            unsafe { (symbols.allocator_free)(self.pool.inner.handle, self.offset_bytes) };
        }
    }
}

pub(crate) fn check(symbols: &MatrixSymbols, status: abi::layout::Status) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the function belongs to a library that passed the checks of `NativeLibrary::open`.
    let (_, message) = unsafe { last_error(symbols.last_error) };
    Err(Error::Strategy {
        code: ErrorCode::from_status(status),
        message,
    })
}
