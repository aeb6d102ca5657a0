/* Computes operations where no Python can run LLVM, then tries to compile a kernel there and prints the failure. */
#include "check.h"

#include <amdgpu/kernel.h>
#include <amdgpu/ops.h>

static agpu_array new_array(agpu_device device, const char *dtype, uint32_t dimensions, const int64_t *shape, const void *values, uint64_t bytes) {
    agpu_array array = NULL;
    DO(agpu_array_create(device, dtype, dimensions, shape, NULL, &array));
    DO(agpu_array_write(array, values, bytes));
    return array;
}

/* The values of a result, which is released; of this dtype and shape. */
static void take(agpu_array result, const char *dtype, uint32_t dimensions, const int64_t *shape, void *values, uint64_t bytes) {
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(result, &facts));
    CHECK(strcmp(facts.dtype, dtype) == 0 && facts.dimensions == dimensions && strcmp(facts.device, "cpu:0") == 0);
    for (uint32_t axis = 0; axis < dimensions; ++axis) CHECK(facts.shape[axis] == shape[axis]);
    DO(agpu_array_read(result, values, bytes));
    DO(agpu_release(result));
}

static void elementwise(agpu_device device) {
    static const char *const unary[] = {
        "identity", "negative", "absolute", "sign",    "square",    "reciprocal", "sqrt", "exp",   "exp2",  "expm1",
        "log",      "log2",     "log10",    "log1p",   "erf",       "sin",        "cos",  "tanh",  "relu",  "sigmoid",
        "gelu",     "silu",     "softplus", "floor",   "ceil",      "trunc",      "rint", "isnan", "isinf", "isfinite",
        "elu",      "gelu_tanh", "leaky_relu", "logical_not"};
    static const char *const binary[] = {"add",   "subtract",  "multiply", "divide",        "maximum",     "minimum",  "power",  "remainder",
                                         "fmod",  "equal",     "not_equal", "floor_divide", "logical_and", "less",     "greater", "logical_or"};
    const int64_t rows[2] = {2, 3}, row[1] = {3};
    const float x[6] = {1, 2, 3, 4, 5, 6}, y[3] = {2, 2, 4};
    agpu_array inputs[3] = {new_array(device, "float32", 2, rows, x, sizeof x), new_array(device, "float32", 1, row, y, sizeof y), NULL};
    agpu_array result = NULL;
    for (size_t index = 0; index < sizeof unary / sizeof *unary; ++index) {
        DO(agpu_ops_elementwise(unary[index], inputs, 1, NULL, &result));
        DO(agpu_release(result));
    }
    for (size_t index = 0; index < sizeof binary / sizeof *binary; ++index) {
        DO(agpu_ops_elementwise(binary[index], inputs, 2, NULL, &result));
        DO(agpu_release(result));
    }
    float read[6];
    DO(agpu_ops_elementwise("power", inputs, 2, NULL, &result));
    take(result, "float32", 2, rows, read, sizeof read);
    CHECK(read[0] == 1 && read[1] == 4 && read[5] == 1296);
    inputs[2] = inputs[1];
    DO(agpu_ops_elementwise("clip", inputs, 3, NULL, &result));
    take(result, "float32", 2, rows, read, sizeof read);
    CHECK(read[0] == 2 && read[1] == 2 && read[2] == 4);

    agpu_ops_elementwise_options options = AGPU_OPS_ELEMENTWISE_OPTIONS_INIT;
    options.out = inputs[0];
    DO(agpu_ops_elementwise("subtract", inputs, 2, &options, &result));
    take(result, "float32", 2, rows, read, sizeof read);
    CHECK(read[0] == -1 && read[5] == 2);
    agpu_array before = inputs[1];
    options.out = inputs[1];
    REFUSED(agpu_ops_elementwise("add", inputs, 2, &options, &result), AGPU_ERROR_SHAPE_MISMATCH, "out has shape [3]");
    CHECK(before == inputs[1]);
    DO(agpu_release(inputs[0]));
    DO(agpu_release(inputs[1]));
}

