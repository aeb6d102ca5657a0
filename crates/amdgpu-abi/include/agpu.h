/* agpu.h: the C ABI that every native library of amdgpu shares.
 *
 * Contract
 *  - C11, little-endian 64-bit targets, fixed-width types only, prefix `agpu_`.
 *  - Text is `agpu_str` (pointer and length, UTF-8, not terminated). It belongs to the callee's side: text given to a call is
 *    borrowed for the duration of the call; text returned stays valid until the next call of the same library on the same thread,
 *    or for the life of the process where a function says so.
 *  - A struct that may grow starts with `size_bytes`, set by whoever fills it; a reader looks at no field past that size.
 *  - Functions return `agpu_status`: 0, or a code of errors.toml. The message of the last failure on this thread is read with
 *    `agpu_<library>_last_error`. Nothing unwinds, exits or aborts across this boundary.
 *  - Every function may be called from any thread at the same time, except where its comment says otherwise.
 *  - Tensors have the memory layout of DLPack's `DLTensor`; strides count elements and may be NULL (row-major contiguous).
 *
 * Numbers of dtypes, operations and activations stand in agpu_tables.h, generated from dtypes.toml and ops.toml.
 * The mirrors of this file in Rust, Zig, Nim and Julia are generated from it (`./x generate`); `./x check` fails when they are stale.
 * The generator reads the plain forms used below: `#define NAME value`, `typedef struct { ... } name;`, function-pointer typedefs and
 * prototypes marked AGPU_MATRIX, AGPU_NEURO or AGPU_MATH.
 */
#ifndef AGPU_H
#define AGPU_H

#include <stdint.h>

#include "agpu_errors.h"
#include "agpu_tables.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by one whenever a struct or a function below changes incompatibly. */
#define AGPU_ABI_VERSION 1

/* Marks which library exports a prototype; empty for the C compiler. */
#define AGPU_MATRIX
#define AGPU_NEURO

typedef int32_t agpu_status;

/* Values of DLPack's DLDeviceType (dlpack.h, v1.1). */
#define AGPU_DEVICE_CPU 1
#define AGPU_DEVICE_CUDA 2
#define AGPU_DEVICE_CUDA_HOST 3
#define AGPU_DEVICE_ROCM 10
#define AGPU_DEVICE_ROCM_HOST 11

/* Sub-allocation strategies of the Zig library. */
#define AGPU_ALLOCATOR_SLAB 0
#define AGPU_ALLOCATOR_BUDDY 1
#define AGPU_ALLOCATOR_ARENA 2

/* Pages of host memory: plain; huge ones asked for, which come where the system finds some; huge ones of the system's pool. */
#define AGPU_HOST_MEMORY_PLAIN 0
#define AGPU_HOST_MEMORY_ADVISED 1
#define AGPU_HOST_MEMORY_POOL 2

typedef struct {
    const char *ptr;
    uint64_t len;
} agpu_str;

/* What a library says of itself; all text lives as long as the process. */
typedef struct {
    uint64_t size_bytes;
    uint32_t abi_version;
    uint32_t reserved;
    uint64_t abi_hash;
    agpu_str name;
    agpu_str version;
    agpu_str language;
    agpu_str layout_manifest;
} agpu_library_info;

/* The last failure on this thread. */
typedef struct {
    uint64_t size_bytes;
    int32_t code;
    uint32_t reserved;
    agpu_str message;
} agpu_error;

typedef struct {
    int32_t device_type;
    int32_t device_id;
} agpu_device_ref;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} agpu_dtype;

/* Same layout as DLPack's DLTensor. */
typedef struct {
    void *data;
    agpu_device_ref device;
    int32_t ndim;
    agpu_dtype dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
} agpu_tensor;

/* Work on the half-open index range [begin, end). Must not unwind. */
typedef void (*agpu_task_fn)(void *data, uint64_t begin, uint64_t end);

/* Runs `task` over [0, count) in pieces, on several threads, and returns when all pieces are done. */
typedef agpu_status (*agpu_parallel_for_fn)(void *context, uint64_t count, agpu_task_fn task, void *data);

/* The thread pool of the process, handed down so that no library starts threads of its own. */
typedef struct {
    uint64_t size_bytes;
    void *context;
    uint32_t thread_count;
    uint32_t reserved;
    agpu_parallel_for_fn parallel_for;
} agpu_executor;

