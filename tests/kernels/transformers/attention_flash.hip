// Attention by tiles with running maximum and sum (Dao and others, 2022); a work-item has a query, its accumulator is in registers.
template <int WIDTH, int TILE, bool CAUSAL>
__global__ void attention_flash(const float* q, const float* k, const float* v, float* out, int queries, int keys, float scale) {
    __shared__ float ks[TILE][WIDTH], vs[TILE][WIDTH];
    int i = blockIdx.x * TILE + threadIdx.x;
    bool is_valid = i < queries;
    float query[WIDTH], sums[WIDTH] = {};
    for (int d = 0; d < WIDTH; ++d) query[d] = is_valid ? q[i * WIDTH + d] * scale : 0.0f;
    float largest = -INFINITY, total = 0.0f;
    for (int start = 0; start < keys; start += TILE) {
        for (int e = threadIdx.x; e < TILE * WIDTH; e += TILE) {
            int row = start + e / WIDTH;
            ks[e / WIDTH][e % WIDTH] = row < keys ? k[row * WIDTH + e % WIDTH] : 0.0f;
            vs[e / WIDTH][e % WIDTH] = row < keys ? v[row * WIDTH + e % WIDTH] : 0.0f;
        }
        __syncthreads();
        int end = min(TILE, keys - start);
        if constexpr (CAUSAL) end = min(end, i - start + 1);
        float scores[TILE], highest = largest;
        for (int j = 0; j < end; ++j) {
            scores[j] = 0.0f;
            for (int d = 0; d < WIDTH; ++d) scores[j] += query[d] * ks[j][d];
            highest = fmaxf(highest, scores[j]);
        }
        if (end > 0) {
            float correction = expf(largest - highest);
            total *= correction;
            for (int d = 0; d < WIDTH; ++d) sums[d] *= correction;
            for (int j = 0; j < end; ++j) {
                float weight = expf(scores[j] - highest);
                total += weight;
                for (int d = 0; d < WIDTH; ++d) sums[d] += weight * vs[j][d];
            }
            largest = highest;
        }
        __syncthreads();
    }
    if (!is_valid) return;
    for (int d = 0; d < WIDTH; ++d) out[i * WIDTH + d] = sums[d] / total;
}
template __global__ void attention_flash<16, 16, true>(const float*, const float*, const float*, float*, int, int, float);
template __global__ void attention_flash<8, 32, false>(const float*, const float*, const float*, float*, int, int, float);
