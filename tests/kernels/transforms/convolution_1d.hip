// Full convolution of two sequences of different lengths.
__global__ void convolution_1d(const int* a, const int* b, long* out, int count_a, int count_b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count_a + count_b - 1) return;
    long sum = 0;
    for (int k = max(0, i - count_b + 1); k <= min(i, count_a - 1); ++k) sum += (long)a[k] * b[i - k];
    out[i] = sum;
}
