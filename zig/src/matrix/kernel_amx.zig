//! AMX (AMX_TILE, AMX_BF16, AMX_INT8) beside AVX-512: tiles of 16 rows of 64 bytes, 2 x 2 of them as sums. One module, compiled with these
//! target features; entered only where tiles.zig found them usable.
//!
//! `out` has consecutive rows next to each other, and a tile register has consecutive columns next to each other: a tile register of sums
//! holds a column of `out` in each of its rows. The right panel is therefore the instruction's first operand and the left panel its second,
//! whose layout - words along the depth, each of all lines - is that of every left panel.
//!
//! bfloat16: each instruction adds the products of even and of odd places of 32 steps apart, then both to the sum, in single precision,
//! rounded to nearest even; denormals are zero, coming in and going out, whatever MXCSR says (Intel, Software Developer's Manual, volume 2,
//! TDPBF16PS). AVX512_BF16 has the same rule for denormals and another order of additions: the last bits differ. Bytes are exact.

const std = @import("std");
const generic = @import("generic");
const micro_kernel = generic.micro_kernel;
const numbers_of = generic.numbers;
const pack = generic.pack;
const table = generic.table;

/// Rows of a tile register, and words in each.
const extent = numbers_of.tile_words;
/// Tile registers beside each other, both ways: with 2 x 2 sums each operand that is loaded is used twice.
const tiles_across = 2;
const panel_lines = tiles_across * extent;

/// Only formats that have instructions: bf16, f32_as_bf16, i8.
pub fn Kernel(comptime format: numbers_of.Format) type {
    const numbers = numbers_of.tiled(format);
    const Sum = numbers.Sum;
    return struct {
        pub const routines: table.Table(numbers) = .{
            .name = "amx",
            .lanes = extent,
            .half_lanes = extent / 2,
            .tile_rows = panel_lines,
            .tile_columns = panel_lines,
            .block = block,
            .direct = {},
            .dots = {},
            .combine = {},
            .small = {},
            .pack_left = packLeft,
            .pack_right = packRight,
            .narrow = if (Sum == f32) narrow else {},
            .activate = {},
        };

        /// Tile registers are configured and released here: whatever thread this is, and whatever it does next, it pays for them only now.
        fn block(job: *const table.Block(numbers)) void {
            configure();
            defer release();
            var column: usize = 0;
            while (column < job.columns) : (column += panel_lines) {
                const columns = @min(panel_lines, job.columns - column);
                var row: usize = 0;
                while (row < job.rows) : (row += panel_lines) {
                    const out = micro_kernel.offset(Sum, job.out, @as(isize, @intCast(row)) * job.out_row +
                        @as(isize, @intCast(column)) * job.out_column);
                    part(job, job.left + row / panel_lines * job.left_panel, job.right + column / panel_lines * job.right_panel, .{
                        .rows = @min(panel_lines, job.rows - row),
                        .columns = columns,
                        .out = out,
                    });
                }
            }
        }

        const Part = struct { rows: usize, columns: usize, out: [*]Sum };

        fn part(job: *const table.Block(numbers), left: [*]const u32, right: [*]const u32, it: Part) void {
            const is_whole = it.rows == panel_lines and it.columns == panel_lines;
            if (is_whole and job.out_row == 1 and job.alpha == 1 and job.beta == 0) {
                return sum(2, 2, job.depth, left, right, it.out, job.out_column * @sizeOf(Sum));
            }
            // Column after column, as `keep` expects.
            var aside: [panel_lines * panel_lines]Sum align(64) = undefined;
            const stride = panel_lines * @sizeOf(Sum);
            if (it.rows <= extent) {
                if (it.columns <= extent) sum(1, 1, job.depth, left, right, &aside, stride) else sum(2, 1, job.depth, left, right, &aside, stride);
            } else {
                if (it.columns <= extent) sum(1, 2, job.depth, left, right, &aside, stride) else sum(2, 2, job.depth, left, right, &aside, stride);
            }
            if (it.rows == panel_lines and job.out_row == 1) return addColumns(job, &aside, it);
            generic.block_loops.keep(numbers, panel_lines, .fused, &aside, it.rows, it.columns, it.out, job);
        }

        /// Sums of `right_tiles` x `left_tiles` tile registers over the whole depth, stored at `target`.
        noinline fn sum(
            comptime right_tiles: comptime_int,
            comptime left_tiles: comptime_int,
            depth: usize,
            left: [*]const u32,
            right: [*]const u32,
            target: [*]Sum,
            stride_bytes: isize,
        ) void {
            inline for (0..right_tiles) |i| inline for (0..left_tiles) |j| zero(sumTile(i, j));
            var step: usize = 0;
            while (step < depth) : (step += extent) {
                const right_words = right + step * panel_lines;
                const left_words = left + step * panel_lines;
                inline for (0..right_tiles) |i| load(rightTile(i), right_words + i * extent * extent, extent * @sizeOf(u32));
                inline for (0..left_tiles) |j| {
                    load(leftTile(j), left_words + j * extent, panel_lines * @sizeOf(u32));
                    inline for (0..right_tiles) |i| addProducts(sumTile(i, j), rightTile(i), leftTile(j));
                }
            }
            inline for (0..right_tiles) |i| {
                const column = micro_kernel.offset(u8, @ptrCast(target), @as(isize, i * extent) * stride_bytes);
                inline for (0..left_tiles) |j| store(sumTile(i, j), column + j * extent * @sizeOf(Sum), stride_bytes);
            }
        }

        inline fn addProducts(comptime sums: u8, comptime right: u8, comptime left: u8) void {
            const instruction = if (Sum == f32) "tdpbf16ps" else "tdpbssd";
            asm volatile (std.fmt.comptimePrint("{s} %%tmm{d}, %%tmm{d}, %%tmm{d}", .{ instruction, left, right, sums }));
        }

        fn addColumns(job: *const table.Block(numbers), aside: [*]const Sum, it: Part) void {
            const V = @Vector(extent, Sum);
            const alpha: V = @splat(job.alpha);
            const beta: V = @splat(job.beta);
            for (0..it.columns) |j| {
                const column = micro_kernel.offset(Sum, it.out, @as(isize, @intCast(j)) * job.out_column);
                inline for (0..tiles_across) |i| {
                    const target = column[i * extent ..][0..extent];
                    const sums: V = (aside + j * panel_lines + i * extent)[0..extent].*;
                    // What `out` held is not read where `beta` is zero: it may be anything, NaN included.
                    target.* = if (job.beta == 0)
                        micro_kernel.multiply(V, alpha, sums)
                    else
                        micro_kernel.multiplyAdd(.fused, V, alpha, sums, micro_kernel.multiply(V, beta, target.*));
                }
            }
        }

        fn narrow(run: *const generic.narrow.Run) void {
            generic.narrow.round(extent, run);
        }

        fn packLeft(panel: *const table.Panel(numbers)) void {
            pack.pack(numbers, .left, extent, panel_lines, panel);
        }

        /// A tile register of the right panel holds a line in each row: 16 words along the depth of each line, line after line.
        fn packRight(panel: *const table.Panel(numbers)) void {
            const steps = extent * numbers.group;
            var step: usize = 0;
            var target = panel.target;
            while (step < panel.depth) : (step += steps) {
                const piece: table.Panel(numbers) = .{
                    .source = .{
                        .ptr = micro_kernel.offsetConst(numbers.Source, panel.source.ptr, @as(isize, @intCast(step)) * panel.source.along),
                        .across = panel.source.across,
                        .along = panel.source.along,
                    },
                    .width = panel.width,
                    .depth = @min(steps, panel.depth - step),
                    .target = target,
                };
                if (piece.source.along == 1 and piece.depth == steps) packLines(&piece) else packTurned(&piece);
                target += extent * panel_lines;
            }
        }

        fn packLines(piece: *const table.Panel(numbers)) void {
            const steps = extent * numbers.group;
            for (0..piece.width) |line| {
                const source = micro_kernel.offsetConst(numbers.Source, piece.source.ptr, @as(isize, @intCast(line)) * piece.source.across);
                const words: @Vector(extent, u32) = @bitCast(numbers_of.convert(numbers, .right, steps, source[0..steps].*));
                piece.target[line * extent ..][0..extent].* = words;
            }
            @memset(piece.target[piece.width * extent .. panel_lines * extent], 0);
        }

        /// Packed as a left panel is, then turned.
        fn packTurned(piece: *const table.Panel(numbers)) void {
            var across: [extent * panel_lines + extent]u32 align(64) = undefined;
            var turned = piece.*;
            turned.target = &across;
            pack.pack(numbers, .right, extent, panel_lines, &turned);
            inline for (0..tiles_across) |tile| {
                var square: [extent]@Vector(extent, u32) = undefined;
                inline for (&square, 0..) |*words, word| words.* = across[word * panel_lines + tile * extent ..][0..extent].*;
                pack.transpose(u32, extent, &square);
                inline for (square, 0..) |words, line| piece.target[(tile * extent + line) * extent ..][0..extent].* = words;
            }
        }
    };
}

