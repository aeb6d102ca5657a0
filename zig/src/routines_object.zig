//! Root of every object file that holds the routines of one instruction set. It is compiled for the baseline CPU, as all code is that the
//! routines share; only the module `routines` has the target features of its instruction set (zig/compile.py).

const std = @import("std");

/// Safety checks of the tests fail in the library's test runner: an object brings no printing of stack traces of its own.
pub const panic = std.debug.FullPanic(failCheck);

fn failCheck(message: []const u8, address: ?usize) noreturn {
    const reportPanic = @extern(*const fn ([*]const u8, usize, usize) callconv(.c) noreturn, .{ .name = "agpu_report_panic" });
    reportPanic(message.ptr, message.len, address orelse @returnAddress());
}

comptime {
    _ = @import("routines");
}
