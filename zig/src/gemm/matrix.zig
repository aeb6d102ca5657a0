//! Reads a tensor of the ABI into checked, typed form. All messages name the argument.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");

pub const Element = enum { f32, f64, f16, bf16, i8, i32 };

/// A matrix whose numbers were checked: non-negative shape, host memory, known element, aligned.
pub const Matrix = struct {
    name: []const u8,
    element: Element,
    address: usize,
    shape: [2]usize,
    strides: [2]isize,

    pub fn elementBytes(matrix: Matrix) usize {
        return switch (matrix.element) {
            .i8 => 1,
            .f16, .bf16 => 2,
            .f32, .i32 => 4,
            .f64 => 8,
        };
    }

    pub fn isEmpty(matrix: Matrix) bool {
        return matrix.shape[0] == 0 or matrix.shape[1] == 0;
    }

    pub fn ptr(matrix: Matrix, comptime T: type) [*]T {
        // Empty tensors may have no memory at all; nothing is read or written then.
        return if (matrix.address == 0) @ptrFromInt(@alignOf(T)) else @ptrFromInt(matrix.address);
    }
};

pub const Refusal = error{Refused};

fn refuse(code: abi.Status, comptime format: []const u8, args: anytype) Refusal {
    _ = status.fail(code, format, args);
    return error.Refused;
}

/// The code left behind by `refuse`.
pub fn refusalCode() abi.Status {
    return status.lastCode();
}

pub fn readMatrix(name: []const u8, tensor: ?*const abi.Tensor) Refusal!Matrix {
    return readRank(name, tensor, 2);
}

/// A vector is read as a matrix of one row.
pub fn readVector(name: []const u8, tensor: ?*const abi.Tensor) Refusal!Matrix {
    return readRank(name, tensor, 1);
}

fn readRank(name: []const u8, maybe_tensor: ?*const abi.Tensor, comptime rank: usize) Refusal!Matrix {
    const tensor = maybe_tensor orelse return refuse(abi.errors.invalid_argument, "{s} is null", .{name});
    if (tensor.device.device_type != abi.device_cpu) {
        return refuse(abi.errors.wrong_device, "{s} is on device type {d}; this library computes in host memory (type {d})", .{
            name, tensor.device.device_type, abi.device_cpu,
        });
    }
    if (tensor.ndim != rank) {
        return refuse(abi.errors.shape_mismatch, "{s} has {d} dimensions; {d} are expected", .{ name, tensor.ndim, rank });
    }
    const element = try readElement(name, tensor.dtype);
    const shape = tensor.shape orelse return refuse(abi.errors.invalid_argument, "the shape of {s} is null", .{name});
    var matrix: Matrix = .{ .name = name, .element = element, .address = 0, .shape = .{ 1, 1 }, .strides = .{ 0, 0 } };
    for (0..rank) |axis| {
        if (shape[axis] < 0) {
            return refuse(abi.errors.invalid_argument, "dimension {d} of {s} is negative: {d}", .{ axis, name, shape[axis] });
        }
        matrix.shape[2 - rank + axis] = @intCast(shape[axis]);
    }
    if (tensor.strides) |strides| {
        for (0..rank) |axis| matrix.strides[2 - rank + axis] = @intCast(strides[axis]);
    } else {
        matrix.strides = .{ @intCast(matrix.shape[1]), 1 };
    }
    if (matrix.isEmpty()) return matrix;
    try readAddress(&matrix, tensor);
    return matrix;
}

fn readElement(name: []const u8, dtype: abi.Dtype) Refusal!Element {
    const known = [_]struct { code: u8, bits: u8, element: Element }{
        .{ .code = abi.dtype_float, .bits = 32, .element = .f32 },
        .{ .code = abi.dtype_float, .bits = 64, .element = .f64 },
        .{ .code = abi.dtype_float, .bits = 16, .element = .f16 },
        .{ .code = abi.dtype_bfloat, .bits = 16, .element = .bf16 },
        .{ .code = abi.dtype_int, .bits = 8, .element = .i8 },
        .{ .code = abi.dtype_int, .bits = 32, .element = .i32 },
    };
    for (known) |one| {
        if (dtype.lanes == 1 and dtype.code == one.code and dtype.bits == one.bits) return one.element;
    }
    return refuse(
        abi.errors.unsupported_dtype,
        "{s} has dtype code {d}, {d} bits, {d} lanes; float32, float64, float16, bfloat16, int8 and int32 are known",
        .{ name, dtype.code, dtype.bits, dtype.lanes },
    );
}

fn readAddress(matrix: *Matrix, tensor: *const abi.Tensor) Refusal!void {
    const data = tensor.data orelse return refuse(abi.errors.invalid_argument, "the data of {s} is null", .{matrix.name});
    const element_bytes = matrix.elementBytes();
    matrix.address = @intFromPtr(data) +% @as(usize, @intCast(tensor.byte_offset));
    if (matrix.address % element_bytes != 0) {
        return refuse(abi.errors.invalid_argument, "the memory of {s} is not aligned to its {d}-byte elements; pass a copy of it", .{
            matrix.name, element_bytes,
        });
    }
    // Offsets of elements must fit the address arithmetic of the kernels.
    var reach: u128 = 0;
    for (matrix.shape, matrix.strides) |len, stride| reach += @as(u128, len - 1) * @abs(stride) * element_bytes;
    if (reach > std.math.maxInt(isize)) {
        return refuse(abi.errors.invalid_argument, "the strides of {s} reach past the address space", .{matrix.name});
    }
}

pub fn requireSameElement(first: Matrix, second: Matrix) Refusal!void {
    if (first.element != second.element) {
        return refuse(abi.errors.unsupported_dtype, "{s} is {t} and {s} is {t}; both must be the same", .{
            first.name, first.element, second.name, second.element,
        });
    }
}
