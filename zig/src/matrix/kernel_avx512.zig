//! AVX-512 (x86-64-v4): 32 registers of 64 bytes. One module, compiled with these target features;
//! entered only on a CPU that has them (cpu.zig).

const generic = @import("generic");
const table = generic.table;

pub fn Kernel(comptime format: generic.numbers.Format) type {
    const numbers = generic.numbers.simple(format);
    return struct {
        pub const arithmetic: generic.micro_kernel.Arithmetic = .fused;
        const shape: table.Shape = .{ .lanes = 64 / @sizeOf(numbers.Word()), .vectors = 2, .columns = 12 };

        pub const routines: table.Table(numbers) = .{
            .name = "avx512",
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
