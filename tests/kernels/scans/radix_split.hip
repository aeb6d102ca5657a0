// A pass of a radix sort for one bit: zeros to the front, ones behind, both in order.
__global__ void radix_split(const unsigned* keys, unsigned* sorted, int bit) {
    __shared__ unsigned zeros[128];
    unsigned t = threadIdx.x, size = blockDim.x;
    unsigned key = keys[blockIdx.x * size + t];
    bool is_one = key >> bit & 1;
    zeros[t] = !is_one;
    __syncthreads();
    for (unsigned d = 1; d < size; d <<= 1) {
        unsigned other = t >= d ? zeros[t - d] : 0;
        __syncthreads();
        zeros[t] += other;
        __syncthreads();
    }
    unsigned all_zeros = zeros[size - 1];
    unsigned place = is_one ? all_zeros + t - zeros[t] : zeros[t] - 1;
    sorted[blockIdx.x * size + place] = key;
}
