/* Stands for libcublasLt.so.13 or, with -DHIP, for libhipblaslt.so.1. Numbers are those of the vendors' headers, written down apart from ours. */
#include "blas.h"

#ifdef HIP
#define NAME(name) hipblas##name
enum { OP_N = 111, OP_T = 112, DESC_TRANSA = 0, DESC_TRANSB = 1, DESC_EPILOGUE = 2, DESC_BIAS = 3, DESC_BIAS_TYPE = 4 };
enum { LAYOUT_BATCH = 0, LAYOUT_STRIDE = 1, COMPUTE_F32 = 2, COMPUTE_TF32 = 6, COMPUTE_F64 = 7, COMPUTE_I32 = 9 };
enum { NOT_SUPPORTED = 7, INVALID_VALUE = 3, EXECUTION_FAILED = 5, ALGORITHM_WORDS = 3 };
#else
#define NAME(name) cublas##name
enum { OP_N = 0, OP_T = 1, DESC_TRANSA = 3, DESC_TRANSB = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8, DESC_BIAS_TYPE = 26 };
enum { LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6, COMPUTE_F32 = 68, COMPUTE_TF32 = 77, COMPUTE_F64 = 70, COMPUTE_I32 = 72 };
enum { NOT_SUPPORTED = 15, INVALID_VALUE = 7, EXECUTION_FAILED = 13, ALGORITHM_WORDS = 8 };
#endif
enum { PREFERENCE_WORKSPACE = 1, WORKSPACE_BYTES = 4096, MAGIC = 0x57a4d };

struct product { int compute, scale, trans_a, trans_b; uint32_t epilogue; int bias_type; void *bias; };
struct layout { enum number number; uint64_t rows, columns; int64_t lead, stride; int32_t batch; };
struct preference { uint64_t workspace; uint32_t reduction; };
struct record { uint64_t algorithm[ALGORITHM_WORDS]; size_t workspace; int state; float waves; int reserved[4]; };

static int number_of(int type, enum number *number) {
    static const struct { int type; enum number number; } known[] = {{0, F32}, {1, F64}, {2, F16}, {3, I8}, {10, I32}, {14, BF16}};
    for (size_t index = 0; index < sizeof known / sizeof *known; index++)
        if (known[index].type == type) { *number = known[index].number; return 0; }
    return INVALID_VALUE;
}

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

int NAME(LtCreate)(void *handle) { int magic = MAGIC; return fault("start") ? 1 : give(handle, &magic, sizeof magic); }
int NAME(LtDestroy)(void *handle) { return take(handle); }
int NAME(LtMatmulDescCreate)(void *place, int compute, int scale) {
    struct product product = {compute, scale, OP_N, OP_N, 1, -1, NULL};
    return give(place, &product, sizeof product);
}
int NAME(LtMatmulDescDestroy)(void *product) { return take(product); }
int NAME(LtMatmulDescSetAttribute)(struct product *product, int attribute, const void *value, size_t bytes) {
    if (bytes != (attribute == DESC_BIAS ? sizeof(void *) : 4)) return INVALID_VALUE;
    if (attribute == DESC_TRANSA) memcpy(&product->trans_a, value, bytes);
    else if (attribute == DESC_TRANSB) memcpy(&product->trans_b, value, bytes);
    else if (attribute == DESC_EPILOGUE) memcpy(&product->epilogue, value, bytes);
    else if (attribute == DESC_BIAS) memcpy(&product->bias, value, bytes);
    else if (attribute == DESC_BIAS_TYPE) memcpy(&product->bias_type, value, bytes);
    else return INVALID_VALUE;
    return 0;
}
int NAME(LtMatrixLayoutCreate)(void *place, int type, uint64_t rows, uint64_t columns, int64_t lead) {
    struct layout layout = {F32, rows, columns, lead, 0, 1};
    int status = number_of(type, &layout.number);
    return status ? status : give(place, &layout, sizeof layout);
}
int NAME(LtMatrixLayoutDestroy)(void *layout) { return take(layout); }
int NAME(LtMatrixLayoutSetAttribute)(struct layout *layout, int attribute, const void *value, size_t bytes) {
    if (attribute == LAYOUT_BATCH && bytes == 4) memcpy(&layout->batch, value, bytes);
    else if (attribute == LAYOUT_STRIDE && bytes == 8) memcpy(&layout->stride, value, bytes);
    else return INVALID_VALUE;
    return 0;
}
int NAME(LtMatmulPreferenceCreate)(void *place) { struct preference preference = {0, 7}; return give(place, &preference, sizeof preference); }
int NAME(LtMatmulPreferenceDestroy)(void *preference) { return take(preference); }
int NAME(LtMatmulPreferenceSetAttribute)(struct preference *preference, int attribute, const void *value, size_t bytes) {
    if (attribute == PREFERENCE_WORKSPACE && bytes == 8) { memcpy(&preference->workspace, value, bytes); return 0; }
#ifndef HIP
    /* Which ways to put parts of a sum together; 2: in the type of the sums. */
    if (attribute == 3 && bytes == 4) { memcpy(&preference->reduction, value, bytes); return 0; }
    /* Alignment of a, b, c, d. */
    if (attribute >= 5 && attribute <= 8 && bytes == 4) return 0;
#endif
    return INVALID_VALUE;
}

