// Nearest centre of every point, and per cluster how many chose it; centres in shared memory.
template <int DIMENSIONS>
__global__ void kmeans_assign(const float* points, const float* centres, int* labels, unsigned* sizes, int k, int n) {
    extern __shared__ float shared[];
    for (int i = threadIdx.x; i < k * DIMENSIONS; i += blockDim.x) shared[i] = centres[i];
    __syncthreads();
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n) return;
    float mine[DIMENSIONS];
#pragma unroll
    for (int d = 0; d < DIMENSIONS; ++d) mine[d] = points[d * n + p];
    int best = 0;
    float nearest = FLT_MAX;
    for (int c = 0; c < k; ++c) {
        float distance = 0.0f;
        for (int d = 0; d < DIMENSIONS; ++d) {
            float apart = mine[d] - shared[c * DIMENSIONS + d];
            distance += apart * apart;
        }
        if (distance < nearest) {
            nearest = distance;
            best = c;
        }
    }
    labels[p] = best;
    atomicInc(&sizes[best], 0xffffffffu);
}
template __global__ void kmeans_assign<3>(const float*, const float*, int*, unsigned*, int, int);
