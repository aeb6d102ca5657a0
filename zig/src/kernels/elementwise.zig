//! One operation on every element of contiguous arrays: 16 bytes of each array per thread and step, blocks stride over the rest. Narrow
//! floats are computed in float32 and rounded once. Where the arrays are not aligned, and at their end, elements go one by one.

const device = @import("device.zig");
const number = @import("number.zig");
const variant = @import("variant");
const vector_math = @import("../simd/vector_math.zig");

pub fn Kernel(comptime v: variant.Elementwise) type {
    return struct {
        const Stored = v.number.Stored();
        const Sum = v.number.Sum();
        const width = 16 / @sizeOf(Stored);
        const Vector = @Vector(width, Stored);

        /// `y` is not read by operations of one operand; `blocks` is the size of the grid.
        pub fn kernel(x: device.Input(Stored), y: device.Input(Stored), result: device.Output(Stored), count: u64, blocks: u32) callconv(device.convention) void {
            @setEvalBranchQuota(10_000_000);
            const all = @as(u64, blocks) * v.threads;
            var i = @as(u64, @workGroupId(0)) * v.threads + @workItemId(0);
            const is_aligned = (@intFromPtr(x) | @intFromPtr(y) | @intFromPtr(result)) % 16 == 0;
            const vectors = if (is_aligned) count / width else 0;
            while (i < vectors) : (i += all) {
                const left = at(x, i);
                const right = if (v.operation.isBinary()) at(y, i) else left;
                var values: Vector = undefined;
                inline for (0..width) |j| values[j] = one(left[j], right[j]);
                const target: *align(16) addrspace(.global) Vector = @ptrCast(@alignCast(result + i * width));
                target.* = values;
            }
            i = vectors * width + @as(u64, @workGroupId(0)) * v.threads + @workItemId(0);
            while (i < count) : (i += all) result[i] = one(x[i], if (v.operation.isBinary()) y[i] else x[i]);
        }

        inline fn at(array: device.Input(Stored), i: u64) Vector {
            const position: *align(16) addrspace(.global) const Vector = @ptrCast(@alignCast(array + i * width));
            return position.*;
        }

        inline fn one(x: Stored, y: Stored) Stored {
            return number.fromSum(v.number, apply(number.toSum(v.number, x), number.toSum(v.number, y)));
        }

        inline fn apply(x: Sum, y: Sum) Sum {
            const V = @Vector(1, f32);
            return switch (v.operation) {
                .add => x + y,
                .subtract => x - y,
                .multiply => x * y,
                .divide => x / y,
                // What is not a number in either operand is the result, as NumPy has it.
                .maximum => if (x > y or x != x) x else y,
                .minimum => if (x < y or x != x) x else y,
                .negate => -x,
                .absolute => @abs(x),
                .relu => if (x < 0) 0 else x,
                .exp => vector_math.exp(V, @splat(x))[0],
                .tanh => vector_math.tanh(V, @splat(x))[0],
                .sigmoid => vector_math.sigmoid(V, @splat(x))[0],
                .gelu => vector_math.gelu(V, @splat(x))[0],
                .silu => x * vector_math.sigmoid(V, @splat(x))[0],
            };
        }
    };
}
