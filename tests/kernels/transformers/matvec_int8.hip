// Weights as bytes with a scale for each group of 32; the input is quantised the same way, products are exact integers.
__global__ void matvec_int8(const signed char* weights, const float* weight_scales, const signed char* x, const float* x_scales, float* y,
                            int groups) {
    __shared__ float parts[32];
    int row = blockIdx.x;
    float sum = 0.0f;
    for (int g = threadIdx.x; g < groups; g += 32) {
        int products = 0;
        const signed char* w = weights + (row * groups + g) * 32;
        for (int i = 0; i < 32; ++i) products += w[i] * x[g * 32 + i];
        sum += products * (weight_scales[row * groups + g] * x_scales[g]);
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 16; s > 0; s /= 2) {
        if (threadIdx.x < s) parts[threadIdx.x] += parts[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[row] = parts[0];
}
