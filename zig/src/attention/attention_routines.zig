//! The routines of attention for one instruction set: the objects attention_<instruction set> are made of this file, each compiled with target
//! features of its own (zig/compile.py) and entered only on a CPU that has them (cpu.zig).

const builtin = @import("builtin");
const generic = @import("generic");
const attention_kernel = @import("attention_kernel.zig");

const target = generic.target.of(builtin.cpu);
/// Vectors of the register tile: with its rows 16 of 32 registers, or 8 of 16.
const width = if (target.vector_bytes == 64) 4 else 2;

comptime {
    for (attention_kernel.computed) |T| generic.linked_table.publish(&Kernel(T).routines, "attention", target.name, @typeName(T));
}

fn Kernel(comptime T: type) type {
    return struct {
        const lanes = target.vector_bytes / @sizeOf(T);

        pub const routines: attention_kernel.Table(T) = .{ .lanes = lanes, .multiply = multiply, .join = join, .slope = slope };

        fn multiply(job: *const attention_kernel.Product(T)) void {
            attention_kernel.multiply(T, lanes, target.arithmetic, width, job);
        }

        fn join(job: *const attention_kernel.Join(T)) void {
            attention_kernel.join(T, lanes, target.arithmetic, job);
        }

        fn slope(job: *const attention_kernel.Slope(T)) void {
            attention_kernel.slope(T, lanes, target.arithmetic, job);
        }
    };
}
