//! The driver: loops 5 to 3 of Goto & van de Geijn (2008), packing, and the split among threads.
//!
//! Works on addresses and strides that were checked before (matmul.zig, dense.zig). Threads share packed panels and write disjoint
//! tiles of `out`; k is never split among threads, so the bits do not depend on the number of threads.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const @"packed" = @import("packed.zig");
const skinny = @import("skinny.zig");
const whole_k = @import("whole_k.zig");
const workspace = @import("../memory/workspace.zig");
const rounding = @import("../tensor/rounding.zig");
const gemm_problem = @import("gemm_problem.zig");
const direct = @import("direct.zig");

pub const Problem = gemm_problem.Problem;
pub const Region = gemm_problem.Region;
pub const Error = gemm_problem.Error;
const atConst = gemm_problem.atConst;
const finish = gemm_problem.finish;
const Table = generic.table.Table;
const Numbers = generic.numbers.Numbers;
const divideUp = rounding.divideUp;
const roundUp = rounding.roundUp;

/// Multiplies operands that already are of the type that is computed in, with the best routines of this CPU.
pub fn multiply(comptime T: type, problem: *const Problem(.plain(T)), executor: ?*const abi.Executor) Error!void {
    return multiplyWith(.plain(T), kernels.table(T), problem, executor);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn multiplyWith(
    comptime numbers: Numbers,
    table: *const Table(numbers),
    problem: *const Problem(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    if (problem.m == 0 or problem.n == 0) return;
    const plan = blocking.plan(numbers, table, problem);
    return multiplyOriented(numbers, plan.route, table, &plan.oriented, executor);
}

/// Runs a matmul that was already oriented (blocking.zig) along the given route.
pub fn multiplyOriented(
    comptime numbers: Numbers,
    route: blocking.Route,
    table: *const Table(numbers),
    oriented: *const Problem(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    if (comptime numbers.word_multiple > 1) {
        if (whole_k.fits(numbers, oriented)) return whole_k.multiply(numbers, oriented, table, executor);
    }
    if (!oriented.has_out) return multiplyAside(numbers, route, table, oriented, executor);
    if (oriented.k == 0) return scale(numbers, oriented);
    if (comptime numbers.isPlain()) {
        switch (route) {
            .small => return multiplySmall(numbers, oriented, table),
            .direct => return direct.multiplyDirect(numbers, oriented, table, executor),
            .copied_a => return skinny.multiplyCopiedA(numbers, oriented, table, executor),
            .scalar => return multiplyScalar(numbers, oriented),
            .dots => return skinny.multiplyDots(numbers, oriented, table, executor),
            .combine => return skinny.multiplyCombine(numbers, oriented, table, executor),
            .panels => {},
        }
    }
    return @"packed".multiply(numbers, oriented, table, executor);
}

/// Runs a matmul whose sums have no memory of their own: they get a buffer, which `finish` reads.
fn multiplyAside(
    comptime numbers: Numbers,
    route: blocking.Route,
    table: *const Table(numbers),
    oriented: *const Problem(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    const len = oriented.m * oriented.n;
    const buffer = try workspace.acquire(len * @sizeOf(numbers.Sum));
    defer workspace.release(buffer);
    var with_out = oriented.*;
    with_out.out = buffer.slice(numbers.Sum, 0, len).ptr;
    with_out.has_out = true;
    return multiplyOriented(numbers, route, table, &with_out, executor);
}

/// Describes a small matmul to the routine for small ones.
pub fn smallOf(comptime numbers: Numbers, oriented: *const Problem(numbers)) generic.table.Small(numbers) {
    return .{
        .count = 1,
        .k = oriented.k,
        .m = oriented.m,
        .n = oriented.n,
        .a = oriented.a,
        .a_step = oriented.a_k,
        .b = oriented.b,
        .b_step = oriented.b_k,
        .b_column = oriented.b_column,
        .out = oriented.out,
        .out_column = oriented.out_column,
        .alpha = oriented.alpha,
    };
}

fn multiplySmall(comptime numbers: Numbers, oriented: *const Problem(numbers), table: *const Table(numbers)) void {
    table.small(&smallOf(numbers, oriented));
    finish(numbers, oriented, .{ .row = 0, .rows = oriented.m, .column = 0, .columns = oriented.n });
}

/// Handles k = 0, where the sum is empty: out = beta * out.
fn scale(comptime numbers: Numbers, problem: *const Problem(numbers)) void {
    for (0..problem.n) |column| {
        for (0..problem.m) |row| {
            const target = problem.outAt(row, column);
            target[0] = if (problem.beta == 0) 0 else generic.fma.multiply(numbers.Sum, problem.beta, target[0]);
        }
    }
    finish(numbers, problem, .{ .row = 0, .rows = problem.m, .column = 0, .columns = problem.n });
}

/// Multiplies with plain loops, for matmuls whose panels would hold mostly padding.
fn multiplyScalar(comptime numbers: Numbers, problem: *const Problem(numbers)) void {
    for (0..problem.n) |column| {
        for (0..problem.m) |row| {
            var sum: numbers.Sum = 0;
            for (0..problem.k) |step| {
                sum += atConst(numbers.Source, problem.a, row, problem.a_row, step, problem.a_k)[0] *
                    atConst(numbers.Source, problem.b, step, problem.b_k, column, problem.b_column)[0];
            }
            const target = problem.outAt(row, column);
            target[0] = problem.alpha * sum + if (problem.beta == 0) 0 else problem.beta * target[0];
        }
    }
    finish(numbers, problem, .{ .row = 0, .rows = problem.m, .column = 0, .columns = problem.n });
}
