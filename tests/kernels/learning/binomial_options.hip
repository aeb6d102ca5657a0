// American put by a binomial tree: the values of a level lie in shared memory, one block for each option.
__global__ void binomial_options(const float* prices, const float* strikes, float* values, int steps, float up, float probability,
                                 float discount) {
    __shared__ float level[129];
    int i = threadIdx.x;
    float price = prices[blockIdx.x], strike = strikes[blockIdx.x];
    float here = price * powf(up, (float)(2 * i - steps));
    if (i <= steps) level[i] = fmaxf(strike - here, 0.0f);
    __syncthreads();
    for (int step = steps - 1; step >= 0; --step) {
        float held = 0.0f;
        if (i <= step) held = discount * (probability * level[i + 1] + (1.0f - probability) * level[i]);
        __syncthreads();
        if (i <= step) level[i] = fmaxf(held, strike - price * powf(up, (float)(2 * i - step)));
        __syncthreads();
    }
    if (i == 0) values[blockIdx.x] = level[0];
}
