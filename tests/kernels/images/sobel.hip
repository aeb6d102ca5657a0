// Magnitude of the gradient in integers, cut off at 255.
__global__ void sobel(const unsigned char* in, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[y * width + x] = 0;
        return;
    }
    const unsigned char* p = in + y * width + x;
    int gx = p[-width + 1] + 2 * p[1] + p[width + 1] - p[-width - 1] - 2 * p[-1] - p[width - 1];
    int gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[-width + 1];
    out[y * width + x] = (unsigned char)min(abs(gx) + abs(gy), 255);
}
