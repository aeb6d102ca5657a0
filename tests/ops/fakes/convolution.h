/* What the fakes of cuDNN and MIOpen share: a convolution or a gradient of it on the host, in float64. STAND_IN_FAULT makes it wrong ("wrong"),
   refuse ("refuse") or fail ("fail"), or the library not start ("start"); STAND_IN_WORKSPACE_BYTES is what algorithms ask for; STAND_IN_LOG names
   a file that gets one line for each convolution; one of more multiplications than STAND_IN_LARGEST is left out. */
#include "blas.h"

enum pass { FORWARD, IMAGE_GRADIENT, WEIGHT_GRADIENT };
static const char *const PASSES[] = {"forward", "image_gradient", "weight_gradient"};

/* Batch, channels, then the axes that windows slide along; a stride for each. */
struct tensor { enum number number; int rank, extents[5], strides[5]; };
struct steps { int axes, padding[3], stride[3], dilation[3], groups; };

static int live_objects;
int stand_in_live_objects(void) { return live_objects; }
static int give(void *place, const void *value, size_t bytes) {
    void *object = malloc(bytes);
    memcpy(object, value, bytes);
    *(void **)place = object;
    live_objects++;
    return 0;
}
static int take(void *object) { free(object); live_objects--; return 0; }

static size_t workspace_wanted(void) {
    const char *text = getenv("STAND_IN_WORKSPACE_BYTES");
    return text ? (size_t)atoll(text) : 4096;
}

static void write_log(const char *text) {
    const char *name = getenv("STAND_IN_LOG");
    FILE *file = name ? fopen(name, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s\n", text);
    fclose(file);
}

static int64_t count_of(const struct tensor *tensor) {
    int64_t count = 1;
    for (int axis = 0; axis < tensor->rank; axis++) count *= tensor->extents[axis];
    return count;
}

/* Extents along the three axes that windows may slide along; those that are missing come first. */
static void along(const struct tensor *tensor, int64_t extents[3], int64_t strides[3]) {
    for (int axis = 0; axis < 3; axis++) {
        int at = axis + tensor->rank - 3;
        extents[axis] = at >= 2 ? tensor->extents[at] : 1;
        strides[axis] = at >= 2 ? tensor->strides[at] : 0;
    }
}

/* Nonsense in the arguments ends in a number that is not 0. */
static int check_extents(const struct tensor *image, const struct tensor *weight, const struct tensor *result, const struct steps *steps) {
    if (image->rank != steps->axes + 2 || weight->rank != image->rank || result->rank != image->rank) return 1;
    if (image->number != weight->number || image->number != result->number || steps->groups < 1) return 2;
    if (weight->extents[1] * steps->groups != image->extents[1] || weight->extents[0] != result->extents[1]) return 3;
    if (weight->extents[0] % steps->groups || image->extents[0] != result->extents[0]) return 4;
    for (int axis = 0; axis < steps->axes; axis++) {
        int reach = steps->dilation[axis] * (weight->extents[axis + 2] - 1) + 1;
        if ((image->extents[axis + 2] + 2 * steps->padding[axis] - reach) / steps->stride[axis] + 1 != result->extents[axis + 2]) return 5;
    }
    return 0;
}

static int convolve(enum pass pass, const struct tensor *image, void *image_memory, const struct tensor *weight, void *weight_memory,
                    const struct tensor *result, void *result_memory, const struct steps *steps, const void *bias) {
    int status = check_extents(image, weight, result, steps);
    if (status) return status;
    const char *largest = getenv("STAND_IN_LARGEST");
    if (largest && count_of(result) * count_of(weight) / weight->extents[0] > atoll(largest)) return 0;
    const struct tensor *target = pass == FORWARD ? result : pass == IMAGE_GRADIENT ? image : weight;
    void *memory = pass == FORWARD ? result_memory : pass == IMAGE_GRADIENT ? image_memory : weight_memory;
    int64_t count = count_of(target);
    double *sums = calloc((size_t)count, sizeof *sums);
    int64_t ie[3], is[3], we[3], ws[3], re[3], rs[3];
    along(image, ie, is), along(weight, we, ws), along(result, re, rs);
    int step[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
    for (int axis = 0; axis < steps->axes; axis++) {
        int at = axis + 3 - steps->axes;
        step[at] = steps->stride[axis], pad[at] = steps->padding[axis], dilation[at] = steps->dilation[axis];
    }
    int own = weight->extents[0] / steps->groups, channels = weight->extents[1];
    for (int64_t n = 0; n < image->extents[0]; n++)
        for (int64_t k = 0; k < weight->extents[0]; k++)
            for (int64_t at = 0; at < re[0] * re[1] * re[2]; at++)
                for (int64_t c = 0; c < channels; c++)
                    for (int64_t tap = 0; tap < we[0] * we[1] * we[2]; tap++) {
                        int64_t o[3] = {at / (re[1] * re[2]), at / re[2] % re[1], at % re[2]};
                        int64_t t[3] = {tap / (we[1] * we[2]), tap / we[2] % we[1], tap % we[2]};
                        int64_t x = n * image->strides[0] + (k / own * channels + c) * image->strides[1];
                        int64_t w = k * weight->strides[0] + c * weight->strides[1];
                        int64_t y = n * result->strides[0] + k * result->strides[1];
                        int is_inside = 1;
                        for (int axis = 0; axis < 3; axis++) {
                            int64_t place = o[axis] * step[axis] - pad[axis] + t[axis] * dilation[axis];
                            is_inside = is_inside && place >= 0 && place < ie[axis];
                            x += place * is[axis], w += t[axis] * ws[axis], y += o[axis] * rs[axis];
                        }
                        if (!is_inside) continue;
                        if (pass == FORWARD) sums[y] += get(image->number, image_memory, x) * get(image->number, weight_memory, w);
                        if (pass == IMAGE_GRADIENT) sums[x] += get(image->number, result_memory, y) * get(image->number, weight_memory, w);
                        if (pass == WEIGHT_GRADIENT) sums[w] += get(image->number, image_memory, x) * get(image->number, result_memory, y);
                    }
    for (int64_t index = 0; index < count; index++) {
        double value = sums[index];
        if (bias) value += get(target->number, bias, index / target->strides[1] % target->extents[1]);
        put(target->number, memory, index, fault("wrong") ? value + 1 + fabs(value) / 8 : value);
    }
    free(sums);
    return 0;
}
