// Layer of 3 x 3 filters with several channels, "same" padding; the filters of an output channel lie in shared memory.
template <int IN>
__global__ void convolution_2d(const int* in, const int* filters, int* out, int width, int height) {
    __shared__ int mine[IN * 9];
    int channel = blockIdx.z, t = threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = t; i < IN * 9; i += blockDim.x * blockDim.y) mine[i] = filters[channel * IN * 9 + i];
    __syncthreads();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0;
    for (int c = 0; c < IN; ++c) {
        for (int v = 0; v < 3; ++v) {
            for (int u = 0; u < 3; ++u) {
                int column = x + u - 1, row = y + v - 1;
                if (column < 0 || row < 0 || column >= width || row >= height) continue;
                sum += in[(c * height + row) * width + column] * mine[(c * 3 + v) * 3 + u];
            }
        }
    }
    out[(channel * height + y) * width + x] = sum > 0 ? sum : 0;
}
template __global__ void convolution_2d<3>(const int*, const int*, int*, int, int);
