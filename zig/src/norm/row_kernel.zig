//! Normalisations of rows of adjacent values: softmax, log-softmax, layer norm, root-mean-square norm. In place or not.
//!
//! A row takes three stages: it is read (its largest value, its sum), its powers or squares are summed, it is finished. One loop does a stage
//! each of three rows, so that reading from memory, arithmetic and writing overlap; a row has the same bits alone.
//!
//! Sums are taken in blocks: within a block lane by lane, block sums in float64, so that long rows lose nothing.

const std = @import("std");
const elementary = @import("../simd/elementary.zig");
const exp_table = @import("../simd/exp_table.zig");
const fetch = @import("../simd/fetch.zig");
const fma = @import("../simd/fma.zig");
const partial = @import("../simd/partial.zig");
const stream_store = @import("../simd/stream_store.zig");
const vector_math = @import("../simd/vector_math.zig");
const wide_row = @import("wide_row.zig");

const Arithmetic = fma.Arithmetic;

/// The numbers are those of agpu.h; normalize.zig asserts that.
pub const Operation = enum(u32) { softmax = 0, log_softmax = 1, layer_norm = 2, rms_norm = 3 };

pub fn Rows(comptime T: type) type {
    return struct {
        operation: Operation,
        count: usize = 1,
        x: [*]const T,
        out: [*]T,
        /// Distance from row to row, in elements.
        x_step: isize = 0,
        out_step: isize = 0,
        len: usize,
        /// Factor and addend of each value, of layer_norm and rms_norm.
        scale: ?[*]const T,
        shift: ?[*]const T,
        epsilon: f64,
        /// Where the mean of each row of layer_norm goes, and one over its deviation; both or neither.
        means: ?[*]T = null,
        inverse_deviations: ?[*]T = null,
        /// Whether stores bypass the caches. `stream_store.finish` must follow then.
        streams: bool = false,
        /// Whether `out` is too long for the second cache to hold, and is asked for before it is written: in the caches that would cost 7 %.
        is_far: bool = false,
    };
}

/// Values of a block: its sum in single precision keeps all but the last three bits.
const block_len = 4096;
/// Three rows of this length stay in L1 or close to it, and two of their powers.
pub const short_row = 2048;
/// Rows up to this long end so often that what follows from a whole row (a logarithm, a division) is given the time of one more.
const waiting_row = 512;
/// Rows from stage to stage at most.
const most_lag = 2;

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, job: *const Rows(T)) void {
    // Everything below is inlined into one function.
    @setEvalBranchQuota(20_000);
    if (job.len == 0) return;
    switch (job.operation) {
        .softmax => Kernel(T, lanes, arithmetic, .{ .operation = .softmax }).run(job),
        .log_softmax => Kernel(T, lanes, arithmetic, .{ .operation = .log_softmax }).run(job),
        inline .layer_norm, .rms_norm => |operation| switch (job.scale != null) {
            inline else => |has_scale| switch (job.shift != null) {
                inline else => |has_shift| Kernel(T, lanes, arithmetic, .{
                    .operation = operation,
                    .has_scale = has_scale,
                    .has_shift = has_shift,
                }).run(job),
            },
        },
    }
}

/// Vectors whose additions do not wait for each other.
pub fn Group(comptime T: type, comptime lanes: comptime_int) type {
    return [chains]@Vector(lanes, T);
}

/// e^x of values that are not positive. A value has the same bits whatever stands beside it.
pub inline fn powers(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, group: Group(T, lanes)) Group(T, lanes) {
    const V = @Vector(lanes, T);
    var values = group;
    if (comptime exp_table.isFor(T, lanes, arithmetic)) {
        const table = exp_table.ExpTable(lanes);
        if (table.areOrdinary(chains, values)) {
            inline for (&values) |*value| value.* = table.ordinary(value.*);
        } else {
            inline for (&values) |*value| value.* = table.anywhere(value.*);
        }
        return values;
    }
    if (T == f32) {
        // One test serves all vectors.
        var is_ordinary: @Vector(lanes, bool) = @splat(true);
        inline for (values) |value| is_ordinary = is_ordinary & (@abs(value) <= @as(V, @splat(vector_math.ordinary_exponent)));
        if (@reduce(.And, is_ordinary)) {
            inline for (&values) |*value| value.* = vector_math.expOrdinary(arithmetic, V, value.*);
        } else {
            inline for (&values) |*value| value.* = vector_math.expAnywhere(arithmetic, V, value.*);
        }
        return values;
    }
    inline for (&values) |*value| value.* = elementary.exp(V, value.*);
    return values;
}

