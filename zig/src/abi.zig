//! Generated from agpu.h and errors.toml by ./x generate. Do not edit.

const std = @import("std");

pub const package_version = "0.1.0";
pub const abi_hash: u64 = 0x7f383dc046aea64b;

pub const Status = i32;

pub const ok: Status = 0;
pub const errors = struct {
    /// An argument has a value the operation does not accept.
    pub const invalid_argument: Status = 100;
    /// An argument has a type the operation does not accept.
    pub const invalid_type: Status = 101;
    /// The shapes of two arguments do not fit together.
    pub const shape_mismatch: Status = 102;
    /// The operation has no implementation for this dtype.
    pub const unsupported_dtype: Status = 103;
    /// A kernel argument is an array whose memory is not contiguous.
    pub const not_contiguous: Status = 104;
    /// The grid, block or shared memory of a launch is outside the limits of the device.
    pub const invalid_launch: Status = 105;
    /// A kernel was launched with another number of arguments than it has parameters.
    pub const argument_count: Status = 106;
    /// The operation would write to an array that is read-only.
    pub const read_only: Status = 107;
    /// An index is not one of the axis that it is for.
    pub const index_out_of_range: Status = 108;
    /// A Python integer is outside of the range of the dtype that it would take.
    pub const number_out_of_range: Status = 109;
    /// No device has the index or name that was asked for.
    pub const device_not_found: Status = 200;
    /// The device stopped answering.
    pub const device_lost: Status = 201;
    /// A core type is not one of aura, matrix, neuromorphic.
    pub const unknown_core_type: Status = 202;
    /// The object was closed and cannot be used any more.
    pub const closed: Status = 203;
    /// An array or kernel belongs to another device than the one it is used on.
    pub const wrong_device: Status = 204;
    /// The driver of the device reported a failure.
    pub const driver_fault: Status = 205;
    /// A device opened before fork() was used in the child process.
    pub const forked: Status = 206;
    /// The device was initialised without the core type that the operation needs.
    pub const core_not_enabled: Status = 207;
    /// The device has no room for the allocation, even after cached blocks were given back.
    pub const out_of_memory: Status = 300;
    /// A block of memory was used or freed after it had been freed.
    pub const use_after_free: Status = 301;
    /// The kernel source has errors.
    pub const compile_failed: Status = 400;
    /// The source or module has no kernel of that name.
    pub const kernel_not_found: Status = 401;
    /// The source uses a language feature that this version does not compile.
    pub const unsupported_feature: Status = 402;
    /// LLVM, which turns kernels into machine code, cannot be loaded.
    pub const code_generator_missing: Status = 403;
    /// LLVM refused the code that the compiler produced, or its output could not be loaded.
    pub const code_generation_failed: Status = 404;
    /// A handle is not known: it was released, it is of another kind or device, or it never was one.
    pub const invalid_handle: Status = 405;
    /// The module has no __device__ or __constant__ variable of that name.
    pub const global_not_found: Status = 406;
    /// Something was asked for while a graph is recorded that a graph cannot hold.
    pub const not_capturable: Status = 407;
    /// The operation did not end within its time limit.
    pub const timeout: Status = 500;
    /// A kernel failed while running.
    pub const kernel_fault: Status = 501;
    /// An assert() in a kernel failed, or a kernel called abort() or __trap().
    pub const assertion_failed: Status = 502;
    /// A kernel compiled with checked=True reached outside of its arrays, through a null, misaligned or freed pointer.
    pub const memory_fault: Status = 503;
    /// Work-items of a kernel compiled with checked=True reached the same memory without a barrier or atomics between them.
    pub const data_race: Status = 504;
    /// Work-items of one block waited at different barriers.
    pub const divergent_barrier: Status = 505;
    /// A native library of amdgpu is not where it is looked for.
    pub const library_missing: Status = 600;
    /// A native library was built from another version of amdgpu.
    pub const library_stale: Status = 601;
    /// No Julia runtime was found for the Math core.
    pub const julia_missing: Status = 602;
    /// Code in another language of the package raised an error.
    pub const foreign_error: Status = 603;
    /// A network description has errors.
    pub const network_invalid: Status = 700;
    /// Weights, biases or inputs of a network hold NaN or infinity.
    pub const weights_not_finite: Status = 701;
    /// No implementation is registered for this operation, core type and device kind.
    pub const no_implementation: Status = 800;
    /// Something happened that should be impossible.
    pub const internal: Status = 900;
    /// A server or a process could not be reached, or the connection to it broke.
    pub const connection_failed: Status = 1000;
    /// No answer came in the time that was allowed.
    pub const request_timeout: Status = 1001;
    /// The server does not allow this.
    pub const not_permitted: Status = 1002;
    /// A request is past a limit that protects the server or the program that is watched.
    pub const limit_exceeded: Status = 1003;
    /// A message does not have the form that the protocol gives it.
    pub const invalid_message: Status = 1004;
    /// A file is not what its name says, or is damaged.
    pub const damaged_file: Status = 1005;
    /// A file could not be written.
    pub const write_failed: Status = 1006;
    /// The process that was watched has ended.
    pub const process_gone: Status = 1007;
};

