//! out[i..., :] = table[indices[i...], :] for elements of any type. Descriptions were validated in Rust; the indices themselves are looked at
//! here, before anything is written.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const View = strided.View;

/// Number of rows in one piece of work.
const piece_rows = 64;
/// Bytes of rows that are prefetched before they are copied.
const ahead_bytes = 4096;

pub fn embedding(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.EmbeddingOptions) abi.Status {
    std.debug.assert(input_count == 2);
    const table: View = .of(&inputs.?[0]);
    const indices: View = .of(&inputs.?[1]);
    const target: View = .of(out.?);
    const index_space = strided.Space(1).of(.{&indices});
    const rows = table.shape[0];
    var walk = index_space.walk(0, 0);
    for (0..indices.len()) |position| {
        const index = read(&indices, walk.start);
        if (index < 0 or index >= rows) {
            return status.fail(abi.errors.invalid_argument, "embedding: index {d} at place {d} is not a row of a table of {d}", .{ index, position, rows });
        }
        walk.pass(1);
    }
    const looked_up = target.axes(0, indices.rank);
    const job: Job = .{
        .table = &table,
        .indices = &indices,
        .out = &target,
        .rows = .of(.{ &looked_up, &indices }),
        .row = .of(.{ &target.axes(indices.rank, table.rank - 1), &table.axes(1, table.rank - 1) }),
        .row_stride = table.strides[0],
    };
    if (target.len() == 0) return abi.ok;
    parallel.run(options.?.executor, (indices.len() + piece_rows - 1) / piece_rows, Job, &job) catch {
        return status.fail(abi.errors.internal, "the executor could not run the pieces of an embedding", .{});
    };
    return abi.ok;
}

fn read(indices: *const View, offset: isize) i64 {
    const address = strided.addressAt(indices, offset);
    return switch (indices.storage) {
        .i32 => @as(*const i32, @ptrFromInt(address)).*,
        .i64 => @as(*const i64, @ptrFromInt(address)).*,
        else => unreachable,
    };
}

const Job = struct {
    table: *const View,
    indices: *const View,
    out: *const View,
    /// View 0 is `out`, view 1 the indices.
    rows: strided.Space(2),
    /// View 0 is `out`, view 1 the table.
    row: strided.Space(2),
    row_stride: isize,

    pub fn run(job: *const Job, begin: usize, end: usize) void {
        const last = @min(end * piece_rows, job.rows.len());
        var row = job.row;
        row.coalesce();
        const is_dense = row.isDense(0) and row.isDense(1);
        const row_bytes = row.len() * job.out.storage.bytes();
        const ahead = @max(1, ahead_bytes / @max(1, row_bytes));
        for (begin * piece_rows..last) |flat| {
            if (is_dense and flat + ahead < last) {
                // Rows are anywhere, so no CPU foresees the next one.
                const next: isize = @intCast(read(job.indices, job.rows.offset(1, flat + ahead)));
                const source: [*]const u8 = @ptrFromInt(strided.addressAt(job.table, next * job.row_stride));
                var byte: usize = 0;
                while (byte < @min(row_bytes, ahead_bytes)) : (byte += 64) @prefetch(source + byte, .{});
            }
            const index: isize = @intCast(read(job.indices, job.rows.offset(1, flat)));
            if (is_dense) {
                const source = strided.addressAt(job.table, index * job.row_stride);
                copyAdjacent(job.out.storage.bytes(), strided.addressAt(job.out, job.rows.offset(0, flat)), source, row.len());
                continue;
            }
            var from = row.walk(1, 0);
            var to = row.walk(0, 0);
            from.start += index * job.row_stride;
            to.start += job.rows.offset(0, flat);
            var done: usize = 0;
            while (done < row.len()) {
                const count = from.runLen();
                copyRun(
                    job.out.storage.bytes(),
                    strided.addressAt(job.out, to.start),
                    row.innerStride(0),
                    strided.addressAt(job.table, from.start),
                    row.innerStride(1),
                    count,
                );
                from.pass(count);
                to.pass(count);
                done += count;
            }
        }
    }
};

/// Copies elements of one size.
fn copyRun(bytes: usize, to: usize, to_step: isize, from: usize, from_step: isize, count: usize) void {
    if (count == 1 or (to_step == 1 and from_step == 1)) return copyAdjacent(bytes, to, from, count);
    switch (bytes) {
        inline 1, 2, 4, 8 => |size| {
            const Bits = @Int(.unsigned, 8 * size);
            for (0..count) |i| {
                const index: isize = @intCast(i);
                const source: *const Bits = @ptrFromInt(from +% @as(usize, @bitCast(index * from_step * size)));
                const target: *Bits = @ptrFromInt(to +% @as(usize, @bitCast(index * to_step * size)));
                target.* = source.*;
            }
        },
        else => unreachable,
    }
}

/// With the vectors of this CPU, where elements are wide enough for them to be aligned.
fn copyAdjacent(bytes: usize, to: usize, from: usize, count: usize) void {
    switch (bytes) {
        4 => tensor_kernels.table(i32).load(&.{ .storage = .i32, .address = from, .step = 1, .len = count, .target = @ptrFromInt(to) }),
        8 => tensor_kernels.table(i64).load(&.{ .storage = .i64, .address = from, .step = 1, .len = count, .target = @ptrFromInt(to) }),
        else => {
            const target: [*]u8 = @ptrFromInt(to);
            const source: [*]const u8 = @ptrFromInt(from);
            @memcpy(target[0 .. count * bytes], source[0 .. count * bytes]);
        },
    }
}
