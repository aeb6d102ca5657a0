/* Softmax, norms, batch normalisation and their gradients, against formulas in double. */
#include "arrays.h"

#define ROWS 3
#define COLUMNS 5
#define COUNT (ROWS * COLUMNS)

/* Of rows of a matrix: values, and what a norm makes of them. */
struct rows {
    float x[COUNT], gradient[COUNT], scale[COLUMNS], shift[COLUMNS];
    double normalised[COUNT], inverse[ROWS];
};

static struct rows rows_of(bool is_centred, double epsilon) {
    struct rows rows;
    fill_values(rows.x, COUNT, 1);
    fill_values(rows.gradient, COUNT, 50);
    fill_values(rows.scale, COLUMNS, 7);
    fill_values(rows.shift, COLUMNS, 3);
    for (int i = 0; i < ROWS; i++) {
        double mean = 0, squares = 0;
        for (int j = 0; j < COLUMNS && is_centred; j++) mean += rows.x[i * COLUMNS + j] / (double)COLUMNS;
        for (int j = 0; j < COLUMNS; j++) squares += pow(rows.x[i * COLUMNS + j] - mean, 2);
        rows.inverse[i] = 1 / sqrt(squares / COLUMNS + epsilon);
        for (int j = 0; j < COLUMNS; j++) rows.normalised[i * COLUMNS + j] = (rows.x[i * COLUMNS + j] - mean) * rows.inverse[i];
    }
    return rows;
}

static void softmax(agpu_device device) {
    float values[COUNT], gradient[COUNT];
    double wanted[COUNT], logarithms[COUNT], by_x[COUNT];
    fill_values(values, COUNT, 0);
    fill_values(gradient, COUNT, 9);
    for (int j = 0; j < COLUMNS; j++) {
        double sum = 0, dot = 0;
        for (int i = 0; i < ROWS; i++) sum += exp(values[i * COLUMNS + j]);
        for (int i = 0; i < ROWS; i++) {
            const int at = i * COLUMNS + j;
            wanted[at] = exp(values[at]) / sum;
            logarithms[at] = values[at] - log(sum);
            dot += wanted[at] * gradient[at];
        }
        for (int i = 0; i < ROWS; i++) by_x[i * COLUMNS + j] = wanted[i * COLUMNS + j] * (gradient[i * COLUMNS + j] - dot);
    }
    agpu_array x = ARRAY(device, "float32", values, ROWS, COLUMNS), g = ARRAY(device, "float32", gradient, ROWS, COLUMNS);
    const int64_t axis = 0;
    agpu_ops_normalize_options options = AGPU_OPS_NORMALIZE_OPTIONS_INIT;
    options.axes = &axis;
    options.axis_count = 1;
    agpu_array y = NULL, result = NULL;
    DO(agpu_ops_normalize("softmax", x, &options, &y));
    DO(agpu_ops_normalize_gradient("softmax", y, g, &options, &result, NULL, NULL));
    CHECK_NEAR(result, by_x, COUNT);
    CHECK_NEAR(y, wanted, COUNT);
    options.out = x;
    DO(agpu_ops_normalize("log_softmax", x, &options, &result));
    DO(agpu_release(result));
    CHECK_NEAR(x, logarithms, COUNT);
    DO(agpu_release(g));
    /* A row of equal values, over the last axis without options. */
    const float equal[4] = {3, 3, 3, 3};
    const float quarters[4] = {0.25f, 0.25f, 0.25f, 0.25f};
    x = ARRAY(device, "float32", equal, 4);
    DO(agpu_ops_normalize("softmax", x, NULL, &y));
    CHECK_BYTES(y, "float32", quarters);
    DO(agpu_release(x));
}

