// operators.h: the kernel library.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace amdgpu_torch {

// Opens the kernel library, registers its operators.
void load_kernels(const std::string &path);

// Lets convolutions without a kernel run on the CPU: torch has refusals in their place, which come before the fallback.
void complete_operators();

// Names of operators and how often their kernels ran.
std::vector<std::pair<std::string, uint64_t>> native_calls();

} // namespace amdgpu_torch
