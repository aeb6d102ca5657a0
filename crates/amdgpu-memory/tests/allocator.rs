//! The allocator's behaviour, one promise at a time.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, mpsc};
use std::thread;

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::cpu::{CpuDevice, CpuOptions};
use amdgpu_hal::{Device, MemoryKind, Stream, registry};
use amdgpu_memory::{Allocator, AllocatorOptions, BlockState, Error};

fn cpu(limit_bytes: u64) -> Arc<dyn Device> {
    let options = CpuOptions {
        memory_limit_bytes: Some(limit_bytes),
    };
    Arc::new(CpuDevice::with_options(options).unwrap())
}

fn allocator(device: &Arc<dyn Device>) -> Allocator {
    Allocator::new(Arc::clone(device), AllocatorOptions::default()).unwrap()
}

/// Occupies a stream until the sender is used or dropped.
fn block_stream(stream: &Arc<dyn Stream>) -> mpsc::Sender<()> {
    let (release, gate) = mpsc::channel::<()>();
    stream
        .call(Box::new(move || {
            let _ = gate.recv();
            Ok(())
        }))
        .unwrap();
    release
}

#[test]
fn nothing_is_reserved_before_the_first_allocation() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
    assert_eq!(allocator.stats().reserved_bytes.all.current, 0);
    assert!(allocator.snapshot().is_empty());
}

#[test]
fn dropping_a_block_gives_it_back_to_the_cache() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let first = allocator.allocate(1000, None).unwrap();
    let ptr = first.ptr();
    assert_eq!((first.len_bytes(), first.capacity_bytes()), (1000, 1024));
    drop(first);
    assert_eq!(device.memory_info().unwrap().used_bytes, 2 << 20);
    let second = allocator.allocate(900, None).unwrap();
    assert_eq!(second.ptr(), ptr);
    let stats = allocator.stats();
    assert_eq!((stats.cache_hits, stats.cache_misses), (1, 1));
    assert_eq!(stats.segment.small_pool.current, 1);
}

#[test]
fn small_and_large_blocks_come_from_different_segments() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let small = allocator.allocate(1 << 20, None).unwrap();
    let large = allocator.allocate((1 << 20) + 1, None).unwrap();
    let huge = allocator.allocate(25 << 20, None).unwrap();
    let mut totals: Vec<(u64, &str)> = allocator
        .snapshot()
        .iter()
        .map(|segment| (segment.total_bytes >> 20, segment.segment_type))
        .collect();
    totals.sort_unstable();
    assert_eq!(totals, [(2, "small"), (20, "large"), (26, "large")]);
    drop((small, large, huge));
}

#[test]
fn a_block_of_zero_bytes_has_an_address_of_its_own() {
    let allocator = allocator(&cpu(1 << 30));
    let first = allocator.allocate(0, None).unwrap();
    let second = allocator.allocate(0, None).unwrap();
    assert_eq!(first.len_bytes(), 0);
    assert_ne!(first.ptr(), second.ptr());
    first.write_bytes(0, &[], None).unwrap();
    assert!(first.write_bytes(0, &[1], None).is_err());
}

#[test]
fn blocks_of_one_stream_are_not_handed_to_another() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let (first, second) = (
        device.create_stream().unwrap(),
        device.create_stream().unwrap(),
    );
    let block = allocator.allocate(4096, Some(&first)).unwrap();
    let ptr = block.ptr();
    drop(block);
    assert_ne!(allocator.allocate(4096, Some(&second)).unwrap().ptr(), ptr);
    assert_eq!(allocator.allocate(4096, Some(&first)).unwrap().ptr(), ptr);
}

#[test]
fn a_block_used_by_another_stream_waits_for_it() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let guest = device.create_stream().unwrap();
    let block = allocator.allocate(4096, None).unwrap();
    let ptr = block.ptr();
    let release = block_stream(&guest);
    block.record_stream(&guest).unwrap();
    block.record_stream(&guest).unwrap();
    drop(block);
    let stats = allocator.stats();
    assert_eq!(stats.allocation.all.current, 0);
    assert_eq!(stats.active.all.current, 1);
    assert_eq!(
        allocator.snapshot()[0].blocks[0].state,
        BlockState::ActiveAwaitingFree
    );
    let other = allocator.allocate(4096, None).unwrap();
    assert_ne!(other.ptr(), ptr);
    release.send(()).unwrap();
    guest.synchronize().unwrap();
    assert_eq!(allocator.allocate(4096, None).unwrap().ptr(), ptr);
    drop(other);
    assert_eq!(allocator.stats().active.all.current, 0);
}

