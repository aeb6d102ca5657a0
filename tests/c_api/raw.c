/* Every function of amdgpu/raw.h. */
#include "check.h"

#include <amdgpu/ops.h>
#include <amdgpu/raw.h>

static void allocations(agpu_device device) {
    void *address = NULL, *pinned = NULL, *none = &none;
    DO(agpu_raw_allocate(device, 1000, NULL, &address));
    agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
    options.kind = AGPU_MEMORY_PINNED;
    DO(agpu_raw_allocate(device, 64, &options, &pinned));
    CHECK(address != NULL && pinned != NULL && (uintptr_t)address % 512 == 0);
    DO(agpu_raw_allocate(device, 0, NULL, &none));
    CHECK(none == NULL);
    agpu_raw_facts facts = AGPU_RAW_FACTS_INIT;
    DO(agpu_raw_info((char *)address + 999, &facts));
    CHECK(facts.first == address && facts.bytes == 1000 && facts.kind == AGPU_MEMORY_DEVICE && strcmp(facts.device, "cpu:0") == 0);
    DO(agpu_raw_info(pinned, &facts));
    CHECK(facts.first == pinned && facts.bytes == 64 && facts.kind == AGPU_MEMORY_PINNED);
    int variable = 0;
    REFUSED(agpu_raw_info(&variable, &facts), AGPU_ERROR_USE_AFTER_FREE, "no memory that agpu_raw_allocate gave");
    REFUSED(agpu_raw_info((char *)address + 1000, &facts), AGPU_ERROR_USE_AFTER_FREE, "");
    REFUSED(agpu_raw_info(address, NULL), AGPU_ERROR_INVALID_ARGUMENT, "info is NULL");
    REFUSED(agpu_raw_free((char *)address + 8, NULL), AGPU_ERROR_INVALID_ARGUMENT, "8 bytes behind its beginning");
    REFUSED(agpu_raw_free(&variable, NULL), AGPU_ERROR_USE_AFTER_FREE, "of another library");
    DO(agpu_raw_free(NULL, NULL));
    REFUSED(agpu_raw_free(address, (agpu_stream)(void *)&variable), AGPU_ERROR_INVALID_HANDLE, "");
    DO(agpu_raw_free(address, NULL));
    REFUSED(agpu_raw_free(address, NULL), AGPU_ERROR_USE_AFTER_FREE, "it was freed");
    DO(agpu_raw_free(pinned, NULL));
    REFUSED(agpu_raw_allocate(device, UINT64_MAX, NULL, &address), AGPU_ERROR_OUT_OF_MEMORY, "");
    REFUSED(agpu_raw_allocate(device, UINT64_C(1) << 60, NULL, &address), AGPU_ERROR_OUT_OF_MEMORY, "");
    REFUSED(agpu_raw_allocate(device, 8, NULL, NULL), AGPU_ERROR_INVALID_ARGUMENT, "address is NULL");
    options.kind = 9;
    REFUSED(agpu_raw_allocate(device, 8, &options, &address), AGPU_ERROR_INVALID_ARGUMENT, "kind of memory is 9");
    REFUSED(agpu_raw_allocate(NULL, 8, NULL, &address), AGPU_ERROR_INVALID_HANDLE, "device is NULL");
}

