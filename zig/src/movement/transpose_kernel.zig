//! Copies that exchange rows and columns, a square block of vectors at a time.

const pack = @import("../gemm/pack.zig");
const stream_store = @import("../simd/stream_store.zig");

pub fn Transpose(comptime T: type) type {
    return struct {
        rows: usize,
        columns: usize,
        /// Rows of adjacent columns.
        source: [*]const T,
        source_row: isize,
        /// Columns of adjacent rows.
        target: [*]T,
        target_column: isize,
        /// Where each row of the source begins, instead of `source_row`, and each column of the target, instead of `target_column`.
        source_offsets: ?[*]const u32 = null,
        target_offsets: ?[*]const u32 = null,
        /// From what is read to what will be read soon, in elements. Rows are read in step, each from a page of its own, which is more than a CPU
        /// follows by itself.
        ahead: isize = 512 / @sizeOf(T),

        inline fn sourceAt(job: *const @This(), row: usize, column: usize) [*]const T {
            const elements: isize = if (job.source_offsets) |offsets| offsets[row] else @as(isize, @intCast(row)) * job.source_row;
            return job.source + @as(usize, @bitCast(elements)) + column;
        }

        inline fn targetAt(job: *const @This(), column: usize, row: usize) [*]T {
            const elements: isize = if (job.target_offsets) |offsets| offsets[column] else @as(isize, @intCast(column)) * job.target_column;
            return job.target + @as(usize, @bitCast(elements)) + row;
        }
    };
}

/// So few rows are copied value by value, because a block would be mostly empty.
const few_rows = 4;

pub inline fn transpose(comptime T: type, comptime lanes: comptime_int, job: *const Transpose(T)) void {
    if (job.rows <= few_rows) {
        for (0..job.columns) |column| {
            const target = job.targetAt(column, 0);
            for (0..job.rows) |row| target[row] = job.sourceAt(row, column)[0];
        }
        return;
    }
    var row: usize = 0;
    while (row < job.rows) : (row += lanes) {
        const rows = @min(lanes, job.rows - row);
        var column: usize = 0;
        while (column < job.columns) : (column += lanes) {
            const columns = @min(lanes, job.columns - column);
            if (rows == lanes and columns == lanes) whole(T, lanes, job, row, column) else part(T, lanes, job, row, rows, column, columns);
        }
    }
}

inline fn whole(comptime T: type, comptime lanes: comptime_int, job: *const Transpose(T), row: usize, column: usize) void {
    var block: [lanes]@Vector(lanes, T) = undefined;
    inline for (0..lanes) |i| {
        const source = job.sourceAt(row + i, column);
        @prefetch(source + @as(usize, @bitCast(job.ahead)), .{});
        block[i] = source[0..lanes].*;
    }
    pack.transpose(T, lanes, &block);
    inline for (0..lanes) |i| job.targetAt(column + i, row)[0..lanes].* = block[i];
}

/// A block at an edge passes through memory on both ways.
inline fn part(comptime T: type, comptime lanes: comptime_int, job: *const Transpose(T), row: usize, rows: usize, column: usize, columns: usize) void {
    var buffer: [lanes][lanes]T align(64) = undefined;
    for (0..rows) |i| copy(T, lanes, &buffer[i], job.sourceAt(row + i, column), columns);
    var block: [lanes]@Vector(lanes, T) = undefined;
    inline for (0..lanes) |i| block[i] = buffer[i];
    pack.transpose(T, lanes, &block);
    inline for (0..lanes) |i| buffer[i] = block[i];
    for (0..columns) |i| copy(T, lanes, job.targetAt(column + i, row), &buffer[i], rows);
}

/// At most `lanes` elements.
inline fn copy(comptime T: type, comptime lanes: comptime_int, target: [*]T, source: [*]const T, len: usize) void {
    var at: usize = 0;
    comptime var width = lanes;
    inline while (width > 0) : (width /= 2) {
        if (len & width != 0) {
            target[at..][0..width].* = source[at..][0..width].*;
            at += width;
        }
    }
}

const line_bytes = 64;

/// Edge of a block that passes through the first cache: four lines of the source's and of the target's rows.
pub fn blockEdge(comptime T: type) comptime_int {
    return 4 * line_bytes / @sizeOf(T);
}

/// A block up to `blockEdge` a side that stands transposed in the first cache before it is written, so that every line of the target is written whole:
/// with rows a power of two apart, those that are written in part in turn would push each other out of the cache.
pub fn Block(comptime T: type) type {
    return struct {
        transpose: Transpose(T),
        /// From the target to what will be written soon, in elements.
        target_ahead: isize,
        /// Whether stores bypass the caches. `stream_store.finish` must follow then.
        streams: bool,
    };
}

pub inline fn transposeBlock(comptime T: type, comptime lanes: comptime_int, block: *const Block(T)) void {
    const edge = comptime blockEdge(T);
    // Columns of the buffer begin in different sets of the cache.
    const stride = edge + line_bytes / @sizeOf(T);
    var buffer: [edge * stride]T align(line_bytes) = undefined;
    var first = block.transpose;
    first.target = &buffer;
    first.target_column = stride;
    transpose(T, lanes, &first);
    for (0..first.columns) |column| {
        const source: [*]const T = buffer[column * stride ..].ptr;
        const target = block.transpose.targetAt(column, 0);
        if (block.streams) {
            stream_store.copy(lanes * @sizeOf(T), @ptrCast(target), @ptrCast(source), first.rows * @sizeOf(T));
            continue;
        }
        const next = target + @as(usize, @bitCast(block.target_ahead));
        inline for (0..edge * @sizeOf(T) / line_bytes) |line| @prefetch(next + line * line_bytes / @sizeOf(T), .{ .rw = .write });
        var row: usize = 0;
        while (row + lanes <= first.rows) : (row += lanes) target[row..][0..lanes].* = source[row..][0..lanes].*;
        copy(T, lanes, target + row, source + row, first.rows - row);
    }
}