typedef struct {
    uint32_t kind;
    float alpha;
    float beta;
    uint32_t reserved;
} agpu_activation;

/* What a matrix product computes in: the type of its operands, or, for float32 operands, another to which they are rounded first. */
#define AGPU_PRECISION_OPERANDS 0
#define AGPU_PRECISION_BF16 1
#define AGPU_PRECISION_F16 2

/* out = activation(alpha * (a @ b) + beta * out + bias + residual). `executor` may be NULL: one thread. `bias` [n], `residual` [..., m, n] and
 * `activation` may be NULL; both tensors are of the type that is summed in. Softmax is no activation of a product. */
typedef struct {
    uint64_t size_bytes;
    double alpha;
    double beta;
    const agpu_executor *executor;
    const agpu_tensor *bias;
    const agpu_tensor *residual;
    const agpu_activation *activation;
    uint32_t precision;
    uint32_t reserved;
} agpu_matmul_options;

/* `compute` is the type that is computed in: float32, float64, int32, int64 or uint64, and complex64 or complex128 for operations AGPU_COMPLEX_*.
 * `alpha`: slope of leaky_relu, scale of elu, and so of their gradients, whose inputs are x (for sigmoid and tanh the result) and the gradient of
 * the result. Exponents of integers are not negative. */
typedef struct {
    uint64_t size_bytes;
    uint32_t operation;
    agpu_dtype compute;
    double alpha;
    const agpu_executor *executor;
} agpu_elementwise_options;

/* Operations of agpu_matrix_normalize. */
#define AGPU_NORMALIZE_SOFTMAX 0
#define AGPU_NORMALIZE_LOG_SOFTMAX 1
#define AGPU_NORMALIZE_LAYER_NORM 2
#define AGPU_NORMALIZE_RMS_NORM 3

/* The last `row_axes` axes are normalised together. Where asked for, a layer norm of a matrix writes the mean of each row and one over its
 * deviation, in the dtype that is computed in. */
typedef struct {
    uint64_t size_bytes;
    uint32_t operation;
    agpu_dtype compute;
    uint64_t row_axes;
    double epsilon;
    const agpu_executor *executor;
    void *means;
    void *inverse_deviations;
} agpu_normalize_options;

/* The last `reduced_axes` axes are folded; sums are divided by `divisor`, of the squares of distances from the mean for variance and
 * deviation, whose root is taken for the latter. */
typedef struct {
    uint64_t size_bytes;
    uint32_t operation;
    agpu_dtype compute;
    uint64_t reduced_axes;
    double divisor;
    const agpu_executor *executor;
} agpu_reduce_options;

typedef struct {
    uint64_t size_bytes;
    const agpu_executor *executor;
} agpu_transpose_options;

typedef struct {
    uint64_t size_bytes;
    const agpu_executor *executor;
} agpu_embedding_options;

typedef struct {
    uint64_t size_bytes;
    const agpu_executor *executor;
} agpu_cast_options;

/* For each array of indices: the axis that messages name, its extent, and the distance of its elements. */
typedef struct {
    uint64_t size_bytes;
    const int64_t *axes;
    const int64_t *extents;
    const int64_t *strides;
    const agpu_executor *executor;
} agpu_offsets_options;

/* What agpu_matrix_scatter does with a value and the element that it meets. */
#define AGPU_SCATTER_ASSIGN 0
#define AGPU_SCATTER_ADD 1
#define AGPU_SCATTER_MULTIPLY 2
#define AGPU_SCATTER_MAXIMUM 3
#define AGPU_SCATTER_MINIMUM 4

/* At every offset lies a block of elements. An offset outside of [`lowest`, `highest`] is refused. Only scatter has a `mode`. */
typedef struct {
    uint64_t size_bytes;
    uint64_t block_rank;
    const int64_t *block_shape;
    const int64_t *block_strides;
    int64_t lowest;
    int64_t highest;
    uint32_t mode;
    uint32_t reserved;
    const agpu_executor *executor;
} agpu_blocks_options;

/* Operations of agpu_matrix_segments. */
#define AGPU_SEGMENTS_SUM 0
#define AGPU_SEGMENTS_PRODUCT 1
#define AGPU_SEGMENTS_MEAN 2
#define AGPU_SEGMENTS_MAXIMUM 3
#define AGPU_SEGMENTS_MINIMUM 4

/* What agpu_matrix_segments makes of `out`: every row is written, one without values with what the operation gives for none; rows without values
 * keep what they hold; what rows hold takes part as a value before the others. */
