// Work-efficient exclusive scan: up the tree, down the tree, with padding against bank conflicts.
#define PADDED(i) ((i) + ((i) >> 5))

__global__ void blelloch_scan(const int* in, int* out, int* sums, int n) {
    extern __shared__ int tree[];
    int t = threadIdx.x, size = 2 * blockDim.x;
    int first = blockIdx.x * size + 2 * t, second = first + 1;
    tree[PADDED(2 * t)] = first < n ? in[first] : 0;
    tree[PADDED(2 * t + 1)] = second < n ? in[second] : 0;
    int offset = 1;
    for (int d = size >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            tree[PADDED(b)] += tree[PADDED(a)];
        }
        offset *= 2;
    }
    if (t == 0) {
        sums[blockIdx.x] = tree[PADDED(size - 1)];
        tree[PADDED(size - 1)] = 0;
    }
    for (int d = 1; d < size; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
            int kept = tree[PADDED(a)];
            tree[PADDED(a)] = tree[PADDED(b)];
            tree[PADDED(b)] += kept;
        }
    }
    __syncthreads();
    if (first < n) out[first] = tree[PADDED(2 * t)];
    if (second < n) out[second] = tree[PADDED(2 * t + 1)];
}
