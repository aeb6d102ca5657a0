//! The routines of complex numbers for one instruction set: the objects complex_<instruction set> are made of this file, each compiled with
//! target features of its own (zig/compile.py) and entered only on a CPU that has them (cpu.zig).

const builtin = @import("builtin");
const generic = @import("generic");
const complex_kernel = @import("complex_kernel.zig");

const target = generic.target.of(builtin.cpu);

comptime {
    for (complex_kernel.computed) |T| generic.linked_table.publish(&Kernel(T).routines, "complex", target.name, @typeName(T));
}

fn Kernel(comptime T: type) type {
    return struct {
        const lanes = target.vector_bytes / @sizeOf(T);

        pub const routines: complex_kernel.Table(T) = .{ .lanes = lanes, .elementwise = elementwise };

        fn elementwise(run: *const complex_kernel.Run(T)) void {
            complex_kernel.apply(T, lanes, run);
        }
    };
}
