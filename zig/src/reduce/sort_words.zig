//! The choice among the ways to sort words whose order among equal ones nobody sees: with vectors where the CPU has the instructions, else by digits.

const builtin = @import("builtin");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const Table = @import("sort_table.zig").Table;

/// The routines of this CPU for words of a type, where there are any.
pub fn routines(comptime W: type) ?*const Table(W) {
    if (builtin.cpu.arch != .x86_64 or (W != u32 and W != u64)) return null;
    return switch (kernels.info().instruction_set) {
        .generic, .avx2 => null,
        .avx512, .avx512_dot, .amx => generic.linked_table.find(Table(W), "sort", "avx512", @typeName(W)),
    };
}
