// Products of signed bytes, four to a word, accumulated in 32 bits.
__device__ int dot4(unsigned a, unsigned b, int sum) {
    for (int shift = 0; shift < 32; shift += 8) sum += (int)(signed char)(a >> shift) * (int)(signed char)(b >> shift);
    return sum;
}

__global__ void gemm_int8(const unsigned* a, const unsigned* b_transposed, int* c, int m, int n, int words) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= m) return;
    int sum = 0;
    for (int i = 0; i < words; ++i) sum = dot4(a[row * words + i], b_transposed[column * words + i], sum);
    c[row * n + column] = sum;
}
