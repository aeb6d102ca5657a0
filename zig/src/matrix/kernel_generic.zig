//! The baseline of the target: 128-bit vectors, SSE2 on x86-64, NEON on aarch64. One module, compiled with these target features;
//! entered only on a CPU that has them (cpu.zig).

const builtin = @import("builtin");
const generic = @import("generic");
const table = generic.table;

/// Vector registers: 32 on aarch64, 16 on x86-64.
const tile_columns = if (builtin.cpu.arch == .aarch64) 12 else 6;

pub fn Kernel(comptime format: generic.numbers.Format) type {
    const numbers = generic.numbers.simple(format);
    return struct {
        /// The baseline of aarch64 has fused multiply-adds; that of x86-64 does not.
        pub const arithmetic: generic.micro_kernel.Arithmetic = if (builtin.cpu.arch == .aarch64) .fused else .separate;
        const shape: table.Shape = .{ .lanes = 16 / @sizeOf(numbers.Word()), .vectors = 2, .columns = tile_columns };

        pub const routines: table.Table(numbers) = .{
            .name = "generic",
            .lanes = shape.lanes,
            .half_lanes = shape.halfLanes(),
            .tile_rows = shape.tileRows(),
            .tile_columns = shape.columns,
            .block = block,
            .direct = if (numbers.isPlain()) direct else {},
            .dots = if (numbers.isPlain()) dots else {},
            .combine = if (numbers.isPlain()) combine else {},
            .small = if (numbers.isPlain()) small else {},
            .pack_left = packLeft,
            .pack_right = packRight,
            .narrow = if (!numbers.isPlain() and numbers.Sum == f32) narrow else {},
            .activate = if (format == .f32) activate else {},
        };

        fn block(job: *const table.Block(numbers)) void {
            generic.block_loops.run(numbers, shape, @This(), job);
        }

        fn direct(job: *const table.Direct(numbers)) void {
            generic.block_loops.runDirect(numbers, shape, @This(), job);
        }

        fn dots(job: *const table.Dots(numbers)) void {
            generic.dots.run(numbers, shape.lanes, arithmetic, job);
        }

        fn combine(job: *const table.Combine(numbers)) void {
            generic.combine.run(numbers, shape.lanes, arithmetic, job);
        }

        fn small(job: *const table.Small(numbers)) void {
            generic.small.run(numbers, arithmetic, job);
        }

        pub noinline fn tile(comptime size: table.TileSize, comptime layout: generic.micro_kernel.Layout, job: *const table.Tile(numbers)) void {
            generic.micro_kernel.compute(numbers, .{
                .shape = shape,
                .lanes = size.lanes,
                .vectors = size.vectors,
                .columns = size.columns,
                .layout = layout,
                .arithmetic = arithmetic,
            }, job);
        }

        fn narrow(run: *const generic.narrow.Run) void {
            generic.narrow.round(shape.lanes, run);
        }

        fn activate(run: *const generic.activation.Run) void {
            generic.activation.apply(shape.lanes, run);
        }

        fn packLeft(panel: *const table.Panel(numbers)) void {
            generic.pack.pack(numbers, .left, shape.lanes, shape.tileRows(), panel);
        }

        fn packRight(panel: *const table.Panel(numbers)) void {
            generic.pack.pack(numbers, .right, shape.lanes, shape.columns, panel);
        }
    };
}
