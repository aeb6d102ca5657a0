// Marsaglia's xorshift128 with a state for each work-item, kept in memory between launches.
__device__ unsigned advance(uint4& state) {
    unsigned t = state.x ^ (state.x << 11);
    state.x = state.y;
    state.y = state.z;
    state.z = state.w;
    state.w = state.w ^ (state.w >> 19) ^ t ^ (t >> 8);
    return state.w;
}

__global__ void xorshift_streams(uint4* states, unsigned* out, int each, int streams) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= streams) return;
    uint4 state = states[s];
    for (int i = 0; i < each; ++i) out[i * streams + s] = advance(state);
    states[s] = state;
}
