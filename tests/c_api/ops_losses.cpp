// Losses, attention, sums of matrices, and gradients, through amdgpu.hpp.
#include "check.hpp"

int main() {
    using amdgpu::Array;
    namespace ops = amdgpu::ops;
    {
        const amdgpu::Device device("cpu:0");
        const Array x = array_of<float>(device, "float32", {2, 2}, {0, 0, 1, 1});
        const Array y = array_of<float>(device, "float32", {2, 2}, {0, 1, 0, 1});
        const Array one = array_of<float>(device, "float32", {}, {1});
        amdgpu::LossOptions sum;
        sum.reduction = "sum";
        CHECK((ops::mse_loss(x, y).read<float>() == std::vector<float>{0.5f}));
        CHECK((ops::mse_loss_gradient(x, y, one, sum).read<float>() == std::vector<float>{0, -2, 2, 0}));
        CHECK((ops::bce_loss(x, y, sum).read<float>() == std::vector<float>{200}));
        amdgpu::LossOptions logits;
        logits.with_logits = true;
        logits.weight = array_of<float>(device, "float32", {2}, {4, 0});
        CHECK(is_near(ops::bce_loss_gradient(x, y, one, logits), {0.5, 0, 1 / (1 + std::exp(-1.0)), 0}));
        const Array labels = array_of<std::int32_t>(device, "int32", {2}, {1, -1});
        amdgpu::LossOptions ignoring;
        ignoring.ignored_class = -1;
        CHECK(is_near(ops::cross_entropy_loss(x, labels, ignoring), {std::log(2.0)}));
        CHECK(is_near(ops::cross_entropy_loss_gradient(x, y, one), {0.25, -0.25, 0.25, -0.25}));
        CHECK((ops::nll_loss(x, labels, ignoring).read<float>() == std::vector<float>{0}));
        CHECK((ops::nll_loss_gradient(x, labels, one, ignoring).read<float>() == std::vector<float>{0, -1, 0, 0}));
        expect(AGPU_ERROR_INDEX_OUT_OF_RANGE, "class -1 at place 1", [&] { (void)ops::nll_loss(x, labels); });

        amdgpu::AttentionOptions causal;
        causal.is_causal = true;
        CHECK((ops::scaled_dot_product_attention(x, x, y, causal).read<float>()[0] == 0));
        causal.mask = array_of<float>(device, "float32", {1, 2}, {0, -INFINITY});
        causal.scale = 1;
        const amdgpu::AttentionGradients slopes = ops::scaled_dot_product_attention_gradient(x, x, y, x, causal);
        CHECK((slopes.by_v.read<float>() == std::vector<float>{1, 1, 0, 0}));
        CHECK((slopes.by_q.read<float>() == std::vector<float>{0, 0, 0, 0} && slopes.by_k.read<float>() == slopes.by_q.read<float>()));

        float rows[4] = {0, 0, 1, 1}, made[4], by_q[4], by_k[4], by_v[4], hidden[2] = {0, -INFINITY};
        const std::int64_t shape[2] = {2, 2}, one_row[2] = {1, 2};
        const auto at = [&](float *memory, const std::int64_t *extents) {
            return agpu_operand{AGPU_OPERAND_MEMORY, 2, "float32", memory, extents, nullptr, 0, 0, 0};
        };
        const agpu_operand given = at(rows, shape), mask = at(hidden, one_row);
        ops::scaled_dot_product_attention_at(device, given, given, given, &mask, at(made, shape));
        CHECK(made[0] == 0 && made[2] == 0);
        ops::scaled_dot_product_attention_gradient_at(device, given, given, given, &mask, given, at(by_q, shape), at(by_k, shape), at(by_v, shape));
        CHECK(by_q[2] == 0 && by_k[2] == 0 && by_v[0] == 1 && by_v[2] == 0);
        expect(AGPU_ERROR_INVALID_ARGUMENT, "pass its memory", [&] { ops::scaled_dot_product_attention_at(device, given, given, given, &mask, given, causal); });

        amdgpu::GeamOptions turned;
        turned.transpose_a = true;
        turned.beta = -1;
        CHECK((ops::geam(x, y).read<float>() == std::vector<float>{0, 1, 1, 2}));
        CHECK((ops::geam(x, y, turned).read<float>() == std::vector<float>{0, 0, 0, 0}));
        expect(AGPU_ERROR_UNSUPPORTED_DTYPE, "geam: a has dtype int32 and b float32", [&] { (void)ops::geam(labels, y); });
    }
    CHECK(amdgpu::handle_count() == 0);
    std::puts("ok");
}
