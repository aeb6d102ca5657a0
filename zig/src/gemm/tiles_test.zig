//! Matmuls by AMX. Packing needs AVX-512 alone and is tested on any CPU that has it; the rest says why it is skipped.

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");
const cases = @import("converted_test.zig");
const converted = @import("converted.zig");
const kernels = @import("gemm_kernels.zig");
const support = @import("../tensor/test_support.zig");

const Format = generic.numbers.Format;

const extent = generic.numbers.tile_words;
const lines = 2 * extent;
const formats = .{ Format.bf16, Format.f32_as_bf16, Format.i8 };

fn skipWithoutTiles() !void {
    if (kernels.hasTiles()) return;
    std.debug.print("skipped: this CPU has no AMX, or the operating system gives no tile registers\n", .{});
    return error.SkipZigTest;
}

fn sumOfWord(comptime format: Format, a_word: u32, b_word: u32) f64 {
    var sum: f64 = 0;
    if (format == .i8) {
        const a: [4]i8 = @bitCast(a_word);
        const b: [4]i8 = @bitCast(b_word);
        for (a, b) |x, y| sum += @floatFromInt(@as(i32, x) * y);
    } else {
        const a: [2]u16 = @bitCast(a_word);
        const b: [2]u16 = @bitCast(b_word);
        for (a, b) |x, y| sum += @as(f64, converted.widenBfloat(x)) * converted.widenBfloat(y);
    }
    return sum;
}

fn valueOf(comptime format: Format, source: cases.SourceOf(format)) f64 {
    return switch (format) {
        .bf16 => converted.widenBfloat(source),
        .f32_as_bf16 => converted.widenBfloat(converted.roundBfloat(source)),
        else => @floatFromInt(source),
    };
}

/// Multiplies packed panels with plain loops, reading them as tile registers do.
fn expectPanels(comptime format: Format, rng: std.Random, width: usize, k: usize) !void {
    const numbers = comptime generic.numbers.tiled(format);
    const Source = numbers.Source;
    const allocator = std.testing.allocator;
    const table = kernels.tiledTable(format);
    const words = numbers.words(k);
    try std.testing.expect(words % extent == 0);
    const panel_words = generic.pack.panelWords(numbers, lines, k, extent);
    var sources: [2][]Source = undefined;
    var panels: [2][]u32 = undefined;
    for (&sources) |*source| source.* = try allocator.alloc(Source, width * k);
    defer for (sources) |source| allocator.free(source);
    for (&panels) |*panel| panel.* = try allocator.alloc(u32, panel_words);
    defer for (panels) |panel| allocator.free(panel);
    for (sources) |source| cases.fill(format, rng, source);
    // What a panel held before must not be seen.
    for (panels) |panel| @memset(panel, 0x7fc1_7fc1);
    var views: [2]generic.table.View(Source) = undefined;
    for (&views, sources) |*view, source| view.* = if (rng.boolean())
        .{ .ptr = source.ptr, .across = 1, .along = @intCast(width) }
    else
        .{ .ptr = source.ptr, .across = @intCast(k), .along = 1 };
    table.pack_a(&.{ .source = views[0], .width = width, .k = k, .target = panels[0].ptr });
    table.pack_b(&.{ .source = views[1], .width = width, .k = k, .target = panels[1].ptr });
    for (0..lines) |column| for (0..lines) |row| {
        var got: f64 = 0;
        for (0..words) |word| {
            const a = panels[0][word / extent * extent * lines + row / extent * extent * extent + word % extent * extent + row % extent];
            const b = panels[1][word / extent * extent * lines + column * extent + word % extent];
            got += sumOfWord(format, a, b);
        }
        var expected: f64 = 0;
        if (row < width and column < width) {
            for (0..k) |step| {
                const a = views[0].ptr[row * @as(usize, @intCast(views[0].across)) + step * @as(usize, @intCast(views[0].along))];
                const b = views[1].ptr[column * @as(usize, @intCast(views[1].across)) + step * @as(usize, @intCast(views[1].along))];
                expected += valueOf(format, a) * valueOf(format, b);
            }
        }
        try std.testing.expectApproxEqAbs(expected, got, 1e-12);
    };
}

test "panels of tiles hold every element once and zeros elsewhere" {
    if (builtin.cpu.arch != .x86_64 or @backingInt(kernels.info().instruction_set) < @backingInt(@as(@TypeOf(kernels.info().instruction_set), .avx512_dot))) {
        std.debug.print("skipped: this CPU has no AVX512_BF16\n", .{});
        return error.SkipZigTest;
    }
    var random: std.Random.DefaultPrng = .init(41);
    const rng = random.random();
    inline for (formats) |format| {
        for (0..30) |_| try expectPanels(format, rng, rng.intRangeAtMost(usize, 1, lines), rng.intRangeAtMost(usize, 1, 200));
        for ([_]usize{ 16, 31, 32 }) |width| for ([_]usize{ 1, 32, 64, 65, 128 }) |k| try expectPanels(format, rng, width, k);
    }
}

