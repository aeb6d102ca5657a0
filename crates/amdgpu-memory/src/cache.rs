//! The bookkeeping of one pool: segments, blocks, free lists by stream. No locks, no device: pure data with checks.

mod bins;
mod entry;
mod recent;

use std::collections::{BTreeMap, BTreeSet};

use bins::Bins;
use entry::{Entry, NONE, State};
use recent::Recent;

use crate::owner;
use crate::sizes::{LARGE_SEGMENT_BYTES, MIN_BLOCK_BYTES, SMALL_BYTES, is_small};
use crate::snapshot::{BlockSnapshot, BlockState, SegmentSnapshot};
use crate::stats::MemoryStats;

/// Names a handed-out block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    idx: u32,
    generation: u32,
}

impl Handle {
    /// Distinct for blocks that are live at the same time.
    pub fn key(self) -> u32 {
        self.idx
    }

    /// How often the place of its block in the cache was handed out, this time included.
    pub fn times(self) -> u32 {
        self.generation
    }
}

/// A block that was just handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub handle: Handle,
    pub address: u64,
    /// The size of the block, not of the request.
    pub bytes: u64,
}

/// Memory of the device that is not, or no longer, in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub address: u64,
    pub bytes: u64,
}

/// Which segments [`Cache::evict`] may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eviction {
    /// Only what was given back before this tick; later blocks may still be in use by a stream.
    pub before_tick: u64,
    /// Stop once this much is found.
    pub wanted_bytes: u64,
    /// Leave the small pool alone.
    pub large_only: bool,
}

impl Eviction {
    /// Every segment that is wholly free.
    pub const EVERYTHING: Self = Self {
        before_tick: u64::MAX,
        wanted_bytes: u64::MAX,
        large_only: false,
    };
}

#[derive(Debug)]
struct CachedSegment {
    bytes: u64,
    first: u32,
    stream: u32,
    small: bool,
}

/// The free blocks of one stream.
#[derive(Debug)]
struct StreamCache {
    id: u64,
    small: Bins,
    large: BTreeSet<(u64, u64, u32)>,
    segment_count: usize,
}

#[derive(Debug)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    segments: BTreeMap<u64, CachedSegment>,
    streams: Vec<StreamCache>,
    /// Slots by stream identifier. Streams without segments have none.
    slots: BTreeMap<u64, u32>,
    unused_slots: Vec<u32>,
    recent: Recent,
    tick: u64,
    max_split_bytes: u64,
    pub stats: MemoryStats,
}

impl Cache {
    pub fn new(max_split_bytes: u64) -> Self {
        Self {
            entries: Vec::new(),
            vacant: Vec::new(),
            segments: BTreeMap::new(),
            streams: Vec::new(),
            slots: BTreeMap::new(),
            unused_slots: Vec::new(),
            recent: Recent::default(),
            tick: 1,
            max_split_bytes,
            stats: MemoryStats {
                max_split_size: (max_split_bytes != u64::MAX).then_some(max_split_bytes),
                ..MemoryStats::default()
            },
        }
    }

    /// Begins a new tick and returns it: everything given back so far was given back before it.
    pub fn next_tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    /// Hands out a free block of the stream that fits, if there is one.
    pub fn take(&mut self, stream: u64, rounded: u64, requested: u64) -> Option<Taken> {
        if !self.recent.is_empty() {
            let (entries, streams) = (&self.entries, &self.streams);
            let is_wanted = |idx: u32| {
                let entry = &entries[idx as usize];
                entry.bytes == rounded && streams[entry.stream as usize].id == stream
            };
            if let Some(idx) = self.recent.take(is_wanted) {
                return Some(self.hand_out(idx, rounded, requested));
            }
            self.settle();
        }
        let idx = self.fit(stream, rounded)?;
        self.remove_free(idx);
        Some(self.hand_out(idx, rounded, requested))
    }

    /// The free block that a request of the stream would be served from.
    fn fit(&self, stream: u64, rounded: u64) -> Option<u32> {
        let slot = *self.slots.get(&stream)?;
        let cache = &self.streams[slot as usize];
        if is_small(rounded) {
            cache.small.best_fit(rounded)
        } else {
            self.best_large_fit(cache, rounded)
        }
    }