#define AGPU_SEGMENTS_FILL 0
#define AGPU_SEGMENTS_KEEP 1
#define AGPU_SEGMENTS_INCLUDE 2

/* `has_offsets` is 1 where segments are given by where they begin, and where the last one ends; else every value has the row that it belongs to.
 * Values of the row `skipped` are left out. `wraps` is 1 where negative rows count from the end. */
typedef struct {
    uint64_t size_bytes;
    uint32_t operation;
    uint32_t start;
    uint32_t has_offsets;
    uint32_t wraps;
    int64_t skipped;
    const agpu_executor *executor;
} agpu_segments_options;

/* `counts` has `piece_count` numbers: those of the elements that are not zero in pieces of nearly the same length. */
typedef struct {
    uint64_t size_bytes;
    uint64_t piece_count;
    uint64_t *counts;
    const agpu_executor *executor;
} agpu_nonzero_options;

/* `gives_places` is 1 where the result is int64 places instead of values. */
typedef struct {
    uint64_t size_bytes;
    uint32_t is_descending;
    uint32_t gives_places;
    const agpu_executor *executor;
} agpu_sort_options;

/* `is_right` is 1 for the place behind equal values, 0 for the one before them. */
typedef struct {
    uint64_t size_bytes;
    uint32_t is_right;
    uint32_t reserved;
    const agpu_executor *executor;
} agpu_search_sorted_options;

/* Operations of agpu_matrix_scan. */
#define AGPU_SCAN_SUM 0
#define AGPU_SCAN_PRODUCT 1
#define AGPU_SCAN_MAXIMUM 2
#define AGPU_SCAN_MINIMUM 3

typedef struct {
    uint64_t size_bytes;
    uint32_t operation;
    agpu_dtype compute;
    const agpu_executor *executor;
} agpu_scan_options;

/* `is_largest` is 1 for the largest values, 0 for the smallest. */
typedef struct {
    uint64_t size_bytes;
    uint32_t is_largest;
    agpu_dtype compute;
    const agpu_executor *executor;
} agpu_top_k_options;

/* What agpu_matrix_convolve computes. */
#define AGPU_CONVOLVE_FORWARD 0
#define AGPU_CONVOLVE_IMAGE_GRADIENT 1
#define AGPU_CONVOLVE_WEIGHT_GRADIENT 2

/* Padding is what precedes the first row and column; what follows the last is told by the extents of the result. */
typedef struct {
    uint64_t size_bytes;
    uint32_t pass;
    agpu_dtype compute;
    uint64_t groups;
    uint64_t row_stride;
    uint64_t column_stride;
    uint64_t row_padding;
    uint64_t column_padding;
    uint64_t row_dilation;
    uint64_t column_dilation;
    uint64_t depth_stride;
    uint64_t depth_padding;
    uint64_t depth_dilation;
    const agpu_executor *executor;
} agpu_convolve_options;

/* Operations of agpu_matrix_class_loss, and what becomes of the terms. */
#define AGPU_CLASS_LOSS_CROSS_ENTROPY 0
#define AGPU_CLASS_LOSS_NEGATIVE_LOG_LIKELIHOOD 1
#define AGPU_LOSS_NONE 0
#define AGPU_LOSS_MEAN 1
#define AGPU_LOSS_SUM 2

/* `has_shares` is 1 where targets are the shares of all classes, else they are classes, of which `ignored` counts for nothing. */
typedef struct {
    uint64_t size_bytes;
    uint32_t operation;
    uint32_t reduction;
    agpu_dtype compute;
    uint32_t has_shares;
    uint32_t has_weight;
    uint32_t is_gradient;
    int64_t ignored;
    double smoothing;
    const agpu_executor *executor;
} agpu_class_loss_options;

/* `is_causal` is 1 where query i sees keys 0 to i alone. */
typedef struct {
    uint64_t size_bytes;
    double scale;
    agpu_dtype compute;
    uint32_t is_causal;
    uint32_t has_mask;
    uint32_t reserved;
    const agpu_executor *executor;
} agpu_attention_options;

/* Operations of agpu_matrix_pool. The last two put values at places in planes: they add values of one place, or keep the last. */
#define AGPU_POOL_MAXIMUM 0
#define AGPU_POOL_AVERAGE 1
#define AGPU_POOL_MAXIMUM_GRADIENT 2
#define AGPU_POOL_AVERAGE_GRADIENT 3
#define AGPU_POOL_ADD_AT_INDICES 4
#define AGPU_POOL_SET_AT_INDICES 5

