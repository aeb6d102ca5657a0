//! Copies that cut rows into panels: of each row, `height` adjacent values go to a panel, the next to the next panel. In a panel the rows lie one
//! after the other, as register tiles read them.

const pointers = @import("../simd/pointers.zig");

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

pub inline fn copy(comptime T: type, comptime lanes: comptime_int, job: *const Panels(T)) void {
    const first = job.target + job.first / job.height * job.target_panel;
    const first_at = job.first % job.height;
    // Whole panels of as many vectors as the register tile of convolutions has.
    const are_whole = first_at == 0 and job.height == sweep_vectors * lanes and job.columns % job.height == 0;
    for (0..job.rows) |row| {
        var source = pointers.offsetConst(T, job.source, @as(isize, @intCast(row)) * job.source_row);
        var target = first + row * job.height;
        var remaining = job.columns;
        if (are_whole) {
            while (remaining > 0) : (remaining -= sweep_vectors * lanes) {
                const values: [sweep_vectors]@Vector(lanes, T) = .{ source[0..lanes].*, source[lanes..][0..lanes].* };
                inline for (values, 0..) |value, i| target[i * lanes ..][0..lanes].* = value;
                source += sweep_vectors * lanes;
                target += job.target_panel;
            }
            continue;
        }
        var at = first_at;
        while (remaining > 0) {
            const count = @min(remaining, job.height - at);
            run(T, lanes, target + at, source, count);
            source += count;
            remaining -= count;
            target += job.target_panel;
            at = 0;
        }
    }
}

/// Vectors of a panel (tensor_routines.zig).
const sweep_vectors = 2;

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
