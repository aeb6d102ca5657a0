//! Attention, softmax(q k^T scale + mask) v, and its gradients, block by block: no matrix of queries by keys is ever in memory.
//!
//! Keys are copied once, turned into panels whose rows are adjacent keys; values and what else products read by rows are read where they lie, if
//! they are stored in the type that is computed in and fill whole vectors. Then each block of queries is an item of work, and of gradients by keys
//! and values each block of keys. Items add in an order of their own: the bits do not depend on the number of threads.
//!
//! Arguments were validated in Rust; results share no memory with inputs.

const std = @import("std");
const builtin = @import("builtin");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const attention_kernel = @import("attention_kernel.zig");
const cpu = @import("../simd/cpu.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;
pub const block_len = attention_kernel.block_len;

/// What one call computes.
pub const Problem = struct {
    q: View,
    k: View,
    v: View,
    mask: ?View = null,
    /// Of the result, for gradients.
    gradient: ?View = null,
    scale: f64,
    is_causal: bool,

    pub fn heads(problem: *const Problem) usize {
        return strided.product(problem.q.shape[0 .. problem.q.rank - 2]);
    }

    pub fn keyHeads(problem: *const Problem) usize {
        return strided.product(problem.k.shape[0 .. problem.k.rank - 2]);
    }

    /// The keys and values that a head of queries has.
    pub fn keyHead(problem: *const Problem, head: usize) usize {
        return head / problem.group();
    }

    /// Heads of queries that share keys.
    pub fn group(problem: *const Problem) usize {
        return problem.heads() / problem.keyHeads();
    }

    pub fn queries(problem: *const Problem) usize {
        return problem.q.shape[problem.q.rank - 2];
    }

    pub fn keys(problem: *const Problem) usize {
        return problem.k.shape[problem.k.rank - 2];
    }

    /// Elements of a query, and of a value.
    pub fn size(problem: *const Problem) usize {
        return problem.q.shape[problem.q.rank - 1];
    }

    pub fn valueSize(problem: *const Problem) usize {
        return problem.v.shape[problem.v.rank - 1];
    }
};

pub const Error = error{OutOfMemory} || parallel.Error;

pub fn attention(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.AttentionOptions) abi.Status {
    const problem = problemOf(inputs.?[0..input_count], options.?, false);
    const outcome = if (options.?.compute.bits == 32) run(f32, &problem, out.?, options.?) else run(f64, &problem, out.?, options.?);
    return report(outcome);
}

pub fn problemOf(inputs: []const abi.Tensor, given: *const abi.AttentionOptions, is_gradient: bool) Problem {
    return .{
        .q = .of(&inputs[0]),
        .k = .of(&inputs[1]),
        .v = .of(&inputs[2]),
        .gradient = if (is_gradient) .of(&inputs[3]) else null,
        .mask = if (given.has_mask != 0) .of(&inputs[inputs.len - 1]) else null,
        .scale = given.scale,
        .is_causal = given.is_causal != 0,
    };
}

pub fn report(outcome: Error!void) abi.Status {
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the blocks of an attention", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the blocks of an attention", .{}),
    };
    return abi.ok;
}

fn run(comptime T: type, problem: *const Problem, out: *const abi.Tensor, options: *const abi.AttentionOptions) Error!void {
    return runWith(T, .best(), problem, &.of(out), options.executor);
}

/// The routines of one instruction set.
pub fn Routines(comptime T: type) type {
    return struct {
        tensor: *const generic.tensor_table.Table(T),
        blocks: *const attention_kernel.Table(T),

        pub fn best() @This() {
            return of(kernels.info().instruction_set);
        }

        /// Of an instruction set that this CPU has.
        pub fn of(set: cpu.InstructionSet) @This() {
            const has_x86 = builtin.cpu.arch == .x86_64;
            const blocks = switch (set) {
                .generic => linked("generic"),
                .avx2 => if (has_x86) linked("avx2") else unreachable,
                .avx512, .avx512_dot, .amx => if (has_x86) linked("avx512") else unreachable,
            };
            return .{ .tensor = tensor_kernels.tableOf(T, set), .blocks = blocks };
        }

        fn linked(comptime set: []const u8) *const attention_kernel.Table(T) {
            return generic.linked_table.find(attention_kernel.Table(T), "attention", set, @typeName(T));
        }

        pub fn padded(routines: *const @This(), len: usize) usize {
            return std.mem.alignForward(usize, len, routines.blocks.lanes);
        }
    };
}

