/* Convolution, pooling and their gradients, against loops over whole numbers, whose sums are exact. */
#include "arrays.h"

/* Images (batch, channels, rows, columns), weights (outputs, channels of a group, rows, columns), results. */
enum { BATCH = 2, CHANNELS = 4, ROWS = 5, COLUMNS = 6, OUTPUTS = 2, GROUPS = 2, INPUTS = CHANNELS / GROUPS, HIGH = 3, WIDE = 2 };
enum { RESULT_ROWS = 3, RESULT_COLUMNS = 4 }; /* (5 + 2 - 3) / 2 + 1 and (6 - 3) / 1 + 1: stride (2, 1), padding (1, 0), dilation (1, 2) */
enum { IMAGES = BATCH * CHANNELS * ROWS * COLUMNS, WEIGHTS = OUTPUTS * INPUTS * HIGH * WIDE };
enum { RESULTS = BATCH * OUTPUTS * RESULT_ROWS * RESULT_COLUMNS };

struct convolution {
    float x[IMAGES], weight[WEIGHTS], bias[OUTPUTS], gradient[RESULTS];
    float result[RESULTS], by_x[IMAGES], by_weight[WEIGHTS];
};

/* One product of the sum of a result, in all three passes. */
static void add(struct convolution *all, int b, int o, const int at[2], const int tap[2], int c) {
    const int row = at[0] * 2 - 1 + tap[0], column = at[1] + 2 * tap[1];
    if (row < 0 || row >= ROWS) return;
    const int channel = o / (OUTPUTS / GROUPS) * INPUTS + c;
    const int x = ((b * CHANNELS + channel) * ROWS + row) * COLUMNS + column;
    const int weight = ((o * INPUTS + c) * HIGH + tap[0]) * WIDE + tap[1];
    const int result = ((b * OUTPUTS + o) * RESULT_ROWS + at[0]) * RESULT_COLUMNS + at[1];
    all->result[result] += all->x[x] * all->weight[weight];
    all->by_x[x] += all->gradient[result] * all->weight[weight];
    all->by_weight[weight] += all->gradient[result] * all->x[x];
}

static struct convolution convolve(void) {
    struct convolution all;
    memset(&all, 0, sizeof all);
    fill_whole(all.x, IMAGES, 1);
    fill_whole(all.weight, WEIGHTS, 5);
    fill_whole(all.bias, OUTPUTS, 2);
    fill_whole(all.gradient, RESULTS, 8);
    for (int i = 0; i < RESULTS * INPUTS * HIGH * WIDE; i++) {
        const int tap[2] = {i / WIDE % HIGH, i % WIDE}, c = i / (WIDE * HIGH) % INPUTS, result = i / (WIDE * HIGH * INPUTS);
        const int at[2] = {result / RESULT_COLUMNS % RESULT_ROWS, result % RESULT_COLUMNS}, image = result / (RESULT_ROWS * RESULT_COLUMNS);
        add(&all, image / OUTPUTS, image % OUTPUTS, at, tap, c);
    }
    return all;
}

static void conv2d(agpu_device device) {
    struct convolution all = convolve();
    agpu_array x = ARRAY(device, "float32", all.x, BATCH, CHANNELS, ROWS, COLUMNS);
    agpu_array weight = ARRAY(device, "float32", all.weight, OUTPUTS, INPUTS, HIGH, WIDE);
    agpu_array gradient = ARRAY(device, "float32", all.gradient, BATCH, OUTPUTS, RESULT_ROWS, RESULT_COLUMNS), result = NULL;
    agpu_ops_conv2d_options options = AGPU_OPS_CONV2D_OPTIONS_INIT;
    options.stride[0] = 2;
    options.padding[0] = 1;
    options.dilation[1] = 2;
    options.groups = GROUPS;
    const int64_t images[4] = {BATCH, CHANNELS, ROWS, COLUMNS}, weights[4] = {OUTPUTS, INPUTS, HIGH, WIDE};
    DO(agpu_ops_conv2d_input_gradient(gradient, weight, images, &options, &result));
    CHECK_BYTES(result, "float32", all.by_x);
    DO(agpu_ops_conv2d_weight_gradient(x, gradient, weights, &options, &result));
    CHECK_BYTES(result, "float32", all.by_weight);
    DO(agpu_ops_conv2d(x, weight, &options, &result));
    CHECK_BYTES(result, "float32", all.result);
    options.bias = ARRAY(device, "float32", all.bias, OUTPUTS);
    options.out = ARRAY(device, "float32", all.gradient, BATCH, OUTPUTS, RESULT_ROWS, RESULT_COLUMNS);
    for (int i = 0; i < RESULTS; i++) all.result[i] += all.bias[i / (RESULT_ROWS * RESULT_COLUMNS) % OUTPUTS];
    DO(agpu_ops_conv2d(x, weight, &options, &result));
    DO(agpu_release(result));
    CHECK_BYTES(options.out, "float32", all.result);
    const agpu_handle arrays[] = {x, weight, gradient, options.bias};
    for (int i = 0; i < 4; i++) DO(agpu_release(arrays[i]));
}

