/* amdgpu/ops.h: operations on arrays (docs/guide.md, `amdgpu.ops`). The rules of amdgpu/runtime.h hold.
 *
 *  - Operations run on the device of their arrays, which is the same for all of a call, and broadcast as NumPy does. Arrays may have gaps.
 *  - The result is a new array of that device, or `out` of the options, of which the result is then another reference. `out` has the shape
 *    and dtype of the result and shares no memory with an operand, unless a function says otherwise. A call that fails writes no answer.
 *  - On a GPU a call returns before the result is computed; reading it waits.
 *  - Names of operations are those of `amdgpu.ops`; the message for one that is not known lists those that are. Axes count from 0, negative
 *    ones from the end. `options` may be NULL everywhere; what is zero has its default.
 */
#ifndef AMDGPU_OPS_H
#define AMDGPU_OPS_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of functions that take no more than a place for the result. */
typedef struct agpu_ops_options {
    uint64_t size_bytes;
    agpu_array out; /* NULL: a new array */
} agpu_ops_options;
#define AGPU_OPS_OPTIONS_INIT {sizeof(agpu_ops_options), NULL}

typedef struct agpu_ops_elementwise_options {
    uint64_t size_bytes;
    agpu_array out; /* NULL: a new array. It may be an operand itself */
    double alpha;   /* the slope of leaky_relu, the scale of elu, and of their gradients */
} agpu_ops_elementwise_options;
#define AGPU_OPS_ELEMENTWISE_OPTIONS_INIT {sizeof(agpu_ops_elementwise_options), NULL, 0}

/* `operation(inputs...)` with as many arrays as the operation takes: "add", "exp", "where", "gelu", "gelu_gradient", "conj", ... An array
 * without dimensions stands for a number. Arrays of complex64 and complex128 are taken where docs/operations.md has the operation among complex ones. */
agpu_status agpu_ops_elementwise(const char *operation, const agpu_array *inputs, size_t count, const agpu_ops_elementwise_options *options,
                                 agpu_array *result);

#define AGPU_OPERAND_MEMORY 0
#define AGPU_OPERAND_INTEGER 1
#define AGPU_OPERAND_REAL 2

/* A value that an operation is given without a handle: memory at an address, which stays the caller's, or a number. */
typedef struct agpu_operand {
    uint32_t kind;          /* AGPU_OPERAND_MEMORY and so on */
    uint32_t dimensions;
    const char *dtype;      /* of numbers too: what they count as where dtypes meet */
    void *address;          /* of the element with index 0 */
    const int64_t *shape;
    const int64_t *strides; /* in elements; NULL: row-major order */
    int64_t integer;
    double real;
    double imaginary;
} agpu_operand;

/* As `agpu_ops_elementwise`, of memory at addresses (amdgpu/raw.h) and numbers, with a result at `out`. "cast" takes one operand, which it converts
 * to the dtype and broadcasts to the shape of `out`. Memory that the library did not allocate must stay until the device has done the work. */
agpu_status agpu_ops_elementwise_at(agpu_device device, const char *operation, const agpu_operand *inputs, size_t count, double alpha,
                                    const agpu_operand *out);

/* Several elementwise steps in one pass, of memory at addresses (at most 6 inputs, which broadcast), with the value of the last step at `out`. Steps are
 * texts as in graphs (amdgpu/graph.h): "multiply(i0, i1) float32; add(s0, 0.5 float32) float32" with inputs i0, i1, ..., earlier steps s0, s1, ...
 * and numbers. Every step rounds as the operation alone does. `out` may be an input of its shape. What `agpu_ops_elementwise_at` says of memory holds. */
agpu_status agpu_ops_fused_at(agpu_device device, const char *steps, const agpu_operand *inputs, size_t count, const agpu_operand *out);

#define AGPU_LIST_SLOTS 8
#define AGPU_LIST_NUMBERS 4

/* What an operation on lists takes of one tensor of each list: memory without gaps, by the slots of the operation. */
typedef struct agpu_list_item {
    uint64_t elements;
    void *memory[AGPU_LIST_SLOTS];     /* addresses; of slots that are left out not looked at */
    double numbers[AGPU_LIST_NUMBERS]; /* where `numbers` of the call is NULL */
} agpu_list_item;

