//! What the strategies have in common.

const std = @import("std");

/// Bookkeeping lives in host memory; the managed range is never touched.
pub const metadata_allocator = std.heap.page_allocator;

pub const CreateError = error{ OutOfMemory, TooManyBlocks };
/// `NoFit`: the range has no such block. `NoMetadata`: the host has no memory for bookkeeping.
pub const AllocateError = error{ NoFit, NoMetadata };
pub const FreeError = error{NotLive};

pub const Grant = struct { offset: u64, bytes: u64 };

/// Fresh pages are zero and cost memory only once touched, so that a bitmap over a large range is cheap until it is used.
pub fn allocateZeroed(words: usize) error{OutOfMemory}![]u64 {
    const ptr = metadata_allocator.rawAlloc(words * @sizeOf(u64), .of(u64), @returnAddress()) orelse return error.OutOfMemory;
    const aligned: [*]u64 = @ptrCast(@alignCast(ptr));
    return aligned[0..words];
}

pub fn freeZeroed(words: []u64) void {
    metadata_allocator.rawFree(std.mem.sliceAsBytes(words), .of(u64), @returnAddress());
}
