/* What memory does at best, in the manner of McCalpin's STREAM: plain reads, copies through the caches and copies past them. */

#include <stddef.h>
#include <string.h>

typedef float wide __attribute__((vector_size(64), aligned(4)));

/* The sum keeps the compiler from leaving the reads out. */
float stream_read(const float *from, size_t count) {
    wide sums[8] = {0};
    size_t i = 0;
    for (; i + 128 <= count; i += 128)
        for (int way = 0; way < 8; ++way) sums[way] += *(const wide *)(from + i + 16 * way);
    float total = 0;
    for (int way = 0; way < 8; ++way)
        for (int lane = 0; lane < 16; ++lane) total += sums[way][lane];
    for (; i < count; ++i) total += from[i];
    return total;
}

void stream_copy(float *restrict to, const float *restrict from, size_t count) {
    size_t i = 0;
    for (; i + 16 <= count; i += 16) *(wide *)(to + i) = *(const wide *)(from + i);
    for (; i < count; ++i) to[i] = from[i];
}

/* `to` is aligned to 64 bytes. */
void stream_copy_past(float *restrict to, const float *restrict from, size_t count) {
    typedef float aligned __attribute__((vector_size(64)));
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        aligned value = (aligned)*(const wide *)(from + i);
        __builtin_nontemporal_store(value, (aligned *)(to + i));
    }
    for (; i < count; ++i) to[i] = from[i];
    __sync_synchronize();
}
