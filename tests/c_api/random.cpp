// Random numbers through amdgpu.hpp.
#include "check.hpp"

int main() {
    using amdgpu::Array;
    using amdgpu::Random;
    {
        const amdgpu::Device device("cpu:0");
        const Random rng({7, 9});
        const agpu_random_state start = rng.state();
        const Array out(device, "float64", {100}), whole(device, "int32", {100});
        rng.draw("normal", out, 0, 1);
        const std::vector<double> numbers = out.read<double>();
        CHECK(rng.state().position == 200);
        rng.advance(-200);
        rng.draw("normal", out, 0, 1);
        CHECK(out.read<double>() == numbers);
        rng.set_state(start);
        rng.draw("normal", out, 0, 1);
        CHECK(out.read<double>() == numbers);
        CHECK(rng.jumped(3).state().jumps == 3);
        const std::vector<Random> children = rng.spawn(2);
        CHECK(children.size() == 2 && children[0].state().key != children[1].state().key);
        rng.integers(whole, 10, 5);
        for (const std::int32_t value : whole.read<std::int32_t>()) CHECK(value >= 10 && value < 15);
        CHECK(rng.permutation(device, 10).shape() == std::vector<std::int64_t>{10});
        CHECK(amdgpu::tensorflow_bits(device, 0, 0, 0, 2).read<std::uint32_t>() == std::vector<std::uint32_t>({0x6627e8d5, 0xe169c58d}));
        float normal[2] = {0, 0};
        const std::int64_t two[1] = {2};
        amdgpu::tensorflow_normal_at(device, 0x0123456789abcdef, 14, 7, true, {AGPU_OPERAND_MEMORY, 1, "float32", normal, two, nullptr, 0, 0, 0});
        CHECK(std::abs(normal[1]) < 2 && std::abs(normal[0] - 0.127926201F) < 1e-6);
        const Array x = array_of<float>(device, "float32", {4}, {1, 1, 1, 1});
        CHECK(amdgpu::dropout(x, 0.25, start).read<float>() == amdgpu::dropout(x, 0.25, start).read<float>());
        CHECK(amdgpu::dropout(x, 0, start, x).info().address == x.info().address);
        expect(AGPU_ERROR_INVALID_ARGUMENT, "above 0", [&] { rng.draw("beta", out, 0, 1); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
