//! A cache with its device: locking, stream order, eviction and retry.
//!
//! The lock is never held while the device is waited for or asked for memory, because commands of a stream may allocate, too.

mod pending;
pub(crate) mod siblings;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use amdgpu_hal::{Device, DevicePointer, ForkMark, MemoryKind, Stream};

use crate::block::Block;
use crate::cache::{Cache, Eviction, Handle, Segment, Taken};
use crate::error::OutOfMemory;
use crate::report::Report;
use crate::snapshot::SegmentSnapshot;
use crate::stats::MemoryStats;
use crate::{AllocatorOptions, Error, Result, sizes};
use pending::Pending;

/// Where the block of a request would come from, if it came now, and of how many bytes that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Cut from a free block.
    FreeBlock(u64),
    /// Cut from a segment that the device would be asked for.
    Segment(u64),
}

/// Numbers of pools.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// The cache of one kind of memory of one device.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Tells the pools of this process apart: several allocators may serve one device.
    pub number: u64,
    pub device: Arc<dyn Device>,
    pub kind: MemoryKind,
    pub report: Report,
    options: AllocatorOptions,
    /// The host may touch blocks without a stream, so a block waits for its own stream before it is used again.
    host_visible: bool,
    default_stream: u64,
    state: Mutex<State>,
    mark: ForkMark,
    is_device_closed: AtomicBool,
}

#[derive(Debug)]
struct State {
    cache: Cache,
    pending: Pending,
    /// Streams beside its own that use a block.
    users: HashMap<u32, Vec<Arc<dyn Stream>>>,
    /// Blocks that were let go of as bare addresses. They keep the pool alive, as every block does.
    raw: HashMap<u64, Block>,
    /// Bytes that the device is being asked for.
    reserving_bytes: u64,
    closed: bool,
}

