//! What the tests share: an executor with real threads, views over buffers, the scalar twin of a matmul.

const std = @import("std");
const abi = @import("../abi.zig");
const gemm = @import("../gemm/gemm.zig");
const strided = @import("strided.zig");
const windows_of = @import("../conv/windows.zig");

/// An executor that cuts each range into one piece for each thread.
pub fn executor(thread_count: u32) abi.Executor {
    return .{
        .size_bytes = @sizeOf(abi.Executor),
        .context = @ptrFromInt(thread_count),
        .thread_count = thread_count,
        .reserved = 0,
        .parallel_for = &parallelFor,
    };
}

fn parallelFor(context: ?*anyopaque, count: u64, task: ?*const abi.TaskFn, data: ?*anyopaque) callconv(.c) abi.Status {
    const pieces = @min(@intFromPtr(context), count);
    var threads: [16]std.Thread = undefined;
    for (1..pieces) |piece| {
        threads[piece] = std.Thread.spawn(.{}, runPiece, .{ task.?, data, piece, pieces, count }) catch return abi.errors.internal;
    }
    runPiece(task.?, data, 0, pieces, count);
    for (threads[1..pieces]) |thread| thread.join();
    return abi.ok;
}

fn runPiece(task: *const abi.TaskFn, data: ?*anyopaque, piece: u64, pieces: u64, count: u64) void {
    task(data, count * piece / pieces, count * (piece + 1) / pieces);
}

/// An executor that refuses.
pub const broken_executor: abi.Executor = .{
    .size_bytes = @sizeOf(abi.Executor),
    .context = null,
    .thread_count = 4,
    .reserved = 0,
    .parallel_for = &refuse,
};

fn refuse(_: ?*anyopaque, _: u64, _: ?*const abi.TaskFn, _: ?*anyopaque) callconv(.c) abi.Status {
    return abi.errors.internal;
}

/// A matrix somewhere in a buffer of its own, with random strides: row-major, transposed, reversed, spaced out, broadcast.
pub fn RandomMatrix(comptime T: type) type {
    return struct {
        buffer: []T,
        origin: usize,
        rows: usize,
        columns: usize,
        row_stride: isize,
        column_stride: isize,

        const Self = @This();

        pub fn init(rng: std.Random, rows: usize, columns: usize, may_broadcast: bool) !Self {
            const gap_row: usize = rng.uintLessThan(usize, 4);
            const gap = rng.intRangeAtMost(usize, 1, 2);
            const is_transposed = rng.boolean();
            const inner_len = if (is_transposed) rows else columns;
            const inner: isize = @intCast(gap);
            const outer: isize = @intCast(@max(1, inner_len) * gap + gap_row);
            var self: Self = .{
                .buffer = undefined,
                .origin = 0,
                .rows = rows,
                .columns = columns,
                .row_stride = if (is_transposed) inner else outer,
                .column_stride = if (is_transposed) outer else inner,
            };
            if (may_broadcast and rng.uintLessThan(u8, 6) == 0) self.row_stride = 0;
            if (may_broadcast and rng.uintLessThan(u8, 6) == 0) self.column_stride = 0;
            var extent: usize = 1;
            for ([_]usize{ rows, columns }, [_]*isize{ &self.row_stride, &self.column_stride }) |len, stride| {
                if (len == 0) continue;
                const reach = (len - 1) * @abs(stride.*);
                extent += reach;
                if (rng.uintLessThan(u8, 4) == 0) {
                    self.origin += reach;
                    stride.* = -stride.*;
                }
            }
            self.buffer = try std.testing.allocator.alloc(T, extent);
            for (self.buffer) |*value| value.* = rng.float(T) * 2 - 1;
            return self;
        }

        pub fn deinit(self: Self) void {
            std.testing.allocator.free(self.buffer);
        }

        pub fn copy(self: Self) !Self {
            var other = self;
            other.buffer = try std.testing.allocator.dupe(T, self.buffer);
            return other;
        }

        pub fn ptr(self: Self) [*]T {
            return self.buffer.ptr + self.origin;
        }

        pub fn at(self: *const Self, row: usize, column: usize) *T {
            const index = @as(isize, @intCast(self.origin)) + @as(isize, @intCast(row)) * self.row_stride +
                @as(isize, @intCast(column)) * self.column_stride;
            return &self.buffer[@intCast(index)];
        }
    };
}

pub fn problemOf(comptime T: type, a: RandomMatrix(T), b: RandomMatrix(T), out: RandomMatrix(T), alpha: T, beta: T) gemm.Problem(.plain(T)) {
    return .{
        .m = a.rows,
        .n = b.columns,
        .k = a.columns,
        .a = a.ptr(),
        .a_row = a.row_stride,
        .a_k = a.column_stride,
        .b = b.ptr(),
        .b_k = b.row_stride,
        .b_column = b.column_stride,
        .out = out.ptr(),
        .out_row = out.row_stride,
        .out_column = out.column_stride,
        .alpha = alpha,
        .beta = beta,
    };
}

/// The scalar twin of every matmul: computes one element, summed in float64.
pub fn scalarMatmul(comptime T: type, a: RandomMatrix(T), b: RandomMatrix(T), row: usize, column: usize) f64 {
    var sum: f64 = 0;
    for (0..a.columns) |step| sum += @as(f64, a.at(row, step).*) * @as(f64, b.at(step, column).*);
    return sum;
}

/// A tensor of the ABI; holds its own shape and strides, so it must not move after `tensor` was called.
pub const Host = struct {
    shape: [2]i64,
    strides: [2]i64,

    pub fn tensor(self: *Host, comptime T: type, data: ?*anyopaque) abi.Tensor {
        return .{
            .data = data,
            .device = .{ .device_type = abi.device_cpu, .device_id = 0 },
            .ndim = 2,
            .dtype = .{ .code = abi.dtype_float, .bits = @bitSizeOf(T), .lanes = 1 },
            .shape = &self.shape,
            .strides = &self.strides,
            .byte_offset = 0,
        };
    }

    pub fn rowMajor(rows: i64, columns: i64) Host {
        return .{ .shape = .{ rows, columns }, .strides = .{ columns, 1 } };
    }
};

/// How the axes of an image are laid out in memory.
pub const ImageLayout = enum { nchw, nhwc, gaps };

/// An image or weight in a buffer of its own.
pub fn Image(comptime T: type) type {
    return struct {
        values: []T,
        view: strided.View,

        pub fn init(rng: std.Random, shape: [4]usize, layout: ImageLayout) !@This() {
            const order: [4]usize = if (layout == .nhwc) .{ 0, 2, 3, 1 } else .{ 0, 1, 2, 3 };
            const gap: usize = if (layout == .gaps) 2 else 1;
            var view: strided.View = .{ .storage = .of(T), .address = 0, .rank = 4, .shape = @splat(1), .strides = @splat(0) };
            var len = gap;
            for (0..4) |i| {
                const axis = order[3 - i];
                view.shape[axis] = shape[axis];
                view.strides[axis] = @intCast(len);
                len *= shape[axis];
            }
            const values = try std.testing.allocator.alloc(T, len);
            for (values) |*value| value.* = rng.float(T) * 2 - 1;
            view.address = @intFromPtr(values.ptr);
            return .{ .values = values, .view = view };
        }

        pub fn deinit(self: @This()) void {
            std.testing.allocator.free(self.values);
        }

        pub fn at(self: *const @This(), index: [4]usize) *T {
            return &self.values[@intCast(windows_of.offset(&self.view, index[0], index[1], index[2], index[3]))];
        }
    };
}