#[test]
fn host_visible_memory_waits_for_its_own_stream() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let stream = device.create_stream().unwrap();
    for kind in MemoryKind::ALL {
        let block = allocator.allocate_kind(kind, 4096, Some(&stream)).unwrap();
        let ptr = block.ptr();
        let release = block_stream(&stream);
        drop(block);
        let other = allocator.allocate_kind(kind, 4096, Some(&stream)).unwrap();
        assert_ne!(other.ptr(), ptr);
        release.send(()).unwrap();
        stream.synchronize().unwrap();
        let again = allocator.allocate_kind(kind, 4096, Some(&stream)).unwrap();
        assert_eq!(again.ptr(), ptr);
    }
}

#[test]
fn cached_segments_are_given_back_before_out_of_memory() {
    let device = cpu(64 << 20);
    let allocator = allocator(&device);
    drop(allocator.allocate(40 << 20, None).unwrap());
    let block = allocator.allocate(50 << 20, None).unwrap();
    let stats = allocator.stats();
    assert_eq!(stats.num_alloc_retries, 1);
    assert_eq!((stats.num_device_alloc, stats.num_device_free), (2, 1));
    let error = allocator.allocate(30 << 20, None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::OutOfMemory);
    let text = error.to_string();
    for part in [
        "cpu:0",
        "30.00 MiB",
        "50.00 MiB in 1 blocks",
        "of 64.00 MiB",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(allocator.stats().num_ooms, 1);
    drop(block);
    allocator.allocate(30 << 20, None).unwrap();
}

#[test]
fn a_full_device_still_gives_what_is_left() {
    let device = cpu(21 << 20);
    let allocator = allocator(&device);
    // The usual segment of 20 MiB leaves 1 MiB, less than the usual small segment.
    let large = allocator.allocate(2 << 20, None).unwrap();
    let small = allocator.allocate(700 << 10, None).unwrap();
    assert_eq!(
        device.memory_info().unwrap().used_bytes,
        (20 << 20) + (700 << 10)
    );
    drop((large, small));
}

#[test]
fn allocators_of_one_device_give_way_to_each_other() {
    let device = cpu(64 << 20);
    let (first, second) = (allocator(&device), allocator(&device));
    drop(first.allocate(60 << 20, None).unwrap());
    let pinned = second
        .allocate_kind(MemoryKind::PinnedHost, 60 << 20, None)
        .unwrap();
    assert_eq!(first.stats().reserved_bytes.all.current, 0);
    drop(pinned);
}

#[test]
fn absurd_sizes_are_out_of_memory() {
    let allocator = allocator(&cpu(1 << 30));
    for bytes in [u64::MAX, u64::MAX - 511, 1 << 63, 1 << 40] {
        let error = allocator.allocate(bytes, None).unwrap_err();
        assert_eq!(error.code(), ErrorCode::OutOfMemory, "{error}");
    }
}

#[test]
fn empty_cache_returns_what_is_wholly_free() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let kept = allocator.allocate(100, None).unwrap();
    drop(allocator.allocate(30 << 20, None).unwrap());
    drop(
        allocator
            .allocate_kind(MemoryKind::Unified, 100, None)
            .unwrap(),
    );
    assert_eq!(allocator.empty_cache(), (30 << 20) + (2 << 20));
    assert_eq!(allocator.empty_cache(), 0);
    assert_eq!(device.memory_info().unwrap().used_bytes, 2 << 20);
    drop(kept);
}

#[test]
fn trim_takes_the_longest_unused_first() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let blocks: Vec<_> = [12, 14, 16]
        .map(|mebibytes| allocator.allocate(mebibytes << 20, None).unwrap())
        .into_iter()
        .collect();
    for block in blocks {
        drop(block);
    }
    assert_eq!(allocator.trim(1), 12 << 20);
    assert_eq!(allocator.trim(15 << 20), 30 << 20);
}

#[test]
fn garbage_collection_spares_the_small_pool() {
    let device = cpu(100 << 20);
    let options = AllocatorOptions::parse("garbage_collection_threshold:0.5").unwrap();
    let allocator = Allocator::new(Arc::clone(&device), options).unwrap();
    drop(allocator.allocate(100, None).unwrap());
    drop(allocator.allocate(40 << 20, None).unwrap());
    let block = allocator.allocate(42 << 20, None).unwrap();
    assert_eq!(device.memory_info().unwrap().used_bytes, (2 + 42) << 20);
    assert_eq!(allocator.stats().num_alloc_retries, 0);
    drop(block);
}

