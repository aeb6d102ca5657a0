/* Arrays as arguments of launches: who waits for whom, and how long they live. */
#include "arrays.h"

#include <amdgpu/kernel.h>

#define LENGTH 256

/* Adds to x for so long that what does not wait for it is done before. */
static const char *const SOURCE =
    "extern \"C\" __global__ void slow(float *x, const float *y, int rounds) {\n"
    "    float value = x[threadIdx.x];\n"
    "    for (int i = 0; i < rounds; i++) value = value * 0.5f + y[threadIdx.x];\n"
    "    x[threadIdx.x] = value;\n"
    "}\n"
    "extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n";

/* The values that y leads to: x tends to 2 y. */
#define ROUNDS 200000

struct scene {
    agpu_device device;
    agpu_kernel slow, twice;
    agpu_stream stream;
    agpu_array x, y;
    agpu_launch_shape shape;
};

static agpu_kernel kernel_of(agpu_device device, const char *name) {
    agpu_compile_options options = AGPU_COMPILE_OPTIONS_INIT;
    options.kernel_name = name;
    agpu_kernel kernel = NULL;
    DO(agpu_kernel_compile(device, SOURCE, &options, &kernel));
    return kernel;
}

static agpu_array constant(agpu_device device, float value) {
    const int64_t shape[1] = {LENGTH};
    agpu_array array = NULL;
    DO(agpu_array_create(device, "float32", 1, shape, NULL, &array));
    DO(agpu_array_fill(array, &value, sizeof value));
    return array;
}

static struct scene begin(agpu_device device) {
    struct scene scene = {.device = device, .shape = AGPU_LAUNCH_SHAPE_INIT};
    scene.shape.block[0] = LENGTH;
    scene.slow = kernel_of(device, "slow");
    scene.twice = kernel_of(device, "twice");
    scene.x = constant(device, 0);
    scene.y = constant(device, 1);
    DO(agpu_stream_create(device, &scene.stream));
    return scene;
}

static void end(struct scene *scene) {
    const agpu_handle all[] = {scene->stream, scene->slow, scene->twice, scene->x, scene->y};
    for (int i = 0; i < 5; i++) DO(agpu_release(all[i]));
}

static void launch_slow(struct scene *scene, agpu_array x, agpu_array y, agpu_stream stream) {
    const agpu_argument arguments[] = {agpu_argument_array(x), agpu_argument_array(y), agpu_argument_integer(ROUNDS)};
    DO(agpu_kernel_launch(scene->slow, &scene->shape, arguments, 3, stream));
}

static float last_value(agpu_array array) {
    float values[LENGTH];
    DO(agpu_array_read(array, values, sizeof values));
    return values[LENGTH - 1];
}

static uint64_t allocations(agpu_device device) {
    agpu_memory_statistics statistics = AGPU_MEMORY_STATISTICS_INIT;
    DO(agpu_device_memory_statistics(device, AGPU_MEMORY_DEVICE, &statistics));
    return statistics.allocations;
}

/* Whoever looks at an array waits for the streams that work on it. */
static void readers_wait(struct scene *scene) {
    launch_slow(scene, scene->x, scene->y, NULL);
    CHECK(last_value(scene->x) == 2);
    const float zero = 0;
    DO(agpu_array_fill(scene->x, &zero, sizeof zero));
    launch_slow(scene, scene->x, scene->y, scene->stream);
    CHECK(last_value(scene->x) == 2);
    /* A launch without a stream. */
    DO(agpu_array_fill(scene->x, &zero, sizeof zero));
    launch_slow(scene, scene->x, scene->y, scene->stream);
    const agpu_argument argument = agpu_argument_array(scene->x);
    DO(agpu_kernel_launch(scene->twice, &scene->shape, &argument, 1, NULL));
    CHECK(last_value(scene->x) == 4);
    /* An operation. */
    DO(agpu_array_fill(scene->x, &zero, sizeof zero));
    launch_slow(scene, scene->x, scene->y, scene->stream);
    const agpu_array inputs[2] = {scene->x, scene->y};
    agpu_array sum = NULL;
    DO(agpu_ops_elementwise("add", inputs, 2, NULL, &sum));
    CHECK(last_value(sum) == 3);
    DO(agpu_release(sum));
    DO(agpu_stream_synchronize(scene->stream));
}

/* An array that is released while a stream works on it lives until the stream has passed. */
static void the_launch_keeps_arrays(struct scene *scene) {
    const uint64_t before = allocations(scene->device);
    agpu_array x = constant(scene->device, 0), y = constant(scene->device, 3);
    launch_slow(scene, x, y, scene->stream);
    agpu_array watched = NULL;
    const int64_t shape[1] = {-1};
    DO(agpu_array_reshape(x, 1, shape, &watched));
    DO(agpu_release(x));
    DO(agpu_release(y));
    CHECK(allocations(scene->device) == before + 2);
    /* Memory of the same size is other memory. */
    agpu_array other = constant(scene->device, -1);
    DO(agpu_stream_synchronize(scene->stream));
    CHECK(last_value(watched) == 6 && last_value(other) == -1);
    DO(agpu_release(watched));
    DO(agpu_release(other));
    CHECK(allocations(scene->device) == before);
    /* Asking is enough when the stream is idle. */
    x = constant(scene->device, 0);
    const agpu_argument argument = agpu_argument_array(x);
    for (int i = 0; i < 100; i++) DO(agpu_kernel_launch(scene->twice, &scene->shape, &argument, 1, scene->stream));
    DO(agpu_release(x));
    bool is_idle = false;
    while (!is_idle) DO(agpu_stream_is_idle(scene->stream, &is_idle));
    CHECK(allocations(scene->device) == before);
}

