// A += alpha x y^T
template <typename T>
__global__ void outer_product(T* a, const T* x, const T* y, T alpha, int rows, int columns) {
    for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += gridDim.y * blockDim.y) {
        T factor = alpha * x[row];
        for (int column = blockIdx.x * blockDim.x + threadIdx.x; column < columns; column += gridDim.x * blockDim.x) {
            a[row * columns + column] += factor * y[column];
        }
    }
}
template __global__ void outer_product<long long>(long long*, const long long*, const long long*, long long, int, int);
template __global__ void outer_product<double>(double*, const double*, const double*, double, int, int);
