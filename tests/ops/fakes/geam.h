/* What the fakes of cuBLAS and rocBLAS share: a sum of matrices by columns, of real or complex numbers. */
static int add(enum number number, int parts, int trans_a, int trans_b, int m, int n, const void *alpha, const void *a, int lda, const void *beta,
               const void *b, int ldb, void *c, int ldc) {
    if (m < 1 || n < 1 || lda < (trans_a ? n : m) || ldb < (trans_b ? n : m) || ldc < m) return 1;
    for (int64_t column = 0; column < n; column++)
        for (int64_t row = 0; row < m; row++) {
            int64_t at_a = (trans_a ? row * lda + column : column * lda + row) * parts;
            int64_t at_b = (trans_b ? row * ldb + column : column * ldb + row) * parts;
            double sum[2] = {0, 0};
            for (int side = 0; side < 2; side++) {
                const void *factor = side ? beta : alpha, *memory = side ? b : a;
                int64_t at = side ? at_b : at_a;
                double re = get(number, factor, 0), im = parts == 2 ? get(number, factor, 1) : 0;
                if (re == 0 && im == 0) continue;
                double x = get(number, memory, at), y = parts == 2 ? get(number, memory, at + 1) : 0;
                sum[0] += re * x - im * y, sum[1] += re * y + im * x;
            }
            for (int part = 0; part < parts; part++)
                put(number, c, (column * ldc + row) * parts + part, fault("wrong") ? sum[part] + 1 + fabs(sum[part]) / 8 : sum[part]);
        }
    return 0;
}
#define GEAM(function, number, parts, transposed) \
    int function(struct handle *handle, int trans_a, int trans_b, int m, int n, const void *alpha, const void *a, int lda, const void *beta, const void *b, \
                 int ldb, void *c, int ldc) { \
        if (handle->magic != MAGIC || !handle->stream) return INVALID_VALUE; \
        if (fault("fail")) return INTERNAL_ERROR; \
        return add(number, parts, trans_a == transposed, trans_b == transposed, m, n, alpha, a, lda, beta, b, ldb, c, ldc) ? INVALID_VALUE : 0; \
    }
