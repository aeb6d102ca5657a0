/* Rows by index, axes in another order, copies without gaps, other dtypes. */
#include "arrays.h"

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

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    embedding(device);
    transpose(device);
    contiguous(device);
    casts(device);
    operands(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