pub const dtype_int: u8 = 0;
pub const dtype_uint: u8 = 1;
pub const dtype_float: u8 = 2;
pub const dtype_bfloat: u8 = 4;
pub const dtype_complex: u8 = 5;
pub const dtype_bool: u8 = 6;
pub const activation_identity: u32 = 0;
pub const activation_relu: u32 = 1;
pub const activation_leaky_relu: u32 = 2;
pub const activation_sigmoid: u32 = 3;
pub const activation_tanh: u32 = 4;
pub const activation_gelu: u32 = 5;
pub const activation_silu: u32 = 6;
pub const activation_softplus: u32 = 7;
pub const activation_elu: u32 = 8;
pub const activation_softmax: u32 = 9;
pub const activation_neuromorphic: u32 = 10;
pub const elementwise_identity: u32 = 0;
pub const elementwise_negative: u32 = 1;
pub const elementwise_absolute: u32 = 2;
pub const elementwise_sign: u32 = 3;
pub const elementwise_square: u32 = 4;
pub const elementwise_reciprocal: u32 = 5;
pub const elementwise_sqrt: u32 = 6;
pub const elementwise_exp: u32 = 7;
pub const elementwise_expm1: u32 = 8;
pub const elementwise_log: u32 = 9;
pub const elementwise_log1p: u32 = 10;
pub const elementwise_erf: u32 = 11;
pub const elementwise_tanh: u32 = 12;
pub const elementwise_sigmoid: u32 = 13;
pub const elementwise_relu: u32 = 14;
pub const elementwise_leaky_relu: u32 = 15;
pub const elementwise_elu: u32 = 16;
pub const elementwise_gelu: u32 = 17;
pub const elementwise_gelu_tanh: u32 = 18;
pub const elementwise_silu: u32 = 19;
pub const elementwise_softplus: u32 = 20;
pub const elementwise_floor: u32 = 21;
pub const elementwise_ceil: u32 = 22;
pub const elementwise_trunc: u32 = 23;
pub const elementwise_rint: u32 = 24;
pub const elementwise_isnan: u32 = 25;
pub const elementwise_isinf: u32 = 26;
pub const elementwise_isfinite: u32 = 27;
pub const elementwise_logical_not: u32 = 28;
pub const elementwise_add: u32 = 29;
pub const elementwise_subtract: u32 = 30;
pub const elementwise_multiply: u32 = 31;
pub const elementwise_divide: u32 = 32;
pub const elementwise_maximum: u32 = 33;
pub const elementwise_minimum: u32 = 34;
pub const elementwise_equal: u32 = 35;
pub const elementwise_not_equal: u32 = 36;
pub const elementwise_less: u32 = 37;
pub const elementwise_less_equal: u32 = 38;
pub const elementwise_greater: u32 = 39;
pub const elementwise_greater_equal: u32 = 40;
pub const elementwise_logical_and: u32 = 41;
pub const elementwise_logical_or: u32 = 42;
pub const elementwise_where: u32 = 43;
pub const elementwise_clip: u32 = 44;
pub const elementwise_standardize: u32 = 45;
pub const elementwise_power: u32 = 46;
pub const elementwise_remainder: u32 = 47;
pub const elementwise_fmod: u32 = 48;
pub const elementwise_floor_divide: u32 = 49;
pub const elementwise_sin: u32 = 50;
pub const elementwise_cos: u32 = 51;
pub const elementwise_exp2: u32 = 52;
pub const elementwise_log2: u32 = 53;
pub const elementwise_log10: u32 = 54;
pub const elementwise_bitwise_and: u32 = 55;
pub const elementwise_bitwise_or: u32 = 56;
pub const elementwise_bitwise_xor: u32 = 57;
pub const elementwise_invert: u32 = 58;
pub const elementwise_logical_xor: u32 = 59;
pub const elementwise_relu_gradient: u32 = 60;
pub const elementwise_leaky_relu_gradient: u32 = 61;
pub const elementwise_elu_gradient: u32 = 62;
pub const elementwise_gelu_gradient: u32 = 63;
pub const elementwise_gelu_tanh_gradient: u32 = 64;
pub const elementwise_silu_gradient: u32 = 65;
pub const elementwise_softplus_gradient: u32 = 66;
pub const elementwise_sigmoid_gradient: u32 = 67;
pub const elementwise_tanh_gradient: u32 = 68;
pub const elementwise_tan: u32 = 69;
pub const elementwise_asin: u32 = 70;
pub const elementwise_acos: u32 = 71;
pub const elementwise_atan: u32 = 72;
pub const elementwise_atan2: u32 = 73;
pub const elementwise_sinh: u32 = 74;
pub const elementwise_cosh: u32 = 75;
pub const elementwise_asinh: u32 = 76;
pub const elementwise_acosh: u32 = 77;
pub const elementwise_atanh: u32 = 78;
pub const elementwise_hypot: u32 = 79;
pub const elementwise_copysign: u32 = 80;
pub const elementwise_logaddexp: u32 = 81;
pub const elementwise_nextafter: u32 = 82;
pub const elementwise_nextafter_half: u32 = 83;
pub const elementwise_nextafter_bfloat: u32 = 84;
pub const elementwise_signbit: u32 = 85;
pub const elementwise_left_shift: u32 = 86;
pub const elementwise_right_shift: u32 = 87;
pub const elementwise_linear_combination: u32 = 88;
pub const elementwise_squared_error: u32 = 89;
pub const elementwise_squared_error_gradient: u32 = 90;
pub const elementwise_bce: u32 = 91;
pub const elementwise_bce_gradient: u32 = 92;
pub const elementwise_bce_with_logits: u32 = 93;
pub const elementwise_bce_with_logits_gradient: u32 = 94;
pub const complex_identity: u32 = 0;
pub const complex_negative: u32 = 1;
pub const complex_absolute: u32 = 2;
pub const complex_sign: u32 = 3;
pub const complex_square: u32 = 4;
pub const complex_reciprocal: u32 = 5;
pub const complex_sqrt: u32 = 6;
pub const complex_exp: u32 = 7;
pub const complex_expm1: u32 = 8;
pub const complex_log: u32 = 9;
pub const complex_log1p: u32 = 10;
pub const complex_log2: u32 = 11;
pub const complex_log10: u32 = 12;
pub const complex_sin: u32 = 13;
pub const complex_cos: u32 = 14;
pub const complex_tan: u32 = 15;
pub const complex_sinh: u32 = 16;
pub const complex_cosh: u32 = 17;
pub const complex_tanh: u32 = 18;
pub const complex_asin: u32 = 19;
pub const complex_acos: u32 = 20;
pub const complex_atan: u32 = 21;
pub const complex_asinh: u32 = 22;
pub const complex_acosh: u32 = 23;
pub const complex_atanh: u32 = 24;
pub const complex_conj: u32 = 25;
pub const complex_angle: u32 = 26;
pub const complex_isnan: u32 = 27;
pub const complex_isinf: u32 = 28;
pub const complex_isfinite: u32 = 29;
pub const complex_logical_not: u32 = 30;
pub const complex_add: u32 = 31;
pub const complex_subtract: u32 = 32;
pub const complex_multiply: u32 = 33;
pub const complex_divide: u32 = 34;
pub const complex_power: u32 = 35;
pub const complex_equal: u32 = 36;
pub const complex_not_equal: u32 = 37;
pub const complex_logical_and: u32 = 38;
pub const complex_logical_or: u32 = 39;
pub const complex_logical_xor: u32 = 40;
pub const complex_where: u32 = 41;
pub const reduce_sum: u32 = 0;
pub const reduce_product: u32 = 1;
pub const reduce_maximum: u32 = 2;
pub const reduce_minimum: u32 = 3;
pub const reduce_any: u32 = 4;
pub const reduce_all: u32 = 5;
pub const reduce_variance: u32 = 6;
pub const reduce_deviation: u32 = 7;
pub const reduce_argmax: u32 = 8;
pub const reduce_argmin: u32 = 9;
pub const abi_version: u32 = 1;
pub const device_cpu: i32 = 1;
pub const device_cuda: i32 = 2;
pub const device_cuda_host: i32 = 3;
pub const device_rocm: i32 = 10;
pub const device_rocm_host: i32 = 11;
pub const allocator_slab: u32 = 0;
pub const allocator_buddy: u32 = 1;
pub const allocator_arena: u32 = 2;
pub const host_memory_plain: u32 = 0;
pub const host_memory_advised: u32 = 1;
pub const host_memory_pool: u32 = 2;
pub const precision_operands: u32 = 0;
pub const precision_bf16: u32 = 1;
pub const precision_f16: u32 = 2;
pub const normalize_softmax: u32 = 0;
pub const normalize_log_softmax: u32 = 1;
pub const normalize_layer_norm: u32 = 2;
pub const normalize_rms_norm: u32 = 3;
pub const scatter_assign: u32 = 0;
pub const scatter_add: u32 = 1;
pub const scatter_multiply: u32 = 2;
pub const scatter_maximum: u32 = 3;
pub const scatter_minimum: u32 = 4;
pub const segments_sum: u32 = 0;
pub const segments_product: u32 = 1;
pub const segments_mean: u32 = 2;
pub const segments_maximum: u32 = 3;
pub const segments_minimum: u32 = 4;
pub const segments_fill: u32 = 0;
pub const segments_keep: u32 = 1;
pub const segments_include: u32 = 2;
pub const scan_sum: u32 = 0;
pub const scan_product: u32 = 1;
pub const scan_maximum: u32 = 2;
pub const scan_minimum: u32 = 3;
pub const convolve_forward: u32 = 0;
pub const convolve_image_gradient: u32 = 1;
pub const convolve_weight_gradient: u32 = 2;
pub const class_loss_cross_entropy: u32 = 0;
pub const class_loss_negative_log_likelihood: u32 = 1;
pub const loss_none: u32 = 0;
pub const loss_mean: u32 = 1;
pub const loss_sum: u32 = 2;
pub const pool_maximum: u32 = 0;
pub const pool_average: u32 = 1;
pub const pool_maximum_gradient: u32 = 2;
pub const pool_average_gradient: u32 = 3;
pub const pool_add_at_indices: u32 = 4;
pub const pool_set_at_indices: u32 = 5;
pub const random_uniform: u32 = 0;
pub const random_normal: u32 = 1;
pub const random_exponential: u32 = 2;
pub const random_integers: u32 = 3;
pub const random_bernoulli: u32 = 4;
pub const random_dropout: u32 = 5;
pub const random_gamma: u32 = 6;
pub const random_beta: u32 = 7;
pub const random_poisson: u32 = 8;
pub const random_binomial: u32 = 9;
pub const random_interleaved_bits: u32 = 10;
pub const random_grouped_normal: u32 = 11;

