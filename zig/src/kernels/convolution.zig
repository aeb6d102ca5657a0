//! Convolution as a matmul of patches and filters that are never written out (implicit GEMM).
//!
//! Images are NHWC, filters (kernel rows, kernel columns, channels of a group, filters), or, in the layout `nt`, with the filters first, results
//! NHWC. The rows of the matmul are the pixels
//! of the result, k runs over the taps of the kernel and the channels. Groups are the blocks' second dimension. What multiplies, tiles and
//! epilogue are those of the matmuls. Where channels are aligned (their number in a group is a multiple of 16 bytes), 16 bytes of k
//! never belong to two taps.

const device = @import("device.zig");
const Result = @import("epilogue.zig").Result;
const source = @import("source.zig");
const tile_order = @import("tile_order.zig");
const variant = @import("variant");

/// `Body` is the generator of the matmuls whose `run` computes a tile.
pub fn Kernel(comptime v: variant.Matmul, comptime Body: type) type {
    return struct {
        const Stored = v.operand.Stored();
        const Output = v.output.Stored();

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
        ) callconv(device.convention) void {
            const group = @workGroupId(1);
            const own_channels = channels / groups;
            const own_filters = out_channels / groups;
            const m = count * out_height * out_width;
            const k = kernel_height * kernel_width * own_channels;
            const tile = tile_order.tileOf(v.strip, @workGroupId(0), (m - 1) / v.tile_m + 1, (own_filters - 1) / v.tile_n + 1);
            const patches: source.Patches(Stored) = .{
                .start = images + group * own_channels,
                .geometry = .{
                    .height = height,
                    .width = width,
                    .channels = own_channels,
                    .pixel = channels,
                    .out_height = out_height,
                    .out_width = out_width,
                    .kernel_width = kernel_width,
                    .stride = stride,
                    .padding = padding,
                    .dilation = dilation,
                },
                .outer_end = m,
                .k_end = k,
            };
            const taps: source.Matrix(Stored, v.transpose_b) = .{
                .start = filters + if (v.transpose_b) @as(usize, group) * own_filters * k else group * own_filters,
                .lead = if (v.transpose_b) k else out_channels,
                .outer_end = own_filters,
                .k_end = k,
            };
            const result: Result(v) = .init(results + group * own_filters, bias + group * own_filters, m, own_filters, out_channels, 1, 0);
            Body.run(&patches, &taps, &result, tile.m * v.tile_m, tile.n * v.tile_n, k);
        }
    };
}
