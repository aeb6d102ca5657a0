//! Everything that is written once and compiled for several instruction sets.
//!
//! Every function here that touches vectors is `inline`: its code then belongs to the module that calls it, and each
//! `kernel_<instruction set>` is a module with target features of its own. That is how one library, built for the baseline CPU,
//! holds AVX2 and AVX-512 code that is entered only after CPUID was asked.

pub const operations = @import("operations.zig");
pub const numbers = @import("gemm/numbers.zig");
pub const micro_kernel = @import("gemm/micro_kernel.zig");
pub const block_loops = @import("gemm/block_loops.zig");
pub const combine = @import("gemm/combine.zig");
pub const dots = @import("gemm/dots.zig");
pub const pack = @import("gemm/pack.zig");
pub const small = @import("gemm/small.zig");
pub const narrow = @import("gemm/narrow.zig");
pub const table = @import("gemm/gemm_table.zig");
pub const linked_table = @import("simd/linked_table.zig");
pub const fma = @import("simd/fma.zig");
pub const pointers = @import("simd/pointers.zig");
pub const target = @import("simd/target.zig");
pub const vector_math = @import("simd/vector_math.zig");
pub const activation = @import("simd/activation.zig");
pub const storage = @import("simd/storage.zig");
pub const stream_store = @import("simd/stream_store.zig");
pub const elementary = @import("simd/elementary.zig");
pub const fetch = @import("simd/fetch.zig");
pub const power = @import("simd/power.zig");
pub const trigonometry = @import("simd/trigonometry.zig");
pub const best_kernel = @import("reduce/best_kernel.zig");
pub const column_kernel = @import("norm/column_kernel.zig");
pub const elementwise_kernel = @import("elementwise/elementwise_kernel.zig");
pub const moments_kernel = @import("reduce/moments_kernel.zig");
pub const reduce_kernel = @import("reduce/reduce_kernel.zig");
pub const row_kernel = @import("norm/row_kernel.zig");
pub const wide_row = @import("norm/wide_row.zig");
pub const row_gradient_kernel = @import("norm/row_gradient_kernel.zig");
pub const scan_kernel = @import("reduce/scan_kernel.zig");
pub const sweep_kernel = @import("conv/sweep_kernel.zig");
pub const panel_kernel = @import("conv/panel_kernel.zig");
pub const tensor_table = @import("tensor/tensor_table.zig");
pub const transpose_kernel = @import("movement/transpose_kernel.zig");
pub const correlation_kernel = @import("conv/correlation_kernel.zig");
pub const pool_nonoverlapping_kernel = @import("pool/pool_nonoverlapping_kernel.zig");
pub const pool_overlapping_kernel = @import("pool/pool_overlapping_kernel.zig");
pub const window_kernel = @import("conv/window_kernel.zig");
