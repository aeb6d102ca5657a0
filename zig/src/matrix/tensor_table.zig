//! The routines of the tensor operations that are compiled once per instruction set and type that is computed in.

const best_kernel = @import("best_kernel.zig");
const column_kernel = @import("column_kernel.zig");
const correlation_kernel = @import("correlation_kernel.zig");
const elementwise_kernel = @import("elementwise_kernel.zig");
const moments_kernel = @import("moments_kernel.zig");
const panel_kernel = @import("panel_kernel.zig");
const pool_apart_kernel = @import("pool_apart_kernel.zig");
const pool_overlap_kernel = @import("pool_overlap_kernel.zig");
const reduce_kernel = @import("reduce_kernel.zig");
const row_gradient_kernel = @import("row_gradient_kernel.zig");
const row_kernel = @import("row_kernel.zig");
const scan_kernel = @import("scan_kernel.zig");
const storage = @import("storage.zig");
const sweep_kernel = @import("sweep_kernel.zig");
const turn_kernel = @import("turn_kernel.zig");
const window_kernel = @import("window_kernel.zig");

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
        turn: if (is_float) *const fn (*const turn_kernel.Turn(T)) void else void,
        turn_block: if (is_float) *const fn (*const turn_kernel.Block(T)) void else void,
        /// Running sums and products of rows, and of lines that are adjacent in memory.
        scan_rows: if (is_scanned) *const fn (*const scan_kernel.Rows(T)) void else void,
        scan_lines: if (is_scanned) *const fn (*const scan_kernel.Lines(T)) void else void,
        /// The few best of a line.
        best: *const fn (*const best_kernel.Tile(T)) void,
        window: if (is_float) *const fn (*const window_kernel.Window(T)) void else void,
        window_back: if (is_float) *const fn (*const window_kernel.WindowBack(T)) void else void,
        correlation: if (is_float) *const fn (*const correlation_kernel.Correlation(T)) void else void,
        pool_apart: if (is_float) *const fn (*const pool_apart_kernel.Apart(T)) void else void,
        pool_overlap: if (is_float) *const fn (*const pool_overlap_kernel.Step(T)) void else void,
    };
}
