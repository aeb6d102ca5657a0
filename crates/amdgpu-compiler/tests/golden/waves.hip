// Every operation of a wave: exchanged, voted on, matched, waited for; in a loop that lanes leave at different turns.
__global__ void k(const int* in, float* sums, unsigned long long* votes, double* doubles, int n) {
    __shared__ float partial[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = i < n ? (float)in[i] : 0.0f;
    for (int step = warpSize / 2; step > 0; step /= 2) value += __shfl_down(value, step);
    if (__lane_id() == 0) partial[threadIdx.x / warpSize] = value;
    __syncthreads();
    sums[i] = partial[0];
    votes[i] = __ballot_sync(0xffffffff, value > 3.0f) + __match_any_sync(0xffffffff, in[i]);
    for (int turn = 0; turn < in[i]; ++turn) doubles[i] += __shfl_xor_sync(__activemask(), doubles[i], 1);
    __syncwarp();
    votes[i] += __match_any(doubles[i]);
}
