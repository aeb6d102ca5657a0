// generator.h: random numbers: a key and a position of Philox4x32-10.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>

namespace amdgpu_torch {

struct PhiloxRange {
    uint64_t key;
    uint64_t position;
};

const at::Generator &default_generator(c10::DeviceIndex index);
at::Generator new_generator(c10::DeviceIndex index);

// Takes so many numbers of 32 bits of a generator, rounded up to whole blocks of four.
PhiloxRange take_random(const at::Generator &generator, uint64_t words);

} // namespace amdgpu_torch
