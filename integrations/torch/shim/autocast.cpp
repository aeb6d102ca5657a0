// autocast.cpp: the operators that run in lower precision, in float32 and in the widest dtype of their tensors, by torch's own lists.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#define RDNA_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define RDNA_FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define RDNA_FLOAT32_RESULT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define RDNA_WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

// torch's lists name types of this namespace.
namespace at {
namespace {

// A probability so close to 1 that float16 rounds it has no finite logarithm.
at::Tensor refuse_binary_cross_entropy(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &, int64_t) {
    TORCH_CHECK(
        false,
        "binary_cross_entropy and BCELoss are not safe under autocast. Leave the last sigmoid of the model out and use "
        "binary_cross_entropy_with_logits or BCEWithLogitsLoss, which are");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
    AT_FORALL_LOWER_PRECISION_FP(RDNA_LOWER_PRECISION)
    AT_FORALL_FP32(RDNA_FLOAT32)
    AT_FORALL_FP32_SET_OPT_DTYPE(RDNA_FLOAT32_RESULT)
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
    AT_FORALL_PROMOTE(RDNA_WIDEST)
    m.impl("binary_cross_entropy", refuse_binary_cross_entropy);
}

} // namespace
} // namespace at
