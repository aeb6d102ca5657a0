/* amdgpu/kernel.h: kernels from source, launches, graphs. The rules of amdgpu/runtime.h hold.
 *
 * Sources are HIP-C (docs/language.md): `extern "C" __global__ void scale(float *x, float factor, int n) { ... }`. They are compiled by this
 * library; LLVM, which turns the result into machine code, runs in a Python process: that of the Python package in a process that has it
 * loaded, otherwise one that is started when it is first needed, with the interpreter that AMDGPU_PYTHON names (default: the one that the
 * library was built or installed with, else python3). Compiled kernels are kept on disk.
 */
#ifndef AMDGPU_KERNEL_H
#define AMDGPU_KERNEL_H

#include "array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_kernel_object *agpu_kernel;
typedef struct agpu_launch_object *agpu_launch;
typedef struct agpu_captured_graph_object *agpu_captured_graph;

/* A macro of the source. */
typedef struct agpu_define {
    const char *name;
    const char *value; /* NULL: 1 */
} agpu_define;

typedef struct agpu_compile_options {
    uint64_t size_bytes;
    const char *kernel_name;        /* which kernel; NULL where the source has one. Instances of templates: "scale<float, 4>" */
    const char *file_name;          /* for messages; NULL: kernel.hip */
    const char *core_type;          /* what launches are counted for: aura (default), matrix, neuromorphic */
    const char *optimization_level; /* NULL: that of the device */
    const agpu_define *defines;
    uint64_t define_count;
    uint32_t fast_math;             /* 1 allows what changes bits */
    uint32_t checked;               /* 1 checks bounds and races while it runs, on the CPU device */
} agpu_compile_options;
#define AGPU_COMPILE_OPTIONS_INIT {sizeof(agpu_compile_options), NULL, NULL, NULL, NULL, NULL, 0, 0, 0}

/* Compile a kernel, or find it in the cache; `options` may be NULL. The message of AGPU_ERROR_COMPILE_FAILED has all errors of the source. */
agpu_status agpu_kernel_compile(agpu_device device, const char *source, const agpu_compile_options *options, agpu_kernel *kernel);

typedef struct agpu_kernel_facts {
    uint64_t size_bytes;
    char name[128];
    char signature[512];
    uint32_t parameter_count;
    uint32_t max_threads_per_block;
    uint64_t static_shared_bytes;
    double compile_seconds;
} agpu_kernel_facts;
#define AGPU_KERNEL_FACTS_INIT {sizeof(agpu_kernel_facts), {0}, {0}, 0, 0, 0, 0}

/* Facts of a kernel. */
agpu_status agpu_kernel_info(agpu_kernel kernel, agpu_kernel_facts *info);

/* An argument. Make one with the functions below. */
#define AGPU_ARGUMENT_MEMORY 1
#define AGPU_ARGUMENT_POINTER 2
#define AGPU_ARGUMENT_INTEGER 3
#define AGPU_ARGUMENT_UNSIGNED 4
#define AGPU_ARGUMENT_REAL 5
#define AGPU_ARGUMENT_BOOLEAN 6
#define AGPU_ARGUMENT_STRUCT 7
#define AGPU_ARGUMENT_ARRAY 8
typedef struct agpu_argument {
    uint32_t kind;
    uint32_t reserved;
    union {
        agpu_memory memory;
        agpu_array array;
        const void *pointer;
        int64_t integer;
        uint64_t unsigned_integer;
        double real;
    } value;
    uint64_t bytes; /* memory: where it begins; pointer, struct: how long it is */
} agpu_argument;

/* Memory from byte `offset` on. The launch keeps it from being handed on, also when it is released meanwhile. */
static inline agpu_argument agpu_argument_memory(agpu_memory memory, uint64_t offset) {
    agpu_argument argument = {AGPU_ARGUMENT_MEMORY, 0, {0}, offset};
    argument.value.memory = memory;
    return argument;
}

/* A contiguous array of the kernel's device, whose dtype is checked against the parameter's. A launch in a stream keeps it alive until it has
 * run, also when it is released meanwhile, and whoever reads the array waits for the launch. A launch without a stream waits for what streams
 * were given to do with the array. */
