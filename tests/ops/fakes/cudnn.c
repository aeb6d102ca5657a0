/* Stands for libcudnn.so.9. Numbers are those of the vendor's headers, written down apart from ours. As in the real library the first algorithms
   that it names are not always the wanted ones: one by Winograd for the forward pass, one that is not deterministic for the gradients. Volumes
   with their channels last it does not convolve. STAND_IN_FAULT "graphs" leaves graphs out. */
#include "convolution.h"

enum { NOT_INITIALIZED = 1001, BAD_PARAM = 2000, NOT_SUPPORTED = 3000, EXECUTION_FAILED = 5000, MAGIC = 0x57a4d };
enum { FMA_MATH = 3, CROSS_CORRELATION = 1, NHWC = 1, IDENTITY = 5 };

struct handle { int magic; void *stream; };
struct convolution { struct steps steps; int sums, math; };
struct activation { int mode; };
struct record { int algorithm, status; float time; size_t memory; int determinism, math, reserved[3]; };

static int number_of(int type, enum number *number) {
    static const struct { int type; enum number number; } known[] = {{0, F32}, {1, F64}, {2, F16}, {9, BF16}};
    for (size_t index = 0; index < sizeof known / sizeof *known; index++)
        if (known[index].type == type) { *number = known[index].number; return 0; }
    return BAD_PARAM;
}

int cudnnCreate(struct handle **place) { struct handle handle = {MAGIC, NULL}; return fault("start") ? NOT_INITIALIZED : give(place, &handle, sizeof handle); }
int cudnnDestroy(struct handle *handle) { return take(handle); }
int cudnnSetStream(struct handle *handle, void *stream) { handle->stream = stream; return 0; }
const char *cudnnGetErrorString(int status) {
    return status == NOT_INITIALIZED ? "CUDNN_STATUS_NOT_INITIALIZED" : status == EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED" : "CUDNN_STATUS_BAD_PARAM";
}

int cudnnCreateTensorDescriptor(void *place) { struct tensor tensor = {0}; return give(place, &tensor, sizeof tensor); }
int cudnnDestroyTensorDescriptor(void *tensor) { return take(tensor); }
int cudnnSetTensorNdDescriptor(struct tensor *tensor, int type, int rank, const int extents[], const int strides[]) {
    if (rank < 4 || rank > 5) return NOT_SUPPORTED;
    tensor->rank = rank;
    memcpy(tensor->extents, extents, (size_t)rank * sizeof *extents);
    memcpy(tensor->strides, strides, (size_t)rank * sizeof *strides);
    if (rank == 5 && strides[1] == 1 && extents[1] > 1) return NOT_SUPPORTED;
    return number_of(type, &tensor->number);
}
int cudnnCreateFilterDescriptor(void *place) { return cudnnCreateTensorDescriptor(place); }
int cudnnDestroyFilterDescriptor(void *filter) { return take(filter); }
int cudnnSetFilterNdDescriptor(struct tensor *filter, int type, int format, int rank, const int extents[]) {
    if (format < 0 || format > NHWC || rank < 4 || rank > 5) return BAD_PARAM;
    filter->rank = rank;
    memcpy(filter->extents, extents, (size_t)rank * sizeof *extents);
    int stride = 1;
    if (format == NHWC) filter->strides[1] = 1, stride = extents[1];
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (axis == 1 && format == NHWC) continue;
        filter->strides[axis] = stride;
        stride *= extents[axis];
    }
    return number_of(type, &filter->number);
}
int cudnnCreateConvolutionDescriptor(void *place) { struct convolution convolution = {{0}, -1, 0}; convolution.steps.groups = 1; return give(place, &convolution, sizeof convolution); }
int cudnnDestroyConvolutionDescriptor(void *convolution) { return take(convolution); }
int cudnnSetConvolutionNdDescriptor(struct convolution *convolution, int axes, const int padding[], const int stride[], const int dilation[], int mode, int sums) {
    if (mode != CROSS_CORRELATION || axes < 2 || axes > 3) return BAD_PARAM;
    convolution->steps.axes = axes;
    convolution->sums = sums;
    memcpy(convolution->steps.padding, padding, (size_t)axes * sizeof *padding);
    memcpy(convolution->steps.stride, stride, (size_t)axes * sizeof *stride);
    memcpy(convolution->steps.dilation, dilation, (size_t)axes * sizeof *dilation);
    return 0;
}
int cudnnSetConvolutionGroupCount(struct convolution *convolution, int groups) { convolution->steps.groups = groups; return 0; }
int cudnnSetConvolutionMathType(struct convolution *convolution, int math) { convolution->math = math; return 0; }
int cudnnCreateActivationDescriptor(void *place) { struct activation activation = {-1}; return give(place, &activation, sizeof activation); }
int cudnnDestroyActivationDescriptor(void *activation) { return take(activation); }
int cudnnSetActivationDescriptor(struct activation *activation, int mode, int nan, double ceiling) {
    activation->mode = mode;
    return nan || ceiling != 0 ? BAD_PARAM : 0;
}

