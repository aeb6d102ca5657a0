//! What a forked child sees of an allocator that its parent made. Alone in its process, because a fork copies only the calling thread.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use amdgpu_abi::{Coded, ErrorCode};
use amdgpu_hal::registry;
use amdgpu_memory::{Allocator, AllocatorOptions, Block, Result};

fn is_forked<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| error.code() == ErrorCode::Forked)
}

/// The number of the first check that fails, 0 for none.
fn child_checks(allocator: &Allocator, block: &Block) -> i32 {
    let fresh = registry::open_device("cpu:0")
        .map_err(Into::into)
        .and_then(|device| Allocator::new(device, AllocatorOptions::default()))
        .and_then(|allocator| allocator.allocate(100, None));
    let checks = [
        is_forked(allocator.allocate(100, None)),
        is_forked(block.write_bytes(0, &[1], None)),
        is_forked(block.record_stream(allocator.device().default_stream())),
        is_forked(allocator.close()),
        allocator.empty_cache() == 0,
        fresh.is_ok(),
    ];
    checks
        .iter()
        .position(|passed| !passed)
        .map_or(0, |index| index as i32 + 1)
}

#[test]
fn a_forked_child_gets_errors_instead_of_hanging() {
    let device = registry::open_device("cpu:0").unwrap();
    let allocator = Allocator::new(Arc::clone(&device), AllocatorOptions::default()).unwrap();
    let block = allocator.allocate(100, None).unwrap();
    // SAFETY: the child only uses what is promised to work after a fork, and leaves by _exit.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let failed = child_checks(&allocator, &block);
        drop(block);
        drop(allocator);
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(failed) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status));
    assert_eq!(libc::WEXITSTATUS(status), 0, "number of the failed check");
    drop(block);
    assert_eq!(allocator.close().unwrap().live_blocks, 0);
    assert_eq!(device.memory_info().unwrap().used_bytes, 0);
}
