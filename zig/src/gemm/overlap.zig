//! Whether two views share memory, exactly: `out = x[:, ::2]` beside `x[:, 1::2]` is fine, one shared element is not.

const std = @import("std");
const Matrix = @import("matrix.zig").Matrix;

/// Bytes touched: [low, high).
const Extent = struct {
    low: i128,
    high: i128,

    fn of(matrix: Matrix) Extent {
        var low: i128 = matrix.address;
        var high: i128 = matrix.address;
        for (matrix.shape, matrix.strides) |len, stride| {
            const reach = @as(i128, stride) * @as(i128, @intCast(len - 1)) * @as(i128, @intCast(matrix.elementBytes()));
            if (reach < 0) low += reach else high += reach;
        }
        return .{ .low = low, .high = high + @as(i128, @intCast(matrix.elementBytes())) };
    }
};

/// Elements at `first + i * step` for i in [0, len); in units of elements.
const Progression = struct { first: i128, step: i128, len: i128 };

pub fn shareMemory(first: Matrix, second: Matrix) bool {
    if (first.isEmpty() or second.isEmpty()) return false;
    const a = Extent.of(first);
    const b = Extent.of(second);
    if (a.high <= b.low or b.high <= a.low) return false;
    // Rows against rows: only ranges that interleave come here, and a pair costs less than the row of the matmul it stands for.
    for (0..first.shape[0]) |i| {
        for (0..second.shape[0]) |j| {
            if (meet(rowOf(first, i), rowOf(second, j))) return true;
        }
    }
    return false;
}

fn rowOf(matrix: Matrix, row: usize) Progression {
    const bytes: i128 = @intCast(matrix.elementBytes());
    return .{
        .first = @divExact(@as(i128, matrix.address), bytes) + @as(i128, matrix.strides[0]) * @as(i128, @intCast(row)),
        .step = matrix.strides[1],
        .len = @intCast(matrix.shape[1]),
    };
}

fn ascending(p: Progression) Progression {
    if (p.step == 0 or p.len == 1) return .{ .first = p.first, .step = 1, .len = 1 };
    if (p.step > 0) return p;
    return .{ .first = p.first + p.step * (p.len - 1), .step = -p.step, .len = p.len };
}

/// Whether two progressions have an element in common.
fn meet(first: Progression, second: Progression) bool {
    const a = ascending(first);
    const b = ascending(second);
    const low = @max(a.first, b.first);
    const high = @min(a.first + a.step * (a.len - 1), b.first + b.step * (b.len - 1));
    if (low > high) return false;
    // a.first + x * a.step = b.first + y * b.step: solvable when the greatest common divisor divides the distance.
    const euclid = extendedGcd(a.step, b.step);
    const distance = b.first - a.first;
    if (@mod(distance, euclid.gcd) != 0) return false;
    const period = @divExact(a.step * b.step, euclid.gcd);
    const x = @mod(@divExact(distance, euclid.gcd) * euclid.x, @divExact(b.step, euclid.gcd));
    const common = a.first + x * a.step;
    // `common` repeats every `period`: the first at or after `low` must lie within `high`.
    return common + ceilDivide(low - common, period) * period <= high;
}

fn ceilDivide(value: i128, by: i128) i128 {
    return -@divFloor(-value, by);
}

fn extendedGcd(a: i128, b: i128) struct { gcd: i128, x: i128 } {
    var r0 = a;
    var r1 = b;
    var x0: i128 = 1;
    var x1: i128 = 0;
    while (r1 != 0) {
        const quotient = @divTrunc(r0, r1);
        const r2 = r0 - quotient * r1;
        const x2 = x0 - quotient * x1;
        r0 = r1;
        r1 = r2;
        x0 = x1;
        x1 = x2;
    }
    return .{ .gcd = r0, .x = x0 };
}

/// Whether two indices of one view name the same element.
pub fn sharesWithItself(matrix: Matrix) bool {
    if (matrix.isEmpty()) return false;
    const rows = matrix.shape[0];
    const columns = matrix.shape[1];
    const row_step: u64 = @abs(matrix.strides[0]);
    const column_step: u64 = @abs(matrix.strides[1]);
    if (rows > 1 and row_step == 0) return true;
    if (columns > 1 and column_step == 0) return true;
    if (rows == 1 or columns == 1) return false;
    // i * row_step = j * column_step has its smallest solution at i = column_step / gcd, j = row_step / gcd.
    const gcd = std.math.gcd(row_step, column_step);
    return column_step / gcd < rows and row_step / gcd < columns;
}

fn testView(address: usize, shape: [2]usize, strides: [2]isize) Matrix {
    return .{ .name = "view", .element = .f32, .address = address, .shape = shape, .strides = strides };
}

test "interleaved columns of one array do not overlap" {
    const even = testView(4096, .{ 8, 4 }, .{ 8, 2 });
    const odd = testView(4100, .{ 8, 4 }, .{ 8, 2 });
    try std.testing.expect(!shareMemory(even, odd));
    try std.testing.expect(shareMemory(even, even));
}

test "overlap agrees with marking every element" {
    var random: std.Random.DefaultPrng = .init(7);
    const rng = random.random();
    for (0..20_000) |_| {
        var views: [2]Matrix = undefined;
        for (&views) |*view| view.* = testView(
            4 * (1000 + rng.uintLessThan(usize, 40)),
            .{ rng.intRangeAtMost(usize, 1, 4), rng.intRangeAtMost(usize, 1, 5) },
            .{ rng.intRangeAtMost(isize, -9, 9), rng.intRangeAtMost(isize, -5, 5) },
        );
        var touched: [2]std.StaticBitSet(2000) = @splat(.empty);
        var repeats = false;
        for (views, &touched, 0..) |view, *set, which| {
            for (0..view.shape[0]) |i| for (0..view.shape[1]) |j| {
                const at: isize = @as(isize, @intCast(view.address / 4)) + @as(isize, @intCast(i)) * view.strides[0] +
                    @as(isize, @intCast(j)) * view.strides[1];
                if (which == 0 and set.isSet(@intCast(at))) repeats = true;
                set.set(@intCast(at));
            };
        }
        const expected = touched[0].intersectWith(touched[1]).count() != 0;
        try std.testing.expectEqual(expected, shareMemory(views[0], views[1]));
        try std.testing.expectEqual(repeats, sharesWithItself(views[0]));
    }
}
