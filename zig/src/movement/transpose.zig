//! Copies between views of one shape and element size with any strides. Arguments were validated in Rust; the two share no memory.
//!
//! Where the elements that are neighbours in one are not in the other, blocks of both axes are transposed in registers or pass through a buffer, so
//! that every cache line that is touched is used whole.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const View = strided.View;
const Space = strided.Space(2);

/// A quarter of the distance after which addresses fall into one set of the first cache: 64 sets of 64 bytes.
const crowded_bytes = 1024;
/// Bytes of one piece of work where runs are copied.
const piece_bytes = 64 << 10;

pub fn transpose(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.TransposeOptions) abi.Status {
    std.debug.assert(input_count == 1);
    const x: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    std.debug.assert(x.storage.bytes() == target.storage.bytes());
    const outcome = switch (target.storage.bytes()) {
        1 => run(u8, &x, &target, options.?.executor),
        2 => run(u16, &x, &target, options.?.executor),
        4 => run(u32, &x, &target, options.?.executor),
        8 => run(u64, &x, &target, options.?.executor),
        else => unreachable,
    };
    outcome catch return status.fail(abi.errors.internal, "the executor could not run the blocks of a copy", .{});
    return abi.ok;
}

pub fn run(comptime T: type, x: *const View, out: *const View, executor: ?*const abi.Executor) parallel.Error!void {
    if (out.len() == 0) return;
    var space: Space = .of(.{ out, x });
    space.sort();
    space.coalesce();
    if (space.rank == 0) space.rank = 1;
    const inner = space.rank - 1;
    var other = inner;
    for (0..inner) |axis| {
        if (@abs(space.strides[1][axis]) < @abs(space.strides[1][other])) other = axis;
    }
    if (other == inner) {
        const run_bytes = space.shape[inner] * @sizeOf(T);
        const runs: Runs(T) = .{ .out = out, .x = x, .space = &space, .piece_runs = @max(1, piece_bytes / run_bytes) };
        const count = space.len() / space.shape[inner];
        return parallel.run(executor, (count + runs.piece_runs - 1) / runs.piece_runs, Runs(T), &runs);
    }
    // The two axes of a block come last.
    std.mem.swap(usize, &space.shape[other], &space.shape[inner - 1]);
    for (&space.strides) |*strides| std.mem.swap(isize, &strides[other], &strides[inner - 1]);
    const down_cut: Cut(T) = .of(space.shape[inner - 1], x.address, space.strides[1][inner]);
    const across_cut: Cut(T) = .of(space.shape[inner], out.address, space.strides[0][inner - 1]);
    const down = down_cut.blocks();
    const across = across_cut.blocks();
    const blocks: Blocks(T) = .{
        .out = out,
        .x = x,
        .space = &space,
        .down = down,
        .across = across,
        .down_cut = down_cut,
        .across_cut = across_cut,
        // What is read takes as much room as what is written. Not `streamedBytes`: tiles write lines in no order that memory likes, 4096 x 4096
        // float32 take 26.6 ms past the caches of an Intel Xeon (Granite Rapids) and 17.4 through them.
        .streams = 2 * out.len() * @sizeOf(T) >= kernels.info().caches.level3_bytes,
    };
    const planes = strided.product(space.shape[0 .. inner - 1]);
    try parallel.run(executor, planes * down * across, Blocks(T), &blocks);
}

inline fn at(comptime T: type, address: usize, elements: isize) *T {
    return @ptrFromInt(address +% @as(usize, @bitCast(elements * @sizeOf(T))));
}

/// Runs that both views walk along the same axis.
fn Runs(comptime T: type) type {
    return struct {
        out: *const View,
        x: *const View,
        space: *const Space,
        piece_runs: usize,

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const space = job.space;
            const len = space.innerLen();
            const count = space.len() / len;
            const to_step = space.innerStride(0);
            const from_step = space.innerStride(1);
            for (begin * job.piece_runs..@min(end * job.piece_runs, count)) |line| {
                const to = strided.addressAt(job.out, space.offset(0, line * len));
                const from = strided.addressAt(job.x, space.offset(1, line * len));
                if (to_step == 1 and from_step == 1) {
                    const target: [*]T = @ptrFromInt(to);
                    const source: [*]const T = @ptrFromInt(from);
                    @memcpy(target[0..len], source[0..len]);
                } else for (0..len) |i| {
                    const place: isize = @intCast(i);
                    at(T, to, place * to_step).* = at(T, from, place * from_step).*;
                }
            }
        }
    };
}