/* Memory of another library goes back when the launch has run. */
static void borrowed_arrays(struct scene *scene) {
    const uint64_t before = allocations(scene->device);
    agpu_array own = constant(scene->device, 0), borrowed = NULL;
    void *managed = NULL;
    DO(agpu_array_to_dlpack(own, true, &managed));
    DO(agpu_array_from_dlpack(managed, true, &borrowed));
    launch_slow(scene, borrowed, scene->y, scene->stream);
    DO(agpu_release(own));
    DO(agpu_release(borrowed));
    CHECK(allocations(scene->device) == before + 1);
    DO(agpu_stream_synchronize(scene->stream));
    CHECK(allocations(scene->device) == before);
}

static void prepared_launches_and_graphs(struct scene *scene) {
    agpu_array x = constant(scene->device, 1), view = NULL;
    const int64_t shape[2] = {16, 16};
    DO(agpu_array_reshape(x, 2, shape, &view));
    const agpu_argument argument = agpu_argument_array(x);
    agpu_launch launch = NULL;
    DO(agpu_launch_prepare(scene->twice, &scene->shape, &argument, 1, &launch));
    DO(agpu_release(x)); /* the launch has it */
    DO(agpu_launch_run(launch, NULL));
    for (int i = 0; i < 5; i++) DO(agpu_launch_run(launch, scene->stream));
    CHECK(last_value(view) == 64);
    agpu_captured_graph graph = NULL;
    DO(agpu_captured_graph_begin(scene->device, &graph));
    DO(agpu_launch_run(launch, scene->stream));
    const agpu_argument again = agpu_argument_array(view);
    DO(agpu_kernel_launch(scene->twice, &scene->shape, &again, 1, scene->stream));
    DO(agpu_captured_graph_end(graph));
    DO(agpu_release(launch));
    CHECK(last_value(view) == 64);
    DO(agpu_captured_graph_replay(graph, scene->stream));
    CHECK(last_value(view) == 256);
    DO(agpu_release(view)); /* the graph has it */
    DO(agpu_captured_graph_replay(graph, NULL));
    DO(agpu_release(graph));
}

static void what_is_refused(struct scene *scene) {
    agpu_device other = NULL;
    DO(agpu_device_open("null:gfx1100", NULL, &other));
    const int64_t length[1] = {LENGTH}, half[1] = {LENGTH / 2}, strides[1] = {2};
    agpu_array there = NULL, wide = NULL, gaps = NULL;
    DO(agpu_array_create(other, "float32", 1, length, NULL, &there));
    DO(agpu_array_create(scene->device, "float64", 1, length, NULL, &wide));
    DO(agpu_array_view(scene->x, 1, half, strides, &gaps));
    const struct {
        agpu_argument argument;
        agpu_status status;
        const char *words;
    } all[] = {
        {agpu_argument_array(NULL), AGPU_ERROR_INVALID_HANDLE, "argument 0 is NULL; pass an array"},
        {agpu_argument_array((agpu_array)(void *)scene->stream), AGPU_ERROR_INVALID_HANDLE, "argument 0 is a stream; pass an array"},
        {agpu_argument_array(there), AGPU_ERROR_WRONG_DEVICE, "argument 0 is an array of null:gfx1100, and the kernel runs on cpu:0"},
        {agpu_argument_array(wide), AGPU_ERROR_INVALID_TYPE, "needs an array of float32, this one is of float64"},
        {agpu_argument_array(gaps), AGPU_ERROR_NOT_CONTIGUOUS, "agpu_ops_contiguous"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        agpu_launch launch = NULL;
        REFUSED(agpu_kernel_launch(scene->twice, &scene->shape, &all[i].argument, 1, NULL), all[i].status, all[i].words);
        REFUSED(agpu_launch_prepare(scene->twice, &scene->shape, &all[i].argument, 1, &launch), all[i].status, all[i].words);
        CHECK(launch == NULL);
    }
    const agpu_handle handles[] = {there, wide, gaps, other};
    for (int i = 0; i < 4; i++) DO(agpu_release(handles[i]));
    const agpu_argument released = agpu_argument_array(gaps);
    REFUSED(agpu_kernel_launch(scene->twice, &scene->shape, &released, 1, NULL), AGPU_ERROR_INVALID_HANDLE, "released before");
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    struct scene scene = begin(device);
    readers_wait(&scene);
    the_launch_keeps_arrays(&scene);
    borrowed_arrays(&scene);
    prepared_launches_and_graphs(&scene);
    what_is_refused(&scene);
    end(&scene);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
