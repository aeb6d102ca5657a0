// amdgpu/rocm.hpp: the interface of ROCm backends over libamdgpu.so, in headers alone. C++17. The rules of amdgpu/runtime.h hold.
//
// Everything works on the calling thread's current device: an AMD GPU, or what AMDGPU_ROCM_DEVICES puts in its place (`cpu`, `cuda:0`).
// Pointers are addresses of device memory, from ROCmMemoryManager, hipMalloc or any library; on the CPU device those of the host as well. A
// `hipStream_t` is a stream of `create_stream`, or on an AMD GPU one of HIP; NULL is the default stream. Work in it is in the order of the
// device; copies to the host wait for it, and `synchronize` does.
//
// Failures are std::invalid_argument for arguments that cannot be, and std::runtime_error for the rest. ROCmMemoryManager may be used by
// many threads at a time; an instance of ROCmBLAS or ROCmDNN by one.
#ifndef AMDGPU_ROCM_HPP
#define AMDGPU_ROCM_HPP

#include "ir.hpp"
#include "rocm_blas.hpp"
#include "rocm_device.hpp"
#include "rocm_dnn.hpp"
#include "rocm_executor.hpp"
#include "rocm_kernels.hpp"
#include "rocm_memory.hpp"
#include "rocm_pools.hpp"
#include "rocm_types.hpp"

namespace pyflame {

using amdgpu::DType;
namespace ir = amdgpu::ir;

namespace backend {
namespace rocm = amdgpu::rocm;
}  // namespace backend

}  // namespace pyflame

#endif
