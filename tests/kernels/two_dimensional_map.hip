// out[row][column] = in[column][row] * 2 on a picture whose sides are no multiples of the block.
__global__ void transpose_scaled(const float* in, float* out, int width, int height) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < height) {
        out[row * width + column] = 2.0f * in[column * height + row];
    }
}
