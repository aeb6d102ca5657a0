// Transposition sort of a block in place, with a vote whether anything moved.
__global__ void odd_even_sort(int* values, int* rounds, int n) {
    __shared__ int part[96];
    int t = threadIdx.x;
    if (t < n) part[t] = values[t];
    __syncthreads();
    int done = 0;
    for (;;) {
        bool has_moved = false;
        for (int phase = 0; phase < 2; ++phase) {
            int i = 2 * t + phase;
            if (i + 1 < n && part[i] > part[i + 1]) {
                int kept = part[i];
                part[i] = part[i + 1];
                part[i + 1] = kept;
                has_moved = true;
            }
            __syncthreads();
        }
        if (!__syncthreads_or(has_moved)) break;
        ++done;
    }
    if (t < n) values[t] = part[t];
    if (t == 0) *rounds = done;
}