pub const Allocator = ?*anyopaque;

pub const NetworkPlan = ?*anyopaque;

/// Work on the half-open index range [begin, end). Must not unwind.
pub const TaskFn = fn (data: ?*anyopaque, begin: u64, end: u64) callconv(.c) void;

/// Runs `task` over [0, count) in pieces, on several threads, and returns when all pieces are done.
pub const ParallelForFn = fn (context: ?*anyopaque, count: u64, task: ?*const TaskFn, data: ?*anyopaque) callconv(.c) Status;

/// One dense layer: out[batch, outputs] = activation(x[batch, inputs] @ weight[inputs, outputs] + bias[outputs]). float32.
pub const DenseForwardFn = fn (x: ?*const Tensor, weight: ?*const Tensor, bias: ?*const Tensor, out: ?*Tensor, activation: ?*const Activation, executor: ?*const Executor) callconv(.c) Status;

/// y[i] = f(x[i]); x and y may be the same. Softmax is not elementwise and refused here.
pub const MathActivationFn = fn (x: ?[*]const f32, y: ?[*]f32, len: u64, activation: ?*const Activation) callconv(.c) Status;

/// Softmax over the last axis of x[rows, cols].
pub const MathSoftmaxFn = fn (x: ?[*]const f32, y: ?[*]f32, rows: u64, cols: u64) callconv(.c) Status;