pub fn blockCount(len: usize) usize {
    return (len + block_len - 1) / block_len;
}

/// Elements of a block that begins at `first`.
pub fn blockLen(len: usize, first: usize) usize {
    return @min(block_len, len - first);
}

/// Work of so many items, of which each piece takes every so-manieth: those of a causal mask grow.
pub fn pieceCount(items: usize, executor: ?*const abi.Executor) usize {
    const threads = parallel.threadCount(executor);
    return if (threads == 1) 1 else @min(items, 2 * threads);
}

/// The matrix of a head, as rows of adjacent or distant elements.
pub const Matrix = struct {
    view: View,
    address: usize,
    row_stride: isize,
    stride: isize,
    rows: usize,
    columns: usize,

    pub fn of(view: *const View, head: usize) Matrix {
        const outer = view.axes(0, view.rank - 2);
        return .{
            .view = view.*,
            .address = strided.addressAt(view, strided.offsetOf(&outer, head)),
            .row_stride = view.strides[view.rank - 2],
            .stride = view.strides[view.rank - 1],
            .rows = view.shape[view.rank - 2],
            .columns = view.shape[view.rank - 1],
        };
    }

    pub fn rowAddress(matrix: *const Matrix, row: usize, column: usize) usize {
        const elements = @as(isize, @intCast(row)) * matrix.row_stride + @as(isize, @intCast(column)) * matrix.stride;
        return matrix.address +% @as(usize, @bitCast(elements * @as(isize, @intCast(matrix.view.storage.bytes()))));
    }

    /// Copies rows to rows of `width` elements, of which those behind the last column are zero.
    pub fn read(matrix: *const Matrix, comptime T: type, table: *const generic.tensor_table.Table(T), first: usize, count: usize, target: [*]T, width: usize) void {
        for (0..count) |row| {
            const line = target + row * width;
            table.load(&.{ .storage = matrix.view.storage, .address = matrix.rowAddress(first + row, 0), .step = matrix.stride, .len = matrix.columns, .target = line });
            @memset(line[matrix.columns..width], 0);
        }
    }

    pub fn write(matrix: *const Matrix, comptime T: type, table: *const generic.tensor_table.Table(T), first: usize, count: usize, source: [*]const T, width: usize) void {
        for (0..count) |row| {
            table.store(&.{ .storage = matrix.view.storage, .address = matrix.rowAddress(first + row, 0), .step = matrix.stride, .len = matrix.columns, .source = source + row * width });
        }
    }
};

/// Rows of whole vectors of all heads of a tensor: where they lie, or copied.
pub fn Lines(comptime T: type) type {
    return struct {
        view: *const View,
        width: usize,
        /// Copies of all rows, head by head; null where rows are read where they lie.
        copy: ?[*]T = null,

        const Self = @This();

        pub fn of(routines: *const Routines(T), view: *const View) Self {
            return .{ .view = view, .width = routines.padded(view.shape[view.rank - 1]) };
        }

        fn isReady(lines: *const Self) bool {
            const view = lines.view;
            return view.storage.is(T) and view.strides[view.rank - 1] == 1 and view.shape[view.rank - 1] == lines.width and view.strides[view.rank - 2] >= 0;
        }

        /// Elements of the copies.
        pub fn copiedLen(lines: *const Self) usize {
            const view = lines.view;
            return if (lines.isReady()) 0 else strided.product(view.shape[0 .. view.rank - 1]) * lines.width;
        }

        pub fn fill(lines: *const Self, table: *const generic.tensor_table.Table(T), head: usize, first: usize, count: usize) void {
            const copy = lines.copy orelse return;
            const matrix: Matrix = .of(lines.view, head);
            matrix.read(T, table, first, count, copy + (head * matrix.rows + first) * lines.width, lines.width);
        }

        /// The rows of a head from `first` on, and their distance.
        pub fn at(lines: *const Self, head: usize, first: usize) struct { [*]const T, usize } {
            const matrix: Matrix = .of(lines.view, head);
            if (lines.copy) |copy| return .{ copy + (head * matrix.rows + first) * lines.width, lines.width };
            return .{ @ptrFromInt(matrix.rowAddress(first, 0)), @intCast(matrix.row_stride) };
        }
    };
}

