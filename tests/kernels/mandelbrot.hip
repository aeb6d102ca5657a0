// Escape-time iteration counts on a width x height picture.
__global__ void mandelbrot(int* counts, int width, int height, float left, float top, float step, int limit) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    float cx = left + column * step;
    float cy = top + row * step;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        ++count;
    }
    counts[row * width + column] = count;
}
