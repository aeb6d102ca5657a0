//! The choice among the compiled instruction sets, made once per process.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");
const cpu = @import("cpu.zig");
const kernel_generic = @import("kernel_generic");

const has_x86 = builtin.cpu.arch == .x86_64;
const kernel_avx2 = if (has_x86) @import("kernel_avx2") else kernel_generic;
const kernel_avx512 = if (has_x86) @import("kernel_avx512") else kernel_generic;

const State = enum(u8) { unknown, filling, known };
var state: std.atomic.Value(State) = .init(.unknown);
var detected: cpu.Info = undefined;

pub fn info() *const cpu.Info {
    if (state.load(.acquire) != .known) detectOnce();
    return &detected;
}

fn detectOnce() void {
    if (state.cmpxchgStrong(.unknown, .filling, .acquire, .acquire) == null) {
        detected = cpu.detect();
        state.store(.known, .release);
        return;
    }
    while (state.load(.acquire) != .known) std.atomic.spinLoopHint();
}

pub fn table(comptime T: type) *const generic.table.Table(T) {
    return tableOf(T, info().instruction_set);
}

/// For an instruction set that this CPU has.
pub fn tableOf(comptime T: type, set: cpu.InstructionSet) *const generic.table.Table(T) {
    return switch (set) {
        .generic => &kernel_generic.Kernel(T).routines,
        .avx2 => &kernel_avx2.Kernel(T).routines,
        .avx512 => &kernel_avx512.Kernel(T).routines,
    };
}

/// Every instruction set that can be tested here.
pub fn available() []const cpu.InstructionSet {
    const all = [_]cpu.InstructionSet{ .generic, .avx2, .avx512 };
    return all[0 .. @as(usize, @backingInt(info().instruction_set)) + 1];
}
