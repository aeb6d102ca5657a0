// Power at chosen frequencies by a recurrence of second order.
__global__ void goertzel(const double* samples, const double* coefficients, double* powers, int n, int frequencies) {
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= frequencies) return;
    double coefficient = coefficients[f], s1 = 0.0, s2 = 0.0;
    for (int i = 0; i < n; ++i) {
        double s0 = samples[i] + coefficient * s1 - s2;
        s2 = s1;
        s1 = s0;
    }
    powers[f] = s1 * s1 + s2 * s2 - coefficient * s1 * s2;
}
