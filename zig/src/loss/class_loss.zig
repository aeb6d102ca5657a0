//! Cross entropy and negative log likelihood of rows of classes, and their gradients, over tensors with any strides.
//!
//! Inputs are x of shape (rows..., classes), the targets, and as they are there the weights of the classes and the gradient of the result. They were
//! validated in Rust but for the classes themselves; `out` shares no memory with an input.
//!
//! Terms are added in the order of the rows: the bits do not depend on the number of threads.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;
const row_kernel = generic.row_kernel;

pub const Operation = enum(u32) { cross_entropy = 0, negative_log_likelihood = 1 };
pub const Reduction = enum(u32) { none = 0, mean = 1, sum = 2 };

comptime {
    for (std.meta.fieldNames(Operation)) |name| std.debug.assert(@backingInt(@field(Operation, name)) == @field(abi, "class_loss_" ++ name));
    for (std.meta.fieldNames(Reduction)) |name| std.debug.assert(@backingInt(@field(Reduction, name)) == @field(abi, "loss_" ++ name));
}

/// What one call computes.
pub const Problem = struct {
    operation: Operation,
    reduction: Reduction,
    x: View,
    target: View,
    has_shares: bool = false,
    weight: ?View = null,
    /// Of the result, broadcast to the rows; `out` is the gradient by x then.
    gradient: ?View = null,
    out: View,
    ignored: i64 = -100,
    smoothing: f64 = 0,

    fn rowAxes(problem: *const Problem) usize {
        return problem.x.rank - 1;
    }

    fn classes(problem: *const Problem) usize {
        return problem.x.shape[problem.rowAxes()];
    }
};

pub const Error = error{ OutOfMemory, NoSuchClass } || parallel.Error;

pub fn classLoss(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.ClassLossOptions) abi.Status {
    const given = options.?;
    const all = inputs.?[0..input_count];
    const has_weight = given.has_weight != 0;
    const problem: Problem = .{
        .operation = std.enums.fromInt(Operation, given.operation).?,
        .reduction = std.enums.fromInt(Reduction, given.reduction).?,
        .x = .of(&all[0]),
        .target = .of(&all[1]),
        .has_shares = given.has_shares != 0,
        .weight = if (has_weight) .of(&all[2]) else null,
        .gradient = if (given.is_gradient != 0) .of(&all[all.len - 1]) else null,
        .out = .of(out.?),
        .ignored = given.ignored,
        .smoothing = given.smoothing,
    };
    const outcome = if (given.compute.bits == 32) run(f32, &problem, given.executor) else run(f64, &problem, given.executor);
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the rows of a loss", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the rows of a loss", .{}),
        // Its message was recorded where it was met.
        error.NoSuchClass => abi.errors.index_out_of_range,
    };
    return abi.ok;
}

fn run(comptime T: type, problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    return runWith(T, tensor_kernels.table(T), problem, executor);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    const outer = problem.rowAxes();
    const classes = problem.classes();
    const threads = parallel.threadCount(executor);
    var job: Job(T) = .{
        .table = table,
        .problem = problem,
        .classes = classes,
        .x_rows = problem.x.axes(0, outer),
        .x_row = problem.x.axes(outer, 1),
        .target_rows = problem.target.axes(0, outer),
        .target_row = if (problem.has_shares) problem.target.axes(outer, 1) else .{ .storage = .i64, .address = 0, .rank = 0, .shape = @splat(1), .strides = @splat(0) },
    };
    job.rows = job.x_rows.len();
    job.pieces = if (threads == 1) 1 else @min(@max(1, job.rows), 4 * threads);
    // For each piece a row of x and one of shares; the weights; a term for each row.
    const term_len = if (problem.gradient == null) job.rows else 0;
    const values_len = (2 * job.pieces + 1) * classes;
    const buffer = try workspace.acquire(values_len * @sizeOf(T) + 64 + term_len * @sizeOf(f64));
    defer workspace.release(buffer);
    const values = buffer.slice(T, 0, values_len);
    const terms = buffer.slice(f64, std.mem.alignForward(usize, values_len * @sizeOf(T), 64), term_len);
    job.buffers = values[classes..].ptr;
    job.terms = terms.ptr;
    if (problem.weight) |*weight| {
        table.load(&.{ .storage = weight.storage, .address = weight.address, .step = weight.strides[0], .len = classes, .target = values.ptr });
        job.weight = values.ptr;
    }
    const divisor = if (problem.has_shares) @as(f64, @floatFromInt(job.rows)) else try job.totalWeight();
    if (problem.reduction == .mean) job.divisor = divisor;
    if (job.rows > 0) try parallel.run(executor, job.pieces, Job(T), &job);
    if (problem.gradient == null) job.finish(terms);
}

fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        classes: usize,
        rows: usize = 0,
        pieces: usize = 1,
        x_rows: View,
        x_row: View,
        target_rows: View,
        target_row: View,
        weight: ?[*]const T = null,
        buffers: [*]T = undefined,
        terms: [*]f64 = undefined,
        /// Of the result; 1 for sums and terms.
        divisor: f64 = 1,

        const Self = @This();

        fn weightOf(job: *const Self, class: usize) f64 {
            return if (job.weight) |weight| weight[class] else 1;
        }

        /// The class of a row; null where it counts for nothing.
        fn classOf(job: *const Self, row: usize) ?usize {
            const address = strided.addressAt(&job.target_rows, strided.offsetOf(&job.target_rows, row));
            const class: i64 = if (job.target_rows.storage == .i32) @as(*const i32, @ptrFromInt(address)).* else @as(*const i64, @ptrFromInt(address)).*;
            return if (class == job.problem.ignored) null else @bitCast(class);
        }

        /// The weights of all rows together, after every class was looked at.
        fn totalWeight(job: *const Self) Error!f64 {
            var total: f64 = 0;
            for (0..job.rows) |row| {
                const class = job.classOf(row) orelse continue;
                if (class >= job.classes) {
                    _ = status.fail(abi.errors.index_out_of_range, "class {d} at place {d} of the targets is none of {d} classes, nor ignore_index", .{
                        @as(i64, @bitCast(class)), row, job.classes,
                    });
                    return error.NoSuchClass;
                }
                total += job.weightOf(class);
            }
            return total;
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const buffer = job.buffers + 2 * piece * job.classes;
                for (piece * job.rows / job.pieces..(piece + 1) * job.rows / job.pieces) |row| job.computeRow(row, buffer);
            }
        }

        fn computeRow(job: *const Self, row: usize, values: [*]T) void {
            const problem = job.problem;
            const shares = values + job.classes;
            const class = if (problem.has_shares) null else job.classOf(row);
            const is_ignored = !problem.has_shares and class == null;
            if (problem.gradient == null) {
                job.terms[row] = if (is_ignored) 0 else job.term(row, class, values, shares);
                return;
            }
            if (is_ignored) @memset(values[0..job.classes], 0) else job.gradientRow(row, class, values, shares);
            const out = problem.out.axes(0, problem.rowAxes());
            const address = strided.addressAt(&out, strided.offsetOf(&out, row));
            job.table.store(&.{ .storage = out.storage, .address = address, .step = problem.out.strides[problem.rowAxes()], .len = job.classes, .source = values });
        }

        fn read(job: *const Self, rows: *const View, line: *const View, row: usize, target: [*]T) void {
            const address = strided.addressAt(rows, strided.offsetOf(rows, row));
            job.table.load(&.{ .storage = rows.storage, .address = address, .step = line.strides[0], .len = job.classes, .target = target });
        }

        /// Softmax of a row of x, or its logarithm, from where it lies if it is ready there.
        fn normalize(job: *const Self, operation: row_kernel.Operation, row: usize, values: [*]T) void {
            var x: [*]const T = values;
            if (job.x_rows.storage.is(T) and job.x_row.strides[0] == 1) {
                x = @ptrFromInt(strided.addressAt(&job.x_rows, strided.offsetOf(&job.x_rows, row)));
            } else {
                job.read(&job.x_rows, &job.x_row, row, values);
            }
            job.table.row(&.{ .operation = operation, .x = x, .out = values, .len = job.classes, .scale = null, .shift = null, .epsilon = 0 });
        }

        /// The share of a class in the target of a row, times the weight of the class.
        fn shareOf(job: *const Self, class: ?usize, shares: [*]const T, place: usize) f64 {
            const smoothing = job.problem.smoothing;
            const own: f64 = if (class) |known| (if (known == place) 1 else 0) else shares[place];
            return job.weightOf(place) * ((1 - smoothing) * own + smoothing / @as(f64, @floatFromInt(job.classes)));
        }

        fn term(job: *const Self, row: usize, class: ?usize, values: [*]T, shares: [*]T) f64 {
            if (job.problem.operation == .cross_entropy) job.normalize(.log_softmax, row, values) else job.read(&job.x_rows, &job.x_row, row, values);
            if (class) |known| if (job.problem.smoothing == 0) return -job.weightOf(known) * values[known];
            if (class == null) job.read(&job.target_rows, &job.target_row, row, shares);
            var sum: f64 = 0;
            for (0..job.classes) |place| {
                const share = job.shareOf(class, shares, place);
                // A class without a share adds nothing, however unlikely it is.
                if (share != 0) sum -= share * values[place];
            }
            return sum;
        }

        fn gradientRow(job: *const Self, row: usize, class: ?usize, values: [*]T, shares: [*]T) void {
            const gradient = &job.problem.gradient.?;
            var own: [1]T = undefined;
            job.table.load(&.{ .storage = gradient.storage, .address = strided.addressAt(gradient, strided.offsetOf(gradient, row)), .step = 1, .len = 1, .target = &own });
            const factor = own[0] / job.divisor;
            if (job.problem.operation == .negative_log_likelihood) {
                @memset(values[0..job.classes], 0);
                values[class.?] = @floatCast(-job.weightOf(class.?) * factor);
                return;
            }
            job.normalize(.softmax, row, values);
            if (class == null) job.read(&job.target_rows, &job.target_row, row, shares);
            if (class) |known| if (job.problem.smoothing == 0) {
                const all: T = @floatCast(factor * job.weightOf(known));
                for (values[0..job.classes]) |*value| value.* *= all;
                values[known] -= all;
                return;
            };
            var total: f64 = 0;
            for (0..job.classes) |place| total += job.shareOf(class, shares, place);
            for (0..job.classes) |place| {
                values[place] = @floatCast(factor * (values[place] * total - job.shareOf(class, shares, place)));
            }
        }

        /// The terms, or what they are together, in `out`.
        fn finish(job: *const Self, terms: []const f64) void {
            const out = &job.problem.out;
            if (job.problem.reduction == .none) {
                for (terms, 0..) |value, row| job.put(strided.addressAt(out, strided.offsetOf(out, row)), value);
                return;
            }
            var sum: f64 = 0;
            for (terms) |value| sum += value;
            job.put(out.address, sum / job.divisor);
        }

        fn put(job: *const Self, address: usize, value: f64) void {
            const own = [1]T{@floatCast(value)};
            job.table.store(&.{ .storage = job.problem.out.storage, .address = address, .step = 1, .len = 1, .source = &own });
        }
    };
}
