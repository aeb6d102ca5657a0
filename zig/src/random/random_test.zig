const std = @import("std");
const abi = @import("../abi.zig");
const cpu = @import("../simd/cpu.zig");
const gemm_kernels = @import("../gemm/gemm_kernels.zig");
const random = @import("random.zig");

const philox = @import("philox.zig");
const Table = @import("random_table.zig").Table;

test {
    _ = @import("random_math.zig");
}

test "blocks are the known answers of Random123" {
    // kat_vectors of Random123, philox4x32 with 10 rounds.
    const ones = std.math.maxInt(u64);
    try std.testing.expectEqual([4]u32{ 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }, philox.block(0, 0, 0));
    try std.testing.expectEqual([4]u32{ 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd }, philox.block(ones, ones, ones));
    const pi = philox.block(0x299f31d0_a4093822, 0x85a308d3_243f6a88, 0x03707344_13198a2e);
    try std.testing.expectEqual([4]u32{ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 }, pi);
}

const Case = struct { distribution: random.Distribution, dtype: abi.Dtype, words: u64, a: f64 = 0, b: f64 = 1, low: u64 = 0, span: u64 = 0, parameters: []const f64 = &.{} };

const float32: abi.Dtype = .{ .code = abi.dtype_float, .bits = 32, .lanes = 1 };
const float64: abi.Dtype = .{ .code = abi.dtype_float, .bits = 64, .lanes = 1 };
const float16: abi.Dtype = .{ .code = abi.dtype_float, .bits = 16, .lanes = 1 };
const int64: abi.Dtype = .{ .code = abi.dtype_int, .bits = 64, .lanes = 1 };
const uint8: abi.Dtype = .{ .code = abi.dtype_uint, .bits = 8, .lanes = 1 };
const boolean: abi.Dtype = .{ .code = abi.dtype_bool, .bits = 8, .lanes = 1 };

const cases = [_]Case{
    .{ .distribution = .uniform, .dtype = float32, .words = 1, .a = -1, .b = 3 },
    .{ .distribution = .uniform, .dtype = float64, .words = 2 },
    .{ .distribution = .uniform, .dtype = float16, .words = 1 },
    .{ .distribution = .normal, .dtype = float32, .words = 1, .a = 2, .b = 0.5 },
    .{ .distribution = .normal, .dtype = float64, .words = 2 },
    .{ .distribution = .normal, .dtype = float16, .words = 1 },
    .{ .distribution = .exponential, .dtype = float32, .words = 1 },
    .{ .distribution = .exponential, .dtype = float64, .words = 2 },
    .{ .distribution = .integers, .dtype = int64, .words = 1, .span = 3 << 30 },
    .{ .distribution = .integers, .dtype = uint8, .words = 1, .low = 3, .span = 200 },
    .{ .distribution = .integers, .dtype = int64, .words = 2, .span = 3 << 62 },
    .{ .distribution = .bernoulli, .dtype = boolean, .words = 1, .a = 0.3 },
    .{ .distribution = .gamma, .dtype = float64, .words = 4, .parameters = &.{ 0.4, 2.0 } },
    .{ .distribution = .gamma, .dtype = float32, .words = 4, .parameters = &.{ 3.5, 1.0 } },
    .{ .distribution = .beta, .dtype = float64, .words = 8, .parameters = &.{ 0.5, 2.5 } },
    .{ .distribution = .poisson, .dtype = int64, .words = 4, .parameters = &.{3.5} },
    .{ .distribution = .poisson, .dtype = int64, .words = 4, .parameters = &.{350} },
    .{ .distribution = .binomial, .dtype = int64, .words = 4, .parameters = &.{ 12, 0.7 } },
    .{ .distribution = .binomial, .dtype = int64, .words = 4, .parameters = &.{ 1000, 0.4 } },
    .{ .distribution = .grouped_normal, .dtype = float32, .words = 0, .a = 2, .span = 256 },
    .{ .distribution = .grouped_normal, .dtype = float64, .words = 0, .a = 2, .span = 128 },
    .{ .distribution = .grouped_normal, .dtype = float16, .words = 0, .a = std.math.inf(f64), .span = 1 },
    .{ .distribution = .interleaved_bits, .dtype = .{ .code = abi.dtype_uint, .bits = 32, .lanes = 1 }, .words = 0, .span = 96 },
};

