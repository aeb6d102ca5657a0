//! Batched matmuls: the axes before the last two broadcast as NumPy's do, and each index of them is one matmul.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const overlap = @import("overlap.zig");
const strided = @import("../tensor/strided.zig");
const tensors = @import("matrix.zig");

const Matrix = tensors.Matrix;

/// Largest number of axes before the matrix.
pub const max_axes = strided.max_rank - 2;
/// Pairs of matrices that are compared where the memory of two batches interleaves; more are refused rather than waited for.
const max_pairs = 1 << 20;

/// A tensor, described by its first matrix and the axes before it.
pub const Batch = struct {
    first: Matrix,
    axes: usize = 0,
    extents: [max_axes]usize = @splat(1),
    /// In elements.
    strides: [max_axes]isize = @splat(0),

    pub fn read(name: []const u8, maybe_tensor: ?*const abi.Tensor) tensors.Refusal!Batch {
        const tensor = maybe_tensor orelse return .{ .first = try tensors.readMatrix(name, null) };
        if (tensor.ndim <= 2) return .{ .first = try tensors.readMatrix(name, tensor) };
        if (tensor.ndim > strided.max_rank) {
            return refuse(abi.errors.shape_mismatch, "{s} has {d} dimensions; {d} are the most", .{ name, tensor.ndim, strided.max_rank });
        }
        const axes: usize = @intCast(tensor.ndim - 2);
        const shape = tensor.shape orelse return refuse(abi.errors.invalid_argument, "the shape of {s} is null", .{name});
        var batch: Batch = .{ .first = undefined, .axes = axes };
        var matrix_tensor = tensor.*;
        matrix_tensor.ndim = 2;
        matrix_tensor.shape = shape + axes;
        if (tensor.strides) |strides| matrix_tensor.strides = strides + axes;
        batch.first = try tensors.readMatrix(name, &matrix_tensor);
        var dense: i128 = @as(i128, @intCast(batch.first.shape[0])) * @as(i128, @intCast(batch.first.shape[1]));
        var reach: i128 = 0;
        var axis = axes;
        while (axis > 0) {
            axis -= 1;
            if (shape[axis] < 0) {
                return refuse(abi.errors.invalid_argument, "dimension {d} of {s} is negative: {d}", .{ axis, name, shape[axis] });
            }
            const stride: i128 = if (tensor.strides) |strides| strides[axis] else dense;
            batch.extents[axis] = @intCast(shape[axis]);
            reach +|= @as(i128, @intCast(@abs(stride))) *| (shape[axis] - 1);
            dense *|= shape[axis];
            if (@abs(stride) > std.math.maxInt(isize)) break;
            batch.strides[axis] = @intCast(stride);
        }
        if (axis > 0 or reach > std.math.maxInt(isize) / 16) {
            return refuse(abi.errors.invalid_argument, "the strides of {s} reach past the address space", .{name});
        }
        return batch;
    }

    /// Broadcasts the axes to `extents`; returns false where that is not possible.
    fn broadcast(batch: *Batch, axes: usize, extents: *const [max_axes]usize) bool {
        if (batch.axes > axes) return false;
        const lead = axes - batch.axes;
        var strides: [max_axes]isize = @splat(0);
        for (0..batch.axes) |axis| {
            if (batch.extents[axis] == extents[lead + axis]) {
                strides[lead + axis] = if (batch.extents[axis] == 1) 0 else batch.strides[axis];
            } else if (batch.extents[axis] != 1) return false;
        }
        batch.axes = axes;
        batch.extents = extents.*;
        batch.strides = strides;
        return true;
    }

    pub fn count(batch: *const Batch) usize {
        var total: usize = 1;
        for (batch.extents[0..batch.axes]) |extent| total *|= extent;
        return total;
    }

    /// Distance from a matrix to the next one along the last axis, in elements.
    pub fn innermostStride(batch: *const Batch) isize {
        return if (batch.axes == 0) 0 else batch.strides[batch.axes - 1];
    }

    pub fn at(batch: *const Batch, index: usize) Matrix {
        var matrix = batch.first;
        var rest = index;
        var axis = batch.axes;
        var elements: isize = 0;
        while (axis > 0) {
            axis -= 1;
            elements += @as(isize, @intCast(rest % batch.extents[axis])) * batch.strides[axis];
            rest /= batch.extents[axis];
        }
        matrix.address +%= @as(usize, @bitCast(elements)) *% matrix.elementBytes();
        return matrix;
    }
};

fn refuse(code: abi.Status, comptime format: []const u8, args: anytype) tensors.Refusal {
    _ = status.fail(code, format, args);
    return error.Refused;
}

