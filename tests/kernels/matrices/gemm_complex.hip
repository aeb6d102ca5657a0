struct Complex {
    float re, im;
};
__device__ inline Complex operator*(const Complex& a, const Complex& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ inline Complex& operator+=(Complex& a, const Complex& b) {
    a.re += b.re;
    a.im += b.im;
    return a;
}

__global__ void gemm_complex(const Complex* a, const Complex* b, Complex* c, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    Complex sum{};
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}
