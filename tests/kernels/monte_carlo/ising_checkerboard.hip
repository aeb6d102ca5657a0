// Metropolis steps of the Ising model for one colour of a checkerboard; the random number of a cell is a hash of its place.
__device__ inline unsigned hash(unsigned x, unsigned sweep) {
    x = (x + 0x9E3779B9u) * (2u * sweep + 1u);
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    x = (x ^ (x >> 12)) * 0x297a2d39u;
    return x ^ (x >> 15);
}

__global__ void ising_checkerboard(signed char* spins, const unsigned* thresholds, int size, unsigned sweep, int colour) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size || ((x ^ y) & 1) != colour) return;
    auto spin = [&](int column, int row) { return (int)spins[(row & (size - 1)) * size + (column & (size - 1))]; };
    int around = spin(x - 1, y) + spin(x + 1, y) + spin(x, y - 1) + spin(x, y + 1);
    int cost = spins[y * size + x] * around;
    if (cost <= 0 || hash(y * size + x, sweep) < thresholds[cost / 2]) spins[y * size + x] = -spins[y * size + x];
}
