// attention.cpp: torch asks each device through a table of its own which kernel attention takes; the operator of the kernel library answers.
#include <ATen/core/Tensor.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>

#include <optional>

namespace at::native {
namespace {

int64_t attention_kernel(
    const Tensor &query,
    const Tensor &key,
    const Tensor &value,
    const std::optional<Tensor> &mask,
    double dropout,
    bool is_causal,
    std::optional<double> scale,
    bool enable_gqa) {
    return at::_fused_sdp_choice(query, key, value, mask, dropout, is_causal, scale, enable_gqa);
}

} // namespace

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &attention_kernel)

} // namespace at::native
