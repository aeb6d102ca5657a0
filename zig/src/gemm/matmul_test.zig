//! What `agpu_matrix_matmul` refuses, in which words, and how it treats empty matrices.

const std = @import("std");
const abi = @import("../abi.zig");
const matmul = @import("matmul.zig");
const status = @import("../status.zig");
const support = @import("../tensor/test_support.zig");

const Host = support.Host;

const plain: abi.MatmulOptions = .{
    .size_bytes = @sizeOf(abi.MatmulOptions),
    .alpha = 1,
    .beta = 0,
    .executor = null,
    .bias = null,
    .residual = null,
    .activation = null,
    .precision = abi.precision_operands,
    .reserved = 0,
};

fn expectRefused(code: abi.Status, words: []const []const u8, result: abi.Status) !void {
    try std.testing.expectEqual(code, result);
    var out: abi.LastError = undefined;
    out.size_bytes = @sizeOf(abi.LastError);
    try std.testing.expectEqual(abi.ok, status.read(&out));
    const message = out.message.ptr.?[0..out.message.len];
    for (words) |word| {
        if (std.mem.find(u8, message, word) == null) {
            std.debug.print("\"{s}\" is not in: {s}\n", .{ word, message });
            return error.WordMissing;
        }
    }
}

test "mismatched shapes are refused with all shapes in the message" {
    var data: [64]f32 = @splat(1);
    var a_host: Host = .rowMajor(2, 3);
    var b_host: Host = .rowMajor(4, 5);
    var out_host: Host = .rowMajor(2, 5);
    const a = a_host.tensor(f32, &data);
    const b = b_host.tensor(f32, data[16..].ptr);
    var out = out_host.tensor(f32, data[40..].ptr);
    try expectRefused(
        abi.errors.shape_mismatch,
        &.{ "a is (2, 3)", "b is (4, 5)", "out is (2, 5)" },
        matmul.matmul(&a, &b, &out, &plain),
    );
}

test "other dtypes, devices, ranks and nulls are refused by name" {
    var data: [64]f32 = @splat(1);
    var host: Host = .rowMajor(4, 4);
    const good = host.tensor(f32, &data);
    var out = host.tensor(f32, data[32..].ptr);

    var bad = good;
    bad.dtype.bits = 8;
    try expectRefused(abi.errors.unsupported_dtype, &.{ "a", "8 bits", "float32" }, matmul.matmul(&bad, &good, &out, &plain));
    bad.dtype.bits = 64;
    try expectRefused(abi.errors.unsupported_dtype, &.{ "a is f64", "b is f32" }, matmul.matmul(&bad, &good, &out, &plain));
    try expectRefused(abi.errors.invalid_argument, &.{ "precision 9", "0 to 2" }, matmul.matmul(&good, &good, &out, &.{
        .size_bytes = @sizeOf(abi.MatmulOptions),
        .alpha = 1,
        .beta = 0,
        .executor = null,
        .bias = null,
        .residual = null,
        .activation = null,
        .precision = 9,
        .reserved = 0,
    }));
    bad = good;
    bad.dtype.lanes = 4;
    try expectRefused(abi.errors.unsupported_dtype, &.{"4 lanes"}, matmul.matmul(&good, &bad, &out, &plain));
    bad = good;
    bad.device.device_type = abi.device_rocm;
    try expectRefused(abi.errors.wrong_device, &.{ "b", "10" }, matmul.matmul(&good, &bad, &out, &plain));
    bad = good;
    bad.ndim = 1;
    try expectRefused(abi.errors.shape_mismatch, &.{ "a", "1 dimensions" }, matmul.matmul(&bad, &good, &out, &plain));
    bad = good;
    bad.data = null;
    try expectRefused(abi.errors.invalid_argument, &.{ "data of b", "null" }, matmul.matmul(&good, &bad, &out, &plain));
    bad = good;
    bad.byte_offset = 2;
    try expectRefused(abi.errors.invalid_argument, &.{ "a", "not aligned to its 4-byte elements" }, matmul.matmul(&bad, &good, &out, &plain));
    bad = good;
    bad.shape = null;
    try expectRefused(abi.errors.invalid_argument, &.{"shape of a"}, matmul.matmul(&bad, &good, &out, &plain));
    try expectRefused(abi.errors.invalid_argument, &.{"b is null"}, matmul.matmul(&good, null, &out, &plain));
    try expectRefused(abi.errors.invalid_argument, &.{"out is null"}, matmul.matmul(&good, &good, null, &plain));
    try expectRefused(abi.errors.invalid_argument, &.{"options"}, matmul.matmul(&good, &good, &out, null));

    var short = plain;
    short.size_bytes = 8;
    try expectRefused(abi.errors.invalid_argument, &.{"size_bytes"}, matmul.matmul(&good, &good, &out, &short));

    var negative: Host = .{ .shape = .{ -4, 4 }, .strides = .{ 4, 1 } };
    bad = negative.tensor(f32, &data);
    try expectRefused(abi.errors.invalid_argument, &.{"negative"}, matmul.matmul(&bad, &good, &out, &plain));

    var far: Host = .{ .shape = .{ 4, 4 }, .strides = .{ std.math.maxInt(i64), 1 } };
    bad = far.tensor(f32, &data);
    try expectRefused(abi.errors.invalid_argument, &.{"address space"}, matmul.matmul(&bad, &good, &out, &plain));
}