    /// Bytes of the free block that a request of the stream would be served from.
    pub fn fit_bytes(&mut self, stream: u64, rounded: u64) -> Option<u64> {
        self.settle();
        let idx = self.fit(stream, rounded)?;
        Some(self.entries[idx as usize].bytes)
    }

    fn best_large_fit(&self, cache: &StreamCache, rounded: u64) -> Option<u32> {
        let &(bytes, _, idx) = cache.large.range((rounded, 0, 0)..).next()?;
        if bytes >= self.max_split_bytes {
            // A block that is never split serves requests of about its own size only.
            let oversize_request = rounded >= self.max_split_bytes;
            if !oversize_request || bytes >= rounded.saturating_add(LARGE_SEGMENT_BYTES) {
                return None;
            }
        }
        Some(idx)
    }

    /// Adds a segment that the device gave, and hands out a block of it.
    pub fn add_segment(
        &mut self,
        stream: u64,
        segment: Segment,
        rounded: u64,
        requested: u64,
    ) -> Taken {
        let small = is_small(rounded);
        let slot = self.slot(stream);
        let idx = self.vacant_entry();
        let generation = self.entries[idx as usize].generation;
        self.entries[idx as usize] = Entry {
            address: segment.address,
            bytes: segment.bytes,
            stream: slot,
            state: State::Free,
            small,
            generation,
            ..Entry::VACANT
        };
        self.segments.insert(
            segment.address,
            CachedSegment {
                bytes: segment.bytes,
                first: idx,
                stream: slot,
                small,
            },
        );
        self.streams[slot as usize].segment_count += 1;
        self.stats.segment.increase(small, 1);
        self.stats.reserved_bytes.increase(small, segment.bytes);
        self.stats.num_device_alloc += 1;
        if segment.bytes >= self.max_split_bytes {
            self.stats.oversize_segments.increase(1);
        }
        self.hand_out(idx, rounded, requested)
    }

    /// Marks a block as taken that is in no free list, and cuts off what is not needed.
    fn hand_out(&mut self, idx: u32, rounded: u64, requested: u64) -> Taken {
        let Entry { bytes, small, .. } = self.entries[idx as usize];
        let rest = bytes - rounded;
        let split = if small {
            rest >= MIN_BLOCK_BYTES
        } else {
            rounded < self.max_split_bytes && rest > SMALL_BYTES
        };
        if split {
            self.split(idx, rounded);
        }
        let entry = &mut self.entries[idx as usize];
        entry.state = State::Allocated;
        entry.requested_bytes = requested;
        entry.owner = owner::current();
        entry.generation = entry.generation.wrapping_add(1);
        let taken = Taken {
            handle: Handle {
                idx,
                generation: entry.generation,
            },
            address: entry.address,
            bytes: entry.bytes,
        };
        let stats = &mut self.stats;
        stats.allocation.increase(small, 1);
        stats.allocated_bytes.increase(small, taken.bytes);
        stats.requested_bytes.increase(small, requested);
        stats.active.increase(small, 1);
        stats.active_bytes.increase(small, taken.bytes);
        if taken.bytes >= self.max_split_bytes {
            stats.oversize_allocations.increase(1);
        }
        taken
    }

    /// Leaves `bytes` in the block and makes the rest a free block behind it.
    fn split(&mut self, idx: u32, bytes: u64) {
        let rest = self.vacant_entry();
        let generation = self.entries[rest as usize].generation;
        let entry = &mut self.entries[idx as usize];
        let next = entry.next;
        let remainder = Entry {
            address: entry.address + bytes,
            bytes: entry.bytes - bytes,
            requested_bytes: 0,
            generation,
            previous: idx,
            state: State::Free,
            ..*entry
        };
        entry.bytes = bytes;
        entry.next = rest;
        if next != NONE {
            self.entries[next as usize].previous = rest;
        }
        self.entries[rest as usize] = remainder;
        self.insert_free(rest);
    }

    /// Whether the handle names a block that is in use.
    pub fn is_live(&self, handle: Handle) -> bool {
        self.entries.get(handle.idx as usize).is_some_and(|entry| {
            entry.state == State::Allocated && entry.generation == handle.generation
        })
    }

    /// The size of a block that was not released yet.
    pub fn bytes(&self, handle: Handle) -> u64 {
        self.entries[handle.idx as usize].bytes
    }

