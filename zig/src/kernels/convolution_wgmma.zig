//! Convolution by wgmma of sm_90a: the pipeline of wgmma_pipeline.zig over the patches of images, which TMA gathers by itself.
//!
//! Images are NHWC, filters (filters, kernel rows, kernel columns, channels of a group), results NHWC. A step of k is 64 channels of one tap of
//! the kernel; the last step of a tap is filled up with zeros. TMA walks from pixel to pixel of the results, over the ends of rows and images,
//! and reads what lies in the padding as zeros (PTX ISA, "im2col mode").

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

        comptime {
            if (v.transpose_a or !v.transpose_b or v.cluster != 1) @compileError("patches and filters are contiguous along k");
        }

        pub fn kernel(
            images: device.Input(Stored),
            filters: device.Input(Stored),
            results: device.Output(Output),
            bias: device.Input(Output),
            count: u32,
            height: u32,
            width: u32,
            channels: u32,
            out_height: u32,
            out_width: u32,
            out_channels: u32,
            kernel_height: u32,
            kernel_width: u32,
            stride: u32,
            padding: u32,
            dilation: u32,
            groups: u32,
            maps: device.Input(u8),
        ) callconv(device.convention) void {
            @setEvalBranchQuota(10_000_000);
            // The descriptors hold what these say; all convolutions take the same arguments.
            _ = .{ images, filters, height, width };
            const own_filters = out_channels / groups;
            const parts = (channels / groups - 1) / v.tile_k + 1;
            const m = count * out_height * out_width;
            const work: Work = .{
                .count_m = (m - 1) / v.tile_m + 1,
                .count_n = (own_filters - 1) / v.tile_n + 1,
                .batch = groups,
                .k_steps = kernel_height * kernel_width * parts,
                .maps = maps,
                .whole = .init(results, bias, m, own_filters, out_channels, 1, 0),
                .own_filters = own_filters,
                .own_channels = channels / groups,
                .parts = parts,
                .out_height = out_height,
                .out_width = out_width,
                .kernel_width = kernel_width,
                .stride = stride,
                .padding = padding,
                .dilation = dilation,
            };
            Pipeline.run(&work);
        }

        const Work = struct {
            count_m: u32,
            count_n: u32,
            /// Groups.
            batch: u32,
            k_steps: u32,
            maps: device.Input(u8),
            whole: Result(v),
            own_filters: u32,
            own_channels: u32,
            /// Steps of a tap.
            parts: u32,
            out_height: u32,
            out_width: u32,
            kernel_width: u32,
            stride: u32,
            padding: u32,
            dilation: u32,

            pub inline fn reader(self: *const Work, block: u32, first_m: u32, first_n: u32, group: u32) Reader {
                _ = block;
                const row = first_m / self.out_width;
                return .{
                    .work = self,
                    .channel = group * self.own_channels,
                    // What would be left of or above the image is negative for TMA, whose coordinates have a sign.
                    .x = first_m % self.out_width * self.stride -% self.padding,
                    .y = row % self.out_height * self.stride -% self.padding,
                    .image = row / self.out_height,
                    .filter = group * self.own_filters + first_n,
                };
            }

            pub inline fn result(self: *const Work, group: u64) Result(v) {
                var own = self.whole;
                own.c += group * self.own_filters;
                own.bias += group * self.own_filters;
                return own;
            }
        };

        const Reader = struct {
            work: *const Work,
            /// The first of the group.
            channel: u32,
            /// The first pixel that the first result reads.
            x: u32,
            y: u32,
            image: u32,
            filter: u32,

            /// Asks for the tiles of a step of k.
            pub inline fn copy(self: *const Reader, memory: *const Pipeline.Memory, stage: u32, step: u32) void {
                const work = self.work;
                const full = memory.full(stage);
                const tap = step / work.parts;
                const first = step % work.parts * v.tile_k;
                const across: u16 = @intCast(tap % work.kernel_width * work.dilation);
                const down: u16 = @intCast(tap / work.kernel_width * work.dilation);
                hopper.copyPatches(memory.a(stage), work.maps, .{ self.channel + first, self.x, self.y, self.image }, .{ across, down }, full);
                hopper.copyBox(memory.b(stage), work.maps + pipeline.map_bytes, first, tap, self.filter, full);
            }
        };
    };
}
