//! What happens to a sum before it is stored: alpha, beta, bias, activation, rounding.

const vector_math = @import("../simd/vector_math.zig");
const device = @import("device.zig");
const number = @import("number.zig");
const variant = @import("variant");

/// The arguments of a launch that concern the result.
pub fn Result(comptime v: variant.Matmul) type {
    return struct {
        const Self = @This();
        pub const Sum = v.operand.Sum();
        pub const Stored = v.output.Stored();

        c: device.Output(Stored),
        bias: device.Input(Stored),
        m: u32,
        n: u32,
        ldc: u32,
        alpha: Sum,
        beta: Sum,

        pub inline fn init(c: device.Output(Stored), bias: device.Input(Stored), m: u32, n: u32, ldc: u32, alpha: f64, beta: f64) Self {
            return .{ .c = c, .bias = bias, .m = m, .n = n, .ldc = ldc, .alpha = scale(alpha), .beta = scale(beta) };
        }

        inline fn scale(factor: f64) Sum {
            return if (Sum == i32) @intFromFloat(factor) else @floatCast(factor);
        }

        /// Stores `len` sums of adjacent columns; the last ones may lie outside the matrix. Where rows are aligned, `len` divides `column` and
        /// the number of columns, so that all are inside or none.
        pub inline fn store(self: *const Self, comptime len: u32, row: u32, column: u32, accumulators: [len]Sum) void {
            if (row >= self.m or column >= self.n) return;
            const position = self.c + (@as(usize, row) * self.ldc + column);
            if (v.is_aligned) {
                const V = @Vector(len, Stored);
                const target: *align(len * @sizeOf(Stored)) addrspace(.global) V = @ptrCast(@alignCast(position));
                // Vectors, because choosing between two arrays would choose between two positions in memory.
                const old: V = if (self.beta != 0) target.* else @splat(0);
                var new: V = undefined;
                inline for (0..len) |i| new[i] = self.finish(accumulators[i], old[i], column + @as(u32, i));
                target.* = new;
                return;
            }
            inline for (0..len) |i| {
                if (column + i < self.n) {
                    const old = if (self.beta != 0) position[i] else 0;
                    position[i] = self.finish(accumulators[i], old, column + @as(u32, i));
                }
            }
        }

        /// Two results of adjacent columns that do not depend on what was stored; of columns outside they are never stored.
        pub inline fn finishPair(self: *const Self, column: u32, accumulators: [2]Sum) [2]Stored {
            // A bias has no element outside.
            const inside = @min(column, self.n -| 2);
            return number.pairFromSum(v.output, .{ self.finishSum(accumulators[0], 0, inside), self.finishSum(accumulators[1], 0, inside + 1) });
        }

        /// One result that does not depend on what was stored; of a column outside it is never stored.
        pub inline fn finishOne(self: *const Self, column: u32, sum: Sum) Stored {
            return self.finish(sum, 0, @min(column, self.n -| 1));
        }

        /// Stores one result, if it is inside.
        pub inline fn storeOne(self: *const Self, row: u32, column: u32, sum: Sum) void {
            if (row >= self.m or column >= self.n) return;
            const position = self.c + (@as(usize, row) * self.ldc + column);
            position[0] = self.finish(sum, if (self.beta != 0) position[0] else 0, column);
        }

        /// Stores results of adjacent columns that are all inside or none.
        pub inline fn storeWhole(self: *const Self, comptime len: u32, row: u32, column: u32, values: @Vector(len, Stored)) void {
            if (row >= self.m or column >= self.n) return;
            const position = self.c + (@as(usize, row) * self.ldc + column);
            const target: *align(len * @sizeOf(Stored)) addrspace(.global) @Vector(len, Stored) = @ptrCast(@alignCast(position));
            target.* = values;
        }

        inline fn finish(self: *const Self, sum: Sum, old: Stored, column: u32) Stored {
            return number.fromSum(v.output, self.finishSum(sum, old, column));
        }

        inline fn finishSum(self: *const Self, sum: Sum, old: Stored, column: u32) Sum {
            var value = multiply(self.alpha, sum);
            // What is not a number in memory must not reach a result that does not want it.
            if (self.beta != 0) value = add(value, multiply(self.beta, number.toSum(v.output, old)));
            if (v.epilogue.has_bias) value = add(value, number.toSum(v.output, self.bias[column]));
            return activate(value);
        }

        inline fn multiply(x: Sum, y: Sum) Sum {
            return if (Sum == i32) x *% y else x * y;
        }

        inline fn add(x: Sum, y: Sum) Sum {
            return if (Sum == i32) x +% y else x + y;
        }

        inline fn activate(x: Sum) Sum {
            const V = @Vector(1, f32);
            return switch (v.epilogue.activation) {
                .none => x,
                .relu => if (x < 0) 0 else x,
                .gelu => vector_math.gelu(V, @splat(x))[0],
                .silu => x * vector_math.sigmoid(V, @splat(x))[0],
            };
        }
    };
}

/// What follows a sum where the launch says it: for kernels with few results for each thread, which need no kernel for each kind.
pub fn Following(comptime output: variant.Number, comptime Sum: type) type {
    return struct {
        const Self = @This();
        const Stored = output.Stored();

        alpha: Sum,
        beta: Sum,
        has_bias: bool,
        activation: variant.Activation,

        /// `word`: whether there is a bias, and twice the number of the activation.
        pub inline fn init(alpha: f64, beta: f64, word: u32) Self {
            return .{ .alpha = scale(alpha), .beta = scale(beta), .has_bias = word % 2 != 0, .activation = @fromBackingInt(@intCast(word / 2 % 4)) };
        }

        inline fn scale(factor: f64) Sum {
            return if (Sum == i32) @intFromFloat(factor) else @floatCast(factor);
        }

        /// Stores a result.
        pub inline fn store(self: *const Self, position: device.Output(Stored), bias: device.Input(Stored), sum: Sum) void {
            var value = if (Sum == i32) self.alpha *% sum else self.alpha * sum;
            // What is not a number in memory must not reach a result that does not want it.
            if (self.beta != 0) {
                const old = number.toSum(output, position[0]);
                value = if (Sum == i32) value +% self.beta *% old else value + self.beta * old;
            }
            if (self.has_bias) {
                const added = number.toSum(output, bias[0]);
                value = if (Sum == i32) value +% added else value + added;
            }
            position[0] = number.fromSum(output, self.activate(value));
        }

        inline fn activate(self: *const Self, x: Sum) Sum {
            if (self.activation == .relu) return if (x < 0) 0 else x;
            if (Sum != f32) return x;
            const V = @Vector(1, f32);
            return switch (self.activation) {
                .none, .relu => x,
                .gelu => vector_math.gelu(V, @splat(x))[0],
                .silu => x * vector_math.sigmoid(V, @splat(x))[0],
            };
        }
    };
}
