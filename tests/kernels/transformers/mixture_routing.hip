// Every token goes to the expert of the highest score; experts count their tokens, and each learns its place by the order of tokens.
__global__ void mixture_routing(const float* scores, int* experts, int* places, int* counts, int tokens, int count) {
    extern __shared__ int chosen[];
    for (int t = threadIdx.x; t < tokens; t += blockDim.x) {
        int best = 0;
        for (int e = 1; e < count; ++e) {
            if (scores[t * count + e] > scores[t * count + best]) best = e;
        }
        chosen[t] = best;
        experts[t] = best;
    }
    __syncthreads();
    for (int t = threadIdx.x; t < tokens; t += blockDim.x) {
        int place = 0;
        for (int other = 0; other < t; ++other) place += chosen[other] == chosen[t];
        places[t] = place;
        atomicMax(&counts[chosen[t]], place + 1);
    }
}