/// See agpu_dense_forward_fn, row-major contiguous; `bias` may be NULL.
pub const MathDenseForwardFn = fn (x: ?[*]const f32, weight: ?[*]const f32, bias: ?[*]const f32, y: ?[*]f32, batch: u64, inputs: u64, outputs: u64, activation: ?*const Activation) callconv(.c) Status;

/// momentum = decay * momentum + (1 - decay) * gradient; rate[i] = learning_rate / (1 + |gradient[i]|).
pub const MathAdaptiveLearningRateFn = fn (gradients: ?[*]const f32, momentum: ?[*]f32, rates: ?[*]f32, len: u64, learning_rate: f32, decay: f32) callconv(.c) Status;

/// velocity = momentum * velocity + gradient; weight -= learning_rate * velocity.
pub const MathMomentumUpdateFn = fn (weights: ?[*]f32, gradients: ?[*]const f32, velocity: ?[*]f32, len: u64, learning_rate: f32, momentum: f32) callconv(.c) Status;

/// Copies the message of the last failure, UTF-8, at most `capacity` bytes; returns its full length.
pub const MathLastErrorFn = fn (buffer: ?[*]u8, capacity: u64) callconv(.c) u64;

/// `agpu_str`.
pub const Str = extern struct {
    ptr: ?[*]const u8,
    len: u64,
};

