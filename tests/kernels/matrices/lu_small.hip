// Doolittle's factorisation of many small matrices, one block each, with partial pivoting.
#define N 12

__global__ void lu_small(double* matrices, int* pivots) {
    __shared__ double m[N][N];
    __shared__ int pivot;
    int t = threadIdx.x;
    double* mine = matrices + blockIdx.x * N * N;
    for (int row = 0; row < N; ++row) m[row][t] = mine[row * N + t];
    __syncthreads();
    for (int k = 0; k < N; ++k) {
        if (t == 0) {
            pivot = k;
            for (int row = k + 1; row < N; ++row) {
                if (fabs(m[row][k]) > fabs(m[pivot][k])) pivot = row;
            }
            pivots[blockIdx.x * N + k] = pivot;
        }
        __syncthreads();
        if (pivot != k) {
            double kept = m[k][t];
            m[k][t] = m[pivot][t];
            m[pivot][t] = kept;
        }
        __syncthreads();
        if (t > k) m[t][k] /= m[k][k];
        __syncthreads();
        if (t > k) {
            for (int column = k + 1; column < N; ++column) m[t][column] -= m[t][k] * m[k][column];
        }
        __syncthreads();
    }
    for (int row = 0; row < N; ++row) mine[row * N + t] = m[row][t];
}
