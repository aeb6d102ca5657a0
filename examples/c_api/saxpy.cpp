// out = 2 * x + y with amdgpu.hpp.
//
// c++ -std=c++20 saxpy.cpp $(pkg-config --cflags --libs amdgpu) -o saxpy && ./saxpy
#include <amdgpu/amdgpu.hpp>

#include <iostream>
#include <numeric>

constexpr auto source = R"(
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
)";

int main() try {
    constexpr int count = 1000;
    std::vector<float> numbers(count), ones(count, 1.0F);
    std::iota(numbers.begin(), numbers.end(), 0.0F);

    const amdgpu::Device device;
    const amdgpu::Memory x = device.upload(std::span<const float>(numbers)), y = device.upload(std::span<const float>(ones));
    const amdgpu::Memory out = device.allocate(x.size_bytes());
    device.compile(source).launch({(count + 255) / 256}, {256}, {2.0F, x, y, out, count});
    std::cout << "2 * 10 + 1 = " << out.read<float>(count)[10] << '\n';
} catch (const amdgpu::Error &error) {
    std::cerr << error.name() << ": " << error.what() << '\n' << error.hint() << '\n';
    return 1;
}
