//! Loops 2 and 1 of the paper over register tiles, for packed panels (`run`) and for operands read in place (`runDirect`).
//!
//! `Tiles` belongs to the calling module: its function `tile` is compiled for that module's instruction set, once for each size.

const table = @import("table.zig");
const micro_kernel = @import("micro_kernel.zig");
const Numbers = @import("numbers.zig").Numbers;

pub inline fn run(comptime numbers: Numbers, comptime shape: table.Shape, comptime Tiles: type, block: *const table.Block(numbers)) void {
    const tile_rows = comptime shape.tileRows();
    // The last columns ask for what is packed next, each row of tiles for as many rows: earlier it would be out of L2 again.
    const share = block.depth / micro_kernel.steps_per_turn * comptime micro_kernel.aheadSteps(numbers, shape);
    const shares = if (block.ahead) |ahead| (ahead.depth + share -| 1) / @max(1, share) else 0;
    const lines_bytes = comptime 64 * micro_kernel.linesOfStep(numbers, shape);
    const tile_bytes = share * lines_bytes;
    const tile_columns = (block.columns + shape.columns - 1) / shape.columns;
    var column: usize = 0;
    // Loop 2: the packed right panel stays in L1 while all left panels stream past it.
    while (column < block.columns) : (column += shape.columns) {
        const columns = @min(shape.columns, block.columns - column);
        const right = block.right + column / shape.columns * block.right_panel;
        // Meanwhile the next panel comes from L3 to L2, a share with each row of tiles until it is there; behind the last one the first, which is
        // near and costs nothing.
        const next_column = if (column + shape.columns < block.columns) column / shape.columns + 1 else 0;
        var next_right: [*]const u8 = @ptrCast(block.right + next_column * block.right_panel);
        var next_bytes = block.depth * shape.columns * @sizeOf(numbers.Word());
        var row: usize = 0;
        // Loop 1: left panels come from L2.
        while (row < block.rows) : (row += tile_rows) {
            const rows = @min(tile_rows, block.rows - row);
            const out = micro_kernel.offset(numbers.Sum, block.out, @as(isize, @intCast(row)) * block.out_row +
                @as(isize, @intCast(column)) * block.out_column);
            var tile: table.Tile(numbers) = .{
                .depth = block.depth,
                .left = block.left + row / tile_rows * block.left_panel,
                .left_step = 0,
                .right = right,
                .right_step = 0,
                .right_column = 0,
                .out = out,
                .out_column = block.out_column,
                .alpha = block.alpha,
                .beta = block.beta,
                // What is in L1 anyway.
                .ahead = @ptrCast(@alignCast(right)),
            };
            if (next_bytes > 0) {
                tile.ahead = @ptrCast(@alignCast(next_right));
                tile.ahead_step = lines_bytes / @sizeOf(numbers.Source);
                next_right += @min(next_bytes, tile_bytes);
                next_bytes -|= tile_bytes;
            }
            if (block.ahead) |ahead| {
                const columns_left = tile_columns - column / shape.columns;
                if (columns_left <= shares and row < ahead.lines) {
                    tile.ahead = micro_kernel.offsetConst(numbers.Source, ahead.ptr + row, @as(isize, @intCast((shares - columns_left) * share)) * ahead.along);
                    tile.ahead_step = ahead.along;
                }
            }
            if (rows == tile_rows and block.out_row == 1) {
                dispatchColumns(numbers, shape, Tiles, shape.lanes, shape.vectors, .panels, columns, &tile);
            } else {
                // Panels are padded with zeros: compute the whole tile aside and keep the part that exists.
                var aside: [shape.columns * tile_rows]numbers.Sum align(64) = undefined;
                tile.out = &aside;
                tile.out_column = tile_rows;
                tile.alpha = 1;
                tile.beta = 0;
                if (rows <= shape.lanes) {
                    dispatchColumns(numbers, shape, Tiles, shape.lanes, 1, .panels, columns, &tile);
                } else {
                    dispatchColumns(numbers, shape, Tiles, shape.lanes, shape.vectors, .panels, columns, &tile);
                }
                keep(numbers, tile_rows, Tiles.arithmetic, &aside, rows, columns, out, block);
            }
        }
    }
}

