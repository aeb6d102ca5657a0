//! Copies that cut rows into panels: of each row, `height` adjacent values go to a panel, the next to the next panel. In a panel the rows lie one
//! after the other, as register tiles read them.

const micro_kernel = @import("micro_kernel.zig");

pub fn Panels(comptime T: type) type {
    return struct {
        rows: usize,
        columns: usize,
        /// Rows of adjacent columns.
        source: [*]const T,
        source_row: isize,
        target: [*]T,
        /// Values of a row in a panel.
        height: usize,
        /// Values from one panel to the next.
        target_panel: usize,
        /// Where in the panels the first column goes.
        first: usize = 0,
    };
}

/// Rows are read in step, each from a page of its own, which is more than a CPU follows by itself: those soon to come are asked for.
const ahead_rows = 8;

pub inline fn copy(comptime T: type, comptime lanes: comptime_int, job: *const Panels(T)) void {
    for (0..job.rows) |row| {
        var source = micro_kernel.offsetConst(T, job.source, @as(isize, @intCast(row)) * job.source_row);
        if (row + ahead_rows < job.rows) askFor(T, micro_kernel.offsetConst(T, source, ahead_rows * job.source_row), job.columns);
        var target = job.target + job.first / job.height * job.target_panel + row * job.height;
        var at = job.first % job.height;
        var left = job.columns;
        while (left > 0) {
            const count = @min(left, job.height - at);
            run(T, lanes, target + at, source, count);
            source += count;
            left -= count;
            target += job.target_panel;
            at = 0;
        }
    }
}

inline fn askFor(comptime T: type, source: [*]const T, len: usize) void {
    var at: usize = 0;
    while (at < len) : (at += 64 / @sizeOf(T)) @prefetch(source + at, .{});
}

inline fn run(comptime T: type, comptime lanes: comptime_int, target: [*]T, source: [*]const T, len: usize) void {
    var at: usize = 0;
    while (at + lanes <= len) : (at += lanes) target[at..][0..lanes].* = source[at..][0..lanes].*;
    comptime var width = lanes / 2;
    inline while (width > 0) : (width /= 2) {
        if (len & width != 0) {
            target[at..][0..width].* = source[at..][0..width].*;
            at += width;
        }
    }
}
