//! Transposes matrices of numbers of any format, a tile at a time: rows are read and written along their memory, transposing happens in block
//! memory, whose rows are one number longer so that a column lies in different banks. Batches are the blocks' second dimension.

const device = @import("device.zig");
const variant = @import("variant");

pub fn Kernel(comptime v: variant.Transpose) type {
    return struct {
        const Stored = @Int(.unsigned, v.item_bytes * 8);
        const lines = v.threads / v.tile;
        var tile: [v.tile][v.tile + 1]Stored addrspace(.shared) = undefined;

        comptime {
            if (v.tile % lines != 0 or lines * v.tile != v.threads) @compileError("threads do not divide the tile");
        }

        pub fn kernel(input: device.Input(Stored), output: device.Output(Stored), rows: u32, columns: u32) callconv(device.convention) void {
            const thread = @workItemId(0);
            const across = (columns - 1) / v.tile + 1;
            const first_row = @workGroupId(0) / across * v.tile;
            const first_column = @workGroupId(0) % across * v.tile;
            const offset = @as(usize, @workGroupId(1)) * rows * columns;
            const along = thread % v.tile;
            inline for (0..v.tile / lines) |i| {
                const line = thread / v.tile + @as(u32, i) * lines;
                if (first_row + line < rows and first_column + along < columns) {
                    tile[line][along] = input[offset + @as(usize, first_row + line) * columns + first_column + along];
                }
            }
            device.barrier();
            inline for (0..v.tile / lines) |i| {
                const line = thread / v.tile + @as(u32, i) * lines;
                if (first_column + line < columns and first_row + along < rows) {
                    output[offset + @as(usize, first_column + line) * rows + first_row + along] = tile[along][line];
                }
            }
        }
    };
}
