// Transport along x with the difference taken against the wind; the velocity differs from place to place.
__global__ void advection_upwind(const double* q, const double* velocity, double* next, double step, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        double v = velocity[i];
        double slope = v > 0.0 ? q[i] - q[i > 0 ? i - 1 : 0] : q[i < n - 1 ? i + 1 : n - 1] - q[i];
        next[i] = q[i] - step * v * slope;
    }
}
