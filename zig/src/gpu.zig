//! Kernels for GPUs: one generator per kind of kernel, instantiated for each variant of the module `variants`, which `tools/x/kernel_text.py` writes.
//!
//! Nothing here runs on the CPU; the package loads what comes out through the device's driver (python/amdgpu/gpu_kernels). Arguments
//! are validated there. Every kernel is total for the shapes that its description allows, edges that no tile divides included.

const variants = @import("variants");
const variant = @import("variant");
const attention = @import("kernels/attention.zig");
const attention_by_keys = @import("kernels/attention_by_keys.zig");
const attention_by_queries = @import("kernels/attention_by_queries.zig");
const convolution = @import("kernels/convolution.zig");
const convolution_wgmma = @import("kernels/convolution_wgmma.zig");
const matmul_double = @import("kernels/matmul_double.zig");
const matmul_mma = @import("kernels/matmul_mma.zig");
const matmul_simt = @import("kernels/matmul_simt.zig");
const matmul_tile = @import("kernels/matmul_tile.zig");
const matmul_wgmma_transposed = @import("kernels/matmul_wgmma_transposed.zig");
const matmul_wave = @import("kernels/matmul_wave.zig");
const matmul_wgmma = @import("kernels/matmul_wgmma.zig");
const pad = @import("kernels/pad.zig");
const split_k = @import("kernels/split_k.zig");
const transpose = @import("kernels/transpose.zig");
const gemv = @import("kernels/gemv.zig");

comptime {
    for (variants.matmul) |v| @export(&Matmul(v).kernel, .{ .name = v.name });
    for (variants.convolution) |v| @export(&Convolution(v).kernel, .{ .name = v.name });
    for (variants.transpose) |v| @export(&transpose.Kernel(v).kernel, .{ .name = v.name });
    for (variants.attention) |v| @export(&attention.Kernel(v, .result).kernel, .{ .name = v.name });
    for (variants.attention_masked) |v| @export(&attention.Kernel(v, .masked).kernel, .{ .name = v.name });
    for (variants.attention_levels) |v| @export(&attention.Kernel(v, .levels).kernel, .{ .name = v.name });
    for (variants.attention_by_queries) |v| @export(&attention_by_queries.Kernel(v).kernel, .{ .name = v.name });
    for (variants.attention_by_keys) |v| @export(&attention_by_keys.Kernel(v).kernel, .{ .name = v.name });
    for (variants.vector) |v| @export(&gemv.Kernel(v).kernel, .{ .name = v.name });
    for (variants.parts) |v| @export(&split_k.Kernel(v).kernel, .{ .name = v.name });
    for (variants.pad) |v| @export(&pad.Kernel(v).kernel, .{ .name = v.name });
}

fn Matmul(comptime v: variant.Matmul) type {
    return switch (v.unit) {
        .simt, .wave, .mma => matmul_tile.Kernel(v, Generator(v)),
        .wgmma => Generator(v),
    };
}

fn Convolution(comptime v: variant.Matmul) type {
    return switch (v.unit) {
        .simt, .wave, .mma => convolution.Kernel(v, Generator(v)),
        .wgmma => convolution_wgmma.Kernel(v),
    };
}

fn Generator(comptime v: variant.Matmul) type {
    return switch (v.unit) {
        .simt => matmul_simt.Generator(v),
        .mma => if (v.operand == .f64) matmul_double.Generator(v) else matmul_mma.Generator(v),
        .wave => matmul_wave.Generator(v),
        // wgmma itself reads numbers that are not 16 bits wide in rows of k only.
        .wgmma => if (v.operand == .tf32 and !v.transpose_b) matmul_wgmma_transposed.Kernel(v) else matmul_wgmma.Kernel(v),
    };
}
