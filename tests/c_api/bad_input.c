/* What a caller may get wrong: each is a status and a sentence, and nothing is changed. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <amdgpu/kernel.h>
#include <amdgpu/network.h>
#include <amdgpu/telemetry.h>

#define THREADS 16
#define ROUNDS 200

static const char *const SOURCE = "__global__ void add_one(int *x) { atomicAdd(x, 1); }";

static void null_pointers(agpu_device device) {
    agpu_device other = NULL;
    agpu_stream stream = NULL;
    REFUSED(agpu_device_open("cpu", NULL, NULL), AGPU_ERROR_INVALID_ARGUMENT, "device is NULL");
    REFUSED(agpu_stream_create(NULL, &stream), AGPU_ERROR_INVALID_HANDLE, "device is NULL");
    REFUSED(agpu_stream_create(device, NULL), AGPU_ERROR_INVALID_ARGUMENT, "stream is NULL");
    REFUSED(agpu_device_info(device, NULL), AGPU_ERROR_INVALID_ARGUMENT, "info is NULL");
    REFUSED(agpu_retain(NULL), AGPU_ERROR_INVALID_HANDLE, "NULL");
    REFUSED(agpu_release(NULL), AGPU_ERROR_INVALID_HANDLE, "NULL");
    REFUSED(agpu_network_build(NULL, NULL, NULL), AGPU_ERROR_INVALID_ARGUMENT, "network is NULL");
    REFUSED(agpu_telemetry_snapshot(NULL), AGPU_ERROR_INVALID_ARGUMENT, "text is NULL");
    REFUSED(agpu_device_open("\xff\xfe", NULL, &other), AGPU_ERROR_INVALID_ARGUMENT, "UTF-8");
    REFUSED(agpu_device_open("toaster:0", NULL, &other), AGPU_ERROR_DEVICE_NOT_FOUND, "toaster");
    CHECK(other == NULL && stream == NULL);
    agpu_memory memory = NULL;
    DO(agpu_memory_allocate(device, 16, NULL, &memory));
    REFUSED(agpu_memory_write(memory, 0, NULL, 16, NULL), AGPU_ERROR_INVALID_ARGUMENT, "data is NULL");
    DO(agpu_memory_write(memory, 0, NULL, 0, NULL));
    REFUSED(agpu_memory_read(memory, 0, NULL, 16, NULL), AGPU_ERROR_INVALID_ARGUMENT, "data is NULL");
    REFUSED(agpu_memory_allocate(device, UINT64_MAX, NULL, &memory), AGPU_ERROR_OUT_OF_MEMORY, "");
    DO(agpu_release(memory));
}

static void handles_that_are_none(agpu_device device) {
    agpu_memory memory = NULL;
    DO(agpu_memory_allocate(device, 16, NULL, &memory));
    uint64_t bytes = 0;
    int variable = 0;
    agpu_memory made_up[] = {(agpu_memory)(void *)&variable, (agpu_memory)(uintptr_t)1, (agpu_memory)UINTPTR_MAX};
    for (int i = 0; i < 3; i++) REFUSED(agpu_memory_size(made_up[i], &bytes), AGPU_ERROR_INVALID_HANDLE, "no handle of this library");
    /* The compiler finds this where no cast hides it. */
    REFUSED(agpu_memory_size((agpu_memory)(void *)device, &bytes), AGPU_ERROR_INVALID_HANDLE, "memory is a device; pass memory");
    REFUSED(agpu_stream_synchronize((agpu_stream)(void *)memory), AGPU_ERROR_INVALID_HANDLE, "stream is memory; pass a stream");
    DO(agpu_release(memory));
    REFUSED(agpu_memory_size(memory, &bytes), AGPU_ERROR_INVALID_HANDLE, "released before");
    REFUSED(agpu_release(memory), AGPU_ERROR_INVALID_HANDLE, "released before");
    REFUSED(agpu_retain(memory), AGPU_ERROR_INVALID_HANDLE, "released before");
    agpu_memory next = NULL;
    DO(agpu_memory_allocate(device, 32, NULL, &next));
    REFUSED(agpu_memory_size(memory, &bytes), AGPU_ERROR_INVALID_HANDLE, "released before");
    DO(agpu_memory_size(next, &bytes));
    CHECK(bytes == 32);
    DO(agpu_release(next));
}

