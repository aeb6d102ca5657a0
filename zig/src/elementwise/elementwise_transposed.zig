//! Elementwise operations where the neighbours of an operand lie along another axis than those of `out`: the index space is cut into square
//! tiles of both axes, and an operand's tile stands transposed in the first cache before the operation goes over its rows. Every cache line that
//! is touched is then used whole.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const elementwise_job = @import("elementwise_job.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const kernel = generic.elementwise_kernel;
const operand_count = elementwise_job.operand_count;
const Space = elementwise_job.Space;
const View = strided.View;

/// Extents from which tiles pay: half of a cache line of elements that are four bytes wide.
const least_extent = 8;

/// The axis along which some input has its neighbours though `out` has them along the innermost one.
pub fn transposedAxis(space: *const Space, inputs: usize) ?usize {
    if (space.rank < 2 or space.innerLen() < least_extent) return null;
    const inner = space.rank - 1;
    for (1..1 + inputs) |k| {
        var nearest = inner;
        for (0..inner) |axis| {
            const is_walked = space.strides[k][axis] != 0 and space.shape[axis] >= least_extent;
            if (is_walked and @abs(space.strides[k][axis]) < @abs(space.strides[k][nearest])) nearest = axis;
        }
        if (nearest != inner) return nearest;
    }
    return null;
}

