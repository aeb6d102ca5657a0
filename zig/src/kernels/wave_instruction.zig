//! The matrix instructions of AMD's architectures as one description: how operands and results are spread over a wave.
//!
//! Sources: ISA guides of CDNA 2 to 4 ("Matrix Arithmetic Instructions"), RDNA 3 and RDNA 4 ("Wave Matrix Multiply Accumulate"); AMD's matrix
//! instruction calculator for the accumulators. Both operands are given k in the same order, so only which row or column a lane holds
//! matters, not which k.

const builtin = @import("builtin");
const variant = @import("variant");

pub const Generation = enum { cdna2, cdna3, cdna4, rdna3, rdna4 };

pub const generation: Generation = blk: {
    const name = builtin.cpu.model.name;
    if (equal(name, "gfx90a")) break :blk .cdna2;
    if (equal(name, "gfx942")) break :blk .cdna3;
    if (equal(name, "gfx950")) break :blk .cdna4;
    if (name.len == 7 and equal(name[0..5], "gfx11")) break :blk .rdna3;
    if (name.len == 7 and equal(name[0..5], "gfx12")) break :blk .rdna4;
    @compileError("no matrix instructions on " ++ name);
};

fn equal(a: []const u8, b: []const u8) bool {
    if (a.len != b.len) return false;
    for (a, b) |x, y| if (x != y) return false;
    return true;
}

pub const wave_size = switch (generation) {
    .cdna2, .cdna3, .cdna4 => 64,
    .rdna3, .rdna4 => 32,
};

pub fn Instruction(comptime number: variant.Number) type {
    return struct {
        const is_rdna = wave_size == 32;
        /// Rows and columns of the result.
        pub const side = if (is_rdna or number == .f64) 16 else 32;
        /// Numbers of an operand that a lane gives to one instruction.
        pub const per_lane = switch (generation) {
            .rdna3 => 16,
            .rdna4 => 8,
            .cdna2, .cdna3, .cdna4 => switch (number) {
                .f64, .f32 => 1,
                .f16, .bf16 => if (generation == .cdna4) 8 else 4,
                .i8 => switch (generation) {
                    .cdna2 => 4,
                    .cdna3 => 8,
                    else => 16,
                },
                else => @compileError("no such instruction"),
            },
        };
        /// Groups of lanes that hold different k; RDNA 3 wants the same in both halves of a wave.
        pub const k_groups = if (generation == .rdna3) 1 else wave_size / side;
        pub const k = per_lane * k_groups;
        pub const per_result = side * side / wave_size;

        pub const Operand = @Vector(per_lane, number.Stored());
        pub const Accumulators = @Vector(per_result, number.Sum());

        /// The row of the i-th sum of a lane; its column is lane % side.
        pub inline fn rowOf(comptime i: u32, lane: u32) u32 {
            if (generation == .rdna3) return 2 * i + lane / 16;
            if (generation == .rdna4) return lane / 16 * 8 + i;
            if (number == .f64) return 4 * i + lane / 16;
            return i / 4 * 8 + lane / 32 * 4 + i % 4;
        }

        pub inline fn multiply(a: Operand, b: Operand, c: Accumulators) Accumulators {
            return switch (generation) {
                .rdna3 => switch (number) {
                    .f16 => @"llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16"(a, b, c),
                    .bf16 => @"llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16"(@bitCast(a), @bitCast(b), c),
                    .i8 => @"llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32"(true, @bitCast(a), true, @bitCast(b), c, false),
                    else => comptime unreachable,
                },
                .rdna4 => switch (number) {
                    .f16 => @"llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16"(a, b, c),
                    .bf16 => @"llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v8i16"(@bitCast(a), @bitCast(b), c),
                    .i8 => @"llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v2i32"(true, @bitCast(a), true, @bitCast(b), c, false),
                    else => comptime unreachable,
                },
                .cdna2, .cdna3, .cdna4 => switch (number) {
                    .f64 => @"llvm.amdgcn.mfma.f64.16x16x4f64"(a[0], b[0], c, 0, 0, 0),
                    .f32 => @"llvm.amdgcn.mfma.f32.32x32x2f32"(a[0], b[0], c, 0, 0, 0),
                    .f16 => if (generation == .cdna4)
                        @"llvm.amdgcn.mfma.f32.32x32x16.f16"(a, b, c, 0, 0, 0)
                    else
                        @"llvm.amdgcn.mfma.f32.32x32x8f16"(a, b, c, 0, 0, 0),
                    .bf16 => if (generation == .cdna4)
                        agpu_mfma_bf16(@bitCast(a), @bitCast(b), c)
                    else
                        @"llvm.amdgcn.mfma.f32.32x32x8bf16.1k"(@bitCast(a), @bitCast(b), c, 0, 0, 0),
                    .i8 => switch (generation) {
                        .cdna2 => @"llvm.amdgcn.mfma.i32.32x32x8i8"(@bitCast(a), @bitCast(b), c, 0, 0, 0),
                        .cdna3 => @"llvm.amdgcn.mfma.i32.32x32x16.i8"(@bitCast(a), @bitCast(b), c, 0, 0, 0),
                        else => @"llvm.amdgcn.mfma.i32.32x32x32.i8"(@bitCast(a), @bitCast(b), c, 0, 0, 0),
                    },
                    else => comptime unreachable,
                },
            };
        }
    };
}