static void structs_of_another_size(agpu_device device) {
    agpu_device_facts facts = AGPU_DEVICE_FACTS_INIT;
    const uint64_t sizes[] = {0, 8, sizeof facts - 1, 1 << 20, UINT64_MAX};
    for (int i = 0; i < 5; i++) {
        facts.size_bytes = sizes[i];
        REFUSED(agpu_device_info(device, &facts), AGPU_ERROR_INVALID_ARGUMENT, "size_bytes of agpu_device_facts");
    }
    /* A newer header: what this library does not know is 0 and stays untouched. */
    struct {
        agpu_device_options options;
        uint64_t newer;
    } options = {AGPU_DEVICE_OPTIONS_INIT, 0};
    options.options.size_bytes = sizeof options;
    agpu_device other = NULL;
    DO(agpu_device_open("cpu", &options.options, &other));
    DO(agpu_release(other));
    options.newer = 1;
    other = NULL;
    REFUSED(agpu_device_open("cpu", &options.options, &other), AGPU_ERROR_INVALID_ARGUMENT, "options beyond these are set");
    CHECK(other == NULL);
    struct {
        agpu_memory_info info;
        uint64_t newer;
    } memory = {AGPU_MEMORY_INFO_INIT, 42};
    memory.info.size_bytes = sizeof memory;
    DO(agpu_device_memory(device, &memory.info));
    CHECK(memory.newer == 42 && memory.info.size_bytes == sizeof memory && memory.info.total_bytes > 0);
}

static void two_devices(agpu_device device) {
    agpu_device other = NULL;
    agpu_stream stream = NULL;
    agpu_event event = NULL;
    agpu_memory here = NULL, there = NULL;
    agpu_kernel kernel = NULL;
    DO(agpu_device_open("null:gfx1100", NULL, &other));
    DO(agpu_stream_create(other, &stream));
    DO(agpu_event_create(device, &event));
    DO(agpu_memory_allocate(device, 64, NULL, &here));
    DO(agpu_memory_allocate(other, 64, NULL, &there));
    DO(agpu_kernel_compile(device, SOURCE, NULL, &kernel));
    REFUSED(agpu_event_record(event, stream), AGPU_ERROR_WRONG_DEVICE, "event is of cpu:0, and is used on null:gfx1100");
    REFUSED(agpu_stream_wait_event(stream, event), AGPU_ERROR_WRONG_DEVICE, "cpu:0");
    REFUSED(agpu_memory_fill(here, 0, 64, 0, stream), AGPU_ERROR_WRONG_DEVICE, "stream is of null:gfx1100");
    REFUSED(agpu_memory_copy(here, 0, there, 0, 64, NULL), AGPU_ERROR_WRONG_DEVICE, "null:gfx1100");
    agpu_argument argument = agpu_argument_memory(there, 0);
    agpu_launch_shape shape = AGPU_LAUNCH_SHAPE_INIT;
    REFUSED(agpu_kernel_launch(kernel, &shape, &argument, 1, NULL), AGPU_ERROR_WRONG_DEVICE, "argument 0 is memory of null:gfx1100");
    argument = agpu_argument_memory(here, 0);
    REFUSED(agpu_kernel_launch(kernel, &shape, &argument, 1, stream), AGPU_ERROR_WRONG_DEVICE, "stream");
    argument = agpu_argument_memory(here, 65);
    REFUSED(agpu_kernel_launch(kernel, &shape, &argument, 1, NULL), AGPU_ERROR_INVALID_ARGUMENT, "argument 0");
    agpu_handle all[] = {stream, event, here, there, kernel, other};
    for (int i = 0; i < 6; i++) DO(agpu_release(all[i]));
}

static void a_forked_child(agpu_device device) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        agpu_stream stream = NULL;
        agpu_device own = NULL;
        agpu_memory memory = NULL;
        REFUSED(agpu_stream_create(device, &stream), AGPU_ERROR_FORKED, "before fork()");
        REFUSED(agpu_release(device), AGPU_ERROR_FORKED, "open the device again");
        DO(agpu_device_open("cpu", NULL, &own));
        DO(agpu_memory_allocate(own, 64, NULL, &memory));
        DO(agpu_memory_fill(memory, 0, 64, 1, NULL));
        DO(agpu_release(memory));
        DO(agpu_release(own));
        check_no_handles();
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    DO(agpu_device_synchronize(device));
}

