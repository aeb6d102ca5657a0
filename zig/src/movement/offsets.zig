//! Where elements lie that arrays of indices name: sums of indices times strides. Descriptions were validated in Rust; the indices themselves are
//! looked at in the pass that computes the offsets.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const View = strided.View;
const Space = strided.Space(1);

/// Offsets of one piece of work; a buffer of so many indices stays in the first cache.
const piece_len = 2048;
/// More arrays of indices than axes there are not.
const most_arrays = strided.max_rank;

pub fn offsets(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.OffsetsOptions) abi.Status {
    std.debug.assert(input_count >= 1 and input_count <= most_arrays);
    const given = options.?;
    var views: [most_arrays]View = undefined;
    var spaces: [most_arrays]Space = undefined;
    for (inputs.?[0..input_count], 0..) |*tensor, k| {
        views[k] = .of(tensor);
        spaces[k] = .of(.{&views[k]});
        spaces[k].coalesce();
    }
    const target: View = .of(out.?);
    const count = target.len();
    if (count == 0) return abi.ok;
    var first_bad: std.atomic.Value(u64) = .init(no_place);
    const job: Job = .{
        .views = views[0..input_count],
        .spaces = spaces[0..input_count],
        .options = given,
        .target = @as([*]i64, @ptrFromInt(target.address))[0..count],
        .first_bad = &first_bad,
    };
    parallel.run(given.executor, (count + piece_len - 1) / piece_len, Job, &job) catch {
        return status.fail(abi.errors.internal, "the executor could not run the pieces of offsets", .{});
    };
    const bad = first_bad.load(.monotonic);
    return if (bad == no_place) abi.ok else job.fail(bad);
}

const no_place = std.math.maxInt(u64);
/// The array stands above the place, so that the smallest number is the first bad place of the first array that has one.
const place_bits = 56;

const Job = struct {
    views: []const View,
    spaces: []const Space,
    options: *const abi.OffsetsOptions,
    target: []i64,
    first_bad: *std.atomic.Value(u64),

    pub fn run(job: *const Job, begin: usize, end: usize) void {
        const table = tensor_kernels.table(i64);
        var buffer: [piece_len]i64 align(64) = undefined;
        for (begin..end) |piece| {
            const first = piece * piece_len;
            const sums = job.target[first..@min(first + piece_len, job.target.len)];
            for (job.views, job.spaces, 0..) |view, *space, k| {
                const extent = job.options.extents.?[k];
                const stride = job.options.strides.?[k];
                var read = view;
                // No extent is so large that the bits of a larger uint64 would be an index.
                if (read.storage == .u64) read.storage = .i64;
                const is_unsigned = view.storage == .u64;
                var walk = space.walk(0, first);
                strided.readElements(i64, table, &read, &walk, sums.len, &buffer);
                var are_good = true;
                for (buffer[0..sums.len], sums) |index, *sum| {
                    const place = if (index < 0) index +% extent else index;
                    are_good = are_good and @as(u64, @bitCast(place)) < @as(u64, @intCast(extent)) and !(is_unsigned and index < 0);
                    sum.* = (if (k == 0) 0 else sum.*) +% place *% stride;
                }
                if (!are_good) job.note(k, first, buffer[0..sums.len], is_unsigned);
            }
        }
    }

    fn note(job: *const Job, k: usize, first: usize, indices: []const i64, is_unsigned: bool) void {
        const extent = job.options.extents.?[k];
        for (indices, first..) |index, place| {
            if (index < extent and index >= -extent and !(is_unsigned and index < 0)) continue;
            _ = job.first_bad.fetchMin(@as(u64, k) << place_bits | place, .monotonic);
            return;
        }
    }

    fn fail(job: *const Job, bad: u64) abi.Status {
        const k = bad >> place_bits;
        const place = bad & ((1 << place_bits) - 1);
        const address = strided.addressAt(&job.views[k], job.spaces[k].offset(0, place));
        const index: i128 = switch (job.views[k].storage) {
            inline .u8, .u16, .u32, .u64, .i8, .i16, .i32, .i64 => |storage| @as(*const storage.Raw(), @ptrFromInt(address)).*,
            else => unreachable,
        };
        return status.fail(abi.errors.index_out_of_range, "index {d} is out of bounds for axis {d} with size {d}: it stands at place {d} of the indices", .{
            index, job.options.axes.?[k], job.options.extents.?[k], place,
        });
    }
};
