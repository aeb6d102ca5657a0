# Generated from agpu.h and errors.toml by ./x generate. Do not edit.

const PACKAGE_VERSION = "0.1.0"
const ABI_HASH = 0x7f383dc046aea64b

const OK = Int32(0)
const ERROR_INVALID_ARGUMENT = Int32(100)
const ERROR_INVALID_TYPE = Int32(101)
const ERROR_SHAPE_MISMATCH = Int32(102)
const ERROR_UNSUPPORTED_DTYPE = Int32(103)
const ERROR_NOT_CONTIGUOUS = Int32(104)
const ERROR_INVALID_LAUNCH = Int32(105)
const ERROR_ARGUMENT_COUNT = Int32(106)
const ERROR_READ_ONLY = Int32(107)
const ERROR_INDEX_OUT_OF_RANGE = Int32(108)
const ERROR_NUMBER_OUT_OF_RANGE = Int32(109)
const ERROR_DEVICE_NOT_FOUND = Int32(200)
const ERROR_DEVICE_LOST = Int32(201)
const ERROR_UNKNOWN_CORE_TYPE = Int32(202)
const ERROR_CLOSED = Int32(203)
const ERROR_WRONG_DEVICE = Int32(204)
const ERROR_DRIVER_FAULT = Int32(205)
const ERROR_FORKED = Int32(206)
const ERROR_CORE_NOT_ENABLED = Int32(207)
const ERROR_OUT_OF_MEMORY = Int32(300)
const ERROR_USE_AFTER_FREE = Int32(301)
const ERROR_COMPILE_FAILED = Int32(400)
const ERROR_KERNEL_NOT_FOUND = Int32(401)
const ERROR_UNSUPPORTED_FEATURE = Int32(402)
const ERROR_CODE_GENERATOR_MISSING = Int32(403)
const ERROR_CODE_GENERATION_FAILED = Int32(404)
const ERROR_INVALID_HANDLE = Int32(405)
const ERROR_GLOBAL_NOT_FOUND = Int32(406)
const ERROR_NOT_CAPTURABLE = Int32(407)
const ERROR_TIMEOUT = Int32(500)
const ERROR_KERNEL_FAULT = Int32(501)
const ERROR_ASSERTION_FAILED = Int32(502)
const ERROR_MEMORY_FAULT = Int32(503)
const ERROR_DATA_RACE = Int32(504)
const ERROR_DIVERGENT_BARRIER = Int32(505)
const ERROR_LIBRARY_MISSING = Int32(600)
const ERROR_LIBRARY_STALE = Int32(601)
const ERROR_JULIA_MISSING = Int32(602)
const ERROR_FOREIGN_ERROR = Int32(603)
const ERROR_NETWORK_INVALID = Int32(700)
const ERROR_WEIGHTS_NOT_FINITE = Int32(701)
const ERROR_NO_IMPLEMENTATION = Int32(800)
const ERROR_INTERNAL = Int32(900)
const ERROR_CONNECTION_FAILED = Int32(1000)
const ERROR_REQUEST_TIMEOUT = Int32(1001)
const ERROR_NOT_PERMITTED = Int32(1002)
const ERROR_LIMIT_EXCEEDED = Int32(1003)
const ERROR_INVALID_MESSAGE = Int32(1004)
const ERROR_DAMAGED_FILE = Int32(1005)
const ERROR_WRITE_FAILED = Int32(1006)
const ERROR_PROCESS_GONE = Int32(1007)
const DTYPE_INT = UInt8(0)
const DTYPE_UINT = UInt8(1)
const DTYPE_FLOAT = UInt8(2)
const DTYPE_BFLOAT = UInt8(4)
const DTYPE_COMPLEX = UInt8(5)
const DTYPE_BOOL = UInt8(6)
const ACTIVATION_IDENTITY = UInt32(0)
const ACTIVATION_RELU = UInt32(1)
const ACTIVATION_LEAKY_RELU = UInt32(2)
const ACTIVATION_SIGMOID = UInt32(3)
const ACTIVATION_TANH = UInt32(4)
const ACTIVATION_GELU = UInt32(5)
const ACTIVATION_SILU = UInt32(6)
const ACTIVATION_SOFTPLUS = UInt32(7)
const ACTIVATION_ELU = UInt32(8)
const ACTIVATION_SOFTMAX = UInt32(9)
const ACTIVATION_NEUROMORPHIC = UInt32(10)
const ELEMENTWISE_IDENTITY = UInt32(0)
const ELEMENTWISE_NEGATIVE = UInt32(1)
const ELEMENTWISE_ABSOLUTE = UInt32(2)
const ELEMENTWISE_SIGN = UInt32(3)
const ELEMENTWISE_SQUARE = UInt32(4)
const ELEMENTWISE_RECIPROCAL = UInt32(5)
const ELEMENTWISE_SQRT = UInt32(6)
const ELEMENTWISE_EXP = UInt32(7)
const ELEMENTWISE_EXPM1 = UInt32(8)
const ELEMENTWISE_LOG = UInt32(9)
const ELEMENTWISE_LOG1P = UInt32(10)
const ELEMENTWISE_ERF = UInt32(11)
const ELEMENTWISE_TANH = UInt32(12)
const ELEMENTWISE_SIGMOID = UInt32(13)
const ELEMENTWISE_RELU = UInt32(14)
const ELEMENTWISE_LEAKY_RELU = UInt32(15)
const ELEMENTWISE_ELU = UInt32(16)
const ELEMENTWISE_GELU = UInt32(17)
const ELEMENTWISE_GELU_TANH = UInt32(18)
const ELEMENTWISE_SILU = UInt32(19)
const ELEMENTWISE_SOFTPLUS = UInt32(20)
const ELEMENTWISE_FLOOR = UInt32(21)
const ELEMENTWISE_CEIL = UInt32(22)
const ELEMENTWISE_TRUNC = UInt32(23)
const ELEMENTWISE_RINT = UInt32(24)
const ELEMENTWISE_ISNAN = UInt32(25)
const ELEMENTWISE_ISINF = UInt32(26)
const ELEMENTWISE_ISFINITE = UInt32(27)
const ELEMENTWISE_LOGICAL_NOT = UInt32(28)
const ELEMENTWISE_ADD = UInt32(29)
const ELEMENTWISE_SUBTRACT = UInt32(30)
const ELEMENTWISE_MULTIPLY = UInt32(31)
const ELEMENTWISE_DIVIDE = UInt32(32)
const ELEMENTWISE_MAXIMUM = UInt32(33)
const ELEMENTWISE_MINIMUM = UInt32(34)
const ELEMENTWISE_EQUAL = UInt32(35)
const ELEMENTWISE_NOT_EQUAL = UInt32(36)
const ELEMENTWISE_LESS = UInt32(37)
const ELEMENTWISE_LESS_EQUAL = UInt32(38)
const ELEMENTWISE_GREATER = UInt32(39)
const ELEMENTWISE_GREATER_EQUAL = UInt32(40)
const ELEMENTWISE_LOGICAL_AND = UInt32(41)
const ELEMENTWISE_LOGICAL_OR = UInt32(42)
const ELEMENTWISE_WHERE = UInt32(43)
const ELEMENTWISE_CLIP = UInt32(44)
const ELEMENTWISE_STANDARDIZE = UInt32(45)
const ELEMENTWISE_POWER = UInt32(46)
const ELEMENTWISE_REMAINDER = UInt32(47)
const ELEMENTWISE_FMOD = UInt32(48)
const ELEMENTWISE_FLOOR_DIVIDE = UInt32(49)
const ELEMENTWISE_SIN = UInt32(50)
const ELEMENTWISE_COS = UInt32(51)
const ELEMENTWISE_EXP2 = UInt32(52)
const ELEMENTWISE_LOG2 = UInt32(53)
const ELEMENTWISE_LOG10 = UInt32(54)
const ELEMENTWISE_BITWISE_AND = UInt32(55)
const ELEMENTWISE_BITWISE_OR = UInt32(56)
const ELEMENTWISE_BITWISE_XOR = UInt32(57)
const ELEMENTWISE_INVERT = UInt32(58)
const ELEMENTWISE_LOGICAL_XOR = UInt32(59)
const ELEMENTWISE_RELU_GRADIENT = UInt32(60)
const ELEMENTWISE_LEAKY_RELU_GRADIENT = UInt32(61)
const ELEMENTWISE_ELU_GRADIENT = UInt32(62)
const ELEMENTWISE_GELU_GRADIENT = UInt32(63)
const ELEMENTWISE_GELU_TANH_GRADIENT = UInt32(64)
const ELEMENTWISE_SILU_GRADIENT = UInt32(65)
const ELEMENTWISE_SOFTPLUS_GRADIENT = UInt32(66)
const ELEMENTWISE_SIGMOID_GRADIENT = UInt32(67)
const ELEMENTWISE_TANH_GRADIENT = UInt32(68)
const ELEMENTWISE_TAN = UInt32(69)
const ELEMENTWISE_ASIN = UInt32(70)
const ELEMENTWISE_ACOS = UInt32(71)
const ELEMENTWISE_ATAN = UInt32(72)
const ELEMENTWISE_ATAN2 = UInt32(73)
const ELEMENTWISE_SINH = UInt32(74)
const ELEMENTWISE_COSH = UInt32(75)
const ELEMENTWISE_ASINH = UInt32(76)
const ELEMENTWISE_ACOSH = UInt32(77)
const ELEMENTWISE_ATANH = UInt32(78)
const ELEMENTWISE_HYPOT = UInt32(79)
const ELEMENTWISE_COPYSIGN = UInt32(80)
const ELEMENTWISE_LOGADDEXP = UInt32(81)
const ELEMENTWISE_NEXTAFTER = UInt32(82)
const ELEMENTWISE_NEXTAFTER_HALF = UInt32(83)
const ELEMENTWISE_NEXTAFTER_BFLOAT = UInt32(84)
const ELEMENTWISE_SIGNBIT = UInt32(85)
const ELEMENTWISE_LEFT_SHIFT = UInt32(86)
const ELEMENTWISE_RIGHT_SHIFT = UInt32(87)
const ELEMENTWISE_LINEAR_COMBINATION = UInt32(88)
const ELEMENTWISE_SQUARED_ERROR = UInt32(89)
const ELEMENTWISE_SQUARED_ERROR_GRADIENT = UInt32(90)
const ELEMENTWISE_BCE = UInt32(91)
const ELEMENTWISE_BCE_GRADIENT = UInt32(92)
const ELEMENTWISE_BCE_WITH_LOGITS = UInt32(93)
const ELEMENTWISE_BCE_WITH_LOGITS_GRADIENT = UInt32(94)
const COMPLEX_IDENTITY = UInt32(0)
const COMPLEX_NEGATIVE = UInt32(1)
const COMPLEX_ABSOLUTE = UInt32(2)
const COMPLEX_SIGN = UInt32(3)
const COMPLEX_SQUARE = UInt32(4)
const COMPLEX_RECIPROCAL = UInt32(5)
const COMPLEX_SQRT = UInt32(6)
const COMPLEX_EXP = UInt32(7)
const COMPLEX_EXPM1 = UInt32(8)
const COMPLEX_LOG = UInt32(9)
const COMPLEX_LOG1P = UInt32(10)
const COMPLEX_LOG2 = UInt32(11)
const COMPLEX_LOG10 = UInt32(12)
const COMPLEX_SIN = UInt32(13)
const COMPLEX_COS = UInt32(14)
const COMPLEX_TAN = UInt32(15)
const COMPLEX_SINH = UInt32(16)
const COMPLEX_COSH = UInt32(17)
const COMPLEX_TANH = UInt32(18)
const COMPLEX_ASIN = UInt32(19)
const COMPLEX_ACOS = UInt32(20)
const COMPLEX_ATAN = UInt32(21)
const COMPLEX_ASINH = UInt32(22)
const COMPLEX_ACOSH = UInt32(23)
const COMPLEX_ATANH = UInt32(24)
const COMPLEX_CONJ = UInt32(25)
const COMPLEX_ANGLE = UInt32(26)
const COMPLEX_ISNAN = UInt32(27)
const COMPLEX_ISINF = UInt32(28)
const COMPLEX_ISFINITE = UInt32(29)
const COMPLEX_LOGICAL_NOT = UInt32(30)
const COMPLEX_ADD = UInt32(31)
const COMPLEX_SUBTRACT = UInt32(32)
const COMPLEX_MULTIPLY = UInt32(33)
const COMPLEX_DIVIDE = UInt32(34)
const COMPLEX_POWER = UInt32(35)
const COMPLEX_EQUAL = UInt32(36)
const COMPLEX_NOT_EQUAL = UInt32(37)
const COMPLEX_LOGICAL_AND = UInt32(38)
const COMPLEX_LOGICAL_OR = UInt32(39)
const COMPLEX_LOGICAL_XOR = UInt32(40)
const COMPLEX_WHERE = UInt32(41)
const REDUCE_SUM = UInt32(0)
const REDUCE_PRODUCT = UInt32(1)
const REDUCE_MAXIMUM = UInt32(2)
const REDUCE_MINIMUM = UInt32(3)
const REDUCE_ANY = UInt32(4)
const REDUCE_ALL = UInt32(5)
const REDUCE_VARIANCE = UInt32(6)
const REDUCE_DEVIATION = UInt32(7)
const REDUCE_ARGMAX = UInt32(8)
const REDUCE_ARGMIN = UInt32(9)
const ABI_VERSION = UInt32(1)
const DEVICE_CPU = Int32(1)
const DEVICE_CUDA = Int32(2)
const DEVICE_CUDA_HOST = Int32(3)
const DEVICE_ROCM = Int32(10)
const DEVICE_ROCM_HOST = Int32(11)
const ALLOCATOR_SLAB = UInt32(0)
const ALLOCATOR_BUDDY = UInt32(1)
const ALLOCATOR_ARENA = UInt32(2)
const HOST_MEMORY_PLAIN = UInt32(0)
const HOST_MEMORY_ADVISED = UInt32(1)
const HOST_MEMORY_POOL = UInt32(2)
const PRECISION_OPERANDS = UInt32(0)
const PRECISION_BF16 = UInt32(1)
const PRECISION_F16 = UInt32(2)
const NORMALIZE_SOFTMAX = UInt32(0)
const NORMALIZE_LOG_SOFTMAX = UInt32(1)
const NORMALIZE_LAYER_NORM = UInt32(2)
const NORMALIZE_RMS_NORM = UInt32(3)
const SCATTER_ASSIGN = UInt32(0)
const SCATTER_ADD = UInt32(1)
const SCATTER_MULTIPLY = UInt32(2)
const SCATTER_MAXIMUM = UInt32(3)
const SCATTER_MINIMUM = UInt32(4)
const SEGMENTS_SUM = UInt32(0)
const SEGMENTS_PRODUCT = UInt32(1)
const SEGMENTS_MEAN = UInt32(2)
const SEGMENTS_MAXIMUM = UInt32(3)
const SEGMENTS_MINIMUM = UInt32(4)
const SEGMENTS_FILL = UInt32(0)
const SEGMENTS_KEEP = UInt32(1)
const SEGMENTS_INCLUDE = UInt32(2)
const SCAN_SUM = UInt32(0)
const SCAN_PRODUCT = UInt32(1)
const SCAN_MAXIMUM = UInt32(2)
const SCAN_MINIMUM = UInt32(3)
const CONVOLVE_FORWARD = UInt32(0)
const CONVOLVE_IMAGE_GRADIENT = UInt32(1)
const CONVOLVE_WEIGHT_GRADIENT = UInt32(2)
const CLASS_LOSS_CROSS_ENTROPY = UInt32(0)
const CLASS_LOSS_NEGATIVE_LOG_LIKELIHOOD = UInt32(1)
const LOSS_NONE = UInt32(0)
const LOSS_MEAN = UInt32(1)
const LOSS_SUM = UInt32(2)
const POOL_MAXIMUM = UInt32(0)
const POOL_AVERAGE = UInt32(1)
const POOL_MAXIMUM_GRADIENT = UInt32(2)
const POOL_AVERAGE_GRADIENT = UInt32(3)
const POOL_ADD_AT_INDICES = UInt32(4)
const POOL_SET_AT_INDICES = UInt32(5)
const RANDOM_UNIFORM = UInt32(0)
const RANDOM_NORMAL = UInt32(1)
const RANDOM_EXPONENTIAL = UInt32(2)
const RANDOM_INTEGERS = UInt32(3)
const RANDOM_BERNOULLI = UInt32(4)
const RANDOM_DROPOUT = UInt32(5)
const RANDOM_GAMMA = UInt32(6)
const RANDOM_BETA = UInt32(7)
const RANDOM_POISSON = UInt32(8)
const RANDOM_BINOMIAL = UInt32(9)
const RANDOM_INTERLEAVED_BITS = UInt32(10)
const RANDOM_GROUPED_NORMAL = UInt32(11)

