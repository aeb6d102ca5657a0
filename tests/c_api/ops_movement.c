/* Rows and elements by index, lines in order, axes in another order, copies without gaps, other dtypes, memory at addresses. */
#include "arrays.h"

#include <math.h>

static void embedding(agpu_device device) {
    const float rows[6] = {1, 2, 3, 4, 5, 6}, gathered[8] = {5, 6, 1, 2, 5, 6, 3, 4};
    const int64_t wide[4] = {2, 0, 2, 1};
    const int32_t narrow[4] = {2, 0, 2, 1};
    agpu_array table = ARRAY(device, "float32", rows, 3, 2), indices = ARRAY(device, "int64", wide, 2, 2), result = NULL;
    DO(agpu_ops_embedding(indices, table, NULL, &result));
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(result, &facts));
    CHECK(facts.dimensions == 3 && facts.shape[0] == 2 && facts.shape[2] == 2);
    CHECK_BYTES(result, "float32", gathered);
    DO(agpu_release(indices));
    indices = ARRAY(device, "int32", narrow, 4);
    agpu_ops_options options = AGPU_OPS_OPTIONS_INIT;
    const float zeros[8] = {0};
    options.out = ARRAY(device, "float32", zeros, 4, 2);
    DO(agpu_ops_embedding(indices, table, &options, &result));
    DO(agpu_release(result));
    CHECK_BYTES(options.out, "float32", gathered);
    DO(agpu_release(indices));
    DO(agpu_release(table));
}

static void transpose(agpu_device device) {
    const int16_t values[6] = {1, 2, 3, 4, 5, 6}, reversed[6] = {1, 4, 2, 5, 3, 6};
    agpu_array x = ARRAY(device, "int16", values, 1, 2, 3), result = NULL;
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_ops_transpose(x, NULL, 0, NULL, &result));
    DO(agpu_array_info(result, &facts));
    CHECK(facts.shape[0] == 3 && facts.shape[1] == 2 && facts.shape[2] == 1);
    CHECK_BYTES(result, "int16", reversed);
    const int64_t axes[3] = {2, -3, 1};
    agpu_ops_options options = AGPU_OPS_OPTIONS_INIT;
    const int16_t zeros[6] = {0};
    options.out = ARRAY(device, "int16", zeros, 3, 1, 2);
    DO(agpu_ops_transpose(x, axes, 3, &options, &result));
    DO(agpu_release(result));
    CHECK_BYTES(options.out, "int16", reversed);
    DO(agpu_release(x));
}

static void contiguous(agpu_device device) {
    const double values[6] = {1, 2, 3, 4, 5, 6}, every_second[3] = {1, 3, 5};
    const int64_t shape[1] = {3}, strides[1] = {2};
    agpu_array x = ARRAY(device, "float64", values, 6), view = NULL, result = NULL;
    agpu_array_facts own = AGPU_ARRAY_FACTS_INIT, facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(x, &own));
    DO(agpu_ops_contiguous(x, NULL, &result));
    DO(agpu_array_info(result, &facts));
    CHECK(facts.address == own.address);
    DO(agpu_release(result));
    DO(agpu_array_view(x, 1, shape, strides, &view));
    DO(agpu_ops_contiguous(view, NULL, &result));
    DO(agpu_array_info(result, &facts));
    CHECK(facts.address != own.address && facts.is_contiguous == 1);
    CHECK_BYTES(result, "float64", every_second);
    agpu_ops_options options = AGPU_OPS_OPTIONS_INIT;
    const double zeros[3] = {0};
    options.out = ARRAY(device, "float64", zeros, 3);
    DO(agpu_ops_contiguous(view, &options, &result));
    DO(agpu_release(result));
    CHECK_BYTES(options.out, "float64", every_second);
    DO(agpu_release(view));
    DO(agpu_release(x));
}

