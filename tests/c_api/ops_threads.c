/* Sixteen threads run operations on the same arrays and launch a kernel with them. */
#define _POSIX_C_SOURCE 200809L
#include "arrays.h"

#include <pthread.h>

#include <amdgpu/kernel.h>

#define THREADS 16
#define ROUNDS 20
#define LENGTH 64

static const char *const SOURCE = "__global__ void count(int *sum, const float *x) { atomicAdd(sum, (int)x[threadIdx.x]); }";

struct shared {
    agpu_device device;
    agpu_kernel kernel;
    agpu_stream stream;
    agpu_array x, sum;
};

static void *work(void *given) {
    struct shared *shared = given;
    const agpu_argument arguments[2] = {agpu_argument_array(shared->sum), agpu_argument_array(shared->x)};
    agpu_launch_shape shape = AGPU_LAUNCH_SHAPE_INIT;
    shape.block[0] = LENGTH;
    for (int i = 0; i < ROUNDS; i++) {
        agpu_array sums = NULL, best = NULL, none = NULL;
        float values[LENGTH], largest = 0;
        DO(agpu_retain(shared->x));
        DO(agpu_ops_scan("cumsum", shared->x, 0, NULL, &sums));
        DO(agpu_ops_top_k(shared->x, 1, 0, NULL, &best, NULL));
        DO(agpu_release(shared->x));
        DO(agpu_array_read(sums, values, sizeof values));
        DO(agpu_array_read(best, &largest, sizeof largest));
        CHECK(values[LENGTH - 1] == LENGTH * (LENGTH - 1) / 2 && largest == LENGTH - 1);
        DO(agpu_kernel_launch(shared->kernel, &shape, arguments, 2, i % 2 ? shared->stream : NULL));
        REFUSED(agpu_ops_top_k(shared->x, LENGTH + 1, 0, NULL, &none, NULL), AGPU_ERROR_INVALID_ARGUMENT, "k is 65");
        DO(agpu_release(sums));
        DO(agpu_release(best));
    }
    return NULL;
}

int main(void) {
    struct shared shared = {0};
    float values[LENGTH];
    int32_t sum = 0;
    for (int i = 0; i < LENGTH; i++) values[i] = (float)i;
    DO(agpu_device_open("cpu", NULL, &shared.device));
    DO(agpu_kernel_compile(shared.device, SOURCE, NULL, &shared.kernel));
    DO(agpu_stream_create(shared.device, &shared.stream));
    shared.x = ARRAY(shared.device, "float32", values, LENGTH);
    shared.sum = ARRAY(shared.device, "int32", &sum, 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, &shared) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    DO(agpu_array_read(shared.sum, &sum, sizeof sum));
    CHECK(sum == THREADS * ROUNDS * LENGTH * (LENGTH - 1) / 2);
    const agpu_handle all[] = {shared.x, shared.sum, shared.stream, shared.kernel, shared.device};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) DO(agpu_release(all[i]));
    check_no_handles();
    puts("ok");
    return 0;
}
