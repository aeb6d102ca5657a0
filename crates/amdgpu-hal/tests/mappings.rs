//! Large memory of the CPU device comes from the system and goes back to it. One test, alone in its process: the address space belongs to all
//! of it.

#![allow(clippy::unwrap_used)]

use amdgpu_hal::{MemoryKind, registry};

/// From this size on memory is mapped, at a multiple of it.
const HUGE_PAGE_BYTES: u64 = 2 << 20;
const BLOCKS: u64 = 32;
/// What the program itself may map meanwhile.
const SLACK_BYTES: u64 = 1 << 20;

/// Address space of this process.
fn mapped_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: reads a constant of the system.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

#[test]
fn what_is_mapped_is_what_was_asked_for_and_is_given_back() {
    let device = registry::open_device("cpu:0").unwrap();
    let mut blocks = Vec::with_capacity(BLOCKS as usize);
    for bytes in [
        HUGE_PAGE_BYTES,
        HUGE_PAGE_BYTES + 1,
        (3 << 20) + 4097,
        (16 << 20) - 1,
    ] {
        let before = mapped_bytes();
        for _ in 0..BLOCKS {
            blocks.push(device.allocate(bytes, MemoryKind::Device).unwrap());
        }
        let grown = mapped_bytes() - before;
        let asked = BLOCKS * bytes.next_multiple_of(4096);
        assert!(
            (asked..=asked + SLACK_BYTES).contains(&grown),
            "{bytes}: {grown} for {asked}"
        );
        for ptr in blocks.drain(..) {
            // SAFETY: live, unused and freed once.
            unsafe { device.free(ptr, bytes, MemoryKind::Device) }.unwrap();
        }
        let left = mapped_bytes().saturating_sub(before);
        assert!(left <= SLACK_BYTES, "{bytes}: {left} are left");
    }
}
