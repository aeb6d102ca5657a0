// In the manner of the HIP examples: a checked runtime, a templated kernel, launches by macro.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define HIP_CHECK(call)                                                                        \
    do {                                                                                       \
        hipError_t status = (call);                                                            \
        if (status != hipSuccess) {                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(status));     \
            exit(EXIT_FAILURE);                                                                \
        }                                                                                      \
    } while (0)

template <typename T>
__global__ void saxpy(T* __restrict__ y, const T* __restrict__ x, const T a, const size_t n) {
    const size_t offset = hipBlockDim_x * hipBlockIdx_x + hipThreadIdx_x;
    const size_t stride = hipBlockDim_x * hipGridDim_x;
    for (size_t i = offset; i < n; i += stride) y[i] = a * x[i] + y[i];
}

template __global__ void saxpy<float>(float*, const float*, float, size_t);

static void usage(const char* program) { printf("usage: %s [elements]\n", program); }

template <typename T>
bool verify(const std::vector<T>& a, const std::vector<T>& b, T epsilon) {
    for (size_t i = 0; i < a.size(); ++i)
        if (std::abs(a[i] - b[i]) > epsilon) return false;
    return true;
}

int main(int argc, char* argv[]) {
    if (argc > 2) {
        usage(argv[0]);
        return 1;
    }
    const size_t n = argc == 2 ? strtoul(argv[1], nullptr, 10) : 1 << 20;
    std::vector<float> x(n, 1.0f), y(n, 2.0f), expected(n, 4.0f);
    float *dx, *dy;
    HIP_CHECK(hipMalloc(&dx, n * sizeof(float)));
    HIP_CHECK(hipMalloc((void**)&dy, n * sizeof(float)));
    HIP_CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
    HIP_CHECK(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
    hipEvent_t start, stop;
    HIP_CHECK(hipEventCreate(&start));
    HIP_CHECK(hipEventCreate(&stop));
    hipLaunchKernelGGL(HIP_KERNEL_NAME(saxpy<float>), dim3(256), dim3(256), 0, 0, dy, dx, 2.0f, n);
    saxpy<float><<<dim3(256), dim3(256), 0, hipStreamDefault>>>(dy, dx, 2.0f, n);
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipDeviceSynchronize());
    float milliseconds = 0;
    HIP_CHECK(hipEventElapsedTime(&milliseconds, start, stop));
    HIP_CHECK(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
    puts(verify(y, expected, 1e-6f) ? "PASSED!" : "FAILED!");
    HIP_CHECK(hipFree(dx));
    HIP_CHECK(hipFree(dy));
    return 0;
}
