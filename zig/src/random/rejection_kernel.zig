//! Distributions that are sampled by rejection or by search. Each element has a block of its own (beta two), and its attempts are numbered in
//! the high half of the counter, so that no element depends on how many attempts its neighbours took. All is computed in float64.

const std = @import("std");
const philox = @import("philox.zig");
const math = @import("random_math.zig");

pub const Distribution = enum { gamma, beta, poisson, binomial };

/// Attempts at most: 95 of 100 are accepted in the worst case, so none is missing before the universe ends, and every loop has a bound.
const max_attempts = 256;
/// Values that a search by inversion tries at most; means are below 10 there.
const max_search = 256;
/// Means from which on rejection is quicker than a search.
const search_limit = 10;
/// The attempt that gives the power of gammas below 1.
const boost_attempt = 1 << 31;

pub const Job = struct {
    distribution: Distribution,
    count: usize,
    target: [*]f64,
    key: u64,
    high: u64,
    block: u64,
    /// Parameters of the first element; the step is 0 where all elements share them, else 1.
    a: [*]const f64,
    a_step: usize,
    b: [*]const f64,
    b_step: usize,
};

pub inline fn draw(comptime lanes: comptime_int, job: *const Job) void {
    // Everything is inlined here, the coefficients of all series included.
    @setEvalBranchQuota(20_000);
    switch (job.distribution) {
        inline else => |distribution| drawOf(lanes, distribution, job),
    }
}

inline fn drawOf(comptime lanes: comptime_int, comptime distribution: Distribution, job: *const Job) void {
    const V = @Vector(lanes, f64);
    const blocks_each = if (distribution == .beta) 2 else 1;
    var done: usize = 0;
    while (done < job.count) : (done += lanes) {
        const left = @min(lanes, job.count - done);
        const a = parameters(lanes, job.a, job.a_step, done, left);
        const b = parameters(lanes, job.b, job.b_step, done, left);
        const number = (@as(@Vector(lanes, u64), @splat(done)) +% std.simd.iota(u64, lanes)) *% @as(@Vector(lanes, u64), @splat(blocks_each));
        const place: Place(lanes) = .{ .key = job.key, .low = @as(@Vector(lanes, u64), @splat(job.block)) +% number, .high = job.high };
        const value: V = switch (distribution) {
            .gamma => gamma(lanes, place, a).value() * b,
            .beta => beta(lanes, place, a, b),
            .poisson => poisson(lanes, place, a),
            .binomial => binomial(lanes, place, a, b),
        };
        const values: [lanes]f64 = value;
        for (job.target[done..][0..left], values[0..left]) |*to, one| to.* = one;
    }
}

inline fn parameters(comptime lanes: comptime_int, source: [*]const f64, step: usize, done: usize, left: usize) @Vector(lanes, f64) {
    if (step == 0) return @splat(source[0]);
    if (left == lanes) return source[done..][0..lanes].*;
    var values: [lanes]f64 = @splat(source[done]);
    for (values[0..left], source[done..][0..left]) |*to, one| to.* = one;
    return values;
}

/// Where the elements of lanes draw their words.
fn Place(comptime lanes: comptime_int) type {
    return struct {
        key: u64,
        low: @Vector(lanes, u64),
        high: u64,

        inline fn words(place: @This(), attempt: usize) [philox.block_words]@Vector(lanes, u64) {
            return philox.blocks(lanes, place.key, place.low, @splat(place.high +% attempt));
        }

        inline fn pairs(place: @This(), attempt: usize) [2]@Vector(lanes, u64) {
            const all_words = place.words(attempt);
            return .{ all_words[0] | all_words[1] << @splat(32), all_words[2] | all_words[3] << @splat(32) };
        }
    };
}

inline fn all(comptime V: type, value: comptime_float) V {
    return @splat(value);
}

inline fn both(comptime lanes: comptime_int, a: @Vector(lanes, bool), b: @Vector(lanes, bool)) @Vector(lanes, bool) {
    return @select(bool, a, b, @as(@Vector(lanes, bool), @splat(false)));
}

inline fn either(comptime lanes: comptime_int, a: @Vector(lanes, bool), b: @Vector(lanes, bool)) @Vector(lanes, bool) {
    return @select(bool, a, @as(@Vector(lanes, bool), @splat(true)), b);
}

/// A gamma number and the logarithm of the factor that small shapes take: apart, because the product may be too small for a float.
fn Gamma(comptime lanes: comptime_int) type {
    return struct {
        plain: @Vector(lanes, f64),
        log_factor: @Vector(lanes, f64),

        inline fn value(self: @This()) @Vector(lanes, f64) {
            const V = @Vector(lanes, f64);
            const has_factor = self.log_factor != all(V, 0);
            if (!@reduce(.Or, has_factor)) return self.plain;
            return @select(f64, has_factor, self.plain * math.exp64(V, self.log_factor), self.plain);
        }
    };
}

/// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; shapes below 1 by its section 6.
inline fn gamma(comptime lanes: comptime_int, place: Place(lanes), shape: @Vector(lanes, f64)) Gamma(lanes) {
    const V = @Vector(lanes, f64);
    const closed: @Vector(lanes, bool) = @splat(false);
    const is_small = shape < all(V, 1);
    const raised = @select(f64, is_small, shape + all(V, 1), shape);
    const d = raised - all(V, 1.0 / 3.0);
    const c = all(V, 1) / @sqrt(d * all(V, 9));
    var result = d;
    var is_open: @Vector(lanes, bool) = @splat(true);
    for (0..max_attempts) |attempt| {
        const words = place.words(attempt);
        const radius = @sqrt(math.log64(V, math.openUnit64(lanes, words[0] | words[1] << @splat(32))) * all(V, -2));
        const x = radius * math.turn64(lanes, words[2] << @splat(32)).cos;
        const t = @mulAdd(V, c, x, all(V, 1));
        const is_positive = t > all(V, 0);
        const square = t * t;
        const v = @select(f64, is_positive, square * t, all(V, 1));
        const u = @mulAdd(V, math.fromInteger(V, words[3]), all(V, 0x1p-32), all(V, 0x1p-33));
        // log(u) < x^2 / 2 + d (1 - v + log(v))
        const inner = (all(V, 1) - v) + math.log64(V, v);
        const half = x * all(V, 0.5);
        const bound = @mulAdd(V, half, x, d * inner);
        const is_good = both(lanes, both(lanes, is_positive, is_open), math.log64(V, u) < bound);
        result = @select(f64, is_good, d * v, result);
        is_open = @select(bool, is_good, closed, is_open);
        if (!@reduce(.Or, is_open)) break;
    }
    var log_factor = all(V, 0);
    if (@reduce(.Or, is_small)) {
        const u = math.openUnit64(lanes, place.pairs(boost_attempt)[0]);
        // A shape of 0 gives 0: its factor is too small for any float.
        const power = math.log64(V, u * all(V, 0.9999999999999999)) / shape;
        log_factor = @select(f64, is_small, power, log_factor);
    }
    return .{ .plain = result, .log_factor = log_factor };
}

/// X / (X + Y) of two gamma numbers, by their logarithms: with small parameters both may be too small for floats.
inline fn beta(comptime lanes: comptime_int, place: Place(lanes), a: @Vector(lanes, f64), b: @Vector(lanes, f64)) @Vector(lanes, f64) {
    const V = @Vector(lanes, f64);
    const x = gamma(lanes, place, a);
    const y = gamma(lanes, .{ .key = place.key, .low = place.low +% @as(@Vector(lanes, u64), @splat(1)), .high = place.high }, b);
    const log_x = math.log64(V, x.plain) + x.log_factor;
    const log_y = math.log64(V, y.plain) + y.log_factor;
    return all(V, 1) / (math.exp64(V, log_y - log_x) + all(V, 1));
}

/// Inversion by search for small means, transformed rejection with squeeze (Hörmann 1993, algorithm PTRS) for others.
inline fn poisson(comptime lanes: comptime_int, place: Place(lanes), mean: @Vector(lanes, f64)) @Vector(lanes, f64) {
    const V = @Vector(lanes, f64);
    const closed: @Vector(lanes, bool) = @splat(false);
    const is_searched = mean < all(V, search_limit);
    var result = all(V, 0);
    if (@reduce(.Or, is_searched)) {
        const u = math.unit64(lanes, place.pairs(0)[0]);
        var probability = math.exp64(V, -mean);
        var sum = probability;
        var k = all(V, 0);
        for (0..max_search) |_| {
            const is_open = both(lanes, is_searched, u >= sum);
            if (!@reduce(.Or, is_open)) break;
            k = k + all(V, 1);
            probability = probability * (mean / k);
            sum = sum + probability;
            result = @select(f64, is_open, k, result);
        }
    }
    if (@reduce(.And, is_searched)) return result;
    // Lanes that were searched get a mean for which the other way is defined.
    const large = @select(f64, is_searched, all(V, search_limit), mean);
    const root = @sqrt(large);
    const log_mean = math.log64(V, large);
    const b = @mulAdd(V, root, all(V, 2.53), all(V, 0.931));
    const a = @mulAdd(V, b, all(V, 0.02483), all(V, -0.059));
    const log_inverse_alpha = math.log64(V, all(V, 1.1328) / (b - all(V, 3.4)) + all(V, 1.1239));
    const squeeze = all(V, 0.9277) - all(V, 3.6224) / (b - all(V, 2));
    var is_open = @select(bool, is_searched, closed, @as(@Vector(lanes, bool), @splat(true)));
    for (0..max_attempts) |attempt| {
        const pairs = place.pairs(attempt);
        const u = math.unit64(lanes, pairs[0]) - all(V, 0.5);
        const v = math.openUnit64(lanes, pairs[1]);
        const tail = all(V, 0.5) - @abs(u);
        const k = @floor(@mulAdd(V, (a + a) / tail + b, u, large + all(V, 0.43)));
        const is_inside = both(lanes, tail >= all(V, 0.07), v <= squeeze);
        const is_possible = k >= all(V, 0);
        var is_good = is_inside;
        // The squeeze accepts most numbers; what it does not is compared with the density.
        if (@reduce(.Or, @select(bool, is_inside, closed, is_open))) {
            const kept = @select(f64, is_possible, k, all(V, 0));
            const left = (math.log64(V, v) + log_inverse_alpha) - math.log64(V, a / (tail * tail) + b);
            const right = @mulAdd(V, kept, log_mean, -large) - math.logFactorial(V, kept);
            is_good = either(lanes, is_inside, both(lanes, is_possible, left <= right));
        }
        is_good = both(lanes, is_open, is_good);
        result = @select(f64, is_good, k, result);
        is_open = @select(bool, is_good, closed, is_open);
        if (!@reduce(.Or, is_open)) break;
    }
    return result;
}

