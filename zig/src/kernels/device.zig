//! The device below a kernel: barriers, indices, memory spaces and convention, for amdgcn and nvptx.

const builtin = @import("builtin");

pub const is_nvidia = builtin.cpu.arch == .nvptx64;
pub const is_amd = builtin.cpu.arch == .amdgcn;

comptime {
    if (!is_nvidia and !is_amd) @compileError("kernels are for amdgcn and nvptx64");
}

pub const convention: @import("std").builtin.CallingConvention = if (is_nvidia) .nvptx_kernel else .amdgcn_kernel;

pub fn Input(comptime T: type) type {
    return [*]addrspace(.global) const T;
}

pub fn Output(comptime T: type) type {
    return [*]addrspace(.global) T;
}

extern fn @"llvm.nvvm.barrier.cta.sync.aligned.all"(id: u32) void;
extern fn @"llvm.amdgcn.s.barrier"() void;

/// All threads of the block have written what they wrote to shared memory when any of them goes on.
pub inline fn barrier() void {
    if (is_nvidia) {
        @"llvm.nvvm.barrier.cta.sync.aligned.all"(0);
        return;
    }
    // LLVM counts what it issued itself; the fences keep it from moving accesses over the barrier.
    if (comptime is_gfx12) {
        asm volatile ("s_wait_dscnt 0x0" ::: .{ .memory = true });
    } else {
        asm volatile ("s_waitcnt lgkmcnt(0)" ::: .{ .memory = true });
    }
    @"llvm.amdgcn.s.barrier"();
    asm volatile ("" ::: .{ .memory = true });
}

const is_gfx12 = is_amd and builtin.cpu.model.name.len == 7 and builtin.cpu.model.name[3] == '1' and builtin.cpu.model.name[4] == '2';

/// A value that is the same in all lanes of a wave, in a register of the wave where there are such.
pub inline fn uniform(value: u32) u32 {
    return if (is_amd) @"llvm.amdgcn.readfirstlane.i32"(value) else value;
}

extern fn @"llvm.amdgcn.readfirstlane.i32"(value: u32) u32;

/// The same value, of which the compiler knows nothing more: what is computed from it is not kept from one iteration of a loop to the next.
pub inline fn forget(value: u32) u32 {
    return asm volatile (""
        : [result] "=r" (-> u32),
        : [value] "0" (value),
    );
}

/// The 32-bit address that instructions on shared memory take.
pub inline fn sharedAddress(ptr: anytype) u32 {
    return @truncate(@intFromPtr(ptr));
}

extern fn @"llvm.amdgcn.sched.barrier"(mask: u32) void;

/// Keeps LLVM's scheduler from moving instructions over this point. Without it the reads of a whole unrolled tile come first on AMD, in more
/// registers than there are.
pub inline fn pinSchedule() void {
    if (is_amd) @"llvm.amdgcn.sched.barrier"(0);
}
