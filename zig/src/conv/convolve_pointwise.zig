//! Convolutions with windows of one element, and their gradients, where the pixels of a plane are adjacent: matmuls that are computed
//! in place.
//!
//! A register tile is a panel times a few columns, summed over all steps. Forward and by image, a panel holds neighbouring pixels of all images, its
//! steps are the channels summed over, its columns the channels of the result: tiles are written where they belong, and what is copied is a few
//! panels at a time, which stay in the second cache. By weight, a panel holds channels of the image, its steps are pixels, its columns outputs.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");
const divideUp = @import("../tensor/rounding.zig").divideUp;

const View = strided.View;
const Pass = convolve_problem.Pass;

/// Panels that share a tile of columns at most: the tile stays in the first cache.
const panels_limit = 16;
/// Pixels that weights are summed over before they are written: a panel and a tile of columns, 64 and 28 KiB of float32, stream from the second
/// cache.
const pixels_limit = 512;
/// Fewer columns leave most of a register tile idle.
const least_columns = 4;
/// For fewer pixels weights are not worth packing in tiles of columns. Tiles are summed faster (512 channels to 256, 28 x 28 pixels, on Granite
/// Rapids: 200 instead of 185 GFLOP/s), but forward weights must be transposed, which takes as long as 16 to 32 pixels (256 channels to 1024, 14 x 14
/// pixels: 163 instead of 185 GFLOP/s; 2048 to 512, 8 images of 7 x 7: 179 instead of 137).
const packed_pixels = 128;
const transposed_pixels = 256;
/// Columns whose steps lie whole pages apart share the sets of the first cache; copies of them are so many values longer.
const page_bytes = 4096;
const copy_padding = 16;

/// Whether pixels are adjacent, tiles mostly full, and a panel leaves room in the second cache.
pub fn fits(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem, pass: Pass) bool {
    if (!convolve_problem.isPointwise(problem)) return false;
    for ([_]*const View{ &problem.image, &problem.result }) |view| {
        if (view.len() == 0 or !view.storage.is(T) or windows_of.planeStride(view) != 1) return false;
    }
    const sizes: Sizes = .of(problem, pass);
    if (sizes.columns < least_columns or sizes.steps == 0 or 2 * sizes.width < table.sweep_height) return false;
    if (pass == .weight_gradient) {
        const strides = problem.result.strides;
        return strides[0] >= 0 and strides[1] >= 0 and convolve_problem.weightsCopyLen(T, problem) == 0;
    }
    if (pass == .image_gradient and sizes.width < packed_pixels) return false;
    return sizes.steps <= kernels.info().caches.level2_bytes / 2 / @sizeOf(T) / table.sweep_height;
}

pub fn run(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    problem: *const convolve_problem.Problem,
    pass: Pass,
    executor: ?*const abi.Executor,
) convolve_problem.Error!void {
    var job: Pointwise(T) = .of(table, problem, pass, parallel.threadCount(executor));
    const bytes = job.reserve() orelse return error.OutOfMemory;
    const buffer = try workspace.acquire(bytes);
    defer workspace.release(buffer);
    job.hand(buffer);
    if (pass != .weight_gradient) job.weights = convolve_problem.denseWeights(T, table, problem, job.weights_copy.ptr);
    if (problem.bias) |*bias| table.load(&.{
        .storage = bias.storage,
        .address = bias.address,
        .step = bias.strides[0],
        .len = job.bias.len,
        .target = job.bias.ptr,
    });
    const Job = Pointwise(T);
    if (job.packs) try parallel.run(executor, problem.groups * job.packing_parts, Job.Packing, &.{ .job = &job });
    if (job.copying_parts > 0) try parallel.run(executor, problem.groups * job.rounds * job.copying_parts, Job.Copying, &.{ .job = &job });
    try parallel.run(executor, job.pieces, Job, &job);
}