"`agpu_str`."
struct Str
    ptr::Ptr{UInt8}
    len::UInt64
end

"`agpu_library_info`. What a library says of itself; all text lives as long as the process."
struct LibraryInfo
    size_bytes::UInt64
    abi_version::UInt32
    reserved::UInt32
    abi_hash::UInt64
    name::Str
    version::Str
    language::Str
    layout_manifest::Str
end

"`agpu_error`. The last failure on this thread."
struct LastError
    size_bytes::UInt64
    code::Int32
    reserved::UInt32
    message::Str
end

"`agpu_device_ref`."
struct DeviceRef
    device_type::Int32
    device_id::Int32
end

"`agpu_dtype`."
struct Dtype
    code::UInt8
    bits::UInt8
    lanes::UInt16
end

"`agpu_tensor`. Same layout as DLPack's DLTensor."
struct Tensor
    data::Ptr{Cvoid}
    device::DeviceRef
    ndim::Int32
    dtype::Dtype
    shape::Ptr{Int64}
    strides::Ptr{Int64}
    byte_offset::UInt64
end

"`agpu_executor`. The thread pool of the process, handed down so that no library starts threads of its own."
struct Executor
    size_bytes::UInt64
    context::Ptr{Cvoid}
    thread_count::UInt32
    reserved::UInt32
    parallel_for::Ptr{Cvoid}
