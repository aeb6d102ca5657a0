// Any number of arguments: a fold over a pack, recursion over a pack, the size of a pack.
template <typename... Ts>
__device__ long long sum_of(Ts... values) {
    return (0ll + ... + (long long)values);
}

template <typename T>
__device__ T largest_of(T only) { return only; }
template <typename T, typename... Rest>
__device__ T largest_of(T first, Rest... rest) {
    T other = largest_of<T>(rest...);
    return first > other ? first : other;
}

template <typename F, typename... Ts>
__device__ auto called(F f, Ts... values) { return f(values...); }

__global__ void parameter_packs(const int* in, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = in[i];
    out[4 * i] = sum_of(a, (short)a, (unsigned char)a, 7u);
    out[4 * i + 1] = largest_of(a, -a / 2, 12345);
    out[4 * i + 2] = called([](int x, int y, int z) { return (x ^ y) - z; }, a, i, 3);
    out[4 * i + 3] = sum_of() + sum_of(a);
}