static void copies(agpu_device device) {
    agpu_stream stream = NULL;
    DO(agpu_stream_create(device, &stream));
    float host[256], back[256] = {0};
    for (int i = 0; i < 256; i++) host[i] = (float)i;
    void *a = NULL, *b = NULL;
    DO(agpu_raw_allocate(device, sizeof host, NULL, &a));
    DO(agpu_raw_allocate(device, sizeof host, NULL, &b));
    DO(agpu_raw_copy(device, a, host, sizeof host, AGPU_COPY_HOST_TO_DEVICE, stream));
    DO(agpu_raw_copy(device, b, a, sizeof host, AGPU_COPY_DEVICE_TO_DEVICE, stream));
    DO(agpu_raw_fill(device, (char *)b + 512, 512, 0xff, stream));
    DO(agpu_raw_copy(device, back, b, sizeof host, AGPU_COPY_DEVICE_TO_HOST, stream));
    DO(agpu_stream_synchronize(stream));
    CHECK(memcmp(back, host, 512) == 0 && ((unsigned char *)back)[512] == 0xff && ((unsigned char *)back)[1023] == 0xff);
    DO(agpu_raw_fill(device, a, 4, 0, NULL));
    DO(agpu_raw_copy(device, back, a, 8, AGPU_COPY_DEVICE_TO_HOST, NULL));
    CHECK(back[0] == 0 && back[1] == 1);
    /* Freed in the order of the stream: what it was given before has the memory still. */
    DO(agpu_raw_copy(device, a, host, sizeof host, AGPU_COPY_HOST_TO_DEVICE, stream));
    DO(agpu_raw_copy(device, back, a, sizeof host, AGPU_COPY_DEVICE_TO_HOST, stream));
    DO(agpu_raw_free(a, stream));
    DO(agpu_stream_synchronize(stream));
    CHECK(memcmp(back, host, sizeof host) == 0);

    REFUSED(agpu_raw_copy(device, NULL, host, 4, AGPU_COPY_HOST_TO_DEVICE, NULL), AGPU_ERROR_INVALID_ARGUMENT, "destination is NULL");
    REFUSED(agpu_raw_copy(device, b, NULL, 4, AGPU_COPY_HOST_TO_DEVICE, NULL), AGPU_ERROR_INVALID_ARGUMENT, "source is NULL");
    REFUSED(agpu_raw_copy(device, b, host, 4, 4, NULL), AGPU_ERROR_INVALID_ARGUMENT, "direction is 4");
    REFUSED(agpu_raw_copy(device, (char *)b + 8, host, 1020, 0, NULL), AGPU_ERROR_INVALID_ARGUMENT, "leave the allocation of 1024 bytes");
    REFUSED(agpu_raw_copy(device, back, (char *)b + 1023, 2, 1, NULL), AGPU_ERROR_INVALID_ARGUMENT, "source: 2 bytes from byte 1023 on");
    REFUSED(agpu_raw_copy(device, (char *)b + 8, b, 16, 2, NULL), AGPU_ERROR_INVALID_ARGUMENT, "overlap");
    REFUSED(agpu_raw_copy(device, b, host, UINT64_MAX, 0, NULL), AGPU_ERROR_INVALID_ARGUMENT, "leave the address space");
    REFUSED(agpu_raw_copy(device, b, host, 4, 0, (agpu_stream)(void *)device), AGPU_ERROR_INVALID_HANDLE, "stream is a device");
    REFUSED(agpu_raw_fill(device, NULL, 4, 0, NULL), AGPU_ERROR_INVALID_ARGUMENT, "address is NULL");
    REFUSED(agpu_raw_fill(device, b, 1025, 0, NULL), AGPU_ERROR_INVALID_ARGUMENT, "leave the allocation");
    DO(agpu_raw_copy(device, NULL, NULL, 0, AGPU_COPY_HOST_TO_DEVICE, NULL));
    DO(agpu_raw_copy(device, b, b, 16, AGPU_COPY_DEVICE_TO_DEVICE, NULL));
    DO(agpu_raw_copy(device, (char *)b + 4, host, 4, AGPU_COPY_HOST_TO_DEVICE, NULL));
    DO(agpu_raw_copy(device, b, (char *)b + 4, 4, AGPU_COPY_BETWEEN_DEVICES, NULL));
    DO(agpu_raw_copy(device, back, b, 4, AGPU_COPY_DEVICE_TO_HOST, NULL));
    CHECK(back[0] == host[0]);
    DO(agpu_raw_fill(device, NULL, 0, 0, NULL));
    agpu_device other = NULL;
    DO(agpu_device_open("null:gfx1100", NULL, &other));
    REFUSED(agpu_raw_fill(other, b, 4, 0, NULL), AGPU_ERROR_WRONG_DEVICE, "address is of cpu:0, and is used on null:gfx1100");
    REFUSED(agpu_raw_copy(other, b, (char *)b + 4, 4, AGPU_COPY_BETWEEN_DEVICES, NULL), AGPU_ERROR_WRONG_DEVICE, "destination is of cpu:0");
    DO(agpu_release(other));
    DO(agpu_raw_free(b, NULL));
    DO(agpu_release(stream));
}

