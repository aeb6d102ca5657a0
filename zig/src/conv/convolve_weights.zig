//! The gradient of a convolution by its weights, with sums that stay in registers over all pixels.
//!
//! A tile is one panel of outputs (pixels of the gradient, outputs adjacent) times neighbouring values of the copied images: the taps of one row
//! of the window, the channels of each adjacent. Every tile is summed by one thread, over the images in order.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const convolve_source = @import("convolve_source.zig");
const parallel = @import("../tensor/parallel.zig");
const pixels = @import("pixels.zig");
const strided = @import("../tensor/strided.zig");
const taps_of = @import("taps.zig");
const workspace = @import("../memory/workspace.zig");

/// Copied images at a time: few enough to stay in L3, many enough that tiles are not read and written for each.
const round_bytes = 4 << 20;

/// Whether this algorithm is worth its packing: panels of outputs should not be mostly padding.
pub fn fits(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem) bool {
    return problem.groupInputs() > 0 and problem.result.len() > 0 and 2 * problem.groupOutputs() >= table.sweep_height;
}

pub fn run(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem, executor: ?*const abi.Executor) convolve_problem.Error!void {
    var job: Weights(T) = .{
        .table = table,
        .problem = problem,
        .source = .of(table, &problem.image, problem.groupInputs(), &problem.windows, .forward, true),
        .taps = problem.weight.shape[2] * problem.weight.shape[3],
        .output_blocks = (problem.groupOutputs() + table.sweep_height - 1) / table.sweep_height,
    };
    const bytes = job.reserve(parallel.threadCount(executor)) orelse return error.OutOfMemory;
    const buffer = try workspace.acquire(bytes);
    defer workspace.release(buffer);
    job.hand(buffer);
    job.fillOffsets();
    for (0..problem.groups) |group| try job.runGroup(group, executor);
    if (job.dense.len == 0) return;
    const space = strided.Space(1).of(.{&problem.weight});
    var walk = space.walk(0, 0);
    strided.writeElements(T, table, &problem.weight, &walk, problem.weight.len(), job.dense.ptr);
}

