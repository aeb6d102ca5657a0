// Operations on complex numbers through amdgpu.hpp.
#include "check.hpp"

#include <complex>

using Complex = std::complex<float>;

int main() {
    using amdgpu::Array;
    namespace ops = amdgpu::ops;
    {
        const amdgpu::Device device("cpu:0");
        const Array a = array_of<Complex>(device, "complex64", {2, 2}, {{1, 2}, {3, -1}, {0, 1}, {2, 0}});
        const Array b = array_of<Complex>(device, "complex64", {2}, {{0, 1}, {1, 1}});
        const Array real = array_of<float>(device, "float32", {2}, {2, 3});
        CHECK((ops::elementwise("add", {a, b}).read<Complex>() == std::vector<Complex>{{1, 3}, {4, 0}, {0, 2}, {3, 1}}));
        CHECK((ops::elementwise("multiply", {a, b}).read<Complex>() == std::vector<Complex>{{-2, 1}, {4, 2}, {-1, 0}, {2, 2}}));
        CHECK((ops::elementwise("multiply", {b, real}).read<Complex>() == std::vector<Complex>{{0, 2}, {3, 3}}));
        CHECK((ops::elementwise("conj", {b}).read<Complex>() == std::vector<Complex>{{0, -1}, {1, -1}}));
        CHECK(is_near(ops::elementwise("absolute", {b}), {1, 1.41421356}));
        CHECK((ops::reduce("sum", a, {.axes = {0}}).read<Complex>() == std::vector<Complex>{{1, 3}, {5, -1}}));
        CHECK((ops::scan("cumsum", b).read<Complex>() == std::vector<Complex>{{0, 1}, {1, 2}}));
        CHECK((ops::matmul(a, b).read<Complex>() == std::vector<Complex>{{2, 3}, {1, 2}}));
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "complex numbers have no order", [&] { (void)ops::elementwise("less", {a, b}); });
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "complex numbers have no order", [&] { (void)ops::reduce("max", a); });
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "complex64", [&] { (void)ops::top_k(b, 1); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
