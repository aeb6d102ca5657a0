/* What a caller of amdgpu/ops.h may get wrong: each is a status and a sentence, and no answer is written. */
#include "arrays.h"

/* Arrays that calls are tried with. */
struct scene {
    agpu_array matrix, vector, image, weight, released, there, whole;
    agpu_array result, second, third;
};

#define INVALID AGPU_ERROR_INVALID_ARGUMENT
#define HANDLE AGPU_ERROR_INVALID_HANDLE
#define SHAPE AGPU_ERROR_SHAPE_MISMATCH
#define DTYPE AGPU_ERROR_UNSUPPORTED_DTYPE
#define DEVICE AGPU_ERROR_WRONG_DEVICE

#define ON_OTHER_DEVICE "is on null:gfx1100 and the first operand on cpu:0; copy one of them with agpu_array_copy"

static void places_and_handles(struct scene *s) {
    const agpu_array pair[2] = {s->matrix, s->there}, gone[1] = {s->released}, none[1] = {NULL};
    const int64_t shape[4] = {1, 1, 3, 3};
    REFUSED(agpu_ops_elementwise("exp", &s->matrix, 1, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_elementwise("exp", NULL, 1, NULL, &s->result), INVALID, "inputs is NULL, with 1 items");
    REFUSED(agpu_ops_elementwise("exp", none, 1, NULL, &s->result), HANDLE, "x is NULL; pass an array");
    REFUSED(agpu_ops_elementwise("exp", gone, 1, NULL, &s->result), HANDLE, "x is an array that was released before");
    REFUSED(agpu_ops_elementwise("add", pair, 2, NULL, &s->result), DEVICE, "add: b " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_cast(s->matrix, "int8", NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_cast(NULL, "int8", &s->result), HANDLE, "x is NULL");
    REFUSED(agpu_ops_reduce("sum", s->released, NULL, &s->result), HANDLE, "released before");
    REFUSED(agpu_ops_reduce("sum", s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_scan("cumsum", NULL, 0, NULL, &s->result), HANDLE, "x is NULL");
    REFUSED(agpu_ops_scan("cumsum", s->matrix, 0, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_cumulative_best("cummax", s->released, 0, &s->result, &s->second), HANDLE, "released before");
    REFUSED(agpu_ops_cumulative_best("cummax", s->matrix, 0, NULL, &s->second), INVALID, "values is NULL");
    REFUSED(agpu_ops_cumulative_best("cummax", s->matrix, 0, &s->result, NULL), INVALID, "indices is NULL");
    REFUSED(agpu_ops_masked_select(s->matrix, s->there, &s->result), DEVICE, "masked_select: mask " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_masked_select(s->matrix, s->matrix, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_segment_reduce("sum", NULL, s->whole, NULL, &s->result), HANDLE, "x is NULL");
    REFUSED(agpu_ops_segment_reduce("sum", s->matrix, s->whole, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_index_add(s->matrix, 0, s->released, s->matrix, &s->result), HANDLE, "released before");
    REFUSED(agpu_ops_index_add(s->matrix, 0, s->whole, s->matrix, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_scatter_reduce("sum", s->matrix, 0, NULL, s->matrix, NULL, &s->result), HANDLE, "indices is NULL");
    REFUSED(agpu_ops_scatter_reduce("sum", s->matrix, 0, s->whole, s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_embedding_gradient(s->matrix, NULL, 3, NULL, &s->result), HANDLE, "indices is NULL");
    REFUSED(agpu_ops_embedding_gradient(s->matrix, s->whole, 3, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_top_k(s->matrix, 1, 0, NULL, NULL, &s->second), INVALID, "values is NULL");
    REFUSED(agpu_ops_top_k(s->released, 1, 0, NULL, &s->result, &s->second), HANDLE, "released before");
    REFUSED(agpu_ops_matmul(s->matrix, s->there, NULL, &s->result), DEVICE, "matrix_multiply: b " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_matmul(s->matrix, NULL, NULL, &s->result), HANDLE, "b is NULL");
    REFUSED(agpu_ops_normalize("softmax", s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_normalize_gradient("softmax", s->matrix, s->there, NULL, &s->result, NULL, NULL), DEVICE, "gradient " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_normalize_gradient("softmax", s->matrix, s->matrix, NULL, NULL, NULL, NULL), INVALID, "by_x is NULL");
    REFUSED(agpu_ops_batch_norm(s->matrix, s->there, s->vector, 1, NULL, &s->result), DEVICE, "batch_norm: mean " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_batch_norm(s->matrix, s->vector, s->vector, 1, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_batch_norm_training(NULL, 1, NULL, &s->result, &s->second, NULL), HANDLE, "x is NULL");
    REFUSED(agpu_ops_batch_norm_training(s->matrix, 1, NULL, NULL, &s->second, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_batch_norm_gradient(s->matrix, NULL, 1, NULL, &s->result, NULL, NULL), HANDLE, "gradient is NULL");
    REFUSED(agpu_ops_conv2d(s->image, s->there, NULL, &s->result), DEVICE, "conv2d: weight " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_conv2d(s->image, s->weight, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_conv2d_input_gradient(s->released, s->weight, shape, NULL, &s->result), HANDLE, "gradient is an array that was released");
    REFUSED(agpu_ops_conv2d_input_gradient(s->image, s->weight, NULL, NULL, &s->result), INVALID, "shape is NULL, with 4 items");
    REFUSED(agpu_ops_conv2d_weight_gradient(s->image, NULL, shape, NULL, &s->result), HANDLE, "gradient is NULL");
    REFUSED(agpu_ops_conv2d_weight_gradient(s->image, s->image, NULL, NULL, &s->result), INVALID, "shape is NULL, with 4 items");
    REFUSED(agpu_ops_pool("max_pool2d", s->image, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_pool_gradient("max_pool2d", s->image, s->there, NULL, &s->result), DEVICE, "max_pool2d: gradient " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_convolve("conv2d", s->image, NULL, NULL, &s->result), HANDLE, "weight is NULL");
    REFUSED(agpu_ops_convolve("conv2d", s->image, s->weight, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_convolve_input_gradient("conv2d", s->image, s->weight, 4, NULL, NULL, &s->result), INVALID, "shape is NULL, with 4 items");
    REFUSED(agpu_ops_convolve_weight_gradient("conv2d", s->image, s->image, 4, shape, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_pool_with_indices("max_pool2d", s->image, NULL, &s->result, NULL), INVALID, "indices is NULL");
    REFUSED(agpu_ops_pool_indices_gradient("max_pool2d", s->image, s->released, 4, shape, NULL, &s->result), HANDLE, "released before");
    REFUSED(agpu_ops_max_unpool(s->released, s->image, 4, shape, NULL, &s->result), HANDLE, "released before");
    REFUSED(agpu_ops_embedding(s->whole, s->there, NULL, &s->result), DEVICE, "embedding: table " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_embedding(NULL, s->matrix, NULL, &s->result), HANDLE, "indices is NULL");
    REFUSED(agpu_ops_mse_loss(s->matrix, NULL, NULL, &s->result), HANDLE, "target is NULL");
    REFUSED(agpu_ops_mse_loss(s->matrix, s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_mse_loss_gradient(s->matrix, s->matrix, s->there, NULL, &s->result), DEVICE, "mse_loss_gradient: gradient " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_bce_loss(s->released, s->matrix, NULL, &s->result), HANDLE, "released before");
    REFUSED(agpu_ops_bce_loss_gradient(s->matrix, s->matrix, s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_cross_entropy_loss(s->matrix, s->there, NULL, &s->result), DEVICE, "cross_entropy_loss: target " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_cross_entropy_loss_gradient(s->matrix, s->matrix, NULL, NULL, &s->result), HANDLE, "gradient is NULL");
    REFUSED(agpu_ops_nll_loss(s->matrix, s->matrix, NULL, &s->result), DTYPE, "targets are classes as int32 or int64");
    REFUSED(agpu_ops_nll_loss_gradient(s->matrix, s->matrix, s->released, NULL, &s->result), HANDLE, "released before");
    REFUSED(agpu_ops_scaled_dot_product_attention(s->matrix, s->matrix, s->there, NULL, &s->result), DEVICE, "v " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_scaled_dot_product_attention(s->matrix, s->matrix, s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_scaled_dot_product_attention(s->matrix, s->vector, s->matrix, NULL, &s->result), SHAPE, "they have as many axes");
    REFUSED(agpu_ops_scaled_dot_product_attention_gradient(s->matrix, s->matrix, s->matrix, s->matrix, NULL, &s->result, NULL, &s->third), INVALID,
            "by_k is NULL");
    REFUSED(agpu_ops_geam(s->matrix, NULL, NULL, &s->result), HANDLE, "b is NULL");
    REFUSED(agpu_ops_geam(s->matrix, s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_geam(s->vector, s->vector, NULL, &s->result), SHAPE, "a matrix has two axes");
    REFUSED(agpu_ops_transpose(s->released, NULL, 0, NULL, &s->result), HANDLE, "released before");
    REFUSED(agpu_ops_transpose(s->matrix, NULL, 2, NULL, &s->result), INVALID, "axes is NULL, with 2 items");
    REFUSED(agpu_ops_contiguous(s->matrix, NULL, NULL), INVALID, "result is NULL");
    REFUSED(agpu_ops_contiguous(NULL, NULL, &s->result), HANDLE, "x is NULL");
}

static void names(struct scene *s) {
    agpu_ops_conv2d_options convolution = AGPU_OPS_CONV2D_OPTIONS_INIT;
    agpu_ops_pool_options pooling = AGPU_OPS_POOL_OPTIONS_INIT;
    agpu_ops_matmul_options product = AGPU_OPS_MATMUL_OPTIONS_INIT;
    REFUSED(agpu_ops_elementwise(NULL, &s->matrix, 1, NULL, &s->result), INVALID, "operation is NULL; pass a text");
    REFUSED(agpu_ops_reduce("total", s->matrix, NULL, &s->result), INVALID, "operation is \"total\"; known are sum, prod");
    REFUSED(agpu_ops_scan("cummean", s->matrix, 0, NULL, &s->result), INVALID,
            "operation is \"cummean\"; known are cumsum, cumprod, cummax, cummin, cumulative_any, cumulative_all");
    REFUSED(agpu_ops_cumulative_best("cumsum", s->matrix, 0, &s->result, &s->second), INVALID,
            "operation is \"cumsum\"; known are cummax, cummin");
    REFUSED(agpu_ops_segment_reduce("median", s->matrix, s->whole, NULL, &s->result), INVALID,
            "reduce is \"median\"; known are sum, prod, mean, amax, amin");
    REFUSED(agpu_ops_scatter_reduce("median", s->matrix, 0, s->whole, s->matrix, NULL, &s->result), INVALID, "reduce is \"median\"");
    agpu_ops_loss_options loss = AGPU_OPS_LOSS_OPTIONS_INIT;
    loss.reduction = "max";
    REFUSED(agpu_ops_mse_loss(s->matrix, s->matrix, &loss, &s->result), INVALID, "mse_loss: reduction is \"max\"; known are none, mean, sum");
    REFUSED(agpu_ops_normalize("norm", s->matrix, NULL, &s->result), INVALID, "known are softmax, log_softmax, layer_norm, rms_norm");
    REFUSED(agpu_ops_normalize_gradient("norm", s->matrix, s->matrix, NULL, &s->result, NULL, NULL), INVALID, "known are softmax");
    REFUSED(agpu_ops_pool("min_pool2d", s->image, NULL, &s->result), INVALID, "known are max_pool1d, adaptive_max_pool1d, max_pool2d");
    REFUSED(agpu_ops_pool_gradient("\xff", s->image, s->image, NULL, &s->result), INVALID, "operation is no UTF-8");
    REFUSED(agpu_ops_cast(s->matrix, "int7", &s->result), DTYPE, "dtype int7 is not a type of device memory");
    convolution.layout = "CHWN";
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &convolution, &s->result), INVALID, "layout is \"CHWN\"; known are NCHW, NHWC");
    convolution.layout = NULL;
    convolution.precision = "fp8";
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &convolution, &s->result), INVALID, "precision is \"fp8\"; known are fp32, tf32");
    pooling.layout = "NCWH";
    REFUSED(agpu_ops_pool("max_pool2d", s->image, &pooling, &s->result), INVALID, "layout is \"NCWH\"");
    product.activation = "swish";
    REFUSED(agpu_ops_matmul(s->matrix, s->matrix, &product, &s->result), INVALID, "activation is \"swish\"; known are identity, relu");
    product.activation = NULL;
    product.precision = "fp8";
    REFUSED(agpu_ops_matmul(s->matrix, s->matrix, &product, &s->result), INVALID, "precision is \"fp8\"; known are fp64, fp32");
}

/* A struct whose size was not set, and one of a newer header with an option that this library does not know. */
#define SIZES(type, init, call)                                                     \
    do {                                                                            \
        struct {                                                                    \
            type options;                                                           \
            uint64_t newer;                                                         \
        } given = {init, 1};                                                        \
        const type *options = &given.options;                                       \
        given.options.size_bytes = 0;                                               \
        REFUSED(call, INVALID, "size_bytes of " #type " is 0; it is ");             \
        given.options.size_bytes = UINT64_MAX;                                      \
        REFUSED(call, INVALID, "initialise the struct with its _INIT macro");       \
        given.options.size_bytes = sizeof given;                                    \
        REFUSED(call, INVALID, "options beyond these are set");                     \
    } while (0)

static void sizes(struct scene *s) {
    agpu_array m = s->matrix, v = s->vector, *result = &s->result;
    const int64_t shape[4] = {1, 1, 3, 3};
    SIZES(agpu_ops_elementwise_options, AGPU_OPS_ELEMENTWISE_OPTIONS_INIT, agpu_ops_elementwise("exp", &m, 1, options, result));
    SIZES(agpu_ops_reduce_options, AGPU_OPS_REDUCE_OPTIONS_INIT, agpu_ops_reduce("sum", m, options, result));
    SIZES(agpu_ops_scan_options, AGPU_OPS_SCAN_OPTIONS_INIT, agpu_ops_scan("cumsum", m, 0, options, result));
    SIZES(agpu_ops_segment_options, AGPU_OPS_SEGMENT_OPTIONS_INIT, agpu_ops_segment_reduce("sum", m, s->whole, options, result));
    SIZES(agpu_ops_scatter_reduce_options, AGPU_OPS_SCATTER_REDUCE_OPTIONS_INIT,
          agpu_ops_scatter_reduce("sum", m, 0, s->whole, m, options, result));
    SIZES(agpu_ops_embedding_gradient_options, AGPU_OPS_EMBEDDING_GRADIENT_OPTIONS_INIT,
          agpu_ops_embedding_gradient(m, s->whole, 3, options, result));
    SIZES(agpu_ops_loss_options, AGPU_OPS_LOSS_OPTIONS_INIT, agpu_ops_mse_loss(m, m, options, result));
    SIZES(agpu_ops_loss_options, AGPU_OPS_LOSS_OPTIONS_INIT, agpu_ops_cross_entropy_loss_gradient(m, m, m, options, result));
    SIZES(agpu_ops_attention_options, AGPU_OPS_ATTENTION_OPTIONS_INIT,
          agpu_ops_scaled_dot_product_attention(m, m, m, options, result));
    SIZES(agpu_ops_geam_options, AGPU_OPS_GEAM_OPTIONS_INIT, agpu_ops_geam(m, m, options, result));
    SIZES(agpu_ops_top_k_options, AGPU_OPS_TOP_K_OPTIONS_INIT, agpu_ops_top_k(m, 1, 0, options, result, NULL));
    SIZES(agpu_ops_matmul_options, AGPU_OPS_MATMUL_OPTIONS_INIT, agpu_ops_matmul(m, m, options, result));
    SIZES(agpu_ops_normalize_options, AGPU_OPS_NORMALIZE_OPTIONS_INIT, agpu_ops_normalize("softmax", m, options, result));
    SIZES(agpu_ops_normalize_options, AGPU_OPS_NORMALIZE_OPTIONS_INIT,
          agpu_ops_normalize_gradient("softmax", m, m, options, result, NULL, NULL));
    SIZES(agpu_ops_batch_norm_options, AGPU_OPS_BATCH_NORM_OPTIONS_INIT, agpu_ops_batch_norm(m, v, v, 1, options, result));
    SIZES(agpu_ops_batch_norm_options, AGPU_OPS_BATCH_NORM_OPTIONS_INIT, agpu_ops_batch_norm_training(m, 1, options, result, NULL, NULL));
    SIZES(agpu_ops_batch_norm_options, AGPU_OPS_BATCH_NORM_OPTIONS_INIT,
          agpu_ops_batch_norm_gradient(m, m, 1, options, result, NULL, NULL));
    SIZES(agpu_ops_conv2d_options, AGPU_OPS_CONV2D_OPTIONS_INIT, agpu_ops_conv2d(s->image, s->weight, options, result));
    SIZES(agpu_ops_conv2d_options, AGPU_OPS_CONV2D_OPTIONS_INIT,
          agpu_ops_conv2d_input_gradient(s->image, s->weight, shape, options, result));
    SIZES(agpu_ops_conv2d_options, AGPU_OPS_CONV2D_OPTIONS_INIT,
          agpu_ops_conv2d_weight_gradient(s->image, s->image, shape, options, result));
    SIZES(agpu_ops_pool_options, AGPU_OPS_POOL_OPTIONS_INIT, agpu_ops_pool("max_pool2d", s->image, options, result));
    SIZES(agpu_ops_pool_options, AGPU_OPS_POOL_OPTIONS_INIT, agpu_ops_pool_gradient("max_pool2d", s->image, s->image, options, result));
    SIZES(agpu_ops_conv2d_options, AGPU_OPS_CONV2D_OPTIONS_INIT, agpu_ops_convolve("conv2d", s->image, s->weight, options, result));
    SIZES(agpu_ops_pool_options, AGPU_OPS_POOL_OPTIONS_INIT, agpu_ops_max_unpool(s->image, s->image, 4, shape, options, result));
    SIZES(agpu_ops_options, AGPU_OPS_OPTIONS_INIT, agpu_ops_embedding(s->whole, m, options, result));
    SIZES(agpu_ops_options, AGPU_OPS_OPTIONS_INIT, agpu_ops_transpose(m, NULL, 0, options, result));
    SIZES(agpu_ops_options, AGPU_OPS_OPTIONS_INIT, agpu_ops_contiguous(m, options, result));
}

static void axes_and_numbers(struct scene *s) {
    const int64_t outside[1] = {2}, twice[2] = {0, -2}, one[1] = {0};
    agpu_ops_reduce_options reduction = AGPU_OPS_REDUCE_OPTIONS_INIT;
    reduction.axes = outside;
    reduction.axis_count = 1;
    REFUSED(agpu_ops_reduce("sum", s->matrix, &reduction, &s->result), INVALID, "sum: axis 2 is out of range for x of shape [2, 3]");
    reduction.axes = twice;
    reduction.axis_count = 2;
    REFUSED(agpu_ops_reduce("sum", s->matrix, &reduction, &s->result), INVALID, "axis -2 is named twice");
    reduction.axes = NULL;
    REFUSED(agpu_ops_reduce("sum", s->matrix, &reduction, &s->result), INVALID, "axes is NULL, with 2 items");
    reduction = (agpu_ops_reduce_options){.size_bytes = sizeof reduction, .dtype = "int32"};
    REFUSED(agpu_ops_reduce("sum", s->matrix, &reduction, &s->result), DTYPE, "not rounded to int32");
    agpu_ops_normalize_options norm = AGPU_OPS_NORMALIZE_OPTIONS_INIT;
    norm.axes = outside;
    norm.axis_count = 1;
    REFUSED(agpu_ops_normalize("softmax", s->matrix, &norm, &s->result), INVALID, "softmax: axis 2 is out of range");
    REFUSED(agpu_ops_normalize_gradient("layer_norm", s->matrix, s->matrix, &norm, &s->result, &s->second, NULL), INVALID, "axis 2");
    norm = (agpu_ops_normalize_options){.size_bytes = sizeof norm, .epsilon = -1, .has_epsilon = 1};
    REFUSED(agpu_ops_normalize("layer_norm", s->matrix, &norm, &s->result), INVALID, "eps is -1; it must not be negative");
    REFUSED(agpu_ops_scan("cumsum", s->matrix, -3, NULL, &s->result), INVALID, "cumsum: axis -3 is out of range");
    agpu_ops_segment_options segments = AGPU_OPS_SEGMENT_OPTIONS_INIT;
    segments.count = 3;
    REFUSED(agpu_ops_segment_reduce("sum", s->matrix, s->whole, &segments, &s->result), AGPU_ERROR_INDEX_OUT_OF_RANGE,
            "index 3 at place 1 is none of 3 rows");
    segments.axis = 4;
    REFUSED(agpu_ops_segment_reduce("sum", s->matrix, s->whole, &segments, &s->result), INVALID, "axis 4 is out of range");
    agpu_ops_embedding_gradient_options table = AGPU_OPS_EMBEDDING_GRADIENT_OPTIONS_INIT;
    table.has_padding_index = 1;
    table.padding_index = 5;
    REFUSED(agpu_ops_embedding_gradient(s->matrix, s->whole, 4, &table, &s->result), AGPU_ERROR_INDEX_OUT_OF_RANGE, "padding_idx is 5");
    REFUSED(agpu_ops_top_k(s->matrix, 1, 5, NULL, &s->result, NULL), INVALID, "top_k: axis 5 is out of range");
    REFUSED(agpu_ops_top_k(s->matrix, 4, 1, NULL, &s->result, &s->second), INVALID, "k is 4; axis 1 of x has 3 values");
    REFUSED(agpu_ops_top_k(s->matrix, -1, 1, NULL, &s->result, NULL), INVALID, "k is -1");
    REFUSED(agpu_ops_transpose(s->matrix, one, 1, NULL, &s->result), INVALID, "axes");
    REFUSED(agpu_ops_transpose(s->matrix, twice, 2, NULL, &s->result), INVALID, "axis -2 is named twice");
    REFUSED(agpu_ops_batch_norm(s->matrix, s->vector, s->vector, 2, NULL, &s->result), SHAPE, "channel_axis is 2; x has shape [2, 3]");
    REFUSED(agpu_ops_batch_norm_training(s->matrix, -3, NULL, &s->result, NULL, NULL), SHAPE, "channel_axis is -3");
    agpu_ops_batch_norm_options batch = {.size_bytes = sizeof batch, .epsilon = NAN, .has_epsilon = 1};
    REFUSED(agpu_ops_batch_norm(s->matrix, s->vector, s->vector, 1, &batch, &s->result), INVALID, "eps is NaN");
    REFUSED(agpu_ops_embedding(s->whole, s->matrix, NULL, &s->result), INVALID, "index 3 at place 1 is not a row of a table of 2");
}

static void windows(struct scene *s) {
    const int64_t shape[4] = {1, 1, 4, 4}, negative[4] = {1, 1, -3, 3};
    agpu_ops_conv2d_options options = AGPU_OPS_CONV2D_OPTIONS_INIT;
    options.stride[1] = -1;
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &options, &s->result), INVALID, "stride is (1, -1)");
    options.stride[1] = 0;
    options.groups = -2;
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &options, &s->result), INVALID, "groups is -2");
    options.groups = 3;
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &options, &s->result), SHAPE, "do not make 3 groups");
    options.groups = 0;
    options.dilation[0] = 9;
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &options, &s->result), SHAPE, "does not fit an image");
    options.dilation[0] = 0;
    options.bias = s->vector;
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &options, &s->result), SHAPE, "bias");
    REFUSED(agpu_ops_conv2d_input_gradient(s->image, s->weight, shape, &options, &s->result), INVALID, "does not depend on the bias");
    REFUSED(agpu_ops_conv2d_weight_gradient(s->image, s->image, shape, &options, &s->result), INVALID, "does not depend on the bias");
    REFUSED(agpu_ops_conv2d_input_gradient(s->image, s->weight, negative, NULL, &s->result), SHAPE, "extents are not negative");
    REFUSED(agpu_ops_conv2d_weight_gradient(s->image, s->image, shape, NULL, &s->result), SHAPE, "");
    REFUSED(agpu_ops_conv2d(s->matrix, s->weight, NULL, &s->result), SHAPE, "four axes are expected");
    agpu_ops_pool_options pool = AGPU_OPS_POOL_OPTIONS_INIT;
    REFUSED(agpu_ops_pool("max_pool2d", s->image, &pool, &s->result), INVALID, "");
    pool.window[0] = pool.window[1] = 2;
    pool.padding[0] = 2;
    REFUSED(agpu_ops_pool("avg_pool2d", s->image, &pool, &s->result), INVALID, "at most half of the window");
    pool.padding[0] = 0;
    pool.dilation[1] = -1;
    REFUSED(agpu_ops_pool("max_pool2d", s->image, &pool, &s->result), INVALID, "dilation is (1, -1)");
    pool.dilation[1] = 0;
    REFUSED(agpu_ops_pool_gradient("max_pool2d", s->image, s->matrix, &pool, &s->result), SHAPE, "gradient has shape [2, 3]");
    REFUSED(agpu_ops_pool("max_pool2d", s->matrix, &pool, &s->result), SHAPE, "four axes are expected");
    pool.padding_depth = 1;
    REFUSED(agpu_ops_pool("max_pool2d", s->image, &pool, &s->result), INVALID, "padding is 1 along an axis that its images lack");
    pool.padding_depth = 0;
    REFUSED(agpu_ops_max_unpool(s->vector, s->vector, 1, shape, NULL, &s->result), INVALID, "x has 1 axes");
    REFUSED(agpu_ops_max_unpool(s->image, s->image, 4, shape, NULL, &s->result), DTYPE, "floats and int64 are expected");
    options = (agpu_ops_conv2d_options)AGPU_OPS_CONV2D_OPTIONS_INIT;
    options.output_padding[1] = 1;
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &options, &s->result), INVALID, "output_padding is of transposed convolutions alone");
    REFUSED(agpu_ops_convolve("conv_transpose2d", s->image, s->weight, &options, &s->result), INVALID, "must be smaller than the stride");
    options.output_padding[1] = 0;
    options.pads_same = 1;
    options.stride[0] = 2;
    REFUSED(agpu_ops_conv2d(s->image, s->weight, &options, &s->result), INVALID, "where the stride is 1, not (2, 1)");
}

static void shapes_and_dtypes(struct scene *s) {
    agpu_ops_normalize_options norm = AGPU_OPS_NORMALIZE_OPTIONS_INIT;
    norm.scale = s->matrix;
    REFUSED(agpu_ops_normalize("layer_norm", s->matrix, &norm, &s->result), SHAPE, "scale has shape [2, 3], the normalised axes [3]");
    norm.scale = s->vector;
    REFUSED(agpu_ops_normalize("softmax", s->matrix, &norm, &s->result), INVALID, "softmax has neither scale nor shift");
    norm.shift = s->vector;
    REFUSED(agpu_ops_normalize("rms_norm", s->matrix, &norm, &s->result), INVALID, "rms_norm has a scale and no shift");
    REFUSED(agpu_ops_normalize_gradient("layer_norm", s->matrix, s->matrix, &norm, &s->result, NULL, NULL), INVALID, "no shift");
    norm.shift = s->there;
    REFUSED(agpu_ops_normalize("layer_norm", s->matrix, &norm, &s->result), DEVICE, "shift " ON_OTHER_DEVICE);
    REFUSED(agpu_ops_normalize_gradient("rms_norm", s->matrix, s->matrix, NULL, &s->result, &s->second, &s->third), INVALID, "by_shift");
    REFUSED(agpu_ops_normalize_gradient("softmax", s->matrix, s->matrix, NULL, &s->result, &s->second, NULL), INVALID, "no parameters");
    REFUSED(agpu_ops_normalize_gradient("softmax", s->matrix, s->vector, NULL, &s->result, NULL, NULL), SHAPE, "gradient has shape [3]");
    REFUSED(agpu_ops_batch_norm(s->matrix, s->vector, s->matrix, 1, NULL, &s->result), SHAPE, "variance has shape [2, 3]");
    REFUSED(agpu_ops_batch_norm_training(s->whole, 0, NULL, &s->result, NULL, NULL), DTYPE, "x has dtype int64; floats are normalised");
    REFUSED(agpu_ops_batch_norm_gradient(s->matrix, s->vector, 1, NULL, &s->result, &s->second, &s->third), SHAPE, "gradient has shape [3]");
    agpu_ops_batch_norm_options batch = AGPU_OPS_BATCH_NORM_OPTIONS_INIT;
    batch.bias = s->vector;
    REFUSED(agpu_ops_batch_norm_gradient(s->matrix, s->matrix, 1, &batch, &s->result, NULL, NULL), INVALID, "does not depend on the bias");
    batch.bias = NULL;
    batch.out = s->matrix;
    REFUSED(agpu_ops_batch_norm(s->matrix, s->vector, s->vector, 1, &batch, &s->result), INVALID, "batch_norm does not know out");
    REFUSED(agpu_ops_batch_norm_training(s->matrix, 1, &batch, &s->result, NULL, NULL), INVALID, "out overlaps an input");
    batch.out = NULL;
    batch.saved_mean = s->vector;
    REFUSED(agpu_ops_batch_norm_training(s->matrix, 1, &batch, &s->result, NULL, NULL), INVALID, "saved_mean and saved_scale are given both");
    batch.saved_scale = s->whole;
    REFUSED(agpu_ops_batch_norm_training(s->matrix, 1, &batch, &s->result, NULL, NULL), DTYPE, "has dtype int64; they are floats");
    batch.saved_mean = batch.saved_scale = NULL;
    batch.running_mean = batch.running_variance = s->vector;
    REFUSED(agpu_ops_batch_norm_gradient(s->matrix, s->matrix, 1, &batch, &s->result, NULL, NULL), INVALID, "does not know running_mean");
    REFUSED(agpu_ops_embedding(s->matrix, s->matrix, NULL, &s->result), DTYPE, "they must be int32 or int64");
    REFUSED(agpu_ops_conv2d(s->image, s->whole, NULL, &s->result), SHAPE, "weight has shape [2]");
    agpu_ops_options options = AGPU_OPS_OPTIONS_INIT;
    options.out = s->vector;
    agpu_ops_scan_options scan = AGPU_OPS_SCAN_OPTIONS_INIT;
    scan.out = s->vector;
    REFUSED(agpu_ops_scan("cumsum", s->matrix, 0, &scan, &s->result), SHAPE, "cumsum: out has shape [3], the result [2, 3]");
    scan.out = s->matrix;
    scan.is_exclusive = 1;
    REFUSED(agpu_ops_scan("cumsum", s->matrix, 0, &scan, &s->result), INVALID, "cumsum: out may share memory with x");
    REFUSED(agpu_ops_scan("cumulative_any", s->matrix, 0, NULL, &s->result), DTYPE, "x has dtype float32; compare it with zero first");
    REFUSED(agpu_ops_segment_reduce("sum", s->matrix, s->matrix, NULL, &s->result), DTYPE, "indices have dtype float32");
    REFUSED(agpu_ops_index_add(s->matrix, 0, s->whole, s->vector, &s->result), SHAPE, "index_add");
    REFUSED(agpu_ops_scatter_reduce("sum", s->matrix, 0, s->whole, s->matrix, NULL, &s->result), SHAPE, "scatter_reduce");
    REFUSED(agpu_ops_embedding_gradient(s->vector, s->whole, 3, NULL, &s->result), SHAPE, "embedding_gradient: values have shape [3]");
    REFUSED(agpu_ops_contiguous(s->matrix, &options, &s->result), SHAPE, "out has shape [3]");
    options.out = s->matrix;
    REFUSED(agpu_ops_transpose(s->matrix, (int64_t[]){0, 1}, 2, &options, &s->result), INVALID, "transpose: out may share memory with x");
    options.out = s->there;
    REFUSED(agpu_ops_transpose(s->matrix, NULL, 0, &options, &s->result), DEVICE, "transpose: out " ON_OTHER_DEVICE);
    options.out = s->released;
    REFUSED(agpu_ops_embedding(s->whole, s->matrix, &options, &s->result), HANDLE, "out is an array that was released before");
}

int main(void) {
    agpu_device device = NULL, other = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    DO(agpu_device_open("null:gfx1100", NULL, &other));
    const float values[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const int64_t numbers[2] = {1, 3}, three[1] = {3};
    struct scene s = {0};
    s.matrix = ARRAY(device, "float32", values, 2, 3);
    s.vector = ARRAY(device, "float32", values, 3);
    s.image = ARRAY(device, "float32", values, 1, 1, 3, 3);
    s.weight = ARRAY(device, "float32", values, 1, 1, 2, 2);
    s.whole = ARRAY(device, "int64", numbers, 2);
    s.released = ARRAY(device, "float32", values, 3);
    DO(agpu_release(s.released));
    DO(agpu_array_create(other, "float32", 1, three, NULL, &s.there));
    places_and_handles(&s);
    names(&s);
    sizes(&s);
    axes_and_numbers(&s);
    windows(&s);
    shapes_and_dtypes(&s);
    CHECK(s.result == NULL && s.second == NULL && s.third == NULL);
    const agpu_handle all[] = {s.matrix, s.vector, s.image, s.weight, s.whole, s.there, device, other};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) DO(agpu_release(all[i]));
    check_no_handles();
    puts("ok");
    return 0;
}
