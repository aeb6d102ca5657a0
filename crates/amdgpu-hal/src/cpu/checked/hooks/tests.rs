//! Every answer that a checked kernel gets from its hooks, without a kernel: a watch made by hand over memory of the test.

use std::ops::Range;

use super::*;
use crate::cpu::cancel::Cancellation;
use crate::cpu::checked::lanes::LaneCounts;
use crate::cpu::checked::shadow::Shadow;
use crate::cpu::checked::targets::Targets;
use crate::cpu::checked::{Array, CountedWork, Counts, Item, OtherMemory, Site, Target};
use std::sync::Arc;

/// Where arrays of the cases lie; nothing is read there.
const ARRAY: u64 = 0x10_0000;
const OTHER: u64 = 0x20_0000;
const FREED: u64 = 0x30_0000;
const SHARED: u64 = 0x40_0000;
const MODULE: u64 = 0x50_0000;

fn site(kind: AccessKind, target: Target) -> Site {
    Site {
        line: 7,
        kind,
        align: 4,
        target,
    }
}

fn array(name: &str, address: u64, bytes: u64) -> Array {
    Array {
        name: name.to_owned(),
        address,
        bytes,
    }
}

/// A watch over an array `a` of 64 bytes and an array `none` at null, in blocks of 4 by 2 work-items.
fn watch(sites: Vec<Site>) -> Watch {
    let module: Range<u64> = MODULE..MODULE + 64;
    let mut targets = Targets::new(
        vec![array("a", ARRAY, 64), array("none", 0, 64)],
        vec![
            OtherMemory {
                address: OTHER,
                bytes: 32,
                is_freed: false,
            },
            OtherMemory {
                address: FREED,
                bytes: 32,
                is_freed: true,
            },
        ],
        48,
        module,
    );
    targets.set_shared(SHARED..SHARED + 128);
    let mut watch = Watch {
        kernel: "k".to_owned(),
        file: "k.hip".to_owned(),
        lanes: LaneCounts::new(sites.len()),
        sites: sites.into(),
        targets,
        shadow: Shadow::default(),
        work: CountedWork::default(),
        counts: Arc::default(),
        block_size: [4, 2, 1],
        grid: [3, 2, 2],
        fault: None,
        others: 0,
        block: 0,
        items: vec![Item::default(); 8],
        barriers: Vec::new(),
        cancellation: Cancellation::current(),
        is_cancelled: false,
        patience: PATIENCE,
    };
    assert!(!watch.begin(0));
    watch
}

fn message(watch: Watch) -> String {
    watch
        .outcome()
        .map_or_else(|error| error.to_string(), |()| String::new())
}

/// What is said of one read, without the place in the source; nothing when it is allowed.
fn said_of(target: Target, address: u64, bytes: u64, base: u64) -> String {
    let mut watch = watch(vec![site(AccessKind::Read, target)]);
    let is_allowed = watch.access(0, address, bytes, base, 0, 6);
    let said = message(watch);
    assert_eq!(is_allowed, said.is_empty(), "{said}");
    let said = said.strip_suffix("; block (0, 0, 0), thread (2, 1, 0), k.hip:7");
    said.map_or_else(String::new, |said| said.replace("k: ", ""))
}

#[test]
fn accesses_of_an_argument_stay_in_its_array() {
    let argument = |offset: i64, bytes| {
        said_of(
            Target::Argument(0),
            ARRAY.wrapping_add_signed(offset),
            bytes,
            0,
        )
    };
    for (offset, bytes) in [(0, 4), (0, 64), (60, 4), (56, 8), (4, 60)] {
        assert_eq!(argument(offset, bytes), "", "{offset}");
    }
    for (offset, bytes) in [(64, 4), (60, 8), (-4, 4), (-4, 8), (0, 65), (1 << 40, 4)] {
        let expected =
            format!("read of {bytes} bytes outside of argument `a` at byte offset {offset} of 64");
        assert_eq!(argument(offset, bytes), expected);
    }
    assert_eq!(
        said_of(Target::Argument(1), 8, 4, 0),
        "read of 4 bytes through a null pointer, argument `none`"
    );
}

