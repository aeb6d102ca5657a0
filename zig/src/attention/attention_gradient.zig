//! Gradients of attention by queries, keys and values: shares are computed again, block by block, from the logarithms of their sums.
//!
//! With p the shares, s the scores and o the result: dv = p^T do, dp = do v^T, ds = p (dp - sum(do o)), dq = ds k scale, dk = ds^T q scale
//! (Dao et al. 2022). First every block of queries has its logarithms, its sums and dq, then every block of keys dk and dv.

const std = @import("std");
const abi = @import("../abi.zig");
const attention = @import("attention.zig");
const attention_kernel = @import("attention_kernel.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;
const Problem = attention.Problem;
const Matrix = attention.Matrix;
const block_len = attention.block_len;
const blockCount = attention.blockCount;
const blockLen = attention.blockLen;

pub fn attentionGradient(inputs: ?[*]const abi.Tensor, input_count: u64, outputs: ?[*]const abi.Tensor, output_count: u64, options: ?*const abi.AttentionOptions) abi.Status {
    std.debug.assert(output_count == 3);
    const problem = attention.problemOf(inputs.?[0..input_count], options.?, true);
    const results: [3]View = .{ .of(&outputs.?[0]), .of(&outputs.?[1]), .of(&outputs.?[2]) };
    const outcome = if (options.?.compute.bits == 32) runGradient(f32, &problem, &results, options.?) else runGradient(f64, &problem, &results, options.?);
    return attention.report(outcome);
}

fn runGradient(comptime T: type, problem: *const Problem, results: *const [3]View, options: *const abi.AttentionOptions) attention.Error!void {
    return runWith(T, .best(), problem, results, options.executor);
}

/// Uses the routines of a given instruction set, which this CPU must have. `results` are the gradients by queries, keys and values.
pub fn runWith(comptime T: type, routines: attention.Routines(T), problem: *const Problem, results: *const [3]View, executor: ?*const abi.Executor) attention.Error!void {
    var blocks: attention.Blocks(T) = .{ .routines = routines, .problem = problem, .keys = .{ .view = &problem.k }, .values = .of(&routines, &problem.v) };
    var turned_values: attention.Panels(T) = .{ .view = &problem.v };
    var key_rows: attention.Lines(T) = .of(&routines, &problem.k);
    const query_items = problem.heads() * blockCount(problem.queries());
    const key_items = problem.keyHeads() * blockCount(problem.keys());
    const pieces = attention.pieceCount(@max(1, @max(query_items, key_items)), executor);
    const rows = problem.heads() * problem.queries();
    const scratch_len = Scratch(T).len(key_rows.width, blocks.values.width);
    const buffer = try attention.acquire(T, &.{ blocks.keys.len(), turned_values.len(), blocks.values.copiedLen(), key_rows.copiedLen(), rows, rows, pieces * scratch_len });
    defer workspace.release(buffer);
    var job: Backward(T) = .{
        .blocks = &blocks,
        .turned_values = &turned_values,
        .key_rows = &key_rows,
        .results = results,
        .query_items = query_items,
        .key_items = key_items,
        .pieces = pieces,
        .scratch_len = scratch_len,
    };
    var memory = buffer.slice(T, 0, buffer.bytes.len / @sizeOf(T)).ptr;
    memory = attention.place(T, &blocks.keys.memory, memory, blocks.keys.len());
    memory = attention.place(T, &turned_values.memory, memory, turned_values.len());
    memory = attention.placeCopy(T, &blocks.values, memory);
    memory = attention.placeCopy(T, &key_rows, memory);
    memory = attention.place(T, &job.logarithms, memory, rows);
    memory = attention.place(T, &job.levels, memory, rows);
    job.scratch = memory;
    if (key_items > 0) try parallel.run(executor, pieces, Backward(T).Packing, &.{ .job = &job });
    if (query_items > 0) try parallel.run(executor, pieces, Backward(T).ByQueries, &.{ .job = &job });
    if (key_items > 0) try parallel.run(executor, pieces, Backward(T).ByKeys, &.{ .job = &job });
}

fn Scratch(comptime T: type) type {
    return struct {
        forward: attention.Scratch(T),
        /// Gradients by the result of a block of queries, and by its scores.
        given: [*]T,
        slopes: [*]T,
        by_q: [*]T,
        by_k: [*]T,
        by_v: [*]T,

        const Forward = attention.Scratch(T);

        fn len(width: usize, value_width: usize) usize {
            return Forward.len(width, value_width) + block_len * (2 * value_width + 2 * width + block_len);
        }

        fn of(memory: [*]T, width: usize, value_width: usize) @This() {
            const given = memory + Forward.len(width, value_width);
            const slopes = given + block_len * value_width;
            const by_q = slopes + block_len * block_len;
            const by_k = by_q + block_len * width;
            return .{ .forward = .of(memory, width, value_width), .given = given, .slopes = slopes, .by_q = by_q, .by_k = by_k, .by_v = by_k + block_len * width };
        }
    };
}

fn Backward(comptime T: type) type {
    return struct {
        blocks: *const attention.Blocks(T),
        turned_values: *const attention.Panels(T),
        key_rows: *const attention.Lines(T),
        results: *const [3]View,
        query_items: usize,
        key_items: usize,
        pieces: usize,
        scratch_len: usize,
        scratch: [*]T = undefined,
        logarithms: [*]T = undefined,
        levels: [*]T = undefined,

        const Self = @This();

        fn own(job: *const Self, piece: usize) Scratch(T) {
            return .of(job.scratch + piece * job.scratch_len, job.key_rows.width, job.blocks.values.width);
        }

        /// Copies keys and values.
        const Packing = struct {
            job: *const Self,

            pub fn run(packing: *const @This(), begin: usize, end: usize) void {
                const job = packing.job;
                const it = job.blocks;
                const count = blockCount(it.problem.keys());
                for (begin..end) |piece| {
                    const rows = job.scratch + piece * job.scratch_len;
                    var item = piece;
                    while (item < job.key_items) : (item += job.pieces) {
                        const head, const block = .{ item / count, item % count };
                        const len = blockLen(it.problem.keys(), block * block_len);
                        it.keys.fill(it.routines.tensor, head, block, rows);
                        job.turned_values.fill(it.routines.tensor, head, block, rows);
                        it.values.fill(it.routines.tensor, head, block * block_len, len);
                        job.key_rows.fill(it.routines.tensor, head, block * block_len, len);
                    }
                }
            }
        };

        /// Logarithms, levels and the gradient by the queries.
        const ByQueries = struct {
            job: *const Self,

            pub fn run(part: *const @This(), begin: usize, end: usize) void {
                const job = part.job;
                const count = blockCount(job.blocks.problem.queries());
                for (begin..end) |piece| {
                    const scratch = job.own(piece);
                    var item = piece;
                    while (item < job.query_items) : (item += job.pieces) job.byQueries(item / count, item % count * block_len, &scratch);
                }
            }
        };

        /// The gradients by keys and values.
        const ByKeys = struct {
            job: *const Self,

            pub fn run(part: *const @This(), begin: usize, end: usize) void {
                const job = part.job;
                const count = blockCount(job.blocks.problem.keys());
                for (begin..end) |piece| {
                    const scratch = job.own(piece);
                    var item = piece;
                    while (item < job.key_items) : (item += job.pieces) job.byKeys(item / count, item % count * block_len, &scratch);
                }
            }
        };

        fn byQueries(job: *const Self, head: usize, query: usize, scratch: *const Scratch(T)) void {
            const it = job.blocks;
            const problem = it.problem;
            const forward = &scratch.forward;
            const width = job.key_rows.width;
            const value_width = it.values.width;
            const count = it.readQueries(head, query, forward.q, width);
            job.readGradient(head, query, count, scratch.given);
            it.sum(head, query, count, width, forward);
            const first = head * problem.queries() + query;
            for (0..count) |row| {
                const is_blind = forward.sums[row] == 0;
                job.logarithms[first + row] = if (is_blind) std.math.inf(T) else forward.largest[row] + @log(forward.sums[row]);
                var level: T = 0;
                for (forward.out[row * value_width ..][0..value_width], scratch.given[row * value_width ..][0..value_width]) |value, given| level += value * given;
                job.levels[first + row] = level;
            }
            const tiled = attention.Blocks(T).tiled(count);
            @memset(scratch.by_q[0 .. tiled * width], 0);
            const end = it.keysOf(query, count);
            const key_head = problem.keyHead(head);
            var key: usize = 0;
            while (key < end) : (key += block_len) {
                job.slopes(head, query, count, key, scratch);
                const b, const b_row = job.key_rows.at(key_head, key);
                it.routines.blocks.multiply(&.{
                    .rows = tiled,
                    .columns = width,
                    .depth = blockLen(problem.keys(), key),
                    .a = scratch.slopes,
                    .a_row = block_len,
                    .a_step = 1,
                    .b = b,
                    .b_row = b_row,
                    .c = scratch.by_q,
                    .c_row = width,
                    .adds = true,
                });
            }
            const scale: T = @floatCast(problem.scale);
            for (scratch.by_q[0 .. count * width]) |*value| value.* *= scale;
            const target: Matrix = .of(&job.results[0], head);
            target.write(T, it.routines.tensor, query, count, scratch.by_q, width);
        }

        fn byKeys(job: *const Self, key_head: usize, key: usize, scratch: *const Scratch(T)) void {
            const it = job.blocks;
            const problem = it.problem;
            const width = job.key_rows.width;
            const value_width = it.values.width;
            const columns = blockLen(problem.keys(), key);
            const group = problem.group();
            @memset(scratch.by_k[0 .. block_len * width], 0);
            @memset(scratch.by_v[0 .. block_len * value_width], 0);
            for (key_head * group..(key_head + 1) * group) |head| {
                // Queries before the first of these keys see none of them.
                var query = if (problem.is_causal) key else 0;
                while (query < problem.queries()) : (query += block_len) {
                    const count = it.readQueries(head, query, scratch.forward.q, width);
                    job.readGradient(head, query, count, scratch.given);
                    job.slopes(head, query, count, key, scratch);
                    job.addTurned(columns, count, scratch.forward.scores, scratch.given, scratch.by_v, value_width);
                    job.addTurned(columns, count, scratch.slopes, scratch.forward.q, scratch.by_k, width);
                }
            }
            const by_k: Matrix = .of(&job.results[1], key_head);
            by_k.write(T, it.routines.tensor, key, columns, scratch.by_k, width);
            const by_v: Matrix = .of(&job.results[2], key_head);
            by_v.write(T, it.routines.tensor, key, columns, scratch.by_v, value_width);
        }

        /// Adds the product of a block of scores, turned, with rows of queries.
        fn addTurned(job: *const Self, columns: usize, count: usize, scores: [*]const T, rows: [*]const T, target: [*]T, width: usize) void {
            job.blocks.routines.blocks.multiply(&.{
                .rows = attention.Blocks(T).tiled(columns),
                .columns = width,
                .depth = count,
                .a = scores,
                .a_row = 1,
                .a_step = block_len,
                .b = rows,
                .b_row = width,
                .c = target,
                .c_row = width,
                .adds = true,
            });
        }

        fn readGradient(job: *const Self, head: usize, query: usize, count: usize, target: [*]T) void {
            const it = job.blocks;
            const width = it.values.width;
            const matrix: Matrix = .of(&it.problem.gradient.?, head);
            matrix.read(T, it.routines.tensor, query, count, target, width);
            @memset(target[count * width .. attention.Blocks(T).tiled(count) * width], 0);
        }

        /// Shares of a block in place of its scores, and the gradients by the scores.
        fn slopes(job: *const Self, head: usize, query: usize, count: usize, key: usize, scratch: *const Scratch(T)) void {
            const it = job.blocks;
            const problem = it.problem;
            const key_head = problem.keyHead(head);
            const block = key / block_len;
            const columns = blockLen(problem.keys(), key);
            const forward = &scratch.forward;
            it.multiplyPanel(forward.q, job.key_rows.width, count, problem.size(), it.keys.at(key_head, block), columns, forward.scores);
            it.multiplyPanel(scratch.given, it.values.width, count, problem.valueSize(), job.turned_values.at(key_head, block), columns, scratch.slopes);
            const first = head * problem.queries() + query;
            it.routines.blocks.slope(&.{
                .rows = count,
                .padded = it.routines.padded(columns),
                .scores = forward.scores,
                .gradient = scratch.slopes,
                .visible = it.visible(head, query, count, key, forward.mask),
                .logarithms = job.logarithms + first,
                .level = job.levels + first,
            });
        }
    };
}