/// `agpu_library_info`. What a library says of itself; all text lives as long as the process.
pub const LibraryInfo = extern struct {
    size_bytes: u64,
    abi_version: u32,
    reserved: u32,
    abi_hash: u64,
    name: Str,
    version: Str,
    language: Str,
    layout_manifest: Str,
};

/// `agpu_error`. The last failure on this thread.
pub const LastError = extern struct {
    size_bytes: u64,
    code: i32,
    reserved: u32,
    message: Str,
};

/// `agpu_device_ref`.
pub const DeviceRef = extern struct {
    device_type: i32,
    device_id: i32,
};

/// `agpu_dtype`.
pub const Dtype = extern struct {
    code: u8,
    bits: u8,
    lanes: u16,
};

/// `agpu_tensor`. Same layout as DLPack's DLTensor.
pub const Tensor = extern struct {
    data: ?*anyopaque,
    device: DeviceRef,
    ndim: i32,
    dtype: Dtype,
    shape: ?[*]i64,
    strides: ?[*]i64,
    byte_offset: u64,
};

/// `agpu_executor`. The thread pool of the process, handed down so that no library starts threads of its own.
pub const Executor = extern struct {
    size_bytes: u64,
    context: ?*anyopaque,
    thread_count: u32,
    reserved: u32,
    parallel_for: ?*const ParallelForFn,
};

/// `agpu_activation`.
pub const Activation = extern struct {
    kind: u32,
    alpha: f32,
    beta: f32,
    reserved: u32,
};