/* The result and the gradients by x, scale and shift. */
static void layer_norm_of(const struct rows *rows, double *wanted, double *by_x, double *by_scale, double *by_shift) {
    for (int i = 0; i < ROWS; i++) {
        double level = 0, slope = 0;
        for (int j = 0; j < COLUMNS; j++) {
            const int at = i * COLUMNS + j;
            wanted[at] = rows->normalised[at] * rows->scale[j] + rows->shift[j];
            level += (double)rows->gradient[at] * rows->scale[j] / COLUMNS;
            slope += (double)rows->gradient[at] * rows->scale[j] * rows->normalised[at] / COLUMNS;
            by_scale[j] += rows->gradient[at] * rows->normalised[at];
            by_shift[j] += rows->gradient[at];
        }
        for (int j = 0; j < COLUMNS; j++) {
            const int at = i * COLUMNS + j;
            by_x[at] = rows->inverse[i] * ((double)rows->gradient[at] * rows->scale[j] - level - rows->normalised[at] * slope);
        }
    }
}

static void layer_norm(agpu_device device) {
    struct rows rows = rows_of(true, 1e-5);
    double wanted[COUNT], shifted[COUNT], by_x[COUNT], by_scale[COLUMNS] = {0}, by_shift[COLUMNS] = {0};
    layer_norm_of(&rows, wanted, by_x, by_scale, by_shift);
    for (int at = 0; at < COUNT; at++) shifted[at] = rows.normalised[at] + rows.shift[at % COLUMNS];
    agpu_array x = ARRAY(device, "float32", rows.x, ROWS, COLUMNS), g = ARRAY(device, "float32", rows.gradient, ROWS, COLUMNS);
    agpu_ops_normalize_options options = AGPU_OPS_NORMALIZE_OPTIONS_INIT;
    options.scale = ARRAY(device, "float32", rows.scale, COLUMNS);
    agpu_array shift = ARRAY(device, "float32", rows.shift, COLUMNS), result = NULL, scales = NULL, shifts = NULL;
    options.shift = shift;
    DO(agpu_ops_normalize("layer_norm", x, &options, &result));
    CHECK_NEAR(result, wanted, COUNT);
    options.shift = NULL;
    DO(agpu_ops_normalize_gradient("layer_norm", x, g, &options, &result, &scales, &shifts));
    CHECK_NEAR(result, by_x, COUNT);
    CHECK_NEAR(scales, by_scale, COLUMNS);
    CHECK_NEAR(shifts, by_shift, COLUMNS);
    DO(agpu_release(options.scale));
    options.scale = NULL;
    options.shift = shift;
    DO(agpu_ops_normalize("layer_norm", x, &options, &result));
    CHECK_NEAR(result, shifted, COUNT);
    const agpu_handle all[] = {x, g, shift};
    for (int i = 0; i < 3; i++) DO(agpu_release(all[i]));
}

static void check_values(const float *found, const double *wanted, int count) {
    for (int i = 0; i < count; i++) CHECK(fabs(found[i] - wanted[i]) <= 1e-6 + 1e-5 * fabs(wanted[i]));
}

static agpu_operand memory_of(float *values, uint32_t rank, const int64_t *shape) {
    const agpu_operand made = {AGPU_OPERAND_MEMORY, rank, "float32", values, shape, NULL, 0, 0, 0};
    return made;
}