end

"`agpu_activation`."
struct Activation
    kind::UInt32
    alpha::Float32
    beta::Float32
    reserved::UInt32
end

"`agpu_matmul_options`. out = activation(alpha * (a @ b) + beta * out + bias + residual). `executor` may be NULL: one thread. `bias` [n], `residual` [..., m, n] and `activation` may be NULL; both tensors are of the type that is summed in. Softmax is no activation of a product."
struct MatmulOptions
    size_bytes::UInt64
    alpha::Float64
    beta::Float64
    executor::Ptr{Executor}
    bias::Ptr{Tensor}
    residual::Ptr{Tensor}
    activation::Ptr{Activation}
    precision::UInt32
    reserved::UInt32
end

"`agpu_elementwise_options`. `compute` is the type that is computed in: float32, float64, int32, int64 or uint64, and complex64 or complex128 for operations AGPU_COMPLEX_*. `alpha`: slope of leaky_relu, scale of elu, and so of their gradients, whose inputs are x (for sigmoid and tanh the result) and the gradient of the result. Exponents of integers are not negative."
struct ElementwiseOptions
    size_bytes::UInt64
    operation::UInt32
    compute::Dtype
    alpha::Float64
    executor::Ptr{Executor}
end

"`agpu_normalize_options`. The last `row_axes` axes are normalised together. Where asked for, a layer norm of a matrix writes the mean of each row and one over its deviation, in the dtype that is computed in."
struct NormalizeOptions
    size_bytes::UInt64
    operation::UInt32
    compute::Dtype
    row_axes::UInt64
    epsilon::Float64
    executor::Ptr{Executor}
    means::Ptr{Cvoid}
    inverse_deviations::Ptr{Cvoid}
