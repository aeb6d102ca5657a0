//! out[i..., b...] = memory[offsets[i...] + b...] for elements of any type. Descriptions were validated in Rust; the offsets are checked here, in
//! the pass that uses them.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const blocks = @import("blocks.zig");

const View = strided.View;

/// Offsets in a buffer.
const tile_len = 512;
/// Bytes of results in one piece of work, as far as blocks are not larger.
const piece_bytes = 64 << 10;
/// Bytes that are prefetched of the next block.
const ahead_bytes = 1024;

pub fn gather(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.BlocksOptions) abi.Status {
    std.debug.assert(input_count == 2);
    return switch (blocks.itemBytes(out.?.dtype)) {
        inline 1, 2, 4, 8, 16 => |bytes| run(blocks.Item(bytes), &inputs.?[0], &inputs.?[1], out.?, options.?),
        else => unreachable,
    };
}

fn run(comptime T: type, x: *const abi.Tensor, offsets: *const abi.Tensor, out: *const abi.Tensor, options: *const abi.BlocksOptions) abi.Status {
    const target = blocks.anyView(out);
    if (target.len() == 0) return abi.ok;
    const at: View = .of(offsets);
    var places: strided.Space(1) = .of(.{&at});
    places.coalesce();
    var bad: blocks.Bad = .{};
    const block = blocks.space(options, &target.axes(at.rank, target.rank - at.rank));
    const job: Job(T) = .{
        .source = strided.dataOf(x),
        .target = target.address,
        .offsets = &at,
        .places = &places,
        .block = &block,
        .block_len = block.len(),
        .piece = @max(1, piece_bytes / (block.len() * @sizeOf(T))),
        .options = options,
        .bad = &bad,
    };
    parallel.run(options.executor, (places.len() + job.piece - 1) / job.piece, Job(T), &job) catch {
        return status.fail(abi.errors.internal, "the executor could not run the pieces of a gather", .{});
    };
    return bad.outcome(options, "gather");
}

fn Job(comptime T: type) type {
    return struct {
        source: usize,
        target: usize,
        offsets: *const View,
        places: *const strided.Space(1),
        /// View 0 is the memory, view 1 `out`.
        block: *const strided.Space(2),
        block_len: usize,
        /// Offsets of one piece.
        piece: usize,
        options: *const abi.BlocksOptions,
        bad: *blocks.Bad,

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const table = tensor_kernels.table(i64);
            const last = @min(end * job.piece, job.places.len());
            var buffer: [tile_len]i64 align(64) = undefined;
            var first = begin * job.piece;
            var walk = job.places.walk(0, first);
            while (first < last) {
                const len = @min(tile_len, last - first);
                strided.readElements(i64, table, job.offsets, &walk, len, &buffer);
                if (job.bad.note(job.options, buffer[0..len], first)) return;
                job.copy(buffer[0..len], first * job.block_len);
                first += len;
            }
        }

        /// The blocks at these offsets, adjacent in `out` from element `first` on.
        fn copy(job: *const @This(), offsets: []const i64, first: usize) void {
            const target = @as([*]T, @ptrFromInt(job.target)) + first;
            if (job.block_len == 1) {
                for (offsets, 0..) |offset, i| target[i] = blocks.at(T, job.source, offset).*;
                return;
            }
            const len = job.block_len;
            if (job.block.rank == 1 and job.block.strides[0][0] == 1) {
                for (offsets, 0..) |offset, i| {
                    if (i + 1 < offsets.len) {
                        // Blocks are anywhere, so no CPU foresees the next one.
                        const next: [*]const u8 = @ptrCast(blocks.at(T, job.source, offsets[i + 1]));
                        var byte: usize = 0;
                        while (byte < @min(len * @sizeOf(T), ahead_bytes)) : (byte += 64) @prefetch(next + byte, .{});
                    }
                    const source: [*]const T = @ptrCast(blocks.at(T, job.source, offset));
                    @memcpy(target[i * len ..][0..len], source[0..len]);
                }
                return;
            }
            const inner = job.block.innerLen();
            const step = job.block.innerStride(0);
            for (offsets, 0..) |offset, i| {
                var walk = job.block.walk(0, 0);
                var done: usize = i * len;
                while (done < (i + 1) * len) : (done += inner) {
                    const source = blocks.at(T, job.source, @as(isize, offset) + walk.start);
                    if (step == 1) {
                        @memcpy(target[done..][0..inner], @as([*]const T, @ptrCast(source))[0..inner]);
                    } else for (target[done..][0..inner], 0..) |*value, j| {
                        value.* = blocks.at(T, @intFromPtr(source), @as(isize, @intCast(j)) * step).*;
                    }
                    walk.pass(inner);
                }
            }
        }
    };
}