static void arrays(agpu_device device) {
    float host[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int64_t shape[2] = {2, 3}, strides[2] = {6, -1}, negative[1] = {-2}, huge[2] = {INT64_MAX, 4}, far[2] = {1, 200};
    const float wanted[6] = {5, 4, 3, 11, 10, 9};
    float found[6];
    void *memory = NULL;
    DO(agpu_raw_allocate(device, sizeof host, NULL, &memory));
    DO(agpu_raw_copy(device, memory, host, sizeof host, AGPU_COPY_HOST_TO_DEVICE, NULL));
    /* Once in memory of the library, once in memory of the program. */
    float *const places[2] = {memory, host};
    for (int i = 0; i < 2; i++) {
        agpu_array array = NULL, dense = NULL;
        DO(agpu_array_from_address(device, places[i] + 5, "float32", 2, shape, strides, &array));
        DO(agpu_ops_contiguous(array, NULL, &dense));
        DO(agpu_array_read(dense, found, sizeof found));
        CHECK(memcmp(found, wanted, sizeof found) == 0);
        DO(agpu_release(array));
        DO(agpu_release(dense));
    }
    agpu_array array = NULL;
    REFUSED(agpu_array_from_address(device, memory, "float32", 2, far, NULL, &array), AGPU_ERROR_INVALID_ARGUMENT, "leave the allocation");
    REFUSED(agpu_array_from_address(device, (char *)memory + 2, "float32", 2, shape, NULL, &array), AGPU_ERROR_INVALID_ARGUMENT, "aligned to 4");
    REFUSED(agpu_array_from_address(device, NULL, "float32", 2, shape, NULL, &array), AGPU_ERROR_INVALID_ARGUMENT, "address is NULL");
    REFUSED(agpu_array_from_address(device, memory, "float32", 1, negative, NULL, &array), AGPU_ERROR_INVALID_ARGUMENT, "negative extent");
    REFUSED(agpu_array_from_address(device, memory, "float32", 2, huge, NULL, &array), AGPU_ERROR_INVALID_ARGUMENT, "beyond the address space");
    REFUSED(agpu_array_from_address(device, memory, "int7", 2, shape, NULL, &array), AGPU_ERROR_UNSUPPORTED_DTYPE, "int7");
    REFUSED(agpu_array_from_address(device, memory, "float32", 2, NULL, NULL, &array), AGPU_ERROR_INVALID_ARGUMENT, "shape is NULL");
    REFUSED(agpu_array_from_address(device, memory, "float32", 2, shape, NULL, NULL), AGPU_ERROR_INVALID_ARGUMENT, "array is NULL");
    CHECK(array == NULL);
    /* Nothing lies at the address of an array without elements. */
    const int64_t empty[1] = {0};
    DO(agpu_array_from_address(device, NULL, "float32", 1, empty, NULL, &array));
    DO(agpu_release(array));
    /* An array keeps memory that is freed. */
    DO(agpu_array_from_address(device, memory, "float32", 1, &shape[1], NULL, &array));
    DO(agpu_raw_free(memory, NULL));
    DO(agpu_array_read(array, found, 3 * sizeof(float)));
    CHECK(found[2] == 2);
    DO(agpu_release(array));
}

static void order(agpu_device device) {
    agpu_stream stream = NULL;
    DO(agpu_stream_create(device, &stream));
    enum { COUNT = 1 << 18 };
    const int64_t shape[1] = {COUNT};
    const uint64_t bytes = COUNT * sizeof(float);
    float *const host = calloc(COUNT, sizeof(float)), *const back = calloc(COUNT, sizeof(float));
    CHECK(host != NULL && back != NULL);
    void *memory = NULL;
    DO(agpu_raw_allocate(device, bytes, NULL, &memory));
    for (int round = 1; round <= 4; round++) {
        for (int i = 0; i < COUNT; i++) host[i] = (float)round;
        agpu_array array = NULL, sum = NULL;
        DO(agpu_raw_copy(device, memory, host, bytes, AGPU_COPY_HOST_TO_DEVICE, stream));
        DO(agpu_device_wait_stream(device, stream));
        DO(agpu_array_from_address(device, memory, "float32", 1, shape, NULL, &array));
        const agpu_array inputs[2] = {array, array};
        agpu_ops_elementwise_options options = AGPU_OPS_ELEMENTWISE_OPTIONS_INIT;
        options.out = array;
        DO(agpu_ops_elementwise("add", inputs, 2, &options, &sum));
        DO(agpu_stream_wait_device(device, stream));
        DO(agpu_raw_copy(device, back, memory, bytes, AGPU_COPY_DEVICE_TO_HOST, stream));
        DO(agpu_stream_synchronize(stream));
        for (int i = 0; i < COUNT; i++) CHECK(back[i] == (float)(2 * round));
        DO(agpu_release(array));
        DO(agpu_release(sum));
    }
    DO(agpu_device_wait_stream(device, NULL));
    DO(agpu_stream_wait_device(device, NULL));
    REFUSED(agpu_device_wait_stream(device, (agpu_stream)(void *)device), AGPU_ERROR_INVALID_HANDLE, "stream is a device");
    REFUSED(agpu_stream_wait_device(device, (agpu_stream)(void *)device), AGPU_ERROR_INVALID_HANDLE, "stream is a device");
    DO(agpu_raw_free(memory, stream));
    DO(agpu_release(stream));
    free(host);
    free(back);
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    allocations(device);
    copies(device);
    arrays(device);
    order(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
