// allocator.cpp: c10::DeviceAllocator over the caching allocator of libamdgpu.
#include "core.h"
#include "memory.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <array>
#include <iomanip>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>
#include <vector>

namespace amdgpu_torch {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatType;
using c10::CachingDeviceAllocator::DeviceStats;

std::string format_size(uint64_t bytes) {
    constexpr std::array<const char *, 4> units{"bytes", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    auto size = static_cast<double>(bytes);
    for (; size >= 1024 && unit + 1 < units.size(); ++unit) size /= 1024;
    std::ostringstream text;
    text << std::fixed << std::setprecision(unit == 0 ? 0 : 2) << size << ' ' << units[unit];
    return std::move(text).str();
}

// What a tensor's memory is: the context of its DataPtr.
struct Block {
    void *address = nullptr;
    size_t bytes = 0;
    c10::DeviceIndex index = 0;
    c10::StreamId stream = 0;
    // Other streams that use the memory.
    std::vector<c10::StreamId> others;
};

// What torch asked for, by device; what the allocator made of it, libamdgpu counts.
struct Requested {
    std::mutex mutex;
    Stat bytes;
    // Totals of libamdgpu when they were last reset here.
    uint64_t allocations_before = 0;
    int64_t refusals_before = 0;
};

Requested &requested(c10::DeviceIndex index) {
    static auto *all = new std::array<Requested, 256>();
    return (*all)[static_cast<uint8_t>(index)];
}

agpu_memory_statistics statistics_of(c10::DeviceIndex index) {
    agpu_memory_statistics statistics = AGPU_MEMORY_STATISTICS_INIT;
    check(agpu_device_memory_statistics(open_device(index), AGPU_MEMORY_DEVICE, &statistics));
    return statistics;
}

[[noreturn]] void out_of_memory(c10::DeviceIndex index, size_t bytes) {
    const std::string reason = last_failure();
    const auto statistics = statistics_of(index);
    agpu_memory_info memory = AGPU_MEMORY_INFO_INIT;
    check(agpu_device_memory(open_device(index), &memory));
    const c10::Device device(device_type, index);
    c10::reportOutOfMemoryToProfiler(
        static_cast<int64_t>(bytes), statistics.allocated_bytes, statistics.reserved_bytes, device);
    TORCH_CHECK_WITH(
        OutOfMemoryError,
        false,
        "rdna out of memory. Tried to allocate ",
        format_size(bytes),
        ". rdna:",
        static_cast<int>(index),
        " has a total capacity of ",
        format_size(memory.total_bytes),
        " of which ",
        format_size(memory.free_bytes),
        " is free. ",
        format_size(statistics.allocated_bytes),
        " is allocated by this process, and ",
        format_size(statistics.reserved_bytes - statistics.allocated_bytes),
        " is reserved but unallocated. ",
        reason);
}

void report_to_profiler(const Block &block, int64_t bytes) {
    if (!c10::memoryProfilingEnabled()) return;
    const auto statistics = statistics_of(block.index);
    c10::reportMemoryUsageToProfiler(
        block.address, bytes, statistics.allocated_bytes, statistics.reserved_bytes, c10::Device(device_type, block.index));
}

void free_block(void *context) noexcept {
    const std::unique_ptr<Block> block(static_cast<Block *>(context));
    // A forked child has a copy of the tensors and nothing of the memory.
    if (block == nullptr || is_forked()) return;
    {
        Requested &counted = requested(block->index);
        const std::lock_guard<std::mutex> lock(counted.mutex);
        counted.bytes.decrease(block->bytes);
    }
    try {
        // The default stream, in whose order memory is handed on, goes behind the others.
        for (const auto other : block->others)
            check(agpu_device_wait_stream(open_device(block->index), stream_handle(block->index, other)));
        check(agpu_raw_free(block->address, block->stream == 0 ? nullptr : stream_handle(block->index, block->stream)));
        report_to_profiler(*block, -static_cast<int64_t>(block->bytes));
    } catch (const std::exception &error) {
        TORCH_WARN("rdna memory could not be freed: ", error.what());
    }
}

class RdnaAllocator final : public c10::DeviceAllocator {
public:
    c10::DataPtr allocate(size_t bytes) override {
        const auto index = current_device();
        const c10::Device device(device_type, index);
        const agpu_device handle = open_device(index);
        if (bytes == 0) return {nullptr, nullptr, &free_block, device};
        auto block = std::make_unique<Block>();
        block->bytes = bytes;
        block->index = index;
        block->stream = current_stream(index);
        agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
        options.stream = current_stream_or_null(index);
        auto status = agpu_raw_allocate(handle, bytes, &options, &block->address);
        if (status == AGPU_ERROR_OUT_OF_MEMORY) {
            // Streams may have kept what was freed.
            synchronize_device(index);
            status = agpu_raw_allocate(handle, bytes, &options, &block->address);
        }
        if (status == AGPU_ERROR_OUT_OF_MEMORY) out_of_memory(index, bytes);
        check(status);
        {
            Requested &counted = requested(index);
            const std::lock_guard<std::mutex> lock(counted.mutex);
            counted.bytes.increase(bytes);
        }
        report_to_profiler(*block, static_cast<int64_t>(bytes));
        void *shown = shown_address(block->address);
        return {shown, block.release(), &free_block, device};
    }

    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

    void copy_data(void *destination, const void *source, size_t bytes) const override {
        const auto index = current_device();
        check(agpu_raw_copy(
            open_device(index),
            real_address(destination),
            real_address(source),
            bytes,
            AGPU_COPY_DEVICE_TO_DEVICE,
            current_stream_or_null(index)));
    }

    bool initialized() override { return device_count() > 0; }

    void emptyCache(c10::MempoolId_t) override {
        for (c10::DeviceIndex index = 0; index < device_count(); ++index)
            if (is_open(index)) {
                synchronize_device(index);
                check(agpu_device_empty_cache(open_device(index), nullptr));
            }
    }

    void recordStream(const c10::DataPtr &pointer, c10::Stream stream) override {
        // Memory of other libraries is theirs to keep.
        if (pointer.get_context() == nullptr || pointer.get_deleter() != &free_block) return;
        auto &block = *static_cast<Block *>(pointer.get_context());
        TORCH_CHECK(
            stream.device_type() == device_type && stream.device_index() == block.index,
            "record_stream: a stream of rdna:",
            static_cast<int>(block.index),
            " is expected, not one of ",
            stream.device());
        if (stream.id() == block.stream || std::ranges::find(block.others, stream.id()) != block.others.end()) return;
        block.others.push_back(stream.id());
    }

    DeviceStats getDeviceStats(c10::DeviceIndex index) override {
        const auto known = statistics_of(index);
        Requested &counted = requested(index);
        const std::lock_guard<std::mutex> lock(counted.mutex);
        constexpr auto all = static_cast<size_t>(StatType::AGGREGATE);
        DeviceStats stats;
        auto &allocations = stats.allocation[all];
        allocations.current = static_cast<int64_t>(known.allocations);
        allocations.allocated = static_cast<int64_t>(known.allocations_total - counted.allocations_before);
        allocations.freed = allocations.allocated - allocations.current;
        allocations.peak = allocations.current;
        stats.active[all] = allocations;
        auto &allocated = stats.allocated_bytes[all];
        allocated.current = static_cast<int64_t>(known.allocated_bytes);
        allocated.peak = static_cast<int64_t>(known.allocated_bytes_peak);
        allocated.allocated = counted.bytes.allocated;
        allocated.freed = counted.bytes.freed;
        stats.active_bytes[all] = allocated;
        auto &reserved = stats.reserved_bytes[all];
        reserved.current = static_cast<int64_t>(known.reserved_bytes);
        reserved.peak = static_cast<int64_t>(known.reserved_bytes_peak);
        stats.requested_bytes[all] = counted.bytes;
        stats.num_ooms = static_cast<int64_t>(known.out_of_memory) - counted.refusals_before;
        stats.num_device_alloc = static_cast<int64_t>(known.cache_misses);
        return stats;
    }

    void resetAccumulatedStats(c10::DeviceIndex index) override {
        const auto known = statistics_of(index);
        Requested &counted = requested(index);
        const std::lock_guard<std::mutex> lock(counted.mutex);
        counted.bytes.reset_accumulated();
        counted.allocations_before = known.allocations_total;
        counted.refusals_before = static_cast<int64_t>(known.out_of_memory);
    }

    void resetPeakStats(c10::DeviceIndex index) override {
        check(agpu_device_reset_memory_peaks(open_device(index)));
        Requested &counted = requested(index);
        const std::lock_guard<std::mutex> lock(counted.mutex);
        counted.bytes.reset_peak();
    }

    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override {
        agpu_memory_info memory = AGPU_MEMORY_INFO_INIT;
        check(agpu_device_memory(open_device(index), &memory));
        return {memory.free_bytes, memory.total_bytes};
    }
};

RdnaAllocator &allocator() {
    static auto *made = new RdnaAllocator();
    return *made;
}

REGISTER_ALLOCATOR(device_type, &allocator());

} // namespace

c10::DeviceAllocator *device_allocator() { return &allocator(); }

} // namespace amdgpu_torch
