//! The routines of the tensor operations that are compiled once per instruction set and type that is computed in.

const best_kernel = @import("../reduce/best_kernel.zig");
const column_kernel = @import("../norm/column_kernel.zig");
const correlation_kernel = @import("../conv/correlation_kernel.zig");
const elementwise_kernel = @import("../elementwise/elementwise_kernel.zig");
const moments_kernel = @import("../reduce/moments_kernel.zig");
const panel_kernel = @import("../conv/panel_kernel.zig");
const pool_nonoverlapping_kernel = @import("../pool/pool_nonoverlapping_kernel.zig");
const pool_overlapping_kernel = @import("../pool/pool_overlapping_kernel.zig");
const reduce_kernel = @import("../reduce/reduce_kernel.zig");
const row_gradient_kernel = @import("../norm/row_gradient_kernel.zig");
const row_kernel = @import("../norm/row_kernel.zig");
const scan_kernel = @import("../reduce/scan_kernel.zig");
const storage = @import("../simd/storage.zig");
const sweep_kernel = @import("../conv/sweep_kernel.zig");
const transpose_kernel = @import("../movement/transpose_kernel.zig");
const window_kernel = @import("../conv/window_kernel.zig");

/// The types that tensor operations are computed in.
pub const computed = [_]type{ f32, f64, i32, i64, u64 };

pub fn Table(comptime T: type) type {
    const is_float = !storage.isInteger(T);
    const is_scanned = storage.isScanned(T);
    return struct {
        /// Elements of a vector.
        lanes: usize,
        load: *const fn (*const storage.Load(T)) void,
        store: *const fn (*const storage.Store(T)) void,
        /// Copies bytes past the caches.
        stream: *const fn ([*]u8, [*]const u8, usize) void,
        elementwise: *const fn (*const elementwise_kernel.Run(T)) void,
        fold_run: *const fn (*const reduce_kernel.Run(T)) T,
        fold_rows: *const fn (*const reduce_kernel.Rows(T)) void,
        moments: if (is_float) *const fn (*const moments_kernel.Run(T)) moments_kernel.Moments else void,
        moments_rows: if (is_float) *const fn (*const moments_kernel.Rows(T)) void else void,
        join_moments: if (is_float) *const fn (*const moments_kernel.Joint(T)) void else void,
        search: *const fn (*const reduce_kernel.Search(T)) void,
        search_rows: *const fn (*const reduce_kernel.SearchRows(T)) void,
        row: if (is_float) *const fn (*const row_kernel.Rows(T)) void else void,
        columns: if (is_float) *const fn (*const column_kernel.Columns(T)) void else void,
        row_gradient: if (is_float) *const fn (*const row_gradient_kernel.Row(T)) void else void,
        /// The register tile of `sweep`.
        sweep_height: usize,
        sweep_columns: usize,
        sweep_vectors: usize,
        sweep: if (is_float) *const fn (*const sweep_kernel.Sweep(T)) void else void,
        panels: if (is_float) *const fn (*const panel_kernel.Panels(T)) void else void,
        transpose: if (is_float) *const fn (*const transpose_kernel.Transpose(T)) void else void,
        transpose_block: if (is_float) *const fn (*const transpose_kernel.Block(T)) void else void,
        /// Prefix sums and products of rows, and of lines that are adjacent in memory.
        scan_rows: if (is_scanned) *const fn (*const scan_kernel.Rows(T)) void else void,
        scan_lines: if (is_scanned) *const fn (*const scan_kernel.Lines(T)) void else void,
        /// The few best of a line.
        best: *const fn (*const best_kernel.Tile(T)) void,
        window: if (is_float) *const fn (*const window_kernel.Window(T)) void else void,
        window_back: if (is_float) *const fn (*const window_kernel.WindowBack(T)) void else void,
        correlation: if (is_float) *const fn (*const correlation_kernel.Correlation(T)) void else void,
        pool_nonoverlapping: if (is_float) *const fn (*const pool_nonoverlapping_kernel.Nonoverlapping(T)) void else void,
        pool_overlapping: if (is_float) *const fn (*const pool_overlapping_kernel.Step(T)) void else void,
    };
}
