//! The allocator against a naive one that keeps every live block in a list: a million random operations in release builds.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use amdgpu_hal::cpu::{CpuDevice, CpuOptions};
use amdgpu_hal::{Device, MemoryKind, Stream, registry};
use amdgpu_memory::{Allocator, AllocatorOptions, Block, BlockState, Error};

/// The generator `SplitMix64` (Steele, Lea, Flood 2014): the whole run follows from the seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Sizes over the whole range, small ones more often.
    fn size(&mut self) -> u64 {
        let bound = match self.below(100) {
            0..40 => 4 << 10,
            40..80 => 1 << 20,
            80..95 => 8 << 20,
            95..99 => 40 << 20,
            _ => 300 << 20,
        };
        self.below(bound + 1)
    }
}

fn rounded(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(512)
}

/// The naive allocator: what is live, and sums over it.
#[derive(Default)]
struct Model {
    live: Vec<Block>,
    /// End by begin.
    ranges: BTreeMap<u64, u64>,
    requested_bytes: u64,
    capacity_bytes: u64,
    allocations: u64,
    frees: u64,
    refusals: u64,
}

impl Model {
    fn insert(&mut self, block: Block) {
        let (begin, end) = (
            block.ptr().address(),
            block.ptr().address() + block.capacity_bytes(),
        );
        assert!(block.capacity_bytes() >= rounded(block.len_bytes()));
        let before = self.ranges.range(..end).next_back();
        assert!(
            before.is_none_or(|(_, &other_end)| other_end <= begin),
            "blocks overlap at {begin:#x}"
        );
        self.ranges.insert(begin, end);
        self.requested_bytes += block.len_bytes();
        self.capacity_bytes += block.capacity_bytes();
        self.allocations += 1;
        self.live.push(block);
    }

    fn remove(&mut self, index: usize) -> Block {
        let block = self.live.swap_remove(index);
        assert!(self.ranges.remove(&block.ptr().address()).is_some());
        self.requested_bytes -= block.len_bytes();
        self.capacity_bytes -= block.capacity_bytes();
        self.frees += 1;
        block
    }

    /// Compares every account with the allocator's.
    fn check(&self, allocator: &Allocator, used_by_others: u64) {
        let stats = allocator.stats();
        let live = self.live.len() as u64;
        assert_eq!(stats.allocation.all.current, live);
        assert_eq!(stats.allocation.all.allocated, self.allocations);
        assert_eq!(stats.allocation.all.freed, self.frees);
        assert_eq!(stats.allocated_bytes.all.current, self.capacity_bytes);
        assert_eq!(stats.requested_bytes.all.current, self.requested_bytes);
        assert_eq!(stats.num_ooms, self.refusals);
        assert_eq!(
            stats.cache_hits + stats.cache_misses,
            self.allocations + self.refusals
        );
        assert_eq!(
            stats.num_device_alloc - stats.num_device_free,
            stats.segment.all.current
        );
        assert_eq!(stats.num_device_free_failures, 0);

        let mut reserved = 0;
        let mut inactive_split = 0;
        let mut found = 0;
        for segment in allocator.snapshot() {
            let mut expected_address = segment.address;
            let mut previous_was_free = false;
            for block in &segment.blocks {
                assert_eq!(
                    block.address, expected_address,
                    "blocks of a segment have no gaps"
                );
                assert!(block.size_bytes > 0 && block.size_bytes.is_multiple_of(512));
                expected_address += block.size_bytes;
                let free = block.state == BlockState::Inactive;
                assert!(!(free && previous_was_free), "free neighbours are joined");
                previous_was_free = free;
                if free && segment.blocks.len() > 1 {
                    inactive_split += block.size_bytes;
                }
                if block.state == BlockState::ActiveAllocated {
                    let end = self.ranges[&block.address];
                    assert_eq!(end, block.address + block.size_bytes);
                    found += 1;
                }
            }
            assert_eq!(expected_address, segment.address + segment.total_bytes);
            reserved += segment.total_bytes;
        }
        assert_eq!(found, live);
        assert_eq!(stats.reserved_bytes.all.current, reserved);
        assert_eq!(stats.inactive_split_bytes.all.current, inactive_split);
        let by_pool = stats.active_bytes;
        assert_eq!(
            by_pool.small_pool.current + by_pool.large_pool.current,
            by_pool.all.current
        );
        let used = allocator.device().memory_info().unwrap().used_bytes;
        assert_eq!(
            used,
            reserved + used_by_others,
            "the device and the allocator agree"
        );
    }
}

/// A refusal is right when even the bare block does not fit beside the segments that hold something.
fn assert_refusal_is_right(allocator: &Allocator, bytes: u64, limit_bytes: u64) {
    let segments = allocator.snapshot();
    let pinned: u64 = segments
        .iter()
        .filter(|segment| segment.active_bytes > 0)
        .map(|segment| segment.total_bytes)
        .sum();
    assert!(
        pinned + rounded(bytes) > limit_bytes,
        "{bytes} bytes would have had room"
    );
}

