// Keeps what a predicate accepts, in order, within a block; the number kept goes out as well.
template <typename T, typename P>
__device__ void compact(const T* in, T* out, int* counts, int n, P keeps) {
    __shared__ int places[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    bool is_kept = i < n && keeps(in[i]);
    places[t] = is_kept;
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        int other = t >= d ? places[t - d] : 0;
        __syncthreads();
        places[t] += other;
        __syncthreads();
    }
    if (is_kept) out[blockIdx.x * 128 + places[t] - 1] = in[i];
    if (t == 127) counts[blockIdx.x] = places[t];
}

__global__ void stream_compaction(const int* in, int* out, int* counts, int modulus, int n) {
    compact(in, out, counts, n, [modulus](int value) { return value % modulus == 0; });
}
