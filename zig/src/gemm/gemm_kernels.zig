//! The choice among the compiled instruction sets, made once per process.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");
const cpu = @import("../simd/cpu.zig");
const tiles = @import("tiles.zig");

const has_x86 = builtin.cpu.arch == .x86_64;

const Format = generic.numbers.Format;
const Numbers = generic.numbers.Numbers;
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

/// The table of an instruction set that this CPU has.
pub fn tableOf(comptime T: type, set: cpu.InstructionSet) *const Table(.plain(T)) {
    const format: Format = if (T == f32) .f32 else .f64;
    return switch (set) {
        .generic => linked(.plain(T), "generic", format),
        .avx2 => if (has_x86) linked(.plain(T), "avx2", format) else unreachable,
        .avx512, .avx512_dot, .amx => if (has_x86) linked(.plain(T), "avx512", format) else unreachable,
    };
}

fn linked(comptime numbers: Numbers, comptime set: []const u8, comptime format: Format) *const Table(numbers) {
    return generic.linked_table.find(Table(numbers), "gemm", set, @tagName(format));
}

/// The routines of tile registers for a format that has instructions.
pub fn tiledTable(comptime format: Format) *const Table(generic.numbers.tiled(format)) {
    return linked(generic.numbers.tiled(format), "amx", format);
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
    const simple = comptime generic.numbers.simple(format);
    if (set == .generic) return .{ .simple = linked(simple, "generic", format) };
    if (!has_x86) unreachable;
    return switch (set) {
        .generic => unreachable,
        .avx2 => .{ .simple = linked(simple, "avx2", format) },
        .avx512 => .{ .simple = linked(simple, "avx512", format) },
        .avx512_dot => .{ .dotted = linked(comptime generic.numbers.dotted(format), "avx512_dot", format) },
        .amx => if (comptime isTiled(format)) .{ .tiled = tiledTable(format) } else .{ .simple = linked(simple, "avx512", format) },
    };
}

fn isTiled(comptime format: Format) bool {
    return std.mem.indexOfScalar(Format, &generic.numbers.tiled_formats, format) != null;
}

/// Rows and columns of `out`, and steps along k, below which tiles are mostly padding.
const least_tile_extent = 8;
const least_tile_k = 16;

/// The instruction set of a matmul whose operands are converted when packed. Depends on its shape alone, never on the number of threads.
pub fn packedSet(rows: usize, columns: usize, k: usize) cpu.InstructionSet {
    const is_worth_it = @min(rows, columns) >= least_tile_extent and k >= least_tile_k;
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
