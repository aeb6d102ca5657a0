//! Where values belong in a sorted line. Arguments were validated in Rust.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const sort_order = @import("sort_order.zig");

const View = strided.View;
const Storage = strided.Storage;

/// Values of one piece of work.
const piece_len = 1024;

pub fn searchSorted(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.SearchSortedOptions) abi.Status {
    std.debug.assert(input_count == 2);
    const sorted: View = .of(&inputs.?[0]);
    const values: View = .of(&inputs.?[1]);
    const target: View = .of(out.?);
    if (values.len() == 0) return abi.ok;
    const space: strided.Space(2) = .of(.{ &target, &values });
    const outcome = switch (sorted.storage) {
        inline else => |storage| run: {
            const job: Job(storage) = .{
                .sorted = &sorted,
                .values = &values,
                .target = &target,
                .space = &space,
                .is_right = options.?.is_right != 0,
            };
            break :run parallel.run(options.?.executor, (space.len() + piece_len - 1) / piece_len, Job(storage), &job);
        },
    };
    outcome catch return status.fail(abi.errors.internal, "the executor could not run the pieces of searchsorted", .{});
    return abi.ok;
}

fn Job(comptime storage: Storage) type {
    const Order = sort_order.Order(storage, true);
    const Raw = storage.Raw();
    return struct {
        sorted: *const View,
        values: *const View,
        target: *const View,
        space: *const strided.Space(2),
        is_right: bool,

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            for (begin * piece_len..@min(end * piece_len, job.space.len())) |flat| {
                const places = job.space.offsets(flat);
                const value: *const Raw = @ptrFromInt(strided.addressAt(job.values, places[1]));
                const target: *i64 = @ptrFromInt(strided.addressAt(job.target, places[0]));
                target.* = @intCast(job.search(value.*));
            }
        }

        fn search(job: *const @This(), value: Raw) usize {
            const order: Order = .of(false);
            const own = order.key(value);
            var first: usize = 0;
            var count = job.sorted.shape[0];
            while (count > 0) {
                const half = count / 2;
                const place: isize = @intCast(first + half);
                const element: *const Raw = @ptrFromInt(strided.addressAt(job.sorted, place * job.sorted.strides[0]));
                const key = order.key(element.*);
                if (key < own or (job.is_right and key == own)) {
                    first += half + 1;
                    count -= half + 1;
                } else count = half;
            }
            return first;
        }
    };
}
