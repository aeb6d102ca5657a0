/* Stands for libMIOpen.so.1. Numbers are those of miopen.h, written down apart from ours. The first solution that it names is by Winograd. */
#include "convolution.h"

enum { NOT_INITIALIZED = 1, BAD_PARAM = 3, INTERNAL_ERROR = 5, NOT_IMPLEMENTED = 6, MAGIC = 0x57a4d, SOLUTION = 77 };

struct handle { int magic; void *stream; };
struct convolution { struct steps steps; int is_deterministic, has_other_f16; };
struct solution { float time; size_t workspace; uint64_t id; int algorithm; };

static int number_of(int type, enum number *number) {
    static const struct { int type; enum number number; } known[] = {{0, F16}, {1, F32}, {5, BF16}, {6, F64}};
    for (size_t index = 0; index < sizeof known / sizeof *known; index++)
        if (known[index].type == type) { *number = known[index].number; return 0; }
    return BAD_PARAM;
}

int miopenCreate(struct handle **place) { struct handle handle = {MAGIC, NULL}; return fault("start") ? NOT_INITIALIZED : give(place, &handle, sizeof handle); }
int miopenDestroy(struct handle *handle) { return take(handle); }
int miopenSetStream(struct handle *handle, void *stream) { handle->stream = stream; return 0; }
const char *miopenGetErrorString(int status) { return status == INTERNAL_ERROR ? "miopenStatusInternalError" : "miopenStatusBadParm"; }

int miopenCreateTensorDescriptor(void *place) { struct tensor tensor = {0}; return give(place, &tensor, sizeof tensor); }
int miopenDestroyTensorDescriptor(void *tensor) { return take(tensor); }
int miopenSetTensorDescriptor(struct tensor *tensor, int type, int rank, const int *extents, const int *strides) {
    if (rank < 1 || rank > 5) return BAD_PARAM;
    tensor->rank = rank;
    memcpy(tensor->extents, extents, (size_t)rank * sizeof *extents);
    memcpy(tensor->strides, strides, (size_t)rank * sizeof *strides);
    return number_of(type, &tensor->number);
}
int miopenCreateConvolutionDescriptor(void *place) { struct convolution convolution = {{0}, 0, -1}; convolution.steps.groups = 1; return give(place, &convolution, sizeof convolution); }
int miopenDestroyConvolutionDescriptor(void *convolution) { return take(convolution); }
int miopenInitConvolutionNdDescriptor(struct convolution *convolution, int axes, const int *padding, const int *stride, const int *dilation, int mode) {
    if (mode || axes < 2 || axes > 3) return BAD_PARAM;
    convolution->steps.axes = axes;
    memcpy(convolution->steps.padding, padding, (size_t)axes * sizeof *padding);
    memcpy(convolution->steps.stride, stride, (size_t)axes * sizeof *stride);
    memcpy(convolution->steps.dilation, dilation, (size_t)axes * sizeof *dilation);
    return 0;
}
int miopenSetConvolutionGroupCount(struct convolution *convolution, int groups) { convolution->steps.groups = groups; return 0; }
int miopenSetConvolutionAttribute(struct convolution *convolution, int attribute, int value) {
    if (attribute == 0) convolution->has_other_f16 = value;
    else if (attribute == 1) convolution->is_deterministic = value;
    else return BAD_PARAM;
    return 0;
}

static int check(const struct handle *handle, const struct tensor *image, const struct tensor *weight, const struct convolution *convolution, const struct tensor *result) {
    if (handle->magic != MAGIC || !is_current() || check_extents(image, weight, result, &convolution->steps)) return BAD_PARAM;
    if (convolution->is_deterministic != 1 || convolution->has_other_f16 != 0) return BAD_PARAM;
    return fault("refuse") ? NOT_IMPLEMENTED : 0;
}

