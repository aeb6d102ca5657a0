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
        const Array columns = array_of<std::int64_t>(device, "int64", {2}, {2, -3});
        CHECK((ops::pick(x, {1}, {columns}).read<float>() == std::vector<float>{3, 6, 1, 4}));
        const Array copy = ops::cast(x, "float64");
        ops::put(copy, {1}, {columns}, array_of<double>(device, "float64", {2, 2}, {10, 20, 30, 40}), "add");
        CHECK((copy.read<double>() == std::vector<double>{31, 2, 13, 44, 5, 26}));
        const auto sorted = ops::sort(array_of<float>(device, "float32", {3}, {2, 3, 1}), 0, true);
        CHECK((sorted.values.read<float>() == std::vector<float>{3, 2, 1} && sorted.indices.read<std::int64_t>() == std::vector<std::int64_t>{1, 0, 2}));
        CHECK((ops::nonzero(array_of<float>(device, "float32", {3}, {0, 3, 1})).read<std::int64_t>() == std::vector<std::int64_t>{1, 2}));
        float values[3] = {1, 2, 3}, sums[3] = {0};
        const std::int64_t three[1] = {3};
        const agpu_operand given = {AGPU_OPERAND_MEMORY, 1, "float32", values, three, nullptr, 0, 0, 0};
        const agpu_operand one = {AGPU_OPERAND_REAL, 0, "float32", nullptr, nullptr, nullptr, 0, 1, 0};
        const agpu_operand made = {AGPU_OPERAND_MEMORY, 1, "float32", sums, three, nullptr, 0, 0, 0};
        ops::elementwise_at(device, "add", {given, one}, made);
        CHECK(sums[0] == 2 && sums[2] == 4);
        const std::int64_t one_by_three[2] = {1, 3}, three_by_one[2] = {3, 1}, one_by_one[2] = {1, 1};
        const agpu_operand line = {AGPU_OPERAND_MEMORY, 2, "float32", values, one_by_three, nullptr, 0, 0, 0};
        const agpu_operand column = {AGPU_OPERAND_MEMORY, 2, "float32", values, three_by_one, nullptr, 0, 0, 0};
        ops::matmul_at(device, line, column, {AGPU_OPERAND_MEMORY, 2, "float32", sums, one_by_one, nullptr, 0, 0, 0});
        CHECK(sums[0] == 14 && sums[2] == 4);
        ops::fused_at(device, "add(i0, 1.0 float32) float32; square(s0) float32", {given}, made);
        CHECK(sums[0] == 4 && sums[2] == 16);
        expect(AGPU_ERROR_ARGUMENT_COUNT, "operands", [&] { ops::elementwise_at(device, "add", {given}, made); });
        const agpu_list_item item = {3, {sums, values}, {0, 3}};
        ops::list_at(device, "multiply", {"float32", "float32", nullptr}, {item});
        CHECK(sums[0] == 3 && sums[2] == 9);
        expect(AGPU_ERROR_INVALID_ARGUMENT, "takes 7 numbers", [&] { ops::list_at(device, "sgd", {"float32", "float32", nullptr, nullptr, nullptr}, {item}, {1}); });
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "must be int32 or int64", [&] { (void)ops::embedding(x, x); });
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "int7", [&] { (void)ops::cast(x, "int7"); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