/* An operation for all items, by one launch on a GPU. Slots, with those in brackets that may be left out, and numbers:
 *   "adam"    x, gradient, mean, square, [largest], step, [scale], [skip]: a step of Adam (Kingma & Ba 2015), with `decouples` of AdamW (Loshchilov &
 *             Hutter 2019), with `largest` of AMSGrad; rate, first_decay, second_decay, weight_decay, epsilon, decouples, maximizes
 *   "sgd"     x, gradient, [velocity], [scale], [skip]; rate, weight_decay, momentum, dampening, is_nesterov, maximizes, is_first
 *   "unscale" x, inverse, found: x times inverse, and 1 to found where an x was not finite
 *   "lerp"    out, x, y; weight
 *   "addcmul" and "addcdiv"  out, x, y, z; value: x + value * (y * z), x + value * (y / z)
 *   and functions of elements of at most four inputs by name: out, and each input or where it is left out a number; a number for each input.
 * step, scale, skip, inverse and found are one element each. Gradients are divided by `scale` and stay so; where `skip` is not 0, nothing is done.
 * Flags are 0 or 1. Elements are computed in float32, of float64 in that. `dtypes` has one name for each slot, NULL for what is left out. `numbers`
 * are those that all items share, or NULL where each has its own. Memory that the library did not allocate must stay until the device has done the
 * work. */
agpu_status agpu_ops_list_at(agpu_device device, const char *operation, const char *const *dtypes, const agpu_list_item *items, size_t count,
                             const double *numbers, size_t number_count);

/* The elements in another dtype, in row-major order, converted as NumPy converts them; x itself where it is that already. */
agpu_status agpu_ops_cast(agpu_array x, const char *dtype, agpu_array *result);

typedef struct agpu_ops_reduce_options {
    uint64_t size_bytes;
    agpu_array out;      /* NULL: a new array */
    const int64_t *axes;
    uint64_t axis_count; /* 0: all axes */
    double correction;   /* of var and std: taken off the number of values */
    uint32_t keeps_axes; /* 1: reduced axes stay, with extent 1 */
    uint32_t reserved;
    const char *dtype;   /* what sums, means and variances of floats are rounded to; NULL: what the operation gives by itself */
} agpu_ops_reduce_options;
#define AGPU_OPS_REDUCE_OPTIONS_INIT {sizeof(agpu_ops_reduce_options), NULL, NULL, 0, 0, 0, 0, NULL}

/* `operation(x)` over axes: sum, prod, mean, max, min, any, all, var, std, argmax, argmin. */
agpu_status agpu_ops_reduce(const char *operation, agpu_array x, const agpu_ops_reduce_options *options, agpu_array *result);

typedef struct agpu_ops_scan_options {
    uint64_t size_bytes;
    agpu_array out;        /* NULL: a new array. It may be x itself, unless the scan is exclusive */
    uint32_t is_exclusive; /* 1: an element does not take part in its own result; the first is what joins to every element without a change */
    uint32_t is_reversed;  /* 1: from the last element to the first */
} agpu_ops_scan_options;
#define AGPU_OPS_SCAN_OPTIONS_INIT {sizeof(agpu_ops_scan_options), NULL, 0, 0}

/* Every element joined to those before it along an axis: sums ("cumsum") and products ("cumprod"), integers in 64 bits; the largest ("cummax") and
 * smallest ("cummin"), NaN winning over any number; of truth values whether any ("cumulative_any") or all ("cumulative_all") are true. */
agpu_status agpu_ops_scan(const char *operation, agpu_array x, int64_t axis, const agpu_ops_scan_options *options, agpu_array *result);

/* "cummax" or "cummin" along an axis, and the int64 index of each best value, of equal ones the last so far. */
agpu_status agpu_ops_cumulative_best(const char *operation, agpu_array x, int64_t axis, agpu_array *values, agpu_array *indices);

/* The elements of x where the mask, an array of its shape, is not zero, in row-major order. Waits for the device, as how many there are decides the
 * shape of the result. */
agpu_status agpu_ops_masked_select(agpu_array x, agpu_array mask, agpu_array *result);

/* The int64 indices of the elements that are not zero, in row-major order: a row for each. Waits for the device. */
agpu_status agpu_ops_nonzero(agpu_array x, agpu_array *result);

