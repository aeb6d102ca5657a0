//! AVX2 and FMA (x86-64-v3): 16 registers of 32 bytes. One module, compiled with these target features;
//! entered only on a CPU that has them (cpu.zig).

const generic = @import("generic");
const table = generic.table;

pub fn Kernel(comptime T: type) type {
    return struct {
        pub const fused = true;
        const shape: table.Shape = .{ .lanes = 32 / @sizeOf(T), .vectors = 2, .columns = 6 };

        pub const routines: table.Table(T) = .{
            .name = "avx2",
            .lanes = shape.lanes,
            .half_lanes = shape.halfLanes(),
            .tile_rows = shape.tileRows(),
            .tile_columns = shape.columns,
            .block = block,
            .direct = direct,
            .dots = dots,
            .pack_left = packLeft,
            .pack_right = packRight,
            .activate = if (T == f32) activate else {},
        };

        fn block(job: *const table.Block(T)) void {
            generic.block_loops.run(T, shape, @This(), job);
        }

        fn direct(job: *const table.Direct(T)) void {
            generic.block_loops.runDirect(T, shape, @This(), job);
        }

        fn dots(job: *const table.Dots(T)) void {
            generic.dots.run(T, shape.lanes, fused, job);
        }

        pub noinline fn tile(comptime size: table.TileSize, comptime layout: generic.micro_kernel.Layout, job: *const table.Tile(T)) void {
            generic.micro_kernel.compute(T, .{
                .shape = shape,
                .lanes = size.lanes,
                .vectors = size.vectors,
                .columns = size.columns,
                .layout = layout,
                .fused = fused,
            }, job);
        }

        fn activate(run: *const generic.activation.Run) void {
            generic.activation.apply(shape.lanes, run);
        }

        fn packLeft(panel: *const table.Panel(T)) void {
            generic.pack.pack(T, shape.lanes, shape.tileRows(), panel);
        }

        fn packRight(panel: *const table.Panel(T)) void {
            generic.pack.pack(T, shape.lanes, shape.columns, panel);
        }
    };
}
