//! The last failure of each thread, in the words of this library.

const std = @import("std");
const abi = @import("abi.zig");

/// Longest message kept; the rest is cut. Shapes and strides of three tensors fit.
const message_capacity_bytes = 512;

threadlocal var last_code: abi.Status = abi.ok;
threadlocal var last_message: [message_capacity_bytes]u8 = undefined;
threadlocal var last_message_len: usize = 0;

/// Records the message and returns the code, so that a refusal is one expression.
pub fn fail(code: abi.Status, comptime format: []const u8, args: anytype) abi.Status {
    var writer: std.Io.Writer = .fixed(&last_message);
    // A message that is too long keeps its beginning.
    writer.print(format, args) catch {};
    last_message_len = writer.end;
    last_code = code;
    return code;
}

/// Code of the last failure of this thread.
pub fn lastCode() abi.Status {
    return last_code;
}

pub fn read(out: *abi.LastError) abi.Status {
    if (out.size_bytes < @sizeOf(abi.LastError)) return abi.errors.invalid_argument;
    out.code = last_code;
    out.reserved = 0;
    out.message = .{ .ptr = &last_message, .len = last_message_len };
    return abi.ok;
}

test "a failure keeps its code and message until the next one" {
    const code = fail(abi.errors.shape_mismatch, "inner dimensions {d} and {d} differ", .{ 3, 4 });
    try std.testing.expectEqual(abi.errors.shape_mismatch, code);
    var out: abi.LastError = undefined;
    out.size_bytes = @sizeOf(abi.LastError);
    try std.testing.expectEqual(abi.ok, read(&out));
    try std.testing.expectEqualStrings("inner dimensions 3 and 4 differ", out.message.ptr.?[0..out.message.len]);
}

test "a message longer than the buffer keeps its beginning" {
    const long: [2 * message_capacity_bytes]u8 = @splat('x');
    _ = fail(abi.errors.internal, "head {s}", .{&long});
    try std.testing.expectEqualStrings("head xxx", last_message[0..8]);
    try std.testing.expectEqual(message_capacity_bytes, last_message_len);
}
