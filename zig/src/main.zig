//! libagpu_matrix.so: the Matrix core on the CPU.
//!
//! Contract
//!  - Exports every prototype of agpu.h marked AGPU_MATRIX, and nothing else. Every function returns a status; the message of the last
//!    failure of a thread is read with `agpu_matrix_last_error`.
//!  - Arguments are checked here once: null, shape, dtype, device, overlap. Kernels below assume them.
//!  - Any thread may call at any time. No thread is started: work is spread through the executor that the caller hands in.
//!  - Results do not depend on the number of threads. They may differ in the last bits between instruction sets.
//!  - Operands are read and results written in place; only packed panels are copied. No memory handed in is kept.
//!  - Nothing is printed (but one line on the error stream where this CPU's AMX computes wrong), no file is opened, libc is not needed.

const std = @import("std");
const abi = @import("abi.zig");
const status = @import("status.zig");
const allocator = @import("memory/allocator.zig");
const host_memory = @import("memory/host_memory.zig");
const dense = @import("gemm/dense.zig");
const matmul = @import("gemm/matmul.zig");
const elementwise_operations = @import("elementwise/elementwise.zig");
const normalizations = @import("norm/normalize.zig");
const normalization_gradients = @import("norm/normalize_gradient.zig");
const reductions = @import("reduce/reduce.zig");
const transposition = @import("movement/transpose.zig");
const embeddings = @import("movement/embedding.zig");
const casting = @import("movement/cast.zig");
const gathering = @import("movement/gather.zig");
const offset_sums = @import("movement/offsets.zig");
const nonzero_places = @import("movement/nonzero.zig");
const scattering = @import("movement/scatter.zig");
const scans = @import("reduce/scan.zig");
const segment_reduction = @import("reduce/segments.zig");
const sorting = @import("reduce/sort.zig");
const sorted_search = @import("reduce/search_sorted.zig");
const selection = @import("reduce/top_k.zig");
const convolutions = @import("conv/convolve.zig");
const pooling = @import("pool/pool.zig");
const class_losses = @import("loss/class_loss.zig");
const attentions = @import("attention/attention.zig");
const attention_gradients = @import("attention/attention_gradient.zig");
const random_numbers = @import("random/random.zig");

fn describe(out: ?*abi.LibraryInfo) callconv(.c) abi.Status {
    const info = out orelse return status.fail(abi.errors.invalid_argument, "out is null", .{});
    if (info.size_bytes < @sizeOf(abi.LibraryInfo)) {
        return status.fail(abi.errors.invalid_argument, "out.size_bytes is {d}; at least {d} is expected", .{
            info.size_bytes, @sizeOf(abi.LibraryInfo),
        });
    }
    info.abi_version = abi.abi_version;
    info.reserved = 0;
    info.abi_hash = abi.abi_hash;
    info.name = text("matrix");
    info.version = text(abi.package_version);
    info.language = text("zig");
    info.layout_manifest = text(abi.layout_manifest);
    return abi.ok;
}

fn text(slice: []const u8) abi.Str {
    return .{ .ptr = slice.ptr, .len = slice.len };
}

fn lastError(out: ?*abi.LastError) callconv(.c) abi.Status {
    return status.read(out orelse return abi.errors.invalid_argument);
}

fn multiply(
    a: ?*const abi.Tensor,
    b: ?*const abi.Tensor,
    out: ?*abi.Tensor,
    options: ?*const abi.MatmulOptions,
) callconv(.c) abi.Status {
    return matmul.matmul(a, b, out, options);
}

fn denseForward(
    x: ?*const abi.Tensor,
    weight: ?*const abi.Tensor,
    bias: ?*const abi.Tensor,
    out: ?*abi.Tensor,
    activation: ?*const abi.Activation,
    executor: ?*const abi.Executor,
) callconv(.c) abi.Status {
    return dense.denseForward(x, weight, bias, out, activation, executor);
}

fn elementwise(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.ElementwiseOptions,
) callconv(.c) abi.Status {
    return elementwise_operations.elementwise(@ptrCast(inputs), input_count, out, options);
}

fn normalize(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.NormalizeOptions,
) callconv(.c) abi.Status {
    return normalizations.normalize(@ptrCast(inputs), input_count, out, options);
}

fn normalizeGradient(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.NormalizeOptions,
) callconv(.c) abi.Status {
    return normalization_gradients.normalizeGradient(@ptrCast(inputs), input_count, out, options);
}

fn reduce(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.ReduceOptions,
) callconv(.c) abi.Status {
    return reductions.reduce(@ptrCast(inputs), input_count, out, options);
}

fn transpose(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.TransposeOptions,
) callconv(.c) abi.Status {
    return transposition.transpose(@ptrCast(inputs), input_count, out, options);
}

