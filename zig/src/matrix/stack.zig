//! Products of stacks of matrices: the axes before the last two stretch as NumPy's do, and each index of them is one product.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const overlap = @import("overlap.zig");
const strided = @import("strided.zig");
const tensors = @import("tensor.zig");

const Matrix = tensors.Matrix;

/// Axes before the matrix at most.
pub const max_axes = strided.max_rank - 2;
/// Pairs of matrices that are compared where the memory of two stacks interleaves; more are refused rather than waited for.
const max_pairs = 1 << 20;

/// A tensor as its first matrix and the axes before it.
pub const Stack = struct {
    first: Matrix,
    axes: usize = 0,
    extents: [max_axes]usize = @splat(1),
    /// In elements.
    strides: [max_axes]isize = @splat(0),

    pub fn read(name: []const u8, maybe_tensor: ?*const abi.Tensor) tensors.Refusal!Stack {
        const tensor = maybe_tensor orelse return .{ .first = try tensors.readMatrix(name, null) };
        if (tensor.ndim <= 2) return .{ .first = try tensors.readMatrix(name, tensor) };
        if (tensor.ndim > strided.max_rank) {
            return refuse(abi.errors.shape_mismatch, "{s} has {d} dimensions; {d} are the most", .{ name, tensor.ndim, strided.max_rank });
        }
        const axes: usize = @intCast(tensor.ndim - 2);
        const shape = tensor.shape orelse return refuse(abi.errors.invalid_argument, "the shape of {s} is null", .{name});
        var stack: Stack = .{ .first = undefined, .axes = axes };
        var matrix_tensor = tensor.*;
        matrix_tensor.ndim = 2;
        matrix_tensor.shape = shape + axes;
        if (tensor.strides) |strides| matrix_tensor.strides = strides + axes;
        stack.first = try tensors.readMatrix(name, &matrix_tensor);
        var dense: i128 = @as(i128, @intCast(stack.first.shape[0])) * @as(i128, @intCast(stack.first.shape[1]));
        var reach: i128 = 0;
        var axis = axes;
        while (axis > 0) {
            axis -= 1;
            if (shape[axis] < 0) {
                return refuse(abi.errors.invalid_argument, "dimension {d} of {s} is negative: {d}", .{ axis, name, shape[axis] });
            }
            const stride: i128 = if (tensor.strides) |strides| strides[axis] else dense;
            stack.extents[axis] = @intCast(shape[axis]);
            reach +|= @as(i128, @intCast(@abs(stride))) *| (shape[axis] - 1);
            dense *|= shape[axis];
            if (@abs(stride) > std.math.maxInt(isize)) break;
            stack.strides[axis] = @intCast(stride);
        }
        if (axis > 0 or reach > std.math.maxInt(isize) / 16) {
            return refuse(abi.errors.invalid_argument, "the strides of {s} reach past the address space", .{name});
        }
        return stack;
    }

    /// The same stack with axes that stretch to `extents`; false where they do not.
    fn stretch(stack: *Stack, axes: usize, extents: *const [max_axes]usize) bool {
        if (stack.axes > axes) return false;
        const lead = axes - stack.axes;
        var strides: [max_axes]isize = @splat(0);
        for (0..stack.axes) |axis| {
            if (stack.extents[axis] == extents[lead + axis]) {
                strides[lead + axis] = if (stack.extents[axis] == 1) 0 else stack.strides[axis];
            } else if (stack.extents[axis] != 1) return false;
        }
        stack.axes = axes;
        stack.extents = extents.*;
        stack.strides = strides;
        return true;
    }

    pub fn count(stack: *const Stack) usize {
        var total: usize = 1;
        for (stack.extents[0..stack.axes]) |extent| total *|= extent;
        return total;
    }

    /// From a matrix to the next one along the last axis, in elements.
    pub fn innermostStride(stack: *const Stack) isize {
        return if (stack.axes == 0) 0 else stack.strides[stack.axes - 1];
    }

    pub fn at(stack: *const Stack, index: usize) Matrix {
        var matrix = stack.first;
        var rest = index;
        var axis = stack.axes;
        var elements: isize = 0;
        while (axis > 0) {
            axis -= 1;
            elements += @as(isize, @intCast(rest % stack.extents[axis])) * stack.strides[axis];
            rest /= stack.extents[axis];
        }
        matrix.address +%= @as(usize, @bitCast(elements)) *% matrix.elementBytes();
        return matrix;
    }
};