typedef struct agpu_ops_sort_options {
    uint64_t size_bytes;
    uint32_t is_descending; /* 1: the largest value comes first */
    uint32_t reserved;
} agpu_ops_sort_options;
#define AGPU_OPS_SORT_OPTIONS_INIT {sizeof(agpu_ops_sort_options), 0, 0}

/* The elements along an axis in order, NaN last, equal ones in the order that they had; and the int64 places that they come from. A place that is
 * NULL is not answered. */
agpu_status agpu_ops_sort(agpu_array x, int64_t axis, const agpu_ops_sort_options *options, agpu_array *values, agpu_array *indices);

/* Whether operations of the calling thread on a GPU leave it to `agpu_ops_check_indices` to refuse indices and labels that are none, instead of
 * waiting for the device: those that say here that they wait for them, and losses of classes. Until then nothing outside of the arrays is reached:
 * what such an index names is left out. On a CPU device, and for more than 262,143 rows that are joined, indices are refused at once anyway.
 * `was_deferred`, which may be NULL, becomes what was set before. */
agpu_status agpu_ops_defer_index_checks(bool is_deferred, bool *was_deferred);

/* AGPU_ERROR_INDEX_OUT_OF_RANGE, which names operation, index and place, where an operation on this device was given such an index since the last
 * look. Waits for the default stream where there was any operation with indices, so it costs little behind another wait. */
agpu_status agpu_ops_check_indices(agpu_device device);

/* The elements of x at `count` arrays of indices, one for each of `axes`: axes of the indices, whose shapes broadcast, come first, then the other
 * axes of x. Indices are integers; negative ones count from the end. Waits for the indices. */
agpu_status agpu_ops_pick(agpu_array x, const int64_t *axes, const agpu_array *indices, size_t count, agpu_array *result);

/* Values, broadcast and converted, to the elements of x that `agpu_ops_pick` reads: "assign" (NULL), "add", "multiply", "maximum", "minimum". Of
 * values that are assigned to one element the last counts on the CPU, any of them on a GPU. */
agpu_status agpu_ops_put(agpu_array x, const int64_t *axes, const agpu_array *indices, size_t count, agpu_array values, const char *how);

typedef struct agpu_ops_segment_options {
    uint64_t size_bytes;
    int64_t axis;         /* of x, along which its rows lie */
    int64_t count;        /* number of segments, where there are no offsets */
    uint32_t has_offsets; /* 1: segments are where each begins, and where the last one ends */
    uint32_t reserved;
} agpu_ops_segment_options;
#define AGPU_OPS_SEGMENT_OPTIONS_INIT {sizeof(agpu_ops_segment_options), 0, 0, 0, 0}

/* The values of each segment joined: sum, prod, mean, amax, amin. `segments` are int32 or int64: the segment of each row of x in any order, or
 * offsets. Rows are joined in their order, so that results are the same in every run. A segment without rows gives 0 as a sum or mean, 1 as a
 * product, and what every value is better than as the best one. Waits for the segments. */
agpu_status agpu_ops_segment_reduce(const char *reduce, agpu_array x, agpu_array segments, const agpu_ops_segment_options *options,
                                    agpu_array *result);

/* A copy of x with values added to the rows along an axis that indices, int32 or int64 of one axis, name. Waits for the indices. */
agpu_status agpu_ops_index_add(agpu_array x, int64_t axis, agpu_array indices, agpu_array values, agpu_array *result);

typedef struct agpu_ops_scatter_reduce_options {
    uint64_t size_bytes;
    uint32_t excludes_self; /* 1: what x holds takes no part, but where no value is joined */
    uint32_t reserved;
} agpu_ops_scatter_reduce_options;
#define AGPU_OPS_SCATTER_REDUCE_OPTIONS_INIT {sizeof(agpu_ops_scatter_reduce_options), 0, 0}

/* A copy of x whose elements along an axis are joined (sum, prod, mean, amax, amin) with the values whose index names them, line by line. The
 * values have the shape of the indices. Waits for the indices. */
agpu_status agpu_ops_scatter_reduce(const char *reduce, agpu_array x, int64_t axis, agpu_array indices, agpu_array values,
                                    const agpu_ops_scatter_reduce_options *options, agpu_array *result);

typedef struct agpu_ops_top_k_options {
    uint64_t size_bytes;
    uint32_t is_smallest; /* 1: the smallest values are best */
    uint32_t reserved;
} agpu_ops_top_k_options;
#define AGPU_OPS_TOP_K_OPTIONS_INIT {sizeof(agpu_ops_top_k_options), 0, 0}

