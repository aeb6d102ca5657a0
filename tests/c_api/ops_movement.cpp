// Rows by index, axes in another order, copies without gaps, other dtypes, through amdgpu.hpp.
#include "check.hpp"

int main() {
    using amdgpu::Array;
    namespace ops = amdgpu::ops;
    {
        const amdgpu::Device device("cpu:0");
        const Array x = array_of<float>(device, "float32", {2, 3}, {1, 2, 3, 4, 5, 6}), out(device, "float32", {3, 2});
        const std::vector<float> transposed = {1, 4, 2, 5, 3, 6};
        CHECK(ops::transpose(x).read<float>() == transposed);
        CHECK(ops::transpose(x, {-1, 0}, out).info().address == out.info().address && out.read<float>() == transposed);
        const Array view = x.view({3, 2}, {1, 3});
        CHECK(ops::contiguous(view).read<float>() == transposed);
        CHECK(ops::contiguous(x).info().address == x.info().address);
        const Array indices = array_of<std::int32_t>(device, "int32", {2}, {1, 1});
        CHECK((ops::embedding(indices, x).read<float>() == std::vector<float>{4, 5, 6, 4, 5, 6}));
        CHECK((ops::cast(x, "int16").read<std::int16_t>() == std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}));
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "must be int32 or int64", [&] { (void)ops::embedding(x, x); });
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "int7", [&] { (void)ops::cast(x, "int7"); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