static void reductions(agpu_device device) {
    static const char *const names[] = {"sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin", "var", "std"};
    const int64_t shape[2] = {2, 3};
    const double values[6] = {1, 2, 3, 4, 5, 7};
    agpu_array x = new_array(device, "float64", 2, shape, values, sizeof values), result = NULL;
    const int64_t axis = 1;
    agpu_ops_reduce_options options = AGPU_OPS_REDUCE_OPTIONS_INIT;
    options.axes = &axis;
    options.axis_count = 1;
    for (size_t index = 0; index < sizeof names / sizeof *names; ++index) {
        DO(agpu_ops_reduce(names[index], x, &options, &result));
        DO(agpu_release(result));
    }
    double read[2];
    options.keeps_axes = 1;
    const int64_t kept[2] = {2, 1};
    DO(agpu_ops_reduce("mean", x, &options, &result));
    take(result, "float64", 2, kept, read, sizeof read);
    CHECK(read[0] == 2 && read[1] > 5.33 && read[1] < 5.34);
    DO(agpu_release(x));
}

static void matrix_multiplications(agpu_device device) {
    const int64_t shape[2] = {2, 2}, batch[3] = {3, 2, 2}, row[1] = {2};
    const float a[4] = {1, 2, 3, 4}, batched[12] = {1, 0, 0, 1, 2, 0, 0, 2, -1, 0, 0, -1}, added[2] = {-10, 1};
    const int8_t integers[4] = {1, 2, 3, 4};
    agpu_array x = new_array(device, "float32", 2, shape, a, sizeof a), y = new_array(device, "float32", 3, batch, batched, sizeof batched);
    agpu_array bias = new_array(device, "float32", 1, row, added, sizeof added), small = new_array(device, "int8", 2, shape, integers, 4);
    agpu_array result = NULL;
    static const char *const precisions[] = {"fp32", "tf32", "fp16", "bf16"};
    agpu_ops_matmul_options options = AGPU_OPS_MATMUL_OPTIONS_INIT;
    float read[12];
    for (size_t index = 0; index < sizeof precisions / sizeof *precisions; ++index) {
        options.precision = precisions[index];
        DO(agpu_ops_matmul(x, x, &options, &result));
        take(result, "float32", 2, shape, read, 4 * sizeof *read);
        CHECK(read[0] == 7 && read[1] == 10 && read[2] == 15 && read[3] == 22);
    }
    double wide[4];
    options.precision = "fp64";
    DO(agpu_ops_matmul(x, small, &options, &result));
    take(result, "float64", 2, shape, wide, sizeof wide);
    CHECK(wide[0] == 7 && wide[3] == 22);
    int32_t sums[4];
    options.precision = "int8";
    DO(agpu_ops_matmul(small, small, &options, &result));
    take(result, "int32", 2, shape, sums, sizeof sums);
    CHECK(sums[0] == 7 && sums[3] == 22);
    REFUSED(agpu_ops_matmul(x, small, &options, &result), AGPU_ERROR_UNSUPPORTED_DTYPE, "quantise");

    options.precision = NULL;
    options.bias = bias;
    options.activation = "relu";
    DO(agpu_ops_matmul(x, y, &options, &result));
    take(result, "float32", 3, batch, read, sizeof read);
    CHECK(read[0] == 0 && read[1] == 3 && read[5] == 5 && read[9] == 0);
    options.activation = NULL;
    options.residual = x;
    options.transpose_b = 1;
    options.out = y;
    options.has_factors = 1;
    options.alpha = 2;
    options.beta = 0;
    REFUSED(agpu_ops_matmul(x, x, &options, &result), AGPU_ERROR_SHAPE_MISMATCH, "out has shape [3, 2, 2], the product [2, 2]");
    options.out = NULL;
    DO(agpu_ops_matmul(x, x, &options, &result));
    take(result, "float32", 2, shape, read, 4 * sizeof *read);
    CHECK(read[0] == 1 && read[1] == 25 && read[3] == 55);
    DO(agpu_release(x));
    DO(agpu_release(y));
    DO(agpu_release(bias));
    DO(agpu_release(small));
}

int main(void) {
    agpu_device device = NULL;
    agpu_kernel kernel = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    elementwise(device);
    reductions(device);
    matrix_multiplications(device);
    CHECK(agpu_kernel_compile(device, "__global__ void f(int *x) { x[0] = 1; }", NULL, &kernel) == AGPU_ERROR_CODE_GENERATOR_MISSING);
    agpu_error_info error = AGPU_ERROR_INFO_INIT;
    DO(agpu_last_error(&error));
    printf("%s: %s\n", error.name, error.message);
    DO(agpu_release(device));
    check_no_handles();
    return 0;
}
