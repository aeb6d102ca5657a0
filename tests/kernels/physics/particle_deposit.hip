// Charge of particles spread over the four corners of their cell, in fixed point by atomics on shared and then global memory.
__global__ void particle_deposit(const float2* particles, int* grid, int side, int n) {
    extern __shared__ int local[];
    int cells = side * side;
    for (int c = threadIdx.x; c < cells; c += blockDim.x) local[c] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = particles[i].x, y = particles[i].y;
        int column = (int)x, row = (int)y;
        int u = (int)((x - column) * 256.0f), v = (int)((y - row) * 256.0f);
        int right = (column + 1) % side, below = (row + 1) % side;
        atomicAdd(&local[row * side + column], (256 - u) * (256 - v));
        atomicAdd(&local[row * side + right], u * (256 - v));
        atomicAdd(&local[below * side + column], (256 - u) * v);
        atomicAdd(&local[below * side + right], u * v);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cells; c += blockDim.x) {
        if (local[c] != 0) atomicAdd(&grid[c], local[c]);
    }
}