fn refuse(code: abi.Status, comptime format: []const u8, args: anytype) tensors.Refusal {
    _ = status.fail(code, format, args);
    return error.Refused;
}

/// Operands and result of a product of stacks, with the same axes before the matrices.
pub const Operands = struct {
    a: Stack,
    b: Stack,
    out: Stack,
    residual: ?Stack = null,

    /// Gives all the axes that `a` and `b` stretch to, which must be those of `out`.
    pub fn stretch(operands: *Operands) tensors.Refusal!void {
        const axes = @max(operands.a.axes, operands.b.axes);
        var extents: [max_axes]usize = @splat(1);
        for ([_]*const Stack{ &operands.a, &operands.b }) |operand| {
            for (0..operand.axes) |axis| {
                const extent = &extents[axes - operand.axes + axis];
                if (extent.* == 1) extent.* = operand.extents[axis];
            }
        }
        for ([_]*Stack{ &operands.a, &operands.b }) |operand| {
            const before = operand.*;
            if (!operand.stretch(axes, &extents)) return mismatch(&before, axes, &extents);
        }
        if (operands.out.axes != axes or !std.mem.eql(usize, operands.out.extents[0..axes], extents[0..axes])) {
            return mismatch(&operands.out, axes, &extents);
        }
        if (operands.residual) |*residual| {
            const before = residual.*;
            if (!residual.stretch(axes, &extents)) return mismatch(&before, axes, &extents);
        }
    }

    /// Joins inner axes with the rows where one matrix `b` serves all of them: one large product instead of many small ones.
    pub fn fold(operands: *Operands) void {
        while (operands.out.axes > 0) {
            const axis = operands.out.axes - 1;
            const extent = operands.out.extents[axis];
            const grown = [_]?*Stack{ &operands.a, &operands.out, if (operands.residual) |*residual| residual else null };
            if (extent != 1) {
                if (operands.b.strides[axis] != 0) return;
                for (grown) |maybe| {
                    const stack = maybe orelse continue;
                    const rows: isize = @intCast(stack.first.shape[0]);
                    if (rows != 1 and stack.strides[axis] != stack.first.strides[0] * rows) return;
                }
            }
            for (grown) |maybe| {
                const stack = maybe orelse continue;
                if (stack.first.shape[0] == 1) stack.first.strides[0] = stack.strides[axis];
                stack.first.shape[0] *= extent;
                stack.axes -= 1;
            }
            operands.b.axes -= 1;
        }
    }
};

fn mismatch(operand: *const Stack, axes: usize, extents: *const [max_axes]usize) tensors.Refusal {
    return refuse(abi.errors.shape_mismatch, "shapes do not fit: the axes {any} before the matrices of {s} do not fit {any}", .{
        operand.extents[0..operand.axes], operand.first.name, extents[0..axes],
    });
}

/// Whether two indices of `out` name the same element, or may: true for strides that this cannot tell apart cheaply.
pub fn sharesWithItself(out: *const Stack) bool {
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
        var place = rank;
        const stride: u128 = @abs(axis.stride);
        while (place > 0 and strides[place - 1] > stride) : (place -= 1) {
            strides[place] = strides[place - 1];
            reaches[place] = reaches[place - 1];
        }
        strides[place] = stride;
        reaches[place] = stride * (axis.extent - 1);
        rank += 1;
    }
    var within: u128 = 0;
    for (strides[0..rank], reaches[0..rank]) |stride, reach| {
        if (stride <= within) return true;
        within += reach;
    }
    return false;
}

