//! The indices of the elements that are not zero, or elements of another array where they are not, in row-major order. Elements are counted in
//! pieces first, so that each piece knows where its results go. Descriptions were validated in Rust.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const blocks = @import("blocks.zig");

const View = strided.View;
const Storage = strided.Storage;
const Space = strided.Space(1);

pub fn nonzero(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.NonzeroOptions) abi.Status {
    std.debug.assert(input_count == 1 or input_count == 2);
    const given = options.?;
    const x: View = .of(&inputs.?[0]);
    const counts = given.counts.?[0..given.piece_count];
    if (x.len() == 0) {
        @memset(counts, 0);
        return abi.ok;
    }
    const outcome = if (input_count == 2)
        select(&x, counts, &inputs.?[1], out.?, given.executor)
    else if (out) |target|
        write(&x, counts, strided.dataOf(target), given.executor)
    else
        count(&x, counts, given.executor);
    outcome catch return status.fail(abi.errors.internal, "the executor could not run the pieces of nonzero", .{});
    return abi.ok;
}

fn count(x: *const View, counts: []u64, executor: ?*const abi.Executor) parallel.Error!void {
    var space: Space = .of(.{x});
    space.coalesce();
    switch (x.storage) {
        inline else => |storage| {
            const job: Counting(storage) = .{ .x = x, .space = &space, .counts = counts };
            try parallel.run(executor, counts.len, Counting(storage), &job);
        },
    }
}

fn write(x: *const View, counts: []const u64, target: usize, executor: ?*const abi.Executor) parallel.Error!void {
    // Axes of one element are kept: they have indices, too.
    var space: Space = .{ .rank = x.rank, .shape = x.shape, .strides = .{x.strides} };
    switch (x.storage) {
        inline else => |storage| {
            const job: Writing(storage) = .{ .x = x, .space = &space, .counts = counts, .target = @ptrFromInt(target) };
            try parallel.run(executor, counts.len, Writing(storage), &job);
        },
    }
}

fn select(mask: *const View, counts: []const u64, values: *const abi.Tensor, out: *const abi.Tensor, executor: ?*const abi.Executor) parallel.Error!void {
    const x = blocks.anyView(values);
    var space: strided.Space(2) = .of(.{ mask, &x });
    space.coalesce();
    switch (mask.storage) {
        inline else => |storage| switch (blocks.itemBytes(values.dtype)) {
            inline 1, 2, 4, 8, 16 => |bytes| {
                const T = blocks.Item(bytes);
                const job: Selecting(storage, T) = .{
                    .mask = mask,
                    .values = x.address,
                    .space = &space,
                    .counts = counts,
                    .target = @ptrFromInt(strided.dataOf(out)),
                };
                try parallel.run(executor, counts.len, Selecting(storage, T), &job);
            },
            else => unreachable,
        },
    }
}

/// NaN is not zero; -0.0 is.
inline fn isNonzero(comptime storage: Storage, value: storage.Raw()) bool {
    return if (storage == .bf16) value & 0x7fff != 0 else if (storage == .f16) @as(u16, @bitCast(value)) & 0x7fff != 0 else value != 0;
}

inline fn element(comptime storage: Storage, address: usize, elements: isize) storage.Raw() {
    const Raw = storage.Raw();
    return @as(*const Raw, @ptrFromInt(address +% @as(usize, @bitCast(elements * @sizeOf(Raw))))).*;
}

