// Histogram, its running sum and the look-up in one block.
__global__ void histogram_equalise(unsigned char* pixels, int n) {
    __shared__ unsigned counts[256], sums[256];
    int t = threadIdx.x;
    counts[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += 256) atomicAdd(&counts[pixels[i]], 1u);
    __syncthreads();
    sums[t] = counts[t];
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        unsigned other = t >= d ? sums[t - d] : 0u;
        __syncthreads();
        sums[t] += other;
    }
    __syncthreads();
    for (int i = t; i < n; i += 256) pixels[i] = (unsigned char)(sums[pixels[i]] * 255ull / n);
}
