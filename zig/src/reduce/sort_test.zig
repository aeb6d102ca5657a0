//! Sorted lines and places beside those of the standard library: short and long lines, both directions, zeros and NaN, one thread and several.

const std = @import("std");
const abi = @import("../abi.zig");
const sort = @import("sort.zig");
const test_support = @import("../tensor/test_support.zig");

const values = [_]f32{ 0.0, -0.0, 1, -1, std.math.inf(f32), -std.math.inf(f32), std.math.nan(f32), 2.5, -2.5 };

fn isBefore(is_descending: bool, a: f32, b: f32) bool {
    if (a != a or b != b) return a == a and b != b;
    return if (is_descending) a > b else a < b;
}

fn testLines(lines: usize, len: usize, is_descending: bool, threads: u32) !void {
    const allocator = std.testing.allocator;
    var executor = test_support.executor(threads);
    var random: std.Random.DefaultPrng = .init(len);
    const rng = random.random();
    const x = try allocator.alloc(f32, lines * len);
    defer allocator.free(x);
    for (x) |*value| value.* = if (rng.uintLessThan(u8, 4) == 0) values[rng.uintLessThan(usize, values.len)] else rng.floatNorm(f32);
    const sorted = try allocator.alloc(f32, lines * len);
    defer allocator.free(sorted);
    const places = try allocator.alloc(i64, lines * len);
    defer allocator.free(places);
    const shape = [_]i64{ @intCast(lines), @intCast(len) };
    // Lines of x lie side by side.
    const strides = [_]i64{ 1, @intCast(lines) };
    const host: abi.DeviceRef = .{ .device_type = abi.device_cpu, .device_id = 0 };
    const float: abi.Dtype = .{ .code = abi.dtype_float, .bits = 32, .lanes = 1 };
    const integer: abi.Dtype = .{ .code = abi.dtype_int, .bits = 64, .lanes = 1 };
    const input: abi.Tensor = .{ .data = x.ptr, .device = host, .ndim = 2, .dtype = float, .shape = @constCast(&shape), .strides = @constCast(&strides), .byte_offset = 0 };
    const target: abi.Tensor = .{ .data = sorted.ptr, .device = host, .ndim = 2, .dtype = float, .shape = @constCast(&shape), .strides = null, .byte_offset = 0 };
    const found: abi.Tensor = .{ .data = places.ptr, .device = host, .ndim = 2, .dtype = integer, .shape = @constCast(&shape), .strides = null, .byte_offset = 0 };
    var options: abi.SortOptions = .{ .size_bytes = @sizeOf(abi.SortOptions), .is_descending = @intFromBool(is_descending), .gives_places = 0, .executor = &executor };
    try std.testing.expectEqual(abi.ok, sort.sort(@ptrCast(&input), 1, &target, &options));
    options.gives_places = 1;
    try std.testing.expectEqual(abi.ok, sort.sort(@ptrCast(&input), 1, &found, &options));
    const expected = try allocator.alloc(f32, len);
    defer allocator.free(expected);
    for (0..lines) |line| {
        for (expected, 0..) |*value, i| value.* = x[i * lines + line];
        std.mem.sort(f32, expected, is_descending, isBefore);
        for (expected, sorted[line * len ..][0..len], places[line * len ..][0..len], 0..) |wanted, value, place, rank| {
            if (wanted != wanted) {
                try std.testing.expect(value != value);
            } else try std.testing.expectEqual(@as(u32, @bitCast(wanted)), @as(u32, @bitCast(value)));
            const placed = x[@as(usize, @intCast(place)) * lines + line];
            if (wanted == wanted) try std.testing.expectEqual(@as(u32, @bitCast(wanted)), @as(u32, @bitCast(placed)));
            if (rank > 0) {
                const before = places[line * len + rank - 1];
                const other = x[@as(usize, @intCast(before)) * lines + line];
                if (!isBefore(is_descending, other, placed)) try std.testing.expect(before < place);
            }
        }
    }
}

test "lines of every length are sorted stably in both directions" {
    for ([_]bool{ false, true }) |is_descending| for ([_]u32{ 1, 3 }) |threads| {
        for ([_][2]usize{ .{ 1, 1 }, .{ 50, 7 }, .{ 3, 25 }, .{ 9, 3000 }, .{ 1, 70_000 }, .{ 2, 200_000 } }) |extents| {
            try testLines(extents[0], extents[1], is_descending, threads);
        }
    };
}

/// Places of numbers of 64 bits, of which `differing` says the bits that tell them apart, beside a stable sort of the standard library.
fn testPlaces(comptime T: type, len: usize, differing: u64, is_descending: bool, threads: u32) !void {
    const allocator = std.testing.allocator;
    var executor = test_support.executor(threads);
    var random: std.Random.DefaultPrng = .init(len ^ differing);
    const rng = random.random();
    const x = try allocator.alloc(T, len);
    defer allocator.free(x);
    for (x) |*value| value.* = @bitCast(rng.int(u64) & differing | 0x3ff0_0000_0000_0000 & ~differing);
    const places = try allocator.alloc(i64, len);
    defer allocator.free(places);
    const expected = try allocator.alloc(i64, len);
    defer allocator.free(expected);
    for (expected, 0..) |*place, i| place.* = @intCast(i);
    const Context = struct {
        x: []const T,
        is_descending: bool,

        fn isBefore(context: @This(), a: i64, b: i64) bool {
            const left = context.x[@intCast(a)];
            const right = context.x[@intCast(b)];
            return if (context.is_descending) left > right else left < right;
        }
    };
    std.mem.sort(i64, expected, Context{ .x = x, .is_descending = is_descending }, Context.isBefore);
    const shape = [_]i64{@intCast(len)};
    const host: abi.DeviceRef = .{ .device_type = abi.device_cpu, .device_id = 0 };
    const code = if (T == f64) abi.dtype_float else if (T == i64) abi.dtype_int else abi.dtype_uint;
    const input: abi.Tensor = .{ .data = x.ptr, .device = host, .ndim = 1, .dtype = .{ .code = code, .bits = 64, .lanes = 1 }, .shape = @constCast(&shape), .strides = null, .byte_offset = 0 };
    const found: abi.Tensor = .{ .data = places.ptr, .device = host, .ndim = 1, .dtype = .{ .code = abi.dtype_int, .bits = 64, .lanes = 1 }, .shape = @constCast(&shape), .strides = null, .byte_offset = 0 };
    const options: abi.SortOptions = .{ .size_bytes = @sizeOf(abi.SortOptions), .is_descending = @intFromBool(is_descending), .gives_places = 1, .executor = &executor };
    try std.testing.expectEqual(abi.ok, sort.sort(@ptrCast(&input), 1, &found, &options));
    try std.testing.expectEqualSlices(i64, expected, places);
}

test "places of long lines of 64 bits are those of a stable sort, whichever bits tell elements apart" {
    // All bits, none, few first ones, few last ones, and such that many elements agree in all but the last bits.
    const finite = 0xbfff_ffff_ffff_ffff;
    for ([_]u64{ finite, 0, 0x8000_0000_0000_0000, 0x7, 0xf_ffff, 0x8000_0000_0000_ffff, 0x8000_0000_ffff_ffff, 0xffff_ffff_ffff }) |differing| {
        for ([_]u32{ 1, 3 }) |threads| {
            try testPlaces(u64, 66_000, if (differing == finite) std.math.maxInt(u64) else differing, threads == 1, threads);
            try testPlaces(i64, 131_072, differing, threads == 3, threads);
            try testPlaces(f64, 65_536, differing & finite, threads == 1, threads);
        }
    }
}
