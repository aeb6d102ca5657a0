//! Reductions over the last `reduced_axes` axes of tensors with any strides. Descriptions were validated in Rust; `out` shares no memory with x.
//!
//! Where the reduced axes hold the adjacent elements, each result folds a run; else neighbouring results are folded together, row by row.
//! Work is cut into segments of a fixed size, whose partial results are joined in order: any number of threads gives the same bits.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("parallel.zig");
const strided = @import("strided.zig");
const tensor_kernels = @import("tensor_kernels.zig");
const reduce_rows = @import("reduce_rows.zig");
const search = @import("search.zig");
const workspace = @import("workspace.zig");

const kernel = generic.reduce_kernel;
const View = strided.View;

const Operation = enum(u32) { sum = 0, product = 1, maximum = 2, minimum = 3, any = 4, all = 5, variance = 6, deviation = 7, argmax = 8, argmin = 9 };

comptime {
    for (std.meta.fieldNames(Operation)) |name| {
        std.debug.assert(@backingInt(@field(Operation, name)) == @field(abi, "reduce_" ++ name));
    }
}

pub const Error = error{OutOfMemory} || parallel.Error;

/// out = fold of x over its last axes, divided, its root taken.
pub const Problem = struct {
    fold: kernel.Fold,
    /// Kept axes, then reduced ones.
    x: View,
    out: View,
    /// For `squares`: what is taken off x, of the shape of `out`.
    shift: ?View = null,
    divisor: f64 = 1,
    takes_root: bool = false,
    /// For `squares` without `shift`: the mean of every result's own values is taken off. Of runs of a single segment only.
    is_centered: bool = false,

    /// A folded value as it is stored.
    pub fn finish(problem: *const Problem, comptime T: type, value: T) T {
        if (comptime generic.storage.isInteger(T)) return value;
        const quotient = if (problem.divisor == 1) value else value / @as(T, @floatCast(problem.divisor));
        return if (problem.takes_root) @sqrt(quotient) else quotient;
    }
};

/// View 0 is x, view 1 `out`, view 2 the shift.
pub const Kept = strided.Space(3);
pub const Reduced = strided.Space(1);

/// Values of a segment of a run.
pub const segment_len = 64 * kernel.leaf_len;

pub fn reduce(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.ReduceOptions) abi.Status {
    std.debug.assert(input_count == 1);
    const given = options.?;
    const x: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    const operation = std.enums.fromInt(Operation, given.operation).?;
    const outcome = switch (given.compute.code) {
        abi.dtype_uint => run(u64, operation, x, target, given),
        abi.dtype_float => if (given.compute.bits == 32) run(f32, operation, x, target, given) else run(f64, operation, x, target, given),
        else => if (given.compute.bits == 32) run(i32, operation, x, target, given) else run(i64, operation, x, target, given),
    };
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the partial results of a reduction", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the pieces of a reduction", .{}),
    };
    return abi.ok;
}

fn run(comptime T: type, operation: Operation, x: View, out: View, given: *const abi.ReduceOptions) Error!void {
    const table = tensor_kernels.table(T);
    const fold: kernel.Fold = switch (operation) {
        .sum => .sum,
        .product => .product,
        .maximum => .maximum,
        .minimum => .minimum,
        .any => .any,
        .all => .all,
        .variance, .deviation => return variance(T, table, x, out, operation == .deviation, given.divisor, given.executor),
        .argmax, .argmin => return search.find(T, table, x, out, operation == .argmax, given.executor),
    };
    const problem: Problem = .{ .fold = fold, .x = x, .out = out, .divisor = given.divisor };
    try runWith(T, table, &problem, given.executor);
}

/// The mean, then the squares of the distances from it.
pub fn variance(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    x: View,
    out: View,
    takes_root: bool,
    divisor: f64,
    executor: ?*const abi.Executor,
) Error!void {
    if (comptime generic.storage.isInteger(T)) unreachable;
    const count = out.len();
    if (count == 0) return;
    const centered: Problem = .{ .fold = .squares, .x = x, .out = out, .divisor = divisor, .takes_root = takes_root, .is_centered = true };
    const spaces: Spaces = .of(&centered);
    // What was read for the mean is still in the caches.
    if (spaces.folds_runs and spaces.segments == 1) return foldRuns(T, table, &centered, &spaces, executor);
    const buffer = try workspace.acquire(count * @sizeOf(T));
    defer workspace.release(buffer);
    var mean = out;
    mean.storage = .of(T);
    mean.address = @intFromPtr(buffer.bytes.ptr);
    var dense: isize = 1;
    var axis = mean.rank;
    while (axis > 0) {
        axis -= 1;
        mean.strides[axis] = dense;
        dense *= @intCast(mean.shape[axis]);
    }
    const reduced_len: f64 = @floatFromInt(x.len() / count);
    try runWith(T, table, &.{ .fold = .sum, .x = x, .out = mean, .divisor = reduced_len }, executor);
    try runWith(T, table, &.{ .fold = .squares, .x = x, .out = out, .shift = mean, .divisor = divisor, .takes_root = takes_root }, executor);
}

