//! Which tile a block computes. Blocks that run at the same time should share rows and columns of the operands in the second-level cache,
//! so tiles are numbered in strips of a few rows of tiles, column by column.

pub const Tile = struct { m: u32, n: u32 };

/// `strip` is the number of rows of tiles in a strip: with 132 units and tiles of 128 x 256, 16 make a wave of blocks cover about as many rows
/// as columns of the matmul.
pub inline fn tileOf(comptime strip: u32, index: u32, count_m: u32, count_n: u32) Tile {
    const number = index / (strip * count_n);
    const inside = index % (strip * count_n);
    const first = number * strip;
    const rows = @min(count_m - first, strip);
    return .{ .m = first + inside % rows, .n = inside / rows };
}
