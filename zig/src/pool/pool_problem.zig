//! The problem that every algorithm of pooling solves.

const std = @import("std");
const abi = @import("../abi.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("../conv/windows.zig");

const View = strided.View;

pub const Error = error{OutOfMemory} || parallel.Error;

pub const Operation = enum(u32) {
    maximum = 0,
    average = 1,
    maximum_gradient = 2,
    average_gradient = 3,
    add_at_indices = 4,
    set_at_indices = 5,

    pub fn isGradient(operation: Operation) bool {
        return operation == .maximum_gradient or operation == .average_gradient;
    }
};

comptime {
    for (std.meta.fieldNames(Operation)) |name| {
        std.debug.assert(@backingInt(@field(Operation, name)) == @field(abi, "pool_" ++ name));
    }
}

pub const Problem = struct {
    operation: Operation,
    image: View,
    /// The result of the forward pass, or its gradient.
    result: View,
    /// The gradient by the image, where that is computed.
    gradient: ?View,
    windows: windows_of.Windows,
    /// As in PyTorch: an average is over the window within the padded image if set, else within the image.
    counts_padding: bool,
    /// What averages are divided by; 0 for the number of their values.
    divisor: i64 = 0,

    pub fn divisorOf(problem: *const Problem, comptime T: type) ?T {
        return if (problem.divisor == 0) null else @floatFromInt(problem.divisor);
    }
};