/// Blocks of rows of all heads of a tensor, turned: a row of a panel has the adjacent rows of a block.
pub fn Panels(comptime T: type) type {
    return struct {
        view: *const View,
        memory: [*]T = undefined,

        const Self = @This();

        fn panelLen(panels: *const Self) usize {
            return panels.view.shape[panels.view.rank - 1] * block_len;
        }

        pub fn len(panels: *const Self) usize {
            const view = panels.view;
            return strided.product(view.shape[0 .. view.rank - 2]) * blockCount(view.shape[view.rank - 2]) * panels.panelLen();
        }

        pub fn at(panels: *const Self, head: usize, block: usize) [*]T {
            return panels.memory + (head * blockCount(panels.view.shape[panels.view.rank - 2]) + block) * panels.panelLen();
        }

        /// Turns a block, through memory for its rows.
        pub fn fill(panels: *const Self, table: *const generic.tensor_table.Table(T), head: usize, block: usize, rows: [*]T) void {
            const matrix: Matrix = .of(panels.view, head);
            const first = block * block_len;
            const count = blockLen(matrix.rows, first);
            matrix.read(T, table, first, count, rows, matrix.columns);
            const panel = panels.at(head, block);
            if (count < block_len) @memset(panel[0..panels.panelLen()], 0);
            table.transpose(&.{
                .rows = count,
                .columns = matrix.columns,
                .source = rows,
                .source_row = @intCast(matrix.columns),
                .target = panel,
                .target_column = block_len,
            });
        }
    };
}

/// What a block of queries needs of its own.
pub fn Scratch(comptime T: type) type {
    return struct {
        q: [*]T,
        scores: [*]T,
        mask: [*]T,
        out: [*]T,
        largest: [*]T,
        sums: [*]T,

        pub fn len(width: usize, value_width: usize) usize {
            return block_len * (width + value_width + 2 * block_len + 2);
        }

        pub fn of(memory: [*]T, width: usize, value_width: usize) @This() {
            const scores = memory + block_len * width;
            const mask = scores + block_len * block_len;
            const out = mask + block_len * block_len;
            const largest = out + block_len * value_width;
            return .{ .q = memory, .scores = scores, .mask = mask, .out = out, .largest = largest, .sums = largest + block_len };
        }
    };
}

