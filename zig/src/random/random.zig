//! Random numbers of the Philox counter: every element is a function of its place in the stream, so that results depend neither on threads nor
//! on pieces. Arguments were validated in Rust; `out` and the inputs are row-major without gaps.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const cpu = @import("../simd/cpu.zig");
const builtin = @import("builtin");
const gemm_kernels = @import("../gemm/gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const philox = @import("philox.zig");
const draw_kernel = @import("draw_kernel.zig");
const rejection_kernel = @import("rejection_kernel.zig");
const grouped_normal_kernel = @import("grouped_normal_kernel.zig");
const Table = @import("random_table.zig").Table;
const View = strided.View;

pub const Distribution = enum(u32) { uniform, normal, exponential, integers, bernoulli, dropout, gamma, beta, poisson, binomial, interleaved_bits, grouped_normal };

comptime {
    for (std.meta.fieldNames(Distribution)) |name| {
        std.debug.assert(@backingInt(@field(Distribution, name)) == @field(abi, "random_" ++ name));
    }
}

/// Elements that a thread draws in one piece.
const piece_len = 1 << 14;
/// Words that are made and used up together: they and what is made of them stay in the first cache.
const chunk_words = 2048;

pub fn random(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.RandomOptions) abi.Status {
    return runWith(table(), inputs, input_count, out.?, options.?) catch
        status.fail(abi.errors.internal, "the executor could not run the pieces of a draw", .{});
}

fn table() *const Table {
    return tableOf(gemm_kernels.info().instruction_set);
}

/// The routines of an instruction set that this CPU has.
pub fn tableOf(set: cpu.InstructionSet) *const Table {
    const has_x86 = builtin.cpu.arch == .x86_64;
    return switch (set) {
        .generic => linked("generic"),
        .avx2 => if (has_x86) linked("avx2") else unreachable,
        .avx512, .avx512_dot, .amx => if (has_x86) linked("avx512") else unreachable,
    };
}

fn linked(comptime set: []const u8) *const Table {
    return generic.linked_table.find(Table, "random", set, "all");
}

pub fn runWith(routines: *const Table, inputs: ?[*]const abi.Tensor, input_count: u64, out: *const abi.Tensor, options: *const abi.RandomOptions) parallel.Error!abi.Status {
    std.debug.assert(input_count <= 2);
    const target: View = .of(out);
    var job: Job = .{
        .routines = routines,
        .options = options,
        .distribution = std.enums.fromInt(Distribution, options.distribution).?,
        .out = target,
        .inputs = @splat(0),
        .steps = @splat(0),
    };
    for (0..@intCast(input_count)) |i| {
        const view: View = .of(&inputs.?[i]);
        job.inputs[i] = view.address;
        job.steps[i] = @intFromBool(view.rank > 0);
    }
    const pieces = (target.len() + piece_len - 1) / piece_len;
    if (pieces > 0) try parallel.run(options.executor, pieces, Job, &job);
    return abi.ok;
}

const Job = struct {
    routines: *const Table,
    options: *const abi.RandomOptions,
    distribution: Distribution,
    out: View,
    /// Addresses of the inputs, 0 for one that is not there, and the steps from element to element.
    inputs: [2]usize,
    steps: [2]usize,

    pub fn run(job: *const Job, begin: usize, end: usize) void {
        const last = @min(end * piece_len, job.out.len());
        const first = begin * piece_len;
        switch (job.distribution) {
            .uniform, .normal, .exponential => if (job.out.storage == .f64) job.floats(f64, first, last) else job.floats(f32, first, last),
            .integers => switch (job.out.storage.bytes()) {
                1 => job.integers(u8, first, last),
                2 => job.integers(u16, first, last),
                4 => job.integers(u32, first, last),
                else => job.integers(u64, first, last),
            },
            .bernoulli => job.bernoulli(first, last),
            .dropout => if (job.out.storage == .f64) job.dropout(f64, first, last) else job.dropout(f32, first, last),
            .gamma, .beta, .poisson, .binomial => job.rejection(first, last),
            .interleaved_bits => job.interleavedBits(first, last),
            .grouped_normal => if (job.out.storage == .f64) job.groupedNormals(f64, first, last) else job.groupedNormals(f32, first, last),
        }
    }

    /// Makes the words of elements from `element` on, as many as fit, and says where they are.
    fn makeWords(job: *const Job, buffer: *Buffer, words_each: usize, element: usize, last: usize) Chunk {
        const position = job.options.skip + element * words_each;
        const skip = position % philox.block_words;
        const block = job.options.block +% position / philox.block_words;
        const count = @min(last - element, (chunk_words - skip) / words_each);
        const blocks = (skip + count * words_each + philox.block_words - 1) / philox.block_words;
        job.routines.words(&.{ .key = job.options.key, .low = block, .high = job.options.high, .count = blocks, .target = &buffer.words });
        return .{ .block = block, .skip = skip, .count = count };
    }

    fn target(job: *const Job, comptime T: type, element: usize) [*]T {
        return @ptrFromInt(job.out.address + element * @sizeOf(T));
    }

    fn floats(job: *const Job, comptime T: type, first: usize, last: usize) void {
        const words_each = @sizeOf(T) / 4;
        var buffer: Buffer = undefined;
        var values: [chunk_words / words_each + philox.block_words]T align(64) = undefined;
        const is_direct = job.out.storage.is(T);
        var element = first;
        while (element < last) {
            const chunk = job.makeWords(&buffer, words_each, element, last);
            // Pairs of normal numbers begin with a whole pair.
            const before = if (job.distribution == .normal) chunk.skip / words_each % 2 else 0;
            const writes_out = is_direct and before == 0;
            const to: [*]T = if (writes_out) job.target(T, element) else &values;
            job.routines.floats(T)(&.{
                .shape = switch (job.distribution) {
                    .uniform => .uniform,
                    .normal => .normal,
                    else => .exponential,
                },
                .words = buffer.words[chunk.skip - before * words_each ..].ptr,
                .count = chunk.count + before,
                .target = to,
                .offset = @floatCast(job.options.a),
                .scale = @floatCast(job.options.b),
                .bits = switch (job.out.storage) {
                    .f16 => 11,
                    .bf16 => 8,
                    else => 24,
                },
            });
            if (!writes_out) job.deliver(T, values[before..].ptr, element, chunk.count);
            element += chunk.count;
        }
    }

    /// Stores values in the type of the result.
    fn deliver(job: *const Job, comptime T: type, values: [*]const T, element: usize, count: usize) void {
        const address = job.out.address + element * job.out.storage.bytes();
        tensor_kernels.table(T).store(&.{ .storage = job.out.storage, .address = address, .step = 1, .len = count, .source = values });
    }

    fn integers(job: *const Job, comptime T: type, first: usize, last: usize) void {
        const words_each: usize = if (job.options.span == 0 or job.options.span > 1 << 32) 2 else 1;
        var buffer: Buffer = undefined;
        var element = first;
        while (element < last) {
            const chunk = job.makeWords(&buffer, words_each, element, last);
            job.routines.integers(T)(&.{
                .words = buffer.words[chunk.skip..].ptr,
                .count = chunk.count,
                .target = job.target(T, element),
                .low = @truncate(job.options.low),
                .span = job.options.span,
                .key = job.options.key,
                .high = job.options.high,
                .block = chunk.block,
                .skip = chunk.skip,
            });
            element += chunk.count;
        }
    }

    fn bernoulli(job: *const Job, first: usize, last: usize) void {
        var buffer: Buffer = undefined;
        var element = first;
        while (element < last) {
            const chunk = job.makeWords(&buffer, 1, element, last);
            const words = buffer.words[chunk.skip..].ptr;
            const to = job.target(u8, element);
            if (job.inputs[0] == 0) {
                job.routines.below(&.{ .words = words, .count = chunk.count, .target = to, .threshold = threshold(job.options.a) });
            } else {
                const chances: [*]const f64 = @ptrFromInt(job.inputs[0]);
                for (0..chunk.count) |i| to[i] = @intFromBool(words[i] < threshold(chances[(element + i) * job.steps[0]]));
            }
            element += chunk.count;
        }
    }

    fn dropout(job: *const Job, comptime T: type, first: usize, last: usize) void {
        var buffer: Buffer = undefined;
        var values: [chunk_words]T align(64) = undefined;
        const is_direct = job.out.storage.is(T);
        var element = first;
        while (element < last) {
            const chunk = job.makeWords(&buffer, 1, element, last);
            const from = job.inputs[0] + element * job.out.storage.bytes();
            if (!is_direct) tensor_kernels.table(T).load(&.{ .storage = job.out.storage, .address = from, .step = 1, .len = chunk.count, .target = &values });
            job.routines.dropout(T)(&.{
                .words = buffer.words[chunk.skip..].ptr,
                .count = chunk.count,
                .source = if (is_direct) @ptrFromInt(from) else &values,
                .target = if (is_direct) job.target(T, element) else &values,
                .scale = @floatCast(job.options.b),
                .threshold = threshold(job.options.a),
            });
            if (!is_direct) job.deliver(T, &values, element, chunk.count);
            element += chunk.count;
        }
    }

    fn rejection(job: *const Job, first: usize, last: usize) void {
        const most = 512;
        var values: [most]f64 align(64) = undefined;
        const blocks_each: u64 = if (job.distribution == .beta) 2 else 1;
        const none: f64 = 1;
        var element = first;
        while (element < last) {
            const count = @min(most, last - element);
            const a: [*]const f64 = @ptrFromInt(job.inputs[0]);
            const b: [*]const f64 = if (job.inputs[1] == 0) @ptrCast(&none) else @ptrFromInt(job.inputs[1]);
            const is_direct = job.out.storage == .f64;
            const to: [*]f64 = if (is_direct) job.target(f64, element) else &values;
            job.routines.rejection(&.{
                .distribution = switch (job.distribution) {
                    .gamma => .gamma,
                    .beta => .beta,
                    .poisson => .poisson,
                    else => .binomial,
                },
                .count = count,
                .target = to,
                .key = job.options.key,
                .high = job.options.high,
                .block = job.options.block +% element * blocks_each,
                .a = a + element * job.steps[0],
                .a_step = job.steps[0],
                .b = b + element * job.steps[1],
                .b_step = job.steps[1],
            });
            if (job.out.storage == .i64) {
                for (job.target(i64, element)[0..count], values[0..count]) |*place, value| place.* = @intFromFloat(value);
            } else if (!is_direct) {
                job.deliver(f64, &values, element, count);
            }
            element += count;
        }
    }

    /// Pieces begin with a whole group.
    fn groupedNormals(job: *const Job, comptime T: type, first: usize, last: usize) void {
        const most = 512;
        var values: [most]T align(64) = undefined;
        const is_direct = job.out.storage.is(T);
        var element = first;
        while (element < last) {
            const count = @min(most, last - element);
            job.routines.groupedNormals(T)(&.{
                .count = count,
                .target = if (is_direct) job.target(T, element) else &values,
                .key = job.options.key,
                .block = job.options.block,
                .high = job.options.high,
                .group = element / grouped_normal_kernel.groupLen(T),
                .blocks_each = job.options.span,
                .limit = @floatCast(job.options.a),
            });
            if (!is_direct) job.deliver(T, &values, element, count);
            element += count;
        }
    }

    /// As GPU kernels draw in which thread t of `span` makes, in iteration i, block (i, t), whose word w is element (4 i + w) span + t.
    fn interleavedBits(job: *const Job, first: usize, last: usize) void {
        const lanes = 4;
        const threads: usize = @intCast(job.options.span);
        const to = job.target(u32, 0);
        var element = first;
        while (element < last) {
            const thread = element % threads;
            const round = element / threads;
            const count = @min(lanes, last - element, threads - thread);
            const high = @as(@Vector(lanes, u64), @splat(job.options.high +% thread)) +% std.simd.iota(u64, lanes);
            const words = philox.blocks(lanes, job.options.key, @splat(job.options.block +% round / philox.block_words), high);
            inline for (0..philox.block_words) |word| {
                const values: [lanes]u64 = words[word];
                if (round % philox.block_words == word) {
                    for (to[element..][0..count], values[0..count]) |*place, value| place.* = @truncate(value);
                }
            }
            element += count;
        }
    }
};

const Buffer = struct { words: [chunk_words + philox.max_round_words]u32 align(64) };

/// Words from `skip` on in the buffer, whose first block is `block`.
const Chunk = struct { block: u64, skip: usize, count: usize };

/// Words below it are as likely as the chance, which lies in [0, 1].
fn threshold(chance: f64) u64 {
    return @intFromFloat(@ceil(chance * 0x1p32));
}
