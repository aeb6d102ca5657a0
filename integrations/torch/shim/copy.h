// copy.h: copies between devices and the host.
#pragma once

#include <ATen/core/Tensor.h>

namespace amdgpu_torch {

// Copies the elements of `source`, converted and broadcast, to `target`; at least one of them is on rdna.
void copy_tensor(const at::Tensor &source, const at::Tensor &target, bool is_non_blocking);

} // namespace amdgpu_torch
