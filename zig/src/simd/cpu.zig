//! What this CPU can do: which routines may be entered, and how large its caches are.

const std = @import("std");
const builtin = @import("builtin");

/// Each instruction set includes those before it.
pub const InstructionSet = enum { generic, avx2, avx512, avx512_dot, amx };

pub const Caches = struct {
    /// The defaults, for CPUs whose CPUID says nothing, are the sizes of the smallest x86-64 and aarch64 server cores of the last ten years.
    level1_bytes: usize = 32 << 10,
    level2_bytes: usize = 512 << 10,
    level3_bytes: usize = 8 << 20,

    /// Results from this size on are written past the caches: what is read takes as much room. A third level larger than that of a Zen 4 complex
    /// serves dozens of cores, not this process alone: where it has 480 MiB, the sum of two arrays of 64 MB takes 6.9 ms past it and 10.3 through
    /// it, softmax of 64 MB 5.9 and 7.4; results of 16 MiB take the same time both ways, and what reads them next finds them there.
    pub fn streamedBytes(caches: *const Caches) usize {
        return @min(caches.level3_bytes / 2, 32 << 20);
    }
};

pub const Info = struct {
    /// This is never `amx`, which the operating system must be asked for (tiles.zig).
    instruction_set: InstructionSet,
    /// The CPU has AMX with bfloat16 and bytes, and the operating system saves its registers for those who ask.
    has_tiles: bool = false,
    /// Two multiply-adds of 64 bytes a cycle: register tiles take what they read twice as fast. Known of Intel's CPUs with AMX (Intel 64 and IA-32
    /// Architectures Optimization Reference Manual, Golden Cove: ports 0 and 5); Zen 4 has one.
    has_two_wide_units: bool = false,
    caches: Caches,
};

pub fn detect() Info {
    if (builtin.cpu.arch != .x86_64) return .{ .instruction_set = .generic, .caches = .{} };
    const set = detectInstructionSet();
    // AMX_BF16, AMX_TILE, AMX_INT8.
    const knows_tiles = set == .avx512_dot and has(cpuid(7, 0).edx, &.{ 22, 24, 25 });
    return .{
        .instruction_set = set,
        .has_tiles = knows_tiles and savesTiles(),
        .has_two_wide_units = knows_tiles,
        .caches = detectCaches(),
    };
}

const Registers = struct { eax: u32, ebx: u32, ecx: u32, edx: u32 };

fn cpuid(leaf: u32, subleaf: u32) Registers {
    var eax: u32 = undefined;
    var ebx: u32 = undefined;
    var ecx: u32 = undefined;
    var edx: u32 = undefined;
    asm volatile ("cpuid"
        : [eax] "={eax}" (eax),
          [ebx] "={ebx}" (ebx),
          [ecx] "={ecx}" (ecx),
          [edx] "={edx}" (edx),
        : [leaf] "{eax}" (leaf),
          [subleaf] "{ecx}" (subleaf),
    );
    return .{ .eax = eax, .ebx = ebx, .ecx = ecx, .edx = edx };
}

/// Which register states the operating system saves (XCR0).
fn savedState() u32 {
    return asm volatile ("xgetbv"
        : [eax] "={eax}" (-> u32),
        : [xcr] "{ecx}" (@as(u32, 0)),
        : .{ .edx = true });
}

fn has(register: u32, comptime bits: []const u5) bool {
    var mask: u32 = 0;
    for (bits) |bit| mask |= @as(u32, 1) << bit;
    return register & mask == mask;
}

/// Bits as in Intel's Software Developer's Manual, volume 2, CPUID; sets as in the x86-64 psABI's micro-architecture levels 3 and 4.
fn detectInstructionSet() InstructionSet {
    const leaf_count = cpuid(0, 0).eax;
    if (leaf_count < 7) return .generic;
    const basic = cpuid(1, 0);
    // FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C.
    if (!has(basic.ecx, &.{ 12, 13, 19, 20, 22, 23, 27, 28, 29 })) return .generic;
    const state = savedState();
    if (!has(state, &.{ 1, 2 })) return .generic;
    if (cpuid(0x8000_0000, 0).eax < 0x8000_0001) return .generic;
    // LZCNT.
    if (!has(cpuid(0x8000_0001, 0).ecx, &.{5})) return .generic;
    const extended = cpuid(7, 0);
    // BMI1, AVX2, BMI2.
    if (!has(extended.ebx, &.{ 3, 5, 8 })) return .generic;
    // AVX-512 F, DQ, CD, BW, VL; opmask and both halves of the ZMM registers saved.
    if (!has(extended.ebx, &.{ 16, 17, 28, 30, 31 }) or !has(state, &.{ 5, 6, 7 })) return .avx2;
    // AVX512_VNNI; the sub-leaf of AVX512_BF16.
    if (!has(extended.ecx, &.{11}) or extended.eax < 1) return .avx512;
    return if (has(cpuid(7, 1).eax, &.{5})) .avx512_dot else .avx512;
}

/// Whether the operating system saves the tile configuration and the tiles. To be asked after AVX-512 was found.
fn savesTiles() bool {
    return has(savedState(), &.{ 17, 18 });
}

/// Leaf 4 (Intel) and 0x8000001D (AMD) have the same layout.
fn detectCaches() Caches {
    var caches: Caches = .{};
    const vendor = cpuid(0, 0);
    const is_amd = vendor.ebx == 0x68747541 or vendor.ebx == 0x6f677948;
    const leaf: u32 = if (is_amd) 0x8000_001d else 4;
    const limit = cpuid(if (is_amd) 0x8000_0000 else 0, 0).eax;
    if (limit < leaf) return caches;
    // No CPU lists more than a handful; eight bounds the loop.
    for (0..8) |index| {
        const registers = cpuid(leaf, @intCast(index));
        const kind = registers.eax & 0x1f;
        if (kind == 0) break;
        const is_data_or_unified = kind == 1 or kind == 3;
        if (!is_data_or_unified) continue;
        const ways: usize = (registers.ebx >> 22) + 1;
        const partitions: usize = (registers.ebx >> 12 & 0x3ff) + 1;
        const line: usize = (registers.ebx & 0xfff) + 1;
        const sets: usize = @as(usize, registers.ecx) + 1;
        const bytes = ways * partitions * line * sets;
        switch (registers.eax >> 5 & 7) {
            1 => caches.level1_bytes = bytes,
            2 => caches.level2_bytes = bytes,
            3 => caches.level3_bytes = bytes,
            else => {},
        }
    }
    return caches;
}

test "detected caches grow with their level" {
    const info = detect();
    try std.testing.expect(info.caches.level1_bytes >= 8 << 10);
    try std.testing.expect(info.caches.level2_bytes > info.caches.level1_bytes);
    try std.testing.expect(info.caches.level3_bytes > info.caches.level1_bytes);
}
