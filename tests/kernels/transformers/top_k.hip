// The K largest of a row with their places, by K rounds of a reduction over pairs packed into one word.
template <int K>
__global__ void top_k(const float* in, float* values, int* places, int columns) {
    __shared__ unsigned long long best[64];
    extern __shared__ bool used[];
    int t = threadIdx.x;
    const float* row = in + blockIdx.x * columns;
    for (int i = t; i < columns; i += 64) used[i] = false;
    __syncthreads();
    for (int k = 0; k < K; ++k) {
        unsigned long long mine = 0;
        for (int i = t; i < columns; i += 64) {
            if (used[i]) continue;
            unsigned bits = __float_as_uint(row[i]);
            unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
            unsigned long long pair = (unsigned long long)ordered << 32 | (0xffffffffu - i);
            mine = mine > pair ? mine : pair;
        }
        best[t] = mine;
        __syncthreads();
        for (int s = 32; s > 0; s /= 2) {
            if (t < s && best[t + s] > best[t]) best[t] = best[t + s];
            __syncthreads();
        }
        int place = (int)(0xffffffffu - (unsigned)best[0]);
        if (t == 0) {
            values[blockIdx.x * K + k] = row[place];
            places[blockIdx.x * K + k] = place;
            used[place] = true;
        }
        __syncthreads();
    }
}
template __global__ void top_k<4>(const float*, float*, int*, int);