end

"`agpu_reduce_options`. The last `reduced_axes` axes are folded; sums are divided by `divisor`, of the squares of distances from the mean for variance and deviation, whose root is taken for the latter."
struct ReduceOptions
    size_bytes::UInt64
    operation::UInt32
    compute::Dtype
    reduced_axes::UInt64
    divisor::Float64
    executor::Ptr{Executor}
end

"`agpu_transpose_options`."
struct TransposeOptions
    size_bytes::UInt64
    executor::Ptr{Executor}
end

"`agpu_embedding_options`."
struct EmbeddingOptions
    size_bytes::UInt64
    executor::Ptr{Executor}
end

"`agpu_cast_options`."
struct CastOptions
    size_bytes::UInt64
    executor::Ptr{Executor}
end

"`agpu_offsets_options`. For each array of indices: the axis that messages name, its extent, and the distance of its elements."
struct OffsetsOptions
    size_bytes::UInt64
    axes::Ptr{Int64}
    extents::Ptr{Int64}
    strides::Ptr{Int64}
    executor::Ptr{Executor}
end

"`agpu_blocks_options`. At every offset lies a block of elements. An offset outside of [`lowest`, `highest`] is refused. Only scatter has a `mode`."
struct BlocksOptions
    size_bytes::UInt64
    block_rank::UInt64
    block_shape::Ptr{Int64}
    block_strides::Ptr{Int64}
    lowest::Int64
    highest::Int64
    mode::UInt32
    reserved::UInt32
    executor::Ptr{Executor}
