// hooks.cpp: what generic code of torch asks of the accelerator.
#include "core.h"
#include "generator.h"
#include "memory.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <string_view>

namespace amdgpu_torch {
namespace {

struct RdnaHooks final : at::PrivateUse1HooksInterface {
    void init() const override {}
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return device_count() > 0; }
    bool hasPrimaryContext(c10::DeviceIndex index) const override { return is_open(index); }
    c10::DeviceIndex deviceCount() const override { return device_count(); }
    c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
    void setCurrentDevice(c10::DeviceIndex index) const override { set_current_device(index); }

    c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
        const auto before = current_device();
        set_current_device(index);
        return before;
    }

    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override { return exchangeDevice(index); }

    const at::Generator &getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index); }
    at::Generator getNewGenerator(c10::DeviceIndex index) const override { return new_generator(index); }

    c10::Device getDeviceFromPtr(void *address) const override {
        agpu_raw_facts facts = AGPU_RAW_FACTS_INIT;
        check(agpu_raw_info(real_address(address), &facts));
        const auto is_it = [&](c10::DeviceIndex index) { return std::string_view(device_facts(index).name) == facts.device; };
        // Several devices may stand for one of amdgpu; the current one comes first.
        if (is_it(current_device())) return {device_type, current_device()};
        for (c10::DeviceIndex index = 0; index < device_count(); ++index)
            if (is_it(index)) return {device_type, index};
        TORCH_CHECK(false, "the address is memory of ", facts.device, ", which no rdna device stands for");
    }

    bool isPinnedPtr(const void *address) const override { return is_pinned(address); }
    c10::Allocator *getPinnedMemoryAllocator() const override { return pinned_allocator(); }

    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t bytes) const override {
        auto *kept = storage.unsafeGetStorageImpl();
        TORCH_CHECK(kept->resizable(), "a storage that is not resizable cannot be resized");
        const c10::DeviceGuard guard(kept->device());
        c10::DataPtr grown = device_allocator()->allocate(bytes);
        const auto common = std::min(bytes, kept->nbytes());
        if (common > 0) device_allocator()->copy_data(grown.get(), kept->data(), common);
        kept->set_data_ptr_noswap(std::move(grown));
        kept->set_nbytes(bytes);
    }
};

const bool registered = [] {
    at::RegisterPrivateUse1HooksInterface(new RdnaHooks());
    return true;
}();

} // namespace
} // namespace amdgpu_torch