/// Elements [first, first + len) of a draw of one case into bytes.
fn draw(table: *const Table, case: *const Case, first: u64, len: usize, target: []u8, executor: ?*const abi.Executor) !void {
    const host: abi.DeviceRef = .{ .device_type = abi.device_cpu, .device_id = 0 };
    var shape = [_]i64{@intCast(len)};
    const out: abi.Tensor = .{ .data = target.ptr, .device = host, .ndim = 1, .dtype = case.dtype, .shape = &shape, .strides = null, .byte_offset = 0 };
    var inputs: [2]abi.Tensor = undefined;
    for (case.parameters, inputs[0..case.parameters.len]) |*value, *input| {
        input.* = .{ .data = @constCast(value), .device = host, .ndim = 0, .dtype = float64, .shape = null, .strides = null, .byte_offset = 0 };
    }
    const position = 5 * 4 + first * case.words;
    const options: abi.RandomOptions = .{
        .size_bytes = @sizeOf(abi.RandomOptions),
        .distribution = @backingInt(case.distribution),
        .skip = @intCast(position % 4),
        .key = 0x0123_4567_89ab_cdef,
        .block = position / 4,
        .high = 7 << 32,
        .a = case.a,
        .b = case.b,
        .low = case.low,
        .span = case.span,
        .executor = executor,
    };
    _ = try random.runWith(table, &inputs, case.parameters.len, &out, &options);
}

test "any split of a draw gives the same bits" {
    const table = random.tableOf(gemm_kernels.info().instruction_set);
    const len = 20011;
    for (&cases) |*case| {
        if (case.words == 0) continue;
        const size: usize = case.dtype.bits / 8;
        var whole: [8 * len]u8 align(64) = undefined;
        var parts: [8 * len]u8 align(64) = undefined;
        try draw(table, case, 0, len, whole[0 .. len * size], null);
        var first: usize = 0;
        for ([_]usize{ 1, 2, 3, 7, 64, 4095, 9000, len - 13172 }) |part| {
            try draw(table, case, first, part, parts[first * size ..][0 .. part * size], null);
            first += part;
        }
        try std.testing.expectEqual(len, first);
        try std.testing.expectEqualSlices(u8, whole[0 .. len * size], parts[0 .. len * size]);
    }
}

test "every instruction set gives the same bits" {
    const best = random.tableOf(gemm_kernels.info().instruction_set);
    const sets = [_]cpu.InstructionSet{ .generic, .avx2, .avx512 };
    const len = 3001;
    for (&cases) |*case| {
        const size: usize = case.dtype.bits / 8;
        var wanted: [8 * len]u8 align(64) = undefined;
        try draw(best, case, 3, len, wanted[0 .. len * size], null);
        for (sets) |set| {
            if (@backingInt(set) > @backingInt(gemm_kernels.info().instruction_set)) continue;
            var found: [8 * len]u8 align(64) = undefined;
            try draw(random.tableOf(set), case, 3, len, found[0 .. len * size], null);
            try std.testing.expectEqualSlices(u8, wanted[0 .. len * size], found[0 .. len * size]);
        }
    }
}

test "integers are those of a plain loop without bias" {
    const table = random.tableOf(gemm_kernels.info().instruction_set);
    const len = 4000;
    const case: Case = .{ .distribution = .integers, .dtype = int64, .words = 1, .span = 3 << 30 };
    var values: [len]i64 align(64) = undefined;
    try draw(table, &case, 0, len, std.mem.sliceAsBytes(&values), null);
    var redrawn: usize = 0;
    for (values, 0..) |value, i| {
        var attempt: u64 = 0;
        const wanted = while (true) : (attempt += 1) {
            const word = philox.block(0x0123_4567_89ab_cdef, 5 + i / 4, (7 << 32) + attempt)[i % 4];
            const product = @as(u64, word) * case.span;
            // 2^32 mod span is 2^30: of every four words one is too many.
            if (product % (1 << 32) >= 1 << 30) break product >> 32;
        };
        redrawn += attempt;
        try std.testing.expectEqual(@as(i64, @intCast(wanted)), value);
    }
    try std.testing.expect(redrawn > len / 8);
}

test "integers of huge spans are those of a plain loop without bias" {
    const table = random.tableOf(gemm_kernels.info().instruction_set);
    const len = 4000;
    // Of these spans one word in four is too many, nearly every other, and next to none.
    for ([_]u64{ 3 << 61, (1 << 63) + 1, 1 << 33 }) |span| {
        const case: Case = .{ .distribution = .integers, .dtype = .{ .code = abi.dtype_uint, .bits = 64, .lanes = 1 }, .words = 2, .low = 11, .span = span };
        const least = (0 -% span) % span;
        var values: [len]u64 align(64) = undefined;
        try draw(table, &case, 1, len, std.mem.sliceAsBytes(&values), null);
        var redrawn: usize = 0;
        for (values, 1..) |value, i| {
            var attempt: u64 = 0;
            const wanted = while (true) : (attempt += 1) {
                const words = philox.block(0x0123_4567_89ab_cdef, 5 + i / 2, (7 << 32) + attempt);
                const at = i % 2 * 2;
                const product = @as(u128, words[at] | @as(u64, words[at + 1]) << 32) * span;
                if (@as(u64, @truncate(product)) >= least) break @as(u64, @intCast(product >> 64));
            };
            redrawn += attempt;
            try std.testing.expectEqual(wanted +% 11, value);
        }
        try std.testing.expectEqual(span > 1 << 60, redrawn > len / 8);
    }
}
