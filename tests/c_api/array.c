/* Every function of amdgpu/array.h and amdgpu/ops.h. */
#include "check.h"

#include <amdgpu/ops.h>

static agpu_array new_array(agpu_device device, int64_t rows, int64_t columns, const float *values) {
    const int64_t shape[2] = {rows, columns};
    agpu_array array = NULL;
    DO(agpu_array_create(device, "float32", 2, shape, NULL, &array));
    DO(agpu_array_write(array, values, (uint64_t)(rows * columns) * sizeof(float)));
    return array;
}

static void creation_and_copies(agpu_device device) {
    const int64_t shape[2] = {2, 3}, negative[1] = {-1}, huge[3] = {INT64_MAX, INT64_MAX, 2};
    agpu_array_options options = AGPU_ARRAY_OPTIONS_INIT;
    options.kind = AGPU_MEMORY_PINNED;
    agpu_array array = NULL, other = NULL, scalar = NULL;
    DO(agpu_array_create(device, "int16", 2, shape, &options, &array));
    DO(agpu_array_create(device, "int16", 2, shape, NULL, &other));
    DO(agpu_array_create(device, "float64", 0, NULL, NULL, &scalar));
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(array, &facts));
    CHECK(strcmp(facts.device, "cpu:0") == 0 && strcmp(facts.dtype, "int16") == 0 && facts.address != NULL);
    CHECK(facts.elements == 6 && facts.item_bytes == 2 && facts.dimensions == 2 && facts.shape[1] == 3 && facts.strides[0] == 3);
    CHECK(facts.is_contiguous == 1 && facts.is_read_only == 0);
    const int16_t seven = 7, written[6] = {1, 2, 3, 4, 5, 6};
    int16_t read[6];
    DO(agpu_array_fill(array, &seven, sizeof seven));
    DO(agpu_array_write(other, written, sizeof written));
    DO(agpu_array_read(array, read, sizeof read));
    CHECK(read[0] == 7 && read[5] == 7);
    DO(agpu_array_copy(array, other));
    DO(agpu_array_synchronize(array));
    DO(agpu_array_read(array, read, sizeof read));
    CHECK(memcmp(read, written, sizeof read) == 0);
    REFUSED(agpu_array_copy(array, scalar), AGPU_ERROR_SHAPE_MISMATCH, "differ");
    REFUSED(agpu_array_read(array, read, 5), AGPU_ERROR_SHAPE_MISMATCH, "the array has 12");
    REFUSED(agpu_array_fill(array, &seven, 1), AGPU_ERROR_SHAPE_MISMATCH, "an element has 2");
    agpu_array none = NULL;
    REFUSED(agpu_array_create(device, "int7", 2, shape, NULL, &none), AGPU_ERROR_UNSUPPORTED_DTYPE, "int7");
    REFUSED(agpu_array_create(device, "int8", 1, negative, NULL, &none), AGPU_ERROR_INVALID_ARGUMENT, "negative");
    REFUSED(agpu_array_create(device, "int8", 3, huge, NULL, &none), AGPU_ERROR_OUT_OF_MEMORY, "");
    REFUSED(agpu_array_create(device, "int8", 17, shape, NULL, &none), AGPU_ERROR_INVALID_ARGUMENT, "at most 16");
    CHECK(none == NULL);
    DO(agpu_release(array));
    DO(agpu_release(other));
    DO(agpu_release(scalar));
}

