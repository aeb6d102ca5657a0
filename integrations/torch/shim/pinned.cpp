// pinned.cpp: at::HostAllocator over the pinned memory of libamdgpu.
#include "core.h"
#include "memory.h"

#include <ATen/core/CachingHostAllocator.h>

#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace amdgpu_torch {
namespace {

struct PinnedBlock {
    void *address = nullptr;
    size_t bytes = 0;
    c10::DeviceIndex index = 0;
    // Points of streams behind which the memory is free of their use.
    std::vector<agpu_event> uses;
};

struct Pinned {
    std::mutex mutex;
    std::map<std::uintptr_t, PinnedBlock *> live;
    // Freed by torch while streams still used them.
    std::vector<PinnedBlock *> waiting;
    at::HostStats stats;
};

Pinned &pinned() {
    static auto *made = new Pinned();
    return *made;
}

PinnedBlock *find_locked(const void *address) {
    const auto place = reinterpret_cast<std::uintptr_t>(address);
    auto next = pinned().live.upper_bound(place);
    if (next == pinned().live.begin()) return nullptr;
    PinnedBlock *block = std::prev(next)->second;
    return place - reinterpret_cast<std::uintptr_t>(block->address) < block->bytes ? block : nullptr;
}

bool is_in_use(PinnedBlock &block) {
    for (const auto event : block.uses) {
        bool is_complete = false;
        check(agpu_event_is_complete(event, &is_complete));
        if (!is_complete) return true;
    }
    return false;
}

void give_back(PinnedBlock *block) {
    for (const auto event : block->uses) check(agpu_release(event));
    check(agpu_raw_free(block->address, nullptr));
    delete block;
}

void give_back_idle_locked() {
    auto &waiting = pinned().waiting;
    std::erase_if(waiting, [](PinnedBlock *block) {
        if (is_in_use(*block)) return false;
        give_back(block);
        return true;
    });
}

void free_pinned(void *context) noexcept {
    auto *block = static_cast<PinnedBlock *>(context);
    if (block == nullptr || is_forked()) return;
    const std::lock_guard<std::mutex> lock(pinned().mutex);
    pinned().live.erase(reinterpret_cast<std::uintptr_t>(block->address));
    pinned().stats.active_bytes.decrease(block->bytes);
    pinned().stats.active_requests.decrease(1);
    pinned().waiting.push_back(block);
    try {
        give_back_idle_locked();
    } catch (const std::exception &error) {
        TORCH_WARN("pinned memory could not be freed: ", error.what());
    }
}

class PinnedAllocator final : public at::HostAllocator {
public:
    c10::DataPtr allocate(size_t bytes) override {
        const c10::Device host(c10::DeviceType::CPU);
        if (bytes == 0) return {nullptr, nullptr, &free_pinned, host};
        auto block = std::make_unique<PinnedBlock>();
        block->bytes = bytes;
        block->index = current_device();
        agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
        options.kind = AGPU_MEMORY_PINNED;
        const agpu_device device = open_device(block->index);
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        give_back_idle_locked();
        check(agpu_raw_allocate(device, bytes, &options, &block->address));
        pinned().live[reinterpret_cast<std::uintptr_t>(block->address)] = block.get();
        pinned().stats.active_bytes.increase(bytes);
        pinned().stats.active_requests.increase(1);
        void *address = block->address;
        return {address, block.release(), &free_pinned, host};
    }

    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

    void copy_data(void *destination, const void *source, size_t bytes) const override {
        default_copy_data(destination, source, bytes);
    }

    bool record_event(void *address, void *, c10::Stream stream) override {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        PinnedBlock *block = find_locked(address);
        if (block == nullptr) return false;
        agpu_event event = nullptr;
        check(agpu_event_create(open_device(stream.device_index()), &event));
        block->uses.push_back(event);
        check(agpu_event_record(event, stream_handle(stream.device_index(), stream.id())));
        return true;
    }

    void empty_cache() override {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        give_back_idle_locked();
        for (c10::DeviceIndex index = 0; index < device_count(); ++index)
            if (is_open(index)) check(agpu_device_empty_pool(open_device(index), AGPU_MEMORY_PINNED, nullptr));
    }

    at::HostStats get_stats() override {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        at::HostStats stats = pinned().stats;
        for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
            if (!is_open(index)) continue;
            agpu_memory_statistics known = AGPU_MEMORY_STATISTICS_INIT;
            check(agpu_device_memory_statistics(open_device(index), AGPU_MEMORY_PINNED, &known));
            stats.allocated_bytes.current += static_cast<int64_t>(known.reserved_bytes);
            stats.allocated_bytes.peak += static_cast<int64_t>(known.reserved_bytes_peak);
            stats.num_host_alloc += static_cast<int64_t>(known.cache_misses);
        }
        return stats;
    }

    void reset_accumulated_stats() override {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        pinned().stats.active_bytes.reset_accumulated();
        pinned().stats.active_requests.reset_accumulated();
    }

    void reset_peak_stats() override {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        pinned().stats.active_bytes.reset_peak();
        pinned().stats.active_requests.reset_peak();
    }
};

PinnedAllocator &allocator() {
    static auto *made = new PinnedAllocator();
    return *made;
}

const at::HostAllocatorRegistry<device_type> registered(&allocator());

} // namespace

c10::Allocator *pinned_allocator() { return &allocator(); }

bool is_pinned(const void *address) {
    const std::lock_guard<std::mutex> lock(pinned().mutex);
    return find_locked(address) != nullptr;
}

void use_pinned(const void *address, c10::Stream stream) {
    allocator().record_event(const_cast<void *>(address), nullptr, stream);
}

} // namespace amdgpu_torch
