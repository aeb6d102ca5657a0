// Density of smoothed particles with the poly6 kernel; particles pass through shared memory in tiles.
__global__ void smoothed_density(const float4* particles, float* densities, float radius, int n) {
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 here = i < n ? particles[i] : float4{0.0f, 0.0f, 0.0f, 0.0f};
    float h2 = radius * radius, sum = 0.0f;
    for (int start = 0; start < n; start += 64) {
        if (start + threadIdx.x < n) tile[threadIdx.x] = particles[start + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 64 && start + k < n; ++k) {
            float dx = here.x - tile[k].x, dy = here.y - tile[k].y, dz = here.z - tile[k].z;
            float left = h2 - (dx * dx + dy * dy + dz * dz);
            if (left > 0.0f) sum += tile[k].w * left * left * left;
        }
        __syncthreads();
    }
    if (i < n) densities[i] = sum * 1.5666814f / (h2 * h2 * h2 * h2 * radius);
}
