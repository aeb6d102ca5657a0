// Walks along z with three layers in registers and the current one in shared memory.
__global__ void stencil_3d_columns(const float* in, float* out, int nx, int ny, int nz) {
    __shared__ float layer[10][10];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    bool is_valid = x < nx && y < ny;
    int plane = nx * ny, column = y * nx + x;
    float below = 0.0f, here = is_valid ? in[column] : 0.0f;
    for (int z = 0; z < nz; ++z) {
        float above = is_valid && z + 1 < nz ? in[(z + 1) * plane + column] : 0.0f;
        layer[ty][tx] = here;
        if (threadIdx.x == 0) layer[ty][0] = x > 0 && y < ny ? in[z * plane + column - 1] : 0.0f;
        if (threadIdx.x == 7) layer[ty][9] = x + 1 < nx && y < ny ? in[z * plane + column + 1] : 0.0f;
        if (threadIdx.y == 0) layer[0][tx] = y > 0 && x < nx ? in[z * plane + column - nx] : 0.0f;
        if (threadIdx.y == 7) layer[9][tx] = y + 1 < ny && x < nx ? in[z * plane + column + nx] : 0.0f;
        __syncthreads();
        if (is_valid) {
            float right = x + 1 < nx ? layer[ty][tx + 1] : 0.0f, down = y + 1 < ny ? layer[ty + 1][tx] : 0.0f;
            out[z * plane + column] = below + above + layer[ty][tx - 1] + right + layer[ty - 1][tx] + down - 6.0f * here;
        }
        __syncthreads();
        below = here;
        here = above;
    }
}
