// Potential of point charges on the points of a slice (Parboil's cutcp, without the cut-off).
__global__ void coulomb_grid(const double4* charges, double* potential, int count, int width, int height, double spacing, double z) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double sum = 0.0;
    for (int k = 0; k < count; ++k) {
        double dx = x * spacing - charges[k].x, dy = y * spacing - charges[k].y, dz = z - charges[k].z;
        sum += charges[k].w / sqrt(dx * dx + dy * dy + dz * dz);
    }
    potential[y * width + x] += sum;
}