fn Counting(comptime storage: Storage) type {
    return struct {
        x: *const View,
        space: *const Space,
        counts: []u64,

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const len = job.space.len();
            const step = job.space.innerStride(0);
            for (begin..end) |piece| {
                const first = piece * len / job.counts.len;
                const last = (piece + 1) * len / job.counts.len;
                var walk = job.space.walk(0, first);
                var found: u64 = 0;
                var done = first;
                while (done < last) {
                    const run_len = @min(walk.runLen(), last - done);
                    const address = strided.addressAt(job.x, walk.start);
                    if (step == 1) {
                        const values: [*]const storage.Raw() = @ptrFromInt(address);
                        // Counts of so few values fit the bytes that vectors of bytes add up in.
                        var at: usize = 0;
                        while (at < run_len) {
                            var some: u8 = 0;
                            const part = @min(255, run_len - at);
                            for (values[at..][0..part]) |value| some += @intFromBool(isNonzero(storage, value));
                            found += some;
                            at += part;
                        }
                    } else for (0..run_len) |i| {
                        found += @intFromBool(isNonzero(storage, element(storage, address, @as(isize, @intCast(i)) * step)));
                    }
                    walk.pass(run_len);
                    done += run_len;
                }
                job.counts[piece] = found;
            }
        }
    };
}

fn Writing(comptime storage: Storage) type {
    return struct {
        x: *const View,
        space: *const Space,
        counts: []const u64,
        target: [*]i64,

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const len = job.space.len();
            const rank = job.space.rank;
            const step = job.space.innerStride(0);
            if (rank == 0) return;
            var before: u64 = 0;
            for (job.counts[0..begin]) |one| before += one;
            for (begin..end) |piece| {
                const first = piece * len / job.counts.len;
                const last = (piece + 1) * len / job.counts.len;
                // A piece without any is passed over.
                if (job.counts[piece] == 0) continue;
                var row = job.target + before * rank;
                before += job.counts[piece];
                const end_of_rows = job.target + before * rank;
                var walk = job.space.walk(0, first);
                var done = first;
                while (done < last and row != end_of_rows) {
                    const run_len = @min(walk.runLen(), last - done);
                    const address = strided.addressAt(job.x, walk.start);
                    const place = walk.index[rank - 1];
                    for (0..run_len) |i| {
                        if (!isNonzero(storage, element(storage, address, @as(isize, @intCast(i)) * step))) continue;
                        for (0..rank - 1) |axis| row[axis] = @intCast(walk.index[axis]);
                        row[rank - 1] = @intCast(place + i);
                        row += rank;
                    }
                    walk.pass(run_len);
                    done += run_len;
                }
            }
        }
    };
}

fn Selecting(comptime storage: Storage, comptime T: type) type {
    return struct {
        mask: *const View,
        values: usize,
        /// View 0 is the mask, view 1 the values.
        space: *const strided.Space(2),
        counts: []const u64,
        target: [*]T,

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const len = job.space.len();
            var before: u64 = 0;
            for (job.counts[0..begin]) |one| before += one;
            for (begin..end) |piece| {
                const first = piece * len / job.counts.len;
                const last = (piece + 1) * len / job.counts.len;
                if (job.counts[piece] == 0) continue;
                const chosen = job.target[before..][0..job.counts[piece]];
                before += chosen.len;
                job.choose(first, last, chosen);
            }
        }

        /// The values of elements [first, last), of which as many are chosen as there is room for.
        fn choose(job: *const @This(), first: usize, last: usize, chosen: []T) void {
            var of_mask = job.space.walk(0, first);
            var of_values = job.space.walk(1, first);
            const mask_step = job.space.innerStride(0);
            const value_step = job.space.innerStride(1);
            var found: usize = 0;
            var done = first;
            while (done < last) {
                const run_len = @min(of_mask.runLen(), last - done);
                const address = strided.addressAt(job.mask, of_mask.start);
                const source = @intFromPtr(blocks.at(T, job.values, of_values.start));
                for (0..run_len) |i| {
                    if (found == chosen.len) return;
                    const index: isize = @intCast(i);
                    // Written whether it is chosen or not: nobody foresees which are.
                    chosen[found] = blocks.at(T, source, index * value_step).*;
                    found += @intFromBool(isNonzero(storage, element(storage, address, index * mask_step)));
                }
                of_mask.pass(run_len);
                of_values.pass(run_len);
                done += run_len;
            }
        }
    };
}
