// Dynamic time warping of a query with many series, two rows of the table in private memory.
__global__ void time_warping(const float* query, const float* series, float* costs, int count) {
    const int length = 24;
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    float rows[2][length];
    for (int i = 0; i < length; ++i) {
        float* now = rows[i & 1];
        const float* before = rows[~i & 1];
        for (int j = 0; j < length; ++j) {
            float apart = query[i] - series[j * count + s];
            float best = i == 0 && j == 0 ? 0.0f : INFINITY;
            if (i > 0) best = fminf(best, before[j]);
            if (j > 0) best = fminf(best, now[j - 1]);
            if (i > 0 && j > 0) best = fminf(best, before[j - 1]);
            now[j] = best + fabsf(apart);
        }
    }
    costs[s] = rows[(length - 1) & 1][length - 1];
}
