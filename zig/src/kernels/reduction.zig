//! Reduces contiguous matrices along their rows or their columns. The order of the sums is fixed by the shape, so results repeat to the bit.
//!
//! `row`: a block for each row; threads take every `threads`-th element and combine what they have in shared memory, in halves. `column`: a
//! thread for each column, which it walks down. Narrow floats are summed in float32.

const std = @import("std");
const device = @import("device.zig");
const number = @import("number.zig");
const variant = @import("variant");

pub fn Kernel(comptime v: variant.Reduction) type {
    return struct {
        const Stored = v.number.Stored();
        const Sum = v.number.Sum();
        var parts: [v.threads]Sum addrspace(.shared) = undefined;

        comptime {
            if (!std.math.isPowerOfTwo(v.threads)) @compileError("halves of the threads need a power of two");
        }

        pub fn kernel(input: device.Input(Stored), output: device.Output(Stored), rows: u32, columns: u32) callconv(device.convention) void {
            const thread = @workItemId(0);
            if (v.axis == .column) {
                const column = @workGroupId(0) * v.threads + thread;
                if (column >= columns) return;
                var result = identity;
                var position = input + column;
                for (0..rows) |_| {
                    result = combine(result, number.toSum(v.number, position[0]));
                    position += columns;
                }
                output[column] = number.fromSum(v.number, result);
                return;
            }
            const row = input + @as(usize, @workGroupId(0)) * columns;
            // Two at a time, because an addition waits for the one before it.
            var even = identity;
            var odd = identity;
            var i = thread;
            while (i < columns) : (i += 2 * v.threads) {
                even = combine(even, number.toSum(v.number, row[i]));
                if (i + v.threads < columns) odd = combine(odd, number.toSum(v.number, row[i + v.threads]));
            }
            parts[thread] = combine(even, odd);
            comptime var half = v.threads / 2;
            inline while (half > 0) : (half /= 2) {
                device.barrier();
                if (thread < half) parts[thread] = combine(parts[thread], parts[thread + half]);
            }
            if (thread == 0) output[@workGroupId(0)] = number.fromSum(v.number, parts[0]);
        }

        const identity: Sum = switch (v.operation) {
            .sum => 0,
            .maximum => -std.math.inf(Sum),
            .minimum => std.math.inf(Sum),
        };

        inline fn combine(x: Sum, y: Sum) Sum {
            return switch (v.operation) {
                .sum => x + y,
                .maximum => if (x > y or x != x) x else y,
                .minimum => if (x < y or x != x) x else y,
            };
        }
    };
}
