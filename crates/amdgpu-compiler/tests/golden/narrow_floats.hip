#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>

// Half arithmetic that becomes instructions of half on GPUs, and what bfloat16 becomes where it has none.
__global__ void narrow_floats(__half2* c, const __half2* a, const __half2* b, __hip_bfloat16* d, __half scale) {
    int i = threadIdx.x;
    c[i] = a[i] * b[i] + c[i];
    c[i].x = __hfma(a[i].x, scale, b[i].y);
    d[i] += (__hip_bfloat16)1.5;
    d[i + 1] = __int2bfloat16_rn(i);
    if (__hgt(a[i].x, scale)) d[i + 2] = -d[i];
}
