//! Instructions of sm_90a that Zig and LLVM have no words for: barriers that count bytes, TMA (the tensor memory accelerator), wgmma, clusters.
//! Source: PTX ISA 8.3, "mbarrier", "cp.async.bulk.tensor", "Asynchronous Warpgroup Level Matrix Instructions".

const std = @import("std");
const device = @import("device.zig");
const variant = @import("variant");

/// Numbers of a row that the 128-byte swizzle keeps together.
pub const swizzle_bytes = 128;
/// Bytes of a swizzle pattern: eight rows.
const pattern_bytes = 8 * swizzle_bytes;
/// All that shared memory offers after what the system keeps; launches ask for what a kernel needs.
pub const shared = @extern([*]align(16) addrspace(.shared) u8, .{ .name = "dynamic_shared" });

pub inline fn initBarrier(barrier: u32, arrivals: u32) void {
    asm volatile ("mbarrier.init.shared::cta.b64 [%[barrier]], %[arrivals];"
        :
        : [barrier] "r" (barrier),
          [arrivals] "r" (arrivals),
        : .{ .memory = true });
}

/// Makes initialised barriers visible to the cluster and TMA.
pub inline fn publishBarriers() void {
    asm volatile ("fence.mbarrier_init.release.cluster;" ::: .{ .memory = true });
}

/// Arrives and announces bytes that TMA will deliver.
pub inline fn expectBytes(barrier: u32, bytes: u32) void {
    asm volatile ("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%[barrier]], %[bytes];"
        :
        : [barrier] "r" (barrier),
          [bytes] "r" (bytes),
        : .{ .memory = true });
}

/// Arrives at the barrier that lies at the same position in a block of the cluster.
pub inline fn arriveAt(barrier: u32, block: u32) void {
    asm volatile ("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %[barrier], %[block]; mbarrier.arrive.shared::cluster.b64 _, [remote]; }"
        :
        : [barrier] "r" (barrier),
          [block] "r" (block),
        : .{ .memory = true });
}

pub inline fn arrive(barrier: u32) void {
    asm volatile ("mbarrier.arrive.shared::cta.b64 _, [%[barrier]];"
        :
        : [barrier] "r" (barrier),
        : .{ .memory = true });
}

/// The thread whose number is 0 arrives. Not a branch: LLVM would copy instructions behind it, which all threads of a warp have to execute together,
/// into both of its sides.
pub inline fn arriveFirst(barrier: u32, number: u32) void {
    asm volatile ("{ .reg .pred first; setp.eq.u32 first, %[number], 0; @first mbarrier.arrive.shared::cta.b64 _, [%[barrier]]; }"
        :
        : [barrier] "r" (barrier),
          [number] "r" (number),
        : .{ .memory = true });
}

/// Waits until the phase of that parity has ended. Neither this nor `arriveAt` orders ordinary accesses between blocks: what passes between
/// blocks here is written by TMA and read by wgmma, and an order for all the rest costs a third of the speed.
pub inline fn wait(barrier: u32, parity: u32) void {
    asm volatile ("{ .reg .pred ended; again: mbarrier.try_wait.parity.shared::cta.b64 ended, [%[barrier]], %[parity]; @ended bra done; bra again; done: }"
        :
        : [barrier] "r" (barrier),
          [parity] "r" (parity),
        : .{ .memory = true });
}

/// Copies a box of a matrix to shared memory; the barrier counts its bytes.
pub inline fn copyBox(target: u32, map: device.Input(u8), x: u32, y: u32, z: u32, barrier: u32) void {
    asm volatile ("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%[target]], [%[map], {%[x], %[y], %[z]}], [%[barrier]];"
        :
        : [target] "r" (target),
          [map] "l" (map),
          [x] "r" (x),
          [y] "r" (y),
          [z] "r" (z),
          [barrier] "r" (barrier),
        : .{ .memory = true });
}

