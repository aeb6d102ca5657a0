// D2Q9: pull, then collide after Bhatnagar, Gross and Krook; the domain is periodic.
__device__ constexpr int cx(int i) { return i == 1 || i == 5 || i == 8 ? 1 : i == 3 || i == 6 || i == 7 ? -1 : 0; }
__device__ constexpr int cy(int i) { return i == 2 || i == 5 || i == 6 ? 1 : i == 4 || i == 7 || i == 8 ? -1 : 0; }
__device__ constexpr float weight(int i) { return i == 0 ? 4.0f / 9.0f : i < 5 ? 1.0f / 9.0f : 1.0f / 36.0f; }

__global__ void lattice_boltzmann(const float* in, float* out, int width, int height, float omega) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int cells = width * height;
    float f[9], density = 0.0f, ux = 0.0f, uy = 0.0f;
    for (int i = 0; i < 9; ++i) {
        int from_x = (x - cx(i) + width) % width, from_y = (y - cy(i) + height) % height;
        f[i] = in[i * cells + from_y * width + from_x];
        density += f[i];
        ux += cx(i) * f[i];
        uy += cy(i) * f[i];
    }
    ux /= density;
    uy /= density;
    float speed2 = ux * ux + uy * uy;
    for (int i = 0; i < 9; ++i) {
        float along = cx(i) * ux + cy(i) * uy;
        float rest = weight(i) * density * (1.0f + 3.0f * along + 4.5f * along * along - 1.5f * speed2);
        out[i * cells + y * width + x] = f[i] + omega * (rest - f[i]);
    }
}
