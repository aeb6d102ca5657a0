#include "my_helpers.h"
#define TWICE(x) ((x) + (x))
#if TWICE(
#endif
#frobnicate
#error this is wrong
#define PASTE(a, b) a ## b
__global__ void k(int* p) {
    p[0] = TWICE(1, 2);
    p[1] = PASTE(+, /);
#else
}
#ifdef NEVER_CLOSED