static void layer_norm_training(agpu_device device) {
    struct rows rows = rows_of(true, 1e-5);
    double wanted[COUNT], by_x[COUNT], by_scale[COLUMNS] = {0}, by_shift[COLUMNS] = {0};
    layer_norm_of(&rows, wanted, by_x, by_scale, by_shift);
    const int64_t shape[2] = {ROWS, COLUMNS}, *row = shape + 1;
    float made[COUNT], means[ROWS], inverses[ROWS], slopes[COUNT], scales[COLUMNS], shifts[COLUMNS];
    const agpu_operand x = memory_of(rows.x, 2, shape), g = memory_of(rows.gradient, 2, shape), scale = memory_of(rows.scale, 1, row),
                       shift = memory_of(rows.shift, 1, row), result = memory_of(made, 2, shape), mean = memory_of(means, 1, shape),
                       inverse = memory_of(inverses, 1, shape), by = memory_of(slopes, 2, shape), scale_out = memory_of(scales, 1, row),
                       shift_out = memory_of(shifts, 1, row);
    DO(agpu_ops_layer_norm_training_at(device, &x, &scale, &shift, 1, 1e-5, &result, &mean, &inverse));
    check_values(made, wanted, COUNT);
    check_values(inverses, rows.inverse, ROWS);
    DO(agpu_ops_layer_norm_training_gradient_at(device, &x, &g, &mean, &inverse, &scale, 1, &by, &scale_out, &shift_out));
    check_values(slopes, by_x, COUNT);
    check_values(scales, by_scale, COLUMNS);
    check_values(shifts, by_shift, COLUMNS);
    // The same of memory that is read column by column, and without a scale.
    float turned[COUNT], other[COUNT], other_means[ROWS], other_inverses[ROWS];
    for (int i = 0; i < COUNT; i++) turned[i % COLUMNS * ROWS + i / COLUMNS] = rows.x[i];
    const int64_t strides[2] = {1, ROWS};
    agpu_operand columns = memory_of(turned, 2, shape);
    columns.strides = strides;
    const agpu_operand other_result = memory_of(other, 2, shape), other_mean = memory_of(other_means, 1, shape),
                       other_inverse = memory_of(other_inverses, 1, shape);
    DO(agpu_ops_layer_norm_training_at(device, &columns, &scale, &shift, 1, 1e-5, &other_result, &other_mean, &other_inverse));
    CHECK(memcmp(other, made, sizeof other) == 0 && memcmp(other_means, means, sizeof means) == 0);
    CHECK(memcmp(other_inverses, inverses, sizeof inverses) == 0);
    DO(agpu_ops_layer_norm_training_at(device, &x, NULL, &shift, 1, 1e-5, &other_result, &other_mean, &other_inverse));
    CHECK(memcmp(other_means, means, sizeof means) == 0);
    for (int i = 0; i < COUNT; i++) {
        const float even = (rows.x[i] - means[i / COLUMNS]) * inverses[i / COLUMNS];
        CHECK(fabs(other[i] - (even + rows.shift[i % COLUMNS])) <= 1e-5);
    }
    CHECK(agpu_ops_layer_norm_training_at(device, &x, &scale, NULL, 1, -1, &result, &mean, &inverse) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_layer_norm_training_at(device, &x, &scale, NULL, 3, 0, &result, &mean, &inverse) == AGPU_ERROR_SHAPE_MISMATCH);
    CHECK(agpu_ops_layer_norm_training_at(device, &x, &scale, NULL, 1, 0, &mean, &mean, &inverse) == AGPU_ERROR_SHAPE_MISMATCH);
    CHECK(agpu_ops_layer_norm_training_at(device, &x, NULL, NULL, 1, 0, NULL, &mean, &inverse) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_layer_norm_training_gradient_at(device, &x, &mean, &mean, &inverse, NULL, 1, &by, NULL, NULL) == AGPU_ERROR_SHAPE_MISMATCH);
    CHECK(agpu_ops_layer_norm_training_gradient_at(NULL, &x, &g, &mean, &inverse, NULL, 1, &by, NULL, NULL) == AGPU_ERROR_INVALID_HANDLE);
}

