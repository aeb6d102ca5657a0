//! Matrix product of float64 by mma.sync of sm_80 and sm_90.
//!
//! A block computes tile_m x tile_n, its warps part_m x part_n each. Tiles of k lie in a ring of `stages` in shared memory, copied past the
//! threads' registers stages - 1 ahead: 16 bytes at a time where rows are aligned, else one number. Copies are issued one by one between the
//! multiplications, whose units are busy long enough for all that the threads do beside.

const ampere = @import("ampere.zig");
const device = @import("device.zig");
const hopper = @import("hopper.zig");
const double = @import("mma_double.zig");
const Result = @import("epilogue.zig").Result;
const variant = @import("variant");
const warp_double = @import("warp_double.zig");

pub fn Generator(comptime v: variant.Matmul) type {
    return struct {
        const A = Operand(v.tile_m, !v.transpose_a);
        const B = Operand(v.tile_n, v.transpose_b);
        const stage_bytes = A.bytes + B.bytes;
        const Warp = warp_double.Warp(v);
        const copies_count = A.copies + B.copies;

        comptime {
            if (v.tile_m / v.part_m * (v.tile_n / v.part_n) * 32 != v.threads) @compileError("warps do not cover the tile");
        }

        /// One tile of the matmul of two matrices.
        pub inline fn run(source_a: anytype, source_b: anytype, result: *const Result(v), first_m: u32, first_n: u32, k: u32) void {
            @setEvalBranchQuota(10_000_000);
            const thread = @workItemId(0);
            const base = (device.sharedAddress(hopper.shared) + double.row_bytes - 1) & ~@as(u32, double.row_bytes - 1);
            var copies: Copies = .{
                .a = .init(source_a.start, source_a.lead, first_m, source_a.outer_end, thread),
                .b = .init(source_b.start, source_b.lead, first_n, source_b.outer_end, thread),
                .remaining_k = k,
            };
            var slot: u32 = 0;
            while (slot < v.stages - 1) : (slot += 1) {
                copies.begin(base + slot * stage_bytes);
                inline for (0..copies_count) |number| copies.one(number);
            }

            var warp: Warp = .init(thread);
            ampere.waitForCopies(v.stages - 2);
            device.barrier();
            warp.begin(base, base + A.bytes);
            var done: u32 = 0;
            slot = 0;
            while (done < k) : (done += double.tile_k) {
                const stage = base + slot * stage_bytes;
                copies.begin(base + (if (slot == 0) v.stages - 1 else slot - 1) * stage_bytes);
                slot = if (slot == v.stages - 1) 0 else slot + 1;
                const next = base + slot * stage_bytes;
                warp.multiply(stage, stage + A.bytes, 1, &copies);
                // The next tile is there, and everybody has read this one.
                ampere.waitForCopies(v.stages - 2);
                device.barrier();
                warp.multiply(next, next + A.bytes, 0, &warp_double.Nothing{});
            }
            warp.store(result, first_m, first_n);
        }

        /// The copies of a tile, spread over the first products of a step.
        const Copies = struct {
            a: A,
            b: B,
            /// Of k from the tile that is copied on.
            remaining_k: u32,
            stage: u32 = undefined,
            limit_a: u32 = undefined,
            limit_b: u32 = undefined,

            inline fn begin(self: *Copies, stage: u32) void {
                self.stage = stage;
                self.limit_a = self.a.limit(self.remaining_k);
                self.limit_b = self.b.limit(self.remaining_k);
            }

            pub inline fn after(self: *Copies, comptime product: u32) void {
                const share = (copies_count - 1) / Warp.products + 1;
                inline for (@min(product * share, copies_count)..@min((product + 1) * share, copies_count)) |number| self.one(number);
            }

            inline fn one(self: *Copies, comptime number: u32) void {
                if (number < A.copies) {
                    self.a.copy(number, self.stage, self.limit_a);
                } else {
                    self.b.copy(number - A.copies, self.stage + A.bytes, self.limit_b);
                }
                if (number == copies_count - 1) {
                    ampere.commitCopies();
                    self.a.advance();
                    self.b.advance();
                    self.remaining_k -|= double.tile_k;
                }
            }
        };

        fn Operand(comptime outer: u32, comptime is_k_contiguous: bool) type {
            return struct {
                const Self = @This();
                const bytes = outer * double.row_bytes;
                /// How many numbers are copied at a time.
                const width = if (v.is_aligned) 2 else 1;
                const copies = outer * double.tile_k / width / v.threads;
                const line_copies = (if (is_k_contiguous) double.tile_k else outer) / width;
                /// Lines from one copy of a thread to its next.
                const line_step = v.threads / line_copies;

                comptime {
                    if (copies * width * v.threads != outer * double.tile_k) @compileError("threads do not divide the tile");
                    if (line_step * line_copies != v.threads or (is_k_contiguous and line_step % 8 != 0)) @compileError("threads do not copy whole lines");
                }

                /// Of the thread's first number in the tile that is copied next.
                ptr: device.Input(f64),
                lead: u32,
                /// The thread's first line of a tile, and where it goes in shared memory.
                line: u32,
                position: u32,
                /// How much of k has to be left for the thread to copy anything, and lines along the outer dimension: all there are, or,
                /// where lines follow each other along k, any or none.
                needs: u32,
                lines: u32,

                inline fn init(start: device.Input(f64), lead: u32, first: u32, end: u32, thread: u32) Self {
                    const line = thread / line_copies;
                    const along = thread % line_copies * width;
                    const offset = if (is_k_contiguous) @as(usize, first + line) * lead + along else @as(usize, line) * lead + first + along;
                    return .{
                        .ptr = start + offset,
                        .lead = lead,
                        .line = line,
                        .position = double.address(line, along / 2) + along % 2 * 8,
                        .needs = if (is_k_contiguous) along else 0,
                        .lines = if (is_k_contiguous) end - first else if (first + along < end) @as(u32, 0xffff_ffff) else 0,
                    };
                }

                /// Lines of a tile that are inside.
                inline fn limit(self: *const Self, remaining_k: u32) u32 {
                    if (is_k_contiguous) return if (self.needs < remaining_k) self.lines else 0;
                    return @min(remaining_k, self.lines);
                }

                inline fn copy(self: *const Self, comptime number: u32, stage: u32, end: u32) void {
                    const offset = number * line_step;
                    // Kept in no register from one tile to the next.
                    const lead = device.forget(self.lead);
                    const ptr = self.ptr + @as(usize, lead) * offset;
                    const target = (stage + self.position ^ offset % 8 * 16) + offset * double.row_bytes;
                    const is_inside = self.line + offset < end;
                    if (v.is_aligned) {
                        ampere.copy16(target, ptr, if (is_inside) 16 else 0);
                    } else {
                        ampere.copy8(target, ptr, if (is_inside) 8 else 0);
                    }
                }

                inline fn advance(self: *Self) void {
                    self.ptr += if (is_k_contiguous) double.tile_k else @as(usize, self.lead) * double.tile_k;
                }
            };
        }
    };
}
