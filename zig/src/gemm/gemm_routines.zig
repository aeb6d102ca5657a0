//! The routines of matmuls for one instruction set: the objects gemm_<instruction set> are made of this file, each
//! compiled with target features of its own (zig/compile.py) and entered only on a CPU that has them (cpu.zig).

const std = @import("std");
const builtin = @import("builtin");
const generic = @import("generic");
const table = generic.table;

const target = generic.target.of(builtin.cpu);
const formats = if (target.arithmetic == .dotted) generic.numbers.converted_formats else std.enums.values(generic.numbers.Format);

comptime {
    for (formats) |format| generic.linked_table.publish(&Kernel(format).routines, "gemm", target.name, @tagName(format));
}

fn Kernel(comptime format: generic.numbers.Format) type {
    const numbers = if (target.arithmetic == .dotted) generic.numbers.dotted(format) else generic.numbers.simple(format);
    return struct {
        pub const arithmetic = target.arithmetic;
        const shape: table.Shape = .{ .lanes = target.vector_bytes / @sizeOf(numbers.Word()), .vectors = 2, .columns = target.tile_columns };

        pub const routines: table.Table(numbers) = .{
            .name = target.name,
            .lanes = shape.lanes,
            .half_lanes = shape.halfLanes(),
            .tile_rows = shape.tileRows(),
            .tile_columns = shape.columns,
            .block = block,
            .direct = if (numbers.isPlain()) direct else {},
            .dots = if (numbers.isPlain()) dots else {},
            .combine = if (numbers.isPlain()) combine else {},
            .small = if (numbers.isPlain()) small else {},
            .pack_a = packA,
            .pack_b = packB,
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

        fn packA(panel: *const table.Panel(numbers)) void {
            generic.pack.pack(numbers, .a, shape.lanes, shape.tileRows(), panel);
        }

        fn packB(panel: *const table.Panel(numbers)) void {
            generic.pack.pack(numbers, .b, shape.lanes, shape.columns, panel);
        }
    };
}
