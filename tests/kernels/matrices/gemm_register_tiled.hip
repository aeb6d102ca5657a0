// Every work-item computes an R x R tile in registers; the block's tiles of A and B are in shared memory.
template <typename T, int TILE, int R>
__global__ void gemm_register_tiled(const T* a, const T* b, T* c, int n) {
    const int side = TILE * R;
    __shared__ T as[side][TILE];
    __shared__ T bs[TILE][side];
    int top = blockIdx.y * side, left = blockIdx.x * side;
    int tx = threadIdx.x, ty = threadIdx.y;
    T sums[R][R] = {};
    for (int start = 0; start < n; start += TILE) {
        for (int r = 0; r < R; ++r) {
            int row = top + ty * R + r, column = left + tx * R + r;
            as[ty * R + r][tx] = row < n && start + tx < n ? a[row * n + start + tx] : T(0);
            bs[ty][tx * R + r] = start + ty < n && column < n ? b[(start + ty) * n + column] : T(0);
        }
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            T column[R], row[R];
            for (int r = 0; r < R; ++r) {
                column[r] = as[ty * R + r][k];
                row[r] = bs[k][tx * R + r];
            }
            for (int i = 0; i < R; ++i) {
                for (int j = 0; j < R; ++j) sums[i][j] += column[i] * row[j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < R; ++i) {
        for (int j = 0; j < R; ++j) {
            int row = top + ty * R + i, column = left + tx * R + j;
            if (row < n && column < n) c[row * n + column] = sums[i][j];
        }
    }
}

template __global__ void gemm_register_tiled<float, 8, 4>(const float*, const float*, float*, int);
template __global__ void gemm_register_tiled<int, 4, 2>(const int*, const int*, int*, int);
