// Modern CUDA: a generic kernel over functors and lambdas, streams, host templates with packs, RAII and if constexpr.
#include <cuda_runtime.h>
#include <concepts>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#define CUDA_CHECK(expr)                                                                           \
    if (cudaError_t status_ = (expr); status_ != cudaSuccess) {                                    \
        std::cerr << "CUDA error " << cudaGetErrorName(status_) << " at " << __FILE__ << ":" << __LINE__ << std::endl; \
        std::abort();                                                                              \
    }

namespace detail {
template <typename F, typename T, typename = void>
struct is_indexed : std::false_type {};
template <typename F, typename T>
struct is_indexed<F, T, std::void_t<decltype(std::declval<F>()(std::declval<T>(), 0))>> : std::true_type {};
template <typename F, typename T>
inline constexpr bool is_indexed_v = is_indexed<F, T>::value;
}  // namespace detail

struct Square {
    template <typename T>
    __host__ __device__ constexpr T operator()(T x) const { return x * x; }
};
struct AddIndex {
    int scale = 2;
    __host__ __device__ int operator()(int x, int i) const { return x + scale * i; }
};
template <typename F, typename G>
struct Compose {
    F f;
    G g;
    template <typename T>
    __device__ auto operator()(T x) const -> decltype(g(f(x))) { return g(f(x)); }
};

template <typename T, typename F>
__device__ __forceinline__ T apply(F&& f, T x, [[maybe_unused]] int i) {
    if constexpr (detail::is_indexed_v<F, T>) {
        return f(x, i);
    } else {
        return f(x);
    }
}

template <int Items, typename T, typename F>
__global__ void transform(T* out, const T* in, int n, F f) {
    T items[Items];
    const int base = (blockIdx.x * blockDim.x + threadIdx.x) * Items;
#pragma unroll
    for (int k = 0; k < Items; ++k)
        if (base + k < n) items[k] = apply<T>(f, in[base + k], base + k);
    int k = 0;
    for (auto& item : items) {
        if (base + k < n) out[base + k] = item;
        ++k;
    }
}

template __global__ void transform<4, int, Square>(int*, const int*, int, Square);
template __global__ void transform<2, int, AddIndex>(int*, const int*, int, AddIndex);
template __global__ void transform<1, int, Compose<Square, Square>>(int*, const int*, int, Compose<Square, Square>);

template <typename... Kernels>
void run_all(cudaStream_t stream, Kernels&&... kernels) {
    (kernels(stream), ...);
    CUDA_CHECK(cudaStreamSynchronize(stream));
}

template <typename T>
std::optional<std::vector<T>> fetch(const T* pointer, std::size_t n) {
    std::vector<T> host(n);
    if (cudaMemcpy(host.data(), pointer, n * sizeof(T), cudaMemcpyDefault) != cudaSuccess) return std::nullopt;
    return host;
}

int main() {
    const int n = 1000;
    int *in = nullptr, *out = nullptr;
    CUDA_CHECK(cudaMalloc(&in, n * sizeof(int)));
    CUDA_CHECK(cudaMalloc(&out, n * sizeof(int)));
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    run_all(stream, [=](cudaStream_t s) { transform<4><<<2, 128, 0, s>>>(out, in, n, Square{}); },
            [=](cudaStream_t s) { transform<2><<<4, 128, 0, s>>>(out, in, n, AddIndex{3}); });
    if (auto result = fetch(out, n); result && !result->empty()) std::cout << result->front() << "\n";
    auto [a, b] = std::tuple{1, 2.0};
    std::cout << a + b << R"(raw "text" with }{ braces)" << std::endl;
    CUDA_CHECK(cudaFree(in));
    return 0;
}
