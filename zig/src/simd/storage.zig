//! How elements are stored in memory, and how they are converted to the type that is computed in and back.
//!
//! float16 and bfloat16 are computed in float32, small integers in 32 bits, uint32 in 64; results are rounded once (nearest, ties to even) or cut to the
//! low bits when they are stored.

const numbers = @import("../gemm/numbers.zig");

/// In the order in which tensor operations list them; dtypes of agpu.h that are missing here are refused above.
pub const Storage = enum(u8) {
    bool,
    u8,
    u16,
    u32,
    u64,
    i8,
    i16,
    i32,
    i64,
    f16,
    bf16,
    f32,
    f64,

    pub fn bytes(storage: Storage) usize {
        return switch (storage) {
            .bool, .u8, .i8 => 1,
            .u16, .i16, .f16, .bf16 => 2,
            .u32, .i32, .f32 => 4,
            .u64, .i64, .f64 => 8,
        };
    }

    /// The type of the bits in memory.
    pub fn Raw(comptime storage: Storage) type {
        return switch (storage) {
            .bool, .u8 => u8,
            .u16 => u16,
            .u32 => u32,
            .u64 => u64,
            .i8 => i8,
            .i16 => i16,
            .i32 => i32,
            .i64 => i64,
            .f16 => f16,
            .bf16 => u16,
            .f32 => f32,
            .f64 => f64,
        };
    }

    fn isInteger(storage: Storage) bool {
        return switch (storage) {
            .bool, .u8, .u16, .u32, .u64, .i8, .i16, .i32, .i64 => true,
            .f16, .bf16, .f32, .f64 => false,
        };
    }

    fn isUnsigned(storage: Storage) bool {
        return switch (storage) {
            .bool, .u8, .u16, .u32, .u64 => true,
            else => false,
        };
    }

    /// Whether elements are stored in the type that is computed in.
    pub fn is(storage: Storage, comptime T: type) bool {
        return storage == of(T);
    }

    pub fn of(comptime T: type) Storage {
        return switch (T) {
            f32 => .f32,
            f64 => .f64,
            i32 => .i32,
            i64 => .i64,
            u64 => .u64,
            else => @compileError("not a type to compute in"),
        };
    }
};

pub fn isInteger(comptime T: type) bool {
    return T == i32 or T == i64 or T == u64;
}

/// Whether prefix sums are computed in T.
pub fn isScanned(comptime T: type) bool {
    return T != i32;
}

/// Whether every value of `storage` may be computed in T.
fn reads(comptime T: type, comptime storage: Storage) bool {
    if (T == u64) return storage.isUnsigned();
    if (isInteger(T)) return storage.isInteger() and (storage.bytes() < @sizeOf(T) or (storage.bytes() == @sizeOf(T) and !storage.isUnsigned()));
    return T == f64 or storage != .f64;
}

/// Whether results in T may go to `storage`.
fn writes(comptime T: type, comptime storage: Storage) bool {
    if (storage == .bool) return true;
    if (T == u64) return storage == .u64;
    if (isInteger(T)) return storage.isInteger() and storage != .u64;
    return !storage.isInteger();
}

/// A job that loads `len` elements that are `step` elements apart.
pub fn Load(comptime T: type) type {
    return struct { storage: Storage, address: usize, step: isize, len: usize, target: [*]T };
}

pub fn Store(comptime T: type) type {
    return struct { storage: Storage, address: usize, step: isize, len: usize, source: [*]const T };
}

pub inline fn load(comptime T: type, comptime lanes: comptime_int, job: *const Load(T)) void {
    switch (job.storage) {
        inline else => |storage| if (comptime reads(T, storage)) loadFrom(T, lanes, storage, job) else unreachable,
    }
}

inline fn loadFrom(comptime T: type, comptime lanes: comptime_int, comptime storage: Storage, job: *const Load(T)) void {
    const Raw = storage.Raw();
    if (job.step == 1) {
        const source: [*]const Raw = @ptrFromInt(job.address);
        var i: usize = 0;
        while (i + lanes <= job.len) : (i += lanes) {
            job.target[i..][0..lanes].* = widen(T, storage, lanes, source[i..][0..lanes].*);
        }
        while (i < job.len) : (i += 1) job.target[i] = widen(T, storage, 1, .{source[i]})[0];
        return;
    }
    const step_bytes: usize = @bitCast(job.step * @sizeOf(Raw));
    var address = job.address;
    for (job.target[0..job.len]) |*value| {
        const source: *const Raw = @ptrFromInt(address);
        value.* = widen(T, storage, 1, .{source.*})[0];
        address +%= step_bytes;
    }
}

inline fn widen(
    comptime T: type,
    comptime storage: Storage,
    comptime len: comptime_int,
    values: @Vector(len, storage.Raw()),
) @Vector(len, T) {
    return switch (storage) {
        .bf16 => @as(@Vector(len, f32), @bitCast(@as(@Vector(len, u32), values) << @splat(16))),
        .f16, .f32, .f64 => @floatCast(values),
        else => if (comptime isInteger(T)) @intCast(values) else @floatFromInt(values),
    };
}

pub inline fn store(comptime T: type, comptime lanes: comptime_int, job: *const Store(T)) void {
    switch (job.storage) {
        inline else => |storage| if (comptime writes(T, storage)) storeTo(T, lanes, storage, job) else unreachable,
    }
}

inline fn storeTo(comptime T: type, comptime lanes: comptime_int, comptime storage: Storage, job: *const Store(T)) void {
    const Raw = storage.Raw();
    if (job.step == 1) {
        const target: [*]Raw = @ptrFromInt(job.address);
        var i: usize = 0;
        while (i + lanes <= job.len) : (i += lanes) {
            target[i..][0..lanes].* = narrow(T, storage, lanes, job.source[i..][0..lanes].*);
        }
        while (i < job.len) : (i += 1) target[i] = narrow(T, storage, 1, .{job.source[i]})[0];
        return;
    }
    const step_bytes: usize = @bitCast(job.step * @sizeOf(Raw));
    var address = job.address;
    for (job.source[0..job.len]) |value| {
        const target: *Raw = @ptrFromInt(address);
        target.* = narrow(T, storage, 1, .{value})[0];
        address +%= step_bytes;
    }
}

inline fn narrow(
    comptime T: type,
    comptime storage: Storage,
    comptime len: comptime_int,
    values: @Vector(len, T),
) @Vector(len, storage.Raw()) {
    return switch (storage) {
        .bool => @intFromBool(values != @as(@Vector(len, T), @splat(0))),
        .bf16 => numbers.convert(comptime numbers.dotted(.f32_as_bf16), .a, len, @floatCast(values)),
        // Processors have no instruction from float64 to float16.
        .f16 => @floatCast(@as(@Vector(len, f32), @floatCast(values))),
        .f32, .f64 => @floatCast(values),
        .u8 => @bitCast(@as(@Vector(len, i8), @truncate(values))),
        .u16 => @bitCast(@as(@Vector(len, i16), @truncate(values))),
        .u32 => @bitCast(@as(@Vector(len, i32), if (T == i32) values else @truncate(values))),
        else => if (comptime storage.bytes() < @sizeOf(T)) @truncate(values) else values,
    };
}
