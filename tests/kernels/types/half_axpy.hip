#include <hip/hip_fp16.h>

// y = a x + y in half precision: the product is rounded, then the sum, because each has a variable of its own.
__global__ void half_axpy(const __half* x, __half* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half factor = __float2half(a);
    __half product = __hmul(factor, x[i]);
    y[i] = __hadd(product, y[i]);
}
