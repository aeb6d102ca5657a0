// collectives.h: torch.distributed for tensors of rdna.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <vector>

namespace amdgpu_torch {

// Collectives of tensors of rdna by an engine of torch. `peers` are the numbers that torch's own devices have for those of rdna, where the engine
// works on their memory; none where it works on the host.
c10::intrusive_ptr<c10d::Backend> make_collectives(c10::intrusive_ptr<c10d::Backend> engine, std::vector<c10::DeviceIndex> peers);

} // namespace amdgpu_torch
