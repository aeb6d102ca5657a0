//! Split-K: adds up the partial results of matmuls whose k was cut among blocks, in order, so that results repeat to the bit. With one
//! part it moves results out of padded rows. A thread has one result; results are contiguous.

const device = @import("device.zig");
const Following = @import("epilogue.zig").Following;
const variant = @import("variant");

pub fn Kernel(comptime v: variant.Parts) type {
    return struct {
        const Sum = v.number.Stored();
        const Result = v.output.Stored();
        /// Loads that are on their way together.
        const unroll = 4;

        /// `m` rows of `n` numbers in each matmul of the batch; its sums lie `lead` apart from row to row.
        pub fn kernel(
            accumulators: device.Input(Sum),
            c: device.Output(Result),
            bias: device.Input(Result),
            parts: u32,
            m: u32,
            n: u32,
            lead: u32,
            following: u32,
            count: u32,
            stride_batch: u64,
            stride_part: u64,
            alpha: f64,
            beta: f64,
        ) callconv(device.convention) void {
            const index = @workGroupId(0) * v.threads + @workItemId(0);
            if (index >= count) return;
            const row = index / n;
            const column = index % n;
            var position = accumulators + (@as(u64, row / m) * stride_batch + @as(u64, row % m) * lead + column);
            var sum: Sum = 0;
            var remaining = parts;
            while (remaining >= unroll) : (remaining -= unroll) {
                var values: [unroll]Sum = undefined;
                inline for (0..unroll) |u| values[u] = position[u * stride_part];
                inline for (0..unroll) |u| sum = plus(sum, values[u]);
                position += unroll * stride_part;
            }
            while (remaining > 0) : (remaining -= 1) {
                sum = plus(sum, position[0]);
                position += stride_part;
            }
            const after: Following(v.output, Sum) = .init(alpha, beta, following);
            after.store(c + index, bias + column, sum);
        }

        inline fn plus(x: Sum, y: Sum) Sum {
            return if (Sum == i32) x +% y else x + y;
        }
    };
}