/* Padding is what precedes the first pixel; windows may reach as far behind the last, or farther. Adaptive windows are told by the extents
 * of image and result alone. `divisor` is that of averages, 0 the number of values; where the largest values stand in their planes is written
 * to `indices`, int64 of the shape of the result, if that is not NULL. */
typedef struct {
    uint64_t size_bytes;
    uint32_t operation;
    agpu_dtype compute;
    uint64_t row_window;
    uint64_t column_window;
    uint64_t row_stride;
    uint64_t column_stride;
    uint64_t row_padding;
    uint64_t column_padding;
    uint64_t row_dilation;
    uint64_t column_dilation;
    uint64_t depth_window;
    uint64_t depth_stride;
    uint64_t depth_padding;
    uint64_t depth_dilation;
    uint32_t counts_padding;
    uint32_t is_adaptive;
    int64_t divisor;
    const agpu_tensor *indices;
    const agpu_executor *executor;
} agpu_pool_options;

/* Distributions of agpu_matrix_random. */
#define AGPU_RANDOM_UNIFORM 0
#define AGPU_RANDOM_NORMAL 1
#define AGPU_RANDOM_EXPONENTIAL 2
#define AGPU_RANDOM_INTEGERS 3
#define AGPU_RANDOM_BERNOULLI 4
#define AGPU_RANDOM_DROPOUT 5
#define AGPU_RANDOM_GAMMA 6
#define AGPU_RANDOM_BETA 7
#define AGPU_RANDOM_POISSON 8
#define AGPU_RANDOM_BINOMIAL 9
#define AGPU_RANDOM_INTERLEAVED_BITS 10
#define AGPU_RANDOM_GROUPED_NORMAL 11

/* Philox4x32-10 with this key, from word `skip` of the block at the counter (block, high) on. `a`, `b`: lowest value and extent (uniform), mean and
 * standard deviation (normal), scale in `b` (exponential), chance (bernoulli), chance to stay and factor (dropout). Integers are `low` + [0, `span`),
 * 0 for 2^64; for interleaved bits `span` is the number of threads. Grouped normal numbers are those of TensorFlow: group g, as many elements as a
 * block makes, takes numbers whose absolute value is below `a` from block g * `span` on, the counter of 128 bits. */
typedef struct {
    uint64_t size_bytes;
    uint32_t distribution;
    uint32_t skip;
    uint64_t key;
    uint64_t block;
    uint64_t high;
    double a;
    double b;
    uint64_t low;
    uint64_t span;
    const agpu_executor *executor;
} agpu_random_options;

/* A range of `capacity_bytes` is managed as offsets; the memory itself is never touched, so it may be a device's. */
typedef struct {
    uint64_t size_bytes;
    uint32_t kind;
    uint32_t reserved;
    uint64_t capacity_bytes;
    uint64_t min_block_bytes;
} agpu_allocator_options;

typedef struct {
    uint64_t size_bytes;
    uint64_t capacity_bytes;
    uint64_t used_bytes;
    uint64_t peak_used_bytes;
    uint64_t largest_free_bytes;
    uint64_t live_blocks;
    uint64_t allocations_total;
    uint64_t frees_total;
    uint64_t failures_total;
} agpu_allocator_stats;

/* `bytes` is a multiple of 2 MiB, and so is the address. */
typedef struct {
    uint64_t size_bytes;
    void *data;
    uint64_t bytes;
    uint32_t kind;
    uint32_t reserved;
} agpu_host_memory;

/* Of the library in this process, its workspaces included: bytes that are held, by kind of page. */
typedef struct {
    uint64_t size_bytes;
    uint64_t plain_bytes;
    uint64_t advised_bytes;
    uint64_t pool_bytes;
    uint64_t allocations_total;
    uint64_t frees_total;
    uint64_t failures_total;
} agpu_host_memory_stats;

/* Opaque handles, one pointer wide. */
typedef void *agpu_allocator;
typedef void *agpu_network_plan;

/* One dense layer: out[batch, outputs] = activation(x[batch, inputs] @ weight[inputs, outputs] + bias[outputs]). float32. */
typedef agpu_status (*agpu_dense_forward_fn)(const agpu_tensor *x, const agpu_tensor *weight, const agpu_tensor *bias,
                                             agpu_tensor *out, const agpu_activation *activation,
                                             const agpu_executor *executor);

