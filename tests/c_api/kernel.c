/* Every function of amdgpu/kernel.h. */
#include "check.h"

#include <amdgpu/kernel.h>

#define COUNT 1000

static const char *const SOURCE =
    "struct Pair { float scale; int shift; };\n"
    "extern \"C\" __global__ void combine(float *out, const float *x, Pair pair, double factor, unsigned long long big, bool negate, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) out[i] = (negate ? -1.0f : 1.0f) * (pair.scale * x[i] + pair.shift) * (float)factor + (float)(big >> 63);\n"
    "}\n"
    "extern \"C\" __global__ void add_one(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += STEP; }\n";

struct pair {
    float scale;
    int shift;
};

static agpu_kernel compile(agpu_device device, const char *name) {
    agpu_define define = {"STEP", NULL};
    agpu_compile_options options = AGPU_COMPILE_OPTIONS_INIT;
    options.kernel_name = name;
    options.defines = &define;
    options.define_count = 1;
    options.file_name = "test.hip";
    options.core_type = "aura";
    options.optimization_level = "high";
    agpu_kernel kernel = NULL;
    DO(agpu_kernel_compile(device, SOURCE, &options, &kernel));
    return kernel;
}

static void every_kind_of_argument(agpu_device device) {
    agpu_kernel kernel = compile(device, "combine");
    agpu_kernel_facts facts = AGPU_KERNEL_FACTS_INIT;
    DO(agpu_kernel_info(kernel, &facts));
    CHECK(strcmp(facts.name, "combine") == 0 && facts.parameter_count == 7 && facts.max_threads_per_block >= 256);
    CHECK(strstr(facts.signature, "double factor") != NULL && facts.compile_seconds > 0);

    float x[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++) x[i] = (float)i;
    agpu_memory memory = NULL;
    /* Sixteen bytes in front, to use an offset. */
    DO(agpu_memory_allocate(device, sizeof out + 16, NULL, &memory));
    struct pair pair = {2.0f, 3};
    agpu_argument arguments[] = {
        agpu_argument_memory(memory, 16),       agpu_argument_pointer(x, sizeof x),
        agpu_argument_struct(&pair, sizeof pair), agpu_argument_real(0.5),
        agpu_argument_unsigned(UINT64_MAX),     agpu_argument_boolean(true),
        agpu_argument_integer(COUNT),
    };
    agpu_launch_shape shape = AGPU_LAUNCH_SHAPE_INIT;
    shape.grid[0] = 4;
    shape.block[0] = 256;
    DO(agpu_kernel_launch(kernel, &shape, arguments, 7, NULL));
    DO(agpu_memory_read(memory, 16, out, sizeof out, NULL));
    for (int i = 0; i < COUNT; i++) CHECK(out[i] == -(2.0f * x[i] + 3) * 0.5f + 1);

    REFUSED(agpu_kernel_launch(kernel, &shape, arguments, 6, NULL), AGPU_ERROR_ARGUMENT_COUNT, "combine(");
    arguments[6] = agpu_argument_integer(INT64_MAX);
    REFUSED(agpu_kernel_launch(kernel, &shape, arguments, 7, NULL), AGPU_ERROR_INVALID_ARGUMENT, "does not fit");
    arguments[6] = agpu_argument_memory(memory, 0);
    REFUSED(agpu_kernel_launch(kernel, &shape, arguments, 7, NULL), AGPU_ERROR_INVALID_TYPE, "cannot be made from an array");
    arguments[6].kind = 99;
    REFUSED(agpu_kernel_launch(kernel, &shape, arguments, 7, NULL), AGPU_ERROR_INVALID_ARGUMENT, "of kind 99");
    arguments[6] = agpu_argument_integer(COUNT);
    arguments[2] = agpu_argument_struct(NULL, sizeof pair);
    REFUSED(agpu_kernel_launch(kernel, &shape, arguments, 7, NULL), AGPU_ERROR_INVALID_ARGUMENT, "struct of argument 2 is NULL");
    shape.block[0] = 1 << 20;
    REFUSED(agpu_kernel_launch(kernel, &shape, arguments, 7, NULL), AGPU_ERROR_INVALID_LAUNCH, "block.x");
    REFUSED(agpu_kernel_launch(kernel, NULL, arguments, 7, NULL), AGPU_ERROR_INVALID_ARGUMENT, "shape is NULL");
    DO(agpu_release(memory));
    DO(agpu_release(kernel));
}

