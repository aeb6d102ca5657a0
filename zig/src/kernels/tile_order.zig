//! Which tile a block computes. Blocks that run at the same time should share rows and columns of the operands in the second-level cache,
//! so tiles are numbered in strips of a few rows of tiles, column by column.

pub const Tile = struct { m: u32, n: u32 };

/// Rows of tiles in a strip: with 132 units and tiles of 128 x 256 a wave of blocks then covers about as many rows as columns of the product.
const strip_rows = 16;

pub inline fn tileOf(index: u32, count_m: u32, count_n: u32) Tile {
    const strip = index / (strip_rows * count_n);
    const inside = index % (strip_rows * count_n);
    const first = strip * strip_rows;
    const rows = @min(count_m - first, strip_rows);
    return .{ .m = first + inside % rows, .n = inside / rows };
}
