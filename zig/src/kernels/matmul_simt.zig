//! Matmul by fused multiply-add of single lanes: float32, float64 and bfloat16 everywhere; float16 and int8 by the dot products of
//! RDNA 2 (v_dot2_f32_f16, v_dot4_i32_i8).
//!
//! A block computes tile_m x tile_n. Tiles of k go through registers into one of two buffers in shared memory while the other is multiplied.
//! A thread holds part_m x part_n sums in chunks of 16 bytes; a group of 32 threads spans 4 x 8 chunks, so that reads of shared memory are
//! broadcasts or without conflicts.

const device = @import("device.zig");
const Result = @import("epilogue.zig").Result;
const stage = @import("stage.zig");
const variant = @import("variant");

const group_m = 4;
const group_n = 8;

/// As text, because LLVM puts its own calls of it behind all reads of the tile, which then need more registers than there are.
inline fn dot(comptime instruction: []const u8, x: u32, y: u32, sum: u32) u32 {
    return asm volatile (instruction ++ " %[result], %[x], %[y], %[sum]"
        : [result] "=v" (-> u32),
        : [x] "v" (x),
          [y] "v" (y),
          [sum] "v" (sum),
    );
}

pub fn Generator(comptime v: variant.Matmul) type {
    return struct {
        const pack = switch (v.operand) {
            .f16 => 2,
            .i8 => 4,
            else => 1,
        };
        const Stored = v.operand.Stored();
        const Sum = v.operand.Sum();
        const L = stage.Lane(v.operand, pack);
        const chunk = 16 / @sizeOf(L);
        const StageA = stage.Stage(.{
            .number = v.operand,
            .pack = pack,
            .outer = v.tile_m,
            .k = v.tile_k,
            .is_k_contiguous = !v.transpose_a,
            .is_aligned = v.is_aligned,
            .threads = v.threads,
            .pad = chunk,
        });
        const StageB = stage.Stage(.{
            .number = v.operand,
            .pack = pack,
            .outer = v.tile_n,
            .k = v.tile_k,
            .is_k_contiguous = v.transpose_b,
            .is_aligned = v.is_aligned,
            .threads = v.threads,
            .pad = chunk,
        });
        const groups_n = v.tile_n / (v.part_n * group_n);

        comptime {
            if (v.tile_m / v.part_m * (v.tile_n / v.part_n) != v.threads) @compileError("threads do not cover the tile");
        }

        var tiles_a: [2][StageA.lanes]L align(16) addrspace(.shared) = undefined;
        var tiles_b: [2][StageB.lanes]L align(16) addrspace(.shared) = undefined;

        /// One tile of the matmul of two sources.
        pub inline fn run(source_a: anytype, source_b: anytype, result: *const Result(v), first_m: u32, first_n: u32, k: u32) void {
            @setEvalBranchQuota(10_000_000);
            const thread = @workItemId(0);
            var accumulators: [v.part_m][v.part_n]Sum = @splat(@splat(0));
            var stage_a: StageA = undefined;
            var stage_b: StageB = undefined;
            stage_a.load(source_a, first_m, 0, thread);
            stage_b.load(source_b, first_n, 0, thread);
            stage_a.store(&tiles_a[0], thread);
            stage_b.store(&tiles_b[0], thread);
            device.barrier();

            const row = positionOf(.m, thread);
            const column = positionOf(.n, thread);
            var next: u32 = 0;
            var buffer: u32 = 0;
            while (next < k) {
                next += v.tile_k;
                // Behind the last tile this loads nothing and stores zeros: a branch after the multiplications would let LLVM sink them below
                // all reads of the tile, which then need more registers than there are.
                stage_a.load(source_a, first_m, next, thread);
                stage_b.load(source_b, first_n, next, thread);
                multiply(&accumulators, &tiles_a[buffer], &tiles_b[buffer], row, column);
                buffer ^= 1;
                stage_a.store(&tiles_a[buffer], thread);
                stage_b.store(&tiles_b[buffer], thread);
                device.barrier();
            }

            inline for (0..v.part_m) |x| {
                inline for (0..v.part_n / chunk) |y| {
                    result.store(chunk, first_m + row + offset(x, group_m), first_n + column + offset(y * chunk, group_n), accumulators[x][y * chunk ..][0..chunk].*);
                }
            }
        }

        inline fn multiply(
            accumulators: *[v.part_m][v.part_n]Sum,
            tile_a: *align(16) addrspace(.shared) const [StageA.lanes]L,
            tile_b: *align(16) addrspace(.shared) const [StageB.lanes]L,
            row: u32,
            column: u32,
        ) void {
            var parts_a = read(v.part_m, group_m, &tile_a[row]);
            var parts_b = read(v.part_n, group_n, &tile_b[column]);
            inline for (1..v.tile_k / pack + 1) |i| {
                const is_last = i == v.tile_k / pack;
                const next_a = if (is_last) parts_a else read(v.part_m, group_m, &tile_a[i * StageA.stride + row]);
                const next_b = if (is_last) parts_b else read(v.part_n, group_n, &tile_b[i * StageB.stride + column]);
                inline for (0..v.part_m) |x| {
                    inline for (0..v.part_n) |y| accumulators[x][y] = multiplyAdd(parts_a[x], parts_b[y], accumulators[x][y]);
                }
                parts_a = next_a;
                parts_b = next_b;
                device.pinSchedule();
            }
        }

        const Dimension = enum { m, n };

        /// Where the thread's first chunk begins in the tile.
        inline fn positionOf(comptime dimension: Dimension, thread: u32) u32 {
            const group = thread / 32;
            const inside = thread % 32;
            return switch (dimension) {
                .m => group / groups_n * (v.part_m * group_m) + inside / group_n * chunk,
                .n => group % groups_n * (v.part_n * group_n) + inside % group_n * chunk,
            };
        }

        /// Of a thread's i-th row or column from its first.
        inline fn offset(comptime i: u32, comptime group: u32) u32 {
            return i / chunk * (group * chunk) + i % chunk;
        }

        inline fn read(comptime len: u32, comptime group: u32, position: *addrspace(.shared) const L) [len]L {
            const from: [*]addrspace(.shared) const L = @ptrCast(position);
            var result: [len]L = undefined;
            inline for (0..len / chunk) |i| {
                const whole: *align(16) addrspace(.shared) const @Vector(chunk, L) = @ptrCast(@alignCast(from + i * group * chunk));
                const values: [chunk]L = whole.*;
                result[i * chunk ..][0..chunk].* = values;
            }
            return result;
        }

        inline fn multiplyAdd(x: L, y: L, sum: Sum) Sum {
            return switch (pack) {
                2 => @bitCast(dot("v_dot2_f32_f16", x, y, @bitCast(sum))),
                4 => @bitCast(dot("v_dot4_i32_i8", x, y, @bitCast(sum))),
                else => @mulAdd(Sum, x, y, sum),
            };
        }
    };
}