    /// The block is no longer the caller's. It is `Pending` until [`Self::release`]. False when it was not live; nothing changes then.
    #[must_use]
    pub fn give_back(&mut self, handle: Handle) -> bool {
        if !self.is_live(handle) {
            return false;
        }
        self.tick += 1;
        let entry = &mut self.entries[handle.idx as usize];
        entry.state = State::Pending;
        entry.freed_tick = self.tick;
        let (small, bytes, requested) = (entry.small, entry.bytes, entry.requested_bytes);
        self.stats.allocation.decrease(small, 1);
        self.stats.allocated_bytes.decrease(small, bytes);
        self.stats.requested_bytes.decrease(small, requested);
        if bytes >= self.max_split_bytes {
            self.stats.oversize_allocations.decrease(1);
        }
        true
    }

    /// No stream uses the block any more: it becomes free. A small one is joined with free neighbours later, when nobody has asked for its
    /// very size.
    pub fn release(&mut self, handle: Handle) {
        let entry = &mut self.entries[handle.idx as usize];
        debug_assert!(entry.state == State::Pending && entry.generation == handle.generation);
        entry.state = State::Recent;
        entry.requested_bytes = 0;
        let (small, bytes) = (entry.small, entry.bytes);
        self.stats.active.decrease(small, 1);
        self.stats.active_bytes.decrease(small, bytes);
        let next = if small {
            self.recent.push(handle.idx)
        } else {
            Some(handle.idx)
        };
        if let Some(idx) = next {
            self.join_neighbours(idx);
        }
    }

    /// Joins what was released last, before somebody looks at the free blocks.
    pub fn settle(&mut self) {
        while let Some(idx) = self.recent.pop() {
            self.join_neighbours(idx);
        }
    }

    /// Makes a released block free, joined with free neighbours.
    fn join_neighbours(&mut self, idx: u32) {
        let mut idx = idx;
        let entry = &mut self.entries[idx as usize];
        debug_assert!(entry.state == State::Recent);
        entry.state = State::Free;
        let (previous, next) = (entry.previous, entry.next);
        if next != NONE && self.entries[next as usize].state == State::Free {
            self.remove_free(next);
            self.join(idx, next);
        }
        if previous != NONE && self.entries[previous as usize].state == State::Free {
            self.remove_free(previous);
            self.join(previous, idx);
            idx = previous;
        }
        self.insert_free(idx);
    }

    /// Appends the block `second` to its neighbour `first`; both are in no list.
    fn join(&mut self, first: u32, second: u32) {
        let gone = self.entries[second as usize];
        let entry = &mut self.entries[first as usize];
        entry.bytes += gone.bytes;
        entry.next = gone.next;
        entry.freed_tick = entry.freed_tick.max(gone.freed_tick);
        if gone.next != NONE {
            self.entries[gone.next as usize].previous = first;
        }
        self.vacate(second);
    }

    fn insert_free(&mut self, idx: u32) {
        let entry = self.entries[idx as usize];
        let cache = &mut self.streams[entry.stream as usize];
        if entry.small {
            cache.small.insert(&mut self.entries, idx);
        } else {
            cache.large.insert((entry.bytes, entry.address, idx));
        }
        if entry.is_split() {
            self.stats.inactive_split.increase(entry.small, 1);
            self.stats
                .inactive_split_bytes
                .increase(entry.small, entry.bytes);
        }
    }

    fn remove_free(&mut self, idx: u32) {
        let entry = self.entries[idx as usize];
        let cache = &mut self.streams[entry.stream as usize];
        if entry.small {
            cache.small.remove(&mut self.entries, idx);
        } else {
            cache.large.remove(&(entry.bytes, entry.address, idx));
        }
        if entry.is_split() {
            self.stats.inactive_split.decrease(entry.small, 1);
            self.stats
                .inactive_split_bytes
                .decrease(entry.small, entry.bytes);
        }
    }