/// Copies a box of a matrix of a batch of batches to shared memory; the barrier counts its bytes.
pub inline fn copyBoxOf(target: u32, map: device.Input(u8), x: u32, y: u32, z: u32, w: u32, barrier: u32) void {
    asm volatile ("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%[target]], [%[map], {%[x], %[y], %[z], %[w]}], [%[barrier]];"
        :
        : [target] "r" (target),
          [map] "l" (map),
          [x] "r" (x),
          [y] "r" (y),
          [z] "r" (z),
          [w] "r" (w),
          [barrier] "r" (barrier),
        : .{ .memory = true });
}

/// Copies patches of images to shared memory, a row of channels for each pixel of the results from one on. `from`: channel, column, row and image
/// that the first pixel begins with; `tap`: columns and rows from there.
pub inline fn copyPatches(target: u32, map: device.Input(u8), from: [4]u32, tap: [2]u16, barrier: u32) void {
    asm volatile ("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%[target]], [%[map], {%[channel], %[x], %[y], %[image]}], [%[barrier]], {%[across], %[down]};"
        :
        : [target] "r" (target),
          [map] "l" (map),
          [channel] "r" (from[0]),
          [x] "r" (from[1]),
          [y] "r" (from[2]),
          [image] "r" (from[3]),
          [barrier] "r" (barrier),
          [across] "h" (tap[0]),
          [down] "h" (tap[1]),
        : .{ .memory = true });
}

/// Copies a box of a matrix to the same position of every block of the cluster that `mask` names.
pub inline fn copyBoxToCluster(target: u32, map: device.Input(u8), x: u32, y: u32, z: u32, barrier: u32, mask: u16) void {
    asm volatile ("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%[target]], [%[map], {%[x], %[y], %[z]}], [%[barrier]], %[mask];"
        :
        : [target] "r" (target),
          [map] "l" (map),
          [x] "r" (x),
          [y] "r" (y),
          [z] "r" (z),
          [barrier] "r" (barrier),
          [mask] "h" (mask),
        : .{ .memory = true });
}

/// Copies a box of shared memory to a matrix. Outside the matrix nothing is written.
pub inline fn storeBox(map: device.Input(u8), x: u32, y: u32, z: u32, source: u32) void {
    asm volatile ("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%[map], {%[x], %[y], %[z]}], [%[source]]; cp.async.bulk.commit_group;"
        :
        : [map] "l" (map),
          [x] "r" (x),
          [y] "r" (y),
          [z] "r" (z),
          [source] "r" (source),
        : .{ .memory = true });
}

/// Waits until at most `pending` boxes of this thread are still read from shared memory.
pub inline fn waitForStores(comptime pending: u32) void {
    asm volatile (std.fmt.comptimePrint("cp.async.bulk.wait_group.read {d};", .{pending}) ::: .{ .memory = true });
}

/// What this thread wrote to shared memory becomes visible to TMA.
pub inline fn publishMemory() void {
    asm volatile ("fence.proxy.async.shared::cta;" ::: .{ .memory = true });
}

/// A descriptor in global memory that the host wrote becomes visible to TMA.
pub inline fn acquireMap(map: device.Input(u8)) void {
    asm volatile ("fence.proxy.tensormap::generic.acquire.gpu [%[map]], 128;"
        :
        : [map] "l" (map),
        : .{ .memory = true });
}

/// Copies numbers that lie behind each other to shared memory; `bytes` and both addresses are multiples of 16.
pub inline fn copyLine(target: u32, source: anytype, bytes: u32, barrier: u32) void {
    asm volatile ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%[target]], [%[source]], %[bytes], [%[barrier]];"
        :
        : [target] "r" (target),
          [source] "l" (source),
          [bytes] "r" (bytes),
          [barrier] "r" (barrier),
        : .{ .memory = true });
}

/// A barrier of one warp group.
pub inline fn groupSync(number: u32) void {
    asm volatile ("bar.sync %[number], 128;"
        :
        : [number] "r" (number),
        : .{ .memory = true });
}

