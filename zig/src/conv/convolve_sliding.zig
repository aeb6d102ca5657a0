//! Convolution, and its gradient by the image, with sums that stay in registers over all taps of a window.
//!
//! Sources are copied so that blocks of few channels of a pixel are adjacent, rows padded with the zeros that windows reach; weights are packed
//! into panels of adjacent outputs. A tile is one panel times neighbouring pixels of one row. The copy is as large as the image, not as its
//! windows; taps above and below the image are skipped.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const convolve_source = @import("convolve_source.zig");
const parallel = @import("../tensor/parallel.zig");
const pixels = @import("pixels.zig");
const strided = @import("../tensor/strided.zig");
const taps_of = @import("taps.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");
const divideUp = @import("../tensor/rounding.zig").divideUp;

const View = strided.View;

/// Results of a row that are computed before they are written; a multiple of every width of a tile but the narrowest.
const row_pixels = 112;

/// Whether this algorithm is worth its packing: panels of outputs should not be mostly padding.
pub fn fits(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem, direction: taps_of.Direction) bool {
    const sizes = [2]usize{ problem.groupInputs(), problem.groupOutputs() };
    const inputs, const outputs = if (direction == .forward) sizes else .{ sizes[1], sizes[0] };
    return inputs > 0 and 2 * outputs >= table.sweep_height;
}

pub fn run(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    problem: *const convolve_problem.Problem,
    direction: taps_of.Direction,
    executor: ?*const abi.Executor,
) convolve_problem.Error!void {
    const is_forward = direction == .forward;
    const from = if (is_forward) &problem.image else &problem.result;
    var target = if (is_forward) problem.result else problem.image;
    if (target.len() == 0) return;
    const plane_stride = windows_of.planeStride(&target);
    const inputs = if (is_forward) problem.groupInputs() else problem.groupOutputs();
    var job: Sliding(T) = .{
        .table = table,
        .direction = direction,
        .source = .of(table, from, inputs, &problem.windows, direction, plane_stride != null),
        .target = &target,
        .groups = problem.groups,
        .inputs = inputs,
        .outputs = if (is_forward) problem.groupOutputs() else problem.groupInputs(),
    };
    if (job.source.plane != null) {
        target.shape[3] *= target.shape[2];
        target.shape[2] = 1;
        target.strides[3] = plane_stride.?;
    }
    const bytes = job.reserve(problem, parallel.threadCount(executor)) orelse return error.OutOfMemory;
    const buffer = try workspace.acquire(bytes);
    defer workspace.release(buffer);
    job.hand(buffer);
    job.weights = convolve_problem.denseWeights(T, table, problem, job.weights_copy.ptr);
    job.fillOffsets();
    if (problem.bias) |*bias| job.readBias(bias);
    try job.runAll(executor);
}