fn embedding(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.EmbeddingOptions,
) callconv(.c) abi.Status {
    return embeddings.embedding(@ptrCast(inputs), input_count, out, options);
}

fn cast(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.CastOptions,
) callconv(.c) abi.Status {
    return casting.cast(@ptrCast(inputs), input_count, out, options);
}

fn offsets(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.OffsetsOptions,
) callconv(.c) abi.Status {
    return offset_sums.offsets(@ptrCast(inputs), input_count, out, options);
}

fn gather(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.BlocksOptions,
) callconv(.c) abi.Status {
    return gathering.gather(@ptrCast(inputs), input_count, out, options);
}

fn scatter(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.BlocksOptions,
) callconv(.c) abi.Status {
    return scattering.scatter(@ptrCast(inputs), input_count, out, options);
}

fn segments(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.SegmentsOptions,
) callconv(.c) abi.Status {
    return segment_reduction.segments(@ptrCast(inputs), input_count, out, options);
}

fn nonzero(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.NonzeroOptions,
) callconv(.c) abi.Status {
    return nonzero_places.nonzero(@ptrCast(inputs), input_count, out, options);
}

fn sort(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.SortOptions,
) callconv(.c) abi.Status {
    return sorting.sort(@ptrCast(inputs), input_count, out, options);
}

fn searchSorted(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.SearchSortedOptions,
) callconv(.c) abi.Status {
    return sorted_search.searchSorted(@ptrCast(inputs), input_count, out, options);
}

fn scan(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.ScanOptions,
) callconv(.c) abi.Status {
    return scans.scan(@ptrCast(inputs), input_count, out, options);
}

fn topK(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    outputs: ?*const abi.Tensor,
    output_count: u64,
    options: ?*const abi.TopKOptions,
) callconv(.c) abi.Status {
    return selection.topK(@ptrCast(inputs), input_count, @ptrCast(outputs), output_count, options);
}

fn convolve(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.ConvolveOptions,
) callconv(.c) abi.Status {
    return convolutions.convolve(@ptrCast(inputs), input_count, out, options);
}

fn pool(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.PoolOptions,
) callconv(.c) abi.Status {
    return pooling.pool(@ptrCast(inputs), input_count, out, options);
}

fn classLoss(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.ClassLossOptions,
) callconv(.c) abi.Status {
    return class_losses.classLoss(@ptrCast(inputs), input_count, out, options);
}

fn attention(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.AttentionOptions,
) callconv(.c) abi.Status {
    return attentions.attention(@ptrCast(inputs), input_count, out, options);
}

fn attentionGradient(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    outputs: ?*const abi.Tensor,
    output_count: u64,
    options: ?*const abi.AttentionOptions,
) callconv(.c) abi.Status {
    return attention_gradients.attentionGradient(@ptrCast(inputs), input_count, @ptrCast(outputs), output_count, options);
}

fn random(
    inputs: ?*const abi.Tensor,
    input_count: u64,
    out: ?*const abi.Tensor,
    options: ?*const abi.RandomOptions,
) callconv(.c) abi.Status {
    return random_numbers.random(@ptrCast(inputs), input_count, out, options);
}

fn allocatorCreate(options: ?*const abi.AllocatorOptions, out: ?*abi.Allocator) callconv(.c) abi.Status {
    return allocator.create(options, out);
}

fn allocatorAllocate(handle: abi.Allocator, bytes: u64, align_bytes: u64, out_offset: ?*u64) callconv(.c) abi.Status {
    return allocator.allocate(handle, bytes, align_bytes, out_offset);
}

fn allocatorFree(handle: abi.Allocator, offset: u64) callconv(.c) abi.Status {
    return allocator.free(handle, offset);
}

fn allocatorReset(handle: abi.Allocator) callconv(.c) abi.Status {
    return allocator.reset(handle);
}

fn allocatorGetStats(handle: abi.Allocator, out: ?*abi.AllocatorStats) callconv(.c) abi.Status {
    return allocator.getStats(handle, out);
}

fn allocatorDestroy(handle: abi.Allocator) callconv(.c) abi.Status {
    return allocator.destroy(handle);
}

fn hostMemoryAllocate(bytes: u64, out: ?*abi.HostMemory) callconv(.c) abi.Status {
    return host_memory.allocate(bytes, out);
}

fn hostMemoryFree(data: ?*anyopaque) callconv(.c) abi.Status {
    return host_memory.free(data);
}

fn hostMemoryGetStats(out: ?*abi.HostMemoryStats) callconv(.c) abi.Status {
    return host_memory.getStats(out);
}

/// The objects of the instruction sets fail their safety checks through this, in builds that have such checks.
fn reportPanic(message: [*]const u8, len: usize, address: usize) callconv(.c) noreturn {
    std.debug.panicExtra(address, "{s}", .{message[0..len]});
}

