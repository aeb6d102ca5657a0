//! The routines of tensor operations for one instruction set: the objects tensor_<instruction set> are made of this file, each
//! compiled with target features of its own (zig/compile.py) and entered only on a CPU that has them (cpu.zig).

const builtin = @import("builtin");
const generic = @import("generic");

const target = generic.target.of(builtin.cpu);

comptime {
    for (generic.tensor_table.computed) |T| generic.linked_table.publish(&Kernel(T).routines, "tensor", target.name, @typeName(T));
}

fn Kernel(comptime T: type) type {
    const is_float = !generic.storage.isInteger(T);
    const is_scanned = generic.storage.isScanned(T);
    return struct {
        const lanes = target.vector_bytes / @sizeOf(T);
        const sweep_shape: generic.sweep_kernel.Shape = .{ .lanes = lanes, .vectors = 2, .columns = target.sweep_columns };

        pub const routines: generic.tensor_table.Table(T) = .{
            .lanes = lanes,
            .load = load,
            .store = store,
            .stream = stream,
            .elementwise = elementwise,
            .row = if (is_float) row else {},
            .columns = if (is_float) normalizeColumns else {},
            .row_gradient = if (is_float) rowGradient else {},
            .fold_run = foldRun,
            .fold_rows = foldRows,
            .moments = if (is_float) moments else {},
            .moments_rows = if (is_float) momentsRows else {},
            .join_moments = if (is_float) joinMoments else {},
            .search = search,
            .search_rows = searchRows,
            .sweep_height = sweep_shape.height(),
            .sweep_columns = sweep_shape.columns,
            .sweep_vectors = sweep_shape.vectors,
            .sweep = if (is_float) sweep else {},
            .panels = if (is_float) panels else {},
            .transpose = if (is_float) transpose else {},
            .transpose_block = if (is_float) transposeBlock else {},
            .scan_rows = if (is_scanned) scanRows else {},
            .scan_lines = if (is_scanned) scanLines else {},
            .best = best,
            .window = if (is_float) window else {},
            .window_back = if (is_float) windowBack else {},
            .correlation = if (is_float) correlation else {},
            .pool_nonoverlapping = if (is_float) poolNonoverlapping else {},
            .pool_overlapping = if (is_float) poolOverlapping else {},
        };

        fn load(job: *const generic.storage.Load(T)) void {
            generic.storage.load(T, lanes, job);
        }

        fn store(job: *const generic.storage.Store(T)) void {
            generic.storage.store(T, lanes, job);
        }

        fn stream(to: [*]u8, from: [*]const u8, bytes: usize) void {
            generic.stream_store.copy(target.vector_bytes, to, from, bytes);
        }

        fn elementwise(run: *const generic.elementwise_kernel.Run(T)) void {
            generic.elementwise_kernel.apply(T, lanes, run);
        }

        fn row(job: *const generic.row_kernel.Rows(T)) void {
            generic.row_kernel.apply(T, lanes, target.arithmetic, job);
        }

        fn normalizeColumns(job: *const generic.column_kernel.Columns(T)) void {
            generic.column_kernel.apply(T, lanes, target.arithmetic, job);
        }

        fn rowGradient(job: *const generic.row_gradient_kernel.Row(T)) void {
            generic.row_gradient_kernel.apply(T, lanes, job);
        }

        fn foldRun(run: *const generic.reduce_kernel.Run(T)) T {
            return generic.reduce_kernel.foldRun(T, lanes, run);
        }

        fn foldRows(job: *const generic.reduce_kernel.Rows(T)) void {
            generic.reduce_kernel.foldRows(T, lanes, job);
        }

        fn moments(run: *const generic.moments_kernel.Run(T)) generic.moments_kernel.Moments {
            return generic.moments_kernel.ofRun(T, lanes, target.arithmetic, run);
        }

        fn momentsRows(job: *const generic.moments_kernel.Rows(T)) void {
            generic.moments_kernel.ofRows(T, lanes, target.arithmetic, job);
        }

        fn joinMoments(job: *const generic.moments_kernel.Joint(T)) void {
            generic.moments_kernel.join(T, lanes, target.arithmetic, job);
        }

        fn searchRows(job: *const generic.reduce_kernel.SearchRows(T)) void {
            generic.reduce_kernel.searchRows(T, lanes, job);
        }

        fn search(job: *const generic.reduce_kernel.Search(T)) void {
            generic.reduce_kernel.search(T, lanes, job);
        }

        fn sweep(job: *const generic.sweep_kernel.Sweep(T)) void {
            generic.sweep_kernel.run(T, sweep_shape, @This(), job);
        }

        pub noinline fn sweepTile(
            comptime adjacent: generic.sweep_kernel.Adjacent,
            comptime vectors: comptime_int,
            comptime columns: comptime_int,
            job: *const generic.sweep_kernel.Sweep(T),
        ) void {
            generic.sweep_kernel.tile(T, sweep_shape, target.arithmetic, adjacent, vectors, columns, job);
        }

        fn panels(job: *const generic.panel_kernel.Panels(T)) void {
            generic.panel_kernel.copy(T, lanes, job);
        }

        fn transpose(job: *const generic.transpose_kernel.Transpose(T)) void {
            generic.transpose_kernel.transpose(T, lanes, job);
        }

        fn transposeBlock(block: *const generic.transpose_kernel.Block(T)) void {
            generic.transpose_kernel.transposeBlock(T, lanes, block);
        }

        fn scanRows(job: *const generic.scan_kernel.Rows(T)) void {
            generic.scan_kernel.scanRows(T, lanes, job);
        }

        fn scanLines(job: *const generic.scan_kernel.Lines(T)) void {
            generic.scan_kernel.scanLines(T, lanes, job);
        }

        fn best(tile: *const generic.best_kernel.Tile(T)) void {
            generic.best_kernel.best(T, lanes, tile);
        }

        fn window(job: *const generic.window_kernel.Window(T)) void {
            generic.window_kernel.apply(T, lanes, target.arithmetic, job);
        }

        fn correlation(job: *const generic.correlation_kernel.Correlation(T)) void {
            generic.correlation_kernel.apply(T, lanes, target.arithmetic, job);
        }

        fn poolOverlapping(step: *const generic.pool_overlapping_kernel.Step(T)) void {
            generic.pool_overlapping_kernel.apply(T, lanes, step);
        }

        fn poolNonoverlapping(job: *const generic.pool_nonoverlapping_kernel.Nonoverlapping(T)) void {
            generic.pool_nonoverlapping_kernel.apply(T, lanes, job);
        }

        fn windowBack(job: *const generic.window_kernel.WindowBack(T)) void {
            generic.window_kernel.applyBack(T, lanes, job);
        }
    };
}