static inline agpu_argument agpu_argument_array(agpu_array array) {
    agpu_argument argument = {AGPU_ARGUMENT_ARRAY, 0, {0}, 0};
    argument.value.array = array;
    return argument;
}

/* An address that the device can use: of another library on a GPU, of the host on the CPU device. The caller keeps it valid until the launch
 * has run, and has `bytes` right, which checked kernels are held to. */
static inline agpu_argument agpu_argument_pointer(const void *pointer, uint64_t bytes) {
    agpu_argument argument = {AGPU_ARGUMENT_POINTER, 0, {0}, bytes};
    argument.value.pointer = pointer;
    return argument;
}

/* An integer for a parameter of any integer or floating type that holds it. */
static inline agpu_argument agpu_argument_integer(int64_t value) {
    agpu_argument argument = {AGPU_ARGUMENT_INTEGER, 0, {0}, 0};
    argument.value.integer = value;
    return argument;
}

/* As above, for values beyond INT64_MAX. */
static inline agpu_argument agpu_argument_unsigned(uint64_t value) {
    agpu_argument argument = {AGPU_ARGUMENT_UNSIGNED, 0, {0}, 0};
    argument.value.unsigned_integer = value;
    return argument;
}

/* A floating-point number, rounded to the parameter's type. */
static inline agpu_argument agpu_argument_real(double value) {
    agpu_argument argument = {AGPU_ARGUMENT_REAL, 0, {0}, 0};
    argument.value.real = value;
    return argument;
}

/* A truth value, for a parameter of any type that holds 0 and 1. */
static inline agpu_argument agpu_argument_boolean(bool value) {
    agpu_argument argument = {AGPU_ARGUMENT_BOOLEAN, 0, {0}, 0};
    argument.value.integer = value ? 1 : 0;
    return argument;
}

/* A struct by value, laid out as in C; it is copied. */
static inline agpu_argument agpu_argument_struct(const void *value, uint64_t bytes) {
    agpu_argument argument = {AGPU_ARGUMENT_STRUCT, 0, {0}, bytes};
    argument.value.pointer = value;
    return argument;
}

/* Blocks and threads of a launch; an extent of 0 is 1. */
typedef struct agpu_launch_shape {
    uint64_t size_bytes;
    uint32_t grid[3];
    uint32_t block[3];
    uint64_t shared_bytes; /* dynamic shared memory */
} agpu_launch_shape;
#define AGPU_LAUNCH_SHAPE_INIT {sizeof(agpu_launch_shape), {1, 1, 1}, {1, 1, 1}, 0}

/* Launch: in `stream` and return at once, or with NULL wait. Arguments are checked against the kernel's parameters. */
agpu_status agpu_kernel_launch(agpu_kernel kernel, const agpu_launch_shape *shape, const agpu_argument *arguments, size_t count,
                               agpu_stream stream);

/* A launch that will be repeated: shape and arguments are checked and packed once. It keeps its kernel, its memory and its arrays alive. */
agpu_status agpu_launch_prepare(agpu_kernel kernel, const agpu_launch_shape *shape, const agpu_argument *arguments, size_t count,
                                agpu_launch *launch);

/* Run a prepared launch: in `stream` and return at once, or with NULL wait. */
agpu_status agpu_launch_run(agpu_launch launch, agpu_stream stream);

/* Begin to record: until `agpu_captured_graph_end`, launches, copies and fills that this thread submits for the device do not run, and events that it
 * records order the graph's streams. Waiting, and copies from or to the host, are AGPU_ERROR_NOT_CAPTURABLE meanwhile. */
agpu_status agpu_captured_graph_begin(agpu_device device, agpu_captured_graph *graph);

/* End the recording, on the thread that began it. The graph keeps the memory that it uses. */
agpu_status agpu_captured_graph_end(agpu_captured_graph graph);

/* Give the recording up, on the thread that began it; the graph can only be released then. */
agpu_status agpu_captured_graph_abandon(agpu_captured_graph graph);

/* How many launches, copies and fills were recorded. */
agpu_status agpu_captured_graph_node_count(agpu_captured_graph graph, uint64_t *count);

/* Run everything that was recorded: in `stream` and return at once, or with NULL wait. */
agpu_status agpu_captured_graph_replay(agpu_captured_graph graph, agpu_stream stream);

#ifdef __cplusplus
}
#endif

#endif