comptime {
    if (std.debug.runtime_safety) @export(&reportPanic, .{ .name = "agpu_report_panic", .visibility = .hidden });
    @export(&describe, .{ .name = "agpu_matrix_describe" });
    @export(&lastError, .{ .name = "agpu_matrix_last_error" });
    @export(&multiply, .{ .name = "agpu_matrix_matmul" });
    @export(&denseForward, .{ .name = "agpu_matrix_dense_forward" });
    @export(&elementwise, .{ .name = "agpu_matrix_elementwise" });
    @export(&normalize, .{ .name = "agpu_matrix_normalize" });
    @export(&normalizeGradient, .{ .name = "agpu_matrix_normalize_gradient" });
    @export(&reduce, .{ .name = "agpu_matrix_reduce" });
    @export(&transpose, .{ .name = "agpu_matrix_transpose" });
    @export(&embedding, .{ .name = "agpu_matrix_embedding" });
    @export(&cast, .{ .name = "agpu_matrix_cast" });
    @export(&offsets, .{ .name = "agpu_matrix_offsets" });
    @export(&gather, .{ .name = "agpu_matrix_gather" });
    @export(&scatter, .{ .name = "agpu_matrix_scatter" });
    @export(&segments, .{ .name = "agpu_matrix_segments" });
    @export(&nonzero, .{ .name = "agpu_matrix_nonzero" });
    @export(&sort, .{ .name = "agpu_matrix_sort" });
    @export(&searchSorted, .{ .name = "agpu_matrix_search_sorted" });
    @export(&scan, .{ .name = "agpu_matrix_scan" });
    @export(&topK, .{ .name = "agpu_matrix_top_k" });
    @export(&convolve, .{ .name = "agpu_matrix_convolve" });
    @export(&pool, .{ .name = "agpu_matrix_pool" });
    @export(&classLoss, .{ .name = "agpu_matrix_class_loss" });
    @export(&attention, .{ .name = "agpu_matrix_attention" });
    @export(&attentionGradient, .{ .name = "agpu_matrix_attention_gradient" });
    @export(&random, .{ .name = "agpu_matrix_random" });
    @export(&allocatorCreate, .{ .name = "agpu_matrix_allocator_create" });
    @export(&allocatorAllocate, .{ .name = "agpu_matrix_allocator_allocate" });
    @export(&allocatorFree, .{ .name = "agpu_matrix_allocator_free" });
    @export(&allocatorReset, .{ .name = "agpu_matrix_allocator_reset" });
    @export(&allocatorGetStats, .{ .name = "agpu_matrix_allocator_get_stats" });
    @export(&allocatorDestroy, .{ .name = "agpu_matrix_allocator_destroy" });
    @export(&hostMemoryAllocate, .{ .name = "agpu_matrix_host_memory_allocate" });
    @export(&hostMemoryFree, .{ .name = "agpu_matrix_host_memory_free" });
    @export(&hostMemoryGetStats, .{ .name = "agpu_matrix_host_memory_get_stats" });
}

test {
    _ = status;
    _ = allocator;
    _ = host_memory;
    _ = @import("memory/lock.zig");
    _ = @import("memory/model_test.zig");
    _ = @import("simd/cpu.zig");
    _ = @import("gemm/blocking.zig");
    _ = @import("memory/workspace.zig");
    _ = @import("gemm/overlap.zig");
    _ = @import("gemm/batch.zig");
    _ = @import("gemm/gemm_test.zig");
    _ = @import("gemm/matmul_test.zig");
    _ = @import("gemm/converted_test.zig");
    _ = @import("gemm/tiles_test.zig");
    _ = @import("gemm/dense_test.zig");
    _ = @import("elementwise/elementwise_test.zig");
    _ = @import("complex/complex_test.zig");
    _ = @import("reduce/reduce_test.zig");
    _ = @import("norm/normalize_columns_test.zig");
    _ = @import("norm/row_kernel_test.zig");
    _ = @import("conv/convolve_test.zig");
    _ = @import("pool/pool_test.zig");
    _ = @import("movement/movement_test.zig");
    _ = @import("movement/cast.zig");
    _ = @import("movement/blocks_test.zig");
    _ = @import("reduce/radix.zig");
    _ = @import("reduce/sort_order.zig");
    _ = @import("reduce/sort_test.zig");
    _ = @import("reduce/scan_test.zig");
    _ = @import("reduce/segments_test.zig");
    _ = @import("norm/normalize_gradient_test.zig");
    _ = @import("conv/windows.zig");
    _ = @import("loss/class_loss_test.zig");
    _ = @import("attention/attention_test.zig");
    _ = @import("random/random_test.zig");
}
