// Every element counts those that go before it; equal ones keep their order.
template <typename T>
__device__ bool goes_before(const T& a, int i, const T& b, int j) {
    return a < b || (a == b && i < j);
}

template <typename T>
__global__ void rank_sort(const T* in, T* out, int n) {
    __shared__ T tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T mine = i < n ? in[i] : T();
    int rank = 0;
    for (int start = 0; start < n; start += 64) {
        if (start + threadIdx.x < n) tile[threadIdx.x] = in[start + threadIdx.x];
        __syncthreads();
        int count = min(64, n - start);
        for (int k = 0; k < count; ++k) rank += goes_before(tile[k], start + k, mine, i);
        __syncthreads();
    }
    if (i < n) out[rank] = mine;
}

template __global__ void rank_sort<double>(const double*, double*, int);
template __global__ void rank_sort<signed char>(const signed char*, signed char*, int);