/* One channel of NHWC images is one of NCHW. */
static void last_channels(agpu_device device) {
    const float values[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, ones[4] = {1, 1, 1, 1}, sums[4] = {12, 16, 24, 28};
    agpu_array x = ARRAY(device, "float32", values, 1, 3, 3, 1), weight = ARRAY(device, "float32", ones, 1, 1, 2, 2), result = NULL;
    agpu_ops_conv2d_options options = AGPU_OPS_CONV2D_OPTIONS_INIT;
    options.layout = "NHWC";
    options.precision = "tf32";
    DO(agpu_ops_conv2d(x, weight, &options, &result));
    CHECK_BYTES(result, "float32", sums);
    DO(agpu_release(x));
    DO(agpu_release(weight));
}

static void pool(agpu_device device) {
    const float values[12] = {1, 9, 2, 8, 3, 7, 4, 6, 5, 0, 11, 10};
    /* Windows of 2 x 2, stride 1 along rows and 2 along columns. */
    const float largest[4] = {9, 8, 7, 11}, given[4] = {1, 2, 3, 4}, by_x[12] = {0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 4, 0};
    agpu_array x = ARRAY(device, "float32", values, 1, 1, 3, 4), gradient = ARRAY(device, "float32", given, 1, 1, 2, 2), result = NULL;
    agpu_ops_pool_options options = AGPU_OPS_POOL_OPTIONS_INIT;
    options.window[0] = options.window[1] = 2;
    options.stride[0] = 1;
    DO(agpu_ops_pool("max_pool2d", x, &options, &result));
    CHECK_BYTES(result, "float32", largest);
    DO(agpu_ops_pool_gradient("max_pool2d", x, gradient, &options, &result));
    CHECK_BYTES(result, "float32", by_x);
    /* Averages: the stride is the window's; padding counts, or does not. */
    const float averages[4] = {0.25f, 2.75f, 1.25f, 7.75f}, inner[4] = {1, 5.5f, 2.5f, 7.75f};
    DO(agpu_release(x));
    const float image[9] = {1, 9, 2, 3, 7, 4, 2, 12, 8};
    x = ARRAY(device, "float32", image, 1, 3, 3, 1);
    options = (agpu_ops_pool_options)AGPU_OPS_POOL_OPTIONS_INIT;
    options.window[0] = options.window[1] = 2;
    options.padding[0] = options.padding[1] = 1;
    options.layout = "NHWC";
    DO(agpu_ops_pool("avg_pool2d", x, &options, &result));
    CHECK_BYTES(result, "float32", averages);
    options.excludes_padding = 1;
    DO(agpu_ops_pool("avg_pool2d", x, &options, &result));
    CHECK_BYTES(result, "float32", inner);
    agpu_array last = NULL;
    const int64_t shape[4] = {1, 2, 2, 1};
    DO(agpu_array_reshape(gradient, 4, shape, &last));
    const float spread[9] = {1, 1, 1, 1.5f, 1, 1, 1.5f, 1, 1};
    DO(agpu_ops_pool_gradient("avg_pool2d", x, last, &options, &result));
    CHECK_BYTES(result, "float32", spread);
    /* Sums, with a last window that reaches beyond the padding. */
    options.padding[0] = options.padding[1] = 0;
    options.divisor_override = 1;
    options.ceil_mode = 1;
    const float sums[4] = {20, 6, 14, 8};
    DO(agpu_ops_pool("avg_pool2d", x, &options, &result));
    CHECK_BYTES(result, "float32", sums);
    const agpu_handle arrays[] = {x, gradient, last};
    for (int i = 0; i < 3; i++) DO(agpu_release(arrays[i]));
}

/* Options of a caller whose header ends before the newer ones: those count as zeros. */
static void older_options(agpu_device device) {
    const float values[3] = {1, 5, 2}, largest[1] = {5};
    agpu_array x = ARRAY(device, "float32", values, 1, 1, 1, 3), result = NULL;
    agpu_ops_pool_options options = AGPU_OPS_POOL_OPTIONS_INIT;
    options.size_bytes = offsetof(agpu_ops_pool_options, window_depth);
    options.window[0] = 1;
    options.window[1] = 2;
    options.window_depth = options.divisor_override = 77;
    options.ceil_mode = 1;
    DO(agpu_ops_pool("max_pool2d", x, &options, &result));
    CHECK_BYTES(result, "float32", largest);
    const float ones[1] = {1};
    agpu_array weight = ARRAY(device, "float32", ones, 1, 1, 1, 1);
    agpu_ops_conv2d_options convolution = AGPU_OPS_CONV2D_OPTIONS_INIT;
    convolution.size_bytes = offsetof(agpu_ops_conv2d_options, stride_depth);
    convolution.stride_depth = convolution.padding_depth = 77;
    convolution.pads_same = 1;
    DO(agpu_ops_conv2d(x, weight, &convolution, &result));
    CHECK_BYTES(result, "float32", values);
    DO(agpu_release(x));
    DO(agpu_release(weight));
}

/* Convolutions of one and three axes, and transposed ones. */
static void by_name(agpu_device device) {
    const float values[4] = {1, 2, 3, 4}, window[3] = {1, 10, 100}, same[4] = {210, 321, 432, 43};
    agpu_array x = ARRAY(device, "float32", values, 1, 1, 4), weight = ARRAY(device, "float32", window, 1, 1, 3), result = NULL;
    agpu_ops_conv2d_options options = AGPU_OPS_CONV2D_OPTIONS_INIT;
    options.pads_same = 1;
    DO(agpu_ops_convolve("conv1d", x, weight, &options, &result));
    CHECK_BYTES(result, "float32", same);
    options.pads_same = 0;
    options.stride[1] = 3;
    const float given[2] = {1, 2}, by_weight[1] = {9}, apart[7] = {1, 10, 100, 2, 20, 200, 0};
    const int64_t shape[3] = {1, 1, 4}, weight_shape[3] = {1, 1, 1};
    agpu_array gradient = ARRAY(device, "float32", given, 1, 1, 2), one = ARRAY(device, "float32", window, 1, 1, 1);
    agpu_array spread = NULL;
    options.output_padding[2] = 1;
    DO(agpu_ops_convolve("conv_transpose1d", gradient, weight, &options, &spread));
    CHECK_BYTES(spread, "float32", apart);
    options.output_padding[2] = 0;
    DO(agpu_ops_convolve_weight_gradient("conv1d", x, gradient, 3, weight_shape, &options, &result));
    CHECK_BYTES(result, "float32", by_weight);
    DO(agpu_ops_convolve_input_gradient("conv1d", gradient, one, 3, shape, &options, &result));
    const float of_one[4] = {1, 0, 0, 2};
    CHECK_BYTES(result, "float32", of_one);
    const float volume[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum[1] = {36};
    const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    agpu_array cube = ARRAY(device, "float32", volume, 1, 1, 2, 2, 2), kernel = ARRAY(device, "float32", ones, 1, 1, 2, 2, 2);
    DO(agpu_ops_convolve("conv3d", cube, kernel, NULL, &result));
    CHECK_BYTES(result, "float32", sum);
    const agpu_handle arrays[] = {x, weight, gradient, one, cube, kernel};
    for (int i = 0; i < 6; i++) DO(agpu_release(arrays[i]));
}

static void indices(agpu_device device) {
    const float values[6] = {1, 9, 2, 8, 3, 7}, largest[2] = {9, 8}, back[6] = {0, 9, 0, 8, 0, 0}, twice[2] = {5, 6}, shares[6] = {0, 5, 0, 6, 0, 0};
    const int64_t places[2] = {1, 3}, shape[3] = {1, 1, 6};
    agpu_array x = ARRAY(device, "float32", values, 1, 1, 6), maxima = NULL, at = NULL, result = NULL;
    agpu_ops_pool_options options = AGPU_OPS_POOL_OPTIONS_INIT;
    options.window[1] = 3;
    DO(agpu_ops_pool_with_indices("max_pool1d", x, &options, &maxima, &at));
    agpu_array gradient = ARRAY(device, "float32", twice, 1, 1, 2);
    DO(agpu_ops_pool_indices_gradient("max_pool1d", gradient, at, 3, shape, &options, &result));
    CHECK_BYTES(result, "float32", shares);
    DO(agpu_ops_max_unpool(maxima, at, 3, shape, NULL, &result));
    CHECK_BYTES(result, "float32", back);
    CHECK_BYTES(maxima, "float32", largest);
    CHECK_BYTES(at, "int64", places);
    /* Windows that cut six pixels into four parts. */
    const float averages[4] = {5, 5.5f, 5.5f, 5};
    options = (agpu_ops_pool_options)AGPU_OPS_POOL_OPTIONS_INIT;
    options.output_size[2] = 4;
    DO(agpu_ops_pool("adaptive_avg_pool1d", x, &options, &result));
    CHECK_BYTES(result, "float32", averages);
    DO(agpu_release(x));
    DO(agpu_release(gradient));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    conv2d(device);
    last_channels(device);
    pool(device);
    older_options(device);
    by_name(device);
    indices(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
