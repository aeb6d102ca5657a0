//! Whether AMX may be used: the operating system is asked for the tile registers, and a small matmul is compared with plain loops.
//!
//! This is asked when the first matmul wants them and not when the library is loaded: with the permission every alternate signal stack of the
//! process must have room for the tile registers (8 KiB), and a process without such matmuls should not pay for that.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");

const Format = generic.numbers.Format;

const State = enum(u8) { unknown, asking, usable, refused };
var state: std.atomic.Value(State) = .init(.unknown);

/// May be asked on a CPU that has the instructions. The answer is the same for the whole life of the process and its forks.
pub fn areUsable() bool {
    if (builtin.cpu.arch != .x86_64 or builtin.os.tag != .linux) return false;
    if (state.cmpxchgStrong(.unknown, .asking, .acquire, .acquire) == null) {
        state.store(if (isPermitted() and areCorrect()) .usable else .refused, .release);
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

fn areCorrect() bool {
    inline for (.{ Format.bf16, Format.i8 }) |format| {
        if (!isCorrect(format)) {
            const message = "amdgpu: this CPU's AMX multiplies " ++ @tagName(format) ++ " matrices wrongly; AVX-512 is used instead\n";
            _ = std.os.linux.write(2, message, message.len);
            return false;
        }
    }
    return true;
}

/// One pair of panels, ragged along k, of small whole numbers: every sum is exact, in any order.
fn isCorrect(comptime format: Format) bool {
    const numbers = comptime generic.numbers.tiled(format);
    const Source = numbers.Source;
    const Sum = numbers.Sum;
    const extent = 2 * generic.numbers.tile_words;
    const k = generic.numbers.tile_words * numbers.group + 3;
    const table = generic.linked_table.find(generic.table.Table(numbers), "gemm", "amx", @tagName(format));
    const panel_words = comptime generic.pack.panelWords(numbers, extent, k, generic.numbers.tile_words);

    var values: [2][extent * k]Sum = undefined;
    var sources: [2][extent * k]Source = undefined;
    for (&values, &sources, [_]usize{ 37, 53 }) |*of_values, *of_sources, factor| {
        for (of_values, of_sources, 0..) |*value, *source, index| {
            const number: i8 = @intCast(@as(isize, @intCast(index * factor % 31)) - 15);
            value.* = if (Sum == f32) @floatFromInt(number) else number;
            // The upper half of a single: exact for numbers of so few bits.
            source.* = if (Source == u16) @intCast(@as(u32, @bitCast(@as(f32, @floatFromInt(number)))) >> 16) else number;
        }
    }
    var panels: [2][panel_words]u32 align(64) = undefined;
    // Lines of `a` are adjacent in memory, steps of `b` are: this takes both ways of packing.
    table.pack_a(&.{ .source = .{ .ptr = &sources[0], .across = 1, .along = extent }, .width = extent, .k = k, .target = &panels[0] });
    table.pack_b(&.{ .source = .{ .ptr = &sources[1], .across = k, .along = 1 }, .width = extent, .k = k, .target = &panels[1] });
    var out: [extent * extent]Sum = undefined;
    table.block(&.{
        .k = numbers.words(k),
        .m = extent,
        .n = extent,
        .a = &panels[0],
        .a_panel = 0,
        .b = &panels[1],
        .b_panel = 0,
        .out = &out,
        .out_row = 1,
        .out_column = extent,
        .alpha = 1,
        .beta = 0,
    });
    for (0..extent) |column| for (0..extent) |row| {
        var expected: Sum = 0;
        for (0..k) |step| expected += values[0][step * extent + row] * values[1][column * k + step];
        if (out[column * extent + row] != expected) return false;
    };
    return true;
}