/* Matrix core, libagpu_matrix.so (Zig). */
AGPU_MATRIX agpu_status agpu_matrix_describe(agpu_library_info *out);
AGPU_MATRIX agpu_status agpu_matrix_last_error(agpu_error *out);
/* a[..., m, k] @ b[..., k, n] into out[..., m, n], any strides; the axes before the last two stretch as NumPy's do, to those of `out`. `out` must
 * not overlap an operand. Both operands f32, f64, f16, bf16 or i8. `out` is of the same type; f16 and bf16 are summed in f32 and may be written
 * to f32; i8 is summed in i32, wrapping, and written to i32. */
AGPU_MATRIX agpu_status agpu_matrix_matmul(const agpu_tensor *a, const agpu_tensor *b, agpu_tensor *out,
                                           const agpu_matmul_options *options);
/* See agpu_dense_forward_fn; `bias` and `executor` may be NULL. */
AGPU_MATRIX agpu_status agpu_matrix_dense_forward(const agpu_tensor *x, const agpu_tensor *weight, const agpu_tensor *bias,
                                                  agpu_tensor *out, const agpu_activation *activation,
                                                  const agpu_executor *executor);
/* Tensor operations: any strides, broadcast axes have stride 0, at most 16 axes. Descriptions are validated by the caller (amdgpu-matrix) and
 * only asserted here. `out` is the very view of an input or shares no memory with any. */
AGPU_MATRIX agpu_status agpu_matrix_elementwise(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                                const agpu_elementwise_options *options);
/* Inputs: x, then scale and shift of the shape of a row where given. */
AGPU_MATRIX agpu_status agpu_matrix_normalize(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                              const agpu_normalize_options *options);
/* Gradients of the same operations. Inputs: x (of the softmaxes the result), the gradient of the result, then the scale of a norm where given. */
AGPU_MATRIX agpu_status agpu_matrix_normalize_gradient(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                                       const agpu_normalize_options *options);
/* Input: x, its kept axes first, in the order of those of `out`. Places found by argmax and argmin are int64. */
AGPU_MATRIX agpu_status agpu_matrix_reduce(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                           const agpu_reduce_options *options);
/* Copies x to `out`, of the same shape and dtype. */
AGPU_MATRIX agpu_status agpu_matrix_transpose(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                              const agpu_transpose_options *options);
/* Inputs: table, and indices (int32 or int64) of its rows; AGPU_ERROR_INVALID_ARGUMENT for an index that is none, and nothing is written. */
AGPU_MATRIX agpu_status agpu_matrix_embedding(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                              const agpu_embedding_options *options);
/* Values of x in the dtype of `out`, as NumPy converts them; what an integer type does not hold becomes the smallest number of int32, of int64
 * where the type is int64 or uint32, cut to the low bits. */
AGPU_MATRIX agpu_status agpu_matrix_cast(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                         const agpu_cast_options *options);
/* Inputs: arrays of indices of the shape of `out`, which is int64 and row-major: sums of indices times strides, negative indices counted from the
 * end of their axis. AGPU_ERROR_INDEX_OUT_OF_RANGE for one that is none. */
AGPU_MATRIX agpu_status agpu_matrix_offsets(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                            const agpu_offsets_options *options);
/* Inputs: x, of which only the address and the size of elements (1, 2, 4, 8 or 16 bytes) matter, and offsets as int64. `out` is row-major, of the
 * shape of the offsets and then of the block. */
AGPU_MATRIX agpu_status agpu_matrix_gather(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                           const agpu_blocks_options *options);
/* Inputs: offsets as int64, and values of the shape of the offsets and then of the block. Only the address and dtype of `out` matter, which may be
 * any dtype of 1, 2, 4, 8 or 16 bytes where values are assigned. Values are taken in their order. An element in two blocks has the same index in
 * both. */
AGPU_MATRIX agpu_status agpu_matrix_scatter(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                            const agpu_blocks_options *options);
/* Inputs: values of shape (n..., inner...), and int32 or int64 of shape (n...): the row of `out`, of shape (rows, inner...), that values belong to; or
 * offsets of shape (rows + 1). Every row joins its values in their order, whatever the number of threads; those of 16 and of 32 bits of floats are
 * joined with more bits and rounded once. AGPU_ERROR_INDEX_OUT_OF_RANGE before anything is written. */
