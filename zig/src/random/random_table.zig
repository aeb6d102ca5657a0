//! The routines of random numbers that are compiled once per instruction set.

const philox = @import("philox.zig");
const draw_kernel = @import("draw_kernel.zig");
const rejection_kernel = @import("rejection_kernel.zig");
const grouped_normal_kernel = @import("grouped_normal_kernel.zig");

pub const Table = struct {
    words: *const fn (*const philox.Words) void,
    float32: *const fn (*const draw_kernel.Floats(f32)) void,
    float64: *const fn (*const draw_kernel.Floats(f64)) void,
    integers8: *const fn (*const draw_kernel.Integers(u8)) void,
    integers16: *const fn (*const draw_kernel.Integers(u16)) void,
    integers32: *const fn (*const draw_kernel.Integers(u32)) void,
    integers64: *const fn (*const draw_kernel.Integers(u64)) void,
    below: *const fn (*const draw_kernel.Below) void,
    dropout32: *const fn (*const draw_kernel.Dropout(f32)) void,
    dropout64: *const fn (*const draw_kernel.Dropout(f64)) void,
    rejection: *const fn (*const rejection_kernel.Job) void,
    grouped_normals32: *const fn (*const grouped_normal_kernel.Job(f32)) void,
    grouped_normals64: *const fn (*const grouped_normal_kernel.Job(f64)) void,

    pub fn floats(table: *const Table, comptime T: type) *const fn (*const draw_kernel.Floats(T)) void {
        return if (T == f32) table.float32 else table.float64;
    }

    pub fn dropout(table: *const Table, comptime T: type) *const fn (*const draw_kernel.Dropout(T)) void {
        return if (T == f32) table.dropout32 else table.dropout64;
    }

    pub fn groupedNormals(table: *const Table, comptime T: type) *const fn (*const grouped_normal_kernel.Job(T)) void {
        return if (T == f32) table.grouped_normals32 else table.grouped_normals64;
    }

    pub fn integers(table: *const Table, comptime T: type) *const fn (*const draw_kernel.Integers(T)) void {
        return switch (T) {
            u8 => table.integers8,
            u16 => table.integers16,
            u32 => table.integers32,
            u64 => table.integers64,
            else => @compileError("no routine draws " ++ @typeName(T)),
        };
    }
};