struct shared {
    agpu_device device;
    agpu_kernel kernel;
    agpu_memory memory;
    agpu_stream stream;
    atomic_int released;
};

static void *use(void *given) {
    struct shared *shared = given;
    agpu_argument argument = agpu_argument_memory(shared->memory, 0);
    agpu_launch_shape shape = AGPU_LAUNCH_SHAPE_INIT;
    for (int i = 0; i < ROUNDS; i++) {
        DO(agpu_retain(shared->memory));
        DO(agpu_kernel_launch(shared->kernel, &shape, &argument, 1, i % 2 ? shared->stream : NULL));
        DO(agpu_release(shared->memory));
        agpu_memory own = NULL;
        DO(agpu_memory_allocate(shared->device, 256, NULL, &own));
        DO(agpu_memory_fill(own, 0, 256, (uint8_t)i, shared->stream));
        DO(agpu_release(own));
        REFUSED(agpu_release(own), AGPU_ERROR_INVALID_HANDLE, "");
    }
    return NULL;
}

/* All threads release one handle: one of them does, the others are told. */
static void *release_once(void *given) {
    struct shared *shared = given;
    agpu_status status = agpu_release(shared->memory);
    CHECK(status == AGPU_OK || status == AGPU_ERROR_INVALID_HANDLE);
    if (status == AGPU_OK) atomic_fetch_add(&shared->released, 1);
    return NULL;
}

static void run_on_threads(void *(*work)(void *), struct shared *shared) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, shared) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void sixteen_threads(agpu_device device) {
    struct shared shared = {.device = device};
    atomic_init(&shared.released, 0);
    DO(agpu_kernel_compile(device, SOURCE, NULL, &shared.kernel));
    DO(agpu_memory_allocate(device, sizeof(int), NULL, &shared.memory));
    DO(agpu_memory_fill(shared.memory, 0, sizeof(int), 0, NULL));
    DO(agpu_stream_create(device, &shared.stream));
    run_on_threads(use, &shared);
    DO(agpu_stream_synchronize(shared.stream));
    int sum = 0;
    DO(agpu_memory_read(shared.memory, 0, &sum, sizeof sum, NULL));
    CHECK(sum == THREADS * ROUNDS);
    run_on_threads(release_once, &shared);
    CHECK(atomic_load(&shared.released) == 1);
    DO(agpu_release(shared.stream));
    DO(agpu_release(shared.kernel));
}

/* Objects keep what they need, whatever is released first. */
static void released_in_any_order(void) {
    agpu_device device = NULL;
    agpu_stream stream = NULL;
    agpu_memory memory = NULL;
    agpu_kernel kernel = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    DO(agpu_kernel_compile(device, SOURCE, NULL, &kernel));
    DO(agpu_stream_create(device, &stream));
    DO(agpu_memory_allocate(device, 1 << 20, NULL, &memory));
    DO(agpu_release(device));
    DO(agpu_memory_fill(memory, 0, 1 << 20, 0, stream));
    agpu_argument argument = agpu_argument_memory(memory, 0);
    agpu_launch_shape shape = AGPU_LAUNCH_SHAPE_INIT;
    DO(agpu_kernel_launch(kernel, &shape, &argument, 1, stream));
    DO(agpu_release(memory));
    DO(agpu_release(kernel));
    DO(agpu_release(stream));
}

static void after_the_last_release(agpu_device device) {
    agpu_stream stream = NULL;
    check_no_handles();
    REFUSED(agpu_stream_create(device, &stream), AGPU_ERROR_INVALID_HANDLE, "released before");
    REFUSED(agpu_device_synchronize(device), AGPU_ERROR_INVALID_HANDLE, "released before");
    agpu_device again = NULL;
    DO(agpu_device_open("cpu", NULL, &again));
    DO(agpu_device_synchronize(again));
    DO(agpu_release(again));
    check_no_handles();
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    null_pointers(device);
    handles_that_are_none(device);
    structs_of_another_size(device);
    two_devices(device);
    a_forked_child(device);
    sixteen_threads(device);
    DO(agpu_release(device));
    released_in_any_order();
    after_the_last_release(device);
    puts("ok");
    return 0;
}