fn Sliding(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        direction: taps_of.Direction,
        source: convolve_source.Source(T),
        target: *const View,
        groups: usize,
        /// Channels of the source, and of the target, of one group.
        inputs: usize,
        outputs: usize,

        output_blocks: usize = 0,
        panel_len: usize = 0,
        row_len: usize = 0,
        source_len: usize = 0,

        // How work is spread.
        threads: usize = 1,
        /// Whether each thread takes whole images; else all threads work on one at a time.
        spreads_images: bool = false,
        /// Whether panels are packed where they are used, by those who use them, for all images of a batch.
        packs_late: bool = false,
        pieces: usize = 1,

        weights: [*]const T = undefined,
        weights_copy: []T = &.{},
        offsets: []u32 = &.{},
        bias: ?[]T = null,
        panels: []T = &.{},
        buffers: []T = &.{},

        const Self = @This();

        /// Bytes of all buffers; null when they cannot be counted.
        fn reserve(job: *Self, problem: *const convolve_problem.Problem, threads: usize) ?usize {
            const batches = job.source.view.shape[0];
            const count = batches * job.groups;
            const taps = problem.weight.shape[2] * problem.weight.shape[3];
            job.output_blocks = divideUp(job.outputs, job.table.sweep_height);
            job.threads = threads;
            job.panel_len = convolve_problem.productOf(&.{ job.source.blocks, job.source.block_channels, taps, job.table.sweep_height }) orelse return null;
            if (job.panel_len > std.math.maxInt(u32)) return null;
            job.source_len = convolve_problem.productOf(&.{ job.source.blocks, job.source.blockLen() orelse return null }) orelse return null;
            // All images are read for each panel, else all panels for each image: what is smaller is read again, out of a nearer cache.
            const images_len = convolve_problem.productOf(&.{ batches, job.source_len }) orelse return null;
            const has_few_pixels = batches == 1 or (job.source_len <= job.panel_len and images_len <= job.output_blocks *| job.panel_len);
            job.packs_late = has_few_pixels and (if (threads == 1) count == 1 or batches > 1 else job.output_blocks >= 4 * threads);
            job.spreads_images = !job.packs_late and count > 1 and (threads == 1 or count >= 2 * threads);
            job.pieces = if (threads == 1) 1 else @min(2 * threads, if (job.spreads_images) count else std.math.maxInt(usize));
            job.row_len = @min(row_pixels, job.source.columns.results) * job.table.sweep_height;
            job.weights_copy.len = convolve_problem.weightsCopyLen(T, problem);
            job.offsets.len = job.inputs * taps;
            job.bias = if (problem.bias == null) null else &.{};
            if (job.bias) |*bias| bias.len = job.groups * job.output_blocks * job.table.sweep_height;
            const panels = if (job.packs_late) job.pieces else job.groups * job.output_blocks;
            job.panels.len = convolve_problem.productOf(&.{ panels, job.panel_len }) orelse return null;
            job.buffers.len = (convolve_problem.productOf(&.{ if (job.spreads_images) job.pieces else job.copies(), job.source_len }) orelse return null) + job.pieces * job.row_len;
            var total = job.weights_copy.len + job.panels.len + (if (job.bias) |bias| bias.len else 0);
            total = std.math.add(usize, total, job.buffers.len) catch return null;
            const bytes = std.math.mul(usize, total, @sizeOf(T)) catch return null;
            return std.math.add(usize, bytes, job.offsets.len * @sizeOf(u32) + 5 * line_bytes) catch null;
        }

        /// Images that all threads work on at a time.
        fn copies(job: *const Self) usize {
            return if (job.packs_late) job.source.view.shape[0] else 1;
        }

        fn hand(job: *Self, buffer: workspace.Buffer) void {
            var first: usize = 0;
            inline for (.{ &job.panels, &job.buffers, &job.weights_copy, &job.offsets }) |part| {
                const Element = std.meta.Child(@TypeOf(part.*));
                const len = part.len;
                part.* = buffer.slice(Element, first, len);
                first = std.mem.alignForward(usize, first + len * @sizeOf(Element), line_bytes);
            }
            if (job.bias) |*bias| bias.* = buffer.slice(T, first, bias.len);
        }

        fn readBias(job: *Self, view: *const View) void {
            const height = job.output_blocks * job.table.sweep_height;
            @memset(job.bias.?, 0);
            for (0..job.groups) |group| job.table.load(&.{
                .storage = view.storage,
                .address = strided.addressAt(view, @as(isize, @intCast(group * job.outputs)) * view.strides[0]),
                .step = view.strides[0],
                .len = job.outputs,
                .target = job.bias.?[group * height ..].ptr,
            });
        }

        /// Where in a panel the values of a class of taps begin, counted in taps.
        fn classStart(job: *const Self, row_class: usize, row_taps: usize, column_class: usize) usize {
            return job.source.rows.tapsBefore(row_class) * job.source.columns.slide.window + row_taps * job.source.columns.tapsBefore(column_class);
        }

        /// Where in a panel each tap of each input lies: classes, blocks of inputs, rows and columns of taps, inputs.
        fn fillOffsets(job: *Self) void {
            const columns = job.source.columns.slide.window;
            const taps = job.source.rows.slide.window * columns;
            const height = job.table.sweep_height;
            const block_len = job.source.block_channels;
            for (0..taps) |tap| {
                const row = job.source.rows.place(tap / columns);
                const column = job.source.columns.place(tap % columns);
                const row_taps = job.source.rows.class(row.class).taps;
                const column_taps = job.source.columns.class(column.class).taps;
                const start = job.classStart(row.class, row_taps, column.class) * job.source.blocks * block_len;
                for (0..job.inputs) |input| {
                    const block_tap = (input / block_len * row_taps + row.tap) * column_taps + column.tap;
                    job.offsets[input * taps + tap] = @intCast((start + block_tap * block_len + input % block_len) * height);
                }
            }
        }

        fn packPanel(job: *const Self, group: usize, block: usize, panel: []T) void {
            const height = job.table.sweep_height;
            const first = block * height;
            const outputs = @min(height, job.outputs - first);
            if (outputs < height or job.source.blocks * job.source.block_channels != job.inputs) @memset(panel, 0);
            const taps = job.source.rows.slide.window * job.source.columns.slide.window;
            if (job.direction == .forward) return job.table.transpose(&.{
                .rows = outputs,
                .columns = job.offsets.len,
                .source = job.weights + (group * job.outputs + first) * job.offsets.len,
                .source_row = @intCast(job.offsets.len),
                .target = panel.ptr,
                .target_column = 0,
                .target_offsets = job.offsets.ptr,
            });
            for (0..job.inputs) |input| {
                const source = job.weights + ((group * job.inputs + input) * job.outputs + first) * taps;
                const offsets = job.offsets[input * taps ..];
                if (taps == 1) {
                    @memcpy(panel[offsets[0]..][0..outputs], source[0..outputs]);
                } else job.table.transpose(&.{
                    .rows = outputs,
                    .columns = taps,
                    .source = source,
                    .source_row = @intCast(taps),
                    .target = panel.ptr,
                    .target_column = 0,
                    .target_offsets = offsets.ptr,
                });
            }
        }

        /// Spans of a row of results.
        fn rowSpans(job: *const Self) usize {
            return divideUp(job.source.columns.results, row_pixels);
        }

        /// Spans [begin, end) of the rows of the target, one block of outputs.
        fn computeSpans(job: *const Self, batch: usize, group: usize, block: usize, begin: usize, end: usize, copy: [*]const T, panel: [*]const T, row_buffer: [*]T) void {
            const height = job.table.sweep_height;
            const outputs = @min(height, job.outputs - block * height);
            const columns = &job.source.columns;
            const writes_directly = outputs == height and job.target.storage.is(T) and job.target.strides[1] == 1 and
                columns.isCovered() and job.source.rows.isCovered();
            for (begin..end) |item| {
                const row = item / job.rowSpans();
                const column = item % job.rowSpans() * row_pixels;
                const span: pixels.Span = .{
                    .batch = batch,
                    .channel = group * job.outputs + block * height,
                    .channels = outputs,
                    .row = row,
                    .column = column,
                    .count = @min(row_pixels, columns.results - column),
                };
                var sweep: generic.sweep_kernel.Sweep(T) = undefined;
                sweep.out = row_buffer;
                sweep.out_column = @intCast(height);
                if (writes_directly) {
                    sweep.out = @ptrFromInt(strided.addressAt(job.target, windows_of.offset(job.target, batch, span.channel, row, column)));
                    sweep.out_column = job.target.strides[3];
                }
                sweep.addend = if (job.bias) |bias| bias[(group * job.output_blocks + block) * height ..].ptr else null;
                job.computeSpan(row, column, column + span.count, copy, panel, &sweep);
                if (!writes_directly) pixels.write(T, job.table, job.target, span, row_buffer, height);
            }
        }

        /// Results [begin, end) of a row, to `out` and on.
        fn computeSpan(job: *const Self, row: usize, begin: usize, end: usize, copy: [*]const T, panel: [*]const T, sweep: *generic.sweep_kernel.Sweep(T)) void {
            const height = job.table.sweep_height;
            const pitch = job.source.block_channels;
            const out = sweep.out;
            const out_column = sweep.out_column;
            const found = job.source.rows.find(row);
            if (found == null or !job.source.columns.isCovered()) @memset(out[0 .. (end - begin) * height], 0);
            const row_at = found orelse return;
            const row_class = job.source.rows.class(row_at.class);
            const row_taps = row_class.inside(row_at.at, job.source.rows.sources);
            const source_row: usize = if (row_taps.first < row_taps.last) @intCast(row_class.at(row_at.at, row_taps.first)) else 0;
            var place: usize = 0;
            for (0..job.source.columns.classCount()) |index| {
                const class = job.source.columns.class(index);
                defer place += class.taps * class.count;
                const first = divideUp(begin -| class.first, class.step);
                const last = @min(class.count, divideUp(end -| class.first, class.step));
                if (first >= last) continue;
                const start = job.classStart(row_at.class, row_class.taps, index) * job.source.blocks * pitch;
                const joins = !job.source.is_expanded and class.tap_source == 1;
                sweep.adjacent = .steps;
                sweep.accumulates = false;
                sweep.blocks = job.source.blocks;
                sweep.rows = row_taps.last - row_taps.first;
                sweep.taps = if (joins) 1 else class.taps;
                sweep.steps = pitch;
                sweep.head_steps = 0;
                sweep.tail_steps = 0;
                sweep.vectors = job.table.sweep_vectors;
                sweep.a_row = class.taps * pitch * height;
                sweep.a_block = row_class.taps * sweep.a_row;
                sweep.a = panel + start * height + row_taps.first * sweep.a_row;
                sweep.b_stride = if (job.source.is_expanded) pitch else class.source_step * pitch;
                sweep.b_tap = (if (job.source.is_expanded) class.count else class.tap_source) * pitch;
                sweep.b_row = row_class.tap_source * job.source.rowLen();
                sweep.b_block = job.source_len / job.source.blocks;
                sweep.out_column = out_column * @as(isize, @intCast(class.step));
                var at = first;
                while (at < last) {
                    // Even widths: 15 pixels are 8 and 7, not 14 and 1.
                    const tiles = divideUp(last - at, job.table.sweep_columns);
                    sweep.columns = divideUp(last - at, tiles);
                    if (joins) job.leaveOut(&class, at, sweep);
                    const source_column: usize = if (job.source.is_expanded) place + at else @intCast(class.at(at, 0) - job.source.low);
                    sweep.b = copy + source_row * job.source.rowLen() + source_column * pitch;
                    const pixel: isize = @intCast(class.first + at * class.step - begin);
                    sweep.out = generic.pointers.offset(T, out, pixel * out_column);
                    job.table.sweep(sweep);
                    at += sweep.columns;
                }
            }
        }

        /// Leaves the first result out of the first tap, and the last out of the last, where they read padding.
        fn leaveOut(job: *const Self, class: *const taps_of.Class, first: usize, sweep: *generic.sweep_kernel.Sweep(T)) void {
            const skips_first = sweep.columns > 1 and class.taps > 1 and class.at(first, 0) < 0;
            const skips_last = sweep.columns > 1 and class.taps > 1 and class.at(first + sweep.columns - 1, class.taps - 1) >= job.source.columns.sources;
            sweep.head_steps = if (skips_first) job.source.block_channels else 0;
            sweep.tail_steps = if (skips_last) job.source.block_channels else 0;
            sweep.steps = class.taps * job.source.block_channels - sweep.head_steps - sweep.tail_steps;
        }

        fn runAll(job: *Self, executor: ?*const abi.Executor) convolve_problem.Error!void {
            if (!job.packs_late) try parallel.run(executor, job.groups * job.output_blocks, Packing, &.{ .job = job });
            if (job.spreads_images) return parallel.run(executor, job.pieces, Images, &.{ .job = job });
            var batch: usize = 0;
            while (batch < job.source.view.shape[0]) : (batch += job.copies()) for (0..job.groups) |group| {
                const blocks = job.copies() * job.source.blocks;
                const parts = if (job.threads == 1 or blocks == 0) 1 else divideUp(4 * job.threads, blocks);
                try parallel.run(executor, blocks * parts, Copying, &.{ .job = job, .batch = batch, .group = group, .parts = parts });
                const spans = job.source.rows.results * job.rowSpans();
                const chunks = if (job.packs_late) 1 else @min(spans, divideUp(4 * job.threads, job.output_blocks));
                const outputs: Outputs = .{ .job = job, .batch = batch, .group = group, .chunks = chunks, .spans = spans };
                try parallel.run(executor, @min(job.pieces, job.output_blocks * chunks), Outputs, &outputs);
            };
        }

        fn copyBlock(job: *const Self, batch: usize, group: usize, block: usize, begin: usize, end: usize, copy: [*]T) void {
            const block_len = job.source_len / job.source.blocks;
            job.source.copyRows(batch, group * job.inputs, block, begin, end, copy + block * block_len);
        }

        fn panelOf(job: *const Self, index: usize) []T {
            return job.panels[index * job.panel_len ..][0..job.panel_len];
        }

        /// Each item is the panel of a block of outputs.
        const Packing = struct {
            job: *const Self,

            pub fn run(packing: *const Packing, begin: usize, end: usize) void {
                const job = packing.job;
                for (begin..end) |item| job.packPanel(item / job.output_blocks, item % job.output_blocks, job.panelOf(item));
            }
        };

        /// Each item is a share of the images.
        const Images = struct {
            job: *const Self,

            pub fn run(images: *const Images, begin: usize, end: usize) void {
                const job = images.job;
                const count = job.source.view.shape[0] * job.groups;
                for (begin..end) |piece| {
                    const copy = job.buffers.ptr + piece * (job.source_len + job.row_len);
                    for (piece * count / job.pieces..(piece + 1) * count / job.pieces) |item| {
                        const batch = item / job.groups;
                        const group = item % job.groups;
                        for (0..job.source.blocks) |block| job.copyBlock(batch, group, block, 0, job.source.height, copy);
                        for (0..job.output_blocks) |block| {
                            const panel = job.panelOf(group * job.output_blocks + block);
                            job.computeSpans(batch, group, block, 0, job.source.rows.results * job.rowSpans(), copy, panel.ptr, copy + job.source_len);
                        }
                    }
                }
            }
        };

        /// Each item is a part of the rows of a block of channels of an image.
        const Copying = struct {
            job: *const Self,
            batch: usize,
            group: usize,
            parts: usize,

            pub fn run(copying: *const Copying, begin: usize, end: usize) void {
                const job = copying.job;
                const rows = job.source.height;
                for (begin..end) |item| {
                    const part = item % copying.parts;
                    const first = part * rows / copying.parts;
                    const image = item / copying.parts / job.source.blocks;
                    const block = item / copying.parts % job.source.blocks;
                    const copy = job.buffers.ptr + image * job.source_len;
                    job.copyBlock(copying.batch + image, copying.group, block, first, (part + 1) * rows / copying.parts, copy);
                }
            }
        };

        /// Each item is a share of the blocks of outputs, cut into chunks of spans.
        const Outputs = struct {
            job: *const Self,
            batch: usize,
            group: usize,
            chunks: usize,
            spans: usize,

            pub fn run(outputs: *const Outputs, begin: usize, end: usize) void {
                const job = outputs.job;
                const count = job.output_blocks * outputs.chunks;
                const pieces = @min(job.pieces, count);
                for (begin..end) |piece| {
                    const row_buffer = job.buffers.ptr + job.copies() * job.source_len + piece * job.row_len;
                    for (piece * count / pieces..(piece + 1) * count / pieces) |item| {
                        const block = item / outputs.chunks;
                        const chunk = item % outputs.chunks;
                        const panel = job.panelOf(if (job.packs_late) piece else outputs.group * job.output_blocks + block);
                        if (job.packs_late) job.packPanel(outputs.group, block, panel);
                        const first = chunk * outputs.spans / outputs.chunks;
                        const last = (chunk + 1) * outputs.spans / outputs.chunks;
                        for (0..job.copies()) |image| {
                            const copy = job.buffers.ptr + image * job.source_len;
                            job.computeSpans(outputs.batch + image, outputs.group, block, first, last, copy, panel.ptr, row_buffer);
                        }
                    }
                }
            }
        };
    };
}

const line_bytes = 64;
