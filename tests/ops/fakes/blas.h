/* What the stand-ins of the vendors' libraries share: a product on the host, by columns, in float64. STAND_IN_FAULT makes it wrong ("wrong"),
   refuse ("refuse"), fail ("fail") or never end ("hang"); STAND_IN_LOG names a file that gets one line for each product. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum number { F16, F32, F64, BF16, I8, I32 };

static int fault(const char *name) {
    const char *wanted = getenv("STAND_IN_FAULT");
    return wanted && !strcmp(wanted, name);
}

/* Whether the caller made its context current, as far as there is a stand-in of the driver to ask. */
static inline int is_current(void) {
#ifdef HIP
    void *driver = dlopen("libamdhip64.so.7", RTLD_LAZY | RTLD_NOLOAD);
#else
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
#endif
    int (*ask)(void) = driver ? (int (*)(void))dlsym(driver, "stand_in_is_current") : NULL;
    return !ask || ask();
}

static double get(enum number number, const void *memory, int64_t index) {
    switch (number) {
    case F16: return (double)((const _Float16 *)memory)[index];
    case F32: return (double)((const float *)memory)[index];
    case F64: return ((const double *)memory)[index];
    case I8: return ((const int8_t *)memory)[index];
    case I32: return ((const int32_t *)memory)[index];
    case BF16: {
        uint32_t bits = (uint32_t)((const uint16_t *)memory)[index] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    }
    abort();
}

static void put(enum number number, void *memory, int64_t index, double value) {
    switch (number) {
    case F16: ((_Float16 *)memory)[index] = (_Float16)value; return;
    case F32: ((float *)memory)[index] = (float)value; return;
    case F64: ((double *)memory)[index] = value; return;
    case I8: abort();
    case I32: ((int32_t *)memory)[index] = (int32_t)value; return;
    case BF16: {
        float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        ((uint16_t *)memory)[index] = (uint16_t)(isnan(narrow) ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
        return;
    }
    }
}

struct matrix {
    enum number number;
    int64_t rows, columns, lead, stride;
    int is_transposed;
    void *memory;
};

/* d = alpha * a * b + beta * c + bias, by columns. Nonsense in the arguments ends in a status that is not 0. */
static inline int multiply(const struct matrix *a, const struct matrix *b, const struct matrix *d, int64_t batch, double alpha, double beta,
                    const void *bias, int is_relu) {
    int64_t m = a->is_transposed ? a->columns : a->rows, k = a->is_transposed ? a->rows : a->columns;
    int64_t n = b->is_transposed ? b->rows : b->columns;
    if (k != (b->is_transposed ? b->columns : b->rows) || d->rows != m || d->columns != n) return 1;
    if (a->lead < a->rows || b->lead < b->rows || d->lead < d->rows) return 2;
    while (fault("hang")) usleep(1000);
    const char *log_name = getenv("STAND_IN_LOG");
    FILE *log = log_name ? fopen(log_name, "a") : NULL;
    if (log) {
        fprintf(log, "%ld %ld %ld %ld %d%d %d\n", (long)n, (long)m, (long)k, (long)batch, b->is_transposed, a->is_transposed, (int)a->number);
        fclose(log);
    }
    for (int64_t matrix = 0; matrix < batch; matrix++)
        for (int64_t column = 0; column < n; column++)
            for (int64_t row = 0; row < m; row++) {
                double sum = 0;
                for (int64_t inner = 0; inner < k; inner++) {
                    int64_t at_a = a->is_transposed ? row * a->lead + inner : inner * a->lead + row;
                    int64_t at_b = b->is_transposed ? inner * b->lead + column : column * b->lead + inner;
                    sum += get(a->number, a->memory, matrix * a->stride + at_a) * get(b->number, b->memory, matrix * b->stride + at_b);
                }
                int64_t at = matrix * d->stride + column * d->lead + row;
                double value = alpha * sum + (beta != 0 ? beta * get(d->number, d->memory, at) : 0) + (bias ? get(d->number, bias, row) : 0);
                if (is_relu && value < 0) value = 0;
                put(d->number, d->memory, at, fault("wrong") ? value + 1 + fabs(value) / 8 : value);
            }
    return 0;
}