extern fn @"llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16"(a: @Vector(16, f16), b: @Vector(16, f16), c: @Vector(8, f32)) @Vector(8, f32);
extern fn @"llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v16i16"(a: @Vector(16, i16), b: @Vector(16, i16), c: @Vector(8, f32)) @Vector(8, f32);
extern fn @"llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32"(is_a_signed: bool, a: @Vector(4, i32), is_b_signed: bool, b: @Vector(4, i32), c: @Vector(8, i32), clamp: bool) @Vector(8, i32);
extern fn @"llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16"(a: @Vector(8, f16), b: @Vector(8, f16), c: @Vector(8, f32)) @Vector(8, f32);
extern fn @"llvm.amdgcn.wmma.f32.16x16x16.bf16.v8f32.v8i16"(a: @Vector(8, i16), b: @Vector(8, i16), c: @Vector(8, f32)) @Vector(8, f32);
extern fn @"llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v2i32"(is_a_signed: bool, a: @Vector(2, i32), is_b_signed: bool, b: @Vector(2, i32), c: @Vector(8, i32), clamp: bool) @Vector(8, i32);
extern fn @"llvm.amdgcn.mfma.f64.16x16x4f64"(a: f64, b: f64, c: @Vector(4, f64), cbsz: u32, abid: u32, blgp: u32) @Vector(4, f64);
extern fn @"llvm.amdgcn.mfma.f32.32x32x2f32"(a: f32, b: f32, c: @Vector(16, f32), cbsz: u32, abid: u32, blgp: u32) @Vector(16, f32);
extern fn @"llvm.amdgcn.mfma.f32.32x32x8f16"(a: @Vector(4, f16), b: @Vector(4, f16), c: @Vector(16, f32), cbsz: u32, abid: u32, blgp: u32) @Vector(16, f32);
extern fn @"llvm.amdgcn.mfma.f32.32x32x16.f16"(a: @Vector(8, f16), b: @Vector(8, f16), c: @Vector(16, f32), cbsz: u32, abid: u32, blgp: u32) @Vector(16, f32);
extern fn @"llvm.amdgcn.mfma.f32.32x32x8bf16.1k"(a: @Vector(4, i16), b: @Vector(4, i16), c: @Vector(16, f32), cbsz: u32, abid: u32, blgp: u32) @Vector(16, f32);
extern fn @"llvm.amdgcn.mfma.i32.32x32x8i8"(a: i32, b: i32, c: @Vector(16, i32), cbsz: u32, abid: u32, blgp: u32) @Vector(16, i32);
extern fn @"llvm.amdgcn.mfma.i32.32x32x16.i8"(a: i64, b: i64, c: @Vector(16, i32), cbsz: u32, abid: u32, blgp: u32) @Vector(16, i32);
extern fn @"llvm.amdgcn.mfma.i32.32x32x32.i8"(a: @Vector(4, i32), b: @Vector(4, i32), c: @Vector(16, i32), cbsz: u32, abid: u32, blgp: u32) @Vector(16, i32);
/// v_mfma_f32_32x32x16_bf16. Its intrinsic takes bfloat, for which Zig has no type: tools/x/kernels.py puts the call in LLVM's text.
extern fn agpu_mfma_bf16(a: @Vector(8, i16), b: @Vector(8, i16), c: @Vector(16, f32)) @Vector(16, f32);
