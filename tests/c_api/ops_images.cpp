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
    expect(AGPU_ERROR_INVALID_ARGUMENT, "known are max_pool1d, adaptive_max_pool1d, max_pool2d", [&] { (void)ops::pool("pool", x, {.window = {1, 1}}); });
}

void convolution_by_name(const amdgpu::Device &device) {
    const Array x = array_of<float>(device, "float32", {1, 1, 4}, {1, 2, 3, 4});
    const Array weight = array_of<float>(device, "float32", {1, 1, 3}, {1, 10, 100});
    CHECK((ops::convolve("conv1d", x, weight, {.pads_same = true}).read<float>() == std::vector<float>{210, 321, 432, 43}));
    const Array gradient = array_of<float>(device, "float32", {1, 1, 2}, {1, 2});
    CHECK((ops::convolve_input_gradient("conv1d", gradient, weight, {1, 1, 4}).read<float>() == std::vector<float>{1, 12, 120, 200}));
    CHECK((ops::convolve_weight_gradient("conv1d", x, gradient, {1, 1, 3}).read<float>() == std::vector<float>{5, 8, 11}));
    const Array wide = ops::convolve("conv_transpose1d", gradient, weight, {.stride = {1, 3}, .output_padding = {0, 0, 2}});
    CHECK((wide.read<float>() == std::vector<float>{1, 10, 100, 2, 20, 200, 0, 0}));
    const Array cube = array_of<float>(device, "float32", {1, 1, 2, 1, 1}, {3, 4}), pair = array_of<float>(device, "float32", {1, 1, 2, 1, 1}, {1, 2});
    CHECK((ops::convolve("conv3d", cube, pair, {.stride_depth = 2, .padding_depth = 1}).read<float>() == std::vector<float>{6, 4}));
    expect(AGPU_ERROR_INVALID_ARGUMENT, "known are conv1d, conv2d, conv3d", [&] { (void)ops::convolve("conv4d", x, weight); });
    expect(AGPU_ERROR_INVALID_ARGUMENT, "must be smaller than the stride 1 or the dilation 1",
           [&] { (void)ops::convolve("conv_transpose1d", x, weight, {.output_padding = {0, 0, 1}}); });
    expect(AGPU_ERROR_SHAPE_MISMATCH, "three axes are expected", [&] { (void)ops::convolve_input_gradient("conv1d", gradient, weight, {1, 4}); });
}

void indices(const amdgpu::Device &device) {
    const Array x = array_of<float>(device, "float32", {1, 1, 2, 3}, {1, 9, 2, 8, 3, 7});
    const amdgpu::PoolOptions options = {.window = {2, 2}, .ceil_mode = true};
    const ops::PoolWithIndices both = ops::pool_with_indices("max_pool2d", x, options);
    CHECK((both.values.read<float>() == std::vector<float>{9, 7}));
    CHECK((both.indices.read<std::int64_t>() == std::vector<std::int64_t>{1, 5}));
    CHECK((ops::max_unpool(both.values, both.indices, {1, 1, 2, 3}).read<float>() == std::vector<float>{0, 9, 0, 0, 0, 7}));
    const Array by_x = ops::pool_indices_gradient("max_pool2d", both.values, both.indices, {1, 1, 2, 3}, options);
    CHECK((by_x.read<float>() == std::vector<float>{0, 9, 0, 0, 0, 7}));
    CHECK((ops::pool("adaptive_avg_pool2d", x, {.output_size = {0, 1, 0}}).read<float>() == std::vector<float>{4.5, 6, 4.5}));
    expect(AGPU_ERROR_INVALID_ARGUMENT, "is not in a plane of 4 pixels", [&] { (void)ops::max_unpool(both.values, both.indices, {1, 1, 2, 2}); });
    expect(AGPU_ERROR_INVALID_ARGUMENT, "only largest values have indices", [&] { (void)ops::pool_with_indices("avg_pool2d", x, options); });
}

}  // namespace

int main() {
    {
        const amdgpu::Device device("cpu:0");
        convolution(device);
        pooling(device);
        convolution_by_name(device);
        indices(device);
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
