//! The choice among the instruction sets that the tensor operations are compiled for.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");
const cpu = @import("cpu.zig");
const kernels = @import("kernels.zig");
const tensor_generic = @import("tensor_generic");

const has_x86 = builtin.cpu.arch == .x86_64;
const tensor_avx2 = if (has_x86) @import("tensor_avx2") else tensor_generic;
const tensor_avx512 = if (has_x86) @import("tensor_avx512") else tensor_generic;

pub fn table(comptime T: type) *const generic.tensor_table.Table(T) {
    return tableOf(T, kernels.info().instruction_set);
}

/// For an instruction set that this CPU has.
pub fn tableOf(comptime T: type, set: cpu.InstructionSet) *const generic.tensor_table.Table(T) {
    return switch (set) {
        .generic => &tensor_generic.Kernel(T).routines,
        .avx2 => &tensor_avx2.Kernel(T).routines,
        .avx512, .avx512_dot, .amx => &tensor_avx512.Kernel(T).routines,
    };
}

/// Of type T what `like` is of another type: the routines of the same instruction set.
pub fn tableLike(comptime T: type, comptime Like: type, like: *const generic.tensor_table.Table(Like)) *const generic.tensor_table.Table(T) {
    if (T == Like) return like;
    inline for (comptime std.enums.values(cpu.InstructionSet)) |set| {
        if (tableOf(Like, set) == like) return tableOf(T, set);
    }
    unreachable;
}