fn Weights(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const convolve_problem.Problem,
        source: convolve_source.Source(T),
        taps: usize,
        output_blocks: usize,
        /// Images that are copied at a time.
        images: usize = 1,
        /// Values of the copies of one image: of itself, and of its gradient.
        source_len: usize = 0,
        gradient_len: usize = 0,
        panel_len: usize = 0,
        threads: usize = 1,
        /// Whether whole panels are summed and written at once, each piece of work in a panel of its own.
        writes_early: bool = false,
        pieces: usize = 1,

        sums: []T = &.{},
        sources: []T = &.{},
        gradients: []T = &.{},
        /// The weights in order, where they cannot be written at once.
        dense: []T = &.{},
        offsets: []u32 = &.{},

        const Self = @This();

        fn reserve(job: *Self, threads: usize) ?usize {
            const it = job.problem;
            const height = job.table.sweep_height;
            job.panel_len = convolve_problem.productOf(&.{ job.source.blocks, job.source.block_channels, job.taps, height }) orelse return null;
            if (job.panel_len > std.math.maxInt(u32)) return null;
            job.source_len = convolve_problem.productOf(&.{ job.source.blocks, job.source.blockLen() orelse return null }) orelse return null;
            job.gradient_len = convolve_problem.productOf(&.{ job.output_blocks, it.resultPlane(), height }) orelse return null;
            const image_len = std.math.add(usize, job.source_len, job.gradient_len) catch return null;
            const image_bytes = std.math.mul(usize, image_len, @sizeOf(T)) catch return null;
            job.images = std.math.clamp(round_bytes / @max(1, image_bytes), 1, it.image.shape[0]);
            job.threads = threads;
            job.writes_early = job.images == it.image.shape[0] and (threads == 1 or job.output_blocks >= 4 * threads);
            job.pieces = if (threads == 1) 1 else 2 * threads;
            const panels = if (job.writes_early) job.pieces else job.output_blocks;
            job.sums.len = convolve_problem.productOf(&.{ panels, job.panel_len }) orelse return null;
            job.sources.len = convolve_problem.productOf(&.{ job.images, job.source_len }) orelse return null;
            job.gradients.len = convolve_problem.productOf(&.{ job.images, job.gradient_len }) orelse return null;
            job.dense.len = convolve_problem.weightsCopyLen(T, it);
            job.offsets.len = it.k();
            var values: usize = 0;
            for ([_]usize{ job.sums.len, job.sources.len, job.gradients.len, job.dense.len }) |len| values = std.math.add(usize, values, len) catch return null;
            const bytes = std.math.mul(usize, values, @sizeOf(T)) catch return null;
            return std.math.add(usize, bytes, job.offsets.len * @sizeOf(u32) + 5 * line_bytes) catch null;
        }

        fn hand(job: *Self, buffer: workspace.Buffer) void {
            var first: usize = 0;
            inline for (.{ &job.sums, &job.sources, &job.gradients, &job.dense, &job.offsets }) |part| {
                const Element = std.meta.Child(@TypeOf(part.*));
                const len = part.len;
                part.* = buffer.slice(Element, first, len);
                first = std.mem.alignForward(usize, first + len * @sizeOf(Element), line_bytes);
            }
        }

        /// Where in a panel each weight of an output lies: blocks of channels, taps, channels.
        fn fillOffsets(job: *Self) void {
            const block_len = job.source.block_channels;
            for (job.offsets, 0..) |*offset, at| {
                const channel = at / job.taps;
                const step = (channel / block_len * job.taps + at % job.taps) * block_len + channel % block_len;
                offset.* = @intCast(step * job.table.sweep_height);
            }
        }

        fn runGroup(job: *const Self, group: usize, executor: ?*const abi.Executor) convolve_problem.Error!void {
            const batches = job.problem.image.shape[0];
            var batch: usize = 0;
            while (batch < batches) : (batch += job.images) {
                const images = @min(job.images, batches - batch);
                const blocks = job.source.blocks + job.output_blocks;
                const parts = if (job.threads == 1) 1 else (4 * job.threads + blocks - 1) / blocks;
                const copying: Copying = .{ .job = job, .group = group, .batch = batch, .blocks = blocks, .parts = parts };
                try parallel.run(executor, images * blocks * parts, Copying, &copying);
                const summing: Summing = .{ .job = job, .group = group, .images = images, .accumulates = batch > 0 };
                if (job.writes_early) return parallel.run(executor, job.pieces, Pieces, &.{ .summing = &summing });
                try parallel.run(executor, job.output_blocks * job.source.blocks * job.source.rows.slide.window, Summing, &summing);
            }
            const writing: Writing = .{ .job = job, .group = group };
            try parallel.run(executor, job.output_blocks, Writing, &writing);
        }

        /// Each item is a part of the rows of a block of channels, of an image or of its gradient.
        const Copying = struct {
            job: *const Self,
            group: usize,
            batch: usize,
            blocks: usize,
            parts: usize,

            pub fn run(copying: *const Copying, begin: usize, end: usize) void {
                const job = copying.job;
                for (begin..end) |item| {
                    const part = item % copying.parts;
                    const block = item / copying.parts % copying.blocks;
                    const image = item / copying.parts / copying.blocks;
                    const is_source = block < job.source.blocks;
                    const rows = if (is_source) job.source.height else job.problem.result.shape[2];
                    const first = part * rows / copying.parts;
                    const last = (part + 1) * rows / copying.parts;
                    if (is_source) {
                        const target = job.sources.ptr + image * job.source_len + block * (job.source_len / job.source.blocks);
                        job.source.copyRows(copying.batch + image, copying.group * job.source.channels, block, first, last, target);
                    } else copying.copyGradient(image, block - job.source.blocks, first, last);
                }
            }

            fn copyGradient(copying: *const Copying, image: usize, block: usize, begin: usize, end: usize) void {
                const job = copying.job;
                const view = &job.problem.result;
                const height = job.table.sweep_height;
                const outputs = job.problem.groupOutputs();
                const columns = view.shape[3];
                const target = job.gradients.ptr + image * job.gradient_len + block * job.problem.resultPlane() * height;
                for (begin..end) |row| pixels.read(T, job.table, view, .{
                    .batch = copying.batch + image,
                    .channel = copying.group * outputs + block * height,
                    .channels = @min(height, outputs - block * height),
                    .row = row,
                    .column = 0,
                    .count = columns,
                }, target + row * columns * height, height);
            }
        };

        /// Each item is one row of taps of one block of channels and one block of outputs.
        const Summing = struct {
            job: *const Self,
            group: usize,
            images: usize,
            accumulates: bool,

            pub fn run(summing: *const Summing, begin: usize, end: usize) void {
                const window = summing.job.source.rows.slide.window;
                const blocks = summing.job.source.blocks;
                for (begin..end) |item| {
                    const output_block = item / window / blocks;
                    summing.sum(output_block, item / window % blocks, item % window, summing.job.sums.ptr + output_block * summing.job.panel_len);
                }
            }

            fn sum(summing: *const Summing, output_block: usize, block: usize, tap: usize, panel: [*]T) void {
                const job = summing.job;
                const source = &job.source;
                const height = job.table.sweep_height;
                const pitch = source.block_channels;
                const rows = source.rows.class(0);
                const columns = source.columns.class(0);
                const reached = rows.reached(tap, source.rows.sources);
                const row: usize = if (reached.first < reached.last) @intCast(rows.at(reached.first, tap)) else 0;
                const joins = !source.is_expanded and columns.tap_source == 1;
                const a_row = columns.count * height;
                var sweep: generic.sweep_kernel.Sweep(T) = .{
                    .adjacent = .columns,
                    .blocks = summing.images,
                    .rows = reached.last - reached.first,
                    .taps = 1,
                    .steps = columns.count,
                    .a = job.gradients.ptr + output_block * job.problem.resultPlane() * height + reached.first * a_row,
                    .a_row = a_row,
                    .a_block = job.gradient_len,
                    .b = undefined,
                    .b_stride = if (source.is_expanded) pitch else columns.source_step * pitch,
                    .b_tap = 0,
                    .b_row = rows.source_step * source.rowLen(),
                    .b_block = job.source_len,
                    .columns = undefined,
                    .vectors = job.table.sweep_vectors,
                    .out = undefined,
                    .out_column = @intCast(height),
                    .accumulates = summing.accumulates,
                };
                const b = job.sources.ptr + block * (job.source_len / source.blocks) + row * source.rowLen();
                const first_step = (block * rows.taps + tap) * columns.taps * pitch;
                const out = panel + first_step * height;
                const runs = if (joins) 1 else columns.taps;
                const run_len = if (joins) columns.taps * pitch else pitch;
                const run_source = (if (source.is_expanded) columns.count else columns.tap_source) * pitch;
                for (0..runs) |at| {
                    var done: usize = 0;
                    while (done < run_len) {
                        const tiles = (run_len - done + job.table.sweep_columns - 1) / job.table.sweep_columns;
                        sweep.columns = (run_len - done + tiles - 1) / tiles;
                        sweep.b = b + at * run_source + done;
                        sweep.out = out + (at * run_len + done) * height;
                        job.table.sweep(&sweep);
                        done += sweep.columns;
                    }
                }
            }
        };

        /// Each item is a share of the blocks of outputs.
        const Pieces = struct {
            summing: *const Summing,

            pub fn run(pieces: *const Pieces, begin: usize, end: usize) void {
                const job = pieces.summing.job;
                const blocks = job.source.blocks;
                const window = job.source.rows.slide.window;
                for (begin..end) |piece| {
                    const panel = job.sums.ptr + piece * job.panel_len;
                    for (piece * job.output_blocks / job.pieces..(piece + 1) * job.output_blocks / job.pieces) |output_block| {
                        for (0..blocks * window) |item| pieces.summing.sum(output_block, item / window, item % window, panel);
                        job.writePanel(pieces.summing.group, output_block, panel);
                    }
                }
            }
        };

        /// Each item is one block of outputs.
        const Writing = struct {
            job: *const Self,
            group: usize,

            pub fn run(writing: *const Writing, begin: usize, end: usize) void {
                const job = writing.job;
                for (begin..end) |block| job.writePanel(writing.group, block, job.sums.ptr + block * job.panel_len);
            }
        };

        fn writePanel(job: *const Self, group: usize, block: usize, panel: [*]const T) void {
            const height = job.table.sweep_height;
            const outputs = job.problem.groupOutputs();
            const k = job.offsets.len;
            const weights: [*]T = if (job.dense.len == 0) @ptrFromInt(job.problem.weight.address) else job.dense.ptr;
            job.table.transpose(&.{
                .rows = k,
                .columns = @min(height, outputs - block * height),
                .source = panel,
                .source_row = 0,
                .source_offsets = job.offsets.ptr,
                .target = weights + (group * outputs + block * height) * k,
                .target_column = @intCast(k),
            });
        }
    };
}

const line_bytes = 64;
