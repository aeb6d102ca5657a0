__device__ float mix(float a, float b, float t) { return a + (b - a) * t; }

__global__ void resize_bilinear(const float* in, int width, int height, float* out, int new_width, int new_height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= new_width || y >= new_height) return;
    float u = fminf(fmaxf((x + 0.5f) * width / new_width - 0.5f, 0.0f), width - 1.0f);
    float v = fminf(fmaxf((y + 0.5f) * height / new_height - 0.5f, 0.0f), height - 1.0f);
    int left = (int)floorf(u), top = (int)floorf(v);
    int right = min(left + 1, width - 1), bottom = min(top + 1, height - 1);
    float upper = mix(in[top * width + left], in[top * width + right], u - left);
    float lower = mix(in[bottom * width + left], in[bottom * width + right], u - left);
    out[y * new_width + x] = mix(upper, lower, v - top);
}