#[test]
fn pointers_of_unknown_origin_lead_to_what_the_launch_has() {
    let unknown = |address, bytes| said_of(Target::Unknown, address, bytes, 0);
    let local = 0_u64;
    let on_the_stack = (&raw const local).addr() as u64;
    for address in [
        ARRAY,
        ARRAY + 60,
        OTHER,
        OTHER + 28,
        SHARED,
        SHARED + 124,
        MODULE,
        MODULE + 60,
        on_the_stack,
    ] {
        assert_eq!(unknown(address, 4), "", "{address:#x}");
        assert_eq!(
            said_of(Target::Argument(9), address, 4, 0),
            "",
            "{address:#x}"
        );
    }
    for address in [
        OTHER - 4,
        OTHER + 32,
        SHARED - 4,
        SHARED + 128,
        MODULE - 4,
        MODULE + 64,
        ARRAY - 4,
        u64::MAX - 3,
    ] {
        let expected = format!("read of 4 bytes at {address:#x}, which no array of the launch has");
        assert_eq!(unknown(address, 4), expected);
    }
    for (address, bytes) in [
        (OTHER + 28, 8),
        (SHARED + 124, 8),
        (MODULE + 60, 8),
        (MODULE - 4, 8),
    ] {
        let expected =
            format!("read of {bytes} bytes at {address:#x}, which no array of the launch has");
        assert_eq!(unknown(address, bytes), expected);
    }
    for (address, bytes) in [(FREED, 4), (FREED + 28, 4), (FREED, 32)] {
        let expected = format!("read of {bytes} bytes of memory that was freed");
        assert_eq!(unknown(address, bytes), expected);
    }
    for offset in [64, 60] {
        assert_eq!(
            unknown(ARRAY + offset, 8),
            format!("read of 8 bytes outside of argument `a` at byte offset {offset} of 64")
        );
    }
    for address in [0, 4, 0xfffc] {
        assert_eq!(
            unknown(address, 4),
            "read of 4 bytes through a null pointer"
        );
    }
    assert!(unknown(0x1_0000, 4).contains("which no array of the launch has"));
}

#[test]
fn variables_have_the_size_that_the_source_gives_them() {
    let name = || "tile".to_owned();
    let cases = [
        (
            Target::Private { bytes: 16 },
            16,
            "a variable of the work-item",
        ),
        (
            Target::Shared {
                name: name(),
                bytes: 16,
            },
            16,
            "the shared variable `tile`",
        ),
        (
            Target::Shared {
                name: name(),
                bytes: 0,
            },
            48,
            "the shared variable `tile`",
        ),
        (
            Target::Global {
                name: name(),
                bytes: 32,
            },
            32,
            "the variable `tile`",
        ),
    ];
    for (target, size, text) in cases {
        let base = 0x9000;
        let read = |offset: i64, bytes| {
            said_of(
                target.clone(),
                0x9000_u64.wrapping_add_signed(offset),
                bytes,
                base,
            )
        };
        for offset in [0, 4, size as i64 - 4] {
            assert_eq!(read(offset, 4), "", "{text} {offset}");
        }
        for offset in [-4, size as i64, size as i64 + 4] {
            let expected =
                format!("read of 4 bytes outside of {text} at byte offset {offset} of {size}");
            assert_eq!(read(offset, 4), expected);
        }
        assert!(!read(0, size + 4).is_empty());
        assert_eq!(read(0, size), "");
    }
}

#[test]
fn misaligned_accesses_name_the_place() {
    let base = 0x9000;
    let name = || "tile".to_owned();
    for (target, address, place) in [
        (
            Target::Argument(0),
            ARRAY + 6,
            "argument `a` at byte offset 6",
        ),
        (
            Target::Private { bytes: 16 },
            base + 2,
            "a variable of the work-item at byte offset 2",
        ),
        (
            Target::Shared {
                name: name(),
                bytes: 16,
            },
            base + 1,
            "shared `tile` at byte offset 1",
        ),
        (
            Target::Global {
                name: name(),
                bytes: 16,
            },
            base + 3,
            "variable `tile` at byte offset 3",
        ),
        (
            Target::Unknown,
            SHARED + 2,
            "shared `shared memory` at byte offset 2",
        ),
        (Target::Unknown, OTHER + 2, "memory at 0x200002"),
    ] {
        assert_eq!(
            said_of(target, address, 4, base),
            format!("misaligned read of {place}, which needs a multiple of 4")
        );
    }
}

#[test]
fn the_first_fault_is_told_and_the_others_counted() {
    for (others, text) in [(0, ""), (1, "; 1 other fault"), (2, "; 2 other faults")] {
        let mut watch = watch(vec![site(AccessKind::Write, Target::Argument(0))]);
        watch.block = 11;
        assert!(!watch.access(0, ARRAY + 64, 4, 0, 0, 5));
        for thread in 0..others {
            assert!(!watch.access(0, ARRAY + 80, 4, 0, 0, thread));
        }
        // A work-item ends with its fault, the others go on.
        assert!(!watch.is_going(5, 11) && watch.is_going(6, 11));
        let expected = format!(
            "k: write of 4 bytes outside of argument `a` at byte offset 64 of 64; block (2, 1, 1), thread (1, 1, 0), k.hip:7{text}"
        );
        assert_eq!(message(watch), expected);
    }
}

#[test]
fn work_items_that_are_not_ordered_race() {
    let memory = [5_u32, 6];
    let address = memory.as_ptr().addr() as u64;
    let kinds = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic];
    for first in kinds {
        for second in kinds {
            for (thread, has_barrier) in [(0, false), (1, false), (1, true)] {
                let target = Target::Global {
                    name: "g".to_owned(),
                    bytes: 8,
                };
                let mut watch = watch(vec![site(first, target.clone()), site(second, target)]);
                let before = watch.access(0, address, 4, address, 9, 0);
                assert!(before);
                if has_barrier {
                    for thread in 0..8 {
                        assert!(watch.meeting(20, 0, thread));
                    }
                }
                let races = first != second || first == AccessKind::Write;
                let plain_read_beside_atomic =
                    first != AccessKind::Write && second != AccessKind::Write;
                let expected = thread == 1 && !has_barrier && races && !plain_read_beside_atomic;
                let goes_on = watch.access(1, address, 4, address, 9, thread);
                assert_eq!(
                    goes_on, !expected,
                    "{first:?} {second:?} {thread} {has_barrier}"
                );
                assert!(watch.access(1, address + 4, 4, address, 9, 3));
            }
        }
    }
}

