/* Stands for libcublas.so.13: sums of matrices. Numbers are those of cublas_api.h, written down apart from ours. */
#include "blas.h"

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7, INTERNAL_ERROR = 14, MAGIC = 0x57a4d, OP_T = 1 };
struct handle { int magic; void *stream; };

int cublasCreate_v2(struct handle **place) {
    struct handle handle = {MAGIC, NULL};
    *place = malloc(sizeof handle);
    **place = handle;
    return fault("start") || !is_current() ? NOT_INITIALIZED : 0;
}
int cublasDestroy_v2(struct handle *handle) { free(handle); return 0; }
int cublasSetStream_v2(struct handle *handle, void *stream) { handle->stream = stream; return 0; }
const char *cublasGetStatusString(int status) { return status == INTERNAL_ERROR ? "CUBLAS_STATUS_INTERNAL_ERROR" : "CUBLAS_STATUS_INVALID_VALUE"; }

#include "geam.h"
GEAM(cublasSgeam, F32, 1, OP_T)
GEAM(cublasDgeam, F64, 1, OP_T)
GEAM(cublasCgeam, F32, 2, OP_T)
GEAM(cublasZgeam, F64, 2, OP_T)