/// Asks for the cache lines of a group: as far as the second cache, for the first has no place for them.
pub inline fn ask(comptime T: type, comptime lanes: comptime_int, group: [*]const T) void {
    const line_len = 64 / @sizeOf(T);
    inline for (0..@max(1, chains * lanes / line_len)) |line| @prefetch(group + line * line_len, .{ .locality = 2 });
}

/// Additions of different chains do not wait for each other: more than an addition takes cycles, with two of them begun in each.
pub const chains = 4;

/// The sum of the lanes, halves upon halves: a chain of four additions instead of sixteen.
pub fn laneSum(comptime T: type, comptime lanes: comptime_int, values: @Vector(lanes, T)) T {
    if (lanes == 1) return values[0];
    const half = lanes / 2;
    const indices = std.simd.iota(i32, lanes);
    const low = @shuffle(T, values, undefined, std.simd.extract(indices, 0, half));
    const high = @shuffle(T, values, undefined, std.simd.extract(indices, half, half));
    return laneSum(T, half, low + high);
}

inline fn laneLargest(comptime T: type, comptime lanes: comptime_int, values: @Vector(lanes, T)) T {
    if (lanes == 1) return values[0];
    const half = lanes / 2;
    return laneLargest(T, half, larger(@Vector(half, T), std.simd.extract(values, 0, half), std.simd.extract(values, half, half)));
}

/// One instruction, unlike @max; with a NaN among them either may come out, and the row is NaN throughout anyway.
pub inline fn larger(comptime V: type, a: V, b: V) V {
    return @select(@typeInfo(V).vector.child, a > b, a, b);
}

const Variant = struct { operation: Operation, has_scale: bool = false, has_shift: bool = false };

/// Which rows a loop processes at the same time.
const Stages = struct { reads: bool = false, sums: bool = false, finishes: bool = false };

