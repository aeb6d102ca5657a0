//! Loops 2 and 1 of the paper over register tiles, for packed panels (`run`) and for operands read in place (`runDirect`).
//!
//! `Tiles` belongs to the calling module: its function `tile` is compiled for that module's instruction set, once for each size.

const table = @import("gemm_table.zig");
const micro_kernel = @import("micro_kernel.zig");
const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");
const Numbers = @import("numbers.zig").Numbers;

pub inline fn run(comptime numbers: Numbers, comptime shape: table.Shape, comptime Tiles: type, block: *const table.Block(numbers)) void {
    const tile_rows = comptime shape.tileRows();
    // The last columns prefetch what is packed next, each row of tiles the same number of rows. Any earlier, it would leave L2 again.
    const share = block.k / micro_kernel.steps_per_iteration * comptime micro_kernel.aheadSteps(numbers, shape);
    const shares = if (block.ahead) |ahead| (ahead.k + share -| 1) / @max(1, share) else 0;
    const lines_bytes = comptime 64 * micro_kernel.linesOfStep(numbers, shape);
    const tile_bytes = share * lines_bytes;
    const tile_columns = (block.n + shape.columns - 1) / shape.columns;
    var column: usize = 0;
    // Loop 2: the packed panel of `b` stays in L1 while all panels of `a` stream past it.
    while (column < block.n) : (column += shape.columns) {
        const columns = @min(shape.columns, block.n - column);
        const b = block.b + column / shape.columns * block.b_panel;
        // Meanwhile the next panel comes from L3 to L2, a share with each row of tiles until it is there; behind the last one the first, which is
        // near and costs nothing.
        const next_column = if (column + shape.columns < block.n) column / shape.columns + 1 else 0;
        var next_b: [*]const u8 = @ptrCast(block.b + next_column * block.b_panel);
        var next_bytes = block.k * shape.columns * @sizeOf(numbers.Word());
        var row: usize = 0;
        // Loop 1: panels of `a` come from L2.
        while (row < block.m) : (row += tile_rows) {
            const rows = @min(tile_rows, block.m - row);
            const out = pointers.offset(numbers.Sum, block.out, @as(isize, @intCast(row)) * block.out_row +
                @as(isize, @intCast(column)) * block.out_column);
            var tile: table.Tile(numbers) = .{
                .k = block.k,
                .a = block.a + row / tile_rows * block.a_panel,
                .a_step = 0,
                .b = b,
                .b_step = 0,
                .b_column = 0,
                .out = out,
                .out_column = block.out_column,
                .alpha = block.alpha,
                .beta = block.beta,
                // This is in L1 anyway, so it costs nothing to prefetch.
                .ahead = @ptrCast(@alignCast(b)),
            };
            if (next_bytes > 0) {
                tile.ahead = @ptrCast(@alignCast(next_b));
                tile.ahead_step = lines_bytes / @sizeOf(numbers.Source);
                next_b += @min(next_bytes, tile_bytes);
                next_bytes -|= tile_bytes;
            }
            if (block.ahead) |ahead| {
                const columns_remaining = tile_columns - column / shape.columns;
                if (columns_remaining <= shares and row < ahead.lines) {
                    tile.ahead = pointers.offsetConst(numbers.Source, ahead.ptr + row, @as(isize, @intCast((shares - columns_remaining) * share)) * ahead.along);
                    tile.ahead_step = ahead.along;
                }
            }
            if (rows == tile_rows and block.out_row == 1) {
                dispatchColumns(numbers, shape, Tiles, shape.lanes, shape.vectors, .panels, columns, &tile);
            } else {
                // Panels are padded with zeros, so the whole tile is computed into a buffer and the part that exists is copied.
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

/// Copies the part of a tile that exists to `out`; rows of `aside` are adjacent.
pub inline fn keep(
    comptime numbers: Numbers,
    comptime tile_rows: usize,
    comptime arithmetic: fma.Arithmetic,
    aside: [*]const numbers.Sum,
    rows: usize,
    columns: usize,
    out: [*]numbers.Sum,
    block: *const table.Block(numbers),
) void {
    for (0..columns) |j| {
        for (0..rows) |i| {
            const target = pointers.offset(numbers.Sum, out, @as(isize, @intCast(i)) * block.out_row +
                @as(isize, @intCast(j)) * block.out_column);
            const sum = aside[j * tile_rows + i];
            target[0] = if (block.beta == 0)
                fma.multiply(numbers.Sum, block.alpha, sum)
            else
                fma.multiplyAdd(arithmetic, numbers.Sum, block.alpha, sum, fma.multiply(numbers.Sum, block.beta, target[0]));
        }
    }
}

/// Matmuls read in place. Where rows do not fill the last tile, that tile is moved up: it computes some rows twice, to the same bits.
pub inline fn runDirect(comptime numbers: Numbers, comptime shape: table.Shape, comptime Tiles: type, job: *const table.Direct(numbers)) void {
    var column: usize = 0;
    while (column < job.n) {
        const columns = directColumns(shape, job.n - column);
        var tile: table.Tile(numbers) = .{
            .k = job.k,
            .a = job.a,
            .a_step = job.a_step,
            .b = pointers.offsetConst(numbers.Source, job.b, @as(isize, @intCast(column)) * job.b_column),
            .b_step = job.b_step,
            .b_column = job.b_column,
            .out = pointers.offset(numbers.Sum, job.out, @as(isize, @intCast(column)) * job.out_column),
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
        while (row < job.m) {
            // Half a vector where it is enough: on CPUs that split wide vectors it takes half the time.
            if (job.m - row <= half or job.m < shape.lanes) {
                row = @min(row, job.m - half);
                last(numbers, shape, Tiles, half, columns, row, job, tile);
                row += half;
            } else {
                row = job.m - shape.lanes;
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
    moved.a = job.a + row;
    moved.out = tile.out + row;
    dispatchColumns(numbers, shape, Tiles, lanes, 1, .strided, columns, &moved);
}

/// The wide tile is used for at most this many columns.
const wide_columns = 3;

fn wideVectors(comptime shape: table.Shape) comptime_int {
    return shape.vectors * shape.columns / wide_columns;
}

/// Spreads columns evenly: 16 columns of a tile of 12 are taken as 8 + 8, not 12 + 4.
inline fn directColumns(comptime shape: table.Shape, a: usize) usize {
    if (a <= shape.columns) return a;
    if (a >= 2 * shape.columns) return shape.columns;
    return (a + 1) / 2;
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
    while (row + height <= job.m) : (row += height) {
        tile.a = job.a + row;
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