#[test]
fn blocks_past_the_split_limit_stay_whole() {
    let device = cpu(1 << 30);
    let options = AllocatorOptions::parse("max_split_size_mb:32").unwrap();
    let allocator = Allocator::new(device, options).unwrap();
    let big = allocator.allocate(64 << 20, None).unwrap();
    let ptr = big.ptr();
    assert_eq!(allocator.stats().oversize_segments.current, 1);
    assert_eq!(allocator.stats().oversize_allocations.current, 1);
    drop(big);
    // Too small for it: it would have to be split.
    assert_ne!(allocator.allocate(16 << 20, None).unwrap().ptr(), ptr);
    // Near enough: handed out whole.
    let near = allocator.allocate(60 << 20, None).unwrap();
    assert_eq!((near.ptr(), near.capacity_bytes()), (ptr, 64 << 20));
}

#[test]
fn the_limit_of_the_options_holds() {
    let options = AllocatorOptions {
        limit_bytes: Some(30 << 20),
        ..AllocatorOptions::default()
    };
    let allocator = Allocator::new(cpu(1 << 30), options).unwrap();
    let block = allocator.allocate(20 << 20, None).unwrap();
    let error = allocator.allocate(11 << 20, None).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("this allocator's limit is 30.00 MiB"),
        "{error}"
    );
    drop(block);
    allocator.allocate(11 << 20, None).unwrap();
}

#[test]
fn raw_addresses_are_freed_once() {
    let allocator = allocator(&cpu(1 << 30));
    let ptr = allocator
        .into_raw(allocator.allocate(100, None).unwrap())
        .unwrap();
    assert_eq!(allocator.raw_len_bytes(MemoryKind::Device, ptr), Ok(100));
    assert!(allocator.free_raw(MemoryKind::PinnedHost, ptr).is_err());
    assert!(
        allocator
            .free_raw(MemoryKind::Device, ptr.offset(1))
            .is_err()
    );
    allocator.free_raw(MemoryKind::Device, ptr).unwrap();
    let error = allocator.free_raw(MemoryKind::Device, ptr).unwrap_err();
    assert_eq!(error.code(), ErrorCode::UseAfterFree);
    assert!(allocator.raw_len_bytes(MemoryKind::Device, ptr).is_err());
    assert_eq!(allocator.stats().allocation.all.current, 0);
}

#[test]
fn a_closed_allocator_refuses_and_tells_what_lives() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let kept = allocator.allocate(1000, None).unwrap();
    let pinned = allocator
        .allocate_kind(MemoryKind::PinnedHost, 10, None)
        .unwrap();
    let report = allocator.close().unwrap();
    assert_eq!((report.live_blocks, report.live_bytes), (2, 1024 + 512));
    assert!(allocator.is_closed());
    let error = allocator.allocate(1, None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Closed);
    // What lives is still usable, and goes back to the device at its end.
    kept.write_bytes(0, &[7; 1000], None).unwrap();
    drop((kept, pinned));
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
    assert_eq!(allocator.close().unwrap().live_blocks, 0);
}

#[test]
fn blocks_keep_the_cache_alive() {
    let device = cpu(1 << 30);
    let block = allocator(&device).allocate(1000, None).unwrap();
    block.fill(0, 1000, 3, None).unwrap();
    let mut data = [0; 1000];
    block.read_bytes(0, &mut data, None).unwrap();
    assert_eq!(data, [3; 1000]);
    drop(block);
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
}

#[test]
fn the_last_block_may_be_dropped_inside_a_command() {
    let device = cpu(1 << 30);
    let stream = device.create_stream().unwrap();
    let block = allocator(&device).allocate(1000, Some(&stream)).unwrap();
    stream
        .call(Box::new(move || {
            drop(block);
            Ok(())
        }))
        .unwrap();
    stream.synchronize().unwrap();
    // Waiting was impossible there; the memory goes back when the next allocator is made.
    drop(allocator(&device));
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
}

#[test]
fn commands_may_allocate_while_the_device_is_full() {
    let device = cpu(64 << 20);
    let allocator = allocator(&device);
    let stream = device.create_stream().unwrap();
    drop(allocator.allocate(40 << 20, None).unwrap());
    let (sender, receiver) = mpsc::channel();
    let inside = allocator.clone();
    stream
        .call(Box::new(move || {
            // Making room would mean to wait for this very command.
            sender
                .send(
                    inside
                        .allocate(50 << 20, None)
                        .map(|block| block.len_bytes()),
                )
                .unwrap();
            Ok(())
        }))
        .unwrap();
    let inner = receiver.recv().unwrap();
    assert!(matches!(inner, Err(Error::OutOfMemory(_))));
    stream.synchronize().unwrap();
    allocator.allocate(50 << 20, None).unwrap();
}

