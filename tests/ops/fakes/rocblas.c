/* Stands for librocblas.so.5. Numbers are those of rocblas-types.h, written down apart from ours. */
#include "blas.h"

enum { NOT_IMPLEMENTED = 2, INVALID_VALUE = 11, INTERNAL_ERROR = 6, MAGIC = 0x57a4d };
struct handle { int magic, atomics; void *stream, *workspace; size_t bytes; };

static int number_of(int type, enum number *number) {
    static const struct { int type; enum number number; } known[] = {{150, F16}, {151, F32}, {152, F64}, {160, I8}, {162, I32}, {168, BF16}};
    for (size_t index = 0; index < sizeof known / sizeof *known; index++)
        if (known[index].type == type) { *number = known[index].number; return 0; }
    return INVALID_VALUE;
}

int rocblas_create_handle(struct handle **place) {
    struct handle handle = {MAGIC, 1, NULL, NULL, 0};
    *place = malloc(sizeof handle);
    **place = handle;
    return 0;
}
int rocblas_destroy_handle(struct handle *handle) { free(handle); return 0; }
int rocblas_set_stream(struct handle *handle, void *stream) { handle->stream = stream; return 0; }
int rocblas_set_workspace(struct handle *handle, void *memory, size_t bytes) { handle->workspace = memory; handle->bytes = bytes; return 0; }
int rocblas_set_atomics_mode(struct handle *handle, int mode) { handle->atomics = mode; return 0; }
const char *rocblas_status_to_string(int status) { return status == INTERNAL_ERROR ? "rocblas_status_internal_error" : "rocblas_status_invalid_value"; }

int rocblas_gemm_strided_batched_ex(struct handle *handle, int trans_a, int trans_b, int32_t m, int32_t n, int32_t k, const void *alpha,
                                    const void *a, int a_type, int32_t lda, int64_t stride_a, const void *b, int b_type, int32_t ldb,
                                    int64_t stride_b, const void *beta, const void *c, int c_type, int32_t ldc, int64_t stride_c, void *d,
                                    int d_type, int32_t ldd, int64_t stride_d, int32_t batch, int compute_type, int algorithm,
                                    int32_t solution, uint32_t flags) {
    if (handle->magic != MAGIC || handle->atomics || !handle->stream || !handle->workspace || algorithm || solution || flags) return INVALID_VALUE;
    if (c != d || c_type != d_type || ldc != ldd || stride_c != stride_d || a_type != b_type) return INVALID_VALUE;
    if (fault("refuse")) return NOT_IMPLEMENTED;
    if (fault("fail")) return INTERNAL_ERROR;
    memset(handle->workspace, 0, handle->bytes);
    struct matrix first = {F32, trans_a == 112 ? k : m, trans_a == 112 ? m : k, lda, stride_a, trans_a == 112, (void *)a};
    struct matrix second = {F32, trans_b == 112 ? n : k, trans_b == 112 ? k : n, ldb, stride_b, trans_b == 112, (void *)b};
    struct matrix out = {F32, m, n, ldd, stride_d, 0, d};
    enum number sums;
    if (number_of(a_type, &first.number) || number_of(b_type, &second.number) || number_of(d_type, &out.number) || number_of(compute_type, &sums)) return INVALID_VALUE;
    if (sums != (first.number == F64 ? F64 : first.number == I8 ? I32 : F32)) return INVALID_VALUE;
    return multiply(&first, &second, &out, batch, get(sums, alpha, 0), get(sums, beta, 0), NULL, 0) ? INVALID_VALUE : 0;
}

#include "geam.h"
GEAM(rocblas_sgeam, F32, 1, 112)
GEAM(rocblas_dgeam, F64, 1, 112)
GEAM(rocblas_cgeam, F32, 2, 112)
GEAM(rocblas_zgeam, F64, 2, 112)
