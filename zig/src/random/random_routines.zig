//! The routines of random numbers for one instruction set: the objects random_<instruction set> are made of this file, each compiled with
//! target features of its own (zig/compile.py) and entered only on a CPU that has them (cpu.zig). All give the same bits.

const builtin = @import("builtin");
const generic = @import("generic");

const target = generic.target.of(builtin.cpu);
const philox = @import("philox.zig");
const kernels = @import("draw_kernel.zig");
const rejection_kernel = @import("rejection_kernel.zig");
const grouped_normal_kernel = @import("grouped_normal_kernel.zig");
const Table = @import("random_table.zig").Table;

/// Lanes of 32 and 64 bits. Words are made in two vectors at a time: a product takes longer than its turn.
const narrow = target.vector_bytes / 4;
const wide = target.vector_bytes / 8;

comptime {
    generic.linked_table.publish(&table, "random", target.name, "all");
}

pub const table: Table = .{
    .words = words,
    .float32 = Routines(f32, narrow).floats,
    .float64 = Routines(f64, wide).floats,
    .integers8 = Integers(u8).draw,
    .integers16 = Integers(u16).draw,
    .integers32 = Integers(u32).draw,
    .integers64 = Integers(u64).draw,
    .below = below,
    .dropout32 = Routines(f32, narrow).dropout,
    .dropout64 = Routines(f64, wide).dropout,
    .rejection = rejection,
    .grouped_normals32 = GroupedNormals(f32).draw,
    .grouped_normals64 = GroupedNormals(f64).draw,
};

fn words(job: *const philox.Words) void {
    philox.fill(2 * wide, job);
}

fn below(job: *const kernels.Below) void {
    kernels.below(narrow, job);
}

fn rejection(job: *const rejection_kernel.Job) void {
    rejection_kernel.draw(wide, job);
}

fn Routines(comptime T: type, comptime lanes: comptime_int) type {
    return struct {
        fn floats(job: *const kernels.Floats(T)) void {
            kernels.floats(T, lanes, job);
        }

        fn dropout(job: *const kernels.Dropout(T)) void {
            kernels.dropout(T, lanes, job);
        }
    };
}

fn Integers(comptime T: type) type {
    return struct {
        fn draw(job: *const kernels.Integers(T)) void {
            kernels.integers(T, wide, job);
        }
    };
}

fn GroupedNormals(comptime T: type) type {
    return struct {
        fn draw(job: *const grouped_normal_kernel.Job(T)) void {
            grouped_normal_kernel.draw(T, wide, job);
        }
    };
}
