// Inclusive scan of maxima where a block has more elements than work-items: each takes four in a row.
__global__ void running_maximum(const double* in, double* out, int n) {
    __shared__ double last[32];
    const int each = 4;
    int t = threadIdx.x;
    double mine[each];
    double largest = -HUGE_VAL;
    for (int k = 0; k < each; ++k) {
        int i = t * each + k;
        if (i < n) largest = fmax(largest, in[i]);
        mine[k] = largest;
    }
    last[t] = largest;
    __syncthreads();
    double before = -HUGE_VAL;
    for (int other = 0; other < t; ++other) before = fmax(before, last[other]);
    for (int k = 0; k < each; ++k) {
        int i = t * each + k;
        if (i < n) out[i] = fmax(before, mine[k]);
    }
}
