// European option prices.
__device__ float normal_distribution(float x) {
    const float a[5] = {0.31938153f, -0.356563782f, 1.781477937f, -1.821255978f, 1.330274429f};
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float sum = 0.0f;
    for (int i = 4; i >= 0; --i) sum = (sum + a[i]) * k;
    float tail = 0.3989422804f * expf(-0.5f * x * x) * sum;
    return x > 0 ? 1.0f - tail : tail;
}

__global__ void black_scholes(float* call, float* put, const float* price, const float* strike, const float* years, float rate, float volatility, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float root = sqrtf(years[i]);
        float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
        float d2 = d1 - volatility * root;
        float discounted = strike[i] * expf(-rate * years[i]);
        call[i] = price[i] * normal_distribution(d1) - discounted * normal_distribution(d2);
        put[i] = discounted * normal_distribution(-d2) - price[i] * normal_distribution(-d1);
    }
}