#[test]
fn writing_what_is_there_already_is_no_race() {
    let memory = [0x1122_3344_5566_7788_u64, 0];
    let address = memory.as_ptr().addr() as u64;
    for (bytes, value, is_same) in [
        (1, 0x88, true),
        (1, 0x1_88, true),
        (1, 0x87, false),
        (2, 0x7788, true),
        (2, 0x7688, false),
        (4, 0x5566_7788, true),
        (4, 0x4566_7788, false),
        (8, memory[0], true),
        (8, memory[0] ^ (1 << 63), false),
        (16, memory[0], false),
    ] {
        let target = Target::Global {
            name: "g".to_owned(),
            bytes: 16,
        };
        let mut watch = watch(vec![site(AccessKind::Write, target)]);
        assert!(watch.access(0, address, bytes, address, value, 0));
        let goes_on = watch.access(0, address, bytes, address, value, 1);
        assert_eq!(goes_on, is_same, "{bytes} {value:#x}");
        let said = message(watch);
        assert_eq!(
            said.contains("race: write of variable `g` at byte offset 0, after the write of block (0, 0, 0), thread (0, 0, 0) in line 7"),
            !is_same,
            "{said}"
        );
    }
}

#[test]
fn barriers_are_met_in_the_same_order_by_all() {
    let mut one = watch(Vec::new());
    for line in [10, 20, 10] {
        for thread in 0..8 {
            assert!(one.meeting(line, 0, thread));
        }
    }
    assert!(one.meeting(30, 0, 0));
    assert!(!one.meeting(31, 0, 1));
    assert!(
        message(one).starts_with("k: this barrier, while other work-items of the block wait in line 30; block (0, 0, 0), thread (1, 0, 0), k.hip:31")
    );
    // The next block begins anew.
    let mut next = watch(Vec::new());
    assert!(next.meeting(30, 0, 0));
    assert!(!next.begin(1));
    assert!(next.meeting(31, 0, 1));
    assert_eq!(message(next), "");
}

#[test]
fn faults_have_the_codes_of_the_catalogue() {
    use crate::Error;
    use amdgpu_abi::{Coded, ErrorCode};
    let code = |watch: Watch| watch.outcome().map_err(|error| error.code());
    let target = Target::Argument(0);
    let mut outside = watch(vec![site(AccessKind::Atomic, target)]);
    assert!(!outside.access(0, ARRAY + 64, 4, 0, 0, 0));
    assert_eq!(code(outside), Err(ErrorCode::MemoryFault));
    let mut divergent = watch(Vec::new());
    assert!(divergent.meeting(1, 0, 0) && !divergent.meeting(2, 0, 1));
    assert_eq!(code(divergent), Err(ErrorCode::DivergentBarrier));
    let memory = 5_u32;
    let address = (&raw const memory).addr() as u64;
    let global = Target::Global {
        name: "g".to_owned(),
        bytes: 4,
    };
    let mut racing = watch(vec![site(AccessKind::Write, global)]);
    assert!(racing.access(0, address, 4, address, 1, 0));
    assert!(!racing.access(0, address, 4, address, 1, 1));
    assert_eq!(code(racing), Err(ErrorCode::DataRace));
    let mut stopped = watch(Vec::new());
    stopped.is_cancelled = true;
    assert!(!stopped.is_going(0, 0) && stopped.begin(1));
    assert_eq!(code(stopped), Err(Error::cancelled().code()));
}

#[test]
fn bytes_of_global_memory_are_counted_and_those_of_the_block_are_not() {
    let memory = [0_u64; 2];
    let address = memory.as_ptr().addr() as u64;
    let global = |kind| {
        let name = "g".to_owned();
        site(kind, Target::Global { name, bytes: 16 })
    };
    let shared = Target::Shared {
        name: "s".to_owned(),
        bytes: 16,
    };
    let counts = Arc::new(Counts::default());
    let mut watch = watch(vec![
        global(AccessKind::Read),
        global(AccessKind::Atomic),
        site(AccessKind::Read, shared),
        site(AccessKind::Read, Target::Private { bytes: 16 }),
    ]);
    watch.counts = Arc::clone(&counts);
    for number in 0..4 {
        assert!(watch.access(number, address, 4, address, 0, 0));
    }
    assert!(!watch.access(9, address, 4, address, 0, 0));
    assert_eq!(message(watch), "");
    let newest = counts.newest();
    assert_eq!(
        newest.map(|work| (work.bytes, work.work_items, work.operations)),
        Some((12, 96, 0))
    );
}
