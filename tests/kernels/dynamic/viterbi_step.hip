// Most likely predecessor of every state, in logarithms.
__global__ void viterbi_step(const float* scores, const float* transitions, const float* emissions, float* next, int* from, int states) {
    extern __shared__ float before[];
    for (int s = threadIdx.x; s < states; s += blockDim.x) before[s] = scores[s];
    __syncthreads();
    for (int s = threadIdx.x; s < states; s += blockDim.x) {
        float best = -INFINITY;
        int place = -1;
        for (int p = 0; p < states; ++p) {
            float score = before[p] + transitions[p * states + s];
            if (score > best) {
                best = score;
                place = p;
            }
        }
        next[s] = best + emissions[s];
        from[s] = place;
    }
}
