//! The routines for AMX (AMX_TILE, AMX_BF16, AMX_INT8) beside AVX-512. A tile register has 16 rows of 64 bytes; 2 x 2 of them hold the sums. This
//! is compiled with these target features and entered only where tiles.zig found them usable.
//!
//! `out` has consecutive rows next to each other, and a tile register has consecutive columns next to each other: a tile register of sums
//! holds a column of `out` in each of its rows. The panel of `b` is therefore the instruction's first operand and the panel of `a` its second.
//! Panels hold tile registers as they are loaded, 1 KiB each: a register whose rows lie 128 bytes apart takes longer out of L2.
//!
//! bfloat16: each instruction adds the products of even and of odd places of 32 steps apart, then both to the sum, in single precision,
//! rounded to nearest even; denormals are zero, coming in and going out, whatever MXCSR says (Intel, Software Developer's Manual, volume 2,
//! TDPBF16PS). AVX512_BF16 has the same rule for denormals and another order of additions: the last bits differ. Bytes are exact.

const std = @import("std");
const generic = @import("generic");
const fma = generic.fma;
const pointers = generic.pointers;
const numbers_of = generic.numbers;
const pack = generic.pack;
const table = generic.table;

/// Rows of a tile register, and words in each.
const extent = numbers_of.tile_words;
/// Number of tile registers beside each other in both directions. With 2 x 2 sums each operand that is loaded is used twice.
const tiles_across = 2;
const panel_lines = tiles_across * extent;
const tile_words = extent * extent;

comptime {
    for (numbers_of.tiled_formats) |format| generic.linked_table.publish(&Kernel(format).routines, "gemm", "amx", @tagName(format));
}