AGPU_MATRIX agpu_status agpu_matrix_segments(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                             const agpu_segments_options *options);
/* Without `out` the elements of x that are not zero are counted; with it, their indices are written, a row of int64 for each, by the counts. Where a
 * second input is given, of the shape of x and with elements of 1, 2, 4, 8 or 16 bytes, its elements are written in the place of indices. */
AGPU_MATRIX agpu_status agpu_matrix_nonzero(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                            const agpu_nonzero_options *options);
/* Along the last axis; stable; NaN comes last. */
AGPU_MATRIX agpu_status agpu_matrix_sort(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                         const agpu_sort_options *options);
/* Inputs: values in ascending order along one axis, and values of the same dtype to be placed. `out` is int64, of the shape of the latter. */
AGPU_MATRIX agpu_status agpu_matrix_search_sorted(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                                  const agpu_search_sorted_options *options);
/* Along the last axis. */
AGPU_MATRIX agpu_status agpu_matrix_scan(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                         const agpu_scan_options *options);
/* Along the last axis, whose extent in the outputs is k. Outputs: values, and their places as int64. */
AGPU_MATRIX agpu_status agpu_matrix_top_k(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *outputs,
                                          uint64_t output_count, const agpu_top_k_options *options);
/* Images are (batch, channels, rows, columns), weights (outputs, channels of a group, rows, columns). Inputs: forward: image, weight, bias where
 * there is one; image gradient: gradient of the result, weight; weight gradient: image, gradient of the result. */
AGPU_MATRIX agpu_status agpu_matrix_convolve(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                             const agpu_convolve_options *options);
/* Inputs: image, and for gradients the gradient of the result. */
AGPU_MATRIX agpu_status agpu_matrix_pool(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                         const agpu_pool_options *options);
/* Inputs: x of shape (rows..., classes), the targets (classes as int32 or int64 of shape (rows...), or shares of the shape of x), the weights of the
 * classes where there are any, and of gradients that of the result, broadcast to (rows...). `out` has the shape (rows...), or no axes where terms are
 * joined; a gradient has the shape of x. AGPU_ERROR_INDEX_OUT_OF_RANGE for a class that there is not, and nothing is written. */
AGPU_MATRIX agpu_status agpu_matrix_class_loss(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                               const agpu_class_loss_options *options);
/* Inputs: queries of shape (batch..., heads, length, size), keys and values of shape (batch..., key heads, keys, size), of which each serves as many
 * heads as there are to each of them, and where there is one a mask broadcast to (batch..., heads, length, keys): truth values, or what is added
 * to the scores. `out` has the shape of the queries, with the size of the values. */
AGPU_MATRIX agpu_status agpu_matrix_attention(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                              const agpu_attention_options *options);
/* The gradients by queries, keys and values, of their shapes. Inputs as before, with the gradient of the result in front of the mask. */
AGPU_MATRIX agpu_status agpu_matrix_attention_gradient(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *outputs,
                                                       uint64_t output_count, const agpu_attention_options *options);
/* Random numbers in `out`. Inputs, row-major: parameters as float64 without axes or of the shape of `out` (gamma: shape, scale; beta: a, b; poisson:
 * mean; binomial: trials, chance; bernoulli: the chance, where it is not `a`), or what dropout keeps. */
AGPU_MATRIX agpu_status agpu_matrix_random(const agpu_tensor *inputs, uint64_t input_count, const agpu_tensor *out,
                                           const agpu_random_options *options);
AGPU_MATRIX agpu_status agpu_matrix_allocator_create(const agpu_allocator_options *options, agpu_allocator *out);
/* `align_bytes` is a power of two. AGPU_ERROR_OUT_OF_MEMORY when no block fits; the allocator stays usable. */
AGPU_MATRIX agpu_status agpu_matrix_allocator_allocate(agpu_allocator allocator, uint64_t bytes, uint64_t align_bytes,
                                                       uint64_t *out_offset);
