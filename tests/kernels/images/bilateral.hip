// Weights fall with the distance and with the difference of brightness.
__global__ void bilateral(const float* in, float* out, int width, int height, float spatial, float range) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float here = in[y * width + x], sum = 0.0f, weights = 0.0f;
    for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx) {
            int u = x + dx, v = y + dy;
            if (u < 0 || v < 0 || u >= width || v >= height) continue;
            float value = in[v * width + u];
            float weight = expf(-(dx * dx + dy * dy) * spatial - (value - here) * (value - here) * range);
            sum += weight * value;
            weights += weight;
        }
    }
    out[y * width + x] = sum / weights;
}