/// An axis cut into blocks that begin with cache lines, where all rows do in the same places: a line that two blocks share is fetched twice.
fn Cut(comptime T: type) type {
    return struct {
        extent: usize,
        /// Elements by which the first block is shorter.
        lead: usize,

        const edge = Blocks(T).edge;
        const line_len = 64 / @sizeOf(T);

        /// Rows are adjacent elements from `address` on, `step` elements apart. Few blocks are not worth that the first and the last are short.
        fn of(extent: usize, address: usize, step: isize) @This() {
            const gains = @mod(step, line_len) == 0 and extent >= 4 * edge;
            return .{ .extent = extent, .lead = if (gains) address / @sizeOf(T) % line_len else 0 };
        }

        fn blocks(cut: *const @This()) usize {
            return (cut.extent + cut.lead + edge - 1) / edge;
        }

        fn first(cut: *const @This(), block: usize) usize {
            return block * edge -| cut.lead;
        }

        fn len(cut: *const @This(), block: usize) usize {
            return @min(cut.extent, (block + 1) * edge - cut.lead) - cut.first(block);
        }
    };
}

/// Blocks whose neighbours are along the last axis in `out` and along the one before in x.
fn Blocks(comptime T: type) type {
    return struct {
        out: *const View,
        x: *const View,
        space: *const Space,
        down: usize,
        across: usize,
        down_cut: Cut(T),
        across_cut: Cut(T),
        /// Whether results are too many for the caches and bypass them.
        streams: bool,

        /// The float whose vectors carry the elements, where there is one of their size.
        const Carrier = switch (@sizeOf(T)) {
            4 => f32,
            8 => f64,
            else => void,
        };

        /// Edge of a block: narrow elements are one or two cache lines.
        const edge = if (Carrier == void) 64 else generic.transpose_kernel.blockEdge(Carrier);
        /// Odd, so that a column of the buffer does not fall into one set of the cache.
        const buffer_stride = edge + 1;

        /// Flat index in its plane of where a block begins.
        fn within(job: *const @This(), item: usize) usize {
            return job.down_cut.first(item / job.across % job.down) * job.space.innerLen() + job.across_cut.first(item % job.across);
        }

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const space = job.space;
            const inner = space.rank - 1;
            const is_transposed = Carrier != void and space.strides[1][inner - 1] == 1 and space.strides[0][inner] == 1;
            const plane_len = space.shape[inner] * space.shape[inner - 1];
            // Rows of the target whose lines fall into few sets of a cache push each other out before they are whole.
            const crowds = @mod(space.strides[0][inner - 1] * @sizeOf(T), crowded_bytes) == 0;
            const table = if (Carrier == void) {} else tensor_kernels.table(Carrier);
            var buffer: [edge * buffer_stride]T align(64) = undefined;
            for (begin..end) |item| {
                const plane = item / (job.down * job.across);
                const rows = job.down_cut.len(item / job.across % job.down);
                const columns = job.across_cut.len(item % job.across);
                const first = plane * plane_len + job.within(item);
                const from = strided.addressAt(job.x, space.offset(1, first));
                const to = strided.addressAt(job.out, space.offset(0, first));
                const from_row = space.strides[1][inner - 1];
                const from_column = space.strides[1][inner];
                if (Carrier != void and is_transposed) {
                    const next = @min(item + 1, end - 1);
                    const next_first = next / (job.down * job.across) * plane_len + job.within(next);
                    const move: generic.transpose_kernel.Transpose(Carrier) = .{
                        .rows = columns,
                        .columns = rows,
                        .source = @ptrFromInt(from),
                        .source_row = from_column,
                        .target = @ptrFromInt(to),
                        .target_column = space.strides[0][inner - 1],
                        .ahead = space.offset(1, next_first) - space.offset(1, first),
                    };
                    if (!job.streams and !crowds) {
                        table.transpose(&move);
                    } else {
                        table.transpose_block(&.{ .transpose = move, .target_ahead = space.offset(0, next_first) - space.offset(0, first), .streams = job.streams });
                    }
                    continue;
                }
                for (0..columns) |j| {
                    const line: isize = @as(isize, @intCast(j)) * from_column;
                    if (from_row == 1) {
                        const source: [*]const T = @ptrCast(at(T, from, line));
                        @memcpy(buffer[j * buffer_stride ..][0..rows], source[0..rows]);
                    } else for (0..rows) |i| {
                        buffer[j * buffer_stride + i] = at(T, from, line + @as(isize, @intCast(i)) * from_row).*;
                    }
                }
                const to_row = space.strides[0][inner - 1];
                const to_column = space.strides[0][inner];
                for (0..rows) |i| {
                    const line: isize = @as(isize, @intCast(i)) * to_row;
                    if (to_column == 1) {
                        const target: [*]T = @ptrCast(at(T, to, line));
                        for (target[0..columns], 0..) |*value, j| value.* = buffer[j * buffer_stride + i];
                    } else for (0..columns) |j| {
                        at(T, to, line + @as(isize, @intCast(j)) * to_column).* = buffer[j * buffer_stride + i];
                    }
                }
            }
            if (job.streams) generic.stream_store.finish();
        }
    };
}
