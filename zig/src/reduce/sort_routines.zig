//! The routines that sort with vectors, compiled with AVX-512 (zig/compile.py).

const generic = @import("generic");
const vectors = @import("sort_vectors.zig");

comptime {
    for ([_]type{ u32, u64 }) |W| {
        const Holder = struct {
            const routines = vectors.routines(W);
        };
        generic.linked_table.publish(&Holder.routines, "sort", "avx512", @typeName(W));
    }
}