/* The k best values along an axis, best first, and their int64 indices, whose place may be NULL. Of equal values the first is better; NaN is
 * larger than any number. */
agpu_status agpu_ops_top_k(agpu_array x, int64_t k, int64_t axis, const agpu_ops_top_k_options *options, agpu_array *values,
                           agpu_array *indices);

typedef struct agpu_ops_matmul_options {
    uint64_t size_bytes;
    agpu_array out;         /* NULL: a new array */
    agpu_array bias;        /* shape (n,), or NULL */
    agpu_array residual;    /* broadcast to the result, or NULL */
    const char *activation; /* identity (NULL), relu, leaky_relu, sigmoid, tanh, gelu, silu, softplus, elu */
    const char *precision;  /* fp64, fp32, tf32, fp16, bf16, int8; NULL: what the dtypes ask for */
    double alpha;           /* factors, where has_factors is 1; else 1 and 0 */
    double beta;
    uint32_t has_factors;
    uint32_t transpose_a;   /* 1 swaps the last two axes */
    uint32_t transpose_b;
    uint32_t reserved;
} agpu_ops_matmul_options;
#define AGPU_OPS_MATMUL_OPTIONS_INIT {sizeof(agpu_ops_matmul_options), NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, 0, 0}

/* `activation(alpha * (a @ b) + beta * out + bias + residual)` with the axes of `numpy.matmul`. */
agpu_status agpu_ops_matmul(agpu_array a, agpu_array b, const agpu_ops_matmul_options *options, agpu_array *result);

/* As `agpu_ops_matmul`, of memory at addresses with a result at `out`; `bias` may be NULL, and handles in `options` must be. What
 * `agpu_ops_elementwise_at` says of memory holds. */
agpu_status agpu_ops_matmul_at(agpu_device device, const agpu_operand *a, const agpu_operand *b, const agpu_operand *bias,
                               const agpu_ops_matmul_options *options, const agpu_operand *out);

typedef struct agpu_ops_normalize_options {
    uint64_t size_bytes;
    agpu_array out;       /* NULL: a new array. It may be x (of a gradient also `gradient`) itself */
    agpu_array scale;     /* factors of layer_norm and rms_norm, of the shape of the normalised axes; NULL: 1 */
    agpu_array shift;     /* addends of layer_norm, of that shape; NULL: 0 */
    const int64_t *axes;  /* that are normalised together */
    uint64_t axis_count;  /* 0: the last axis */
    double epsilon;       /* added to the variance or the mean square, where has_epsilon is 1; else 1e-5 of layer_norm, 1e-6 of rms_norm */
    uint32_t has_epsilon;
    uint32_t reserved;
} agpu_ops_normalize_options;
#define AGPU_OPS_NORMALIZE_OPTIONS_INIT {sizeof(agpu_ops_normalize_options), NULL, NULL, NULL, NULL, 0, 0, 0, 0}

/* `operation(x)` over axes: softmax, log_softmax, layer_norm, rms_norm. */
agpu_status agpu_ops_normalize(const char *operation, agpu_array x, const agpu_ops_normalize_options *options, agpu_array *result);

/* The gradients of `agpu_ops_normalize`, from that of its result: by x and, where the places are not NULL, by the scale and by the shift.
 * x is what the operation took; for softmax and log_softmax it is what they returned. `shift` of the options stays NULL. */
agpu_status agpu_ops_normalize_gradient(const char *operation, agpu_array x, agpu_array gradient, const agpu_ops_normalize_options *options,
                                        agpu_array *by_x, agpu_array *by_scale, agpu_array *by_shift);

/* Layer norm over the last axes of x, with what training keeps, of memory at addresses: the result, like x, the mean of each row and
 * 1 / sqrt(variance + epsilon), a float32 for each row (of float64 that); results without gaps. scale and shift have the shape of a row, or are NULL. */
agpu_status agpu_ops_layer_norm_training_at(agpu_device device, const agpu_operand *x, const agpu_operand *scale, const agpu_operand *shift,
                                            uint64_t row_axes, double epsilon, const agpu_operand *result, const agpu_operand *mean,
                                            const agpu_operand *inverse);