static void casts(agpu_device device) {
    const float values[4] = {1.75f, -2.5f, 0, 100};
    const int32_t cut[4] = {1, -2, 0, 100};
    const uint8_t truth[4] = {1, 1, 0, 1};
    const uint16_t halves[4] = {0x3f00, 0xc100, 0, 0x5640};
    agpu_array x = ARRAY(device, "float32", values, 4), result = NULL, half = NULL;
    DO(agpu_ops_cast(x, "int32", &result));
    CHECK_BYTES(result, "int32", cut);
    DO(agpu_ops_cast(x, "bool", &result));
    CHECK_BYTES(result, "bool", truth);
    DO(agpu_ops_cast(x, "float16", &half));
    DO(agpu_ops_cast(half, "float32", &result));
    CHECK_BYTES(result, "float32", values);
    CHECK_BYTES(half, "float16", halves);
    DO(agpu_release(x));
}

/* An array without dimensions stands for a number, and operands may have gaps or be of another library. */
static void operands(agpu_device device) {
    const float values[4] = {1, 2, 3, 4}, ten = 10, sums[4] = {11, 13, 12, 14};
    const int64_t shape[2] = {2, 2}, strides[2] = {1, 2};
    agpu_array x = ARRAY(device, "float32", values, 2, 2), view = NULL, result = NULL;
    agpu_array number = array_of(device, "float32", 0, NULL, &ten);
    DO(agpu_array_view(x, 2, shape, strides, &view));
    const agpu_array inputs[2] = {view, number};
    DO(agpu_ops_elementwise("add", inputs, 2, NULL, &result));
    CHECK_BYTES(result, "float32", sums);
    /* Memory of another library. */
    void *managed = NULL;
    agpu_array borrowed = NULL;
    DO(agpu_array_to_dlpack(view, true, &managed));
    DO(agpu_array_from_dlpack(managed, true, &borrowed));
    const agpu_array both[2] = {borrowed, number};
    DO(agpu_ops_elementwise("add", both, 2, NULL, &result));
    CHECK_BYTES(result, "float32", sums);
    const agpu_handle all[] = {x, view, number, borrowed};
    for (int i = 0; i < 4; i++) DO(agpu_release(all[i]));
}

/* Elements at arrays of indices, read and written. */
static void picks(agpu_device device) {
    const float values[6] = {1, 2, 3, 4, 5, 6}, columns[4] = {3, 6, 1, 4}, one[2] = {6, 4}, more[2] = {10, 20};
    const float added[6] = {21, 2, 3, 4, 5, 16}, zero = 0, cut[6] = {0, 2, 0, 0, 5, 0};
    const int64_t last[2] = {-1, 0}, rows[2] = {1, 1}, at[2] = {2, 0}, axis[1] = {1}, axes[2] = {0, 1};
    const int64_t wrong[2] = {0, 0}, far[1] = {3};
    agpu_array x = ARRAY(device, "float32", values, 2, 3), result = NULL;
    agpu_array by_last = ARRAY(device, "int64", last, 2), by_row = ARRAY(device, "int64", rows, 2), by_column = ARRAY(device, "int64", at, 2);
    DO(agpu_ops_pick(x, axis, &by_last, 1, &result));
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(result, &facts));
    CHECK(facts.dimensions == 2 && facts.shape[0] == 2 && facts.shape[1] == 2);
    CHECK_BYTES(result, "float32", columns);
    const agpu_array both[2] = {by_row, by_column};
    DO(agpu_ops_pick(x, axes, both, 2, &result));
    CHECK_BYTES(result, "float32", one);
    CHECK(agpu_ops_pick(x, wrong, both, 2, &result) == AGPU_ERROR_INVALID_ARGUMENT);
    agpu_array beyond = ARRAY(device, "int64", far, 1);
    CHECK(agpu_ops_pick(x, axis, &beyond, 1, &result) == AGPU_ERROR_INDEX_OUT_OF_RANGE);
    const int64_t corners[2] = {1, 0}, ends[2] = {2, 0};
    agpu_array by_corner = ARRAY(device, "int64", corners, 2), by_end = ARRAY(device, "int64", ends, 2);
    const agpu_array places[2] = {by_corner, by_end};
    agpu_array addends = ARRAY(device, "float32", more, 2), number = array_of(device, "float32", 0, NULL, &zero);
    DO(agpu_ops_put(x, axes, places, 2, addends, "add"));
    DO(agpu_retain(x));
    CHECK_BYTES(x, "float32", added);
    DO(agpu_ops_put(x, axis, &by_last, 1, number, NULL));
    CHECK(agpu_ops_put(x, axis, &by_last, 1, number, "divide") == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK_BYTES(x, "float32", cut);
    const agpu_handle all[] = {by_last, by_row, by_column, beyond, by_corner, by_end, addends, number};
    for (int i = 0; i < 8; i++) DO(agpu_release(all[i]));
}

