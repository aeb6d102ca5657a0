// Payoff of an option on the mean of a path of prices; normal numbers by Box and Muller from a hash of (path, step).
__device__ unsigned mixed(unsigned x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

__device__ float uniform(unsigned bits) { return ((bits >> 8) + 0.5f) * (1.0f / 16777216.0f); }

__global__ void asian_option(float* payoffs, float price, float strike, float drift, float volatility, int steps, int paths) {
    int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= paths) return;
    float sum = 0.0f;
    for (int step = 0; step < steps; ++step) {
        unsigned key = mixed(path * 1024u + step);
        float radius = sqrtf(-2.0f * logf(uniform(key)));
        float angle = 6.2831853f * uniform(mixed(key ^ 0x9E3779B9u));
        price *= expf(drift + volatility * radius * cosf(angle));
        sum += price;
    }
    payoffs[path] = fmaxf(sum / steps - strike, 0.0f);
}