/* The gradients of `agpu_ops_layer_norm_training_at` from that of its result and its statistics: by x, like x, and by scale and shift, floats of the
 * shape of a row; those that are NULL are not computed. */
agpu_status agpu_ops_layer_norm_training_gradient_at(agpu_device device, const agpu_operand *x, const agpu_operand *gradient,
                                                     const agpu_operand *mean, const agpu_operand *inverse, const agpu_operand *scale,
                                                     uint64_t row_axes, const agpu_operand *by_x, const agpu_operand *by_scale,
                                                     const agpu_operand *by_shift);

/* Parameters have one value for each channel. */
typedef struct agpu_ops_batch_norm_options {
    uint64_t size_bytes;
    agpu_array weight;    /* NULL: 1 */
    agpu_array bias;      /* NULL: 0 */
    double epsilon;       /* added to the variance, where has_epsilon is 1; else 1e-5 */
    uint32_t has_epsilon;
    uint32_t reserved;
    agpu_array out;              /* of training: the result, of gradients: that by x; NULL: a new array */
    agpu_array saved_mean;       /* training writes the mean of each channel and 1 / sqrt(variance + epsilon), where both are given; */
    agpu_array saved_scale;      /* gradients read them, and compute them again where they are NULL */
    agpu_array running_mean;     /* training moves both towards mean and variance of x by `momentum`, where they are given, */
    agpu_array running_variance; /* the variance divided by one less than the number of values */
    double momentum;
    agpu_array out_by_weight;    /* of gradients, in any float dtype; NULL: new arrays of the dtype of x */
    agpu_array out_by_bias;
} agpu_ops_batch_norm_options;
#define AGPU_OPS_BATCH_NORM_OPTIONS_INIT \
    {sizeof(agpu_ops_batch_norm_options), NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL}

/* (x - mean) / sqrt(variance + epsilon) * weight + bias, as at inference. `channel_axis` is 1 for NCHW, -1 for NHWC. It knows weight, bias and
 * epsilon of the options alone. */
agpu_status agpu_ops_batch_norm(agpu_array x, agpu_array mean, agpu_array variance, int64_t channel_axis,
                                const agpu_ops_batch_norm_options *options, agpu_array *result);

/* The same with the statistics of x itself, which are answered where the places are not NULL: float32 unless x is float64, the variance
 * divided by the number of values. */
agpu_status agpu_ops_batch_norm_training(agpu_array x, int64_t channel_axis, const agpu_ops_batch_norm_options *options, agpu_array *result,
                                         agpu_array *mean, agpu_array *variance);

/* The gradients of `agpu_ops_batch_norm_training`, from that of its result: by x and, where the places are not NULL, by the weight and by the
 * bias. `bias` of the options stays NULL. */
agpu_status agpu_ops_batch_norm_gradient(agpu_array x, agpu_array gradient, int64_t channel_axis, const agpu_ops_batch_norm_options *options,
                                         agpu_array *by_x, agpu_array *by_weight, agpu_array *by_bias);

/* Pairs are (along rows, along columns), three values (along depth, rows, columns). Images of one axis have columns alone. */
typedef struct agpu_ops_conv2d_options {
    uint64_t size_bytes;
    agpu_array out;         /* NULL: a new array */
    agpu_array bias;        /* an addend for each output, of no gradient; NULL: 0 */
    int64_t stride[2];      /* 0: 1 */
    int64_t padding[2];
    int64_t dilation[2];    /* 0: 1 */
    int64_t groups;         /* 0: 1 */
    const char *layout;     /* of images: NCHW (NULL) or NHWC; NCL or NLC of one axis, NCDHW or NDHWC of three */
    const char *precision;  /* fp32 (NULL), or tf32, which lets NVIDIA's matrix units cut float32 */
    int64_t stride_depth;   /* 0: 1 */
    int64_t padding_depth;
    int64_t dilation_depth; /* 0: 1 */
    int64_t output_padding[3]; /* of transposed convolutions: pixels that the result has more behind its last */
    uint32_t pads_same;     /* 1: padding that keeps the extents of images, where the stride is 1 */
    uint32_t reserved;
} agpu_ops_conv2d_options;
#define AGPU_OPS_CONV2D_OPTIONS_INIT \
    {sizeof(agpu_ops_conv2d_options), NULL, NULL, {0, 0}, {0, 0}, {0, 0}, 0, NULL, NULL, 0, 0, 0, {0, 0, 0}, 0, 0}

