//! memory[offsets[i...] + b...] takes in values[i..., b...], in the order of the values. Descriptions were validated in Rust; the offsets are
//! checked here before anything is written.
//!
//! Offsets may be equal, so that no two threads take different ones: large blocks are shared out by their elements, small ones are left to one.
//! Blocks at different offsets share no element but the same of both.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const blocks = @import("blocks.zig");
const narrow_floats = @import("narrow_floats.zig");

const View = strided.View;
const Storage = strided.Storage;

/// Offsets in a buffer.
const tile_len = 512;
/// Elements of a block that one thread takes at least: below that, every thread reads all offsets for little.
const least_part = 256;

const Mode = enum(u32) {
    assign = abi.scatter_assign,
    add = abi.scatter_add,
    multiply = abi.scatter_multiply,
    maximum = abi.scatter_maximum,
    minimum = abi.scatter_minimum,
};

pub fn scatter(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.BlocksOptions) abi.Status {
    std.debug.assert(input_count == 2);
    const mode: Mode = @fromBackingInt(@intCast(options.?.mode));
    const writePart = if (mode == .assign) switch (blocks.itemBytes(out.?.dtype)) {
        inline 1, 2, 4, 8, 16 => |bytes| &Part(Assigned(blocks.Item(bytes))).write,
        else => unreachable,
    } else switch (View.of(out.?).storage) {
        inline else => |storage| switch (mode) {
            .assign => unreachable,
            inline else => |known| &Part(Joined(storage, known)).write,
        },
    };
    return run(writePart, mode, inputs.?, out.?, options.?);
}

/// Elements that are replaced.
fn Assigned(comptime T: type) type {
    return struct {
        const Raw = T;

        inline fn join(_: T, value: T) T {
            return value;
        }
    };
}

/// Elements that become the sum, the product or the better of themselves and a value, rounded each time.
fn Joined(comptime storage: Storage, comptime mode: Mode) type {
    return struct {
        const Raw = storage.Raw();

        inline fn join(old: Raw, value: Raw) Raw {
            return switch (storage) {
                .bool => switch (mode) {
                    .add, .maximum => @intFromBool(old != 0 or value != 0),
                    else => @intFromBool(old != 0 and value != 0),
                },
                .f16 => @floatCast(ofFloats(f32, mode, old, value)),
                .bf16 => narrow_floats.toBfloat16(ofFloats(f32, mode, narrow_floats.fromBfloat16(old), narrow_floats.fromBfloat16(value))),
                .f32, .f64 => ofFloats(Raw, mode, old, value),
                else => switch (mode) {
                    .add => old +% value,
                    .multiply => old *% value,
                    .maximum => @max(old, value),
                    else => @min(old, value),
                },
            };
        }
    };
}

inline fn ofFloats(comptime T: type, comptime mode: Mode, old: T, value: T) T {
    return switch (mode) {
        .add => old + value,
        .multiply => old * value,
        // NaN stays, and wins over any number.
        .maximum => if (old != old or old > value) old else value,
        else => if (old != old or old < value) old else value,
    };
}

fn run(writePart: WritePart, mode: Mode, inputs: [*]const abi.Tensor, out: *const abi.Tensor, options: *const abi.BlocksOptions) abi.Status {
    const values = blocks.anyView(&inputs[1]);
    if (values.len() == 0) return abi.ok;
    const at: View = .of(&inputs[0]);
    const block = blocks.space(options, &values.axes(at.rank, values.rank - at.rank));
    var places: strided.Space(2) = .of(.{ &at, &values.axes(0, at.rank) });
    places.coalesce();
    const parts = @max(1, @min(block.len() / least_part, parallel.threadCount(options.executor)));
    const job: Job = .{
        .writePart = writePart,
        .target = strided.dataOf(out),
        .values = values.address,
        .offsets = &at,
        .places = &places,
        .block = &block,
        .parts = parts,
    };
    var bad: blocks.Bad = .{};
    job.check(options, &bad);
    const outcome = bad.outcome(options, "scatter");
    if (outcome != abi.ok) return outcome;
    parallel.run(options.executor, parts, Job, &job) catch {
        return status.fail(abi.errors.internal, "the executor could not run the parts of a scatter ({s})", .{@tagName(mode)});
    };
    return abi.ok;
}