/// What forward and backward passes share: scores of blocks, and what blocks of queries sum.
pub fn Blocks(comptime T: type) type {
    return struct {
        routines: Routines(T),
        problem: *const Problem,
        keys: Panels(T),
        values: Lines(T),

        const Self = @This();

        /// Queries of a block, times the scale, in rows of whole vectors; those behind the last one are zero.
        pub fn readQueries(it: *const Self, head: usize, first: usize, target: [*]T, width: usize) usize {
            const matrix: Matrix = .of(&it.problem.q, head);
            const count = blockLen(matrix.rows, first);
            matrix.read(T, it.routines.tensor, first, count, target, width);
            const scale: T = @floatCast(it.problem.scale);
            for (target[0 .. count * width]) |*value| value.* *= scale;
            @memset(target[count * width .. tiled(count) * width], 0);
            return count;
        }

        /// Rows of the tiles that hold so many.
        pub fn tiled(count: usize) usize {
            return (count + attention_kernel.tile_rows - 1) / attention_kernel.tile_rows * attention_kernel.tile_rows;
        }

        /// Products of `count` rows with a panel of a block of `columns` rows of another tensor.
        pub fn multiplyPanel(it: *const Self, rows: [*]const T, width: usize, count: usize, depth: usize, panel: [*]const T, columns: usize, target: [*]T) void {
            it.routines.blocks.multiply(&.{
                .rows = tiled(count),
                .columns = it.routines.padded(columns),
                .depth = depth,
                .a = rows,
                .a_row = width,
                .a_step = 1,
                .b = panel,
                .b_row = block_len,
                .c = target,
                .c_row = block_len,
                .adds = false,
            });
        }

        /// Which scores of a block count; reads its mask.
        pub fn visible(it: *const Self, head: usize, query: usize, count: usize, key: usize, mask: [*]T) attention_kernel.Visible(T) {
            const columns = blockLen(it.problem.keys(), key);
            const given = if (it.problem.mask) |*view| view else null;
            if (given) |view| {
                const matrix: Matrix = .of(view, head);
                for (0..count) |row| it.routines.tensor.load(&.{
                    .storage = view.storage,
                    .address = matrix.rowAddress(query + row, key),
                    .step = matrix.stride,
                    .len = columns,
                    .target = mask + row * block_len,
                });
            }
            return .{
                .columns = columns,
                .first = if (it.problem.is_causal) @as(isize, @intCast(query)) - @as(isize, @intCast(key)) + 1 else null,
                .mask = if (given == null) null else mask,
                .is_truth = if (given) |view| view.storage == .bool else false,
            };
        }

        /// Keys that a block of queries sees some of.
        pub fn keysOf(it: *const Self, query: usize, count: usize) usize {
            return if (it.problem.is_causal) @min(it.problem.keys(), query + count) else it.problem.keys();
        }

        /// Sums of values of a block of queries, which have been read, not yet divided.
        pub fn sum(it: *const Self, head: usize, query: usize, count: usize, width: usize, own: *const Scratch(T)) void {
            const key_head = it.problem.keyHead(head);
            @memset(own.largest[0..count], -std.math.inf(T));
            @memset(own.sums[0..count], 0);
            @memset(own.out[0 .. tiled(count) * it.values.width], 0);
            const end = it.keysOf(query, count);
            var key: usize = 0;
            while (key < end) : (key += block_len) {
                const columns = blockLen(it.problem.keys(), key);
                it.multiplyPanel(own.q, width, count, it.problem.size(), it.keys.at(key_head, key / block_len), columns, own.scores);
                it.routines.blocks.join(&.{
                    .rows = count,
                    .padded = it.routines.padded(columns),
                    .scores = own.scores,
                    .visible = it.visible(head, query, count, key, own.mask),
                    .largest = own.largest,
                    .sums = own.sums,
                    .out = own.out,
                    .out_row = it.values.width,
                });
                const b, const b_row = it.values.at(key_head, key);
                it.routines.blocks.multiply(&.{
                    .rows = tiled(count),
                    .columns = it.values.width,
                    .depth = columns,
                    .a = own.scores,
                    .a_row = block_len,
                    .a_step = 1,
                    .b = b,
                    .b_row = b_row,
                    .c = own.out,
                    .c_row = it.values.width,
                    .adds = true,
                });
            }
            for (0..count) |row| {
                // Who sees no key gets nothing.
                const inverse: T = if (own.sums[row] == 0) 0 else 1 / own.sums[row];
                for (own.out[row * it.values.width ..][0..it.values.width]) |*value| value.* *= inverse;
            }
        }
    };
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(comptime T: type, routines: Routines(T), problem: *const Problem, out: *const View, executor: ?*const abi.Executor) Error!void {
    if (out.len() == 0) return;
    var blocks: Blocks(T) = .{ .routines = routines, .problem = problem, .keys = .{ .view = &problem.k }, .values = .of(&routines, &problem.v) };
    const items = problem.heads() * blockCount(problem.queries());
    const packs = problem.keyHeads() * blockCount(problem.keys());
    const pieces = pieceCount(@max(items, packs), executor);
    const width = problem.size();
    const scratch_len = Scratch(T).len(width, blocks.values.width);
    const buffer = try acquire(T, &.{ blocks.keys.len(), blocks.values.copiedLen(), pieces * scratch_len });
    defer workspace.release(buffer);
    var memory = buffer.slice(T, 0, buffer.bytes.len / @sizeOf(T)).ptr;
    memory = place(T, &blocks.keys.memory, memory, blocks.keys.len());
    memory = placeCopy(T, &blocks.values, memory);
    const job: Forward(T) = .{ .blocks = &blocks, .out = out, .items = items, .packs = packs, .pieces = pieces, .width = width, .scratch = memory, .scratch_len = scratch_len };
    const packing: Forward(T).Packing = .{ .job = &job };
    if (packs > 0) try parallel.run(executor, pieces, Forward(T).Packing, &packing);
    try parallel.run(executor, pieces, Forward(T), &job);
}

/// Elements on cache lines of their own.
pub fn lineLen(comptime T: type, len: usize) usize {
    return std.mem.alignForward(usize, len, 64 / @sizeOf(T));
}

pub fn acquire(comptime T: type, lens: []const usize) error{OutOfMemory}!workspace.Buffer {
    var total: usize = 0;
    for (lens) |len| total = std.math.add(usize, total, lineLen(T, len)) catch return error.OutOfMemory;
    return workspace.acquire(std.math.mul(usize, total, @sizeOf(T)) catch return error.OutOfMemory);
}

/// Gives memory away; returns what is behind it.
pub fn place(comptime T: type, target: *[*]T, memory: [*]T, len: usize) [*]T {
    target.* = memory;
    return memory + lineLen(T, len);
}

pub fn placeCopy(comptime T: type, lines: *Lines(T), memory: [*]T) [*]T {
    const len = lines.copiedLen();
    if (len > 0) lines.copy = memory;
    return memory + lineLen(T, len);
}

fn Forward(comptime T: type) type {
    return struct {
        blocks: *const Blocks(T),
        out: *const View,
        items: usize,
        packs: usize,
        pieces: usize,
        width: usize,
        scratch: [*]T,
        scratch_len: usize,

        const Self = @This();

        /// Copies keys and values.
        const Packing = struct {
            job: *const Self,

            pub fn run(packing: *const @This(), begin: usize, end: usize) void {
                const job = packing.job;
                const it = job.blocks;
                const count = blockCount(it.problem.keys());
                for (begin..end) |piece| {
                    var item = piece;
                    while (item < job.packs) : (item += job.pieces) {
                        const head, const block = .{ item / count, item % count };
                        it.keys.fill(it.routines.tensor, head, block, job.scratch + piece * job.scratch_len);
                        it.values.fill(it.routines.tensor, head, block * block_len, blockLen(it.problem.keys(), block * block_len));
                    }
                }
            }
        };

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const it = job.blocks;
            const count = blockCount(it.problem.queries());
            for (begin..end) |piece| {
                const own: Scratch(T) = .of(job.scratch + piece * job.scratch_len, job.width, it.values.width);
                var item = piece;
                while (item < job.items) : (item += job.pieces) {
                    const head, const query = .{ item / count, item % count * block_len };
                    const rows = it.readQueries(head, query, own.q, job.width);
                    it.sum(head, query, rows, job.width, &own);
                    const target: Matrix = .of(job.out, head);
                    target.write(T, it.routines.tensor, query, rows, own.out, it.values.width);
                }
            }
        }
    };
}
