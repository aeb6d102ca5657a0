//! A matrix multiplication as the driver knows it: out = alpha * a @ b + beta * out, with checked addresses and strides.

const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");

const Numbers = generic.numbers.Numbers;

pub fn Problem(comptime numbers: Numbers) type {
    return struct {
        m: usize,
        n: usize,
        k: usize,
        a: [*]const numbers.Source,
        a_row: isize,
        a_k: isize,
        b: [*]const numbers.Source,
        b_k: isize,
        b_column: isize,
        /// Undefined where `has_out` is false.
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        /// Row and column of the element that `out` points to; not (0, 0) where `out` holds only a part of the result.
        out_origin: [2]usize = .{ 0, 0 },
        /// Whether `out` has memory for the sums. If not, they are kept in a buffer until `finish` has read them.
        has_out: bool = true,
        /// Where the sums are written rounded to bfloat16, if rounding is all that `finish` does.
        rounded: ?generic.table.Rounded = null,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        /// Whether the problem is the transpose of the one that the caller asked for.
        is_transposed: bool = false,
        /// Runs once over each finished part of `out`.
        finish: ?Finish = null,

        pub const Finish = struct {
            context: *const anyopaque,
            run: *const fn (context: *const anyopaque, problem: *const Self, region: Region) void,
        };

        const Self = @This();

        /// The same matmul with rows and columns exchanged: out^T = b^T a^T.
        pub fn transposed(self: Self) Self {
            return .{
                .m = self.n,
                .n = self.m,
                .k = self.k,
                .a = self.b,
                .a_row = self.b_column,
                .a_k = self.b_k,
                .b = self.a,
                .b_k = self.a_k,
                .b_column = self.a_row,
                .out = self.out,
                .out_row = self.out_column,
                .out_column = self.out_row,
                .out_origin = .{ self.out_origin[1], self.out_origin[0] },
                .has_out = self.has_out,
                .rounded = self.rounded,
                .alpha = self.alpha,
                .beta = self.beta,
                .is_transposed = !self.is_transposed,
                .finish = self.finish,
            };
        }

        pub fn aAt(self: *const Self, row: usize, step: usize) [*]const numbers.Source {
            return atConst(numbers.Source, self.a, row, self.a_row, step, self.a_k);
        }

        pub fn outAt(self: *const Self, row: usize, column: usize) [*]numbers.Sum {
            return at(numbers.Sum, self.out, row - self.out_origin[0], self.out_row, column - self.out_origin[1], self.out_column);
        }
    };
}

pub const Error = error{OutOfMemory} || parallel.Error;

/// A rectangle of `out`.
pub const Region = struct { row: usize, rows: usize, column: usize, columns: usize };

fn at(comptime T: type, ptr: [*]T, i: usize, i_stride: isize, j: usize, j_stride: isize) [*]T {
    return generic.pointers.offset(T, ptr, @as(isize, @intCast(i)) * i_stride + @as(isize, @intCast(j)) * j_stride);
}

pub fn atConst(comptime T: type, ptr: [*]const T, i: usize, i_stride: isize, j: usize, j_stride: isize) [*]const T {
    return generic.pointers.offsetConst(T, ptr, @as(isize, @intCast(i)) * i_stride + @as(isize, @intCast(j)) * j_stride);
}

pub fn finish(comptime numbers: Numbers, problem: *const Problem(numbers), region: Region) void {
    if (problem.finish) |step| step.run(step.context, problem, region);
}