/* Convolve images with weights of shape (outputs, channels / groups, rows, columns). Floats of one dtype. */
agpu_status agpu_ops_conv2d(agpu_array x, agpu_array weight, const agpu_ops_conv2d_options *options, agpu_array *result);

/* The gradient by the images, which have four extents `shape`, from that of the result. */
agpu_status agpu_ops_conv2d_input_gradient(agpu_array gradient, agpu_array weight, const int64_t *shape,
                                           const agpu_ops_conv2d_options *options, agpu_array *result);

/* The gradient by the weights, which have four extents `shape`, from that of the result. */
agpu_status agpu_ops_conv2d_weight_gradient(agpu_array x, agpu_array gradient, const int64_t *shape, const agpu_ops_conv2d_options *options,
                                            agpu_array *result);

/* Convolutions by their names: "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d". Weights are (outputs,
 * channels / groups, ...), of transposed ones (channels, outputs / groups, ...); images and weights have three to five axes. */
agpu_status agpu_ops_convolve(const char *operation, agpu_array x, agpu_array weight, const agpu_ops_conv2d_options *options,
                              agpu_array *result);

/* The gradient by the images, which have `dimensions` extents `shape`, from that of the result. */
agpu_status agpu_ops_convolve_input_gradient(const char *operation, agpu_array gradient, agpu_array weight, uint32_t dimensions, const int64_t *shape,
                                             const agpu_ops_conv2d_options *options, agpu_array *result);

/* The gradient by the weights, which have `dimensions` extents `shape`, from that of the result. */
agpu_status agpu_ops_convolve_weight_gradient(const char *operation, agpu_array x, agpu_array gradient, uint32_t dimensions, const int64_t *shape,
                                              const agpu_ops_conv2d_options *options, agpu_array *result);

/* Pairs are (along rows, along columns), three values (along depth, rows, columns). Images of one axis have columns alone. */
typedef struct agpu_ops_pool_options {
    uint64_t size_bytes;
    agpu_array out;            /* NULL: a new array */
    int64_t window[2];         /* must be set, but of adaptive pooling */
    int64_t stride[2];         /* 0: that of the window */
    int64_t padding[2];        /* at most half of the window */
    int64_t dilation[2];       /* 0: 1 */
    const char *layout;        /* NCHW (NULL) or NHWC; NCL or NLC of one axis, NCDHW or NDHWC of three */
    uint32_t excludes_padding; /* 1: averages are over the image alone */
    uint32_t reserved;
    int64_t window_depth;
    int64_t stride_depth;      /* 0: that of the window */
    int64_t padding_depth;
    int64_t dilation_depth;    /* 0: 1 */
    int64_t output_size[3];    /* of adaptive pooling; 0: the extent of the images */
    int64_t divisor_override;  /* what sums are divided by; 0: the number of values */
    uint32_t ceil_mode;        /* 1: a last window may reach beyond the padding, if it begins in the image or before it */
    uint32_t reserved_end;
} agpu_ops_pool_options;
#define AGPU_OPS_POOL_OPTIONS_INIT \
    {sizeof(agpu_ops_pool_options), NULL, {0, 0}, {0, 0}, {0, 0}, {0, 0}, NULL, 0, 0, 0, 0, 0, 0, {0, 0, 0}, 0, 0, 0}

/* The largest value ("max_pool1d", "max_pool2d", "max_pool3d") or the average ("avg_pool1d", ...) of each window, or of windows that cut the
 * images into `output_size` parts ("adaptive_max_pool1d", "adaptive_avg_pool1d", ...). Floats. */
agpu_status agpu_ops_pool(const char *operation, agpu_array x, const agpu_ops_pool_options *options, agpu_array *result);

/* The gradient of `agpu_ops_pool` by x, from that of its result. Of equal values in a window the first has it all. */
agpu_status agpu_ops_pool_gradient(const char *operation, agpu_array x, agpu_array gradient, const agpu_ops_pool_options *options,
                                   agpu_array *result);

/* The largest value of each window, and its int64 index among the pixels of its plane; of equal values that of the first, of a window without
 * pixels -1. `out` of the options receives the values. */
agpu_status agpu_ops_pool_with_indices(const char *operation, agpu_array x, const agpu_ops_pool_options *options, agpu_array *values,
                                       agpu_array *indices);

