//! Sub-allocation through the Zig library. Skipped, with the reason, where the library was not built.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use amdgpu_abi::{Coded, ErrorCode, Language};
use amdgpu_hal::registry;
use amdgpu_memory::{Allocator, AllocatorOptions, Error, Strategy, SubBlock, SubPool};

const CAPACITY_BYTES: u64 = 1 << 20;

/// A divided megabyte; `None` without the library.
fn pool(strategy: Strategy, min_block_bytes: u64) -> Option<(Allocator, SubPool)> {
    let device = registry::open_device("cpu:0").unwrap();
    let allocator = Allocator::new(device, AllocatorOptions::default()).unwrap();
    let block = allocator.allocate(CAPACITY_BYTES, None).unwrap();
    match SubPool::new(block, strategy, min_block_bytes) {
        Ok(pool) => Some((allocator, pool)),
        Err(Error::Library {
            code: ErrorCode::LibraryMissing,
            message,
        }) => {
            println!("skipped: {message}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn pieces_lie_inside_their_block_and_apart() {
    for strategy in Strategy::ALL {
        let Some((_allocator, pool)) = pool(strategy, 1024) else {
            return;
        };
        let pieces: Vec<SubBlock> = (0..100)
            .map(|index| pool.allocate(1 + index * 10, 64).unwrap())
            .collect();
        let mut ranges: Vec<(u64, u64)> = pieces
            .iter()
            .map(|piece| {
                (
                    piece.offset_bytes(),
                    piece.offset_bytes() + piece.len_bytes(),
                )
            })
            .collect();
        ranges.sort_unstable();
        assert!(
            ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0),
            "{strategy:?}"
        );
        assert!(ranges.last().unwrap().1 <= CAPACITY_BYTES);
        for piece in &pieces {
            assert_eq!(piece.ptr(), pool.block().ptr().offset(piece.offset_bytes()));
            assert!(piece.ptr().address().is_multiple_of(64));
        }
        assert_eq!(pool.stats().unwrap().live_blocks, 100);
        drop(pieces);
        let stats = pool.stats().unwrap();
        assert_eq!(
            (stats.live_blocks, stats.used_bytes),
            (0, 0),
            "{strategy:?}"
        );
        assert_eq!((stats.allocations_total, stats.frees_total), (100, 100));
        assert!(stats.peak_used_bytes >= 100 * 500);
    }
}

#[test]
fn a_full_pool_is_an_error_of_the_zig_library_and_stays_usable() {
    for strategy in Strategy::ALL {
        let Some((_allocator, pool)) = pool(strategy, 4096) else {
            return;
        };
        let mut pieces = Vec::new();
        let error = loop {
            match pool.allocate(4096, 64) {
                Ok(piece) => pieces.push(piece),
                Err(error) => break error,
            }
        };
        assert_eq!(pieces.len() as u64, CAPACITY_BYTES / 4096, "{strategy:?}");
        assert_eq!(error.code(), ErrorCode::OutOfMemory);
        assert_eq!(error.language(), Language::Zig);
        assert!(error.to_string().contains("4096"), "{error}");
        drop(pieces.pop());
        pool.allocate(4096, 64).unwrap();
    }
}

#[test]
fn pieces_keep_the_block_alive() {
    let Some((allocator, pool)) = pool(Strategy::Buddy, 512) else {
        return;
    };
    let piece = pool.allocate(100, 8).unwrap();
    drop(pool);
    assert_eq!(allocator.stats().allocation.all.current, 1);
    drop(piece);
    assert_eq!(allocator.stats().allocation.all.current, 0);
}

#[test]
fn arguments_are_checked_by_the_library() {
    let Some((_allocator, pool)) = pool(Strategy::Buddy, 512) else {
        return;
    };
    for (bytes, align_bytes) in [(0, 8), (8, 3)] {
        let error = pool.allocate(bytes, align_bytes).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error}");
    }
    let (allocator, _pool) = self::pool(Strategy::Buddy, 512).unwrap();
    let block = allocator.allocate(1000, None).unwrap();
    let error = SubPool::new(block, Strategy::Buddy, 100).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error}");
    assert_eq!(
        allocator.stats().allocation.all.current,
        1,
        "the refused block went back"
    );
}

#[test]
fn many_threads_share_one_pool() {
    for strategy in [Strategy::Slab, Strategy::Buddy] {
        let Some((_allocator, pool)) = pool(strategy, 512) else {
            return;
        };
        let pool = Arc::new(pool);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..2_000_u64 {
                        let pieces: Vec<_> = (0..8)
                            .map(|_| pool.allocate(1 + round % 512, 8).unwrap())
                            .collect();
                        drop(pieces);
                    }
                });
            }
        });
        let stats = pool.stats().unwrap();
        assert_eq!((stats.live_blocks, stats.frees_total), (0, 64_000));
    }
}
