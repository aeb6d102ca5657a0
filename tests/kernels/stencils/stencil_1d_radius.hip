// Weighted sum over 2 R + 1 neighbours through shared memory with a halo; outside of the array stand zeros.
template <int R, int BLOCK>
__global__ void stencil_1d_radius(const int* in, const int* weights, int* out, int n) {
    __shared__ int tile[BLOCK + 2 * R];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int local = threadIdx.x + R;
    tile[local] = i < n ? in[i] : 0;
    if (threadIdx.x < R) {
        tile[local - R] = i >= R && i - R < n ? in[i - R] : 0;
        tile[local + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : 0;
    }
    __syncthreads();
    if (i >= n) return;
    int sum = 0;
#pragma unroll
    for (int d = -R; d <= R; ++d) sum += weights[d + R] * tile[local + d];
    out[i] = sum;
}

template __global__ void stencil_1d_radius<4, 128>(const int*, const int*, int*, int);
