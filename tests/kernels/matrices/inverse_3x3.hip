template <typename T, int N>
struct Matrix {
    T m[N][N];
    __device__ T* operator[](int row) { return m[row]; }
    __device__ const T* operator[](int row) const { return m[row]; }
    __device__ T minor_of(int i, int j) const {
        int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
        return m[a][c] * m[b][d] - m[a][d] * m[b][c];
    }
};

// Inverse by cofactors; a singular matrix gives zeros.
template <typename T>
__device__ Matrix<T, 3> inverse(const Matrix<T, 3>& a) {
    Matrix<T, 3> result{};
    T determinant = a[0][0] * a.minor_of(0, 0) + a[0][1] * a.minor_of(0, 1) + a[0][2] * a.minor_of(0, 2);
    if (determinant == T(0)) return result;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) result[j][i] = a.minor_of(i, j) / determinant;
    }
    return result;
}

__global__ void inverse_3x3(const Matrix<double, 3>* in, Matrix<double, 3>* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = inverse(in[i]);
}