const WritePart = *const fn (job: *const Job, first: usize, last: usize) void;

/// What a scatter is told of memory and values, whatever their type: only `writePart` is compiled for each type and operation.
const Job = struct {
    writePart: WritePart,
    target: usize,
    values: usize,
    offsets: *const View,
    /// View 0 is the offsets, view 1 the values.
    places: *const strided.Space(2),
    /// View 0 is the memory, view 1 the values.
    block: *const strided.Space(2),
    parts: usize,

    fn check(job: *const Job, options: *const abi.BlocksOptions, bad: *blocks.Bad) void {
        const table = tensor_kernels.table(i64);
        var buffer: [tile_len]i64 align(64) = undefined;
        var walk = job.places.walk(0, 0);
        var first: usize = 0;
        while (first < job.places.len()) : (first += tile_len) {
            const len = @min(tile_len, job.places.len() - first);
            strided.readElements(i64, table, job.offsets, &walk, len, &buffer);
            if (bad.note(options, buffer[0..len], first)) return;
        }
    }

    /// Parts [begin, end) of every block.
    pub fn run(job: *const Job, begin: usize, end: usize) void {
        const len = job.block.len();
        job.writePart(job, begin * len / job.parts, end * len / job.parts);
    }
};

/// Elements [first, last) of every block, of one element type and operation.
fn Part(comptime Operation: type) type {
    const T = Operation.Raw;
    return struct {
        fn write(job: *const Job, first: usize, last: usize) void {
            const table = tensor_kernels.table(i64);
            const len = job.block.len();
            var buffer: [tile_len]i64 align(64) = undefined;
            var walk = job.places.walk(0, 0);
            var of_values = job.places.walk(1, 0);
            const step = job.places.innerStride(1);
            var done: usize = 0;
            while (done < job.places.len()) {
                const count = @min(tile_len, job.places.len() - done, of_values.runLen());
                strided.readElements(i64, table, job.offsets, &walk, count, &buffer);
                for (buffer[0..count], 0..) |offset, i| {
                    const from = of_values.start + @as(isize, @intCast(i)) * step;
                    if (len == 1) {
                        const element = blocks.at(T, job.target, offset);
                        element.* = Operation.join(element.*, blocks.at(T, job.values, from).*);
                    } else writeBlock(job, offset, from, first, last);
                }
                of_values.pass(count);
                done += count;
            }
        }

        /// Elements [first, last) of the block at an offset.
        fn writeBlock(job: *const Job, offset: isize, from: isize, first: usize, last: usize) void {
            var to_walk = job.block.walk(0, first);
            var from_walk = job.block.walk(1, first);
            const to_step = job.block.innerStride(0);
            const from_step = job.block.innerStride(1);
            var done = first;
            while (done < last) {
                const count = @min(to_walk.runLen(), last - done);
                const target = @intFromPtr(blocks.at(T, job.target, offset + to_walk.start));
                const source = @intFromPtr(blocks.at(T, job.values, from + from_walk.start));
                if (to_step == 1 and from_step == 1) {
                    const elements: [*]T = @ptrFromInt(target);
                    const values: [*]const T = @ptrFromInt(source);
                    for (elements[0..count], values[0..count]) |*element, value| element.* = Operation.join(element.*, value);
                } else for (0..count) |i| {
                    const place: isize = @intCast(i);
                    const element = blocks.at(T, target, place * to_step);
                    element.* = Operation.join(element.*, blocks.at(T, source, place * from_step).*);
                }
                to_walk.pass(count);
                from_walk.pass(count);
                done += count;
            }
        }
    };
}
