// Functions that take and give lambdas; captures by value and by reference.
template <typename F, typename G>
struct Composed {
    F f;
    G g;
    __device__ int operator()(int x) const { return g(f(x)); }
};
template <typename F, typename G>
__device__ Composed<F, G> compose(F f, G g) { return Composed<F, G>{f, g}; }

template <typename F>
__device__ int repeated(int times, int x, F f) {
    for (int i = 0; i < times; ++i) x = f(x);
    return x;
}

__global__ void lambda_pipeline(const int* in, int* out, int* calls, int scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int count = 0;
    auto scaled = [scale](int x) { return x * scale + 1; };
    auto counted = [&count](int x) {
        ++count;
        return x ^ (x >> 3);
    };
    auto both = compose(scaled, counted);
    out[i] = repeated(in[i] & 7, in[i], both) + repeated(2, i, [=](auto x) { return x + scale; });
    repeated(3, 0, counted);
    calls[i] = count;
}