/// Operands and result of a matmul of batches, with the same axes before the matrices.
pub const Operands = struct {
    a: Batch,
    b: Batch,
    out: Batch,
    residual: ?Batch = null,

    /// Gives all the axes that `a` and `b` broadcast to, which must be those of `out`.
    pub fn broadcast(operands: *Operands) tensors.Refusal!void {
        const axes = @max(operands.a.axes, operands.b.axes);
        var extents: [max_axes]usize = @splat(1);
        for ([_]*const Batch{ &operands.a, &operands.b }) |operand| {
            for (0..operand.axes) |axis| {
                const extent = &extents[axes - operand.axes + axis];
                if (extent.* == 1) extent.* = operand.extents[axis];
            }
        }
        for ([_]*Batch{ &operands.a, &operands.b }) |operand| {
            const before = operand.*;
            if (!operand.broadcast(axes, &extents)) return mismatch(&before, axes, &extents);
        }
        if (operands.out.axes != axes or !std.mem.eql(usize, operands.out.extents[0..axes], extents[0..axes])) {
            return mismatch(&operands.out, axes, &extents);
        }
        if (operands.residual) |*residual| {
            const before = residual.*;
            if (!residual.broadcast(axes, &extents)) return mismatch(&before, axes, &extents);
        }
    }

    /// Joins inner axes with the rows where one matrix `b` serves all of them: one large matmul instead of many small ones.
    pub fn fold(operands: *Operands) void {
        while (operands.out.axes > 0) {
            const axis = operands.out.axes - 1;
            const extent = operands.out.extents[axis];
            const grown = [_]?*Batch{ &operands.a, &operands.out, if (operands.residual) |*residual| residual else null };
            if (extent != 1) {
                if (operands.b.strides[axis] != 0) return;
                for (grown) |maybe| {
                    const batch = maybe orelse continue;
                    const rows: isize = @intCast(batch.first.shape[0]);
                    if (rows != 1 and batch.strides[axis] != batch.first.strides[0] * rows) return;
                }
            }
            for (grown) |maybe| {
                const batch = maybe orelse continue;
                if (batch.first.shape[0] == 1) batch.first.strides[0] = batch.strides[axis];
                batch.first.shape[0] *= extent;
                batch.axes -= 1;
            }
            operands.b.axes -= 1;
        }
    }
};

fn mismatch(operand: *const Batch, axes: usize, extents: *const [max_axes]usize) tensors.Refusal {
    return refuse(abi.errors.shape_mismatch, "shapes do not fit: the axes {any} before the matrices of {s} do not fit {any}", .{
        operand.extents[0..operand.axes], operand.first.name, extents[0..axes],
    });
}

/// Whether two indices of `out` may name the same element. It answers true for strides that cannot be told apart cheaply.
pub fn sharesWithItself(out: *const Batch) bool {
    if (out.count() == 0 or out.first.isEmpty()) return false;
    var strides: [strided.max_rank]u128 = undefined;
    var reaches: [strided.max_rank]u128 = undefined;
    var rank: usize = 0;
    const Axis = struct { extent: usize, stride: isize };
    var axes: [strided.max_rank]Axis = undefined;
    for (0..out.axes) |axis| axes[axis] = .{ .extent = out.extents[axis], .stride = out.strides[axis] };
    for (0..2) |axis| axes[out.axes + axis] = .{ .extent = out.first.shape[axis], .stride = out.first.strides[axis] };
    for (axes[0 .. out.axes + 2]) |axis| {
        if (axis.extent == 1) continue;
        // By ascending stride: an axis that steps over all that lies within the ones before it adds no shared element.
        var position = rank;
        const stride: u128 = @abs(axis.stride);
        while (position > 0 and strides[position - 1] > stride) : (position -= 1) {
            strides[position] = strides[position - 1];
            reaches[position] = reaches[position - 1];
        }
        strides[position] = stride;
        reaches[position] = stride * (axis.extent - 1);
        rank += 1;
    }
    var within: u128 = 0;
    for (strides[0..rank], reaches[0..rank]) |stride, reach| {
        if (stride <= within) return true;
        within += reach;
    }
    return false;
}

/// Whether an operand and `out` may share memory. Batches that interleave and are too many to compare count as sharing.
pub fn shareMemory(operand: *const Batch, out: *const Batch) bool {
    if (operand.count() == 0 or out.count() == 0 or operand.first.isEmpty() or out.first.isEmpty()) return false;
    const first = extentOf(operand);
    const second = extentOf(out);
    if (first[1] <= second[0] or second[1] <= first[0]) return false;
    if (operand.count() *| out.count() > max_pairs) return true;
    for (0..operand.count()) |i| {
        for (0..out.count()) |j| {
            if (overlap.shareMemory(operand.at(i), out.at(j))) return true;
        }
    }
    return false;
}

