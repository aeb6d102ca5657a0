// Leapfrog step of the wave equation with periodic borders.
__global__ void wave_2d(const float* now, float* before, int width, int height, float courant2) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int left = (x + width - 1) % width, right = (x + 1) % width;
    int up = (y + height - 1) % height, down = (y + 1) % height;
    float value = now[y * width + x];
    float laplace = now[y * width + left] + now[y * width + right] + now[up * width + x] + now[down * width + x] - 4.0f * value;
    before[y * width + x] = 2.0f * value - before[y * width + x] + courant2 * laplace;
}
