// Convolution, pooling and their gradients through amdgpu.hpp.
#include "check.hpp"

namespace {

using amdgpu::Array;
namespace ops = amdgpu::ops;

void convolution(const amdgpu::Device &device) {
    const Array x = array_of<float>(device, "float32", {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const Array weight = array_of<float>(device, "float32", {1, 1, 2, 2}, {1, 2, 3, 4}), bias = array_of<float>(device, "float32", {1}, {100});
    CHECK((ops::conv2d(x, weight, {.bias = bias}).read<float>() == std::vector<float>{137, 147, 167, 177}));
    CHECK((ops::conv2d(x, weight, {.stride = {2, 2}, .padding = {1, 1}}).read<float>() == std::vector<float>{4, 18, 36, 77}));
    const Array gradient = array_of<float>(device, "float32", {1, 1, 2, 2}, {1, 0, 0, 1});
    const std::vector<float> by_x = {1, 2, 0, 3, 5, 2, 0, 3, 4}, by_weight = {6, 8, 12, 14};
    CHECK(ops::conv2d_input_gradient(gradient, weight, {1, 1, 3, 3}).read<float>() == by_x);
    CHECK(ops::conv2d_weight_gradient(x, gradient, {1, 1, 2, 2}).read<float>() == by_weight);
    const Array images = x.reshape({1, 3, 3, 1});
    CHECK((ops::conv2d(images, weight, {.layout = "NHWC"}).shape() == std::vector<std::int64_t>{1, 2, 2, 1}));
    expect(AGPU_ERROR_INVALID_ARGUMENT, "known are NCHW, NHWC", [&] { (void)ops::conv2d(x, weight, {.layout = "HWCN"}); });
}

void pooling(const amdgpu::Device &device) {
    const Array x = array_of<float>(device, "float32", {1, 1, 2, 4}, {1, 5, 2, 3, 4, 0, 8, 7});
    CHECK((ops::pool("max_pool2d", x, {.window = {2, 2}}).read<float>() == std::vector<float>{5, 8}));
    CHECK((ops::pool("avg_pool2d", x, {.window = {2, 2}, .stride = amdgpu::Pair{1, 1}}).read<float>() == std::vector<float>{2.5, 3.75, 5}));
    const Array gradient = array_of<float>(device, "float32", {1, 1, 1, 2}, {4, 8});
    CHECK((ops::pool_gradient("max_pool2d", x, gradient, {.window = {2, 2}}).read<float>() == std::vector<float>{0, 4, 0, 0, 0, 0, 8, 0}));
    CHECK((ops::pool_gradient("avg_pool2d", x, gradient, {.window = {2, 2}}).read<float>() == std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2}));
    expect(AGPU_ERROR_INVALID_ARGUMENT, "known are max_pool2d, avg_pool2d", [&] { (void)ops::pool("pool", x, {.window = {1, 1}}); });
}

}  // namespace

int main() {
    {
        const amdgpu::Device device("cpu:0");
        convolution(device);
        pooling(device);
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
