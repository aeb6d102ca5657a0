//! The choice among the instruction sets that the tensor operations are compiled for.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");
const cpu = @import("../simd/cpu.zig");
const kernels = @import("../gemm/gemm_kernels.zig");

const has_x86 = builtin.cpu.arch == .x86_64;

pub fn table(comptime T: type) *const generic.tensor_table.Table(T) {
    return tableOf(T, kernels.info().instruction_set);
}

/// The table of an instruction set that this CPU has.
pub fn tableOf(comptime T: type, set: cpu.InstructionSet) *const generic.tensor_table.Table(T) {
    return switch (set) {
        .generic => linked(T, "generic"),
        .avx2 => if (has_x86) linked(T, "avx2") else unreachable,
        .avx512, .avx512_dot, .amx => if (has_x86) linked(T, "avx512") else unreachable,
    };
}

fn linked(comptime T: type, comptime set: []const u8) *const generic.tensor_table.Table(T) {
    return generic.linked_table.find(generic.tensor_table.Table(T), "tensor", set, @typeName(T));
}

/// The routines for type T of the same instruction set that `like` belongs to.
pub fn tableLike(comptime T: type, comptime Like: type, like: *const generic.tensor_table.Table(Like)) *const generic.tensor_table.Table(T) {
    if (T == Like) return like;
    inline for (comptime std.enums.values(cpu.InstructionSet)) |set| {
        if (tableOf(Like, set) == like) return tableOf(T, set);
    }
    unreachable;
}
