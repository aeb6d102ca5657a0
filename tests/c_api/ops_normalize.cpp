// Softmax, norms, batch normalisation and their gradients through amdgpu.hpp.
#include "check.hpp"

namespace {

using amdgpu::Array;
namespace ops = amdgpu::ops;

void softmax(const amdgpu::Device &device) {
    const Array x = array_of<float>(device, "float32", {2, 2}, {0, 0, std::log(3.0F), 0});
    const Array y = ops::normalize("softmax", x);
    CHECK(is_near(y, {0.5, 0.5, 0.75, 0.25}));
    CHECK(is_near(ops::normalize("softmax", x, {.axes = {0, 1}}), {1 / 6.0, 1 / 6.0, 0.5, 1 / 6.0}));
    const Array gradient = array_of<float>(device, "float32", {2, 2}, {1, 0, 4, 0});
    const auto by = ops::normalize_gradient("softmax", y, gradient);
    CHECK(is_near(by.by_x, {0.25, -0.25, 0.75, -0.75}) && !by.by_scale && !by.by_shift);
    CHECK(ops::normalize("log_softmax", x, {.out = x}).info().address == x.info().address);
    CHECK(is_near(x, {std::log(0.5), std::log(0.5), std::log(0.75), std::log(0.25)}));
    expect(AGPU_ERROR_INVALID_ARGUMENT, "axis 2 is out of range", [&] { (void)ops::normalize("softmax", x, {.axes = {2}}); });
}

void norms(const amdgpu::Device &device) {
    const Array x = array_of<float>(device, "float32", {2, 2}, {1, 3, 6, 2}), g = array_of<float>(device, "float32", {2, 2}, {1, 2, 3, 5});
    const Array scale = array_of<float>(device, "float32", {2}, {2, 4}), shift = array_of<float>(device, "float32", {2}, {10, 20});
    CHECK(is_near(ops::normalize("layer_norm", x, {.scale = scale, .shift = shift, .epsilon = 0.0}), {8, 24, 12, 16}));
    const auto layer = ops::normalize_gradient("layer_norm", x, g, {.scale = scale, .epsilon = 0.0});
    // Of two values a layer norm keeps the order only, so that nothing depends on them.
    CHECK(is_near(layer.by_x, {0, 0, 0, 0}) && is_near(layer.by_scale, {2, -3}) && is_near(layer.by_shift, {4, 7}));
    float rows[4] = {1, 3, 6, 2}, slopes[4] = {1, 2, 3, 5}, scales[2] = {2, 4}, shifts[2] = {10, 20}, made[4], means[2], inverses[2];
    const std::int64_t two[2] = {2, 2};
    const auto at = [&](float *memory, std::uint32_t rank) {
        return agpu_operand{AGPU_OPERAND_MEMORY, rank, "float32", memory, two, nullptr, 0, 0, 0};
    };
    const agpu_operand by = at(scales, 1), off = at(shifts, 1);
    ops::layer_norm_training_at(device, at(rows, 2), &by, &off, 1, 0, at(made, 2), at(means, 1), at(inverses, 1));
    CHECK(made[0] == 8 && made[3] == 16 && means[1] == 4 && inverses[1] == 0.5F);
    ops::layer_norm_training_gradient_at(device, at(rows, 2), at(slopes, 2), at(means, 1), at(inverses, 1), &by, 1, nullptr, nullptr, &off);
    CHECK(shifts[0] == 4 && shifts[1] == 7);
    expect(AGPU_ERROR_INVALID_ARGUMENT, "epsilon is -1",
           [&] { ops::layer_norm_training_at(device, at(rows, 2), nullptr, nullptr, 1, -1, at(made, 2), at(means, 1), at(inverses, 1)); });
    const Array z = array_of<float>(device, "float32", {2}, {1, 7});
    CHECK(is_near(ops::normalize("rms_norm", z, {.scale = scale, .epsilon = 0.0}), {0.4, 5.6}));
    const auto rms = ops::normalize_gradient("rms_norm", z, scale, {.epsilon = 0.0});
    // (g - n mean(g n)) / 5 with n = (0.2, 1.4): mean(g n) = 3.
    CHECK(is_near(rms.by_x, {0.28, -0.04}) && is_near(rms.by_scale, {0.4, 5.6}) && !rms.by_shift);
}

void batch_norm(const amdgpu::Device &device) {
    const Array x = array_of<float>(device, "float32", {2, 2}, {1, 10, 3, 30}), g = array_of<float>(device, "float32", {2, 2}, {1, 2, 5, 7});
    const Array weight = array_of<float>(device, "float32", {2}, {2, 3}), bias = array_of<float>(device, "float32", {2}, {1, -1});
    const auto trained = ops::batch_norm_training(x, {.weight = weight, .bias = bias, .epsilon = 0.0});
    CHECK(is_near(trained.result, {-1, -4, 3, 2}) && is_near(trained.mean, {2, 20}) && is_near(trained.variance, {1, 100}));
    CHECK(is_near(ops::batch_norm(x, trained.mean, trained.variance, {.epsilon = 0.0}, -1), {-1, -1, 1, 1}));
    const auto by = ops::batch_norm_gradient(x, g, {.weight = weight, .epsilon = 0.0});
    CHECK(is_near(by.by_x, {0, 0, 0, 0}) && is_near(by.by_weight, {4, 5}) && is_near(by.by_bias, {6, 9}));
    expect(AGPU_ERROR_SHAPE_MISMATCH, "channel_axis is 2", [&] { (void)ops::batch_norm_training(x, {}, 2); });
}

}  // namespace

int main() {
    {
        const amdgpu::Device device("cpu:0");
        softmax(device);
        norms(device);
        batch_norm(device);
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