fn Kernel(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime variant: Variant) type {
    return struct {
        const V = @Vector(lanes, T);
        const Job = Rows(T);
        const group_len = chains * lanes;
        const operation = variant.operation;
        /// The logarithm keeps no powers, and has so much to compute that rows which have left L1 are read in time; sums and squares have not.
        const overlapped_row = if (operation == .log_softmax) 2 * short_row else short_row;
        const is_softmax = operation == .softmax or operation == .log_softmax;

        /// A row and what is known about it.
        const Line = struct {
            row: usize,
            x: [*]const T,
            out: [*]T,
            /// Memory in which softmax keeps powers.
            powers: [*]T,
            /// The largest value or the mean, known once the row was read.
            shift: T = 0,
            /// The factor, known once the row was summed. The logarithm adds it.
            factor: T = 0,
            /// The row behind it, which is prefetched meanwhile.
            next: ?[*]const T = null,

            inline fn of(job: *const Job, row: usize, kept: [*]T) Line {
                return .{ .row = row, .x = stepped([*]const T, job.x, job.x_step, row), .out = stepped([*]T, job.out, job.out_step, row), .powers = kept };
            }
        };

        /// The rows that a loop goes over.
        const Places = struct { read: *const Line, summed: *const Line, finished: *const Line };

        /// What the stages found out about the values they processed.
        const Found = struct { largest: T = -std.math.inf(T), total: f64 = 0, sum: f64 = 0 };

        inline fn stepped(comptime P: type, first: P, step: isize, row: usize) P {
            return first + @as(usize, @bitCast(step *% @as(isize, @intCast(row))));
        }

        inline fn run(job: *const Job) void {
            if (job.len > overlapped_row) {
                for (0..job.count) |row| runAlone(job, row);
            } else runOverlapped(job);
        }

        /// While a row is read, the one before it (or, of short rows, the second before it) is summed and the one as far before that finished.
        inline fn runOverlapped(job: *const Job) void {
            var kept: [if (operation == .softmax) most_lag + 1 else 0][short_row + group_len]T align(64) = undefined;
            // More than there are in flight, and a power of two.
            var lines: [8]Line = undefined;
            comptime std.debug.assert(lines.len > 2 * most_lag);
            const lag: usize = if (job.len <= waiting_row) most_lag else 1;
            for (0..job.count + 2 * lag) |at| {
                const reads = at < job.count;
                const sums = at >= lag and at < job.count + lag;
                const finishes = at >= 2 * lag;
                const reading = &lines[at % lines.len];
                const summing = &lines[(at -% lag) % lines.len];
                if (reads) {
                    const slot = if (lag == 1) at % 2 else at % (most_lag + 1);
                    reading.* = .of(job, at, if (operation == .softmax) &kept[slot] else undefined);
                    if (at + 1 < job.count) reading.next = stepped([*]const T, job.x, job.x_step, at + 1);
                }
                const places: Places = .{ .read = reading, .summed = summing, .finished = &lines[(at -% 2 * lag) % lines.len] };
                var found: Found = .{};
                if (reads and finishes) {
                    found = pass(.{ .reads = true, .sums = true, .finishes = true }, job, places, 0, job.len);
                } else {
                    if (finishes) _ = pass(.{ .finishes = true }, job, places, 0, job.len);
                    if (sums) found = pass(.{ .sums = true }, job, places, 0, job.len);
                    if (reads) {
                        const read = pass(.{ .reads = true }, job, places, 0, job.len);
                        found.largest = read.largest;
                        found.total = read.total;
                    }
                }
                if (reads) reading.shift = shiftOf(job, found);
                if (sums) settle(job, summing, found);
            }
        }

        /// One long row: a block after the other.
        inline fn runAlone(job: *const Job, row: usize) void {
            var line: Line = .of(job, row, stepped([*]T, job.out, job.out_step, row));
            const places: Places = .{ .read = &line, .summed = &line, .finished = &line };
            inline for (.{ Stages{ .reads = true }, Stages{ .sums = true } }) |stages| {
                var found: Found = .{};
                var begin: usize = 0;
                while (begin < job.len) : (begin += block_len) {
                    const block = pass(stages, job, places, begin, @min(job.len, begin + block_len));
                    found.largest = larger(@Vector(1, T), .{block.largest}, .{found.largest})[0];
                    found.total += block.total;
                    found.sum += block.sum;
                }
                if (stages.reads) line.shift = shiftOf(job, found) else settle(job, &line, found);
            }
            _ = pass(.{ .finishes = true }, job, places, 0, job.len);
        }

        inline fn shiftOf(job: *const Job, found: Found) T {
            return switch (operation) {
                .softmax, .log_softmax => found.largest,
                .layer_norm => @floatCast(found.total / @as(f64, @floatFromInt(job.len))),
                .rms_norm => 0,
            };
        }

        inline fn factorOf(job: *const Job, found: Found) T {
            return switch (operation) {
                .softmax => @floatCast(1.0 / found.sum),
                .log_softmax => @floatCast(-elementary.log(@Vector(1, f64), .{found.sum})[0]),
                .layer_norm, .rms_norm => @floatCast(1.0 / @sqrt(found.sum / @as(f64, @floatFromInt(job.len)) + job.epsilon)),
            };
        }

        /// What is known about a row once it was summed.
        inline fn settle(job: *const Job, line: *Line, found: Found) void {
            if (T == f32 and !is_softmax and wide_row.isNeeded(found.sum / @as(f64, @floatFromInt(job.len)), job.epsilon)) {
                // The values are standardised already, so only scale and shift remain.
                const moments = wide_row.standardize(line.x[0..job.len], line.out, operation == .layer_norm, job.epsilon);
                note(job, line, @floatCast(moments.mean), @floatCast(moments.factor));
                line.x = line.out;
                line.shift = 0;
                line.factor = 1;
                return;
            }
            line.factor = factorOf(job, found);
            note(job, line, line.shift, line.factor);
        }

        inline fn note(job: *const Job, line: *const Line, mean: T, inverse_deviation: T) void {
            if (operation != .layer_norm) return;
            const means = job.means orelse return;
            means[line.row] = mean;
            job.inverse_deviations.?[line.row] = inverse_deviation;
        }

        /// Values [begin, end) of the rows of the given stages: a block at most where sums are taken.
        inline fn pass(comptime stages: Stages, job: *const Job, places: Places, begin: usize, end: usize) Found {
            const reading = if (stages.reads) places.read.* else undefined;
            const summing = if (stages.sums) places.summed.* else undefined;
            var read: Group(T, lanes) = @splat(@splat(if (is_softmax and stages.reads) reading.x[begin] else 0));
            var sums: Group(T, lanes) = @splat(@splat(0));
            var finishing: if (stages.finishes) Finishing else void = if (stages.finishes) .start(job, places.finished.*) else {};
            var i = begin;
            while (i + group_len <= end) : (i += group_len) {
                if (stages.reads) {
                    if (reading.next) |next| ask(T, lanes, next + i);
                    if (operation != .rms_norm) read = joined(read, load(reading.x + i));
                }
                if (stages.sums) {
                    const values = mapped(summing, load(summing.x + i));
                    if (operation == .softmax) save(summing.powers + i, values);
                    sums = added(sums, values);
                }
                if (stages.finishes) finishing.writeGroup(job);
            }
            if (i < end) {
                const rest = end - i;
                if (stages.reads and operation != .rms_norm) read = joined(read, partial.load(T, lanes, chains, reading.x + i, rest, if (is_softmax) reading.x[i] else 0));
                if (stages.sums) {
                    var values = mapped(summing, partial.load(T, lanes, chains, summing.x + i, rest, summing.shift));
                    if (operation == .softmax) {
                        // Kept powers have room for a whole group.
                        if (summing.powers == summing.out) partial.save(T, lanes, chains, summing.powers + i, rest, values) else save(summing.powers + i, values);
                    }
                    inline for (&values, 0..) |*value, part| {
                        const indices = std.simd.iota(u32, lanes) + @as(@Vector(lanes, u32), @splat(part * lanes));
                        const is_inside = indices < @as(@Vector(lanes, u32), @splat(@intCast(rest)));
                        value.* = @select(T, is_inside, value.*, @as(V, @splat(0)));
                    }
                    sums = added(sums, values);
                }
            }
            if (stages.finishes) finishing.writeRest(job);
            var found: Found = .{};
            if (stages.reads) switch (operation) {
                .softmax, .log_softmax => found.largest = laneLargest(T, lanes, larger(V, larger(V, read[0], read[1]), larger(V, read[2], read[3]))),
                .layer_norm => found.total = laneSum(T, lanes, (read[0] + read[1]) + (read[2] + read[3])),
                .rms_norm => {},
            };
            if (stages.sums) found.sum = laneSum(T, lanes, (sums[0] + sums[1]) + (sums[2] + sums[3]));
            return found;
        }

        inline fn load(from: [*]const T) Group(T, lanes) {
            var group: Group(T, lanes) = undefined;
            inline for (&group, 0..) |*value, part| value.* = from[part * lanes ..][0..lanes].*;
            return group;
        }

        inline fn save(to: [*]T, group: Group(T, lanes)) void {
            inline for (group, 0..) |value, part| to[part * lanes ..][0..lanes].* = value;
        }

        inline fn joined(read: Group(T, lanes), values: Group(T, lanes)) Group(T, lanes) {
            var result = read;
            inline for (&result, values) |*known, value| known.* = if (is_softmax) larger(V, value, known.*) else known.* + value;
            return result;
        }

        /// The powers e^(x - largest), or the distances from the mean.
        inline fn mapped(line: Line, values: Group(T, lanes)) Group(T, lanes) {
            var result = values;
            inline for (&result) |*value| value.* -= @as(V, @splat(line.shift));
            return if (is_softmax) powers(T, lanes, arithmetic, result) else result;
        }

        inline fn added(sums: Group(T, lanes), values: Group(T, lanes)) Group(T, lanes) {
            var result = sums;
            inline for (&result, values) |*sum, value| sum.* = if (is_softmax) sum.* + value else fma.multiplyAdd(arithmetic, V, value, value, sum.*);
            return result;
        }

        /// What is written of a row, whose whole vectors begin with a cache line.
        const Finishing = struct {
            line: Line,
            streams: bool,
            is_far: bool,
            /// Whole vectors that are not written yet.
            at: usize,
            end: usize,
            head: usize,
            /// What lies before and behind: computed before anything is written, which may be where it is read.
            ends: [2]V,

            inline fn start(job: *const Job, line: Line) Finishing {
                if (job.len < lanes) return .{ .line = line, .streams = false, .is_far = false, .at = 0, .end = 0, .head = 0, .ends = undefined };
                const misaligned = @intFromPtr(line.out) / @sizeOf(T) % lanes;
                const head = (lanes - misaligned) % lanes;
                return .{
                    .line = line,
                    .streams = job.streams and !(operation == .softmax and line.powers == line.out),
                    .is_far = job.is_far,
                    .at = head,
                    .end = head + (job.len - head) / lanes * lanes,
                    .head = head,
                    .ends = .{ finished(V, job, line, 0), finished(V, job, line, job.len - lanes) },
                };
            }

            inline fn writeGroup(self: *Finishing, job: *const Job) void {
                if (self.at + group_len > self.end) return;
                var values: Group(T, lanes) = undefined;
                inline for (&values, 0..) |*value, part| value.* = finished(V, job, self.line, self.at + part * lanes);
                self.write(chains, values);
            }

            inline fn write(self: *Finishing, comptime count: usize, values: [count]V) void {
                const target = self.line.out + self.at;
                if (self.streams) {
                    inline for (values, 0..) |value, part| stream_store.store(lanes * @sizeOf(T), @ptrCast(target + part * lanes), @bitCast(value));
                } else {
                    if (self.is_far) fetch.ahead(count * lanes * @sizeOf(T), target, .write);
                    inline for (values, 0..) |value, part| target[part * lanes ..][0..lanes].* = value;
                }
                self.at += count * lanes;
            }

            inline fn writeRest(self: *Finishing, job: *const Job) void {
                const out = self.line.out;
                if (job.len < lanes) {
                    for (0..job.len) |at| out[at] = finished(@Vector(1, T), job, self.line, at)[0];
                    return;
                }
                while (self.at + group_len <= self.end) self.writeGroup(job);
                while (self.at < self.end) self.write(1, .{finished(V, job, self.line, self.at)});
                partial.saveFirst(T, lanes, out, self.head, self.ends[0]);
                partial.saveLast(T, lanes, out + self.end, job.len - self.end, self.ends[1]);
            }
        };

        inline fn finished(comptime Values: type, job: *const Job, line: Line, at: usize) Values {
            const width = @typeInfo(Values).vector.len;
            const factor: Values = @splat(line.factor);
            if (operation == .softmax) return @as(Values, line.powers[at..][0..width].*) * factor;
            const value = @as(Values, line.x[at..][0..width].*) - @as(Values, @splat(line.shift));
            if (operation == .log_softmax) return value + factor;
            const even = value * factor;
            if (variant.has_scale) {
                const scale: Values = job.scale.?[at..][0..width].*;
                if (!variant.has_shift) return even * scale;
                return fma.multiplyAdd(arithmetic, Values, even, scale, job.shift.?[at..][0..width].*);
            }
            return if (variant.has_shift) even + @as(Values, job.shift.?[at..][0..width].*) else even;
        }
    };
}