static int check(const struct product *product, const struct layout *a, const struct layout *b, const struct layout *d) {
    enum number operand = a->number;
    int compute = operand == F64 ? COMPUTE_F64 : operand == I8 ? COMPUTE_I32 : COMPUTE_F32;
    int scale = operand == F64 ? 1 : operand == I8 ? 10 : 0;
    if (product->compute != compute && !(operand == F32 && product->compute == COMPUTE_TF32)) return INVALID_VALUE;
    if (product->scale != scale || b->number != operand || d->number != (operand == I8 ? I32 : operand)) return INVALID_VALUE;
    if (a->batch != b->batch || a->batch != d->batch) return INVALID_VALUE;
    /* As cuBLASLt does: integers want the first factor transposed. */
    return operand == I8 && (product->trans_a != OP_T || product->trans_b != OP_N) ? NOT_SUPPORTED : 0;
}

int NAME(LtMatmulAlgoGetHeuristic)(const int *handle, const struct product *product, const struct layout *a, const struct layout *b,
                                   const struct layout *c, const struct layout *d, const struct preference *preference, int wanted,
                                   struct record *records, int *count) {
    if (*handle != MAGIC || wanted != 1 || c != d || !is_current()) return INVALID_VALUE;
    if (fault("refuse")) return NOT_SUPPORTED;
#ifndef HIP
    if ((a->number == F16 || a->number == BF16) && preference->reduction != 2) return INVALID_VALUE;
#endif
    int status = check(product, a, b, d);
    *count = !status;
    if (status) return status;
    struct record record = {{MAGIC}, WORKSPACE_BYTES, 0, 1, {0}};
    *records = record;
    return preference->workspace < WORKSPACE_BYTES ? INVALID_VALUE : 0;
}

static struct matrix matrix_of(const struct layout *layout, int operation, const void *memory) {
    struct matrix matrix = {layout->number, (int64_t)layout->rows, (int64_t)layout->columns, layout->lead, layout->stride, operation == OP_T, (void *)memory};
    return matrix;
}

int NAME(LtMatmul)(const int *handle, const struct product *product, const void *alpha, const void *a, const struct layout *a_layout,
                   const void *b, const struct layout *b_layout, const void *beta, const void *c, const struct layout *c_layout, void *d,
                   const struct layout *d_layout, const uint64_t *algorithm, void *workspace, size_t workspace_bytes, void *stream) {
    if (*handle != MAGIC || *algorithm != MAGIC || !stream || c != d || c_layout != d_layout) return INVALID_VALUE;
    if (workspace_bytes < WORKSPACE_BYTES || !is_current()) return INVALID_VALUE;
    if (fault("fail")) return EXECUTION_FAILED;
    memset(workspace, 0, workspace_bytes);
    int status = check(product, a_layout, b_layout, d_layout);
    if (status) return status;
    if ((product->epilogue & 4) && (!product->bias || product->bias_type < 0)) return INVALID_VALUE;
    enum number scale = product->scale == 1 ? F64 : product->scale == 10 ? I32 : F32;
    struct matrix first = matrix_of(a_layout, product->trans_a, a), second = matrix_of(b_layout, product->trans_b, b), out = matrix_of(d_layout, OP_N, d);
    const void *bias = product->epilogue & 4 ? product->bias : NULL;
    status = multiply(&first, &second, &out, a_layout->batch, get(scale, alpha, 0), get(scale, beta, 0), bias, product->epilogue & 2);
    return status ? INVALID_VALUE : 0;
}