/// `agpu_matmul_options`. out = activation(alpha * (a @ b) + beta * out + bias + residual). `executor` may be NULL: one thread. `bias` [n], `residual` [..., m, n] and `activation` may be NULL; both tensors are of the type that is summed in. Softmax is no activation of a product.
pub const MatmulOptions = extern struct {
    size_bytes: u64,
    alpha: f64,
    beta: f64,
    executor: ?*const Executor,
    bias: ?*const Tensor,
    residual: ?*const Tensor,
    activation: ?*const Activation,
    precision: u32,
    reserved: u32,
};

/// `agpu_elementwise_options`. `compute` is the type that is computed in: float32, float64, int32, int64 or uint64, and complex64 or complex128 for operations AGPU_COMPLEX_*. `alpha`: slope of leaky_relu, scale of elu, and so of their gradients, whose inputs are x (for sigmoid and tanh the result) and the gradient of the result. Exponents of integers are not negative.
pub const ElementwiseOptions = extern struct {
    size_bytes: u64,
    operation: u32,
    compute: Dtype,
    alpha: f64,
    executor: ?*const Executor,
};

/// `agpu_normalize_options`. The last `row_axes` axes are normalised together. Where asked for, a layer norm of a matrix writes the mean of each row and one over its deviation, in the dtype that is computed in.
pub const NormalizeOptions = extern struct {
    size_bytes: u64,
    operation: u32,
    compute: Dtype,
    row_axes: u64,
    epsilon: f64,
    executor: ?*const Executor,
    means: ?*anyopaque,
    inverse_deviations: ?*anyopaque,
};

/// `agpu_reduce_options`. The last `reduced_axes` axes are folded; sums are divided by `divisor`, of the squares of distances from the mean for variance and deviation, whose root is taken for the latter.
pub const ReduceOptions = extern struct {
    size_bytes: u64,
    operation: u32,
    compute: Dtype,
    reduced_axes: u64,
    divisor: f64,
    executor: ?*const Executor,
};

/// `agpu_transpose_options`.
pub const TransposeOptions = extern struct {
    size_bytes: u64,
    executor: ?*const Executor,
};

/// `agpu_embedding_options`.
pub const EmbeddingOptions = extern struct {
    size_bytes: u64,
    executor: ?*const Executor,
};

/// `agpu_cast_options`.
pub const CastOptions = extern struct {
    size_bytes: u64,
    executor: ?*const Executor,
};

/// `agpu_offsets_options`. For each array of indices: the axis that messages name, its extent, and the distance of its elements.
pub const OffsetsOptions = extern struct {
    size_bytes: u64,
    axes: ?[*]const i64,
    extents: ?[*]const i64,
    strides: ?[*]const i64,
    executor: ?*const Executor,
};

/// `agpu_blocks_options`. At every offset lies a block of elements. An offset outside of [`lowest`, `highest`] is refused. Only scatter has a `mode`.
pub const BlocksOptions = extern struct {
    size_bytes: u64,
    block_rank: u64,
    block_shape: ?[*]const i64,
    block_strides: ?[*]const i64,
    lowest: i64,
    highest: i64,
    mode: u32,
    reserved: u32,
    executor: ?*const Executor,
};

/// `agpu_segments_options`. `has_offsets` is 1 where segments are given by where they begin, and where the last one ends; else every value has the row that it belongs to. Values of the row `skipped` are left out. `wraps` is 1 where negative rows count from the end.
pub const SegmentsOptions = extern struct {
    size_bytes: u64,
    operation: u32,
    start: u32,
    has_offsets: u32,
    wraps: u32,
    skipped: i64,
    executor: ?*const Executor,
};

/// `agpu_nonzero_options`. `counts` has `piece_count` numbers: those of the elements that are not zero in pieces of nearly the same length.
pub const NonzeroOptions = extern struct {
    size_bytes: u64,
    piece_count: u64,
    counts: ?[*]u64,
    executor: ?*const Executor,
};

/// `agpu_sort_options`. `gives_places` is 1 where the result is int64 places instead of values.
pub const SortOptions = extern struct {
    size_bytes: u64,
    is_descending: u32,
    gives_places: u32,
    executor: ?*const Executor,
};

