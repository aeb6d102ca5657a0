//! Copies contiguous matrices into larger ones whose rows start at multiples of 16 bytes, filled up with zeros, so that matmuls read whole
//! vectors. Both operands of a matmul go in one launch: the grid's third dimension says which; its second are the matrices of a batch.

const device = @import("device.zig");
const source = @import("source.zig");
const variant = @import("variant");

pub fn Kernel(comptime v: variant.Pad) type {
    return struct {
        const Stored = @Int(.unsigned, v.item_bytes * 8);
        const Vector = source.Vector(Stored);
        const width = @typeInfo(Vector).vector.len;

        pub fn kernel(
            first: device.Input(Stored),
            first_padded: device.Output(Stored),
            second: device.Input(Stored),
            second_padded: device.Output(Stored),
            first_rows: u32,
            first_columns: u32,
            first_padded_rows: u32,
            first_padded_columns: u32,
            second_rows: u32,
            second_columns: u32,
            second_padded_rows: u32,
            second_padded_columns: u32,
        ) callconv(device.convention) void {
            const batch: u64 = @workGroupId(1);
            const index = @workGroupId(0) * v.threads + @workItemId(0);
            if (@workGroupId(2) == 0) {
                copy(first, first_padded, first_rows, first_columns, first_padded_rows, first_padded_columns, batch, index);
            } else {
                copy(second, second_padded, second_rows, second_columns, second_padded_rows, second_padded_columns, batch, index);
            }
        }

        /// One vector of a padded matrix.
        inline fn copy(
            input: device.Input(Stored),
            output: device.Output(Stored),
            rows: u32,
            columns: u32,
            padded_rows: u32,
            padded_columns: u32,
            batch: u64,
            index: u32,
        ) void {
            const row = index / (padded_columns / width);
            const column = index % (padded_columns / width) * width;
            if (row >= padded_rows) return;
            var values: Vector = @splat(0);
            if (row < rows) {
                const position = input + ((batch * rows + row) * columns + column);
                inline for (0..width) |i| {
                    if (column + i < columns) values[i] = position[i];
                }
            }
            const target: *align(source.chunk_bytes) addrspace(.global) Vector = @ptrCast(@alignCast(output + ((batch * padded_rows + row) * padded_columns + column)));
            target.* = values;
        }
    };
}
