// One reduction for any operation: a lambda goes through three templates.
template <int THREADS, typename T, typename F>
__device__ T reduce_block(T value, T* tree, F combine) {
    tree[threadIdx.x] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) tree[threadIdx.x] = combine(tree[threadIdx.x], tree[threadIdx.x + s]);
        __syncthreads();
    }
    T result = tree[0];
    __syncthreads();
    return result;
}

template <typename T, typename F>
__device__ T fold(const T* values, int n, T start, F combine) {
    T result = start;
    for (int i = threadIdx.x; i < n; i += blockDim.x) result = combine(result, values[i]);
    return result;
}

template <typename T>
__global__ void reduce_with(const T* values, T* results, int n) {
    __shared__ T tree[128];
    auto add = [](T a, T b) { return a + b; };
    auto larger = [](T a, T b) { return a > b ? a : b; };
    auto both = [](T a, T b) { return a & b; };
    auto either = [](T a, T b) { return a ^ b; };
    T sum = reduce_block<128>(fold(values, n, T(0), add), tree, add);
    T most = reduce_block<128>(fold(values, n, T(0), larger), tree, larger);
    T all = reduce_block<128>(fold(values, n, T(~T(0)), both), tree, both);
    T parity = reduce_block<128>(fold(values, n, T(0), either), tree, either);
    if (threadIdx.x == 0) {
        results[0] = sum;
        results[1] = most;
        results[2] = all;
        results[3] = parity;
    }
}

template __global__ void reduce_with<unsigned>(const unsigned*, unsigned*, int);
template __global__ void reduce_with<unsigned long long>(const unsigned long long*, unsigned long long*, int);
