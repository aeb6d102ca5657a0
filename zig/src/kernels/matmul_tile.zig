//! The kernel of the matmuls of which a block computes one tile: which tile it is, and of which matrices of a batch. Those of wgmma, whose
//! blocks stay for many tiles, are kernels of their own.

const device = @import("device.zig");
const Result = @import("epilogue.zig").Result;
const source = @import("source.zig");
const tile_order = @import("tile_order.zig");
const variant = @import("variant");

/// `Body` is the generator whose `run` computes a tile.
pub fn Kernel(comptime v: variant.Matmul, comptime Body: type) type {
    return struct {
        const Stored = v.operand.Stored();
        const Output = v.output.Stored();

        pub fn kernel(
            a: device.Input(Stored),
            b: device.Input(Stored),
            c: device.Output(Output),
            bias: device.Input(Output),
            m: u32,
            n: u32,
            k: u32,
            lda: u32,
            ldb: u32,
            ldc: u32,
            alpha: f64,
            beta: f64,
            stride_a: u64,
            stride_b: u64,
            stride_c: u64,
        ) callconv(device.convention) void {
            const batch: u64 = @workGroupId(1);
            const tile = tile_order.tileOf(v.strip, @workGroupId(0), (m - 1) / v.tile_m + 1, (n - 1) / v.tile_n + 1);
            const source_a: source.Matrix(Stored, !v.transpose_a) = .{ .start = a + batch * stride_a, .lead = lda, .outer_end = m, .k_end = k };
            const source_b: source.Matrix(Stored, v.transpose_b) = .{ .start = b + batch * stride_b, .lead = ldb, .outer_end = n, .k_end = k };
            const result: Result(v) = .init(c + batch * stride_c, bias, m, n, ldc, alpha, beta);
            Body.run(&source_a, &source_b, &result, tile.m * v.tile_m, tile.n * v.tile_n, k);
        }
    };
}