static int name(int status, size_t wanted, size_t *count, struct solution *solutions) {
    if (status || wanted < 2) return status ? status : BAD_PARAM;
    /* Winograd (3), then an implicit product of matrices (5). */
    struct solution first = {1, 0, SOLUTION + 1, 3}, second = {2, workspace_wanted(), SOLUTION, 5};
    solutions[0] = first, solutions[1] = second;
    *count = 2;
    return 0;
}
int miopenConvolutionForwardGetSolution(struct handle *handle, const struct tensor *weight, const struct tensor *image, const struct convolution *convolution,
                                        const struct tensor *result, size_t wanted, size_t *count, struct solution *solutions) {
    return name(check(handle, image, weight, convolution, result), wanted, count, solutions);
}
int miopenConvolutionBackwardDataGetSolution(struct handle *handle, const struct tensor *result, const struct tensor *weight, const struct convolution *convolution,
                                             const struct tensor *image, size_t wanted, size_t *count, struct solution *solutions) {
    return name(check(handle, image, weight, convolution, result), wanted, count, solutions);
}
int miopenConvolutionBackwardWeightsGetSolution(struct handle *handle, const struct tensor *result, const struct tensor *image, const struct convolution *convolution,
                                                const struct tensor *weight, size_t wanted, size_t *count, struct solution *solutions) {
    return name(check(handle, image, weight, convolution, result), wanted, count, solutions);
}
int miopenConvolutionForwardCompileSolution(struct handle *handle, const struct tensor *weight, const struct tensor *image, const struct convolution *convolution,
                                            const struct tensor *result, uint64_t solution) {
    return solution == SOLUTION ? check(handle, image, weight, convolution, result) : BAD_PARAM;
}
int miopenConvolutionBackwardDataCompileSolution(struct handle *handle, const struct tensor *result, const struct tensor *weight, const struct convolution *convolution,
                                                 const struct tensor *image, uint64_t solution) {
    return solution == SOLUTION ? check(handle, image, weight, convolution, result) : BAD_PARAM;
}
int miopenConvolutionBackwardWeightsCompileSolution(struct handle *handle, const struct tensor *result, const struct tensor *image, const struct convolution *convolution,
                                                    const struct tensor *weight, uint64_t solution) {
    return solution == SOLUTION ? check(handle, image, weight, convolution, result) : BAD_PARAM;
}

struct call { enum pass pass; void *workspace; size_t bytes; uint64_t solution; };
static int run(struct handle *handle, const struct call *call, const struct tensor *image, void *x, const struct tensor *weight, void *w,
               const struct convolution *convolution, const struct tensor *result, void *y) {
    int status = check(handle, image, weight, convolution, result);
    if (status) return status;
    if (!handle->stream || call->solution != SOLUTION || call->bytes < workspace_wanted() || !x || !w || !y) return BAD_PARAM;
    if (fault("fail")) return INTERNAL_ERROR;
    memset(call->workspace, 0, call->bytes);
    char line[100];
    snprintf(line, sizeof line, "miopen %s %d", PASSES[call->pass], (int)image->number);
    write_log(line);
    return convolve(call->pass, image, x, weight, w, result, y, &convolution->steps, NULL) ? BAD_PARAM : 0;
}
int miopenConvolutionForwardImmediate(struct handle *handle, const struct tensor *weight, const void *w, const struct tensor *image, const void *x,
                                      const struct convolution *convolution, const struct tensor *result, void *y, void *workspace, size_t bytes, uint64_t solution) {
    struct call call = {FORWARD, workspace, bytes, solution};
    return run(handle, &call, image, (void *)x, weight, (void *)w, convolution, result, y);
}
int miopenConvolutionBackwardDataImmediate(struct handle *handle, const struct tensor *result, const void *y, const struct tensor *weight, const void *w,
                                           const struct convolution *convolution, const struct tensor *image, void *x, void *workspace, size_t bytes, uint64_t solution) {
    struct call call = {IMAGE_GRADIENT, workspace, bytes, solution};
    return run(handle, &call, image, x, weight, (void *)w, convolution, result, (void *)y);
}
int miopenConvolutionBackwardWeightsImmediate(struct handle *handle, const struct tensor *result, const void *y, const struct tensor *image, const void *x,
                                              const struct convolution *convolution, const struct tensor *weight, void *w, void *workspace, size_t bytes, uint64_t solution) {
    struct call call = {WEIGHT_GRADIENT, workspace, bytes, solution};
    return run(handle, &call, image, (void *)x, weight, w, convolution, result, (void *)y);
}
int miopenConvolutionForwardBias(struct handle *handle, const float *alpha, const struct tensor *bias, const void *b, const float *beta, const struct tensor *result, void *y) {
    if (handle->magic != MAGIC || *alpha != 1 || *beta != 0 || bias->extents[1] != result->extents[1] || result->number != F32) return BAD_PARAM;
    for (int64_t index = 0, count = count_of(result); index < count; index++)
        ((float *)y)[index] += ((const float *)b)[index / result->strides[1] % result->extents[1]];
    write_log("miopen bias");
    return 0;
}
