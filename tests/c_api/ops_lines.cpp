// Prefix sums, the best values of lines, reductions with options of their own, through amdgpu.hpp.
#include "check.hpp"

int main() {
    using amdgpu::Array;
    namespace ops = amdgpu::ops;
    {
        const amdgpu::Device device("cpu:0");
        const Array x = array_of<float>(device, "float32", {2, 3}, {1, 2, 3, 6, 5, 4});
        CHECK((ops::scan("cumsum", x).read<float>() == std::vector<float>{1, 3, 6, 6, 11, 15}));
        const auto best = ops::top_k(x, 1), least = ops::top_k(x, 1, 0, true);
        CHECK((best.values.read<float>() == std::vector<float>{3, 6} && best.indices.read<std::int64_t>() == std::vector<std::int64_t>{2, 0}));
        CHECK((least.values.read<float>() == std::vector<float>{1, 2, 3}));
        const Array wide = ops::reduce("mean", x, {.axes = {0, 1}, .keeps_axes = true, .dtype = "float64"});
        CHECK((wide.read<double>() == std::vector<double>{3.5} && wide.shape() == std::vector<std::int64_t>{1, 1}));
        CHECK((ops::scan("cumprod", x, 0, x).read<float>() == std::vector<float>{1, 2, 3, 6, 10, 12}));
        CHECK(x.read<float>()[4] == 10);
        CHECK((ops::scan("cummax", x, 1, {}, false, true).read<float>() == std::vector<float>{3, 3, 3, 12, 12, 12}));
        const Array waves = array_of<float>(device, "float32", {4}, {3, 1, 4, 1});
        const auto so_far = ops::cumulative_best("cummin", waves);
        CHECK((so_far.values.read<float>() == std::vector<float>{3, 1, 1, 1}));
        CHECK((so_far.indices.read<std::int64_t>() == std::vector<std::int64_t>{0, 1, 1, 3}));
        const Array mask = array_of<std::uint8_t>(device, "uint8", {4}, {1, 0, 0, 7});
        CHECK((ops::masked_select(waves, mask).read<float>() == std::vector<float>{3, 1}));
        expect(AGPU_ERROR_SHAPE_MISMATCH, "they must be the same", [&] { (void)ops::masked_select(waves, x); });
        expect(AGPU_ERROR_INVALID_ARGUMENT, "known are cummax, cummin", [&] { (void)ops::cumulative_best("cumsum", x); });
        expect(AGPU_ERROR_INVALID_ARGUMENT, "known are cumsum, cumprod", [&] { (void)ops::scan("sum", x); });
        expect(AGPU_ERROR_INVALID_ARGUMENT, "k is 3", [&] { (void)ops::top_k(x, 3, 0); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
