//! Losses of classes and their gradients on every instruction set of this machine, against their definitions in float64.

const std = @import("std");
const class_loss = @import("class_loss.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");

const rows = 13;
const classes = 37;

fn viewOf(comptime T: type, values: []T, rank: usize, strides: [2]isize) strided.View {
    const storage: strided.Storage = if (T == i64) .i64 else .of(T);
    var view: strided.View = .{ .storage = storage, .address = @intFromPtr(values.ptr), .rank = rank, .shape = @splat(1), .strides = @splat(0) };
    const shape = [2]usize{ rows, classes };
    for (0..rank) |axis| {
        view.shape[axis] = shape[axis];
        view.strides[axis] = strides[axis];
    }
    return view;
}

fn testLoss(comptime T: type, has_shares: bool, reduction: class_loss.Reduction, smoothing: f64) !void {
    var random: std.Random.DefaultPrng = .init(3);
    const rng = random.random();
    var x: [rows * classes]T = undefined;
    var shares: [rows * classes]T = undefined;
    var weight: [classes]T = undefined;
    var labels: [rows]i64 = undefined;
    var out: [rows * classes]T = undefined;
    for (&x, &shares) |*value, *share| {
        value.* = rng.floatNorm(T) * 4;
        share.* = rng.float(T) / classes;
    }
    for (&weight) |*value| value.* = rng.float(T);
    for (&labels, 0..) |*label, row| label.* = if (row == 3) -100 else rng.intRangeLessThan(i64, 0, classes);
    var one = [1]T{1.5};
    var problem: class_loss.Problem = .{
        .operation = .cross_entropy,
        .reduction = reduction,
        // Classes are distant, rows adjacent.
        .x = viewOf(T, &x, 2, .{ 1, rows }),
        .target = if (has_shares) viewOf(T, &shares, 2, .{ classes, 1 }) else viewOf(i64, &labels, 1, .{ 1, 0 }),
        .has_shares = has_shares,
        .weight = viewOf(T, &weight, 1, .{ 1, 0 }),
        .out = undefined,
        .smoothing = smoothing,
    };
    problem.weight.?.shape[0] = classes;
    const executor = test_support.executor(3);
    for (kernels.available()) |set| {
        problem.gradient = null;
        problem.out = viewOf(T, &out, if (reduction == .none) 1 else 0, .{ 1, 0 });
        try class_loss.runWith(T, tensor_kernels.tableOf(T, set), &problem, &executor);
        const found = out;
        problem.gradient = viewOf(T, &one, 1, .{ 0, 0 });
        problem.out = viewOf(T, &out, 2, .{ classes, 1 });
        try class_loss.runWith(T, tensor_kernels.tableOf(T, set), &problem, &executor);
        var total: f64 = 0;
        var divisor: f64 = if (has_shares) rows else 0;
        if (!has_shares) for (labels) |label| {
            if (label >= 0) divisor += weight[@intCast(label)];
        };
        if (reduction != .mean) divisor = 1;
        for (0..rows) |row| {
            var sum: f64 = 0;
            for (0..classes) |class| sum += @exp(@as(f64, x[class * rows + row]));
            var term: f64 = 0;
            var shared: f64 = 0;
            var effective: [classes]f64 = undefined;
            for (&effective, 0..) |*share, class| {
                const own: f64 = if (has_shares) shares[row * classes + class] else @floatFromInt(@intFromBool(labels[row] == class));
                share.* = weight[class] * ((1 - smoothing) * own + smoothing / classes);
                if (!has_shares and labels[row] < 0) share.* = 0;
                term -= share.* * (x[class * rows + row] - @log(sum));
                shared += share.*;
            }
            total += term;
            if (reduction == .none) try std.testing.expectApproxEqAbs(term, found[row], 32 * std.math.floatEps(T) * 8);
            for (effective, 0..) |share, class| {
                const slope = 1.5 / divisor * (@exp(@as(f64, x[class * rows + row])) / sum * shared - share);
                try std.testing.expectApproxEqAbs(slope, out[row * classes + class], 32 * std.math.floatEps(T));
            }
        }
        if (reduction != .none) try std.testing.expectApproxEqRel(total / divisor, found[0], 32 * std.math.floatEps(T));
    }
}

test "losses of classes and their gradients are those of the definition" {
    inline for (.{ f32, f64 }) |T| for (std.enums.values(class_loss.Reduction)) |reduction| for ([_]bool{ false, true }) |has_shares| {
        try testLoss(T, has_shares, reduction, 0);
        try testLoss(T, has_shares, reduction, 0.2);
    };
}