/// Two warp groups meet: `groupPass` does not wait for the other one.
pub inline fn groupWait(number: u32) void {
    asm volatile ("bar.sync %[number], 256;"
        :
        : [number] "r" (number),
        : .{ .memory = true });
}

pub inline fn groupPass(number: u32) void {
    asm volatile ("bar.arrive %[number], 256;"
        :
        : [number] "r" (number),
        : .{ .memory = true });
}

pub inline fn clusterSync() void {
    asm volatile ("barrier.cluster.arrive; barrier.cluster.wait;" ::: .{ .memory = true });
}

pub inline fn blockInCluster() u32 {
    return asm ("mov.u32 %[rank], %%cluster_ctarank;"
        : [rank] "=r" (-> u32),
    );
}

pub inline fn gridBlocks() u32 {
    return asm ("mov.u32 %[count], %%nctaid.x;"
        : [count] "=r" (-> u32),
    );
}

/// Gives registers of this warp group back, or takes them.
pub inline fn releaseRegisters(comptime count: u32) void {
    asm volatile (std.fmt.comptimePrint("setmaxnreg.dec.sync.aligned.u32 {d};", .{count}));
}

pub inline fn takeRegisters(comptime count: u32) void {
    asm volatile (std.fmt.comptimePrint("setmaxnreg.inc.sync.aligned.u32 {d};", .{count}));
}

/// The text of a number; `std.fmt` takes seconds of compile time for the thousands of them.
fn decimal(comptime number: u32) []const u8 {
    comptime {
        const digit = [_]u8{'0' + number % 10};
        return if (number < 10) &digit else decimal(number / 10) ++ &digit;
    }
}

/// How an operand lies in shared memory.
pub const Major = enum { k, outer };

/// The descriptor of an operand whose rows of 128 bytes are swizzled. `block_bytes` is from one group of 128 bytes along the outer dimension
/// to the next, for operands that are contiguous along it.
pub inline fn describe(comptime major: Major, comptime block_bytes: u32, address: u32) u64 {
    const leading: u64 = if (major == .k) 1 else block_bytes >> 4;
    const stride: u64 = pattern_bytes >> 4;
    const swizzle_128: u64 = 1 << 62;
    return @as(u64, (address & 0x3ffff) >> 4) | leading << 16 | stride << 32 | swizzle_128;
}

/// From one instruction's share of k to the next, in the units of descriptors.
pub fn kStep(comptime major: Major) u64 {
    return if (major == .k) 32 >> 4 else 2 * pattern_bytes >> 4;
}

/// Sums in registers of a warp group, see `Named`.
pub fn Accumulators(comptime operand: variant.Number, comptime count: u32, comptime columns: u32) type {
    return Named("sum", operand, count, columns);
}

