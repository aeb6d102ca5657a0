/* Memory of the host that was allocated for a GPU is memory of the CPU device as well; memory of the GPU is not. */
#include "check.h"

#include <amdgpu/ops.h>
#include <amdgpu/raw.h>

int main(void) {
    agpu_device gpu = NULL, cpu = NULL;
    DO(agpu_device_open("hip:0", NULL, &gpu));
    DO(agpu_device_open("cpu", NULL, &cpu));
    agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
    options.kind = AGPU_MEMORY_PINNED;
    void *pinned = NULL, *device = NULL;
    DO(agpu_raw_allocate(gpu, 4 * sizeof(int32_t), &options, &pinned));
    DO(agpu_raw_allocate(gpu, 4 * sizeof(int32_t), NULL, &device));
    int32_t *values = pinned;
    for (int i = 0; i < 4; i++) values[i] = i;
    const int64_t half[1] = {2}, all[1] = {4};
    const agpu_operand first = {AGPU_OPERAND_MEMORY, 1, "int32", values, half, NULL, 0, 0, 0};
    const agpu_operand second = {AGPU_OPERAND_MEMORY, 1, "int32", values + 2, half, NULL, 0, 0, 0};
    const agpu_operand whole = {AGPU_OPERAND_MEMORY, 1, "int32", values, all, NULL, 0, 0, 0};
    /* In place, as a short copy, as an array, and behind a copy to the device that the program waits for. */
    const agpu_operand sum[2] = {first, second};
    DO(agpu_ops_elementwise_at(cpu, "add", sum, 2, 0, &second));
    CHECK(values[0] == 0 && values[1] == 1 && values[2] == 2 && values[3] == 4);
    DO(agpu_ops_elementwise_at(cpu, "cast", &second, 1, 0, &first));
    CHECK(values[0] == 2 && values[1] == 4);
    DO(agpu_raw_copy(gpu, device, pinned, 16, AGPU_COPY_HOST_TO_DEVICE, NULL));
    const agpu_operand numbers[2] = {whole, {AGPU_OPERAND_INTEGER, 0, "int32", NULL, NULL, NULL, 3, 0, 0}};
    DO(agpu_ops_elementwise_at(cpu, "multiply", numbers, 2, 0, &whole));
    CHECK(values[0] == 6 && values[3] == 12);
    agpu_array array = NULL;
    DO(agpu_array_from_address(cpu, pinned, "int32", 1, all, NULL, &array));
    int32_t back[4] = {0};
    DO(agpu_array_read(array, back, sizeof back));
    CHECK(memcmp(back, values, sizeof back) == 0);
    DO(agpu_release(array));
    DO(agpu_raw_fill(cpu, pinned, 4, 0, NULL));
    CHECK(values[0] == 0 && values[1] == 12);
    /* What leaves the allocation, and memory of the GPU itself, are refused. */
    const int64_t beyond[1] = {5};
    const agpu_operand longer = {AGPU_OPERAND_MEMORY, 1, "int32", values, beyond, NULL, 0, 0, 0};
    REFUSED(agpu_ops_elementwise_at(cpu, "negative", &longer, 1, 0, &longer), AGPU_ERROR_INVALID_ARGUMENT, "leave the allocation");
    const agpu_operand there = {AGPU_OPERAND_MEMORY, 1, "int32", device, all, NULL, 0, 0, 0};
    REFUSED(agpu_ops_elementwise_at(cpu, "negative", &there, 1, 0, &there), AGPU_ERROR_WRONG_DEVICE, "is of hip:0, and is used on cpu:0");
    DO(agpu_raw_free(pinned, NULL));
    DO(agpu_raw_free(device, NULL));
    DO(agpu_release(gpu));
    DO(agpu_release(cpu));
    puts("ok");
    return 0;
}