fn accounts_hold(seed: u64, steps: u64, options: AllocatorOptions) {
    let device = registry::open_device("null:gfx1100").unwrap();
    let streams: Vec<Option<Arc<dyn Stream>>> = vec![
        None,
        Some(device.create_stream().unwrap()),
        Some(device.create_stream().unwrap()),
    ];
    let limit_bytes = options.limit_bytes.unwrap();
    let allocator = Allocator::new(Arc::clone(&device), options).unwrap();
    let mut random = Random(seed);
    let mut model = Model::default();
    for step in 0..steps {
        // The number of live blocks wanders between few and many.
        let wanted = if step / 5_000 % 2 == 0 { 400 } else { 20 };
        let grow = random.below(100)
            < if (model.live.len() as u64) < wanted {
                60
            } else {
                40
            };
        match random.below(1_000) {
            0 => {
                allocator.empty_cache();
            }
            1 => {
                allocator.trim(random.below(64 << 20));
            }
            2..12 if !model.live.is_empty() => {
                let index = random.below(model.live.len() as u64) as usize;
                let stream = &streams[random.below(3) as usize];
                let stream = stream.as_ref().unwrap_or_else(|| device.default_stream());
                model.live[index].record_stream(stream).unwrap();
            }
            12..22 if !model.live.is_empty() => {
                let index = random.below(model.live.len() as u64) as usize;
                let block = model.remove(index);
                let len_bytes = block.len_bytes();
                let ptr = allocator.into_raw(block).unwrap();
                assert_eq!(
                    allocator.raw_len_bytes(MemoryKind::Device, ptr).unwrap(),
                    len_bytes
                );
                allocator.free_raw(MemoryKind::Device, ptr).unwrap();
                assert!(matches!(
                    allocator.free_raw(MemoryKind::Device, ptr),
                    Err(Error::UseAfterFree { .. })
                ));
            }
            _ if grow || model.live.is_empty() => {
                let bytes = random.size();
                let stream = streams[random.below(3) as usize].as_ref();
                match allocator.allocate(bytes, stream) {
                    Ok(block) => {
                        assert_eq!(block.len_bytes(), bytes);
                        model.insert(block);
                    }
                    Err(Error::OutOfMemory(_)) => {
                        model.refusals += 1;
                        assert_refusal_is_right(&allocator, bytes, limit_bytes);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            _ => {
                let index = random.below(model.live.len() as u64) as usize;
                drop(model.remove(index));
            }
        }
        if step % 997 == 0 {
            model.check(&allocator, 0);
        }
    }
    model.check(&allocator, 0);
    assert!(model.refusals > 0, "the limit was never reached");
    assert!(allocator.stats().num_alloc_retries > 0);
    while !model.live.is_empty() {
        drop(model.remove(0));
    }
    model.check(&allocator, 0);
    assert_eq!(allocator.close().unwrap().live_blocks, 0);
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
}

const STEPS: u64 = if cfg!(debug_assertions) {
    20_000
} else {
    500_000
};

#[test]
fn accounts_agree_with_a_naive_allocator() {
    let options = AllocatorOptions {
        limit_bytes: Some(600 << 20),
        ..AllocatorOptions::default()
    };
    accounts_hold(1, STEPS, options);
}

#[test]
fn accounts_agree_with_split_limit_and_garbage_collection() {
    let options = AllocatorOptions {
        limit_bytes: Some(700 << 20),
        max_split_size_mb: Some(32),
        garbage_collection_threshold: Some(0.7),
        ..AllocatorOptions::default()
    };
    accounts_hold(2, STEPS, options);
}

/// Blocks are dropped while commands that use them are still queued. Each use leaves its mark in the block and looks for it later, in the
/// order of its stream; memory that is handed out too early shows a foreign mark.
#[test]
fn memory_is_never_reused_while_a_stream_needs_it() {
    let steps = if cfg!(debug_assertions) {
        3_000
    } else {
        60_000
    };
    let options = CpuOptions {
        memory_limit_bytes: Some(256 << 20),
    };
    let device: Arc<dyn Device> = Arc::new(CpuDevice::with_options(options).unwrap());
    let streams: Vec<Arc<dyn Stream>> = (0..3).map(|_| device.create_stream().unwrap()).collect();
    let allocator = Allocator::new(Arc::clone(&device), AllocatorOptions::default()).unwrap();
    let foreign_marks = Arc::new(AtomicU64::new(0));
    let mut random = Random(3);
    for mark in 1..steps {
        let owner = &streams[random.below(3) as usize];
        let bound = if random.below(50) == 0 {
            3 << 20
        } else {
            20 << 10
        };
        let bytes = 8 + random.below(bound);
        let block = match allocator.allocate(bytes, Some(owner)) {
            Ok(block) => block,
            Err(Error::OutOfMemory(_)) => {
                device.wait_idle().unwrap();
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        let ptr = block.ptr();
        owner
            .call(Box::new(move || {
                // SAFETY: the block has at least eight bytes and is live, or held back for this stream.
                unsafe { ptr.as_mut_ptr::<u64>().write(mark) };
                Ok(())
            }))
            .unwrap();
        let marks = Arc::clone(&foreign_marks);
        let look = move || {
            // SAFETY: as above.
            let found = unsafe { ptr.as_mut_ptr::<u64>().read() };
            marks.fetch_add(u64::from(found != mark), Ordering::Relaxed);
            Ok(())
        };
        owner.call(Box::new(look.clone())).unwrap();
        let guest = &streams[random.below(3) as usize];
        if guest.id() != owner.id() && random.below(2) == 0 {
            let event = device.create_event().unwrap();
            owner.record(&event).unwrap();
            guest.wait(&event).unwrap();
            guest.call(Box::new(look)).unwrap();
            block.record_stream(guest).unwrap();
        }
        // Dropped here, with everything still queued.
    }
    device.wait_idle().unwrap();
    assert_eq!(foreign_marks.load(Ordering::Relaxed), 0);
    assert!(allocator.stats().cache_hits > steps / 10);
    assert_eq!(allocator.close().unwrap().live_blocks, 0);
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
}
