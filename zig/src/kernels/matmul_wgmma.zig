//! Matmul by wgmma of sm_90a: the pipeline of wgmma_pipeline.zig over matrices.

const device = @import("device.zig");
const hopper = @import("hopper.zig");
const Result = @import("epilogue.zig").Result;
const pipeline = @import("wgmma_pipeline.zig");
const variant = @import("variant");

pub fn Kernel(comptime v: variant.Matmul) type {
    return struct {
        const Stored = v.operand.Stored();
        const Output = v.output.Stored();
        const Pipeline = pipeline.Pipeline(v);
        const Memory = Pipeline.Memory;
        const width = Pipeline.width;
        const majors = Pipeline.majors;

        pub fn kernel(
            a: device.Input(Stored),
            b: device.Input(Stored),
            c: device.Output(Output),
            bias: device.Input(Output),
            m: u32,
            n: u32,
            k: u32,
            lda: u32,
            ldb: u32,
            ldc: u32,
            alpha: f64,
            beta: f64,
            stride_a: u64,
            stride_b: u64,
            stride_c: u64,
            batch: u32,
            maps: device.Input(u8),
        ) callconv(device.convention) void {
            @setEvalBranchQuota(10_000_000);
            // The descriptors hold what these say; all matmuls take the same arguments.
            _ = .{ a, b, lda, ldb, stride_a, stride_b };
            const work: Work = .{
                .count_m = (m - 1) / (v.tile_m * v.cluster) + 1,
                .count_n = (n - 1) / v.tile_n + 1,
                .batch = batch,
                // An empty sum (k = 0) takes one tile of zeros.
                .k_steps = if (k == 0) 1 else (k - 1) / v.tile_k + 1,
                .maps = maps,
                .whole = .init(c, bias, m, n, ldc, alpha, beta),
                .stride_c = stride_c,
            };
            Pipeline.run(&work);
        }

        const Work = struct {
            count_m: u32,
            count_n: u32,
            batch: u32,
            k_steps: u32,
            maps: device.Input(u8),
            whole: Result(v),
            stride_c: u64,

            pub inline fn reader(self: *const Work, block: u32, first_m: u32, first_n: u32, source: u32) Reader {
                return .{ .maps = self.maps, .block = block, .first_m = first_m, .first_n = first_n, .batch = source };
            }

            pub inline fn result(self: *const Work, source: u64) Result(v) {
                var own = self.whole;
                own.c += source * self.stride_c;
                return own;
            }
        };

        const Reader = struct {
            maps: device.Input(u8),
            block: u32,
            first_m: u32,
            first_n: u32,
            batch: u32,

            /// Asks for the tiles of a step of k.
            pub inline fn copy(self: *const Reader, memory: *const Memory, stage: u32, step: u32) void {
                const full = memory.full(stage);
                const first_k = step * v.tile_k;
                if (majors[0] == .k) {
                    hopper.copyBox(memory.a(stage), self.maps, first_k, self.first_m, self.batch, full);
                } else {
                    inline for (0..v.tile_m / width) |i| {
                        const part: u32 = i;
                        hopper.copyBox(memory.a(stage) + part * Pipeline.block_bytes, self.maps, self.first_m + part * width, first_k, self.batch, full);
                    }
                }
                const map = self.maps + pipeline.map_bytes;
                const share = v.tile_n / v.cluster;
                if (majors[1] == .k) {
                    copyShared(memory.b(stage) + self.block * share * hopper.swizzle_bytes, map, first_k, self.first_n + self.block * share, self.batch, full);
                } else {
                    inline for (0..share / width) |i| {
                        const part = self.block * (share / width) + @as(u32, i);
                        copyShared(memory.b(stage) + part * Pipeline.block_bytes, map, self.first_n + part * width, first_k, self.batch, full);
                    }
                }
            }
        };

        inline fn copyShared(target: u32, map: device.Input(u8), x: u32, y: u32, z: u32, barrier: u32) void {
            if (v.cluster > 1) {
                hopper.copyBoxToCluster(target, map, x, y, z, barrier, (1 << v.cluster) - 1);
            } else {
                hopper.copyBox(target, map, x, y, z, barrier);
            }
        }
    };
}
