// Mean over a (2 R + 1)^2 window of bytes; the window is cut off at the border.
template <int R>
__global__ void box_filter(const unsigned char* in, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0, count = 0;
    for (int v = max(y - R, 0); v <= min(y + R, height - 1); ++v) {
        for (int u = max(x - R, 0); u <= min(x + R, width - 1); ++u) {
            sum += in[v * width + u];
            ++count;
        }
    }
    out[y * width + x] = (unsigned char)((sum + count / 2) / count);
}
template __global__ void box_filter<2>(const unsigned char*, unsigned char*, int, int);