test "an output that shares memory is refused and interleaved views are not" {
    var data: [64]f32 = @splat(1);
    var host: Host = .rowMajor(4, 4);
    const a = host.tensor(f32, &data);
    var shifted = host.tensor(f32, data[15..].ptr);
    try expectRefused(abi.errors.invalid_argument, &.{"out shares memory with a"}, matmul.matmul(&a, &a, &shifted, &plain));

    var folded: Host = .{ .shape = .{ 4, 4 }, .strides = .{ 1, 1 } };
    var self_sharing = folded.tensor(f32, data[32..].ptr);
    try expectRefused(abi.errors.invalid_argument, &.{"strides (1, 1)"}, matmul.matmul(&a, &a, &self_sharing, &plain));

    var spread: Host = .{ .shape = .{ 4, 4 }, .strides = .{ 8, 2 } };
    const even = spread.tensor(f32, &data);
    var odd = spread.tensor(f32, data[1..].ptr);
    try std.testing.expectEqual(abi.ok, matmul.matmul(&even, &even, &odd, &plain));
    try std.testing.expectEqual(4, data[1]);
    try std.testing.expectEqual(1, data[2]);
}

test "empty dimensions give what NumPy gives" {
    var out_data: [6]f32 = @splat(7);
    var a_host: Host = .rowMajor(2, 0);
    var b_host: Host = .rowMajor(0, 3);
    var out_host: Host = .rowMajor(2, 3);
    const a = a_host.tensor(f32, null);
    const b = b_host.tensor(f32, null);
    var out = out_host.tensor(f32, &out_data);
    var options = plain;
    options.beta = 0.5;
    try std.testing.expectEqual(abi.ok, matmul.matmul(&a, &b, &out, &options));
    try std.testing.expectEqual(@as([6]f32, @splat(3.5)), out_data);
    out_data[0] = std.math.nan(f32);
    try std.testing.expectEqual(abi.ok, matmul.matmul(&a, &b, &out, &plain));
    try std.testing.expectEqual(@as([6]f32, @splat(0)), out_data);

    var none: Host = .rowMajor(0, 3);
    var square: Host = .rowMajor(3, 3);
    const nothing = none.tensor(f32, null);
    var values: [9]f32 = @splat(1);
    const factor = square.tensor(f32, &values);
    var empty = none.tensor(f32, null);
    try std.testing.expectEqual(abi.ok, matmul.matmul(&nothing, &factor, &empty, &plain));
}

test "strides may be absent" {
    var data = [_]f64{ 1, 2, 3, 4, 0, 0, 0, 0 };
    var host: Host = .rowMajor(2, 2);
    var a = host.tensor(f64, &data);
    a.strides = null;
    var out = host.tensor(f64, data[4..].ptr);
    out.strides = null;
    try std.testing.expectEqual(abi.ok, matmul.matmul(&a, &a, &out, &plain));
    try std.testing.expectEqualSlices(f64, &.{ 7, 10, 15, 22 }, data[4..]);
}