/// What is kept and what is folded.
const Spaces = struct {
    kept: Kept,
    reduced: Reduced,
    /// Whether each result folds a run; else neighbouring results are folded together.
    folds_runs: bool,
    reduced_len: usize,
    /// Of each run.
    segments: usize,

    fn of(problem: *const Problem) Spaces {
        const x_kept = problem.x.axes(0, problem.out.rank);
        const x_reduced = problem.x.axes(problem.out.rank, problem.x.rank - problem.out.rank);
        const shift = problem.shift orelse problem.out;
        const reduced_len = x_reduced.len();
        var spaces: Spaces = .{
            .kept = .of(.{ &x_kept, &problem.out, &shift }),
            .reduced = .of(.{&x_reduced}),
            .folds_runs = undefined,
            .reduced_len = reduced_len,
            .segments = @max(1, (reduced_len + segment_len - 1) / segment_len),
        };
        const kept = &spaces.kept;
        const reduced = &spaces.reduced;
        kept.sort();
        kept.coalesce();
        reduced.sort();
        reduced.coalesce();
        // Nothing has no rows to walk along.
        spaces.folds_runs = kept.rank == 0 or reduced_len == 0 or
            (reduced.rank > 0 and @abs(reduced.innerStride(0)) <= @abs(kept.innerStride(0)));
        return spaces;
    }
};

/// With the routines of a given instruction set, which this CPU must have.
pub fn runWith(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    if (problem.out.len() == 0) return;
    const spaces: Spaces = .of(problem);
    if (spaces.folds_runs) return foldRuns(T, table, problem, &spaces, executor);
    try reduce_rows.run(T, table, problem, &spaces.kept, &spaces.reduced, executor);
}

fn foldRuns(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, spaces: *const Spaces, executor: ?*const abi.Executor) Error!void {
    const segments = spaces.segments;
    const kept_len = spaces.kept.len();
    const buffer: ?workspace.Buffer = if (segments == 1) null else try workspace.acquire(kept_len * segments * @sizeOf(T));
    defer if (buffer) |held| workspace.release(held);
    const job: Runs(T) = .{
        .table = table,
        .problem = problem,
        .kept = &spaces.kept,
        .reduced = &spaces.reduced,
        .reduced_len = spaces.reduced_len,
        .segments = segments,
        .is_ready = spaces.reduced.isDense(0) and problem.x.storage.is(T),
        .partials = if (buffer) |held| held.slice(T, 0, kept_len * segments).ptr else null,
    };
    try parallel.run(executor, kept_len * segments, Runs(T), &job);
    if (segments == 1) return;
    const joining: Joining(T) = .{ .runs = &job };
    try parallel.run(executor, kept_len, Joining(T), &joining);
}

/// Each item folds one segment of one result.
fn Runs(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        kept: *const Kept,
        reduced: *const Reduced,
        reduced_len: usize,
        segments: usize,
        /// Whether the values of a run are adjacent and of type T.
        is_ready: bool,
        partials: ?[*]T,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| {
                const kept_index = item / job.segments;
                const segment = item % job.segments;
                const value = job.segmentOf(kept_index, segment);
                if (job.partials) |partials| partials[item] = value else job.write(kept_index, value);
            }
        }

        fn segmentOf(job: *const Self, kept_index: usize, segment: usize) T {
            const first = segment * segment_len;
            const len = @min(segment_len, job.reduced_len - first);
            if (len == 0) return kernel.identity(T, job.problem.fold);
            const base = job.kept.offset(0, kept_index);
            var shift: T = 0;
            if (job.problem.shift) |*given| {
                const mean: *const T = @ptrFromInt(strided.addressAt(given, job.kept.offset(2, kept_index)));
                shift = mean.*;
            }
            if (comptime !generic.storage.isInteger(T)) {
                if (job.problem.is_centered) {
                    shift = job.foldPart(.sum, base, first, len, 0) / @as(T, @floatFromInt(job.reduced_len));
                }
            }
            return job.foldPart(job.problem.fold, base, first, len, shift);
        }

        /// Values [first, first + len) of the run at offset `base`.
        fn foldPart(job: *const Self, fold: kernel.Fold, base: isize, first: usize, len: usize, shift: T) T {
            const x = &job.problem.x;
            var step: kernel.Run(T) = .{ .fold = fold, .ptr = undefined, .len = len, .shift = shift };
            if (job.is_ready) {
                step.ptr = @ptrFromInt(strided.addressAt(x, base + @as(isize, @intCast(first))));
                return job.table.fold_run(&step);
            }
            var buffer: [kernel.leaf_len]T align(64) = undefined;
            const is_adjacent = job.reduced.innerStride(0) == 1 and x.storage.is(T);
            var walk = job.reduced.walk(0, first);
            walk.start += base;
            switch (fold) {
                inline else => |known| {
                    var cascade: kernel.Cascade(T, known) = .{};
                    var done: usize = 0;
                    while (done < len) : (done += step.len) {
                        step.len = @min(kernel.leaf_len, len - done);
                        if (is_adjacent and walk.runLen() >= step.len) {
                            step.ptr = @ptrFromInt(strided.addressAt(x, walk.start));
                            walk.pass(step.len);
                        } else {
                            step.ptr = &buffer;
                            strided.readElements(T, job.table, x, &walk, step.len, &buffer);
                        }
                        cascade.push(job.table.fold_run(&step));
                    }
                    return cascade.total();
                },
            }
        }

        fn write(job: *const Self, kept_index: usize, value: T) void {
            const finished = [1]T{job.problem.finish(T, value)};
            job.table.store(&.{
                .storage = job.problem.out.storage,
                .address = strided.addressAt(&job.problem.out, job.kept.offset(1, kept_index)),
                .step = 1,
                .len = 1,
                .source = &finished,
            });
        }
    };
}

/// Joins the segments of each result.
fn Joining(comptime T: type) type {
    return struct {
        runs: *const Runs(T),

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const segments = job.runs.segments;
            for (begin..end) |kept_index| {
                switch (job.runs.problem.fold) {
                    inline else => |fold| {
                        var cascade: kernel.Cascade(T, fold) = .{};
                        for (job.runs.partials.?[kept_index * segments ..][0..segments]) |partial| cascade.push(partial);
                        job.runs.write(kept_index, cascade.total());
                    },
                }
            }
        }
    };
}