end

"`agpu_segments_options`. `has_offsets` is 1 where segments are given by where they begin, and where the last one ends; else every value has the row that it belongs to. Values of the row `skipped` are left out. `wraps` is 1 where negative rows count from the end."
struct SegmentsOptions
    size_bytes::UInt64
    operation::UInt32
    start::UInt32
    has_offsets::UInt32
    wraps::UInt32
    skipped::Int64
    executor::Ptr{Executor}
end

"`agpu_nonzero_options`. `counts` has `piece_count` numbers: those of the elements that are not zero in pieces of nearly the same length."
struct NonzeroOptions
    size_bytes::UInt64
    piece_count::UInt64
    counts::Ptr{UInt64}
    executor::Ptr{Executor}
end

"`agpu_sort_options`. `gives_places` is 1 where the result is int64 places instead of values."
struct SortOptions
    size_bytes::UInt64
    is_descending::UInt32
    gives_places::UInt32
    executor::Ptr{Executor}
end

"`agpu_search_sorted_options`. `is_right` is 1 for the place behind equal values, 0 for the one before them."
struct SearchSortedOptions
    size_bytes::UInt64
    is_right::UInt32
    reserved::UInt32
    executor::Ptr{Executor}
end

"`agpu_scan_options`."
struct ScanOptions
    size_bytes::UInt64
    operation::UInt32
    compute::Dtype
    executor::Ptr{Executor}