static void rms_norm(agpu_device device) {
    struct rows rows = rows_of(false, 0.5);
    double wanted[COUNT], by_x[COUNT], by_scale[COLUMNS] = {0};
    for (int i = 0; i < ROWS; i++) {
        double slope = 0;
        for (int j = 0; j < COLUMNS; j++) {
            const int at = i * COLUMNS + j;
            wanted[at] = rows.normalised[at] * rows.scale[j];
            slope += (double)rows.gradient[at] * rows.scale[j] * rows.normalised[at] / COLUMNS;
            by_scale[j] += rows.gradient[at] * rows.normalised[at];
        }
        for (int j = 0; j < COLUMNS; j++) {
            const int at = i * COLUMNS + j;
            by_x[at] = rows.inverse[i] * ((double)rows.gradient[at] * rows.scale[j] - rows.normalised[at] * slope);
        }
    }
    agpu_array x = ARRAY(device, "float32", rows.x, ROWS, COLUMNS), g = ARRAY(device, "float32", rows.gradient, ROWS, COLUMNS);
    agpu_array result = NULL, scales = NULL;
    agpu_ops_normalize_options options = AGPU_OPS_NORMALIZE_OPTIONS_INIT;
    options.scale = ARRAY(device, "float32", rows.scale, COLUMNS);
    options.epsilon = 0.5;
    options.has_epsilon = 1;
    DO(agpu_ops_normalize("rms_norm", x, &options, &result));
    CHECK_NEAR(result, wanted, COUNT);
    DO(agpu_ops_normalize_gradient("rms_norm", x, g, &options, &result, &scales, NULL));
    CHECK_NEAR(result, by_x, COUNT);
    CHECK_NEAR(scales, by_scale, COLUMNS);
    const agpu_handle all[] = {x, g, options.scale};
    for (int i = 0; i < 3; i++) DO(agpu_release(all[i]));
}

#define BATCH 2
#define CHANNELS 3
#define PIXELS 4
#define IMAGES (BATCH * CHANNELS * PIXELS)

/* Value `i` of channel `c`. */
static int place(int c, int i) {
    return (i / PIXELS * CHANNELS + c) * PIXELS + i % PIXELS;
}

/* What a training step keeps: the result and the gradients in given memory, saved and running statistics. */
static void kept(agpu_device device, agpu_array x, agpu_array g, agpu_ops_batch_norm_options options, const double *wanted, const double *by_x,
                 const double *mean, const double *variance, const double *by_weight, const double *by_bias) {
    const int count = BATCH * PIXELS;
    float ones[CHANNELS];
    const float nothing[IMAGES] = {0};
    double scale[CHANNELS], running_mean[CHANNELS], running_variance[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) {
        ones[c] = 1;
        scale[c] = 1 / sqrt(variance[c] + 1e-5);
        running_mean[c] = 0.75 + 0.25 * mean[c];
        running_variance[c] = 0.75 + 0.25 * variance[c] * count / (count - 1);
    }
    agpu_array result = NULL, of_weight = NULL, of_bias = NULL;
    options.out = ARRAY(device, "float32", nothing, BATCH, CHANNELS, 2, 2);
    options.saved_mean = ARRAY(device, "float32", ones, CHANNELS);
    options.saved_scale = ARRAY(device, "float32", ones, CHANNELS);
    options.running_mean = ARRAY(device, "float32", ones, CHANNELS);
    options.running_variance = ARRAY(device, "float32", ones, CHANNELS);
    options.momentum = 0.25;
    DO(agpu_ops_batch_norm_training(x, 1, &options, &result, NULL, NULL));
    DO(agpu_release(result));
    CHECK_NEAR(options.out, wanted, IMAGES);
    CHECK_NEAR(options.running_mean, running_mean, CHANNELS);
    CHECK_NEAR(options.running_variance, running_variance, CHANNELS);
    options.running_mean = options.running_variance = options.bias = NULL;
    options.out = ARRAY(device, "float32", nothing, BATCH, CHANNELS, 2, 2);
    options.out_by_weight = ARRAY(device, "float32", ones, CHANNELS);
    options.out_by_bias = ARRAY(device, "float32", ones, CHANNELS);
    DO(agpu_ops_batch_norm_gradient(x, g, 1, &options, &result, &of_weight, &of_bias));
    const agpu_handle made[] = {result, of_weight, of_bias};
    for (int i = 0; i < 3; i++) DO(agpu_release(made[i]));
    CHECK_NEAR(options.out, by_x, IMAGES);
    CHECK_NEAR(options.out_by_weight, by_weight, CHANNELS);
    CHECK_NEAR(options.out_by_bias, by_bias, CHANNELS);
    CHECK_NEAR(options.saved_mean, mean, CHANNELS);
    CHECK_NEAR(options.saved_scale, scale, CHANNELS);
}

