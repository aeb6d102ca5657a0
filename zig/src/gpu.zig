//! Kernels for GPUs: one generator per kind of kernel, instantiated for each variant of the module `variants`, which `zig/kernels.py` writes.
//!
//! Nothing here runs on the CPU; the package loads what comes out through the device's driver (python/amdgpu/kernel_archive.py). Arguments
//! are validated there. Every kernel is total for the shapes that its description allows, edges that no tile divides included.

const variants = @import("variants");
const matmul_simt = @import("kernels/matmul_simt.zig");
const matmul_wgmma = @import("kernels/matmul_wgmma.zig");

comptime {
    for (variants.matmul) |v| {
        const Kernel = switch (v.unit) {
            .simt => matmul_simt.Kernel(v),
            .wgmma => matmul_wgmma.Kernel(v),
            else => @compileError("no generator"),
        };
        @export(&Kernel.kernel, .{ .name = v.name });
    }
}
