/* Arrays of the programs that test operations: made from values, read back, compared. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "check.h"

#include <math.h>

#include <amdgpu/ops.h>

/* The largest array of these programs. */
#define MOST 512

#define DIMENSIONS(...) ((uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

/* An array with these extents that holds a copy of the values. */
#define ARRAY(device, dtype, values, ...) array_of((device), (dtype), DIMENSIONS(__VA_ARGS__), (int64_t[]){__VA_ARGS__}, (values))

static inline agpu_array array_of(agpu_device device, const char *dtype, uint32_t dimensions, const int64_t *shape, const void *values) {
    agpu_array array = NULL;
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_create(device, dtype, dimensions, shape, NULL, &array));
    DO(agpu_array_info(array, &facts));
    DO(agpu_array_write(array, values, facts.elements * facts.item_bytes));
    return array;
}

/* Values between -2 and 2 that look as if they were drawn. */
static inline void fill_values(float *values, int count, int seed) {
    for (int i = 0; i < count; i++) values[i] = (float)(((i + seed) * 37) % 101) / 25 - 2;
}

/* Whole numbers from -4 to 4, of which sums and products are exact. */
static inline void fill_whole(float *values, int count, int seed) {
    for (int i = 0; i < count; i++) values[i] = (float)(((i + seed) * 31) % 9 - 4);
}

/* The array, which is released, has this dtype and these bytes. */
#define CHECK_BYTES(array, name, wanted) check_bytes((array), (name), (wanted), sizeof(wanted), __FILE__, __LINE__)

static inline void check_bytes(agpu_array array, const char *dtype, const void *wanted, size_t bytes, const char *file, int line) {
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    unsigned char found[MOST * 8];
    DO(agpu_array_info(array, &facts));
    if (strcmp(facts.dtype, dtype) != 0 || facts.elements * facts.item_bytes != bytes) {
        fprintf(stderr, "%s:%d: %llu elements of %s\n", file, line, (unsigned long long)facts.elements, facts.dtype);
        exit(1);
    }
    DO(agpu_array_read(array, found, bytes));
    if (memcmp(found, wanted, bytes) != 0) {
        fprintf(stderr, "%s:%d: other values\n", file, line);
        exit(1);
    }
    DO(agpu_release(array));
}

/* The array, which is released, holds `count` float32 values that differ from these by rounding alone. */
#define CHECK_NEAR(array, wanted, count) check_near((array), (wanted), (count), __FILE__, __LINE__)

static inline void check_near(agpu_array array, const double *wanted, int count, const char *file, int line) {
    float found[MOST];
    DO(agpu_array_read(array, found, (uint64_t)count * sizeof(float)));
    for (int i = 0; i < count; i++) {
        if (!(fabs(found[i] - wanted[i]) <= 1e-6 + 1e-5 * fabs(wanted[i]))) {
            fprintf(stderr, "%s:%d: value %d is %.9g, not %.9g\n", file, line, i, (double)found[i], wanted[i]);
            exit(1);
        }
    }
    DO(agpu_release(array));
}

#endif
