#include <hip/hip_bf16.h>

// Float to bfloat16 and back, and a sum that is rounded at every step.
__global__ void bfloat16_round(const float* in, __hip_bfloat16* rounded, float* back, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __hip_bfloat16 value = __float2bfloat16(in[i]);
    rounded[i] = value;
    __hip_bfloat16 sum = value + value;
    sum = sum + __float2bfloat16(1.0f);
    back[i] = __bfloat162float(sum);
}
