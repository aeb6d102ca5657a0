//! Everything that is written once and compiled for several instruction sets.
//!
//! Every function here that touches vectors is `inline`: its code then belongs to the module that calls it, and each
//! `kernel_<instruction set>` is a module with target features of its own. That is how one library, built for the baseline CPU,
//! holds AVX2 and AVX-512 code that is entered only after CPUID was asked.

pub const numbers = @import("numbers.zig");
pub const micro_kernel = @import("micro_kernel.zig");
pub const block_loops = @import("block_loops.zig");
pub const combine = @import("combine.zig");
pub const dots = @import("dots.zig");
pub const pack = @import("pack.zig");
pub const small = @import("small.zig");
pub const narrow = @import("narrow.zig");
pub const table = @import("table.zig");
pub const target = @import("target.zig");
pub const vector_math = @import("vector_math.zig");
pub const activation = @import("activation.zig");
pub const storage = @import("storage.zig");
pub const stream_store = @import("stream_store.zig");
pub const elementary = @import("elementary.zig");
pub const best_kernel = @import("best_kernel.zig");
pub const column_kernel = @import("column_kernel.zig");
pub const elementwise_kernel = @import("elementwise_kernel.zig");
pub const moments_kernel = @import("moments_kernel.zig");
pub const reduce_kernel = @import("reduce_kernel.zig");
pub const row_kernel = @import("row_kernel.zig");
pub const wide_row = @import("wide_row.zig");
pub const row_gradient_kernel = @import("row_gradient_kernel.zig");
pub const scan_kernel = @import("scan_kernel.zig");
pub const sweep_kernel = @import("sweep_kernel.zig");
pub const panel_kernel = @import("panel_kernel.zig");
pub const tensor_table = @import("tensor_table.zig");
pub const turn_kernel = @import("turn_kernel.zig");
pub const correlation_kernel = @import("correlation_kernel.zig");
pub const pool_apart_kernel = @import("pool_apart_kernel.zig");
pub const pool_overlap_kernel = @import("pool_overlap_kernel.zig");
pub const window_kernel = @import("window_kernel.zig");