/// Puts the part of a tile that exists where it belongs; rows of `aside` are adjacent.
pub inline fn keep(
    comptime numbers: Numbers,
    comptime tile_rows: usize,
    comptime arithmetic: micro_kernel.Arithmetic,
    aside: [*]const numbers.Sum,
    rows: usize,
    columns: usize,
    out: [*]numbers.Sum,
    block: *const table.Block(numbers),
) void {
    for (0..columns) |j| {
        for (0..rows) |i| {
            const target = micro_kernel.offset(numbers.Sum, out, @as(isize, @intCast(i)) * block.out_row +
                @as(isize, @intCast(j)) * block.out_column);
            const sum = aside[j * tile_rows + i];
            target[0] = if (block.beta == 0)
                micro_kernel.multiply(numbers.Sum, block.alpha, sum)
            else
                micro_kernel.multiplyAdd(arithmetic, numbers.Sum, block.alpha, sum, micro_kernel.multiply(numbers.Sum, block.beta, target[0]));
        }
    }
}

/// Products read in place. Where rows do not fill the last tile, that tile is moved up: it computes some rows twice, to the same bits.
pub inline fn runDirect(comptime numbers: Numbers, comptime shape: table.Shape, comptime Tiles: type, job: *const table.Direct(numbers)) void {
    var column: usize = 0;
    while (column < job.columns) {
        const columns = directColumns(shape, job.columns - column);
        var tile: table.Tile(numbers) = .{
            .depth = job.depth,
            .left = job.left,
            .left_step = job.left_step,
            .right = micro_kernel.offsetConst(numbers.Source, job.right, @as(isize, @intCast(column)) * job.right_column),
            .right_step = job.right_step,
            .right_column = job.right_column,
            .out = micro_kernel.offset(numbers.Sum, job.out, @as(isize, @intCast(column)) * job.out_column),
            .out_column = job.out_column,
            .alpha = job.alpha,
            .beta = 0,
        };
        var row: usize = 0;
        // Few columns leave accumulators free: longer tiles hide the latency of the multiply-adds.
        if (columns <= wide_columns) row = sweep(numbers, shape, Tiles, wideVectors(shape), columns, row, job, &tile);
        row = sweep(numbers, shape, Tiles, shape.vectors, columns, row, job, &tile);
        row = sweep(numbers, shape, Tiles, 1, columns, row, job, &tile);
        const half = comptime shape.halfLanes();
        while (row < job.rows) {
            // Half a vector where it is enough: on CPUs that split wide vectors it takes half the time.
            if (job.rows - row <= half or job.rows < shape.lanes) {
                row = @min(row, job.rows - half);
                last(numbers, shape, Tiles, half, columns, row, job, tile);
                row += half;
            } else {
                row = job.rows - shape.lanes;
                last(numbers, shape, Tiles, shape.lanes, columns, row, job, tile);
                row += shape.lanes;
            }
        }
        column += columns;
    }
}

inline fn last(
    comptime numbers: Numbers,
    comptime shape: table.Shape,
    comptime Tiles: type,
    comptime lanes: comptime_int,
    columns: usize,
    row: usize,
    job: *const table.Direct(numbers),
    tile: table.Tile(numbers),
) void {
    var moved = tile;
    moved.left = job.left + row;
    moved.out = tile.out + row;
    dispatchColumns(numbers, shape, Tiles, lanes, 1, .strided, columns, &moved);
}

/// Up to this many columns the wide tile is used.
const wide_columns = 3;

fn wideVectors(comptime shape: table.Shape) comptime_int {
    return shape.vectors * shape.columns / wide_columns;
}

/// Spreads columns evenly: 16 columns of a tile of 12 are taken as 8 + 8, not 12 + 4.
inline fn directColumns(comptime shape: table.Shape, left: usize) usize {
    if (left <= shape.columns) return left;
    if (left >= 2 * shape.columns) return shape.columns;
    return (left + 1) / 2;
}

inline fn sweep(
    comptime numbers: Numbers,
    comptime shape: table.Shape,
    comptime Tiles: type,
    comptime vectors: comptime_int,
    columns: usize,
    first_row: usize,
    job: *const table.Direct(numbers),
    tile: *table.Tile(numbers),
) usize {
    const height = vectors * shape.lanes;
    const out = tile.out;
    defer tile.out = out;
    var row = first_row;
    while (row + height <= job.rows) : (row += height) {
        tile.left = job.left + row;
        tile.out = out + row;
        dispatchColumns(numbers, shape, Tiles, shape.lanes, vectors, .strided, columns, tile);
    }
    return row;
}

inline fn dispatchColumns(
    comptime numbers: Numbers,
    comptime shape: table.Shape,
    comptime Tiles: type,
    comptime lanes: comptime_int,
    comptime vectors: comptime_int,
    comptime layout: micro_kernel.Layout,
    columns: usize,
    tile: *const table.Tile(numbers),
) void {
    const most = if (vectors > shape.vectors) wide_columns else shape.columns;
    switch (columns) {
        inline 1...most => |count| Tiles.tile(.{ .lanes = lanes, .vectors = vectors, .columns = count }, layout, tile),
        else => unreachable,
    }
}