/// The range of bytes that a batch touches: [first, one past the last).
fn extentOf(batch: *const Batch) [2]i128 {
    const bytes: i128 = @intCast(batch.first.elementBytes());
    var low: i128 = batch.first.address;
    var high: i128 = low + bytes;
    for (0..batch.axes + 2) |axis| {
        const extent = if (axis < batch.axes) batch.extents[axis] else batch.first.shape[axis - batch.axes];
        const stride = if (axis < batch.axes) batch.strides[axis] else batch.first.strides[axis - batch.axes];
        const reach = @as(i128, stride) * @as(i128, @intCast(extent - 1)) * bytes;
        if (reach < 0) low += reach else high += reach;
    }
    return .{ low, high };
}

fn testBatch(address: usize, extents: []const usize, strides: []const isize) Batch {
    const axes = extents.len - 2;
    var made: Batch = .{
        .first = .{ .name = "batch", .element = .f32, .address = address, .shape = extents[axes..][0..2].*, .strides = strides[axes..][0..2].* },
        .axes = axes,
    };
    @memcpy(made.extents[0..axes], extents[0..axes]);
    @memcpy(made.strides[0..axes], strides[0..axes]);
    return made;
}

test "shared memory of batches is never missed, and interleaved batches do not share any" {
    var random: std.Random.DefaultPrng = .init(31);
    const rng = random.random();
    for (0..5_000) |_| {
        var batches: [2]Batch = undefined;
        var touched: [2]std.StaticBitSet(2000) = @splat(.empty);
        var repeats = false;
        for (&batches, &touched, 0..) |*made, *set, which| {
            var extents: [4]usize = undefined;
            var strides: [4]isize = undefined;
            for (&extents, &strides) |*extent, *stride| {
                extent.* = rng.intRangeAtMost(usize, 1, 3);
                stride.* = rng.intRangeAtMost(isize, -20, 20);
            }
            made.* = testBatch(4 * (1000 + rng.uintLessThan(usize, 40)), &extents, &strides);
            for (0..made.count()) |index| {
                const matrix = made.at(index);
                for (0..extents[2]) |i| for (0..extents[3]) |j| {
                    const element = @as(isize, @intCast(matrix.address / 4)) + @as(isize, @intCast(i)) * strides[2] + @as(isize, @intCast(j)) * strides[3];
                    if (which == 0 and set.isSet(@intCast(element))) repeats = true;
                    set.set(@intCast(element));
                };
            }
        }
        try std.testing.expectEqual(touched[0].intersectWith(touched[1]).count() != 0, shareMemory(&batches[0], &batches[1]));
        if (repeats) try std.testing.expect(sharesWithItself(&batches[0]));
    }
    const sliced = testBatch(4096, &.{ 5, 3, 4 }, &.{ 24, 8, 2 });
    const oriented = testBatch(4096, &.{ 5, 3, 4 }, &.{ 4, -20, 1 });
    try std.testing.expect(!sharesWithItself(&sliced));
    try std.testing.expect(!sharesWithItself(&oriented));
}

test "a batch that shares one matrix b becomes one matmul, others stay" {
    const a = testBatch(4096, &.{ 5, 2, 3, 4 }, &.{ 24, 12, 4, 1 });
    const one = testBatch(65536, &.{ 4, 6 }, &.{ 6, 1 });
    const out = testBatch(131072, &.{ 5, 2, 3, 6 }, &.{ 36, 18, 6, 1 });
    var joined: Operands = .{ .a = a, .b = one, .out = out };
    try joined.broadcast();
    joined.fold();
    try std.testing.expectEqual(1, joined.out.count());
    try std.testing.expectEqual([2]usize{ 30, 4 }, joined.a.first.shape);
    try std.testing.expectEqual([2]usize{ 30, 6 }, joined.out.first.shape);

    const many = testBatch(65536, &.{ 5, 1, 4, 6 }, &.{ 24, 24, 6, 1 });
    var partly: Operands = .{ .a = a, .b = many, .out = out };
    try partly.broadcast();
    partly.fold();
    try std.testing.expectEqual(5, partly.out.count());
    try std.testing.expectEqual([2]usize{ 6, 4 }, partly.a.first.shape);
    try std.testing.expectEqual(4096 + 4 * 24 * 4, partly.a.at(4).address);

    const spaced = testBatch(4096, &.{ 5, 2, 3, 4 }, &.{ 24, 12, 4, 2 });
    const apart = testBatch(131072, &.{ 5, 2, 3, 6 }, &.{ 36, 18, 6, 1 });
    var kept: Operands = .{ .a = spaced, .b = one, .out = apart };
    kept.a.strides[1] = 13;
    try kept.broadcast();
    kept.fold();
    try std.testing.expectEqual(10, kept.out.count());
}