/* Lines in order and where their elements come from; what is not zero. */
static void order(agpu_device device) {
    const float values[6] = {3, 1, 2, 0, 5, 0}, ascending[6] = {1, 2, 3, 0, 0, 5};
    const int64_t places[6] = {1, 2, 0, 0, 2, 1}, found[8] = {0, 0, 0, 1, 0, 2, 1, 1}, backwards[6] = {0, 2, 1, 1, 0, 2};
    agpu_array x = ARRAY(device, "float32", values, 2, 3), sorted = NULL, from = NULL;
    DO(agpu_ops_sort(x, -1, NULL, &sorted, &from));
    CHECK_BYTES(sorted, "float32", ascending);
    CHECK_BYTES(from, "int64", places);
    agpu_ops_sort_options options = AGPU_OPS_SORT_OPTIONS_INIT;
    options.is_descending = 1;
    DO(agpu_ops_sort(x, 1, &options, NULL, &from));
    CHECK_BYTES(from, "int64", backwards);
    CHECK(agpu_ops_sort(x, 2, NULL, &sorted, NULL) != AGPU_OK);
    DO(agpu_ops_nonzero(x, &from));
    CHECK_BYTES(from, "int64", found);
    DO(agpu_release(x));
}

/* Memory of the caller and numbers, without handles. */
static void at_addresses(agpu_device device) {
    float values[4] = {1, 2, 3, 4}, made[4] = {0};
    const float expected[4] = {3, 7, 5, 9};
    int32_t cut[4] = {0};
    const int64_t shape[2] = {2, 2}, transposed[2] = {1, 2};
    agpu_operand x = {AGPU_OPERAND_MEMORY, 2, "float32", values, shape, transposed, 0, 0, 0};
    agpu_operand two = {AGPU_OPERAND_INTEGER, 0, "float32", NULL, NULL, NULL, 2, 0, 0};
    agpu_operand one = {AGPU_OPERAND_REAL, 0, "float32", NULL, NULL, NULL, 0, 1, 0};
    const agpu_operand out = {AGPU_OPERAND_MEMORY, 2, "float32", made, shape, NULL, 0, 0, 0};
    const agpu_operand whole = {AGPU_OPERAND_MEMORY, 2, "int32", cut, shape, NULL, 0, 0, 0};
    const agpu_operand inputs[4] = {x, one, two, one};
    DO(agpu_ops_elementwise_at(device, "linear_combination", inputs, 4, 0, &out));
    CHECK(memcmp(made, expected, sizeof made) == 0);
    DO(agpu_ops_elementwise_at(device, "cast", &out, 1, 0, &whole));
    CHECK(cut[0] == 3 && cut[1] == 7 && cut[3] == 9);
    CHECK(agpu_ops_elementwise_at(device, "add", inputs, 1, 0, &out) == AGPU_ERROR_ARGUMENT_COUNT);
    CHECK(agpu_ops_elementwise_at(device, "ad", inputs, 2, 0, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_elementwise_at(device, "add", inputs, 2, 0, &one) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_elementwise_at(device, "add", inputs, 2, 0, &whole) != AGPU_OK);
    CHECK(agpu_ops_elementwise_at(NULL, "add", inputs, 2, 0, &out) == AGPU_ERROR_INVALID_HANDLE);
    x.kind = 9;
    CHECK(agpu_ops_elementwise_at(device, "cast", &x, 1, 0, &out) == AGPU_ERROR_INVALID_ARGUMENT);
}

static void steps_at_addresses(agpu_device device) {
    float values[4] = {1, 2, 3, 4}, row[2] = {10, 20}, made[4] = {0};
    int32_t whole[4];
    const float expected[4] = {10.5f, 40.5f, 30.5f, 80.5f}, squared[4] = {110.25f, 1640.25f, 930.25f, 6480.25f};
    const int64_t shape[2] = {2, 2}, two[1] = {2};
    const agpu_operand x = {AGPU_OPERAND_MEMORY, 2, "float32", values, shape, NULL, 0, 0, 0};
    const agpu_operand factors = {AGPU_OPERAND_MEMORY, 1, "float32", row, two, NULL, 0, 0, 0};
    const agpu_operand number = {AGPU_OPERAND_REAL, 0, "float32", NULL, NULL, NULL, 0, 1, 0};
    const agpu_operand out = {AGPU_OPERAND_MEMORY, 2, "float32", made, shape, NULL, 0, 0, 0};
    const agpu_operand other = {AGPU_OPERAND_MEMORY, 2, "int32", whole, shape, NULL, 0, 0, 0};
    const agpu_operand inputs[2] = {x, factors}, numbers[2] = {x, number};
    const char *steps = "multiply(i0, i1) float32; add(s0, 0.5 float32) float32";
    DO(agpu_ops_fused_at(device, steps, inputs, 2, &out));
    CHECK(memcmp(made, expected, sizeof made) == 0);
    DO(agpu_ops_fused_at(device, "square(i0) float32", &out, 1, &out));
    CHECK(memcmp(made, squared, sizeof made) == 0);
    CHECK(agpu_ops_fused_at(device, steps, inputs, 1, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_fused_at(device, "squared(i0) float32", inputs, 1, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_fused_at(device, "square(i0) float32 }", inputs, 1, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_fused_at(device, steps, numbers, 2, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_fused_at(device, steps, inputs, 2, &other) == AGPU_ERROR_UNSUPPORTED_DTYPE);
    CHECK(agpu_ops_fused_at(device, steps, inputs, 2, NULL) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_fused_at(NULL, steps, inputs, 2, &out) == AGPU_ERROR_INVALID_HANDLE);
}

static void products_at_addresses(agpu_device device) {
    float values[4] = {1, 2, 3, 4}, made[4] = {0}, row[2] = {10, 20};
    const float squared[4] = {7, 10, 15, 22}, summed[4] = {15, 31, 21, 45};
    const int64_t shape[2] = {2, 2}, two[1] = {2};
    const agpu_operand x = {AGPU_OPERAND_MEMORY, 2, "float32", values, shape, NULL, 0, 0, 0};
    const agpu_operand bias = {AGPU_OPERAND_MEMORY, 1, "float32", row, two, NULL, 0, 0, 0};
    const agpu_operand number = {AGPU_OPERAND_REAL, 0, "float32", NULL, NULL, NULL, 0, 1, 0};
    const agpu_operand out = {AGPU_OPERAND_MEMORY, 2, "float32", made, shape, NULL, 0, 0, 0};
    agpu_operand small = out;
    agpu_ops_matmul_options options = AGPU_OPS_MATMUL_OPTIONS_INIT;
    DO(agpu_ops_matmul_at(device, &x, &x, NULL, NULL, &out));
    CHECK(memcmp(made, squared, sizeof made) == 0);
    options.transpose_b = 1;
    DO(agpu_ops_matmul_at(device, &x, &x, &bias, &options, &out));
    CHECK(memcmp(made, summed, sizeof made) == 0);
    CHECK(agpu_ops_matmul_at(device, &x, &number, NULL, NULL, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_matmul_at(device, &x, NULL, NULL, NULL, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    small.dimensions = 1;
    CHECK(agpu_ops_matmul_at(device, &x, &x, NULL, NULL, &small) != AGPU_OK);
    DO(agpu_array_create(device, "float32", 2, shape, NULL, &options.out));
    CHECK(agpu_ops_matmul_at(device, &x, &x, NULL, &options, &out) == AGPU_ERROR_INVALID_ARGUMENT);
    DO(agpu_release(options.out));
}

static void lists(agpu_device device) {
    float x[3] = {1, 2, 3}, slope[3] = {1, 0, -1}, other[1] = {5}, one[1] = {1}, flag[1] = {0};
    const char *dtypes[AGPU_LIST_SLOTS] = {"float32", "float32"};
    const double rate[7] = {0.5, 0, 0, 0, 0, 0, 0};
    agpu_list_item items[2] = {{3, {x, slope}, {0}}, {1, {other, one}, {0}}};
    DO(agpu_ops_list_at(device, "sgd", dtypes, items, 2, rate, 7));
    CHECK(x[0] == 0.5f && x[1] == 2 && x[2] == 3.5f && other[0] == 4.5f);
    dtypes[2] = "float32";
    /* Numbers of their own. */
    items[0] = (agpu_list_item){3, {x, x, slope}, {0.5}};
    items[1] = (agpu_list_item){1, {other, other, one}, {1}};
    DO(agpu_ops_list_at(device, "lerp", dtypes, items, 2, NULL, 0));
    CHECK(x[0] == 0.75f && x[1] == 1 && x[2] == 1.25f && other[0] == 1);
    x[1] = INFINITY;
    items[0] = (agpu_list_item){3, {x, one, flag}, {0}};
    one[0] = 4;
    DO(agpu_ops_list_at(device, "unscale", dtypes, items, 1, rate, 0));
    CHECK(x[0] == 3 && isinf(x[1]) && flag[0] == 1);
    /* The second input is a number. */
    dtypes[2] = NULL;
    items[0] = (agpu_list_item){3, {slope, x}, {0, 2}};
    DO(agpu_ops_list_at(device, "multiply", dtypes, items, 1, NULL, 0));
    CHECK(slope[0] == 6 && slope[2] == 10);
    DO(agpu_ops_list_at(device, "multiply", dtypes, NULL, 0, NULL, 0));
    CHECK(agpu_ops_list_at(device, "multiply", dtypes, items, 1, rate, 1) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_list_at(device, "multiple", dtypes, items, 1, NULL, 0) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_list_at(device, "adam", dtypes, items, 1, rate, 7) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_list_at(device, "sgd", dtypes, items, 1, NULL, 0) == AGPU_ERROR_INVALID_ARGUMENT);
    CHECK(agpu_ops_list_at(NULL, "sgd", dtypes, items, 1, rate, 7) == AGPU_ERROR_INVALID_HANDLE);
    dtypes[0] = "int32";
    CHECK(agpu_ops_list_at(device, "sgd", dtypes, items, 1, rate, 7) == AGPU_ERROR_UNSUPPORTED_DTYPE);
    items[0].memory[0] = NULL;
    CHECK(agpu_ops_list_at(device, "sgd", dtypes, items, 1, rate, 7) == AGPU_ERROR_INVALID_ARGUMENT);
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    embedding(device);
    transpose(device);
    contiguous(device);
    casts(device);
    operands(device);
    picks(device);
    order(device);
    at_addresses(device);
    steps_at_addresses(device);
    products_at_addresses(device);
    lists(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
