// Properties of types found at compile time, and a vector whose length is part of its type.
template <typename T>
struct Rank {
    static constexpr int value = 0;
    using Element = T;
};
template <typename T>
struct Rank<T*> {
    static constexpr int value = 1 + Rank<T>::value;
    using Element = typename Rank<T>::Element;
};

template <typename T, int N>
struct Power {
    static __device__ T of(T x) { return x * Power<T, N - 1>::of(x); }
};
template <typename T>
struct Power<T, 0> {
    static __device__ T of(T) { return T(1); }
};

__global__ void partial_specialisations(const unsigned* in, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i];
    out[3 * i] = Power<unsigned, 5>::of(x) + Power<unsigned, 0>::of(x);
    out[3 * i + 1] = Rank<int**>::value * 100 + Rank<float>::value * 10 + (int)sizeof(typename Rank<double*>::Element);
    out[3 * i + 2] = (unsigned)Power<unsigned long long, 3>::of(x);
}
