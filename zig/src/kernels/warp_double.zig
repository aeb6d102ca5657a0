//! What a warp does in a matmul of float64: part_m x part_n sums in registers, of tiles that lie in shared memory (mma_double.zig).
//!
//! What is multiplied next is read meanwhile: columns ahead, rows as soon as their registers are free, so that a warp multiplies on when a new
//! tile begins.

const double = @import("mma_double.zig");
const Result = @import("epilogue.zig").Result;
const variant = @import("variant");

/// Does nothing between multiplications.
pub const Nothing = struct {
    pub inline fn after(_: *const Nothing, comptime _: u32) void {}
};

pub fn Warp(comptime v: variant.Matmul) type {
    return struct {
        const Self = @This();
        /// Whether the second operand gives the rows of the instructions. Registers for rows are adjacent along the outer dimension, those for
        /// columns along k, as they come out of shared memory for operands that are contiguous along it; all others would have to be moved.
        const is_swapped = !v.transpose_a and !v.transpose_b;
        const reads: double.Reads = if (!v.transpose_a and v.transpose_b) .narrow else .wide;
        const Rows = double.Layout(if (is_swapped) v.transpose_b else !v.transpose_a, reads);
        const Columns = double.Layout(if (is_swapped) !v.transpose_a else v.transpose_b, reads);
        const count_rows = (if (is_swapped) v.part_n else v.part_m) / double.side;
        const count_columns = (if (is_swapped) v.part_m else v.part_n) / double.side;
        /// Number of steps of a tile.
        pub const steps = double.tile_k / double.group_k;
        /// Of a step: pairs of fragments that are multiplied.
        pub const products = count_rows * count_columns * 2;

        comptime {
            if (v.tile_k != double.tile_k) @compileError("tile_k is not 16");
        }

        row: u32,
        column: u32,
        lane: u32,
        accumulators: [count_rows][count_columns][2][4]f64 = @splat(@splat(@splat(@splat(0)))),
        rows: [count_rows]double.Fragment = undefined,
        columns: [count_columns]double.Fragment = undefined,

        pub inline fn init(thread: u32) Self {
            const warps_n = v.tile_n / v.part_n;
            return .{ .row = thread / 32 / warps_n * v.part_m, .column = thread / 32 % warps_n * v.part_n, .lane = thread % 32 };
        }

        /// Reads what the first step of a tile multiplies.
        pub inline fn begin(self: *Self, tile_a: u32, tile_b: u32) void {
            inline for (0..count_rows) |x| self.rows[x] = self.readRows(tile_a, tile_b, x, 0);
            inline for (0..count_columns) |y| self.columns[y] = self.readColumns(tile_a, tile_b, y, 0);
        }

        /// Multiplies what was read, and reads a step of the tiles of both operands. `between` is told how many products were made.
        pub inline fn multiply(self: *Self, tile_a: u32, tile_b: u32, comptime next: u32, between: anytype) void {
            const columns = self.columns;
            inline for (0..count_columns) |y| self.columns[y] = self.readColumns(tile_a, tile_b, y, next);
            inline for (0..count_rows) |x| {
                inline for (0..count_columns) |y| {
                    inline for (0..2) |half| {
                        const sum = &self.accumulators[x][y][half];
                        sum.* = double.multiply(v.depth, half, sum.*, self.rows[x], columns[y]);
                        between.after((x * count_columns + y) * 2 + half);
                    }
                }
                self.rows[x] = self.readRows(tile_a, tile_b, x, next);
            }
        }

        inline fn readRows(self: *const Self, tile_a: u32, tile_b: u32, comptime x: u32, comptime step: u32) double.Fragment {
            return if (is_swapped)
                Rows.fragment(tile_b, self.column + x * double.side, step, self.lane)
            else
                Rows.fragment(tile_a, self.row + x * double.side, step, self.lane);
        }

        inline fn readColumns(self: *const Self, tile_a: u32, tile_b: u32, comptime y: u32, comptime step: u32) double.Fragment {
            return if (is_swapped)
                Columns.fragment(tile_a, self.row + y * double.side, step, self.lane)
            else
                Columns.fragment(tile_b, self.column + y * double.side, step, self.lane);
        }

        /// A lane has two columns of an instruction's eight, in two rows. Pairs of adjacent columns of the result are two rows of an
        /// instruction where operands are swapped, else columns of two instructions.
        pub inline fn store(self: *const Self, result: *const Result(v), first_m: u32, first_n: u32) void {
            const quad = self.lane % 4;
            const position = self.lane / 4;
            inline for (0..count_rows) |x| {
                inline for (0..count_columns) |y| {
                    const accumulators = self.accumulators[x][y];
                    inline for (0..2) |i| {
                        inline for (0..2) |j| {
                            const of_rows = @as(u32, x) * double.side + Rows.outer(if (is_swapped) 0 else i, position);
                            const of_columns = @as(u32, y) * double.side + Columns.outer(if (is_swapped) i else 0, quad * 2 + @as(u32, j));
                            if (is_swapped) {
                                result.store(2, first_m + self.row + of_columns, first_n + self.column + of_rows, .{ accumulators[i][j], accumulators[i][2 + j] });
                            } else {
                                result.store(2, first_m + self.row + of_rows, first_n + self.column + of_columns, .{ accumulators[0][i * 2 + j], accumulators[1][i * 2 + j] });
                            }
                        }
                    }
                }
            }
        }
    };
}
