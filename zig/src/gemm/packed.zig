//! Matmuls of packed panels: loops 5 to 3 of Goto & van de Geijn (2008), packing, and the split among threads.
//!
//! Where there are enough rows or columns for every thread, each thread packs those that it works on (packed_lines.zig). Otherwise all threads
//! pack the rows of a slab together and then share its tiles.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const packed_lines = @import("packed_lines.zig");
const gemm_problem = @import("gemm_problem.zig");
const workspace = @import("../memory/workspace.zig");
const rounding = @import("../tensor/rounding.zig");
const Slab = @import("slab.zig").Slab;

const Error = gemm_problem.Error;
const Numbers = generic.numbers.Numbers;
const Problem = gemm_problem.Problem;
const Table = generic.table.Table;
const atConst = gemm_problem.atConst;
const divideUp = rounding.divideUp;
const finish = gemm_problem.finish;

pub fn multiply(
    comptime numbers: Numbers,
    problem: *const Problem(numbers),
    table: *const Table(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    const thread_count = parallel.threadCount(executor);
    const blocks: blocking.Blocking = .choose(numbers, table, problem);
    if (blocks.ownColumns(numbers, table, problem, thread_count)) |columns| {
        return packed_lines.multiply(numbers, .b, problem, table, .{ .k = blocks.k, .m = problem.m, .n = columns }, executor);
    }
    if (blocks.ownRows(numbers, table, problem.m, thread_count)) |rows| {
        return packed_lines.multiply(numbers, .a, problem, table, .{ .k = blocks.k, .m = rows, .n = blocks.n }, executor);
    }
    const Word = numbers.Word();
    var slab: Slab(numbers) = .of(problem, table, &blocks);
    const slab_rows = blocks.slabRows(numbers, table, problem.m);
    const a_len = slab.a_panel * divideUp(slab_rows, table.tile_rows);
    const b_len = slab.b_panel * divideUp(@min(blocks.n, problem.n), table.tile_columns);
    const buffer = try workspace.acquire((a_len + b_len) * @sizeOf(Word));
    defer workspace.release(buffer);
    slab.a = buffer.slice(Word, 0, a_len).ptr;
    slab.b = buffer.slice(Word, a_len * @sizeOf(Word), b_len).ptr;
    // Loop 5: columns, so that the packed block of `b` stays in L3.
    while (slab.column < problem.n) : (slab.column += blocks.n) {
        slab.n = @min(blocks.n, problem.n - slab.column);
        slab.step = 0;
        // Loop 4: k.
        while (slab.step < problem.k) : (slab.step += blocks.k) {
            slab.k = @min(blocks.k, problem.k - slab.step);
            slab.row = 0;
            while (slab.row < problem.m) : (slab.row += slab_rows) {
                slab.m = @min(slab_rows, problem.m - slab.row);
                try slab.run(executor);
            }
        }
    }
}
