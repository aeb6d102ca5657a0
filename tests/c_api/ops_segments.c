/* Segmented reductions, values added and reduced by index, gradients of embeddings. */
#include "arrays.h"

static void segments(agpu_device device) {
    const float values[6] = {1, 2, 3, 4, 5, 6}, sums[6] = {3, 4, 0, 0, 6, 8}, means[4] = {2, 3, 5, 6};
    const int32_t ids[3] = {2, 0, 2};
    const int64_t offsets[3] = {0, 2, 3};
    agpu_array x = ARRAY(device, "float32", values, 3, 2), rows = ARRAY(device, "int32", ids, 3), result = NULL;
    agpu_ops_segment_options options = AGPU_OPS_SEGMENT_OPTIONS_INIT;
    options.count = 3;
    DO(agpu_ops_segment_reduce("sum", x, rows, &options, &result));
    CHECK_BYTES(result, "float32", sums);
    DO(agpu_release(rows));
    rows = ARRAY(device, "int64", offsets, 3);
    options.has_offsets = 1;
    DO(agpu_ops_segment_reduce("mean", x, rows, &options, &result));
    CHECK_BYTES(result, "float32", means);
    DO(agpu_release(rows));
    DO(agpu_release(x));
}

static void by_index(agpu_device device) {
    const int32_t values[4] = {1, 2, 3, 4}, added[6] = {10, 20, 30, 40, 50, 60}, sums[4] = {61, 82, 33, 44};
    const int64_t rows[3] = {0, -1, 0}, columns[4] = {1, 1, 0, 1};
    agpu_array x = ARRAY(device, "int32", values, 2, 2), indices = ARRAY(device, "int64", rows, 3);
    agpu_array source = ARRAY(device, "int32", added, 3, 2), result = NULL;
    DO(agpu_ops_index_add(x, 0, indices, source, &result));
    CHECK_BYTES(result, "int32", sums);
    DO(agpu_release(source));
    DO(agpu_release(indices));
    indices = ARRAY(device, "int64", columns, 2, 2);
    source = ARRAY(device, "int32", added, 2, 2);
    agpu_ops_scatter_reduce_options options = AGPU_OPS_SCATTER_REDUCE_OPTIONS_INIT;
    options.excludes_self = 1;
    DO(agpu_ops_scatter_reduce("amax", x, 1, indices, source, &options, &result));
    const int32_t best[4] = {1, 20, 30, 40};
    CHECK_BYTES(result, "int32", best);
    DO(agpu_ops_scatter_reduce("sum", x, 1, indices, source, NULL, &result));
    const int32_t all[4] = {1, 32, 33, 44};
    CHECK_BYTES(result, "int32", all);
    DO(agpu_release(source));
    DO(agpu_release(indices));
    DO(agpu_release(x));
}

static void embedding_gradient(agpu_device device) {
    const double gradients[4] = {1, 2, 4, 8}, sums[4] = {0, 5, 0, 8}, means[4] = {2, 2.5, 0, 0};
    const int64_t looked_up[4] = {1, 0, 1, 3};
    agpu_array gradient = ARRAY(device, "float64", gradients, 4), indices = ARRAY(device, "int64", looked_up, 4), result = NULL;
    agpu_ops_embedding_gradient_options options = AGPU_OPS_EMBEDDING_GRADIENT_OPTIONS_INIT;
    options.has_padding_index = 1;
    DO(agpu_ops_embedding_gradient(gradient, indices, 4, &options, &result));
    CHECK_BYTES(result, "float64", sums);
    options.padding_index = -1;
    options.scales_by_frequency = 1;
    DO(agpu_ops_embedding_gradient(gradient, indices, 4, &options, &result));
    CHECK_BYTES(result, "float64", means);
    DO(agpu_release(indices));
    DO(agpu_release(gradient));
}

/* The CPU refuses bad indices at once, whenever GPUs would. */
static void index_checks(agpu_device device) {
    const float values[4] = {1, 2, 3, 4};
    const int64_t rows[2] = {1, 7};
    agpu_array table = ARRAY(device, "float32", values, 2, 2), indices = ARRAY(device, "int64", rows, 2), result = NULL;
    bool before = true;
    DO(agpu_ops_defer_index_checks(true, &before));
    CHECK(!before);
    REFUSED(agpu_ops_embedding(indices, table, NULL, &result), AGPU_ERROR_INVALID_ARGUMENT, "index 7 at place 1");
    DO(agpu_ops_check_indices(device));
    DO(agpu_ops_defer_index_checks(false, &before));
    CHECK(before);
    DO(agpu_ops_defer_index_checks(false, NULL));
    REFUSED(agpu_ops_check_indices(NULL), AGPU_ERROR_INVALID_HANDLE, "device is NULL");
    DO(agpu_release(indices));
    DO(agpu_release(table));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    segments(device);
    by_index(device);
    embedding_gradient(device);
    index_checks(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
