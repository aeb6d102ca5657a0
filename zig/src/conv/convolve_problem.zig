//! The problem that every algorithm of convolution solves: tensors, windows and groups, and the weights as a dense matrix.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("windows.zig");

pub const View = strided.View;

pub const Error = error{OutOfMemory} || parallel.Error;

pub const Pass = enum(u32) { forward = 0, image_gradient = 1, weight_gradient = 2 };

comptime {
    for (std.meta.fieldNames(Pass)) |name| {
        std.debug.assert(@backingInt(@field(Pass, name)) == @field(abi, "convolve_" ++ name));
    }
}

/// The three tensors of a convolution, whichever of them is computed.
pub const Problem = struct {
    image: View,
    weight: View,
    result: View,
    bias: ?View,
    windows: windows_of.Windows,
    groups: usize,

    pub fn groupInputs(problem: *const Problem) usize {
        return problem.weight.shape[1];
    }

    pub fn groupOutputs(problem: *const Problem) usize {
        return problem.weight.shape[0] / problem.groups;
    }

    /// The inner dimension of the matmul: inputs of a group times elements of the window.
    pub fn k(problem: *const Problem) usize {
        return strided.product(problem.weight.shape[1..4]);
    }

    pub fn resultPlane(problem: *const Problem) usize {
        return problem.result.shape[2] * problem.result.shape[3];
    }
};

/// The product of extents; null when it cannot be counted.
pub fn productOf(extents: []const usize) ?usize {
    var total: usize = 1;
    for (extents) |extent| total = std.math.mul(usize, total, extent) catch return null;
    return total;
}

/// Number of values that `denseWeights` copies.
pub fn weightsCopyLen(comptime T: type, problem: *const Problem) usize {
    const space = strided.Space(1).of(.{&problem.weight});
    return if (problem.weight.storage.is(T) and space.isDense(0)) 0 else problem.weight.len();
}

/// The weights as a matrix of adjacent rows (outputs, k): the weights themselves, or a copy in `buffer`.
pub fn denseWeights(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, buffer: [*]T) [*]const T {
    if (weightsCopyLen(T, problem) == 0) return @ptrFromInt(problem.weight.address);
    const space = strided.Space(1).of(.{&problem.weight});
    var walk = space.walk(0, 0);
    strided.readElements(T, table, &problem.weight, &walk, problem.weight.len(), buffer);
    return buffer;
}

/// Whether the image itself is the matrix of columns.
pub fn isPointwise(problem: *const Problem) bool {
    const windows = &problem.windows;
    return windows.rows.window == 1 and windows.columns.window == 1 and windows.rows.stride == 1 and windows.columns.stride == 1 and
        windows.rows.padding == 0 and windows.columns.padding == 0;
}