/// Whether an operand and `out` share memory, or may: stacks that interleave and are too many to compare count as sharing.
pub fn shareMemory(operand: *const Stack, out: *const Stack) bool {
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

/// Bytes touched: from the first to behind the last.
fn extentOf(stack: *const Stack) [2]i128 {
    const bytes: i128 = @intCast(stack.first.elementBytes());
    var low: i128 = stack.first.address;
    var high: i128 = low + bytes;
    for (0..stack.axes + 2) |axis| {
        const extent = if (axis < stack.axes) stack.extents[axis] else stack.first.shape[axis - stack.axes];
        const stride = if (axis < stack.axes) stack.strides[axis] else stack.first.strides[axis - stack.axes];
        const reach = @as(i128, stride) * @as(i128, @intCast(extent - 1)) * bytes;
        if (reach < 0) low += reach else high += reach;
    }
    return .{ low, high };
}

fn testStack(address: usize, extents: []const usize, strides: []const isize) Stack {
    const axes = extents.len - 2;
    var made: Stack = .{
        .first = .{ .name = "stack", .element = .f32, .address = address, .shape = extents[axes..][0..2].*, .strides = strides[axes..][0..2].* },
        .axes = axes,
    };
    @memcpy(made.extents[0..axes], extents[0..axes]);
    @memcpy(made.strides[0..axes], strides[0..axes]);
    return made;
}

test "shared memory of stacks is never missed, and interleaved stacks are apart" {
    var random: std.Random.DefaultPrng = .init(31);
    const rng = random.random();
    for (0..5_000) |_| {
        var stacks: [2]Stack = undefined;
        var touched: [2]std.StaticBitSet(2000) = @splat(.empty);
        var repeats = false;
        for (&stacks, &touched, 0..) |*made, *set, which| {
            var extents: [4]usize = undefined;
            var strides: [4]isize = undefined;
            for (&extents, &strides) |*extent, *stride| {
                extent.* = rng.intRangeAtMost(usize, 1, 3);
                stride.* = rng.intRangeAtMost(isize, -20, 20);
            }
            made.* = testStack(4 * (1000 + rng.uintLessThan(usize, 40)), &extents, &strides);
            for (0..made.count()) |index| {
                const matrix = made.at(index);
                for (0..extents[2]) |i| for (0..extents[3]) |j| {
                    const element = @as(isize, @intCast(matrix.address / 4)) + @as(isize, @intCast(i)) * strides[2] + @as(isize, @intCast(j)) * strides[3];
                    if (which == 0 and set.isSet(@intCast(element))) repeats = true;
                    set.set(@intCast(element));
                };
            }
        }
        try std.testing.expectEqual(touched[0].intersectWith(touched[1]).count() != 0, shareMemory(&stacks[0], &stacks[1]));
        if (repeats) try std.testing.expect(sharesWithItself(&stacks[0]));
    }
    const sliced = testStack(4096, &.{ 5, 3, 4 }, &.{ 24, 8, 2 });
    const turned = testStack(4096, &.{ 5, 3, 4 }, &.{ 4, -20, 1 });
    try std.testing.expect(!sharesWithItself(&sliced));
    try std.testing.expect(!sharesWithItself(&turned));
}

test "a stack with one right matrix becomes one product, others stay" {
    const a = testStack(4096, &.{ 5, 2, 3, 4 }, &.{ 24, 12, 4, 1 });
    const one = testStack(65536, &.{ 4, 6 }, &.{ 6, 1 });
    const out = testStack(131072, &.{ 5, 2, 3, 6 }, &.{ 36, 18, 6, 1 });
    var joined: Operands = .{ .a = a, .b = one, .out = out };
    try joined.stretch();
    joined.fold();
    try std.testing.expectEqual(1, joined.out.count());
    try std.testing.expectEqual([2]usize{ 30, 4 }, joined.a.first.shape);
    try std.testing.expectEqual([2]usize{ 30, 6 }, joined.out.first.shape);

    const many = testStack(65536, &.{ 5, 1, 4, 6 }, &.{ 24, 24, 6, 1 });
    var partly: Operands = .{ .a = a, .b = many, .out = out };
    try partly.stretch();
    partly.fold();
    try std.testing.expectEqual(5, partly.out.count());
    try std.testing.expectEqual([2]usize{ 6, 4 }, partly.a.first.shape);
    try std.testing.expectEqual(4096 + 4 * 24 * 4, partly.a.at(4).address);

    const spaced = testStack(4096, &.{ 5, 2, 3, 4 }, &.{ 24, 12, 4, 2 });
    const apart = testStack(131072, &.{ 5, 2, 3, 6 }, &.{ 36, 18, 6, 1 });
    var kept: Operands = .{ .a = spaced, .b = one, .out = apart };
    kept.a.strides[1] = 13;
    try kept.stretch();
    kept.fold();
    try std.testing.expectEqual(10, kept.out.count());
}