/// Sums in registers of a warp group, by a name that tells them from others of the kernel. LLVM cannot pass so many through one instruction, so
/// they are registers of PTX, declared once at the kernel's beginning and named in every use; ptxas gives them their place as it does for all others.
pub fn Named(comptime prefix: []const u8, comptime operand: variant.Number, comptime count: u32, comptime columns: u32) type {
    return struct {
        const per_instruction = columns / 2;

        pub inline fn declare() void {
            asm volatile (std.fmt.comptimePrint(".reg .b32 {s}<{d}>;", .{ prefix, count * per_instruction }));
        }

        pub inline fn fence() void {
            asm volatile ("wgmma.fence.sync.aligned;" ::: .{ .memory = true });
        }

        pub inline fn commit() void {
            asm volatile ("wgmma.commit_group.sync.aligned;" ::: .{ .memory = true });
        }

        /// Waits until at most `pending` groups run.
        pub inline fn waitFor(comptime pending: u32) void {
            asm volatile (std.fmt.comptimePrint("wgmma.wait_group.sync.aligned {d};", .{pending}) ::: .{ .memory = true });
        }

        /// accumulators[index] = a b + (accumulators[index] if keep)
        pub inline fn multiply(comptime index: u32, comptime majors: [2]Major, a: u64, b: u64, keep: u32) void {
            asm volatile (text(index, majors)
                :
                : [a] "l" (a),
                  [b] "l" (b),
                  [keep] "r" (keep),
                : .{ .memory = true });
        }

        /// The same with `a` from registers; numbers of 32 bits need a `b` with rows of k.
        pub inline fn multiplyRegisters(comptime index: u32, comptime major: Major, a: [4]u32, b: u64, keep: u32) void {
            asm volatile (registersText(index, major)
                :
                : [a0] "r" (a[0]),
                  [a1] "r" (a[1]),
                  [a2] "r" (a[2]),
                  [a3] "r" (a[3]),
                  [b] "l" (b),
                  [keep] "r" (keep),
                : .{ .memory = true });
        }

        fn registersText(comptime index: u32, comptime major: Major) []const u8 {
            comptime {
                const kind = switch (operand) {
                    .f16 => "k16.f32.f16.f16",
                    .bf16 => "k16.f32.bf16.bf16",
                    .tf32 => "k8.f32.tf32.tf32",
                    else => @compileError("not multiplied from registers"),
                };
                if (operand == .tf32 and major != .k) @compileError("tf32 has rows of k");
                const order = if (operand == .tf32) "" else std.fmt.comptimePrint(", {d}", .{@intFromBool(major == .outer)});
                return start ++ kind ++ " {" ++ names(index) ++ "}, {%[a0], %[a1], %[a2], %[a3]}, %[b], keep, 1, 1" ++ order ++ "; }";
            }
        }

        const start = std.fmt.comptimePrint("{{ .reg .pred keep; setp.ne.b32 keep, %[keep], 0; wgmma.mma_async.sync.aligned.m64n{d}", .{columns});

        fn names(comptime index: u32) []const u8 {
            comptime {
                @setEvalBranchQuota(10_000_000);
                var list: []const u8 = "";
                for (0..per_instruction) |i| {
                    list = list ++ (if (i == 0) "" else ", ") ++ prefix ++ decimal(index * per_instruction + i);
                }
                return list;
            }
        }

        fn text(comptime index: u32, comptime majors: [2]Major) []const u8 {
            comptime {
                const kind = switch (operand) {
                    .f16 => "k16.f32.f16.f16",
                    .bf16 => "k16.f32.bf16.bf16",
                    .tf32 => "k8.f32.tf32.tf32",
                    .i8 => "k32.s32.s8.s8",
                    else => @compileError("wgmma does not take it"),
                };
                const order = std.fmt.comptimePrint(", {d}, {d}", .{ @intFromBool(majors[0] == .outer), @intFromBool(majors[1] == .outer) });
                const rest = switch (operand) {
                    .i8 => "",
                    .tf32 => ", 1, 1",
                    else => ", 1, 1" ++ order,
                };
                return start ++ kind ++ " {" ++ names(index) ++ "}, %[a], %[b], keep" ++ rest ++ "; }";
            }
        }

        pub inline fn get(comptime index: u32, comptime register: u32) operand.Sum() {
            const bits = asm volatile ("mov.b32 %[value], " ++ name(index, register) ++ ";"
                : [value] "=r" (-> u32),
            );
            return @bitCast(bits);
        }

        pub inline fn scale(comptime index: u32, comptime register: u32, factor: f32) void {
            const own = comptime name(index, register);
            asm volatile ("mul.f32 " ++ own ++ ", " ++ own ++ ", %[factor];"
                :
                : [factor] "f" (factor),
            );
        }

        pub inline fn clear() void {
            inline for (0..count * per_instruction) |register| {
                asm volatile ("mov.b32 " ++ prefix ++ decimal(register) ++ ", 0;");
            }
        }

        fn name(comptime index: u32, comptime register: u32) []const u8 {
            comptime return prefix ++ decimal(index * per_instruction + register);
        }
    };
}
