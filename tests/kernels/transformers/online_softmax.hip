// One pass over a row: the running maximum and the sum are corrected together (Milakov and Gimelshein, 2018).
struct State {
    float largest, sum;
};

__device__ State merged(State a, State b) {
    float largest = fmaxf(a.largest, b.largest);
    if (largest == -INFINITY) return a;
    return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__global__ void online_softmax(const float* in, float* out, int columns) {
    __shared__ State states[64];
    const float* row = in + (size_t)blockIdx.x * columns;
    State mine = {-INFINITY, 0.0f};
    for (int i = threadIdx.x; i < columns; i += 64) mine = merged(mine, State{row[i], 1.0f});
    states[threadIdx.x] = mine;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
        if (threadIdx.x < s) states[threadIdx.x] = merged(states[threadIdx.x], states[threadIdx.x + s]);
        __syncthreads();
    }
    State all = states[0];
    for (int i = threadIdx.x; i < columns; i += 64) out[(size_t)blockIdx.x * columns + i] = expf(row[i] - all.largest) / all.sum;
}
