// Maximum of floats by an atomic on their bits: their order is that of integers once the sign is dealt with.
__device__ unsigned ordered(float value) {
    unsigned bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__global__ void float_maximum(const float* values, unsigned* largest, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicMax(largest, ordered(values[i]));
}
