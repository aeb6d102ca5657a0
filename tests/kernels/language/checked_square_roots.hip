#include <cassert>
#include <cstdio>

// Integer square roots with an assertion of what they promise; says so when a number is negative.
__global__ void checked_square_roots(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = in[i];
    if (value < 0) {
        printf("element %d is %d\n", i, value);
        out[i] = -1;
        return;
    }
    int root = (int)sqrtf((float)value);
    while ((long long)root * root > value) --root;
    while ((long long)(root + 1) * (root + 1) <= value) ++root;
    assert((long long)root * root <= value && "the root is not too large");
    out[i] = root;
}