/// A matmul of random operands by one instruction set, beside what another gives.
fn Pair(comptime format: Format) type {
    const Source = cases.SourceOf(format);
    const Sum = generic.numbers.simple(format).Sum;
    return struct {
        got: []Sum,
        expected: []Sum,

        fn compute(rng: std.Random, rows: usize, columns: usize, k: usize, beta: f64) !@This() {
            const allocator = std.testing.allocator;
            const a_view = cases.view(rng, rows, k);
            const b_view = cases.view(rng, k, columns);
            const out_view: cases.View = .{ .rows = rows, .columns = columns, .row_stride = @intCast(columns), .column_stride = 1, .len = rows * columns };
            const a = try allocator.alloc(Source, a_view.len);
            defer allocator.free(a);
            const b = try allocator.alloc(Source, b_view.len);
            defer allocator.free(b);
            cases.fill(format, rng, a);
            cases.fill(format, rng, b);
            const pair: @This() = .{ .got = try allocator.alloc(Sum, rows * columns), .expected = try allocator.alloc(Sum, rows * columns) };
            for ([_][]Sum{ pair.got, pair.expected }, [_]@TypeOf(kernels.available()[0]){ .amx, .generic }) |out, set| {
                @memset(out, 5);
                const executor = support.executor(rng.intRangeAtMost(u32, 1, 4));
                try converted.multiplyWith(format, set, &.{
                    .a = cases.matrix(Source, cases.elementOf(format), a, a_view),
                    .b = cases.matrix(Source, cases.elementOf(format), b, b_view),
                    .out = cases.matrix(Sum, if (Sum == i32) .i32 else .f32, out, out_view),
                    .alpha = 1,
                    .beta = beta,
                    .executor = &executor,
                });
            }
            return pair;
        }

        fn free(pair: @This()) void {
            std.testing.allocator.free(pair.got);
            std.testing.allocator.free(pair.expected);
        }
    };
}

test "matmuls by AMX agree with the scalar twin" {
    try skipWithoutTiles();
    var random: std.Random.DefaultPrng = .init(42);
    const rng = random.random();
    inline for (formats) |format| {
        for (0..60) |round| {
            const k = if (round % 10 == 0) rng.intRangeAtMost(usize, 1000, 5000) else rng.intRangeAtMost(usize, 1, 300);
            const beta: f64 = if (rng.boolean()) 0 else 2;
            const pair: Pair(format) = try .compute(rng, rng.intRangeAtMost(usize, 1, 150), rng.intRangeAtMost(usize, 1, 150), k, beta);
            defer pair.free();
            for (pair.got, pair.expected) |got, expected| {
                if (format == .i8) {
                    try std.testing.expectEqual(expected, got);
                } else {
                    // Products are at most 1; an ulp of the largest sum a step for each of the two.
                    const size: f64 = @floatFromInt(k + 10);
                    try std.testing.expectApproxEqAbs(@as(f64, expected), got, 2 * size * std.math.floatEps(f32) * @sqrt(size));
                }
            }
        }
    }
}

test "AMX takes denormals for zero" {
    try skipWithoutTiles();
    // 2^-130 is a denormal bfloat16; 2^-70 * 2^-70 is a denormal single.
    for ([_][2]u16{ .{ 0x0008, 0x7f00 }, .{ 28 << 8 | 0x80, 28 << 8 | 0x80 } }) |bits| {
        var a: [16]u16 = @splat(bits[0]);
        var b: [16]u16 = @splat(bits[1]);
        var out: [1]f32 = .{7};
        const one: cases.View = .{ .rows = 1, .columns = 1, .row_stride = 1, .column_stride = 1, .len = 1 };
        try converted.multiplyWith(.bf16, .amx, &.{
            .a = cases.matrix(u16, .bf16, &a, .{ .rows = 1, .columns = 16, .row_stride = 16, .column_stride = 1, .len = 16 }),
            .b = cases.matrix(u16, .bf16, &b, .{ .rows = 16, .columns = 1, .row_stride = 1, .column_stride = 1, .len = 16 }),
            .out = cases.matrix(f32, .f32, &out, one),
            .alpha = 1,
            .beta = 0,
            .executor = null,
        });
        try std.testing.expectEqual(0, out[0]);
    }
}

test "matmuls by AMX have the same bits for any number of threads" {
    try skipWithoutTiles();
    const allocator = std.testing.allocator;
    const size = 500;
    const shape: cases.View = .{ .rows = size, .columns = size, .row_stride = size, .column_stride = 1, .len = size * size };
    const a = try allocator.alloc(u16, shape.len);
    defer allocator.free(a);
    var random: std.Random.DefaultPrng = .init(43);
    cases.fill(.bf16, random.random(), a);
    var first: ?[]f32 = null;
    defer if (first) |out| allocator.free(out);
    for ([_]u32{ 1, 2, 3, 7, 16 }) |threads| {
        const executor = support.executor(threads);
        const out = try allocator.alloc(f32, shape.len);
        try converted.multiplyWith(.bf16, .amx, &.{
            .a = cases.matrix(u16, .bf16, a, shape),
            .b = cases.matrix(u16, .bf16, a, shape),
            .out = cases.matrix(f32, .f32, out, shape),
            .alpha = 1,
            .beta = 0,
            .executor = &executor,
        });
        if (first) |expected| {
            defer allocator.free(out);
            try std.testing.expectEqualSlices(f32, expected, out);
        } else first = out;
    }
}

test "the best instruction set of a matmul is AMX where tiles are usable and the matmul is large enough" {
    const large = kernels.packedSet(64, 64, 64);
    try std.testing.expectEqual(kernels.hasTiles(), large == .amx);
    try std.testing.expect(kernels.packedSet(1, 4096, 4096) != .amx);
    try std.testing.expect(kernels.packedSet(64, 64, 3) != .amx);
}