pub fn Job(comptime T: type) type {
    return struct {
        given: *const elementwise_job.Job(T),
        /// As that of `given`, with the two axes of a tile last.
        space: Space,
        count: usize,
        kinds: [operand_count]Kind,
        down: usize,
        across: usize,

        const Self = @This();
        /// As many bytes of a row as of a column.
        const edge = 256 / @sizeOf(T);

        comptime {
            // A line also holds the one value of an operand that is the same everywhere.
            std.debug.assert(edge >= @typeInfo(kernel.Splat(T)).array.len);
        }

        const Tile = [edge * edge]T;

        /// How the row of an operand's tile is come by.
        const Kind = enum {
            /// Where it is.
            direct,
            /// One element throughout the row.
            splat,
            /// From the transposed tile.
            transposed,
            /// Through a buffer.
            read,
        };

        /// The float whose vectors carry the elements.
        const Carrier = if (@sizeOf(T) == 4) f32 else f64;

        pub fn of(given: *const elementwise_job.Job(T), axis: usize) Self {
            var space = given.space;
            const inner = space.rank - 1;
            std.mem.swap(usize, &space.shape[axis], &space.shape[inner - 1]);
            for (&space.strides) |*strides| std.mem.swap(isize, &strides[axis], &strides[inner - 1]);
            var kinds: [operand_count]Kind = @splat(.read);
            for (0..1 + given.count) |k| {
                const along = space.strides[k][inner];
                const down = space.strides[k][inner - 1];
                kinds[k] = if (along == 0)
                    .splat
                else if (along == 1 and given.views[k].storage.is(T))
                    .direct
                else if (k > 0 and down != 0 and @abs(down) < @abs(along)) .transposed else .read;
            }
            return .{
                .given = given,
                .space = space,
                .count = given.count,
                .kinds = kinds,
                .down = (space.shape[inner - 1] + edge - 1) / edge,
                .across = (space.shape[inner] + edge - 1) / edge,
            };
        }

        pub fn tiles(job: *const Self) usize {
            return strided.product(job.space.shape[0 .. job.space.rank - 2]) * job.down * job.across;
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const inner = job.space.rank - 1;
            const plane_len = job.space.shape[inner] * job.space.shape[inner - 1];
            for (begin..end) |item| {
                const row = item / job.across % job.down * edge;
                const column = item % job.across * edge;
                job.tile(
                    item / (job.down * job.across) * plane_len + row * job.space.shape[inner] + column,
                    @min(edge, job.space.shape[inner - 1] - row),
                    @min(edge, job.space.shape[inner] - column),
                );
            }
            if (job.given.streams) generic.stream_store.finish();
        }

        fn tile(job: *const Self, first: usize, rows: usize, columns: usize) void {
            const given = job.given;
            const inner = job.space.rank - 1;
            var transposed: [operand_count]Tile align(64) = undefined;
            var lines: [operand_count][edge]T align(64) = undefined;
            var starts: [operand_count]isize = undefined;
            for (0..1 + job.count) |k| {
                starts[k] = job.space.offset(k, first);
                if (job.kinds[k] == .transposed) job.transpose(k, starts[k], rows, columns, &transposed[k]);
            }
            var step: kernel.Run(T) = .{
                .operation = given.operation,
                .inputs = undefined,
                .out = @ptrCast(&lines[0]),
                .len = columns,
                .alpha = given.alpha,
            };
            for (0..rows) |row| {
                for (1..1 + job.count) |k| {
                    const input = &step.inputs[k - 1];
                    const offset = starts[k] + @as(isize, @intCast(row)) * job.space.strides[k][inner - 1];
                    const address = strided.addressAt(&given.views[k], offset);
                    input.mask = if (job.kinds[k] == .splat) 0 else std.math.maxInt(usize);
                    input.ptr = switch (job.kinds[k]) {
                        .direct => direct: {
                            prefetch(address, .read);
                            break :direct @ptrFromInt(address);
                        },
                        .transposed => transposed[k][row * edge ..].ptr,
                        .splat, .read => &lines[k],
                    };
                    const is_same = row > 0 and job.space.strides[k][inner - 1] == 0;
                    if (is_same or job.kinds[k] == .direct or job.kinds[k] == .transposed) continue;
                    given.table.load(&.{
                        .storage = given.views[k].storage,
                        .address = address,
                        .step = job.space.strides[k][inner],
                        .len = if (job.kinds[k] == .splat) kernel.vectors_together * given.table.lanes else columns,
                        .target = &lines[k],
                    });
                }
                const offset = starts[0] + @as(isize, @intCast(row)) * job.space.strides[0][inner - 1];
                job.compute(&step, &lines[0], offset);
            }
        }

        fn compute(job: *const Self, step: *kernel.Run(T), line: *[edge]T, offset: isize) void {
            const given = job.given;
            const out = &given.views[0];
            const address = strided.addressAt(out, offset);
            if (given.writes_out and !given.streams) {
                prefetch(address, .write);
                step.out = @ptrFromInt(address);
                return given.table.elementwise(step);
            }
            given.table.elementwise(step);
            if (given.streams) return given.table.stream(@ptrFromInt(address), @ptrCast(line), step.len * @sizeOf(T));
            if (kernel.isPredicate(given.operation)) elementwise_job.widenTruth(T, line[0..step.len]);
            given.table.store(&.{
                .storage = out.storage,
                .address = address,
                .step = job.space.innerStride(0),
                .len = step.len,
                .source = line,
            });
        }

        /// The line in the next tile that belongs to this one: a run of a tile is too short for a CPU to follow by itself.
        inline fn prefetch(address: usize, comptime access: std.builtin.PrefetchOptions.Rw) void {
            const next: [*]const u8 = @ptrFromInt(address +% edge * @sizeOf(T));
            inline for (0..edge * @sizeOf(T) / 64) |line| @prefetch(next + line * 64, .{ .rw = access });
        }

        /// Rows of `target` are rows of the tile.
        fn transpose(job: *const Self, k: usize, start: isize, rows: usize, columns: usize, target: *Tile) void {
            const view = &job.given.views[k];
            const along = job.space.innerStride(k);
            const down = job.space.strides[k][job.space.rank - 2];
            const table = tensor_kernels.tableLike(Carrier, T, job.given.table);
            if (down == 1 and view.storage.is(T)) return table.transpose(&.{
                .rows = columns,
                .columns = rows,
                .source = @ptrFromInt(strided.addressAt(view, start)),
                .source_row = along,
                .target = @ptrCast(target),
                .target_column = edge,
                .ahead = edge * along,
            });
            var read: Tile align(64) = undefined;
            for (0..columns) |column| job.given.table.load(&.{
                .storage = view.storage,
                .address = strided.addressAt(view, start + @as(isize, @intCast(column)) * along),
                .step = down,
                .len = rows,
                .target = read[column * edge ..].ptr,
            });
            table.transpose(&.{
                .rows = columns,
                .columns = rows,
                .source = @ptrCast(&read),
                .source_row = edge,
                .target = @ptrCast(target),
                .target_column = edge,
            });
        }
    };
}