fn sumTile(comptime right: u8, comptime left: u8) u8 {
    return tiles_across * right + left;
}

fn rightTile(comptime index: u8) u8 {
    return tiles_across * tiles_across + index;
}

fn leftTile(comptime index: u8) u8 {
    return tiles_across * tiles_across + tiles_across + index;
}

/// The memory operand of LDTILECFG (Intel, Software Developer's Manual, volume 1, "Tile Configuration").
const Configuration = extern struct {
    palette: u8 = 1,
    start_row: u8 = 0,
    reserved: [14]u8 = @splat(0),
    row_bytes: [16]u16 = @as([8]u16, @splat(extent * @sizeOf(u32))) ++ @as([8]u16, @splat(0)),
    rows: [16]u8 = @as([8]u8, @splat(extent)) ++ @as([8]u8, @splat(0)),
};

/// Every tile register whole: edges are zeros in the panels.
const whole_tiles: Configuration align(64) = .{};

inline fn configure() void {
    asm volatile ("ldtilecfg (%[configuration])"
        :
        : [configuration] "r" (&whole_tiles),
        : .{ .memory = true });
}

inline fn release() void {
    asm volatile ("tilerelease" ::: .{ .memory = true });
}

inline fn zero(comptime tile: u8) void {
    asm volatile (std.fmt.comptimePrint("tilezero %%tmm{d}", .{tile}));
}

inline fn load(comptime tile: u8, words: [*]const u32, stride_bytes: usize) void {
    asm volatile (std.fmt.comptimePrint("tileloadd (%[words],%[stride],1), %%tmm{d}", .{tile})
        :
        : [words] "r" (words),
          [stride] "r" (stride_bytes),
        : .{ .memory = true });
}

inline fn store(comptime tile: u8, target: [*]u8, stride_bytes: isize) void {
    asm volatile (std.fmt.comptimePrint("tilestored %%tmm{d}, (%[target],%[stride],1)", .{tile})
        :
        : [target] "r" (target),
          [stride] "r" (stride_bytes),
        : .{ .memory = true });
}
