//! Batches of matmuls without an epilogue. The route is chosen once for all of them, and runs of small ones are a single call.
//!
//! Each matmul takes the route that it would take alone, so that its bits are the same in a batch.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const blocking = @import("blocking.zig");
const kernels = @import("gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm = @import("gemm.zig");
const batch = @import("batch.zig");
const rounding = @import("../tensor/rounding.zig");

/// Number of multiply-adds that one thread takes at a time: about a microsecond, ten times the cost of taking them.
const item_multiply_adds = 1 << 15;

/// `first` is the matmul of the first matrices of the batches, which are not empty.
pub fn multiply(comptime T: type, batches: *const batch.Operands, first: *const gemm.Problem(.plain(T)), executor: ?*const abi.Executor) gemm.Error!void {
    const table = kernels.table(T);
    const plan = blocking.plan(.plain(T), table, first);
    const count = batches.out.count();
    var failure: std.atomic.Value(u8) = .init(0);
    const items: Items(T) = .{
        .batches = batches,
        .table = table,
        .oriented = &plan.oriented,
        .route = plan.route,
        .count = count,
        .item_len = std.math.clamp(item_multiply_adds / @max(1, first.m *| first.n *| first.k), 1, count),
        .failure = &failure,
    };
    try parallel.run(executor, rounding.divideUp(count, items.item_len), Items(T), &items);
    if (failure.load(.monotonic) != 0) return error.OutOfMemory;
}

fn Items(comptime T: type) type {
    return struct {
        batches: *const batch.Operands,
        table: *const generic.table.Table(.plain(T)),
        oriented: *const gemm.Problem(.plain(T)),
        route: blocking.Route,
        count: usize,
        item_len: usize,
        failure: *std.atomic.Value(u8),

        const Self = @This();

        pub fn run(items: *const Self, begin: usize, end: usize) void {
            var index = begin * items.item_len;
            const last = @min(items.count, end * items.item_len);
            const out = &items.batches.out;
            const run_len = if (out.axes == 0) 1 else out.extents[out.axes - 1];
            while (index < last) {
                // Along the innermost axis matrices follow each other at one distance.
                const len = @min(last - index, run_len - index % run_len);
                items.line(index, len);
                index += len;
            }
        }

        fn line(items: *const Self, index: usize, len: usize) void {
            var problem = items.oriented.*;
            const a, const b = if (problem.is_transposed) .{ &items.batches.b, &items.batches.a } else .{ &items.batches.a, &items.batches.b };
            const out = &items.batches.out;
            problem.a = a.at(index).ptr(T);
            problem.b = b.at(index).ptr(T);
            problem.out = out.at(index).ptr(T);
            if (items.route == .small and problem.k > 0) {
                var job = gemm.smallOf(.plain(T), &problem);
                job.count = len;
                job.a_next = a.innermostStride();
                job.b_next = b.innermostStride();
                job.out_next = out.innermostStride();
                return items.table.small(&job);
            }
            for (0..len) |_| {
                // A matmul that one thread computes alone has no executor that could fail.
                gemm.multiplyOriented(.plain(T), items.route, items.table, &problem, null) catch return items.failure.store(1, .monotonic);
                problem.a = generic.pointers.offsetConst(T, problem.a, a.innermostStride());
                problem.b = generic.pointers.offsetConst(T, problem.b, b.innermostStride());
                problem.out = generic.pointers.offset(T, problem.out, out.innermostStride());
            }
        }
    };
}
