// Quasi Monte Carlo: radical inverses in two bases, and a count of points below a curve.
template <unsigned BASE>
__device__ double radical_inverse(unsigned index) {
    double result = 0.0, digit = 1.0 / BASE;
    for (; index; index /= BASE, digit /= BASE) result += digit * (index % BASE);
    return result;
}

__global__ void halton_integral(double2* points, int* below, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double2 p = {radical_inverse<2>(i + 1), radical_inverse<3>(i + 1)};
    bool is_below = i < n && p.y < p.x * p.x;
    if (i < n) points[i] = p;
    int count = __syncthreads_count(is_below);
    if (threadIdx.x == 0) atomicAdd(below, count);
}
