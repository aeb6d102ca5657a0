/* Stands for libcudnn.so.9. Numbers are those of the vendor's headers, written down apart from ours. As in the real library the first algorithms
   that it names are not always the wanted ones: one by Winograd for the forward pass, one that is not deterministic for the gradients. Volumes
   with their channels last it does not convolve. */
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
