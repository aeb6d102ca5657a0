// storage.h: new tensors of rdna.
#pragma once

#include <ATen/core/Tensor.h>

namespace amdgpu_torch {

// A tensor whose elements are not set, on rdna:`index`.
at::Tensor new_tensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype, c10::DeviceIndex index);

// One like a tensor without gaps and repetitions, in its order.
at::Tensor new_tensor_like(const at::Tensor &tensor);

} // namespace amdgpu_torch
