// Arrays as arguments of launches, through amdgpu.hpp.
#include "check.hpp"

int main() {
    using amdgpu::Array;
    {
        const amdgpu::Device device("cpu:0");
        const amdgpu::Kernel axpy = device.compile(
            "__global__ void axpy(float *y, const float *x, float a, int n) {\n"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    if (i < n) y[i] += a * x[i];\n"
            "}\n");
        const amdgpu::Stream stream = device.create_stream();
        const Array x = array_of<float>(device, "float32", {2, 2}, {1, 2, 3, 4}), y = array_of<float>(device, "float32", {4}, {1, 1, 1, 1});
        axpy.launch({1}, {32}, {y, x, 2.0F, 4});
        CHECK((y.read<float>() == std::vector<float>{3, 5, 7, 9}));
        for (int i = 0; i < 200; i++) axpy.launch({1}, {32}, {y, array_of<float>(device, "float32", {4}, {1, 1, 1, 1}), 1, 4}, stream);
        CHECK((y.read<float>() == std::vector<float>{203, 205, 207, 209}));
        const amdgpu::Launch launch = axpy.prepare({1}, {32}, {y, x, -2.0F, 4});
        launch(stream);
        const amdgpu::CapturedGraph graph = device.record([&] { launch(stream); });
        graph.replay();
        CHECK((y.read<float>() == std::vector<float>{199, 197, 195, 193}));
        const Array wide(device, "float64", {4});
        expect(AGPU_ERROR_INVALID_TYPE, "float64", [&] { axpy.launch({1}, {32}, {wide, x, 1.0F, 4}); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
