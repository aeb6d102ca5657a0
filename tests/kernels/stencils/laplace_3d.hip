// Seven-point stencil; blocks are three-dimensional.
__global__ void laplace_3d(const double* u, double* out, int3 size) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= size.x || y >= size.y || z >= size.z) return;
    int row = size.x, layer = size.x * size.y;
    int here = z * layer + y * row + x;
    if (x == 0 || y == 0 || z == 0 || x == size.x - 1 || y == size.y - 1 || z == size.z - 1) {
        out[here] = 0.0;
        return;
    }
    out[here] = u[here - 1] + u[here + 1] + u[here - row] + u[here + row] + u[here - layer] + u[here + layer] - 6.0 * u[here];
}
