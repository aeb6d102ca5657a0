#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#ifndef __CUDA_ARCH__
#define FALLBACK 1
#endif

// What sources for CUDA write: read-only loads, volatile shared memory, unsigned lane arithmetic, old intrinsics.
extern "C" __global__ void __launch_bounds__(128, 2) cuda_spellings(const float4* __restrict__ in, float* __restrict__ out, unsigned int n) {
    volatile __shared__ float staged[128];
    const unsigned int tid = threadIdx.x;
    const unsigned int i = __umul24(blockIdx.x, blockDim.x) + tid;
    float4 v = i < n ? __ldg(&in[i]) : make_float4(0.f, 0.f, 0.f, 0.f);
    staged[tid] = __fadd_rn(__fmul_rn(v.x, v.y), __fmul_rn(v.z, v.w));
    __syncthreads();
    float partner = staged[tid ^ 1u];
    if (i < n) out[i] = __saturatef(partner) + __int_as_float(__float_as_int(staged[tid]) & 0x7fffffff);
}
