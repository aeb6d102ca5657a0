// One step of Jacobi's iteration for u'' = f with fixed ends.
__global__ void jacobi_1d(const double* u, const double* f, double* next, double h2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i == 0 || i == n - 1) {
        next[i] = u[i];
        return;
    }
    next[i] = 0.5 * (u[i - 1] + u[i + 1] - h2 * f[i]);
}
