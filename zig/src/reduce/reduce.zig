//! Reductions over the last `reduced_axes` axes of tensors with any strides. Descriptions were validated in Rust; `out` shares no memory with x.
//!
//! Where the reduced axes hold the adjacent elements, each result folds a run; else neighbouring results are folded together, row by row.
//! Work is cut into segments of a fixed size, whose partial results are joined in order: the bits do not depend on the number of threads.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const reduce_rows = @import("reduce_rows.zig");
const search = @import("search.zig");
const workspace = @import("../memory/workspace.zig");
const reduce_problem = @import("reduce_problem.zig");

const kernel = generic.reduce_kernel;
const moments = generic.moments_kernel;
const Moments = moments.Moments;
const View = strided.View;
const Error = reduce_problem.Error;
const Kept = reduce_problem.Kept;
pub const Problem = reduce_problem.Problem;
const Reduced = reduce_problem.Reduced;
pub const segment_len = reduce_problem.segment_len;

const Operation = generic.operations.Reduction;

/// Fewer adjacent values are copied together with what follows them: two vectors for each of the four chains of a leaf.
const least_adjacent = 128;

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
        .variance, .deviation => .squares,
        .argmax, .argmin => return search.find(T, table, x, out, operation == .argmax, given.executor),
    };
    var problem: Problem = .{ .fold = fold, .x = x, .out = out, .divisor = given.divisor, .takes_root = operation == .deviation };
    var has_strayed: std.atomic.Value(bool) = .init(false);
    // Sums and squares of float16 stay within float32.
    if (T == f32 and (fold == .sum or fold == .squares) and x.storage != .f16) problem.has_strayed = &has_strayed;
    try runWith(T, table, &problem, given.executor);
    if (T == f32 and has_strayed.load(.monotonic)) {
        problem.has_strayed = null;
        try runWith(f64, tensor_kernels.table(f64), &problem, given.executor);
    }
}

/// The axes that are kept and the axes that are folded.
const Spaces = struct {
    kept: Kept,
    reduced: Reduced,
    /// Whether each result folds a run; else neighbouring results are folded together.
    folds_runs: bool,
    reduced_len: usize,
    /// Number of segments of each run.
    segments: usize,

    fn of(problem: *const Problem) Spaces {
        const x_kept = problem.x.axes(0, problem.out.rank);
        const x_reduced = problem.x.axes(problem.out.rank, problem.x.rank - problem.out.rank);
        const reduced_len = x_reduced.len();
        var spaces: Spaces = .{
            .kept = .of(.{ &x_kept, &problem.out }),
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
        // An empty reduction has no rows to walk along.
        spaces.folds_runs = kept.rank == 0 or reduced_len == 0 or
            (reduced.rank > 0 and @abs(reduced.innerStride(0)) <= @abs(kept.innerStride(0)));
        return spaces;
    }
};

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    if (problem.out.len() == 0) return;
    const spaces: Spaces = .of(problem);
    if (problem.fold != .squares) return runAs(T, T, table, problem, &spaces, executor);
    // Variances are computed in floating point.
    if (comptime generic.storage.isInteger(T)) unreachable;
    try runAs(T, Moments, table, problem, &spaces, executor);
}

/// `Partial` is the type of the problem's partial results.
fn runAs(
    comptime T: type,
    comptime Partial: type,
    table: *const generic.tensor_table.Table(T),
    problem: *const Problem,
    spaces: *const Spaces,
    executor: ?*const abi.Executor,
) Error!void {
    if (!spaces.folds_runs) return reduce_rows.run(T, Partial, table, problem, &spaces.kept, &spaces.reduced, executor);
    const segments = spaces.segments;
    const kept_len = spaces.kept.len();
    const buffer: ?workspace.Buffer = if (segments == 1) null else try workspace.acquire(kept_len * segments * @sizeOf(Partial));
    defer if (buffer) |held| workspace.release(held);
    const job: Runs(T, Partial) = .{
        .table = table,
        .problem = problem,
        .kept = &spaces.kept,
        .reduced = &spaces.reduced,
        .reduced_len = spaces.reduced_len,
        .segments = segments,
        .is_ready = spaces.reduced.isDense(0) and problem.x.storage.is(T),
        .partials = if (buffer) |held| held.slice(Partial, 0, kept_len * segments).ptr else null,
    };
    try parallel.run(executor, kept_len * segments, Runs(T, Partial), &job);
    if (segments == 1) return;
    const joining: Joining(T, Partial) = .{ .runs = &job };
    try parallel.run(executor, kept_len, Joining(T, Partial), &joining);
}