#[test]
fn copies_round_trip_and_check_their_bounds() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let stream = device.create_stream().unwrap();
    let first = allocator.allocate(1000, None).unwrap();
    let second = allocator.allocate(1000, Some(&stream)).unwrap();
    let data: Vec<u8> = (0..1000).map(|index| index as u8).collect();
    first.write_bytes(0, &data, None).unwrap();
    second.copy_from(&first, 1000, None).unwrap();
    let mut back = vec![0; 900];
    second.read_bytes(100, &mut back, None).unwrap();
    assert_eq!(back, data[100..]);
    for error in [
        first.write_bytes(1, &data, None).unwrap_err(),
        first.write_bytes(u64::MAX, &data, None).unwrap_err(),
        first.read_bytes(500, &mut back, None).unwrap_err(),
        first.fill(1000, 1, 0, None).unwrap_err(),
        second.copy_from(&first, 1001, None).unwrap_err(),
    ] {
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
        assert!(error.to_string().contains("block of 1000 bytes"), "{error}");
    }
    let elsewhere = registry::open_device("null:gfx1100").unwrap();
    let foreign = Allocator::new(elsewhere, AllocatorOptions::default()).unwrap();
    let foreign = foreign.allocate(1000, None).unwrap();
    let error = foreign.copy_from(&first, 10, None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::WrongDevice);
}

#[test]
fn peaks_can_begin_again() {
    let allocator = allocator(&cpu(1 << 30));
    drop(allocator.allocate(5000, None).unwrap());
    assert_eq!(allocator.stats().allocated_bytes.all.peak, 5120);
    allocator.reset_peak_stats();
    assert_eq!(allocator.stats().allocated_bytes.all.peak, 0);
}

#[test]
fn many_threads_share_one_allocator() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let rounds = if cfg!(debug_assertions) {
        2_000
    } else {
        50_000
    };
    thread::scope(|scope| {
        for thread in 0..8_u8 {
            let allocator = &allocator;
            scope.spawn(move || {
                let mut held = Vec::new();
                for round in 0..rounds {
                    let bytes = 1 + (round * 977 + u64::from(thread) * 131) % 3000;
                    let block = allocator.allocate(bytes, None).unwrap();
                    block.write_bytes(0, &[thread], None).unwrap();
                    held.push(block);
                    if held.len() > 20 {
                        let block = held.swap_remove((round % 20) as usize);
                        let mut mark = [255];
                        block.read_bytes(0, &mut mark, None).unwrap();
                        assert_eq!(mark, [thread]);
                    }
                }
            });
        }
    });
    let stats = allocator.stats();
    assert_eq!(stats.allocation.all.allocated, 8 * rounds);
    assert_eq!(stats.allocation.all.current, 0);
    assert_eq!(stats.allocated_bytes.all.current, 0);
    assert_eq!(stats.cache_hits + stats.cache_misses, 8 * rounds);
    assert_eq!(allocator.empty_cache(), stats.reserved_bytes.all.current);
}

#[test]
fn warm_up_reserves_what_requests_then_find() {
    let device = cpu(1 << 30);
    let allocator = allocator(&device);
    let sizes = [24 << 20, 24 << 20, 4096];
    let reserved = allocator.warm_up(MemoryKind::PinnedHost, &sizes).unwrap();
    assert_eq!(reserved, (48 << 20) + (2 << 20));
    assert_eq!(
        allocator.warm_up(MemoryKind::PinnedHost, &sizes).unwrap(),
        0
    );
    assert_eq!(
        allocator.stats_of(MemoryKind::Device).segment.all.current,
        0
    );
    let before = allocator.stats_of(MemoryKind::PinnedHost);
    let kept = sizes.map(|bytes| {
        allocator
            .allocate_kind(MemoryKind::PinnedHost, bytes, None)
            .unwrap()
    });
    let stats = allocator.stats_of(MemoryKind::PinnedHost);
    assert_eq!(stats.cache_hits - before.cache_hits, 3);
    assert_eq!(stats.cache_misses, before.cache_misses);
    drop(kept);
    assert_eq!(allocator.empty_pool(MemoryKind::Device), 0);
    assert_eq!(allocator.empty_pool(MemoryKind::PinnedHost), reserved);
}

#[test]
fn warm_up_beyond_the_limit_is_out_of_memory_and_keeps_what_it_got() {
    let device = cpu(64 << 20);
    let allocator = allocator(&device);
    let error = allocator
        .warm_up(MemoryKind::Device, &[32 << 20, 64 << 20])
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::OutOfMemory);
    assert_eq!(allocator.stats().allocation.all.current, 0);
}