end

"`agpu_top_k_options`. `is_largest` is 1 for the largest values, 0 for the smallest."
struct TopKOptions
    size_bytes::UInt64
    is_largest::UInt32
    compute::Dtype
    executor::Ptr{Executor}
end

"`agpu_convolve_options`. Padding is what precedes the first row and column; what follows the last is told by the extents of the result."
struct ConvolveOptions
    size_bytes::UInt64
    pass::UInt32
    compute::Dtype
    groups::UInt64
    row_stride::UInt64
    column_stride::UInt64
    row_padding::UInt64
    column_padding::UInt64
    row_dilation::UInt64
    column_dilation::UInt64
    depth_stride::UInt64
    depth_padding::UInt64
    depth_dilation::UInt64
    executor::Ptr{Executor}
end

"`agpu_class_loss_options`. `has_shares` is 1 where targets are the shares of all classes, else they are classes, of which `ignored` counts for nothing."
struct ClassLossOptions
    size_bytes::UInt64
    operation::UInt32
    reduction::UInt32
    compute::Dtype
    has_shares::UInt32
    has_weight::UInt32
    is_gradient::UInt32
    ignored::Int64
    smoothing::Float64
    executor::Ptr{Executor}
end

"`agpu_attention_options`. `is_causal` is 1 where query i sees keys 0 to i alone."
struct AttentionOptions
    size_bytes::UInt64
    scale::Float64
    compute::Dtype
    is_causal::UInt32
    has_mask::UInt32
    reserved::UInt32
    executor::Ptr{Executor}
end

"`agpu_pool_options`. Padding is what precedes the first pixel; windows may reach as far behind the last, or farther. Adaptive windows are told by the extents of image and result alone. `divisor` is that of averages, 0 the number of values; where the largest values stand in their planes is written to `indices`, int64 of the shape of the result, if that is not NULL."
struct PoolOptions
    size_bytes::UInt64
    operation::UInt32
    compute::Dtype
    row_window::UInt64
    column_window::UInt64
    row_stride::UInt64
    column_stride::UInt64
    row_padding::UInt64
    column_padding::UInt64
    row_dilation::UInt64
    column_dilation::UInt64
    depth_window::UInt64
    depth_stride::UInt64
    depth_padding::UInt64
    depth_dilation::UInt64
    counts_padding::UInt32
    is_adaptive::UInt32
    divisor::Int64
    indices::Ptr{Tensor}
    executor::Ptr{Executor}
end

