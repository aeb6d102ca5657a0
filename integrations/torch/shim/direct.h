// direct.h: operators that are called most reach their kernels without a stack of values.
#pragma once

#include "kernels.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace amdgpu_torch {

// Learns the place of an operator of the kernel library. Whether a function of direct.cpp stands for it, so that it gets no boxed one.
bool is_direct(std::string_view name, uint64_t place);

// A tensor as the kernel library takes it; valid as long as the tensor, and until its sizes change.
agpu_torch_tensor facts_of(const at::Tensor &tensor);

agpu_torch_scalar none();
agpu_torch_scalar number(const at::Scalar &value);

// Runs the kernel of a place; where it makes tensors, `results` are as many. False where no kernel takes the arguments; throws where they are
// refused.
bool call_kernel(
    uint64_t place,
    std::span<const agpu_torch_tensor> tensors,
    std::span<const agpu_torch_scalar> scalars,
    std::span<at::Tensor> results = {});

// Sets all bytes of a tensor without gaps to zero, as the operator of the place would. False where that is to be called.
bool zero_bytes(uint64_t place, const at::Tensor &x);

} // namespace amdgpu_torch