/// Each item folds one segment of one result.
fn Runs(comptime T: type, comptime Partial: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        kept: *const Kept,
        reduced: *const Reduced,
        reduced_len: usize,
        segments: usize,
        /// Whether the values of a run are adjacent and of type T.
        is_ready: bool,
        partials: ?[*]Partial,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| {
                const kept_index = item / job.segments;
                const segment = item % job.segments;
                const value = job.segmentOf(kept_index, segment);
                if (job.partials) |partials| partials[item] = value else job.write(kept_index, value);
            }
        }

        fn segmentOf(job: *const Self, kept_index: usize, segment: usize) Partial {
            if (job.reduced_len == 0) return if (Partial == T) kernel.identity(T, job.problem.fold) else .{};
            const first = segment * segment_len;
            const len = @min(segment_len, job.reduced_len - first);
            const base = job.kept.offset(0, kept_index);
            const x = &job.problem.x;
            const shift = if (Partial == T) {} else job.shiftOf(base);
            if (job.is_ready) return job.foldAdjacent(@ptrFromInt(strided.addressAt(x, base + @as(isize, @intCast(first)))), len, shift);
            var buffer: [kernel.leaf_len]T align(64) = undefined;
            const is_adjacent = job.reduced.innerStride(0) == 1 and x.storage.is(T);
            var walk = job.reduced.walk(0, first);
            walk.start += base;
            switch (job.problem.fold) {
                inline else => |known| if (comptime kernel.Partial(T, known) == Partial) {
                    var cascade: kernel.Cascade(T, known) = .{};
                    var done: usize = 0;
                    while (done < len) {
                        const leaf_len = @min(kernel.leaf_len, len - done);
                        // A leaf ends where adjacent values end, unless it would hardly fill the lanes.
                        const adjacent = if (is_adjacent) @min(leaf_len, walk.runLen()) else 0;
                        if (adjacent >= @min(least_adjacent, leaf_len)) {
                            cascade.push(job.foldAdjacent(@ptrFromInt(strided.addressAt(x, walk.start)), adjacent, shift));
                            walk.pass(adjacent);
                            done += adjacent;
                        } else {
                            strided.readElements(T, job.table, x, &walk, leaf_len, &buffer);
                            cascade.push(job.foldAdjacent(&buffer, leaf_len, shift));
                            done += leaf_len;
                        }
                    }
                    return cascade.total();
                } else unreachable,
            }
        }

        /// The shift of the run at offset `base`, from its first value.
        fn shiftOf(job: *const Self, base: isize) T {
            if (job.is_ready) return moments.shiftOf(T, @as(*const T, @ptrFromInt(strided.addressAt(&job.problem.x, base))).*);
            var walk = job.reduced.walk(0, 0);
            walk.start += base;
            var first: [1]T = undefined;
            strided.readElements(T, job.table, &job.problem.x, &walk, 1, &first);
            return moments.shiftOf(T, first[0]);
        }

        fn foldAdjacent(job: *const Self, ptr: [*]const T, len: usize, shift: if (Partial == T) void else T) Partial {
            if (Partial == T) return job.table.fold_run(&.{ .fold = job.problem.fold, .ptr = ptr, .len = len });
            return job.table.moments(&.{ .ptr = ptr, .len = len, .shift = shift });
        }

        fn write(job: *const Self, kept_index: usize, partial: Partial) void {
            const finished = [1]T{if (Partial == T) job.problem.finish(T, partial) else @floatCast(job.problem.finish(f64, partial.squares))};
            job.problem.watch(T, finished[0]);
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
fn Joining(comptime T: type, comptime Partial: type) type {
    return struct {
        runs: *const Runs(T, Partial),

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const segments = job.runs.segments;
            for (begin..end) |kept_index| {
                switch (job.runs.problem.fold) {
                    inline else => |fold| if (comptime kernel.Partial(T, fold) == Partial) {
                        var cascade: kernel.Cascade(T, fold) = .{};
                        for (job.runs.partials.?[kept_index * segments ..][0..segments]) |partial| cascade.push(partial);
                        job.runs.write(kept_index, cascade.total());
                    } else unreachable,
                }
            }
        }
    };
}