static int check(const struct handle *handle, const struct tensor *image, const struct tensor *weight, const struct convolution *convolution, const struct tensor *result) {
    if (handle->magic != MAGIC || !is_current() || check_extents(image, weight, result, &convolution->steps)) return BAD_PARAM;
    if (convolution->sums != (image->number == F64 ? 1 : 0)) return BAD_PARAM;
    return fault("refuse") ? NOT_SUPPORTED : 0;
}

static int name(enum pass pass, const struct convolution *convolution, int wanted, int *count, struct record *records) {
    if (wanted < 3) return BAD_PARAM;
    /* Winograd (6) forward, atomic additions (0) in gradients; sums of products by units that round, which want nothing; then as wanted. */
    struct record first = {pass == FORWARD ? 6 : 0, 0, 1, 0, pass == FORWARD, convolution->math, {0}};
    struct record second = {1, 0, 2, 0, 1, 0, {0}}, third = {1, 0, 3, workspace_wanted(), 1, convolution->math, {0}};
    *count = 0;
    records[(*count)++] = first;
    if (convolution->math == FMA_MATH) records[(*count)++] = second;
    records[(*count)++] = third;
    return 0;
}
int cudnnGetConvolutionForwardAlgorithm_v7(struct handle *handle, const struct tensor *image, const struct tensor *weight, const struct convolution *convolution,
                                           const struct tensor *result, int wanted, int *count, struct record *records) {
    int status = check(handle, image, weight, convolution, result);
    return status ? status : name(FORWARD, convolution, wanted, count, records);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(struct handle *handle, const struct tensor *weight, const struct tensor *result, const struct convolution *convolution,
                                                const struct tensor *image, int wanted, int *count, struct record *records) {
    int status = check(handle, image, weight, convolution, result);
    return status ? status : name(IMAGE_GRADIENT, convolution, wanted, count, records);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(struct handle *handle, const struct tensor *image, const struct tensor *result, const struct convolution *convolution,
                                                  const struct tensor *weight, int wanted, int *count, struct record *records) {
    int status = check(handle, image, weight, convolution, result);
    return status ? status : name(WEIGHT_GRADIENT, convolution, wanted, count, records);
}
int cudnnGetConvolutionForwardWorkspaceSize(struct handle *handle, const struct tensor *image, const struct tensor *weight, const struct convolution *convolution,
                                            const struct tensor *result, int algorithm, size_t *bytes) {
    *bytes = workspace_wanted();
    return algorithm == 1 ? check(handle, image, weight, convolution, result) : BAD_PARAM;
}

struct call { enum pass pass; const void *alpha, *beta, *bias; int algorithm; void *workspace; size_t bytes; };
static int run(struct handle *handle, const struct call *call, const struct tensor *image, void *x, const struct tensor *weight, void *w,
               const struct convolution *convolution, const struct tensor *result, void *y) {
    int status = check(handle, image, weight, convolution, result);
    if (status) return status;
    if (!handle->stream || call->algorithm != 1 || call->bytes < workspace_wanted() || !x || !w || !y) return BAD_PARAM;
    if (get(image->number == F64 ? F64 : F32, call->alpha, 0) != 1 || get(image->number == F64 ? F64 : F32, call->beta, 0) != 0) return BAD_PARAM;
    if (fault("fail")) return EXECUTION_FAILED;
    memset(call->workspace, 0, call->bytes);
    char line[100];
    snprintf(line, sizeof line, "cudnn %s %d %s%s", PASSES[call->pass], (int)image->number, convolution->math == FMA_MATH ? "fma" : "units", call->bias ? " bias" : "");
    write_log(line);
    return convolve(call->pass, image, x, weight, w, result, y, &convolution->steps, call->bias) ? BAD_PARAM : 0;
}

int cudnnConvolutionForward(struct handle *handle, const void *alpha, const struct tensor *image, const void *x, const struct tensor *weight, const void *w,
                            const struct convolution *convolution, int algorithm, void *workspace, size_t bytes, const void *beta, const struct tensor *result, void *y) {
    struct call call = {FORWARD, alpha, beta, NULL, algorithm, workspace, bytes};
    return run(handle, &call, image, (void *)x, weight, (void *)w, convolution, result, y);
}
int cudnnConvolutionBackwardData(struct handle *handle, const void *alpha, const struct tensor *weight, const void *w, const struct tensor *result, const void *y,
                                 const struct convolution *convolution, int algorithm, void *workspace, size_t bytes, const void *beta, const struct tensor *image, void *x) {
    struct call call = {IMAGE_GRADIENT, alpha, beta, NULL, algorithm, workspace, bytes};
    return run(handle, &call, image, x, weight, (void *)w, convolution, result, (void *)y);
}
int cudnnConvolutionBackwardFilter(struct handle *handle, const void *alpha, const struct tensor *image, const void *x, const struct tensor *result, const void *y,
                                   const struct convolution *convolution, int algorithm, void *workspace, size_t bytes, const void *beta, const struct tensor *weight, void *w) {
    struct call call = {WEIGHT_GRADIENT, alpha, beta, NULL, algorithm, workspace, bytes};
    return run(handle, &call, image, (void *)x, weight, w, convolution, result, (void *)y);
}
int cudnnConvolutionBiasActivationForward(struct handle *handle, const void *alpha, const struct tensor *image, const void *x, const struct tensor *weight, const void *w,
                                          const struct convolution *convolution, int algorithm, void *workspace, size_t bytes, const void *beta, const struct tensor *added,
                                          const void *z, const struct tensor *bias, const void *b, const struct activation *activation, const struct tensor *result, void *y) {
    if (added != result || z != y || activation->mode != IDENTITY || !b) return BAD_PARAM;
    if (bias->rank != result->rank || bias->extents[1] != result->extents[1] || count_of(bias) != bias->extents[1] || bias->number != result->number) return BAD_PARAM;
    struct call call = {FORWARD, alpha, beta, b, algorithm, workspace, bytes};
    return run(handle, &call, image, (void *)x, weight, (void *)w, convolution, result, y);
}

/* Graphs: descriptors are lists of attributes. Engines are: 0 by Winograd or not deterministic, 1 by units that round, 2 plain. */
enum { CONVOLUTION = 1, ENGINE, ENGINECFG, ENGINEHEUR, EXECUTION_PLAN, OPERATION_FORWARD = 10, OPERATION_BACKWARD_FILTER, OPERATION_BACKWARD_DATA, OPERATIONGRAPH = 15, VARIANT_PACK, TENSOR };
enum { MOST_ATTRIBUTES = 12, MOST_BYTES = 48, ENGINES = 3 };
struct attribute { int name, type; int64_t count; unsigned char bytes[MOST_BYTES]; };
struct descriptor { int kind, is_finished, index, used; struct descriptor *graph; struct attribute attributes[MOST_ATTRIBUTES]; };

static size_t size_of_type(int type) { return type == 1 || type == 4 || type == 7 || type == 8 || type == 11 ? 4 : 8; }
static const struct attribute *attribute_of(const struct descriptor *descriptor, int name, int type, int64_t count) {
    for (int index = 0; index < descriptor->used; index++) {
        const struct attribute *own = &descriptor->attributes[index];
        if (own->name == name) return own->type == type && own->count == count ? own : NULL;
    }
    return NULL;
}
static struct descriptor *part_of(const struct descriptor *descriptor, int name, int kind) {
    const struct attribute *own = attribute_of(descriptor, name, 15, 1);
    struct descriptor *part = own ? *(struct descriptor *const *)own->bytes : NULL;
    return part && part->is_finished && (kind < 0 || part->kind == kind) ? part : NULL;
}
static int64_t integer_of(const struct descriptor *descriptor, int name) {
    const struct attribute *own = attribute_of(descriptor, name, 3, 1);
    return own ? *(const int64_t *)own->bytes : -1;
}

int cudnnBackendCreateDescriptor(int kind, void *place) {
    struct descriptor descriptor = {.kind = kind};
    return fault("graphs") ? NOT_SUPPORTED : give(place, &descriptor, sizeof descriptor);
}
int cudnnBackendDestroyDescriptor(void *descriptor) { return take(descriptor); }
int cudnnBackendSetAttribute(struct descriptor *descriptor, int name, int type, int64_t count, const void *values) {
    if (descriptor->is_finished || descriptor->used == MOST_ATTRIBUTES || count * size_of_type(type) > MOST_BYTES) return BAD_PARAM;
    struct attribute *own = &descriptor->attributes[descriptor->used++];
    own->name = name, own->type = type, own->count = count;
    memcpy(own->bytes, values, (size_t)count * size_of_type(type));
    return 0;
}

static int read_tensor(const struct descriptor *descriptor, struct tensor *tensor) {
    for (int rank = 4; rank <= 5; rank++) {
        const struct attribute *extents = attribute_of(descriptor, 902, 3, rank), *strides = attribute_of(descriptor, 903, 3, rank);
        const struct attribute *type = attribute_of(descriptor, 901, 1, 1);
        if (!extents || !strides || !type || integer_of(descriptor, 900) != 16) continue;
        tensor->rank = rank;
        for (int axis = 0; axis < rank; axis++) {
            tensor->extents[axis] = (int)((const int64_t *)extents->bytes)[axis];
            tensor->strides[axis] = (int)((const int64_t *)strides->bytes)[axis];
        }
        if (rank == 5 && tensor->strides[1] == 1 && tensor->extents[1] > 1) return NOT_SUPPORTED;
        return number_of(*(const int *)type->bytes, &tensor->number);
    }
    return BAD_PARAM;
}
static int read_steps(const struct descriptor *descriptor, struct steps *steps, int *sums) {
    const struct attribute *type = attribute_of(descriptor, 100, 1, 1), *mode = attribute_of(descriptor, 101, 7, 1);
    int64_t axes = integer_of(descriptor, 106);
    const struct attribute *before = attribute_of(descriptor, 105, 3, axes), *behind = attribute_of(descriptor, 104, 3, axes);
    const struct attribute *stride = attribute_of(descriptor, 103, 3, axes), *dilation = attribute_of(descriptor, 102, 3, axes);
    if (!type || !mode || *(const int *)mode->bytes != CROSS_CORRELATION || axes < 2 || axes > 3 || !before || !behind || !stride || !dilation) return BAD_PARAM;
    if (memcmp(before->bytes, behind->bytes, (size_t)axes * 8)) return BAD_PARAM;
    *sums = *(const int *)type->bytes;
    steps->axes = (int)axes, steps->groups = 1;
    for (int axis = 0; axis < axes; axis++) {
        steps->padding[axis] = (int)((const int64_t *)before->bytes)[axis];
        steps->stride[axis] = (int)((const int64_t *)stride->bytes)[axis];
        steps->dilation[axis] = (int)((const int64_t *)dilation->bytes)[axis];
    }
    return 0;
}

struct graph { enum pass pass; struct tensor image, weight, result; int64_t ids[3]; struct steps steps; };
static int read_graph(const struct descriptor *descriptor, struct graph *graph) {
    static const int NAMES[3][6] = {{702, 704, 703, 705, 700, 701}, {708, 710, 709, 711, 706, 707}, {714, 716, 715, 717, 712, 713}};
    const struct descriptor *operation = part_of(descriptor, 801, -1);
    const struct attribute *handle = attribute_of(descriptor, 800, 0, 1);
    if (!operation || !handle || (*(struct handle *const *)handle->bytes)->magic != MAGIC || !is_current()) return BAD_PARAM;
    graph->pass = operation->kind == OPERATION_FORWARD ? FORWARD : operation->kind == OPERATION_BACKWARD_DATA ? IMAGE_GRADIENT : WEIGHT_GRADIENT;
    if (graph->pass == WEIGHT_GRADIENT && operation->kind != OPERATION_BACKWARD_FILTER) return BAD_PARAM;
    const int *names = NAMES[graph->pass];
    const struct descriptor *convolution = part_of(operation, names[0], CONVOLUTION);
    struct tensor *tensors[3] = {&graph->image, &graph->weight, &graph->result};
    for (int index = 0; index < 3; index++) {
        const struct descriptor *tensor = part_of(operation, names[1 + index], TENSOR);
        int status = tensor ? read_tensor(tensor, tensors[index]) : BAD_PARAM;
        if (status) return status;
        graph->ids[index] = integer_of(tensor, 906);
    }
    int sums = -1, type = graph->image.number == F64 ? 5 : 4;
    if (!convolution || read_steps(convolution, &graph->steps, &sums) || sums != (graph->image.number == F64)) return BAD_PARAM;
    const struct attribute *alpha = attribute_of(operation, names[4], type, 1), *beta = attribute_of(operation, names[5], type, 1);
    enum number factor = graph->image.number == F64 ? F64 : F32;
    if (!alpha || !beta || get(factor, alpha->bytes, 0) != 1 || get(factor, beta->bytes, 0) != 0) return BAD_PARAM;
    graph->steps.groups = graph->image.extents[1] / graph->weight.extents[1];
    if (fault("refuse")) return NOT_SUPPORTED;
    return check_extents(&graph->image, &graph->weight, &graph->result, &graph->steps) ? BAD_PARAM : 0;
}

int cudnnBackendFinalize(struct descriptor *descriptor) {
    struct graph graph;
    int status = 0;
    if (descriptor->kind == OPERATIONGRAPH) status = read_graph(descriptor, &graph);
    if (descriptor->kind == ENGINEHEUR && !(descriptor->graph = part_of(descriptor, 201, OPERATIONGRAPH))) status = BAD_PARAM;
    if (descriptor->kind == ENGINEHEUR && !attribute_of(descriptor, 200, 8, 1)) status = BAD_PARAM;
    if (descriptor->kind == EXECUTION_PLAN) {
        const struct descriptor *configuration = part_of(descriptor, 401, ENGINECFG);
        if (!configuration || !attribute_of(descriptor, 400, 0, 1)) return BAD_PARAM;
        descriptor->index = configuration->index, descriptor->graph = configuration->graph;
    }
    if (!status) descriptor->is_finished = 1;
    return status;
}
int cudnnBackendGetAttribute(struct descriptor *descriptor, int name, int type, int64_t room, int64_t *count, void *values) {
    if (descriptor->kind == ENGINEHEUR && name == 202 && type == 15) {
        *count = room < ENGINES ? room : ENGINES;
        for (int index = 0; index < *count; index++) {
            struct descriptor *made = ((struct descriptor **)values)[index];
            if (made->kind != ENGINECFG) return BAD_PARAM;
            made->index = index, made->is_finished = 1, made->graph = descriptor->graph;
        }
        return 0;
    }
    *count = 1;
    if (descriptor->kind == ENGINECFG && name == 300 && type == 15) {
        struct descriptor *engine = *(struct descriptor **)values;
        engine->index = descriptor->index, engine->graph = descriptor->graph, engine->is_finished = 1;
        return engine->kind == ENGINE ? 0 : BAD_PARAM;
    }
    if (descriptor->kind == ENGINE && name == 1303 && type == 11) {
        struct graph graph;
        if (room < 1 || read_graph(descriptor->graph, &graph)) return BAD_PARAM;
        // Tensor cores, which round float32 to tf32, have no note that inputs are converted.
        *count = descriptor->index < 2;
        *(int *)values = descriptor->index == 0 ? (graph.pass == FORWARD ? 5 : 4) : 0;
        return 0;
    }
    if (descriptor->kind == EXECUTION_PLAN && name == 402 && type == 3) return *(int64_t *)values = (int64_t)workspace_wanted(), 0;
    return BAD_PARAM;
}
int cudnnBackendExecute(struct handle *handle, const struct descriptor *plan, const struct descriptor *pack) {
    const struct attribute *ids = attribute_of(pack, 1000, 3, 3), *pointers = attribute_of(pack, 1001, 6, 3), *workspace = attribute_of(pack, 1003, 6, 1);
    struct graph graph;
    if (!ids || !pointers || !workspace || !plan->is_finished || !pack->is_finished || pack->kind != VARIANT_PACK || !handle->stream) return BAD_PARAM;
    int status = read_graph(plan->graph, &graph);
    if (status) return status;
    if (memcmp(ids->bytes, graph.ids, sizeof graph.ids)) return BAD_PARAM;
    if (fault("fail")) return EXECUTION_FAILED;
    void *const *memory = (void *const *)pointers->bytes;
    memset(*(void *const *)workspace->bytes, 0, workspace_wanted());
    char line[100];
    snprintf(line, sizeof line, "cudnn %s %d %s graph", PASSES[graph.pass], (int)graph.image.number, plan->index == 2 ? "fma" : "units");
    write_log(line);
    return convolve(graph.pass, &graph.image, memory[0], &graph.weight, memory[1], &graph.result, memory[2], &graph.steps, NULL) ? BAD_PARAM : 0;
}
