//! The choice among the compiled instruction sets, made once per process.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");
const cpu = @import("cpu.zig");
const tiles = @import("tiles.zig");
const kernel_generic = @import("kernel_generic");

const has_x86 = builtin.cpu.arch == .x86_64;
const kernel_avx2 = if (has_x86) @import("kernel_avx2") else kernel_generic;
const kernel_avx512 = if (has_x86) @import("kernel_avx512") else kernel_generic;
const kernel_avx512_dot = if (has_x86) @import("kernel_avx512_dot") else kernel_generic;
const kernel_amx = if (has_x86) @import("kernel_amx") else kernel_generic;

const Format = generic.numbers.Format;
const Table = generic.table.Table;

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

pub fn table(comptime T: type) *const Table(.plain(T)) {
    return tableOf(T, info().instruction_set);
}

/// For an instruction set that this CPU has.
pub fn tableOf(comptime T: type, set: cpu.InstructionSet) *const Table(.plain(T)) {
    const format: Format = if (T == f32) .f32 else .f64;
    return switch (set) {
        .generic => &kernel_generic.Kernel(format).routines,
        .avx2 => &kernel_avx2.Kernel(format).routines,
        .avx512, .avx512_dot, .amx => &kernel_avx512.Kernel(format).routines,
    };
}

/// The numbers and routines of a format whose operands are converted when packed; they depend on the instruction set.
pub fn Packed(comptime format: Format) type {
    return union(enum) {
        simple: *const Table(generic.numbers.simple(format)),
        dotted: *const Table(generic.numbers.dotted(format)),
        tiled: *const Table(generic.numbers.tiled(format)),
    };
}

pub fn packedTable(comptime format: Format, set: cpu.InstructionSet) Packed(format) {
    return switch (set) {
        .generic => .{ .simple = &kernel_generic.Kernel(format).routines },
        .avx2 => .{ .simple = &kernel_avx2.Kernel(format).routines },
        .avx512 => .{ .simple = &kernel_avx512.Kernel(format).routines },
        .avx512_dot => if (has_x86) .{ .dotted = &kernel_avx512_dot.Kernel(format).routines } else unreachable,
        .amx => if (!has_x86) unreachable else if (comptime isTiled(format))
            .{ .tiled = &kernel_amx.Kernel(format).routines }
        else
            .{ .simple = &kernel_avx512.Kernel(format).routines },
    };
}

fn isTiled(format: Format) bool {
    return switch (format) {
        .bf16, .f32_as_bf16, .i8 => true,
        .f32, .f64, .f16, .f32_as_f16 => false,
    };
}

/// Rows and columns of `out`, and steps of the depth, below which tiles are mostly padding.
const least_tile_extent = 8;
const least_tile_depth = 16;

/// For a product whose operands are converted when packed. Depends on its shape alone, never on the number of threads.
pub fn packedSet(rows: usize, columns: usize, depth: usize) cpu.InstructionSet {
    const is_worth_it = @min(rows, columns) >= least_tile_extent and depth >= least_tile_depth;
    return if (is_worth_it and hasTiles()) .amx else info().instruction_set;
}

pub fn hasTiles() bool {
    return info().has_tiles and tiles.areUsable();
}

/// Every instruction set that can be tested here.
pub fn available() []const cpu.InstructionSet {
    const all = [_]cpu.InstructionSet{ .generic, .avx2, .avx512, .avx512_dot, .amx };
    const best: cpu.InstructionSet = if (hasTiles()) .amx else info().instruction_set;
    return all[0 .. @as(usize, @backingInt(best)) + 1];
}
