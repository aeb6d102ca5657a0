// Compensated sums (Neumaier) of a series in double; contraction must not touch them.
__global__ void double_series(const double* terms, double* sums, double* plain, int length, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0.0, lost = 0.0, simple = 0.0;
    for (int k = 0; k < length; ++k) {
        double term = terms[k * n + i], next = sum + term;
        if (fabs(sum) >= fabs(term)) lost += (sum - next) + term;
        else lost += (term - next) + sum;
        sum = next;
        simple += term;
    }
    sums[i] = sum + lost;
    plain[i] = simple;
}
