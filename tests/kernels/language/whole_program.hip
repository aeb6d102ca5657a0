#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                    \
    do {                                                               \
        hipError_t error = (call);                                     \
        if (error != hipSuccess) {                                     \
            fprintf(stderr, "%s\n", hipGetErrorString(error));         \
            exit(1);                                                   \
        }                                                              \
    } while (0)

constexpr int kThreads = 64;

__device__ __host__ inline int wrapped(int i, int n) { return (i % n + n) % n; }

// A kernel inside of a whole program with its host side, as it stands in tutorials.
__global__ void whole_program(const int* __restrict__ in, int* __restrict__ out, int n, int shift) {
    int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < n) out[wrapped(i + shift, n)] = in[i];
}

static void report(const std::vector<int>& values) {
    for (size_t i = 0; i < values.size(); ++i) printf("%d ", values[i]);
}

int main(int argc, char** argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    std::vector<int> host(n);
    int *in, *out;
    CHECK(hipMalloc(&in, n * sizeof(int)));
    CHECK(hipMalloc(&out, n * sizeof(int)));
    CHECK(hipMemcpy(in, host.data(), n * sizeof(int), hipMemcpyHostToDevice));
    whole_program<<<(n + kThreads - 1) / kThreads, kThreads>>>(in, out, n, 3);
    CHECK(hipDeviceSynchronize());
    report(host);
    return 0;
}