    fn vacant_entry(&mut self) -> u32 {
        self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(Entry::VACANT);
            self.entries.len() as u32 - 1
        })
    }

    fn vacate(&mut self, idx: u32) {
        let generation = self.entries[idx as usize].generation;
        self.entries[idx as usize] = Entry {
            generation,
            ..Entry::VACANT
        };
        self.vacant.push(idx);
    }

    fn slot(&mut self, stream: u64) -> u32 {
        if let Some(&slot) = self.slots.get(&stream) {
            return slot;
        }
        let fresh = StreamCache {
            id: stream,
            small: Bins::default(),
            large: BTreeSet::new(),
            segment_count: 0,
        };
        let slot = if let Some(slot) = self.unused_slots.pop() {
            self.streams[slot as usize] = fresh;
            slot
        } else {
            self.streams.push(fresh);
            self.streams.len() as u32 - 1
        };
        self.slots.insert(stream, slot);
        slot
    }

    /// Takes wholly free segments out of the cache, longest unused first.
    pub fn evict(&mut self, eviction: Eviction) -> Vec<Segment> {
        self.settle();
        let mut candidates: Vec<(u64, u64)> = self
            .segments
            .iter()
            .filter(|(_, segment)| !(eviction.large_only && segment.small))
            .filter_map(|(&address, segment)| {
                let block = &self.entries[segment.first as usize];
                let whole = block.state == State::Free && block.next == NONE;
                (whole && block.freed_tick < eviction.before_tick)
                    .then_some((block.freed_tick, address))
            })
            .collect();
        candidates.sort_unstable();
        let mut evicted = Vec::new();
        let mut found_bytes = 0;
        for (_, address) in candidates {
            if found_bytes >= eviction.wanted_bytes {
                break;
            }
            if let Some(segment) = self.remove_segment(address) {
                found_bytes += segment.bytes;
                evicted.push(segment);
            }
        }
        evicted
    }

    fn remove_segment(&mut self, address: u64) -> Option<Segment> {
        let CachedSegment {
            bytes,
            first,
            stream,
            small,
        } = self.segments.remove(&address)?;
        self.remove_free(first);
        self.vacate(first);
        let cache = &mut self.streams[stream as usize];
        cache.segment_count -= 1;
        if cache.segment_count == 0 {
            self.slots.remove(&cache.id);
            cache.small = Bins::default();
            self.unused_slots.push(stream);
        }
        self.stats.segment.decrease(small, 1);
        self.stats.reserved_bytes.decrease(small, bytes);
        if bytes >= self.max_split_bytes {
            self.stats.oversize_segments.decrease(1);
        }
        Some(Segment { address, bytes })
    }

    /// Every segment with its blocks, in address order.
    pub fn snapshot(&mut self, pool: &'static str) -> Vec<SegmentSnapshot> {
        self.settle();
        self.segments
            .iter()
            .map(|(&address, segment)| {
                let blocks: Vec<BlockSnapshot> = self
                    .blocks(segment)
                    .map(|entry| BlockSnapshot {
                        address: entry.address,
                        size_bytes: entry.bytes,
                        requested_bytes: entry.requested_bytes,
                        owner: entry.owner,
                        state: match entry.state {
                            State::Allocated => BlockState::ActiveAllocated,
                            State::Pending => BlockState::ActiveAwaitingFree,
                            State::Free | State::Recent | State::Vacant => BlockState::Inactive,
                        },
                    })
                    .collect();
                let sum = |counts: fn(BlockState) -> bool, of: fn(&BlockSnapshot) -> u64| {
                    blocks
                        .iter()
                        .filter(|block| counts(block.state))
                        .map(of)
                        .sum()
                };
                SegmentSnapshot {
                    address,
                    total_bytes: segment.bytes,
                    allocated_bytes: sum(
                        |state| state == BlockState::ActiveAllocated,
                        |block| block.size_bytes,
                    ),
                    active_bytes: sum(
                        |state| state != BlockState::Inactive,
                        |block| block.size_bytes,
                    ),
                    requested_bytes: sum(
                        |state| state == BlockState::ActiveAllocated,
                        |block| block.requested_bytes,
                    ),
                    stream: self.streams[segment.stream as usize].id,
                    segment_type: if segment.small { "small" } else { "large" },
                    pool,
                    blocks,
                }
            })
            .collect()
    }

    fn blocks(&self, segment: &CachedSegment) -> impl Iterator<Item = &Entry> {
        let entry = |idx: u32| self.entries.get(idx as usize);
        std::iter::successors(entry(segment.first), move |block| entry(block.next))
    }
}

#[cfg(test)]
mod tests;
