/* Every function of amdgpu/runtime.h. */
#include "check.h"

static void versions_and_names(void) {
    CHECK(agpu_interface_version() == AGPU_INTERFACE_VERSION);
    CHECK(strchr(agpu_version(), '.') != NULL);
    CHECK(strcmp(agpu_status_name(AGPU_OK), "ok") == 0);
    CHECK(strcmp(agpu_status_name(AGPU_ERROR_OUT_OF_MEMORY), "out-of-memory") == 0);
    CHECK(strcmp(agpu_status_name(-5), "unknown") == 0);
    agpu_error_info error = AGPU_ERROR_INFO_INIT;
    DO(agpu_last_error(&error));
    CHECK(error.status == AGPU_OK && error.message[0] == 0);
    CHECK(agpu_last_error(NULL) == AGPU_ERROR_INVALID_ARGUMENT);
}

static void devices(void) {
    uint32_t count = 0;
    DO(agpu_device_count(&count));
    CHECK(count >= 1);
    agpu_device_facts facts = AGPU_DEVICE_FACTS_INIT;
    DO(agpu_device_info_at(count - 1, &facts));
    CHECK(strcmp(facts.name, "cpu:0") == 0 && strcmp(facts.kind, "cpu") == 0);
    CHECK(facts.logical_cores >= 1 && facts.total_memory_bytes > 0 && facts.warp_size >= 1);
    REFUSED(agpu_device_info_at(count, &facts), AGPU_ERROR_DEVICE_NOT_FOUND, "index is");

    agpu_device_options options = AGPU_DEVICE_OPTIONS_INIT;
    options.optimization_level = "low";
    options.telemetry = "detailed";
    agpu_device device = NULL, best = NULL;
    DO(agpu_device_open("cpu", &options, &device));
    DO(agpu_device_open(NULL, NULL, &best));
    agpu_device_facts opened = AGPU_DEVICE_FACTS_INIT;
    DO(agpu_device_info(device, &opened));
    CHECK(memcmp(&facts, &opened, sizeof facts) == 0);
    agpu_memory_info memory = AGPU_MEMORY_INFO_INIT;
    DO(agpu_device_memory(device, &memory));
    CHECK(memory.total_bytes == facts.total_memory_bytes && memory.free_bytes <= memory.total_bytes);
    DO(agpu_device_synchronize(device));
    DO(agpu_release(device));
    DO(agpu_release(best));
}

static void memory(agpu_device device) {
    agpu_memory_statistics before = AGPU_MEMORY_STATISTICS_INIT, after = AGPU_MEMORY_STATISTICS_INIT;
    DO(agpu_device_memory_statistics(device, AGPU_MEMORY_DEVICE, &before));
    agpu_memory first = NULL, second = NULL, pinned = NULL;
    DO(agpu_memory_allocate(device, 4096, NULL, &first));
    DO(agpu_memory_allocate(device, 4096, NULL, &second));
    DO(agpu_device_memory_statistics(device, AGPU_MEMORY_DEVICE, &after));
    CHECK(after.allocations == before.allocations + 2);
    CHECK(after.allocated_bytes == before.allocated_bytes + 8192 && after.reserved_bytes >= after.allocated_bytes);
    CHECK(after.allocations_total == before.allocations_total + 2);
    agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
    options.kind = AGPU_MEMORY_PINNED;
    DO(agpu_memory_allocate(device, 100, &options, &pinned));

    uint64_t bytes = 0;
    DO(agpu_memory_size(pinned, &bytes));
    CHECK(bytes == 100);
    void *address = NULL;
    bool visible = false;
    DO(agpu_memory_address(pinned, &address, &visible));
    CHECK(visible && address != NULL);
    memset(address, 3, 100);

    unsigned char written[64], read[64];
    for (int i = 0; i < 64; i++) written[i] = (unsigned char)(i * 7);
    DO(agpu_memory_fill(first, 0, 4096, 0xab, NULL));
    DO(agpu_memory_write(first, 128, written, sizeof written, NULL));
    DO(agpu_memory_copy(second, 1000, first, 128, sizeof written, NULL));
    DO(agpu_memory_read(second, 1000, read, sizeof read, NULL));
    CHECK(memcmp(written, read, sizeof read) == 0);
    DO(agpu_memory_read(first, 64, read, sizeof read, NULL));
    CHECK(read[0] == 0xab && read[63] == 0xab);
    REFUSED(agpu_memory_read(first, 4090, read, 7, NULL), AGPU_ERROR_INVALID_ARGUMENT, "do not fit");
    REFUSED(agpu_memory_fill(first, UINT64_MAX, 2, 0, NULL), AGPU_ERROR_INVALID_ARGUMENT, "do not fit");
    REFUSED(agpu_memory_copy(first, 0, first, 8, 64, NULL), AGPU_ERROR_INVALID_ARGUMENT, "overlap");
    DO(agpu_memory_copy(first, 0, first, 512, 64, NULL));

    DO(agpu_release(first));
    DO(agpu_release(second));
    DO(agpu_release(pinned));
    uint64_t freed = 0;
    DO(agpu_device_empty_cache(device, &freed));
    CHECK(freed > 0);
    DO(agpu_device_memory_statistics(device, AGPU_MEMORY_DEVICE, &after));
    CHECK(after.allocations == before.allocations);
    CHECK(after.allocated_bytes_peak > after.allocated_bytes);
    DO(agpu_device_reset_memory_peaks(device));
    DO(agpu_device_memory_statistics(device, AGPU_MEMORY_DEVICE, &after));
    CHECK(after.allocated_bytes_peak == after.allocated_bytes && after.reserved_bytes_peak == after.reserved_bytes);
}