/* Returns a block by the offset it was given at. Freeing what is not live is an error and changes nothing. */
AGPU_MATRIX agpu_status agpu_matrix_allocator_free(agpu_allocator allocator, uint64_t offset);
/* Forgets every block. */
AGPU_MATRIX agpu_status agpu_matrix_allocator_reset(agpu_allocator allocator);
AGPU_MATRIX agpu_status agpu_matrix_allocator_get_stats(agpu_allocator allocator, agpu_allocator_stats *out);
AGPU_MATRIX agpu_status agpu_matrix_allocator_destroy(agpu_allocator allocator);
/* Zeroed memory in huge pages: from the system's pool when it has enough, else asked for. Pages of the pool must not be touched in a child of fork. */
AGPU_MATRIX agpu_status agpu_matrix_host_memory_allocate(uint64_t bytes, agpu_host_memory *out);
/* By the address. Freeing what is not live is an error and changes nothing. */
AGPU_MATRIX agpu_status agpu_matrix_host_memory_free(void *data);
AGPU_MATRIX agpu_status agpu_matrix_host_memory_get_stats(agpu_host_memory_stats *out);

/* Neuromorphic core, libagpu_neuro.so (Nim). */
AGPU_NEURO agpu_status agpu_neuro_describe(agpu_library_info *out);
AGPU_NEURO agpu_status agpu_neuro_last_error(agpu_error *out);
/* Parses and checks network text. Relative paths of its `include` statements start at `base_directory`; NULL or empty: at the working
   directory. On failure the message of last_error lists every finding with line, column and hint. */
AGPU_NEURO agpu_status agpu_neuro_compile(const agpu_str *text, const agpu_str *base_directory, agpu_network_plan *out);
/* The plan as JSON; lives as long as the plan. */
AGPU_NEURO agpu_status agpu_neuro_plan_json(agpu_network_plan plan, agpu_str *out);
AGPU_NEURO agpu_status agpu_neuro_plan_destroy(agpu_network_plan plan);
/* The reference implementation of agpu_dense_forward_fn: plain loops, float64 accumulation. */
AGPU_NEURO agpu_status agpu_neuro_dense_forward(const agpu_tensor *x, const agpu_tensor *weight, const agpu_tensor *bias,
                                                agpu_tensor *out, const agpu_activation *activation,
                                                const agpu_executor *executor);
/* weight[inputs, outputs] += learning_rate / batch * pre[batch, inputs]^T @ post[batch, outputs] (Hebb 1949). float32. */
AGPU_NEURO agpu_status agpu_neuro_hebbian_update(agpu_tensor *weight, const agpu_tensor *pre, const agpu_tensor *post,
                                                 double learning_rate);

/* Math core (Julia): functions handed over as one table. */
/* y[i] = f(x[i]); x and y may be the same. Softmax is not elementwise and refused here. */
typedef agpu_status (*agpu_math_activation_fn)(const float *x, float *y, uint64_t len, const agpu_activation *activation);
/* Softmax over the last axis of x[rows, cols]. */
typedef agpu_status (*agpu_math_softmax_fn)(const float *x, float *y, uint64_t rows, uint64_t cols);
/* See agpu_dense_forward_fn, row-major contiguous; `bias` may be NULL. */
typedef agpu_status (*agpu_math_dense_forward_fn)(const float *x, const float *weight, const float *bias, float *y,
                                                  uint64_t batch, uint64_t inputs, uint64_t outputs,
                                                  const agpu_activation *activation);
/* momentum = decay * momentum + (1 - decay) * gradient; rate[i] = learning_rate / (1 + |gradient[i]|). */
typedef agpu_status (*agpu_math_adaptive_learning_rate_fn)(const float *gradients, float *momentum, float *rates,
                                                           uint64_t len, float learning_rate, float decay);
/* velocity = momentum * velocity + gradient; weight -= learning_rate * velocity. */
typedef agpu_status (*agpu_math_momentum_update_fn)(float *weights, const float *gradients, float *velocity, uint64_t len,
                                                    float learning_rate, float momentum);
/* Copies the message of the last failure, UTF-8, at most `capacity` bytes; returns its full length. */
typedef uint64_t (*agpu_math_last_error_fn)(char *buffer, uint64_t capacity);

/* Only the thread that owns the Julia runtime may call through this table. */
typedef struct {
    uint64_t size_bytes;
    uint32_t abi_version;
    uint32_t reserved;
    uint64_t abi_hash;
    agpu_math_activation_fn activation;
    agpu_math_softmax_fn softmax;
    agpu_math_dense_forward_fn dense_forward;
    agpu_math_adaptive_learning_rate_fn adaptive_learning_rate;
    agpu_math_momentum_update_fn momentum_update;
    agpu_math_last_error_fn last_error;
} agpu_math_table;

#ifdef __cplusplus
}
#endif

#endif