/// `agpu_search_sorted_options`. `is_right` is 1 for the place behind equal values, 0 for the one before them.
pub const SearchSortedOptions = extern struct {
    size_bytes: u64,
    is_right: u32,
    reserved: u32,
    executor: ?*const Executor,
};

/// `agpu_scan_options`.
pub const ScanOptions = extern struct {
    size_bytes: u64,
    operation: u32,
    compute: Dtype,
    executor: ?*const Executor,
};

/// `agpu_top_k_options`. `is_largest` is 1 for the largest values, 0 for the smallest.
pub const TopKOptions = extern struct {
    size_bytes: u64,
    is_largest: u32,
    compute: Dtype,
    executor: ?*const Executor,
};

/// `agpu_convolve_options`. Padding is what precedes the first row and column; what follows the last is told by the extents of the result.
pub const ConvolveOptions = extern struct {
    size_bytes: u64,
    pass: u32,
    compute: Dtype,
    groups: u64,
    row_stride: u64,
    column_stride: u64,
    row_padding: u64,
    column_padding: u64,
    row_dilation: u64,
    column_dilation: u64,
    depth_stride: u64,
    depth_padding: u64,
    depth_dilation: u64,
    executor: ?*const Executor,
};

/// `agpu_class_loss_options`. `has_shares` is 1 where targets are the shares of all classes, else they are classes, of which `ignored` counts for nothing.
pub const ClassLossOptions = extern struct {
    size_bytes: u64,
    operation: u32,
    reduction: u32,
    compute: Dtype,
    has_shares: u32,
    has_weight: u32,
    is_gradient: u32,
    ignored: i64,
    smoothing: f64,
    executor: ?*const Executor,
};

/// `agpu_attention_options`. `is_causal` is 1 where query i sees keys 0 to i alone.
pub const AttentionOptions = extern struct {
    size_bytes: u64,
    scale: f64,
    compute: Dtype,
    is_causal: u32,
    has_mask: u32,
    reserved: u32,
    executor: ?*const Executor,
};

/// `agpu_pool_options`. Padding is what precedes the first pixel; windows may reach as far behind the last, or farther. Adaptive windows are told by the extents of image and result alone. `divisor` is that of averages, 0 the number of values; where the largest values stand in their planes is written to `indices`, int64 of the shape of the result, if that is not NULL.
pub const PoolOptions = extern struct {
    size_bytes: u64,
    operation: u32,
    compute: Dtype,
    row_window: u64,
    column_window: u64,
    row_stride: u64,
    column_stride: u64,
    row_padding: u64,
    column_padding: u64,
    row_dilation: u64,
    column_dilation: u64,
    depth_window: u64,
    depth_stride: u64,
    depth_padding: u64,
    depth_dilation: u64,
    counts_padding: u32,
    is_adaptive: u32,
    divisor: i64,
    indices: ?*const Tensor,
    executor: ?*const Executor,
};

/// `agpu_random_options`. Philox4x32-10 with this key, from word `skip` of the block at the counter (block, high) on. `a`, `b`: lowest value and extent (uniform), mean and standard deviation (normal), scale in `b` (exponential), chance (bernoulli), chance to stay and factor (dropout). Integers are `low` + [0, `span`), 0 for 2^64; for interleaved bits `span` is the number of threads. Grouped normal numbers are those of TensorFlow: group g, as many elements as a block makes, takes numbers whose absolute value is below `a` from block g * `span` on, the counter of 128 bits.
pub const RandomOptions = extern struct {
    size_bytes: u64,
    distribution: u32,
    skip: u32,
    key: u64,
    block: u64,
    high: u64,
    a: f64,
    b: f64,
    low: u64,
    span: u64,
    executor: ?*const Executor,
};

/// `agpu_allocator_options`. A range of `capacity_bytes` is managed as offsets; the memory itself is never touched, so it may be a device's.
pub const AllocatorOptions = extern struct {
    size_bytes: u64,
    kind: u32,
    reserved: u32,
    capacity_bytes: u64,
    min_block_bytes: u64,
};

