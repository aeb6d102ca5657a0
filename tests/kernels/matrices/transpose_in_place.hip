// Square matrix: a block swaps a tile with its mirror image; tiles below the diagonal have nothing to do.
__global__ void transpose_in_place(unsigned short* matrix, int n) {
    __shared__ unsigned short upper[8][9], lower[8][9];
    if (blockIdx.y > blockIdx.x) return;
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
    int mirrored_x = blockIdx.y * 8 + tx, mirrored_y = blockIdx.x * 8 + ty;
    if (x < n && y < n) upper[ty][tx] = matrix[y * n + x];
    if (mirrored_x < n && mirrored_y < n) lower[ty][tx] = matrix[mirrored_y * n + mirrored_x];
    __syncthreads();
    if (x < n && y < n) matrix[y * n + x] = lower[tx][ty];
    if (mirrored_x < n && mirrored_y < n) matrix[mirrored_y * n + mirrored_x] = upper[tx][ty];
}
