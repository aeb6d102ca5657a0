//! Multiplication and multiply-add of vectors and scalars, with the instructions that an instruction set has for them.

/// What the instruction set multiplies and adds with.
pub const Arithmetic = enum {
    /// Uses two instructions, because an emulated fused operation would take a call.
    separate,
    fused,
    /// Like `fused`, with dot products of pairs of bfloat16 and of quadruples of bytes (AVX512_BF16, AVX512_VNNI).
    dotted,
};

pub inline fn multiply(comptime V: type, a: V, b: V) V {
    return if (comptime isFloat(V)) a * b else a *% b;
}

/// Returns a * b + c; integers wrap.
pub inline fn multiplyAdd(comptime arithmetic: Arithmetic, comptime V: type, a: V, b: V, c: V) V {
    if (comptime !isFloat(V)) return a *% b +% c;
    return if (arithmetic == .separate) a * b + c else @mulAdd(V, a, b, c);
}

pub fn isFloat(comptime V: type) bool {
    return switch (@typeInfo(V)) {
        .vector => |vector| @typeInfo(vector.child) == .float,
        else => @typeInfo(V) == .float,
    };
}