static void errors_of_the_source(agpu_device device) {
    agpu_kernel kernel = NULL;
    REFUSED(agpu_kernel_compile(device, "__global__ void broken(int *x) { y = 1; }", NULL, &kernel), AGPU_ERROR_COMPILE_FAILED, "kernel.hip");
    agpu_compile_options options = AGPU_COMPILE_OPTIONS_INIT;
    options.kernel_name = "absent";
    REFUSED(agpu_kernel_compile(device, "__global__ void f(int *x) { x[0] = 1; }", &options, &kernel), AGPU_ERROR_KERNEL_NOT_FOUND, "absent");
    options.optimization_level = "most";
    REFUSED(agpu_kernel_compile(device, "", &options, &kernel), AGPU_ERROR_INVALID_ARGUMENT, "none, low, high, max");
    REFUSED(agpu_kernel_compile(device, NULL, NULL, &kernel), AGPU_ERROR_INVALID_ARGUMENT, "source is NULL");
    CHECK(kernel == NULL);
}

static float first_value(agpu_memory memory) {
    float value = -1;
    DO(agpu_memory_read(memory, 0, &value, sizeof value, NULL));
    return value;
}

static void prepared_launches_and_graphs(agpu_device device) {
    agpu_kernel kernel = compile(device, "add_one");
    agpu_memory memory = NULL, copy = NULL;
    agpu_stream stream = NULL;
    agpu_event event = NULL;
    DO(agpu_memory_allocate(device, 64 * sizeof(float), NULL, &memory));
    DO(agpu_memory_allocate(device, 64 * sizeof(float), NULL, &copy));
    DO(agpu_stream_create(device, &stream));
    DO(agpu_event_create(device, &event));
    DO(agpu_memory_fill(memory, 0, 64 * sizeof(float), 0, NULL));
    agpu_argument argument = agpu_argument_memory(memory, 0);
    agpu_launch_shape shape = AGPU_LAUNCH_SHAPE_INIT;
    shape.block[0] = 64;

    agpu_launch launch = NULL;
    DO(agpu_launch_prepare(kernel, &shape, &argument, 1, &launch));
    DO(agpu_release(kernel)); /* the launch has it */
    DO(agpu_launch_run(launch, NULL));
    for (int i = 0; i < 9; i++) DO(agpu_launch_run(launch, stream));
    DO(agpu_stream_synchronize(stream));
    CHECK(first_value(memory) == 10);

    agpu_captured_graph graph = NULL, second = NULL;
    DO(agpu_captured_graph_begin(device, &graph));
    REFUSED(agpu_captured_graph_begin(device, &second), AGPU_ERROR_NOT_CAPTURABLE, "second graph");
    REFUSED(agpu_stream_synchronize(stream), AGPU_ERROR_NOT_CAPTURABLE, "records a graph");
    REFUSED(agpu_captured_graph_replay(graph, NULL), AGPU_ERROR_NOT_CAPTURABLE, "replaying");
    DO(agpu_memory_fill(memory, 0, 64 * sizeof(float), 0, NULL));
    DO(agpu_launch_run(launch, stream));
    DO(agpu_event_record(event, stream));
    agpu_stream other = NULL;
    DO(agpu_stream_create(device, &other));
    DO(agpu_stream_wait_event(other, event));
    DO(agpu_launch_run(launch, other));
    DO(agpu_event_record(event, other));
    DO(agpu_stream_wait_event(stream, event));
    DO(agpu_launch_run(launch, stream));
    DO(agpu_captured_graph_end(graph));
    REFUSED(agpu_captured_graph_end(graph), AGPU_ERROR_NOT_CAPTURABLE, "once");
    REFUSED(agpu_event_synchronize(event), AGPU_ERROR_NOT_CAPTURABLE, "inside a graph");
    CHECK(first_value(memory) == 10);
    uint64_t nodes = 0;
    DO(agpu_captured_graph_node_count(graph, &nodes));
    CHECK(nodes == 4);
    DO(agpu_captured_graph_replay(graph, NULL));
    CHECK(first_value(memory) == 3);
    DO(agpu_captured_graph_replay(graph, stream));
    DO(agpu_memory_copy(copy, 0, memory, 0, 64 * sizeof(float), stream));
    DO(agpu_stream_synchronize(stream));
    CHECK(first_value(copy) == 3);

    DO(agpu_captured_graph_begin(device, &second));
    DO(agpu_captured_graph_abandon(second));
    REFUSED(agpu_captured_graph_replay(second, NULL), AGPU_ERROR_NOT_CAPTURABLE, "not recorded");
    agpu_handle all[] = {graph, second, launch, memory, copy, event, other, stream};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) DO(agpu_release(all[i]));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    every_kind_of_argument(device);
    errors_of_the_source(device);
    prepared_launches_and_graphs(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