/* Events can mark the default stream, and memory that it fills is what arrays and calls that wait see. */
static void default_stream(agpu_device device) {
    agpu_stream stream = NULL, other = NULL;
    agpu_event event = NULL;
    agpu_memory data = NULL;
    unsigned char read = 0;
    DO(agpu_device_default_stream(device, &stream));
    DO(agpu_stream_create(device, &other));
    DO(agpu_event_create(device, &event));
    DO(agpu_memory_allocate(device, 64, NULL, &data));
    DO(agpu_memory_fill(data, 0, 64, 5, stream));
    DO(agpu_event_record(event, stream));
    DO(agpu_stream_wait_event(other, event));
    DO(agpu_memory_read(data, 63, &read, 1, other));
    CHECK(read == 5);
    DO(agpu_release(data));
    DO(agpu_release(event));
    DO(agpu_release(other));
    DO(agpu_release(stream));
    REFUSED(agpu_device_default_stream(device, NULL), AGPU_ERROR_INVALID_ARGUMENT, "stream");
}

static void streams_and_events(agpu_device device) {
    agpu_stream one = NULL, two = NULL;
    agpu_event start = NULL, end = NULL;
    agpu_memory data = NULL;
    bool is_done = false;
    DO(agpu_stream_create(device, &one));
    DO(agpu_stream_create(device, &two));
    DO(agpu_event_create(device, &start));
    DO(agpu_event_create(device, &end));
    DO(agpu_event_is_complete(start, &is_done));
    CHECK(is_done);
    int64_t elapsed = -1;
    REFUSED(agpu_event_elapsed_ns(start, end, &elapsed), AGPU_ERROR_INVALID_ARGUMENT, "start has not happened");

    agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
    options.stream = one;
    DO(agpu_memory_allocate(device, 1 << 22, &options, &data));
    DO(agpu_event_record(start, one));
    DO(agpu_memory_fill(data, 0, 1 << 22, 1, one));
    DO(agpu_event_record(end, one));
    DO(agpu_stream_wait_event(two, end));
    DO(agpu_memory_fill(data, 0, 1 << 21, 2, two));
    /* The streams still use the memory; the allocator knows. */
    unsigned char read[2];
    DO(agpu_memory_read(data, 0, read, 1, two));
    DO(agpu_memory_read(data, (1 << 22) - 1, read + 1, 1, two));
    CHECK(read[0] == 2 && read[1] == 1);
    DO(agpu_release(data));
    DO(agpu_event_synchronize(end));
    DO(agpu_event_is_complete(end, &is_done));
    CHECK(is_done);
    DO(agpu_event_elapsed_ns(start, end, &elapsed));
    CHECK(elapsed > 0);
    DO(agpu_stream_synchronize(one));
    DO(agpu_stream_synchronize(two));
    DO(agpu_stream_is_idle(one, &is_done));
    CHECK(is_done);
    DO(agpu_release(start));
    DO(agpu_release(end));
    DO(agpu_release(two));
    DO(agpu_release(one));
}

static int count_loan(void *native_stream, void *data) {
    CHECK(native_stream != NULL);
    return ++*(int *)data;
}

/* Streams of a driver are lent; the CPU has none. The count of the second loan is its answer, which is not 0. */
static void loans(agpu_device device) {
    agpu_device_facts facts = AGPU_DEVICE_FACTS_INIT;
    agpu_stream stream = NULL;
    bool was_lent = false;
    int loans = -1;
    DO(agpu_device_info(device, &facts));
    DO(agpu_stream_create(device, &stream));
    REFUSED(agpu_stream_lend(stream, NULL, &loans, &was_lent), AGPU_ERROR_INVALID_ARGUMENT, "work is NULL");
    REFUSED(agpu_stream_lend(stream, count_loan, &loans, NULL), AGPU_ERROR_INVALID_ARGUMENT, "was_lent is NULL");
    DO(agpu_stream_lend(stream, count_loan, &loans, &was_lent));
    const bool has_driver = strcmp(facts.kind, "cpu") != 0;
    CHECK(was_lent == has_driver);
    CHECK(loans == (has_driver ? 0 : -1));
    if (has_driver) REFUSED(agpu_stream_lend(stream, count_loan, &loans, &was_lent), AGPU_ERROR_DRIVER_FAULT, "failed with 1");
    DO(agpu_release(stream));
}

static void references(agpu_device device) {
    agpu_stream stream = NULL;
    DO(agpu_stream_create(device, &stream));
    DO(agpu_retain(stream));
    DO(agpu_release(stream));
    DO(agpu_stream_synchronize(stream));
    DO(agpu_release(stream));
    REFUSED(agpu_stream_synchronize(stream), AGPU_ERROR_INVALID_HANDLE, "released before");
}

int main(void) {
    versions_and_names();
    devices();
    agpu_device device = NULL;
    DO(agpu_device_open("cpu:0", NULL, &device));
    memory(device);
    default_stream(device);
    streams_and_events(device);
    loans(device);
    references(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
