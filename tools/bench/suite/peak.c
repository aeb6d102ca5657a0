/* What arithmetic does at best, without memory: vectors in registers, more chains than an instruction takes cycles. Every function does `count`
 * operations on each value of 16 floats (64 bytes: one AVX-512 register, two of AVX2) and returns something that depends on all of them. */

#include <stddef.h>

typedef float wide __attribute__((vector_size(64)));
typedef unsigned wide_bits __attribute__((vector_size(64)));

enum { chains = 10 };

static float sum_of(const wide *values) {
    float total = 0;
    for (int chain = 0; chain < chains; ++chain)
        for (int lane = 0; lane < 16; ++lane) total += values[chain][lane];
    return total;
}

static void start(wide *values, float seed) {
    for (int chain = 0; chain < chains; ++chain) values[chain] = (wide){0} + seed * (float)(chain + 1);
}

/* x * a + b by one instruction where there is one. */
float peak_multiply(size_t count, float seed) {
    wide values[chains], factor = (wide){0} + seed, addend = (wide){0} + 1;
    start(values, seed);
    for (size_t i = 0; i < count; i += chains)
        for (int chain = 0; chain < chains; ++chain) values[chain] = __builtin_elementwise_fma(values[chain], factor, addend);
    return sum_of(values);
}

float peak_add(size_t count, float seed) {
    wide values[chains], addend = (wide){0} + seed;
    start(values, seed);
    for (size_t i = 0; i < count; i += chains)
        for (int chain = 0; chain < chains; ++chain) values[chain] += addend;
    return sum_of(values);
}

/* The larger of two neighbours, which no compiler can leave out; one instruction where NaN does not count (-fno-honor-nans). */
float peak_compare(size_t count, float seed) {
    wide values[chains];
    start(values, seed);
    for (size_t i = 0; i < count; i += chains)
        for (int chain = 0; chain < chains; ++chain) values[chain] = __builtin_elementwise_max(values[chain], values[(chain + 1) % chains]);
    return sum_of(values);
}

/* Shifts and additions of integers, half and half. */
float peak_integer(size_t count, float seed) {
    wide values[chains];
    wide_bits bits[chains], addend = (wide_bits){0} + (unsigned)seed;
    start(values, seed);
    for (int chain = 0; chain < chains; ++chain) bits[chain] = (wide_bits)values[chain];
    for (size_t i = 0; i < count; i += 2 * chains)
        for (int chain = 0; chain < chains; ++chain) bits[chain] = (bits[chain] << 5) + addend;
    for (int chain = 0; chain < chains; ++chain) values[chain] = (wide)bits[chain];
    return sum_of(values);
}

float peak_divide(size_t count, float seed) {
    wide values[chains], divisor = (wide){0} + (1 + seed / 8);
    start(values, seed);
    for (size_t i = 0; i < count; i += chains)
        for (int chain = 0; chain < chains; ++chain) values[chain] = values[chain] / divisor + divisor;
    return sum_of(values);
}

/* Multiplications and additions, half and half: what all units together take up. */
float peak_together(size_t count, float seed) {
    wide products[chains], sums[chains], factor = (wide){0} + seed, addend = (wide){0} + 1;
    start(products, seed);
    start(sums, seed);
    for (size_t i = 0; i < count; i += 2 * chains)
        for (int chain = 0; chain < chains; ++chain) {
            products[chain] = __builtin_elementwise_fma(products[chain], factor, addend);
            sums[chain] += addend;
        }
    return sum_of(products) + sum_of(sums);
}
