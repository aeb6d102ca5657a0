// Butterflies without multiplication, in place, for any type.
template <typename T>
__global__ void walsh_hadamard(T* values, int n) {
    extern __shared__ unsigned char memory[];
    T* x = reinterpret_cast<T*>(memory);
    T* mine = values + (size_t)blockIdx.x * n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = mine[i];
    for (int half = 1; half < n; half <<= 1) {
        __syncthreads();
        for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
            int first = ((k & ~(half - 1)) << 1) | (k & (half - 1));
            T a = x[first], b = x[first + half];
            x[first] = a + b;
            x[first + half] = a - b;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine[i] = x[i];
}
template __global__ void walsh_hadamard<int>(int*, int);
template __global__ void walsh_hadamard<long long>(long long*, int);