/// `agpu_allocator_stats`.
pub const AllocatorStats = extern struct {
    size_bytes: u64,
    capacity_bytes: u64,
    used_bytes: u64,
    peak_used_bytes: u64,
    largest_free_bytes: u64,
    live_blocks: u64,
    allocations_total: u64,
    frees_total: u64,
    failures_total: u64,
};

/// `agpu_host_memory`. `bytes` is a multiple of 2 MiB, and so is the address.
pub const HostMemory = extern struct {
    size_bytes: u64,
    data: ?*anyopaque,
    bytes: u64,
    kind: u32,
    reserved: u32,
};

/// `agpu_host_memory_stats`. Of the library in this process, its workspaces included: bytes that are held, by kind of page.
pub const HostMemoryStats = extern struct {
    size_bytes: u64,
    plain_bytes: u64,
    advised_bytes: u64,
    pool_bytes: u64,
    allocations_total: u64,
    frees_total: u64,
    failures_total: u64,
};

/// `agpu_math_table`. Only the thread that owns the Julia runtime may call through this table.
pub const MathTable = extern struct {
    size_bytes: u64,
    abi_version: u32,
    reserved: u32,
    abi_hash: u64,
    activation: ?*const MathActivationFn,
    softmax: ?*const MathSoftmaxFn,
    dense_forward: ?*const MathDenseForwardFn,
    adaptive_learning_rate: ?*const MathAdaptiveLearningRateFn,
    momentum_update: ?*const MathMomentumUpdateFn,
    last_error: ?*const MathLastErrorFn,
};

const manifest_rows = .{
    .{ "agpu_str", Str },
    .{ "agpu_library_info", LibraryInfo },
    .{ "agpu_error", LastError },
    .{ "agpu_device_ref", DeviceRef },
    .{ "agpu_dtype", Dtype },
    .{ "agpu_tensor", Tensor },
    .{ "agpu_executor", Executor },
    .{ "agpu_activation", Activation },
    .{ "agpu_matmul_options", MatmulOptions },
    .{ "agpu_elementwise_options", ElementwiseOptions },
    .{ "agpu_normalize_options", NormalizeOptions },
    .{ "agpu_reduce_options", ReduceOptions },
    .{ "agpu_transpose_options", TransposeOptions },
    .{ "agpu_embedding_options", EmbeddingOptions },
    .{ "agpu_cast_options", CastOptions },
    .{ "agpu_offsets_options", OffsetsOptions },
    .{ "agpu_blocks_options", BlocksOptions },
    .{ "agpu_segments_options", SegmentsOptions },
    .{ "agpu_nonzero_options", NonzeroOptions },
    .{ "agpu_sort_options", SortOptions },
    .{ "agpu_search_sorted_options", SearchSortedOptions },
    .{ "agpu_scan_options", ScanOptions },
    .{ "agpu_top_k_options", TopKOptions },
    .{ "agpu_convolve_options", ConvolveOptions },
    .{ "agpu_class_loss_options", ClassLossOptions },
    .{ "agpu_attention_options", AttentionOptions },
    .{ "agpu_pool_options", PoolOptions },
    .{ "agpu_random_options", RandomOptions },
    .{ "agpu_allocator_options", AllocatorOptions },
    .{ "agpu_allocator_stats", AllocatorStats },
    .{ "agpu_host_memory", HostMemory },
    .{ "agpu_host_memory_stats", HostMemoryStats },
    .{ "agpu_math_table", MathTable },
};

/// Sizes and offsets as this library was compiled: one line per struct.
pub const layout_manifest: []const u8 = blk: {
    @setEvalBranchQuota(100_000);
    var text: []const u8 = "";
    for (manifest_rows) |row| {
        text = text ++ std.fmt.comptimePrint("{s} size={d}", .{ row[0], @sizeOf(row[1]) });
        for (std.meta.fieldNames(row[1])) |name| {
            text = text ++ std.fmt.comptimePrint(" {s}@{d}", .{ name, @offsetOf(row[1], name) });
        }
        text = text ++ "\n";
    }
    break :blk text;
};
