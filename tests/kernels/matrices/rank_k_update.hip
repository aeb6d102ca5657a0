// Lower triangle of C -= A A^T; work-items above the diagonal leave before the loop.
__global__ void rank_k_update(const float* a, float* c, int n, int k) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= n || column > row) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * a[column * k + i];
    c[row * n + column] -= sum;
}
