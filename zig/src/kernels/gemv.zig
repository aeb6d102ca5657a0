//! Matrix-vector product (GEMV). Reading the matrix takes nearly all of the time, so it is read once.
//!
//! `along` k: 64 threads for each result walk along its row of the matrix, 16 bytes at a time. `along` the outer dimension: a block has 512
//! bytes of a row (256 of 8-bit numbers), and its threads walk down the rows. Where blocks would be few, the inner dimension is cut into parts (the grid's second
//! dimension) whose sums are written out for split_k.zig. The order of the sums is fixed by the shape and the k of a part. A grid's third
//! dimension are the matmuls of a batch.

const std = @import("std");
const device = @import("device.zig");
const Following = @import("epilogue.zig").Following;
const number = @import("number.zig");
const source = @import("source.zig");
const variant = @import("variant");

pub fn Kernel(comptime v: variant.Vector) type {
    return struct {
        const Stored = v.number.Stored();
        const Sum = v.number.Sum();
        const Result = v.output.Stored();
        /// How many numbers are loaded at a time.
        const width: u32 = if (v.alignment == .aligned) source.chunk_bytes / @sizeOf(Stored) else 1;
        /// Loads of a thread that are on their way together: enough of them hide what memory takes.
        const unroll: u32 = if (v.along == .k and v.alignment == .aligned) 4 else 8;
        /// Sums of a thread, which do not wait for each other.
        const chains: u32 = if (width > 1) width else unroll;
        /// Threads side by side along a row of the matrix.
        const across: u32 = if (v.along == .k or v.alignment == .any) 64 else @min(32, v.threads / width);
        const down: u32 = v.threads / across;
        /// Number of results of a block.
        const results: u32 = if (v.along == .k) down else across * width;
        /// What threads have found: of several columns one after the other, so that neighbours lie in different banks.
        var found: [if (v.along == .k) v.threads else v.threads * width]Sum addrspace(.shared) = undefined;

        comptime {
            if (!std.math.isPowerOfTwo(v.threads) or results > v.threads) @compileError("halves of the threads need a power of two");
        }

        pub fn kernel(
            matrix: device.Input(Stored),
            vector: device.Input(Stored),
            c: device.Output(Result),
            bias: device.Input(Result),
            accumulators: device.Output(Sum),
            outer: u32,
            k: u32,
            lead: u32,
            part_k: u32,
            parts: u32,
            batches: u32,
            bias_step: u32,
            following: u32,
            alpha: f64,
            beta: f64,
            stride_matrix: u64,
            stride_vector: u64,
        ) callconv(device.convention) void {
            @setEvalBranchQuota(100_000);
            const part: u64 = @workGroupId(1);
            const batch: u64 = @workGroupId(2);
            const first = part * part_k;
            const end = @min(first + part_k, k);
            const thread = @workItemId(0);
            const own_matrix = matrix + batch * stride_matrix;
            const own_vector = vector + batch * stride_vector;
            var own: [chains]Sum = @splat(0);
            const first_result = @as(u64, @workGroupId(0)) * results;
            if (v.along == .k) {
                const row = first_result + thread / across;
                if (row < outer) walk(&own, own_matrix + row * lead, own_vector, 1, across * width, first + thread % across * width, end);
            } else {
                const column = first_result + thread % across * width;
                if (column < outer) walk(&own, own_matrix + column, own_vector, lead, down, first + thread / across, end);
            }
            gather(&own, thread);
            if (thread >= results) return;
            const index = first_result + thread;
            if (index >= outer) return;
            const sum = sumOf(thread);
            if (parts > 1) {
                accumulators[(part * batches + batch) * outer + index] = sum;
                return;
            }
            const after: Following(v.output, Sum) = .init(alpha, beta, following);
            after.store(c + (batch * outer + index), bias + index * bias_step, sum);
        }

        /// Products of numbers from `from` to `end` along k, `step` apart; `lead` is how far apart two of adjacent k lie in the matrix.
        inline fn walk(own: *[chains]Sum, line: device.Input(Stored), vector: device.Input(Stored), lead: u64, step: u64, from: u64, end: u64) void {
            var i = from;
            while (i + (unroll - 1) * step < end) : (i += unroll * step) {
                var x: [unroll]@Vector(width, Stored) = undefined;
                var y: [unroll]Factor = undefined;
                inline for (0..unroll) |u| x[u] = load(line + (i + u * step) * lead);
                inline for (0..unroll) |u| y[u] = factor(vector + (i + u * step));
                inline for (0..unroll) |u| add(own, u, x[u], y[u]);
            }
            while (i < end) : (i += step) add(own, 0, load(line + i * lead), factor(vector + i));
        }

        /// Of the vector: as many numbers as of the matrix where k is contiguous, else one.
        const Factor = if (v.along == .k) @Vector(width, Stored) else Stored;

        inline fn factor(position: device.Input(Stored)) Factor {
            return if (v.along == .k) load(position) else position[0];
        }

        inline fn load(position: device.Input(Stored)) @Vector(width, Stored) {
            const V = @Vector(width, Stored);
            const whole: *align(@sizeOf(Stored) * width) addrspace(.global) const V = @ptrCast(@alignCast(position));
            return whole.*;
        }

        inline fn add(own: *[chains]Sum, comptime u: u32, x: @Vector(width, Stored), y: Factor) void {
            inline for (0..width) |w| {
                const chain = if (width > 1) w else u;
                const a = number.toSum(v.number, x[w]);
                const b = number.toSum(v.number, if (v.along == .k) y[w] else y);
                own[chain] = if (Sum == i32) own[chain] +% a *% b else @mulAdd(Sum, a, b, own[chain]);
            }
        }

        inline fn plus(x: Sum, y: Sum) Sum {
            return if (Sum == i32) x +% y else x + y;
        }

        /// Puts what the threads have into shared memory; along k also adds it up for each result.
        inline fn gather(own: *[chains]Sum, thread: u32) void {
            if (v.along == .k or width == 1) {
                comptime var half = chains / 2;
                inline while (half > 0) : (half /= 2) {
                    inline for (0..half) |i| own[i] = plus(own[i], own[i + half]);
                }
            }
            if (v.along == .k) {
                found[thread] = own[0];
                comptime var half = across / 2;
                inline while (half > 0) : (half /= 2) {
                    device.barrier();
                    if (thread % across < half) found[thread] = plus(found[thread], found[thread + half]);
                }
            } else {
                inline for (0..width) |w| found[w * v.threads + thread] = own[w];
            }
            device.barrier();
        }

        /// The sum of a result of the block.
        inline fn sumOf(result: u32) Sum {
            if (v.along == .k) return found[result * across];
            const first = result % width * v.threads + result / width;
            var sum = found[first];
            inline for (1..down) |i| sum = plus(sum, found[first + i * across]);
            return sum;
        }
    };
}