impl Pool {
    pub fn new(device: Arc<dyn Device>, kind: MemoryKind, options: AllocatorOptions) -> Arc<Self> {
        let host_visible = kind != MemoryKind::Device || device.info().capabilities.host_visible;
        let pool = Arc::new(Self {
            number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
            kind,
            report: Report::new(device.info(), kind, options.device_index),
            options,
            host_visible,
            default_stream: device.default_stream().id(),
            state: Mutex::new(State {
                cache: Cache::new(options.max_split_bytes()),
                pending: Pending::default(),
                users: HashMap::new(),
                raw: HashMap::new(),
                reserving_bytes: 0,
                closed: false,
            }),
            mark: ForkMark::current(),
            is_device_closed: AtomicBool::new(false),
            device,
        });
        siblings::register(&pool);
        crate::watch::provide();
        pool
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn device_name(&self) -> String {
        self.device.info().name.clone()
    }

    fn check_open(&self, state: &State) -> Result<()> {
        if state.closed {
            return Err(Error::Closed {
                device: self.device_name(),
            });
        }
        Ok(())
    }

    pub fn use_after_free(&self, operation: &'static str, address: u64) -> Error {
        Error::UseAfterFree {
            device: self.device_name(),
            operation,
            address,
        }
    }

    /// Hands out memory for use on `stream`.
    pub fn allocate(&self, bytes: u64, stream: Option<&Arc<dyn Stream>>) -> Result<Taken> {
        self.mark.check("the allocator")?;
        let stream = stream.map_or(self.default_stream, |stream| stream.id());
        let rounded = sizes::round(bytes).ok_or_else(|| self.out_of_memory(bytes))?;
        let mut state = self.lock();
        self.check_open(&state)?;
        let State { cache, pending, .. } = &mut *state;
        pending.release_front(cache);
        let hit = cache.take(stream, rounded, bytes);
        if hit.is_some() {
            cache.stats.cache_hits += 1;
        } else {
            cache.stats.cache_misses += 1;
        }
        drop(state);
        let (taken, was_hit) = match hit {
            Some(taken) => (taken, true),
            None => (self.allocate_from_device(stream, rounded, bytes)?, false),
        };
        self.report.allocated(&taken, stream, was_hit);
        Ok(taken)
    }

    /// Reserves a segment, making room where that is needed.
    #[cold]
    fn allocate_from_device(&self, stream: u64, rounded: u64, requested: u64) -> Result<Taken> {
        let preferred = sizes::segment(rounded).ok_or_else(|| self.out_of_memory(requested))?;
        self.collect_garbage(preferred);
        // Give back ever more, then be content with the block alone.
        let attempts: [(u64, Reclaim); 4] = [
            (preferred, Reclaim::Nothing),
            (preferred, Reclaim::Own),
            (preferred, Reclaim::Shared),
            (rounded, Reclaim::Nothing),
        ];
        let mut retried = false;
        for (segment_bytes, reclaim) in attempts {
            if reclaim != Reclaim::Nothing {
                if !std::mem::replace(&mut retried, true) {
                    self.lock().cache.stats.num_alloc_retries += 1;
                }
                match reclaim {
                    Reclaim::Own => self.reclaim(u64::MAX, false),
                    _ => siblings::reclaim(self),
                };
                let mut state = self.lock();
                self.check_open(&state)?;
                if let Some(taken) = state.cache.take(stream, rounded, requested) {
                    return Ok(taken);
                }
            }
            if let Some(taken) = self.reserve(stream, segment_bytes, rounded, requested)? {
                return Ok(taken);
            }
        }
        self.lock().cache.stats.num_ooms += 1;
        self.report.out_of_memory();
        Err(self.out_of_memory(requested))
    }

    /// Asks the device for a segment and hands out a block of it; `None` when there is no room.
    fn reserve(
        &self,
        stream: u64,
        segment_bytes: u64,
        rounded: u64,
        requested: u64,
    ) -> Result<Option<Taken>> {
        let limit = self.options.limit_bytes.unwrap_or(u64::MAX);
        let mut state = self.lock();
        let reserved = state.cache.stats.reserved_bytes.all.current + state.reserving_bytes;
        if reserved.saturating_add(segment_bytes) > limit {
            return Ok(None);
        }
        state.reserving_bytes += segment_bytes;
        drop(state);
        let answer = self.device.allocate(segment_bytes, self.kind);
        let mut state = self.lock();
        state.reserving_bytes -= segment_bytes;
        let address = match answer {
            Ok(ptr) => ptr.address(),
            Err(amdgpu_hal::Error::OutOfMemory { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let segment = Segment {
            address,
            bytes: segment_bytes,
        };
        if let Err(closed) = self.check_open(&state) {
            drop(state);
            self.give_to_device(&[segment]);
            return Err(closed);
        }
        let taken = state.cache.add_segment(stream, segment, rounded, requested);
        drop(state);
        self.report.reserved(segment_bytes as f64);
        Ok(Some(taken))
    }

    fn out_of_memory(&self, requested_bytes: u64) -> Error {
        let stats = self.stats();
        let info = self.device.memory_info().ok();
        Error::OutOfMemory(Box::new(OutOfMemory {
            device: self.device_name(),
            pool: self.kind.name(),
            requested_bytes,
            allocated_bytes: stats.allocated_bytes.all.current,
            live_blocks: stats.allocation.all.current,
            reserved_bytes: stats.reserved_bytes.all.current,
            device_free_bytes: info.map(|info| info.free_bytes),
            device_total_bytes: info.map(|info| info.total_bytes),
            limit_bytes: self.options.limit_bytes,
        }))
    }

    /// Gives old large segments back when a new one would take the reservation past the threshold.
    fn collect_garbage(&self, segment_bytes: u64) {
        let Some(threshold) = self.options.garbage_collection_threshold else {
            return;
        };
        let Ok(info) = self.device.memory_info() else {
            return;
        };
        let total = self.options.limit_bytes.unwrap_or(info.total_bytes);
        let allowed = (total as f64 * threshold) as u64;
        let reserved = self.lock().cache.stats.reserved_bytes.all.current;
        let excess = reserved
            .saturating_add(segment_bytes)
            .saturating_sub(allowed);
        if excess > 0 {
            self.reclaim(excess, true);
        }
    }

    /// Gives wholly free segments back to the device, at least `wanted_bytes` if there are as many. Returns how much.
    pub fn reclaim(&self, wanted_bytes: u64, large_only: bool) -> u64 {
        let before_tick = self.lock().cache.next_tick();
        // Blocks in the cache may still be in use by commands submitted before they were given back. When the wait is refused, because
        // this is a command of a stream itself, nothing can be taken away safely.
        if self.mark.check("the allocator").is_err() || self.device.wait_idle().is_err() {
            return 0;
        }
        let mut state = self.lock();
        let State { cache, pending, .. } = &mut *state;
        cache.stats.num_sync_all_streams += 1;
        pending.release_all(cache);
        let evicted = cache.evict(Eviction {
            before_tick,
            wanted_bytes,
            large_only,
        });
        drop(state);
        self.give_to_device(&evicted);
        let bytes = evicted.iter().map(|segment| segment.bytes).sum();
        self.report.reserved(-(bytes as f64));
        bytes
    }

    fn give_to_device(&self, segments: &[Segment]) {
        let mut failures = 0;
        for segment in segments {
            let ptr = DevicePointer(segment.address);
            // SAFETY: the segment came from this device with this length and kind, is out of the cache, and the wait before its eviction
            // makes sure that no command uses it any more.
            let outcome = unsafe { self.device.free(ptr, segment.bytes, self.kind) };
            failures += u64::from(outcome.is_err());
        }
        if !segments.is_empty() {
            let mut state = self.lock();
            state.cache.stats.num_device_free += segments.len() as u64 - failures;
            state.cache.stats.num_device_free_failures += failures;
        }
    }

    /// Takes a block back.
    pub fn free(
        &self,
        handle: Handle,
        address: u64,
        stream: Option<&Arc<dyn Stream>>,
    ) -> Result<()> {
        // Locks may be held for ever in a forked child, and its memory is a copy that goes with it.
        self.mark.check("the allocator")?;
        let own = stream.unwrap_or_else(|| self.device.default_stream());
        let own_is_busy = self.host_visible && !own.is_idle().unwrap_or(true);
        let mut state = self.lock();
        if !state.cache.give_back(handle) {
            drop(state);
            return Err(self.use_after_free("free", address));
        }
        let State {
            cache,
            pending,
            users,
            closed,
            ..
        } = &mut *state;
        let mut waits_for = if users.is_empty() {
            Vec::new()
        } else {
            users.remove(&handle.key()).unwrap_or_default()
        };
        if own_is_busy {
            waits_for.push(Arc::clone(own));
        }
        let bytes = cache.bytes(handle);
        if waits_for.is_empty() {
            cache.release(handle);
        } else {
            pending.push(&*self.device, handle, &waits_for);
        }
        let closed = *closed;
        drop(state);
        // Dropped here, not under the lock: the last handle of a stream waits for its commands, and those may need the lock.
        drop(waits_for);
        self.report.freed(handle, bytes, address, own.id());
        if closed {
            self.reclaim(u64::MAX, false);
        }
        Ok(())
    }

    /// Holds the block back, when it is freed, until what `stream` was told by then is done.
    pub fn record_stream(
        &self,
        handle: Handle,
        address: u64,
        stream: &Arc<dyn Stream>,
    ) -> Result<()> {
        self.mark.check("the allocator")?;
        let mut state = self.lock();
        if !state.cache.is_live(handle) {
            drop(state);
            return Err(self.use_after_free("record_stream", address));
        }
        let users = state.users.entry(handle.key()).or_default();
        if users.iter().all(|user| user.id() != stream.id()) {
            users.push(Arc::clone(stream));
        }
        Ok(())
    }

    /// Keeps a block under its address.
    pub fn insert_raw(&self, block: Block) -> Result<()> {
        self.mark.check("the allocator")?;
        self.lock().raw.insert(block.ptr().address(), block);
        Ok(())
    }

    /// Length of the block kept under an address.
    pub fn raw_len_bytes(&self, operation: &'static str, address: u64) -> Result<u64> {
        self.mark.check("the allocator")?;
        let found = self.lock().raw.get(&address).map(Block::len_bytes);
        found.ok_or_else(|| self.use_after_free(operation, address))
    }

    /// Hands out the block kept under an address.
    pub fn remove_raw(&self, operation: &'static str, address: u64) -> Result<Block> {
        self.mark.check("the allocator")?;
        let found = self.lock().raw.remove(&address);
        found.ok_or_else(|| self.use_after_free(operation, address))
    }

    /// Refuses further allocations and gives back what is free; the rest follows as it is given back.
    pub fn close(&self) -> Result<()> {
        self.mark.check("the allocator")?;
        self.lock().closed = true;
        self.reclaim(u64::MAX, false);
        Ok(())
    }

    /// Whether [`Self::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub fn stats(&self) -> MemoryStats {
        let mut state = self.lock();
        state.cache.settle();
        state.cache.stats
    }

    /// Brings the series of the telemetry bus up to date.
    pub fn publish(&self) {
        self.report.publish(|| self.lock().cache.stats);
    }

    pub fn reset_peaks(&self) {
        let mut state = self.lock();
        state.cache.settle();
        state.cache.stats.reset_peaks();
    }

    pub fn snapshot(&self) -> Vec<SegmentSnapshot> {
        self.lock().cache.snapshot(self.kind.name())
    }

    /// What a request of the default stream would find now; `None` past the range of addresses.
    pub fn fit(&self, bytes: u64) -> Option<Fit> {
        let rounded = sizes::round(bytes)?;
        let free = self.lock().cache.fit_bytes(self.default_stream, rounded);
        match free {
            Some(bytes) => Some(Fit::FreeBlock(bytes)),
            None => sizes::segment(rounded).map(Fit::Segment),
        }
    }

    pub fn set_device_closed(&self, is_closed: bool) {
        self.is_device_closed.store(is_closed, Ordering::Relaxed);
    }

    /// Whether the device was closed, so that nothing should be held any more.
    pub fn is_device_closed(&self) -> bool {
        self.is_device_closed.load(Ordering::Relaxed)
    }

    /// Whether this is the process the pool was made in.
    pub fn is_current(&self) -> bool {
        self.mark.is_current()
    }
}

/// How much to give back before trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reclaim {
    Nothing,
    Own,
    Shared,
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.mark.is_current() {
            return;
        }
        // Blocks and allocators hold the pool, so nothing is in use any more but by commands still under way.
        self.reclaim(u64::MAX, false);
        let State { cache, pending, .. } =
            self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if cache.stats.segment.all.current > 0 {
            // A command of a stream dropped the last handle, and cannot wait for itself.
            pending.forget(cache);
            let segments = cache.evict(Eviction::EVERYTHING);
            let bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
            self.report.reserved(-(bytes as f64));
            siblings::leave_behind(Arc::clone(&self.device), self.kind, segments);
        }
        self.publish();
    }
}