"`agpu_random_options`. Philox4x32-10 with this key, from word `skip` of the block at the counter (block, high) on. `a`, `b`: lowest value and extent (uniform), mean and standard deviation (normal), scale in `b` (exponential), chance (bernoulli), chance to stay and factor (dropout). Integers are `low` + [0, `span`), 0 for 2^64; for interleaved bits `span` is the number of threads. Grouped normal numbers are those of TensorFlow: group g, as many elements as a block makes, takes numbers whose absolute value is below `a` from block g * `span` on, the counter of 128 bits."
struct RandomOptions
    size_bytes::UInt64
    distribution::UInt32
    skip::UInt32
    key::UInt64
    block::UInt64
    high::UInt64
    a::Float64
    b::Float64
    low::UInt64
    span::UInt64
    executor::Ptr{Executor}
end

"`agpu_allocator_options`. A range of `capacity_bytes` is managed as offsets; the memory itself is never touched, so it may be a device's."
struct AllocatorOptions
    size_bytes::UInt64
    kind::UInt32
    reserved::UInt32
    capacity_bytes::UInt64
    min_block_bytes::UInt64
end

"`agpu_allocator_stats`."
struct AllocatorStats
    size_bytes::UInt64
    capacity_bytes::UInt64
    used_bytes::UInt64
    peak_used_bytes::UInt64
    largest_free_bytes::UInt64
    live_blocks::UInt64
    allocations_total::UInt64
    frees_total::UInt64
    failures_total::UInt64
end

"`agpu_host_memory`. `bytes` is a multiple of 2 MiB, and so is the address."
struct HostMemory
    size_bytes::UInt64
    data::Ptr{Cvoid}
    bytes::UInt64
    kind::UInt32
    reserved::UInt32
end

"`agpu_host_memory_stats`. Of the library in this process, its workspaces included: bytes that are held, by kind of page."
struct HostMemoryStats
    size_bytes::UInt64
    plain_bytes::UInt64
    advised_bytes::UInt64
    pool_bytes::UInt64
    allocations_total::UInt64
    frees_total::UInt64
    failures_total::UInt64
end

"`agpu_math_table`. Only the thread that owns the Julia runtime may call through this table."
struct MathTable
    size_bytes::UInt64
    abi_version::UInt32
    reserved::UInt32
    abi_hash::UInt64
    activation::Ptr{Cvoid}
    softmax::Ptr{Cvoid}
    dense_forward::Ptr{Cvoid}
    adaptive_learning_rate::Ptr{Cvoid}
    momentum_update::Ptr{Cvoid}
    last_error::Ptr{Cvoid}
end

const MANIFEST_ROWS = (
    ("agpu_str", Str),
    ("agpu_library_info", LibraryInfo),
    ("agpu_error", LastError),
    ("agpu_device_ref", DeviceRef),
    ("agpu_dtype", Dtype),
    ("agpu_tensor", Tensor),
    ("agpu_executor", Executor),
    ("agpu_activation", Activation),
    ("agpu_matmul_options", MatmulOptions),
    ("agpu_elementwise_options", ElementwiseOptions),
    ("agpu_normalize_options", NormalizeOptions),
    ("agpu_reduce_options", ReduceOptions),
    ("agpu_transpose_options", TransposeOptions),
    ("agpu_embedding_options", EmbeddingOptions),
    ("agpu_cast_options", CastOptions),
    ("agpu_offsets_options", OffsetsOptions),
    ("agpu_blocks_options", BlocksOptions),
    ("agpu_segments_options", SegmentsOptions),
    ("agpu_nonzero_options", NonzeroOptions),
    ("agpu_sort_options", SortOptions),
    ("agpu_search_sorted_options", SearchSortedOptions),
    ("agpu_scan_options", ScanOptions),
    ("agpu_top_k_options", TopKOptions),
    ("agpu_convolve_options", ConvolveOptions),
    ("agpu_class_loss_options", ClassLossOptions),
    ("agpu_attention_options", AttentionOptions),
    ("agpu_pool_options", PoolOptions),
    ("agpu_random_options", RandomOptions),
    ("agpu_allocator_options", AllocatorOptions),
    ("agpu_allocator_stats", AllocatorStats),
    ("agpu_host_memory", HostMemory),
    ("agpu_host_memory_stats", HostMemoryStats),
    ("agpu_math_table", MathTable),
)

"Sizes and offsets as this module was compiled: one line per struct."
function layout_manifest()
    io = IOBuffer()
    for (name, type) in MANIFEST_ROWS
        print(io, name, " size=", sizeof(type))
        for index in 1:fieldcount(type)
            print(io, ' ', fieldname(type, index), '@', Int(fieldoffset(type, index)))
        end
        println(io)
    end
    return String(take!(io))
end