static void batch_norm(agpu_device device) {
    const int count = BATCH * PIXELS;
    float values[IMAGES], gradient[IMAGES], weight[CHANNELS], bias[CHANNELS];
    double wanted[IMAGES], by_x[IMAGES], mean[CHANNELS] = {0}, variance[CHANNELS] = {0}, by_weight[CHANNELS] = {0}, by_bias[CHANNELS] = {0};
    fill_values(values, IMAGES, 2);
    fill_values(gradient, IMAGES, 30);
    fill_values(weight, CHANNELS, 11);
    fill_values(bias, CHANNELS, 19);
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = 0; i < count; i++) mean[c] += values[place(c, i)] / (double)count;
        for (int i = 0; i < count; i++) variance[c] += pow(values[place(c, i)] - mean[c], 2) / count;
        const double inverse = 1 / sqrt(variance[c] + 1e-5);
        for (int i = 0; i < count; i++) {
            const double normalised = (values[place(c, i)] - mean[c]) * inverse;
            wanted[place(c, i)] = normalised * weight[c] + bias[c];
            by_weight[c] += gradient[place(c, i)] * normalised;
            by_bias[c] += gradient[place(c, i)];
        }
        for (int i = 0; i < count; i++) {
            const double normalised = (values[place(c, i)] - mean[c]) * inverse;
            by_x[place(c, i)] = weight[c] * inverse * (gradient[place(c, i)] - by_bias[c] / count - normalised * by_weight[c] / count);
        }
    }
    agpu_array x = ARRAY(device, "float32", values, BATCH, CHANNELS, 2, 2), g = ARRAY(device, "float32", gradient, BATCH, CHANNELS, 2, 2);
    agpu_ops_batch_norm_options options = AGPU_OPS_BATCH_NORM_OPTIONS_INIT;
    options.weight = ARRAY(device, "float32", weight, CHANNELS);
    options.bias = ARRAY(device, "float32", bias, CHANNELS);
    agpu_array result = NULL, means = NULL, variances = NULL;
    DO(agpu_ops_batch_norm_training(x, 1, &options, &result, &means, &variances));
    CHECK_NEAR(result, wanted, IMAGES);
    DO(agpu_ops_batch_norm(x, means, variances, -3, &options, &result));
    CHECK_NEAR(result, wanted, IMAGES);
    CHECK_NEAR(means, mean, CHANNELS);
    CHECK_NEAR(variances, variance, CHANNELS);
    kept(device, x, g, options, wanted, by_x, mean, variance, by_weight, by_bias);
    agpu_array weights = NULL, biases = NULL;
    DO(agpu_release(options.bias));
    options.bias = NULL;
    DO(agpu_ops_batch_norm_gradient(x, g, 1, &options, &result, &weights, &biases));
    CHECK_NEAR(result, by_x, IMAGES);
    CHECK_NEAR(weights, by_weight, CHANNELS);
    CHECK_NEAR(biases, by_bias, CHANNELS);
    /* Half precision: statistics are float32, the result is float16. */
    const uint16_t half[4] = {0x3c00, 0x4000, 0x4200, 0x4400}, halves[4] = {0xbc00, 0xbc00, 0x3c00, 0x3c00}; /* 1 2 3 4; -1 -1 1 1 */
    const float two[2] = {2, 3};
    agpu_array small = ARRAY(device, "float16", half, 2, 2);
    DO(agpu_release(options.weight));
    options.weight = NULL;
    options.has_epsilon = 1;
    DO(agpu_ops_batch_norm_training(small, 1, &options, &result, &means, NULL));
    CHECK_BYTES(result, "float16", halves);
    CHECK_BYTES(means, "float32", two);
    const agpu_handle all[] = {x, g, small};
    for (int i = 0; i < 3; i++) DO(agpu_release(all[i]));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    softmax(device);
    layer_norm(device);
    layer_norm_training(device);
    rms_norm(device);
    batch_norm(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