/* The gradient of `agpu_ops_pool_with_indices` by x, which has `dimensions` extents `shape`, from that of the values and the indices. */
agpu_status agpu_ops_pool_indices_gradient(const char *operation, agpu_array gradient, agpu_array indices, uint32_t dimensions, const int64_t *shape,
                                           const agpu_ops_pool_options *options, agpu_array *result);

/* Images of `dimensions` extents `shape` that hold values at their indices and zeros elsewhere; of equal indices the last counts. Of the options `out` and
 * `layout` matter. */
agpu_status agpu_ops_max_unpool(agpu_array x, agpu_array indices, uint32_t dimensions, const int64_t *shape, const agpu_ops_pool_options *options,
                                agpu_array *result);

/* `table[indices]`: rows of a table by int32 or int64 indices, negative ones of which are refused. Waits for the indices. */
agpu_status agpu_ops_embedding(agpu_array indices, agpu_array table, const agpu_ops_options *options, agpu_array *result);

typedef struct agpu_ops_embedding_gradient_options {
    uint64_t size_bytes;
    int64_t padding_index;        /* a row that receives nothing, where has_padding_index is 1 */
    uint32_t has_padding_index;
    uint32_t scales_by_frequency; /* 1: divided by how often a row was looked up */
} agpu_ops_embedding_gradient_options;
#define AGPU_OPS_EMBEDDING_GRADIENT_OPTIONS_INIT {sizeof(agpu_ops_embedding_gradient_options), 0, 0, 0}

/* The gradient of `agpu_ops_embedding` by a table of so many rows, from that of its result. Waits for the indices. */
agpu_status agpu_ops_embedding_gradient(agpu_array gradient, agpu_array indices, int64_t rows, const agpu_ops_embedding_gradient_options *options,
                                        agpu_array *result);

typedef struct agpu_ops_loss_options {
    uint64_t size_bytes;
    agpu_array weight;          /* factors of the terms of bce_loss, broadcast to x, or of each class; NULL: 1 */
    const char *reduction;      /* none, mean (NULL) or sum */
    double label_smoothing;     /* of cross_entropy_loss: the part of each target, from 0 to 1, that all classes share */
    int64_t ignored_class;      /* the class of rows that count for nothing, where has_ignored_class is 1; else -100 */
    uint32_t has_ignored_class;
    uint32_t with_logits;       /* 1: bce_loss takes the sigmoid of x, without overflow */
} agpu_ops_loss_options;
#define AGPU_OPS_LOSS_OPTIONS_INIT {sizeof(agpu_ops_loss_options), NULL, NULL, 0, 0, 0, 0}

/* (x - target)^2. Losses are those of PyTorch: the terms, or their mean (NaN of no terms) or sum as an array without dimensions. Floats of one
 * dtype. */
agpu_status agpu_ops_mse_loss(agpu_array x, agpu_array target, const agpu_ops_loss_options *options, agpu_array *result);

/* The gradient of `agpu_ops_mse_loss` by x, from that of its result. */
agpu_status agpu_ops_mse_loss_gradient(agpu_array x, agpu_array target, agpu_array gradient, const agpu_ops_loss_options *options,
                                       agpu_array *result);

/* -(target log(x) + (1 - target) log(1 - x)), with logarithms of at least -100. */
agpu_status agpu_ops_bce_loss(agpu_array x, agpu_array target, const agpu_ops_loss_options *options, agpu_array *result);

/* The gradient of `agpu_ops_bce_loss` by x, from that of its result. */
agpu_status agpu_ops_bce_loss_gradient(agpu_array x, agpu_array target, agpu_array gradient, const agpu_ops_loss_options *options,
                                       agpu_array *result);

/* -sum(target log(softmax(x))) of rows of classes, which are axis 1 of x (of a single row axis 0). Targets are classes as int32 or int64, of the
 * shape of x without that axis, or the probabilities of all, of the shape and dtype of x. Waits for classes. */
agpu_status agpu_ops_cross_entropy_loss(agpu_array x, agpu_array target, const agpu_ops_loss_options *options, agpu_array *result);

/* The gradient of `agpu_ops_cross_entropy_loss` by x, from that of its result. */
agpu_status agpu_ops_cross_entropy_loss_gradient(agpu_array x, agpu_array target, agpu_array gradient, const agpu_ops_loss_options *options,
                                                 agpu_array *result);

