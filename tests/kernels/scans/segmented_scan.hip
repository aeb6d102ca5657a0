// Inclusive scan that starts anew wherever a flag stands.
struct Item {
    int sum;
    bool starts;
};

__device__ Item combine(Item left, Item right) {
    if (right.starts) return right;
    return Item{left.sum + right.sum, left.starts};
}

__global__ void segmented_scan(const int* values, const bool* starts, int* out, int n) {
    __shared__ Item items[2][128];
    int t = threadIdx.x;
    items[0][t] = t < n ? Item{values[t], starts[t]} : Item{0, true};
    __syncthreads();
    int from = 0;
    for (int d = 1; d < 128; d <<= 1, from ^= 1) {
        items[from ^ 1][t] = t >= d ? combine(items[from][t - d], items[from][t]) : items[from][t];
        __syncthreads();
    }
    if (t < n) out[t] = items[from][t].sum;
}