static void views(agpu_device device) {
    const float values[6] = {1, 2, 3, 4, 5, 6};
    agpu_array array = new_array(device, 2, 3, values), view = NULL, transposed = NULL;
    const int64_t flat[1] = {-1}, wrong[1] = {4}, shape[2] = {3, 2}, strides[2] = {1, 3}, far[2] = {2, 3};
    DO(agpu_array_reshape(array, 1, flat, &view));
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(view, &facts));
    CHECK(facts.dimensions == 1 && facts.shape[0] == 6);
    DO(agpu_array_view(array, 2, shape, strides, &transposed));
    DO(agpu_release(array)); /* the views keep the memory */
    DO(agpu_array_info(transposed, &facts));
    CHECK(facts.is_contiguous == 0);
    float read[6];
    DO(agpu_array_read(view, read, sizeof read));
    CHECK(memcmp(read, values, sizeof read) == 0);
    REFUSED(agpu_array_read(transposed, read, sizeof read), AGPU_ERROR_NOT_CONTIGUOUS, "");
    /* Views with gaps are filled and copied element by element. */
    const float nine = 9;
    agpu_array column = NULL, other = new_array(device, 3, 2, values);
    DO(agpu_array_view(view, 1, (int64_t[]){2}, (int64_t[]){3}, &column));
    DO(agpu_array_fill(column, &nine, sizeof nine));
    DO(agpu_array_read(view, read, sizeof read));
    CHECK(read[0] == 9 && read[1] == 2 && read[2] == 3 && read[3] == 9 && read[4] == 5 && read[5] == 6);
    DO(agpu_array_copy(transposed, other));
    DO(agpu_array_read(view, read, sizeof read));
    CHECK(read[0] == 1 && read[1] == 3 && read[2] == 5 && read[3] == 2 && read[4] == 4 && read[5] == 6);
    DO(agpu_array_copy(other, transposed));
    DO(agpu_array_read(other, read, sizeof read));
    CHECK(memcmp(read, values, sizeof read) == 0);
    DO(agpu_release(column));
    DO(agpu_release(other));
    agpu_array none = NULL;
    REFUSED(agpu_array_view(view, 2, shape, far, &none), AGPU_ERROR_INVALID_ARGUMENT, "beyond the array");
    REFUSED(agpu_array_reshape(view, 1, wrong, &none), AGPU_ERROR_SHAPE_MISMATCH, "");

    for (int is_versioned = 0; is_versioned < 2; is_versioned++) {
        void *managed = NULL;
        agpu_array back = NULL;
        DO(agpu_array_to_dlpack(transposed, is_versioned, &managed));
        DO(agpu_array_from_dlpack(managed, is_versioned, &back));
        agpu_array_facts own = AGPU_ARRAY_FACTS_INIT;
        DO(agpu_array_info(back, &own));
        CHECK(own.address == facts.address && own.shape[0] == 3 && own.strides[1] == 3);
        DO(agpu_release(back));
    }
    REFUSED(agpu_array_from_dlpack(NULL, true, &none), AGPU_ERROR_INVALID_ARGUMENT, "managed is NULL");
    DO(agpu_release(view));
    DO(agpu_release(transposed));
}

static void operations(agpu_device device) {
    const float values[6] = {1, 2, 3, 4, 5, 6}, ones[3] = {1, 1, 1};
    agpu_array x = new_array(device, 2, 3, values), y = new_array(device, 1, 3, ones), result = NULL, same = NULL;
    float read[6];
    agpu_array inputs[2] = {x, y};
    DO(agpu_ops_elementwise("add", inputs, 2, NULL, &result));
    DO(agpu_array_read(result, read, sizeof read));
    CHECK(read[0] == 2 && read[5] == 7);
    agpu_ops_elementwise_options options = AGPU_OPS_ELEMENTWISE_OPTIONS_INIT;
    options.out = result;
    DO(agpu_ops_elementwise("multiply", inputs, 2, &options, &same));
    DO(agpu_array_read(result, read, sizeof read));
    CHECK(read[0] == 1 && read[5] == 6);
    DO(agpu_release(same));
    DO(agpu_release(result));

    const int64_t axis = -1;
    agpu_ops_reduce_options reduce = AGPU_OPS_REDUCE_OPTIONS_INIT;
    reduce.axes = &axis;
    reduce.axis_count = 1;
    DO(agpu_ops_reduce("sum", x, &reduce, &result));
    DO(agpu_array_read(result, read, 2 * sizeof(float)));
    CHECK(read[0] == 6 && read[1] == 15);
    DO(agpu_release(result));

    agpu_ops_matmul_options matmul = AGPU_OPS_MATMUL_OPTIONS_INIT;
    matmul.transpose_b = 1;
    matmul.activation = "relu";
    DO(agpu_ops_matmul(x, y, &matmul, &result));
    DO(agpu_array_read(result, read, 2 * sizeof(float)));
    CHECK(read[0] == 6 && read[1] == 15);
    DO(agpu_release(result));

    result = NULL;
    REFUSED(agpu_ops_matmul(x, y, NULL, &result), AGPU_ERROR_SHAPE_MISMATCH, "");
    REFUSED(agpu_ops_elementwise("add", inputs, 1, NULL, &result), AGPU_ERROR_ARGUMENT_COUNT, "add takes 2 arrays");
    REFUSED(agpu_ops_elementwise("frobnicate", inputs, 1, NULL, &result), AGPU_ERROR_INVALID_ARGUMENT, "known are identity, ");
    REFUSED(agpu_ops_reduce("sum", NULL, NULL, &result), AGPU_ERROR_INVALID_HANDLE, "x is NULL");
    CHECK(result == NULL);
    DO(agpu_release(x));
    DO(agpu_release(y));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    creation_and_copies(device);
    views(device);
    operations(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