/* -x of the class of each row, where x are logarithms of chances. Waits for the classes. */
agpu_status agpu_ops_nll_loss(agpu_array x, agpu_array target, const agpu_ops_loss_options *options, agpu_array *result);

/* The gradient of `agpu_ops_nll_loss` by x, from that of its result. */
agpu_status agpu_ops_nll_loss_gradient(agpu_array x, agpu_array target, agpu_array gradient, const agpu_ops_loss_options *options,
                                       agpu_array *result);

typedef struct agpu_ops_attention_options {
    uint64_t size_bytes;
    agpu_array mask;    /* broadcast to (batch..., heads, length, keys): truth values, or what is added to the scores; NULL: all keys are seen */
    double scale;       /* factor of the scores, where has_scale is 1; else 1 / sqrt(size) */
    uint32_t has_scale;
    uint32_t is_causal; /* 1: query i sees keys 0 to i alone */
} agpu_ops_attention_options;
#define AGPU_OPS_ATTENTION_OPTIONS_INIT {sizeof(agpu_ops_attention_options), NULL, 0, 0, 0}

/* softmax(q k^T scale + mask) v of queries (batch..., heads, length, size), keys and values (batch..., key heads, keys, size). The heads of q are a
 * multiple of the key heads, each of which serves as many. A query that sees no key gets zeros. No scores are in memory. Floats of one dtype. */
agpu_status agpu_ops_scaled_dot_product_attention(agpu_array q, agpu_array k, agpu_array v, const agpu_ops_attention_options *options,
                                                  agpu_array *result);

/* The gradients by q, k and v, from that of the result. */
agpu_status agpu_ops_scaled_dot_product_attention_gradient(agpu_array q, agpu_array k, agpu_array v, agpu_array gradient,
                                                           const agpu_ops_attention_options *options, agpu_array *by_q, agpu_array *by_k,
                                                           agpu_array *by_v);

/* `agpu_ops_scaled_dot_product_attention` of memory at addresses, with the result there; `mask` may be NULL, and the options have none. */
agpu_status agpu_ops_scaled_dot_product_attention_at(agpu_device device, const agpu_operand *q, const agpu_operand *k, const agpu_operand *v,
                                                     const agpu_operand *mask, const agpu_ops_attention_options *options,
                                                     const agpu_operand *result);

/* Its gradients by q, k and v, from that of the result, of memory at addresses. */
agpu_status agpu_ops_scaled_dot_product_attention_gradient_at(agpu_device device, const agpu_operand *q, const agpu_operand *k,
                                                              const agpu_operand *v, const agpu_operand *mask, const agpu_operand *gradient,
                                                              const agpu_ops_attention_options *options, const agpu_operand *by_q,
                                                              const agpu_operand *by_k, const agpu_operand *by_v);

typedef struct agpu_ops_geam_options {
    uint64_t size_bytes;
    agpu_array out;       /* NULL: a new array. It may be a or b itself where that is not transposed */
    double alpha;         /* factors, where has_factors is 1; else 1. An operand whose factor is 0 is not read */
    double beta;
    uint32_t has_factors;
    uint32_t transpose_a; /* 1 swaps the last two axes */
    uint32_t transpose_b;
    uint32_t reserved;
} agpu_ops_geam_options;
#define AGPU_OPS_GEAM_OPTIONS_INIT {sizeof(agpu_ops_geam_options), NULL, 0, 0, 0, 0, 0, 0}

/* alpha op(a) + beta op(b) of matrices, or of batches of them; op is the matrix itself or its transpose. Floats or complex
   numbers of one dtype. */
agpu_status agpu_ops_geam(agpu_array a, agpu_array b, const agpu_ops_geam_options *options, agpu_array *result);

/* A row-major copy whose axis i is axis `axes[i]` of x; with NULL and 0 the axes are reversed. */
agpu_status agpu_ops_transpose(agpu_array x, const int64_t *axes, size_t axis_count, const agpu_ops_options *options, agpu_array *result);

/* The elements in row-major order without gaps: another reference to the memory of x where it is that already, a copy otherwise or with `out`. */
agpu_status agpu_ops_contiguous(agpu_array x, const agpu_ops_options *options, agpu_array *result);

#ifdef __cplusplus
}
#endif

#endif
