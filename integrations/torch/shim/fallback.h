// fallback.h: operators without a kernel run on the CPU: counted, told once, or forbidden.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string>
#include <vector>

namespace amdgpu_torch {

struct FallbackCount {
    std::string name;
    uint64_t calls = 0;
    uint64_t bytes = 0;
};

// Runs an operator on the CPU, on copies of its tensors.
void run_on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack);

// What ran on the CPU so far, the most often called first.
std::vector<FallbackCount> fallback_counts();
void reset_fallback_counts();

// "warn", "silent" or "error"; AMDGPU_TORCH_FALLBACK says it at first.
std::string fallback_mode();
void set_fallback_mode(const std::string &mode);

} // namespace amdgpu_torch