/// For the formats that have instructions.
fn Kernel(comptime format: numbers_of.Format) type {
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
            .pack_a = packA,
            .pack_b = packB,
            .narrow = if (Sum == f32) narrow else {},
            .activate = {},
        };

        /// Tile registers are configured and released here, so a thread pays for them only while it multiplies.
        fn block(job: *const table.Block(numbers)) void {
            configure();
            defer release();
            const parts_down = (job.m + panel_lines - 1) / panel_lines;
            const parts_across = (job.n + panel_lines - 1) / panel_lines;
            var column: usize = 0;
            while (column < job.n) : (column += panel_lines) {
                const columns = @min(panel_lines, job.n - column);
                var row: usize = 0;
                while (row < job.m) : (row += panel_lines) {
                    const out = pointers.offset(Sum, job.out, @as(isize, @intCast(row)) * job.out_row +
                        @as(isize, @intCast(column)) * job.out_column);
                    const number = column / panel_lines * parts_down + row / panel_lines;
                    var copy: Copy = undefined;
                    shareCopy(job, number, parts_down * parts_across, &copy);
                    part(job, &.{
                        .number = number,
                        .row = row,
                        .column = column,
                        .copy = &copy,
                        .a = job.a + row / panel_lines * job.a_panel,
                        .b = job.b + column / panel_lines * job.b_panel,
                        .rows = @min(panel_lines, job.m - row),
                        .columns = columns,
                        .out = out,
                    });
                }
            }
        }

        const Part = struct {
            number: usize,
            row: usize,
            column: usize,
            a: [*]const u32,
            b: [*]const u32,
            rows: usize,
            columns: usize,
            out: [*]Sum,
            copy: *const Copy,
        };

        /// A share of the next panel of `b`: the same lines with each step along k.
        const Copy = struct {
            source: [*]const u8,
            across_bytes: isize,
            target: [*]u8,
            lines: usize,

            /// Of a step of 16 words. Vector units and memory are idle while tile registers are multiplied.
            inline fn run(copy: *const Copy, step: usize) void {
                for (0..copy.lines) |line| {
                    const source = pointers.offsetConst(u8, copy.source, @as(isize, @intCast(line)) * copy.across_bytes) + step * @sizeOf(u32);
                    const target = copy.target + step * panel_lines * @sizeOf(u32) + line * line_bytes;
                    target[0..line_bytes].* = @as(@Vector(line_bytes, u8), source[0..line_bytes].*);
                }
            }
        };
        const line_bytes = extent * @sizeOf(u32);

        /// What part `number` of `count` copies, field by field (see `part`).
        fn shareCopy(job: *const table.Block(numbers), number: usize, count: usize, copy: *Copy) void {
            copy.lines = 0;
            const next = if (job.next) |*next| next else return;
            const share = (panel_lines + count - 1) / count;
            const first: usize = @min(panel_lines, number * share);
            copy.source = @ptrCast(pointers.offsetConst(numbers.Source, next.source, @as(isize, @intCast(first)) * next.across));
            copy.across_bytes = next.across * @sizeOf(numbers.Source);
            copy.target = @as([*]u8, @ptrCast(next.target)) + first * line_bytes;
            copy.lines = @min(share, panel_lines - first);
        }

        /// Where the tile registers of a part are stored in memory.
        const Location = struct {
            first: [*]u8,
            stride_bytes: isize,
            b_bytes: isize,
            a_bytes: isize,

            inline fn columns(target: [*]Sum, column_bytes: isize) Location {
                return .{ .first = @ptrCast(target), .stride_bytes = column_bytes, .b_bytes = extent * column_bytes, .a_bytes = extent * @sizeOf(Sum) };
            }

            /// One tile register after the other.
            inline fn adjacent(target: [*]Sum) Location {
                const tile_bytes = extent * extent * @sizeOf(Sum);
                return .{
                    .first = @ptrCast(target),
                    .stride_bytes = extent * @sizeOf(Sum),
                    .b_bytes = tiles_across * tile_bytes,
                    .a_bytes = tile_bytes,
                };
            }

            inline fn tile(location: *const Location, comptime b: comptime_int, comptime a: comptime_int) [*]u8 {
                return pointers.offset(u8, location.first, b * location.b_bytes + a * location.a_bytes);
            }
        };

        /// Structures go by address and are read as they were written, word by word: a load that takes two stores at once waits until both, and the sums
        /// before them, are in the cache.
        fn part(job: *const table.Block(numbers), it: *const Part) void {
            var between_location: Location = undefined;
            var before: ?*const Location = null;
            if (job.between) |*between| {
                between_location = .adjacent(between.sums + it.number * panel_lines * panel_lines);
                if (!between.is_first) before = &between_location;
                if (!between.is_last) return sumOf(job, it, before, &between_location);
            }
            if (Sum == f32) if (job.rounded) |*target| {
                var aside: [panel_lines * panel_lines]f32 align(64) = undefined;
                sumOf(job, it, before, &.columns(&aside, panel_lines * @sizeOf(f32)));
                return roundColumns(&aside, it, target);
            };
            const is_whole = it.rows == panel_lines and it.columns == panel_lines;
            if (is_whole and job.out_row == 1 and job.alpha == 1 and job.beta == 0) {
                return sumOf(job, it, before, &.columns(it.out, job.out_column * @sizeOf(Sum)));
            }
            // Column after column, as `keep` expects.
            var aside: [panel_lines * panel_lines]Sum align(64) = undefined;
            sumOf(job, it, before, &.columns(&aside, panel_lines * @sizeOf(Sum)));
            if (it.rows == panel_lines and job.out_row == 1) return addColumns(job, &aside, it);
            generic.block_loops.keep(numbers, panel_lines, .fused, &aside, it.rows, it.columns, it.out, job);
        }

        fn sumOf(job: *const table.Block(numbers), it: *const Part, start: ?*const Location, target: *const Location) void {
            if (it.rows <= extent) {
                if (it.columns <= extent) sum(1, 1, job.k, it, start, target) else sum(2, 1, job.k, it, start, target);
            } else {
                if (it.columns <= extent) sum(1, 2, job.k, it, start, target) else sum(2, 2, job.k, it, start, target);
            }
        }

        /// Sums of `right_tiles` x `left_tiles` tile registers over all of k, added to what stands `before`, stored at `target`.
        noinline fn sum(
            comptime b_tiles: comptime_int,
            comptime a_tiles: comptime_int,
            k: usize,
            it: *const Part,
            before: ?*const Location,
            target: *const Location,
        ) void {
            if (before) |location| {
                inline for (0..b_tiles) |i| inline for (0..a_tiles) |j| load(sumTile(i, j), location.tile(i, j), location.stride_bytes);
            } else {
                inline for (0..b_tiles) |i| inline for (0..a_tiles) |j| zero(sumTile(i, j));
            }
            const row_bytes = extent * @sizeOf(u32);
            var step: usize = 0;
            while (step < k) : (step += extent) {
                const b_words = it.b + step * panel_lines;
                const a_words = it.a + step * panel_lines;
                // Each register is loaded just before its first product: loads wait less for registers that are in use.
                inline for (0..b_tiles) |i| {
                    load(bTile(i), b_words + i * tile_words, row_bytes);
                    inline for (0..a_tiles) |j| {
                        if (i == 0) load(aTile(j), a_words + j * tile_words, row_bytes);
                        addProducts(sumTile(i, j), bTile(i), aTile(j));
                    }
                }
                it.copy.run(step);
            }
            inline for (0..b_tiles) |i| inline for (0..a_tiles) |j| store(sumTile(i, j), target.tile(i, j), target.stride_bytes);
        }

        inline fn addProducts(comptime sums: u8, comptime b: u8, comptime a: u8) void {
            const instruction = if (Sum == f32) "tdpbf16ps" else "tdpbssd";
            asm volatile (std.fmt.comptimePrint("{s} %%tmm{d}, %%tmm{d}, %%tmm{d}", .{ instruction, a, b, sums }));
        }

        fn roundColumns(aside: [*]const f32, it: *const Part, target: *const table.Rounded) void {
            for (0..it.columns) |j| {
                const column = pointers.offset(u16, target.ptr, @as(isize, @intCast(it.row)) + @as(isize, @intCast(it.column + j)) * target.column);
                const sums = aside + j * panel_lines;
                if (it.rows == panel_lines) {
                    column[0..panel_lines].* = rounded(sums[0..panel_lines].*);
                } else {
                    narrow(&.{ .sums = sums, .target = .{ .bf16 = column }, .len = it.rows, .beta = 0 });
                }
            }
        }

        fn addColumns(job: *const table.Block(numbers), aside: [*]const Sum, it: *const Part) void {
            const V = @Vector(extent, Sum);
            const alpha: V = @splat(job.alpha);
            const beta: V = @splat(job.beta);
            for (0..it.columns) |j| {
                const column = pointers.offset(Sum, it.out, @as(isize, @intCast(j)) * job.out_column);
                inline for (0..tiles_across) |i| {
                    const target = column[i * extent ..][0..extent];
                    const sums: V = (aside + j * panel_lines + i * extent)[0..extent].*;
                    // What `out` held is not read where `beta` is zero: it may be anything, NaN included.
                    target.* = if (job.beta == 0)
                        fma.multiply(V, alpha, sums)
                    else
                        fma.multiplyAdd(.fused, V, alpha, sums, fma.multiply(V, beta, target.*));
                }
            }
        }

        fn narrow(run: *const generic.narrow.Run) void {
            var rest = run.*;
            if (run.target == .bf16 and run.beta == 0) {
                const pair = 2 * extent;
                const whole = run.len / pair * pair;
                var i: usize = 0;
                while (i < whole) : (i += pair) run.target.bf16[i..][0..pair].* = rounded(run.sums[i..][0..pair].*);
                rest.sums += whole;
                rest.target.bf16 += whole;
                rest.len -= whole;
            }
            generic.narrow.round(extent, &rest);
        }

        /// A tile register of the panel of `a` holds a word of each of 16 lines in each row: both tile registers of 16 words, then the next 16 words.
        fn packA(panel: *const table.Panel(numbers)) void {
            const steps = extent * numbers.group;
            var step: usize = 0;
            var target = panel.target;
            while (step < panel.k) : (step += steps) {
                const piece = pieceOf(panel, step, target);
                if (piece.source.across == 1 and piece.width == panel_lines and piece.k == steps) packAdjacent(&piece) else packApart(&piece);
                target += extent * panel_lines;
            }
        }

        fn pieceOf(panel: *const table.Panel(numbers), step: usize, target: [*]u32) table.Panel(numbers) {
            return .{
                .source = .{
                    .ptr = pointers.offsetConst(numbers.Source, panel.source.ptr, @as(isize, @intCast(step)) * panel.source.along),
                    .across = panel.source.across,
                    .along = panel.source.along,
                },
                .width = panel.width,
                .k = @min(extent * numbers.group, panel.k - step),
                .target = target,
            };
        }

        fn packAdjacent(piece: *const table.Panel(numbers)) void {
            for (0..extent) |word| {
                var sources: [numbers.group]@Vector(panel_lines, numbers.Source) = undefined;
                inline for (&sources, 0..) |*source, index| {
                    const step: isize = @intCast(word * numbers.group + index);
                    source.* = pointers.offsetConst(numbers.Source, piece.source.ptr, step * piece.source.along)[0..panel_lines].*;
                }
                var words: @Vector(panel_lines, u32) = undefined;
                if (numbers.conversion == .f32_to_bf16_bits) {
                    var elements: [numbers.group]@Vector(panel_lines, u16) = undefined;
                    inline for (&elements, sources) |*element, source| element.* = rounded(source);
                    words = @bitCast(std.simd.interlace(elements));
                } else words = pack.join(numbers, .a, panel_lines, sources);
                piece.target[word * extent ..][0..extent].* = std.simd.extract(words, 0, extent);
                piece.target[tile_words + word * extent ..][0..extent].* = std.simd.extract(words, extent, extent);
            }
        }

        fn packApart(piece: *const table.Panel(numbers)) void {
            var across: [extent * panel_lines + extent]u32 align(64) = undefined;
            var whole = piece.*;
            whole.target = &across;
            pack.pack(numbers, .a, extent, panel_lines, &whole);
            inline for (0..tiles_across) |tile| {
                inline for (0..extent) |word| {
                    piece.target[tile * tile_words + word * extent ..][0..extent].* = across[word * panel_lines + tile * extent ..][0..extent].*;
                }
            }
        }

        /// A tile register of the panel of `b` holds a line in each row: 16 words along k of each line, line after line.
        fn packB(panel: *const table.Panel(numbers)) void {
            const steps = extent * numbers.group;
            var step: usize = 0;
            var target = panel.target;
            while (step < panel.k) : (step += steps) {
                const piece = pieceOf(panel, step, target);
                if (piece.source.along == 1 and piece.k == steps) packLines(&piece) else packTransposed(&piece);
                target += extent * panel_lines;
            }
        }

        fn packLines(piece: *const table.Panel(numbers)) void {
            const steps = extent * numbers.group;
            for (0..piece.width) |line| {
                const source = pointers.offsetConst(numbers.Source, piece.source.ptr, @as(isize, @intCast(line)) * piece.source.across);
                const elements = if (numbers.conversion == .f32_to_bf16_bits)
                    rounded(source[0..steps].*)
                else
                    numbers_of.convert(numbers, .b, steps, source[0..steps].*);
                piece.target[line * extent ..][0..extent].* = @as(@Vector(extent, u32), @bitCast(elements));
            }
            @memset(piece.target[piece.width * extent .. panel_lines * extent], 0);
        }

        /// Packs like a panel of `a`, then transposes the result.
        fn packTransposed(piece: *const table.Panel(numbers)) void {
            var across: [extent * panel_lines + extent]u32 align(64) = undefined;
            var oriented = piece.*;
            oriented.target = &across;
            pack.pack(numbers, .b, extent, panel_lines, &oriented);
            inline for (0..tiles_across) |tile| {
                var square: [extent]@Vector(extent, u32) = undefined;
                inline for (&square, 0..) |*words, word| words.* = across[word * panel_lines + tile * extent ..][0..extent].*;
                pack.transpose(u32, extent, &square);
                inline for (square, 0..) |words, line| piece.target[(tile * extent + line) * extent ..][0..extent].* = words;
            }
        }
    };
}