/// Inversion by search for small means, transformed rejection (Hörmann 1993, algorithm BTRS) for others; above 1/2 the failures are drawn.
inline fn binomial(comptime lanes: comptime_int, place: Place(lanes), n: @Vector(lanes, f64), p: @Vector(lanes, f64)) @Vector(lanes, f64) {
    const V = @Vector(lanes, f64);
    const is_flipped = p > all(V, 0.5);
    const q = @select(f64, is_flipped, all(V, 1) - p, p);
    const mean = n * q;
    const is_searched = mean < all(V, search_limit);
    const odds = q / (all(V, 1) - q);
    var result = all(V, 0);
    if (@reduce(.Or, is_searched)) {
        const u = math.unit64(lanes, place.pairs(0)[0]);
        var probability = math.exp64(V, n * math.log1p64(V, -q));
        var sum = probability;
        var k = all(V, 0);
        for (0..max_search) |_| {
            const is_open = both(lanes, is_searched, both(lanes, u >= sum, k < n));
            if (!@reduce(.Or, is_open)) break;
            const left = n - k;
            k = k + all(V, 1);
            probability = probability * (odds * (left / k));
            sum = sum + probability;
            result = @select(f64, is_open, k, result);
        }
    }
    if (!@reduce(.And, is_searched)) {
        const rejected = binomialRejected(lanes, place, n, q, odds, is_searched);
        result = @select(f64, is_searched, result, rejected);
    }
    return @select(f64, is_flipped, n - result, result);
}

inline fn binomialRejected(
    comptime lanes: comptime_int,
    place: Place(lanes),
    given_n: @Vector(lanes, f64),
    given_q: @Vector(lanes, f64),
    given_odds: @Vector(lanes, f64),
    is_searched: @Vector(lanes, bool),
) @Vector(lanes, f64) {
    const V = @Vector(lanes, f64);
    const closed: @Vector(lanes, bool) = @splat(false);
    // Lanes that were searched get parameters for which the other way is defined.
    const n = @select(f64, is_searched, all(V, 20), given_n);
    const q = @select(f64, is_searched, all(V, 0.5), given_q);
    const odds = @select(f64, is_searched, all(V, 1), given_odds);
    const mean = n * q;
    const deviation = @sqrt(mean * (all(V, 1) - q));
    const b = @mulAdd(V, deviation, all(V, 2.53), all(V, 1.15));
    const a = @mulAdd(V, q, all(V, 0.01), @mulAdd(V, b, all(V, 0.0248), all(V, -0.0873)));
    const centre = mean + all(V, 0.5);
    const squeeze = all(V, 0.92) - all(V, 4.2) / b;
    const alpha = (all(V, 5.1) / b + all(V, 2.83)) * deviation;
    const log_odds = math.log64(V, odds);
    const mode = @floor(@mulAdd(V, n, q, q));
    const at_mode = math.logFactorial(V, mode) + math.logFactorial(V, n - mode);
    var result = mode;
    var is_open = @select(bool, is_searched, closed, @as(@Vector(lanes, bool), @splat(true)));
    for (0..max_attempts) |attempt| {
        const pairs = place.pairs(attempt);
        const u = math.unit64(lanes, pairs[0]) - all(V, 0.5);
        const v = math.openUnit64(lanes, pairs[1]);
        const tail = all(V, 0.5) - @abs(u);
        const k = @floor(@mulAdd(V, (a + a) / tail + b, u, centre));
        const is_possible = both(lanes, k >= all(V, 0), k <= n);
        const kept = @select(f64, is_possible, k, mode);
        const is_inside = both(lanes, tail >= all(V, 0.07), v <= squeeze);
        var is_good = is_inside;
        if (@reduce(.Or, @select(bool, is_inside, closed, both(lanes, is_open, is_possible)))) {
            const left = math.log64(V, (v * alpha) / (a / (tail * tail) + b));
            const ratio = at_mode - (math.logFactorial(V, kept) + math.logFactorial(V, n - kept));
            const right = @mulAdd(V, kept - mode, log_odds, ratio);
            is_good = either(lanes, is_inside, left <= right);
        }
        is_good = both(lanes, both(lanes, is_open, is_possible), is_good);
        result = @select(f64, is_good, k, result);
        is_open = @select(bool, is_good, closed, is_open);
        if (!@reduce(.Or, is_open)) break;
    }
    return result;
}
