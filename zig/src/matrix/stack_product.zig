//! Stacks of plain products with nothing after the sums: the way is chosen once for all of them, and runs of small ones are one call.
//!
//! Each product takes the way that it takes alone, so that its bits are the same in a stack.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const blocking = @import("blocking.zig");
const kernels = @import("kernels.zig");
const parallel = @import("parallel.zig");
const product = @import("product.zig");
const stack = @import("stack.zig");

/// Multiply-adds that one thread takes at a time: a microsecond, ten times what taking them costs.
const item_multiply_adds = 1 << 15;

/// `first` is the product of the first matrices of the stacks, which are not empty.
pub fn multiply(comptime T: type, stacks: *const stack.Operands, first: *const product.Problem(.plain(T)), executor: ?*const abi.Executor) product.Error!void {
    const table = kernels.table(T);
    const plan = blocking.plan(.plain(T), table, first);
    const count = stacks.out.count();
    var failure: std.atomic.Value(u8) = .init(0);
    const items: Items(T) = .{
        .stacks = stacks,
        .table = table,
        .turned = &plan.turned,
        .route = plan.route,
        .count = count,
        .item_len = std.math.clamp(item_multiply_adds / @max(1, first.rows *| first.columns *| first.depth), 1, count),
        .failure = &failure,
    };
    try parallel.run(executor, blocking.divideUp(count, items.item_len), Items(T), &items);
    if (failure.load(.monotonic) != 0) return error.OutOfMemory;
}

fn Items(comptime T: type) type {
    return struct {
        stacks: *const stack.Operands,
        table: *const generic.table.Table(.plain(T)),
        turned: *const product.Problem(.plain(T)),
        route: blocking.Route,
        count: usize,
        item_len: usize,
        failure: *std.atomic.Value(u8),

        const Self = @This();

        pub fn run(items: *const Self, begin: usize, end: usize) void {
            var index = begin * items.item_len;
            const last = @min(items.count, end * items.item_len);
            const out = &items.stacks.out;
            const run_len = if (out.axes == 0) 1 else out.extents[out.axes - 1];
            while (index < last) {
                // Along the innermost axis matrices follow each other at one distance.
                const len = @min(last - index, run_len - index % run_len);
                items.line(index, len);
                index += len;
            }
        }

        fn line(items: *const Self, index: usize, len: usize) void {
            var problem = items.turned.*;
            const left, const right = if (problem.is_transposed) .{ &items.stacks.b, &items.stacks.a } else .{ &items.stacks.a, &items.stacks.b };
            const out = &items.stacks.out;
            problem.left = left.at(index).ptr(T);
            problem.right = right.at(index).ptr(T);
            problem.out = out.at(index).ptr(T);
            if (items.route == .small and problem.depth > 0) {
                var job = product.smallOf(.plain(T), &problem);
                job.count = len;
                job.left_next = left.innermostStride();
                job.right_next = right.innermostStride();
                job.out_next = out.innermostStride();
                return items.table.small(&job);
            }
            for (0..len) |_| {
                // Alone on its thread a product has no executor to fail.
                product.multiplyTurned(.plain(T), items.route, items.table, &problem, null) catch return items.failure.store(1, .monotonic);
                problem.left = generic.micro_kernel.offsetConst(T, problem.left, left.innermostStride());
                problem.right = generic.micro_kernel.offsetConst(T, problem.right, right.innermostStride());
                problem.out = generic.micro_kernel.offset(T, problem.out, out.innermostStride());
            }
        }
    };
}
