// memory.h: the allocators of device memory and of pinned memory.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace amdgpu_torch {

// Memory of the devices, from the allocator that all of amdgpu shares.
c10::DeviceAllocator *device_allocator();

// Memory of the host that devices copy from and to while the host goes on.
c10::Allocator *pinned_allocator();
bool is_pinned(const void *address);
// Keeps pinned memory from being handed out again until `stream` has passed what it was given so far; nothing for other memory.
void use_pinned(const void *address, c10::Stream stream);

} // namespace amdgpu_torch