/// What the panels hold, in one group.
const Sizes = struct {
    /// Of the result; of the sums; of the panels.
    columns: usize,
    steps: usize,
    width: usize,

    fn of(problem: *const convolve_problem.Problem, pass: Pass) Sizes {
        const inputs = problem.groupInputs();
        const outputs = problem.groupOutputs();
        const pixels = problem.image.shape[0] * problem.resultPlane();
        return switch (pass) {
            .forward => .{ .columns = outputs, .steps = inputs, .width = pixels },
            .image_gradient => .{ .columns = inputs, .steps = outputs, .width = pixels },
            .weight_gradient => .{ .columns = outputs, .steps = pixels, .width = inputs },
        };
    }
};

fn Pointwise(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const convolve_problem.Problem,
        pass: Pass,
        sizes: Sizes,
        height: usize,
        plane: usize,

        /// Pixels of an image, and images, that weights are summed over at a time.
        chunk_pixels: usize,
        chunk_images: usize,

        /// Columns of a tile; the last of a group may have fewer.
        tile_columns: usize,
        tiles: usize,
        panel_len: usize,
        /// Panels that are copied at a time, and how often that is done in a group.
        panels: usize,
        rounds: usize,
        /// Parts of the tiles that are work of their own.
        parts: usize,
        pieces: usize,
        /// Parts in which each round's panels are copied for all threads before they sum; none where each piece of work copies its own.
        copying_parts: usize,
        /// Whether weights are packed as tiles of columns, and the parts of that.
        packs: bool,
        packing_parts: usize,
        /// Whether tiles of columns are copied out of the few sets of the first cache that they share.
        copies_columns: bool,

        weights: [*]const T = undefined,
        weights_copy: []T = &.{},
        weights_packed: []T = &.{},
        bias: []T = &.{},
        shared_panels: []T = &.{},
        buffers: []T = &.{},

        const Self = @This();

        fn of(table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem, pass: Pass, threads: usize) Self {
            const sizes: Sizes = .of(problem, pass);
            const height = table.sweep_height;
            const plane = problem.resultPlane();
            const batches = problem.image.shape[0];
            const is_weight = pass == .weight_gradient;
            const plane_parts = divideUp(plane, pixels_limit);
            const chunk_pixels = divideUp(plane, plane_parts);
            const chunk_images = std.math.clamp(pixels_limit / plane, 1, batches);
            const panel_len = (if (is_weight) chunk_pixels * chunk_images else sizes.steps) * height;
            const tiles = divideUp(sizes.columns, table.sweep_columns);
            const panels = divideUp(sizes.width, height);
            const level2_bytes = kernels.info().caches.level2_bytes;
            const wanted = if (threads == 1) 1 else 4 * threads;
            var at_once = std.math.clamp(level2_bytes / 4 / @sizeOf(T) / panel_len, 1, panels_limit);
            // Few panels are soon copied, and with all of them at hand each tile of columns is read once, by one thread.
            const shares_panels = threads > 1 and !is_weight and panels <= panels_limit;
            // Columns that do not stay in the second cache are read again for each round.
            const stays = sizes.columns *| sizes.steps *| @sizeOf(T) <= level2_bytes / 2;
            if ((stays and !shares_panels) or is_weight) at_once = @min(at_once, @max(1, problem.groups * panels / wanted));
            const rounds = divideUp(panels, at_once);
            // Each part copies the panels of its rounds anew; to transpose them costs more than to copy them.
            const parts = if (shares_panels) tiles else @min(tiles, divideUp(if (is_weight) threads else wanted, problem.groups * rounds));
            const packs = pass == .image_gradient or (pass == .forward and sizes.width >= transposed_pixels);
            const step_stride = if (pass == .forward) sizes.steps else @abs(problem.result.strides[1]);
            return .{
                .table = table,
                .problem = problem,
                .pass = pass,
                .sizes = sizes,
                .height = height,
                .plane = plane,
                .chunk_pixels = chunk_pixels,
                .chunk_images = chunk_images,
                .tile_columns = divideUp(sizes.columns, tiles),
                .tiles = tiles,
                .panel_len = panel_len,
                .panels = divideUp(panels, rounds),
                .rounds = rounds,
                .parts = parts,
                .pieces = if (threads == 1) 1 else @min(wanted, problem.groups * rounds * parts),
                .copying_parts = if (shares_panels) @min(sizes.steps, divideUp(wanted, problem.groups * rounds)) else 0,
                .packs = packs,
                .packing_parts = if (threads == 1) 1 else wanted,
                .copies_columns = !packs and step_stride * @sizeOf(T) % page_bytes == 0,
            };
        }

        fn items(job: *const Self) usize {
            return job.problem.groups * job.rounds * job.parts;
        }

        /// Values of a copied tile of columns.
        fn columnsLen(job: *const Self) usize {
            if (!job.copies_columns) return 0;
            if (job.pass == .forward) return job.tile_columns * (job.sizes.steps + copy_padding);
            return job.chunk_images * job.tile_columns * (job.chunk_pixels + copy_padding);
        }

        /// Values of the panels of a round.
        fn panelsLen(job: *const Self) ?usize {
            return convolve_problem.productOf(&.{ job.panels, job.panel_len });
        }

        /// What one piece of work keeps: its panels unless all share them, a tile of columns, a tile of the result.
        fn pieceLen(job: *const Self) ?usize {
            const panels = if (job.copying_parts > 0) 0 else job.panelsLen() orelse return null;
            return std.math.add(usize, panels, std.mem.alignForward(usize, job.columnsLen(), copy_padding) + job.tile_columns * job.height) catch null;
        }

        /// Bytes of all buffers; null when they cannot be counted.
        fn reserve(job: *Self) ?usize {
            job.buffers.len = convolve_problem.productOf(&.{ job.pieces, job.pieceLen() orelse return null }) orelse return null;
            if (job.copying_parts > 0) {
                job.shared_panels.len = convolve_problem.productOf(&.{ job.problem.groups, job.rounds, job.panelsLen() orelse return null }) orelse return null;
            }
            if (job.pass != .weight_gradient) job.weights_copy.len = convolve_problem.weightsCopyLen(T, job.problem);
            if (job.packs) job.weights_packed.len = job.problem.groups * job.packedLen();
            if (job.problem.bias != null) job.bias.len = job.problem.weight.shape[0];
            var total: usize = 0;
            for ([_]usize{ job.buffers.len, job.shared_panels.len, job.weights_copy.len, job.weights_packed.len, job.bias.len }) |len| {
                total = std.math.add(usize, total, len + copy_padding) catch return null;
            }
            return std.math.mul(usize, total, @sizeOf(T)) catch null;
        }

        fn hand(job: *Self, buffer: workspace.Buffer) void {
            var first: usize = 0;
            inline for (.{ &job.buffers, &job.shared_panels, &job.weights_packed, &job.weights_copy, &job.bias }) |part| {
                part.* = buffer.slice(T, first * @sizeOf(T), part.len);
                first = std.mem.alignForward(usize, first + part.len, copy_padding);
            }
        }

        /// Values of the packed weights of one group.
        fn packedLen(job: *const Self) usize {
            return job.tiles * job.tile_columns * job.sizes.steps;
        }

        /// Weights of one group as tiles of adjacent columns; each item is a part of the tiles, or of the steps where columns are adjacent already.
        const Packing = struct {
            job: *const Self,

            pub fn run(packing: *const Packing, begin: usize, end: usize) void {
                const job = packing.job;
                for (begin..end) |item| {
                    const group = item / job.packing_parts;
                    const part = item % job.packing_parts;
                    if (job.pass == .forward) {
                        job.transposeTiles(group, part * job.tiles / job.packing_parts, (part + 1) * job.tiles / job.packing_parts);
                        continue;
                    }
                    const first = part * job.sizes.steps / job.packing_parts;
                    const last = (part + 1) * job.sizes.steps / job.packing_parts;
                    job.table.panels(&.{
                        .rows = last - first,
                        .columns = job.sizes.columns,
                        .source = job.weights + (group * job.sizes.steps + first) * job.sizes.columns,
                        .source_row = @intCast(job.sizes.columns),
                        .target = job.weights_packed[group * job.packedLen() + first * job.tile_columns ..].ptr,
                        .height = job.tile_columns,
                        .target_panel = job.tile_columns * job.sizes.steps,
                    });
                }
            }
        };

        fn transposeTiles(job: *const Self, group: usize, begin: usize, end: usize) void {
            const steps = job.sizes.steps;
            for (begin..end) |tile| job.table.transpose(&.{
                .rows = job.columnsOf(tile),
                .columns = steps,
                .source = job.weights + (group * job.sizes.columns + tile * job.tile_columns) * steps,
                .source_row = @intCast(steps),
                .target = job.weights_packed[group * job.packedLen() + tile * job.tile_columns * steps ..].ptr,
                .target_column = @intCast(job.tile_columns),
            });
        }

        /// Each item is a share of the rounds and parts.
        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const piece_len = job.buffers.len / job.pieces;
            for (begin..end) |piece| {
                const shares_panels = job.copying_parts > 0;
                const panels_len = job.panels * job.panel_len;
                const buffer = job.buffers[piece * piece_len ..].ptr;
                const columns_copy = if (shares_panels) buffer else buffer + panels_len;
                const out = columns_copy + std.mem.alignForward(usize, job.columnsLen(), copy_padding);
                var scratch: Scratch = .{ .panels = buffer, .columns = columns_copy, .out = out };
                var copied: ?usize = null;
                for (piece * job.items() / job.pieces..(piece + 1) * job.items() / job.pieces) |item| {
                    const which = item / job.parts;
                    const part = item % job.parts;
                    var round = job.roundAt(which);
                    round.first_tile = part * job.tiles / job.parts;
                    round.last_tile = (part + 1) * job.tiles / job.parts;
                    if (job.pass == .weight_gradient) {
                        job.sumWeights(&round, &scratch);
                        continue;
                    }
                    if (shares_panels) {
                        scratch.panels = job.shared_panels[which * panels_len ..].ptr;
                    } else if (copied != which) {
                        job.copyPixels(&round, 0, job.sizes.steps, scratch.panels);
                        copied = which;
                    }
                    job.sumPixels(&round, &scratch);
                }
            }
        }

        fn roundAt(job: *const Self, which: usize) Round {
            const first = which % job.rounds * job.panels * job.height;
            const width = @min(job.panels * job.height, job.sizes.width - first);
            return .{ .group = which / job.rounds, .first = first, .width = width, .first_tile = 0, .last_tile = job.tiles };
        }

        /// Each item is a part of the steps of a round's panels.
        const Copying = struct {
            job: *const Self,

            pub fn run(copying: *const Copying, begin: usize, end: usize) void {
                const job = copying.job;
                const parts = job.copying_parts;
                for (begin..end) |item| {
                    const which = item / parts;
                    const panels = job.shared_panels[which * job.panels * job.panel_len ..].ptr;
                    const round = job.roundAt(which);
                    job.copyPixels(&round, item % parts * job.sizes.steps / parts, (item % parts + 1) * job.sizes.steps / parts, panels);
                }
            }
        };

        const Scratch = struct { panels: [*]T, columns: [*]T, out: [*]T };

        /// Some panels of one group, and the tiles they take part in.
        const Round = struct { group: usize, first: usize, width: usize, first_tile: usize, last_tile: usize };

        fn columnsOf(job: *const Self, tile: usize) usize {
            return @min(job.tile_columns, job.sizes.columns - tile * job.tile_columns);
        }

        /// Vectors that hold `width` values.
        fn vectorsOf(job: *const Self, width: usize) usize {
            return divideUp(width, job.height / job.table.sweep_vectors);
        }

        /// Pixels [first, first + count) of the planes of all images, one run for each image.
        const Runs = struct {
            plane: usize,
            at: usize,
            end: usize,

            const Run = struct { batch: usize, pixel: usize, count: usize };

            fn next(runs: *Runs) ?Run {
                if (runs.at == runs.end) return null;
                const pixel = runs.at % runs.plane;
                const found: Run = .{ .batch = runs.at / runs.plane, .pixel = pixel, .count = @min(runs.plane - pixel, runs.end - runs.at) };
                runs.at += found.count;
                return found;
            }
        };

        /// Steps [first_step, last_step) of a round's panels.
        fn copyPixels(job: *const Self, round: *const Round, first_step: usize, last_step: usize, panels: [*]T) void {
            const from = if (job.pass == .forward) &job.problem.image else &job.problem.result;
            const target = panels + first_step * job.height;
            var runs: Runs = .{ .plane = job.plane, .at = round.first, .end = round.first + round.width };
            const rest = round.width % job.height;
            // The last panel is summed whole.
            if (rest != 0) @memset((target + round.width / job.height * job.panel_len)[0 .. (last_step - first_step) * job.height], 0);
            var done: usize = 0;
            while (runs.next()) |found| {
                const channel = round.group * job.sizes.steps + first_step;
                const start = windows_of.offset(from, found.batch, channel, 0, 0) + @as(isize, @intCast(found.pixel));
                job.table.panels(&.{
                    .rows = last_step - first_step,
                    .columns = found.count,
                    .source = @ptrFromInt(strided.addressAt(from, start)),
                    .source_row = from.strides[1],
                    .target = target,
                    .height = job.height,
                    .target_panel = job.panel_len,
                    .first = done,
                });
                done += found.count;
            }
        }

        fn sumPixels(job: *const Self, round: *const Round, scratch: *const Scratch) void {
            const target = if (job.pass == .forward) &job.problem.result else &job.problem.image;
            const steps = job.sizes.steps;
            for (round.first_tile..round.last_tile) |tile| {
                const channel = round.group * job.sizes.columns + tile * job.tile_columns;
                var sweep = job.newSweep(tile);
                sweep.steps = steps;
                if (job.packs) {
                    sweep.adjacent = .columns;
                    sweep.b = job.weights_packed[round.group * job.packedLen() + tile * job.tile_columns * steps ..].ptr;
                    sweep.b_stride = job.tile_columns;
                } else {
                    sweep.b = job.weights + channel * steps;
                    sweep.b_stride = steps;
                    if (job.copies_columns) copyColumns(&sweep, scratch.columns);
                }
                var done: usize = 0;
                while (done < round.width) : (done += job.height) {
                    const count = @min(job.height, round.width - done);
                    sweep.a = scratch.panels + done / job.height * job.panel_len;
                    sweep.vectors = job.vectorsOf(count);
                    var runs: Runs = .{ .plane = job.plane, .at = round.first + done, .end = round.first + done + count };
                    const first = runs.next().?;
                    const start = windows_of.offset(target, first.batch, channel, 0, 0) + @as(isize, @intCast(first.pixel));
                    const is_direct = first.count == job.height;
                    sweep.out = if (is_direct) @ptrFromInt(strided.addressAt(target, start)) else scratch.out;
                    sweep.out_column = if (is_direct) target.strides[1] else @intCast(job.height);
                    if (job.bias.len > 0) {
                        sweep.accumulates = true;
                        for (0..sweep.columns) |column| {
                            const values = generic.pointers.offset(T, sweep.out, @as(isize, @intCast(column)) * sweep.out_column);
                            @memset(values[0..job.height], job.bias[channel + column]);
                        }
                    }
                    job.table.sweep(&sweep);
                    if (is_direct) continue;
                    runs.at = round.first + done;
                    var written: usize = 0;
                    while (runs.next()) |found| : (written += found.count) for (0..sweep.columns) |column| {
                        const place = windows_of.offset(target, found.batch, channel + column, 0, 0) + @as(isize, @intCast(found.pixel));
                        const values: [*]T = @ptrFromInt(strided.addressAt(target, place));
                        @memcpy(values[0..found.count], scratch.out[column * job.height + written ..][0..found.count]);
                    };
                }
            }
        }

        /// A tile of one block of adjacent steps, still without places.
        fn newSweep(job: *const Self, tile: usize) generic.sweep_kernel.Sweep(T) {
            return .{
                .adjacent = .steps,
                .blocks = 1,
                .rows = 1,
                .taps = 1,
                .steps = 0,
                .a = undefined,
                .a_row = 0,
                .a_block = 0,
                .b = undefined,
                .b_stride = 0,
                .b_tap = 0,
                .b_row = 0,
                .b_block = 0,
                .columns = job.columnsOf(tile),
                .vectors = job.table.sweep_vectors,
                .out = undefined,
                .out_column = 0,
            };
        }

        /// Puts the columns of all blocks where they do not share sets of the first cache.
        fn copyColumns(sweep: *generic.sweep_kernel.Sweep(T), target: [*]T) void {
            const len = sweep.steps + copy_padding;
            for (0..sweep.blocks) |block| for (0..sweep.columns) |column| {
                const source = sweep.b + block * sweep.b_block + column * sweep.b_stride;
                @memcpy((target + (block * sweep.columns + column) * len)[0..sweep.steps], source);
            };
            sweep.b = target;
            sweep.b_stride = len;
            sweep.b_block = sweep.columns * len;
        }

        /// Pixels of some images, or some pixels of one.
        const Chunk = struct { batch: usize, images: usize, pixel: usize, pixels: usize };

        fn sumWeights(job: *const Self, round: *const Round, scratch: *const Scratch) void {
            const batches = job.problem.image.shape[0];
            var batch: usize = 0;
            while (batch < batches) : (batch += job.chunk_images) {
                var pixel: usize = 0;
                while (pixel < job.plane) : (pixel += job.chunk_pixels) {
                    const chunk: Chunk = .{
                        .batch = batch,
                        .images = @min(job.chunk_images, batches - batch),
                        .pixel = pixel,
                        .pixels = @min(job.chunk_pixels, job.plane - pixel),
                    };
                    job.transposePixels(round, &chunk, scratch.panels);
                    job.addChunk(round, &chunk, scratch);
                }
            }
        }

        fn transposePixels(job: *const Self, round: *const Round, chunk: *const Chunk, panels: [*]T) void {
            const image = &job.problem.image;
            var done: usize = 0;
            while (done < round.width) : (done += job.height) {
                const panel = panels + done / job.height * job.panel_len;
                const channels = @min(job.height, round.width - done);
                if (channels < job.height) @memset(panel[0..job.panel_len], 0);
                const channel = round.group * job.sizes.width + round.first + done;
                for (0..chunk.images) |at| {
                    const start = windows_of.offset(image, chunk.batch + at, channel, 0, 0) + @as(isize, @intCast(chunk.pixel));
                    job.table.transpose(&.{
                        .rows = channels,
                        .columns = chunk.pixels,
                        .source = @ptrFromInt(strided.addressAt(image, start)),
                        .source_row = image.strides[1],
                        .target = panel + at * chunk.pixels * job.height,
                        .target_column = @intCast(job.height),
                    });
                }
            }
        }

        fn addChunk(job: *const Self, round: *const Round, chunk: *const Chunk, scratch: *const Scratch) void {
            const result = &job.problem.result;
            const weights: [*]T = @ptrFromInt(job.problem.weight.address);
            const is_first = chunk.batch == 0 and chunk.pixel == 0;
            for (round.first_tile..round.last_tile) |tile| {
                const output = round.group * job.sizes.columns + tile * job.tile_columns;
                var sweep = job.newSweep(tile);
                sweep.blocks = chunk.images;
                sweep.steps = chunk.pixels;
                sweep.a_block = chunk.pixels * job.height;
                const start = windows_of.offset(result, chunk.batch, output, 0, 0) + @as(isize, @intCast(chunk.pixel));
                sweep.b = @ptrFromInt(strided.addressAt(result, start));
                sweep.b_stride = @intCast(result.strides[1]);
                sweep.b_block = @intCast(result.strides[0]);
                if (job.copies_columns) copyColumns(&sweep, scratch.columns);
                var done: usize = 0;
                while (done < round.width) : (done += job.height) {
                    const channels = @min(job.height, round.width - done);
                    sweep.a = scratch.panels + done / job.height * job.panel_len;
                    sweep.vectors = job.vectorsOf(channels);
                    const target = weights + output * job.sizes.width + round.first + done;
                    const is_direct = channels == job.height;
                    sweep.out = if (is_direct) target else scratch.out;
                    sweep.out_column = @intCast(if (is_direct) job.sizes.width else job.height);
                    sweep.accumulates = is_direct and !is_first;
                    job.table.sweep(&sweep);
                    if (is_direct) continue;
                    for (0..sweep.columns) |column| for (target[column * job.sizes.width ..][0..channels], scratch.out[column * job.height ..]) |*to, value| {
                        to.* = if (is_first) value else value + to.*;
                    };
                }
            }
        }
    };
}
