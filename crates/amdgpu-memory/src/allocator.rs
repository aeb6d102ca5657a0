//! The public face: one allocator for each open device.

use std::sync::Arc;

use amdgpu_hal::{CopyDirection, Device, DevicePointer, MemoryKind, Stream};

use crate::block::Block;
use crate::pool::Pool;
use crate::snapshot::SegmentSnapshot;
use crate::stats::MemoryStats;
use crate::{AllocatorOptions, Result};

/// The caching allocator of a device. Clones share one cache; blocks keep it alive.
///
/// ```
/// use amdgpu_hal::registry;
/// use amdgpu_memory::{Allocator, AllocatorOptions};
///
/// let allocator = Allocator::new(registry::open_device("cpu:0")?, AllocatorOptions::default())?;
/// let block = allocator.allocate(1000, None)?;
/// block.write_bytes(0, &[1; 1000], None)?;
/// let ptr = block.ptr();
/// drop(block);
/// // The memory was kept: the next request of that size gets it at once.
/// assert_eq!(allocator.allocate(1000, None)?.ptr(), ptr);
/// assert_eq!(allocator.stats().cache_hits, 1);
/// # Ok::<(), amdgpu_memory::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Allocator {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    device: Arc<dyn Device>,
    /// By [`MemoryKind::index`].
    pools: [Arc<Pool>; 3],
}

/// What was still in use when an allocator was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloseReport {
    pub live_blocks: u64,
    pub live_bytes: u64,
}

impl Allocator {
    /// An allocator over `device`; nothing is reserved yet.
    pub fn new(device: Arc<dyn Device>, options: AllocatorOptions) -> Result<Self> {
        options.check()?;
        let pools = MemoryKind::ALL.map(|kind| Pool::new(Arc::clone(&device), kind, options));
        Ok(Self {
            inner: Arc::new(Inner { device, pools }),
        })
    }

    fn pool(&self, kind: MemoryKind) -> &Arc<Pool> {
        &self.inner.pools[kind.index()]
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.inner.device
    }

    /// Allocates device memory for use on `stream`; `None` means the default stream. The contents are undefined.
    pub fn allocate(&self, bytes: u64, stream: Option<&Arc<dyn Stream>>) -> Result<Block> {
        self.allocate_kind(MemoryKind::Device, bytes, stream)
    }

    /// Allocates memory of any kind: device, pinned host or unified.
    pub fn allocate_kind(
        &self,
        kind: MemoryKind,
        bytes: u64,
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<Block> {
        let pool = self.pool(kind);
        let taken = pool.allocate(bytes, stream)?;
        Ok(Block::new(Arc::clone(pool), taken, bytes, stream.cloned()))
    }

    /// Turns a block into its bare address, for callers that cannot hold the handle. [`Self::free_raw`] gives it back; until then it keeps
    /// the cache alive.
    pub fn into_raw(&self, block: Block) -> Result<DevicePointer> {
        let ptr = block.ptr();
        Arc::clone(block.pool()).insert_raw(block)?;
        Ok(ptr)
    }

    /// Gives back a block by its address. Freeing what is not live is an error and changes nothing.
    pub fn free_raw(&self, kind: MemoryKind, ptr: DevicePointer) -> Result<()> {
        self.pool(kind).remove_raw("free", ptr.address()).map(drop)
    }

    /// Length of the block that was turned into this address; an error when it is not live.
    pub fn raw_len_bytes(&self, kind: MemoryKind, ptr: DevicePointer) -> Result<u64> {
        self.pool(kind).raw_len_bytes("look-up", ptr.address())
    }

    /// Statistics of device memory.
    #[must_use]
    pub fn stats(&self) -> MemoryStats {
        self.stats_of(MemoryKind::Device)
    }

    /// Statistics of one kind of memory.
    #[must_use]
    pub fn stats_of(&self, kind: MemoryKind) -> MemoryStats {
        self.pool(kind).stats()
    }

    /// Lets the peaks of all statistics begin again at their current values.
    pub fn reset_peak_stats(&self) {
        for pool in &self.inner.pools {
            pool.reset_peaks();
        }
    }

    /// Every segment of every kind of memory.
    #[must_use]
    pub fn snapshot(&self) -> Vec<SegmentSnapshot> {
        self.inner
            .pools
            .iter()
            .flat_map(|pool| pool.snapshot())
            .collect()
    }

    /// Gives all wholly free segments back to the device. Waits for its streams. Returns how many bytes that were; 0 also when called from
    /// inside a command of a stream, where waiting is impossible.
    #[expect(clippy::must_use_candidate, reason = "called for its effect")]
    pub fn empty_cache(&self) -> u64 {
        self.trim(u64::MAX)
    }

    /// Like [`Self::empty_cache`], but stops when `bytes` have been given back, longest unused first.
    #[expect(clippy::must_use_candidate, reason = "called for its effect")]
    pub fn trim(&self, bytes: u64) -> u64 {
        let mut freed = 0;
        for pool in &self.inner.pools {
            if freed >= bytes {
                break;
            }
            freed += pool.reclaim(bytes - freed, false);
        }
        freed
    }

    /// [`Self::empty_cache`] for one kind of memory.
    #[expect(clippy::must_use_candidate, reason = "called for its effect")]
    pub fn empty_pool(&self, kind: MemoryKind) -> u64 {
        self.pool(kind).reclaim(u64::MAX, false)
    }

    /// Reserves memory in advance: afterwards the cache holds a free block for each of `sizes`, so that requests of these sizes, all alive at
    /// the same time, need nothing of the device. Returns how many bytes more are reserved than before.
    ///
    /// # Errors
    ///
    /// As [`Self::allocate_kind`]; what was reserved until then stays in the cache.
    pub fn warm_up(&self, kind: MemoryKind, sizes: &[u64]) -> Result<u64> {
        let reserved = || self.stats_of(kind).reserved_bytes.all.current;
        let before = reserved();
        // All at once: a block that was given back would be handed out for the next size.
        let held: Result<Vec<Block>> = sizes
            .iter()
            .map(|bytes| self.allocate_kind(kind, *bytes, None))
            .collect();
        drop(held?);
        Ok(reserved().saturating_sub(before))
    }

    /// Says whether the device is closed: what is still held then is reported as a leak.
    pub fn set_device_closed(&self, is_closed: bool) {
        self.inner
            .pools
            .iter()
            .for_each(|pool| pool.set_device_closed(is_closed));
    }

    /// Ends allocation and gives back everything that is free. Blocks that are alive stay valid, and their memory goes back to the device
    /// when they are dropped. Closing again is allowed.
    pub fn close(&self) -> Result<CloseReport> {
        let mut report = CloseReport::default();
        for pool in &self.inner.pools {
            pool.close()?;
            let stats = pool.stats();
            report.live_blocks += stats.allocation.all.current;
            report.live_bytes += stats.allocated_bytes.all.current;
        }
        Ok(report)
    }

    /// Whether [`Self::close`] was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.inner.pools[0].is_closed()
    }

    /// Counts a copy that a caller submitted on its own, so that telemetry knows of it.
    pub fn count_copy(&self, direction: CopyDirection, bytes: u64, stream: u64, start_ns: u64) {
        self.inner.pools[0]
            .report
            .copied(direction, bytes, stream, start_ns);
    }
}
