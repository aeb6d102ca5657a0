/* Prefix sums, the best values of lines, reductions with options of their own. */
#include "arrays.h"

static void scans(agpu_device device) {
    const int32_t values[6] = {1, 2, 3, INT32_MAX, 5, -6};
    const int64_t along_rows[6] = {1, 3, 6, INT32_MAX, (int64_t)INT32_MAX + 5, (int64_t)INT32_MAX - 1};
    const int64_t along_columns[6] = {1, 2, 3, INT32_MAX, 10, -18};
    agpu_array x = ARRAY(device, "int32", values, 2, 3), result = NULL;
    DO(agpu_ops_scan("cumsum", x, -1, NULL, &result));
    CHECK_BYTES(result, "int64", along_rows);
    DO(agpu_ops_scan("cumprod", x, 0, NULL, &result));
    CHECK_BYTES(result, "int64", along_columns);
    DO(agpu_release(x));
    /* Into x itself. */
    const float powers[5] = {2, 2, 2, 2, 2}, products[5] = {2, 4, 8, 16, 32};
    agpu_ops_scan_options options = AGPU_OPS_SCAN_OPTIONS_INIT;
    options.out = x = ARRAY(device, "float32", powers, 5);
    DO(agpu_ops_scan("cumprod", x, 0, &options, &result));
    DO(agpu_release(result));
    CHECK_BYTES(x, "float32", products);
    const int16_t waves[5] = {3, 5, 4, 1, 2}, best[5] = {5, 4, 2, 2, INT16_MIN};
    options = (agpu_ops_scan_options){.size_bytes = sizeof options, .is_exclusive = 1, .is_reversed = 1};
    x = ARRAY(device, "int16", waves, 5);
    DO(agpu_ops_scan("cummax", x, 0, &options, &result));
    CHECK_BYTES(result, "int16", best);
    DO(agpu_release(x));
}

static void best_so_far(agpu_device device) {
    const float values[5] = {1, 3, 2, 3, NAN}, largest[4] = {1, 3, 3, 3};
    const int64_t last[4] = {0, 1, 1, 3}, of_all[5] = {0, 1, 1, 3, 4};
    agpu_array x = ARRAY(device, "float32", values, 4), found = NULL, indices = NULL;
    DO(agpu_ops_cumulative_best("cummax", x, -1, &found, &indices));
    CHECK_BYTES(found, "float32", largest);
    CHECK_BYTES(indices, "int64", last);
    DO(agpu_release(x));
    x = ARRAY(device, "float32", values, 5);
    DO(agpu_ops_cumulative_best("cummax", x, 0, &found, &indices));
    DO(agpu_release(found));
    CHECK_BYTES(indices, "int64", of_all);
    DO(agpu_release(x));
    const int32_t columns[4] = {4, 1, 2, 5}, least[4] = {4, 1, 2, 1};
    const int64_t rows[4] = {0, 0, 1, 0};
    x = ARRAY(device, "int32", columns, 2, 2);
    DO(agpu_ops_cumulative_best("cummin", x, 0, &found, &indices));
    CHECK_BYTES(found, "int32", least);
    CHECK_BYTES(indices, "int64", rows);
    DO(agpu_release(x));
}

static void chosen_by_a_mask(agpu_device device) {
    const int16_t values[6] = {1, 2, 3, 4, 5, 6}, chosen[3] = {2, 4, 6};
    const uint8_t truth[6] = {0, 1, 0, 1, 0, 1};
    agpu_array x = ARRAY(device, "int16", values, 2, 3), mask = ARRAY(device, "bool", truth, 2, 3), result = NULL;
    DO(agpu_ops_masked_select(x, mask, &result));
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(result, &facts));
    CHECK(facts.dimensions == 1 && facts.shape[0] == 3);
    CHECK_BYTES(result, "int16", chosen);
    DO(agpu_release(x));
    DO(agpu_release(mask));
}

static void best_values(agpu_device device) {
    const double values[8] = {3, 1, 4, 1, 5, NAN, 2, 6};
    const double best[4] = {4, 3, 6, 5}, least[2] = {1, 1};
    const int64_t places[4] = {2, 0, 3, 0}, first[2] = {1, 3};
    const double finite[8] = {3, 1, 4, 1, 5, 1, 2, 6};
    agpu_array x = ARRAY(device, "float64", finite, 2, 4), found = NULL, indices = NULL;
    DO(agpu_ops_top_k(x, 2, -1, NULL, &found, &indices));
    CHECK_BYTES(found, "float64", best);
    CHECK_BYTES(indices, "int64", places);
    DO(agpu_release(x));
    x = ARRAY(device, "float64", values, 8);
    agpu_ops_top_k_options options = AGPU_OPS_TOP_K_OPTIONS_INIT;
    options.is_smallest = 1;
    DO(agpu_ops_top_k(x, 2, 0, &options, &found, &indices));
    CHECK_BYTES(found, "float64", least);
    CHECK_BYTES(indices, "int64", first);
    /* NaN is larger than any number; the place of the indices may be NULL. */
    DO(agpu_ops_top_k(x, 1, 0, NULL, &found, NULL));
    double largest = 0;
    DO(agpu_array_read(found, &largest, sizeof largest));
    CHECK(isnan(largest));
    DO(agpu_release(found));
    DO(agpu_release(x));
}

static void reductions(agpu_device device) {
    const float values[6] = {1, 2, 3, 5, 7, 9};
    const float averages[1] = {4.5f}, deviations[2] = {1, 2};
    const double sums[2] = {6, 21};
    const int64_t axis = 1, last[2] = {2, 2};
    agpu_array x = ARRAY(device, "float32", values, 2, 3), result = NULL;
    agpu_ops_reduce_options options = AGPU_OPS_REDUCE_OPTIONS_INIT;
    options.axes = &axis;
    options.axis_count = 1;
    DO(agpu_ops_reduce("argmax", x, &options, &result));
    CHECK_BYTES(result, "int64", last);
    options.correction = 1;
    DO(agpu_ops_reduce("std", x, &options, &result));
    CHECK_BYTES(result, "float32", deviations);
    options.dtype = "float64";
    options.keeps_axes = 1;
    DO(agpu_ops_reduce("sum", x, &options, &result));
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(result, &facts));
    CHECK(facts.dimensions == 2 && facts.shape[0] == 2 && facts.shape[1] == 1);
    CHECK_BYTES(result, "float64", sums);
    /* A program that was built before there was a dtype. */
    agpu_ops_reduce_options older = AGPU_OPS_REDUCE_OPTIONS_INIT;
    older.size_bytes = offsetof(agpu_ops_reduce_options, dtype);
    older.dtype = "nothing that is read";
    DO(agpu_ops_reduce("mean", x, &older, &result));
    CHECK_BYTES(result, "float32", averages);
    DO(agpu_release(x));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    scans(device);
    best_so_far(device);
    chosen_by_a_mask(device);
    best_values(device);
    reductions(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