/// To bfloat16. The instruction takes denormals for zero (Intel, Software Developer's Manual, volume 2, VCVTNE2PS2BF16) and is else like `convert`.
inline fn rounded(values: @Vector(2 * extent, f32)) @Vector(2 * extent, u16) {
    const Bits = @Vector(2 * extent, u32);
    const magnitudes = @as(Bits, @bitCast(values)) << @splat(1);
    const least_normal: Bits = @splat(0x0100_0000);
    // Zero is less by nothing, and goes round.
    const has_denormals = @reduce(.Or, magnitudes -% @as(Bits, @splat(1)) < least_normal - @as(Bits, @splat(1)));
    if (has_denormals) return numbers_of.convert(numbers_of.tiled(.f32_as_bf16), .a, 2 * extent, values);
    return asm ("vcvtne2ps2bf16 %[low], %[high], %[both]"
        : [both] "=v" (-> @Vector(2 * extent, u16)),
        : [low] "v" (std.simd.extract(values, 0, extent)),
          [high] "v" (std.simd.extract(values, extent, extent)),
    );
}

fn sumTile(comptime b: u8, comptime a: u8) u8 {
    return tiles_across * b + a;
}

fn bTile(comptime index: u8) u8 {
    return tiles_across * tiles_across + index;
}

fn aTile(comptime index: u8) u8 {
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

/// Every tile register is used whole; edges are zeros in the panels.
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

inline fn load(comptime tile: u8, words: anytype, stride_bytes: isize) void {
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
