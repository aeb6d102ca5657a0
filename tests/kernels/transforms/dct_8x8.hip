// Two-dimensional cosine transform of 8 x 8 blocks: rows, then columns, with the matrix in shared memory.
__global__ void dct_8x8(const float* in, float* out, int width) {
    __shared__ float basis[8][8], block[8][8], rows[8][8];
    int x = threadIdx.x, y = threadIdx.y;
    float scale = y == 0 ? 0.35355339f : 0.5f;
    basis[y][x] = scale * cosf((2 * x + 1) * y * 0.19634954f);
    int place = (blockIdx.y * 8 + y) * width + blockIdx.x * 8 + x;
    block[y][x] = in[place];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += block[y][k] * basis[x][k];
    rows[y][x] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += basis[y][k] * rows[k][x];
    out[place] = sum;
}
