//! Whether AMX may be used: the operating system is asked for the tile registers, and a small product is compared with plain loops.
//!
//! Asked when the first product wants them, not when the library is loaded: with the permission every alternate signal stack of the process
//! must have room for the tile registers (8 KiB), and a process without such products should not pay.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");

const Format = generic.numbers.Format;
const kernel_amx = if (builtin.cpu.arch == .x86_64) @import("kernel_amx") else struct {};

const State = enum(u8) { unknown, asking, usable, refused };
var state: std.atomic.Value(State) = .init(.unknown);

/// For a CPU that has the instructions. The same answer for the whole life of the process, forks of it included.
pub fn areUsable() bool {
    if (builtin.cpu.arch != .x86_64 or builtin.os.tag != .linux) return false;
    if (state.cmpxchgStrong(.unknown, .asking, .acquire, .acquire) == null) {
        state.store(if (isPermitted() and areRight()) .usable else .refused, .release);
    }
    while (true) {
        switch (state.load(.acquire)) {
            .usable => return true,
            .refused => return false,
            .unknown, .asking => std.atomic.spinLoopHint(),
        }
    }
}

/// Linux, Documentation/arch/x86/xstate.rst: for all threads of the process, those that run already included.
fn isPermitted() bool {
    const request_permission = 0x1023;
    const tile_data = 18;
    return std.os.linux.syscall2(.arch_prctl, request_permission, tile_data) == 0;
}

fn areRight() bool {
    inline for (.{ Format.bf16, Format.i8 }) |format| {
        if (!isRight(format)) {
            const message = "amdgpu: this CPU's AMX gives wrong products of " ++ @tagName(format) ++ "; AVX-512 is used instead\n";
            _ = std.os.linux.write(2, message, message.len);
            return false;
        }
    }
    return true;
}

/// One pair of panels, ragged along the depth, of small whole numbers: every sum is exact, in any order.
fn isRight(comptime format: Format) bool {
    const numbers = comptime generic.numbers.tiled(format);
    const Source = numbers.Source;
    const Sum = numbers.Sum;
    const extent = 2 * generic.numbers.tile_words;
    const depth = generic.numbers.tile_words * numbers.group + 3;
    const table = &kernel_amx.Kernel(format).routines;
    const panel_words = comptime generic.pack.panelWords(numbers, extent, depth, generic.numbers.tile_words);

    var values: [2][extent * depth]Sum = undefined;
    var sources: [2][extent * depth]Source = undefined;
    for (&values, &sources, [_]usize{ 37, 53 }) |*of_values, *of_sources, factor| {
        for (of_values, of_sources, 0..) |*value, *source, index| {
            const number: i8 = @intCast(@as(isize, @intCast(index * factor % 31)) - 15);
            value.* = if (Sum == f32) @floatFromInt(number) else number;
            // The upper half of a single: exact for numbers of so few bits.
            source.* = if (Source == u16) @intCast(@as(u32, @bitCast(@as(f32, @floatFromInt(number)))) >> 16) else number;
        }
    }
    var panels: [2][panel_words]u32 align(64) = undefined;
    // Lines adjacent in memory on the left, steps on the right: both ways of packing.
    table.pack_left(&.{ .source = .{ .ptr = &sources[0], .across = 1, .along = extent }, .width = extent, .depth = depth, .target = &panels[0] });
    table.pack_right(&.{ .source = .{ .ptr = &sources[1], .across = depth, .along = 1 }, .width = extent, .depth = depth, .target = &panels[1] });
    var out: [extent * extent]Sum = undefined;
    table.block(&.{
        .depth = numbers.words(depth),
        .rows = extent,
        .columns = extent,
        .left = &panels[0],
        .left_panel = 0,
        .right = &panels[1],
        .right_panel = 0,
        .out = &out,
        .out_row = 1,
        .out_column = extent,
        .alpha = 1,
        .beta = 0,
    });
    for (0..extent) |column| for (0..extent) |row| {
        var expected: Sum = 0;
        for (0..depth) |step| expected += values[0][step * extent + row] * values[1][column * depth + step];
        if (out[column * extent + row] != expected) return false;
    };
    return true;
}
