//! Host memory in huge pages through the Zig library. Skipped, with the reason, where the library was not built.

#![allow(clippy::unwrap_used)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_memory::{Error, HostBlock, HostMemoryStats, host_memory_stats};

/// The accounts are those of the process: tests that compare them take turns.
static TURN: Mutex<()> = Mutex::new(());

/// The accounts at the beginning; `None` without the library.
fn begin() -> Option<(MutexGuard<'static, ()>, HostMemoryStats)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match host_memory_stats() {
        Ok(stats) => Some((turn, stats)),
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

fn held(stats: &HostMemoryStats) -> u64 {
    stats.plain_bytes + stats.advised_bytes + stats.pool_bytes
}

#[test]
fn blocks_are_whole_huge_pages_and_counted_until_dropped() {
    let Some((_turn, before)) = begin() else {
        return;
    };
    let blocks: Vec<_> = [1, 2 << 20, (2 << 20) + 1]
        .map(|bytes| HostBlock::allocate(bytes).unwrap())
        .into();
    let mut total = 0;
    for (block, pages) in blocks.iter().zip([1, 1, 2]) {
        assert_eq!(block.len_bytes(), pages * (2 << 20));
        assert_eq!(block.data().as_ptr().addr() % (2 << 20), 0);
        total += block.len_bytes();
        // SAFETY: the block has that many bytes, and nobody else knows of it.
        unsafe {
            let last = block.data().add(block.len_bytes() as usize - 1);
            assert_eq!(last.read(), 0);
            last.write(7);
        }
    }
    let now = host_memory_stats().unwrap();
    assert_eq!(held(&now) - held(&before), total);
    assert_eq!(now.allocations_total - before.allocations_total, 3);
    drop(blocks);
    let after = host_memory_stats().unwrap();
    assert_eq!(held(&after), held(&before));
    assert_eq!(after.frees_total - before.frees_total, 3);
}

#[test]
fn more_than_the_host_has_is_an_error_that_leaks_nothing() {
    let Some((_turn, before)) = begin() else {
        return;
    };
    for bytes in [1 << 60, u64::MAX] {
        let error = HostBlock::allocate(bytes).unwrap_err();
        assert_eq!(error.code(), ErrorCode::OutOfMemory);
    }
    assert_eq!(
        HostBlock::allocate(0).unwrap_err().code(),
        ErrorCode::InvalidArgument
    );
    let after = host_memory_stats().unwrap();
    assert_eq!(held(&after), held(&before));
    assert_eq!(after.failures_total - before.failures_total, 2);
}

#[test]
fn threads_that_allocate_write_and_free_never_meet() {
    let Some((_turn, before)) = begin() else {
        return;
    };
    std::thread::scope(|scope| {
        for id in 1..=4_u8 {
            scope.spawn(move || {
                for round in 0..50 {
                    let block = HostBlock::allocate(1 + round * 70_000).unwrap();
                    let len = block.len_bytes() as usize;
                    // SAFETY: the block has `len` bytes, and nobody else knows of it.
                    unsafe {
                        for at in (0..len).step_by(4096) {
                            block.data().add(at).write(id);
                        }
                        for at in (0..len).step_by(4096) {
                            assert_eq!(block.data().add(at).read(), id);
                        }
                    }
                }
            });
        }
    });
    let after = host_memory_stats().unwrap();
    assert_eq!(held(&after), held(&before));
    assert_eq!(after.allocations_total - before.allocations_total, 200);
    assert_eq!(after.frees_total - before.frees_total, 200);
}
