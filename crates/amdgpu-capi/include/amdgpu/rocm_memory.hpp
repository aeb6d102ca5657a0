// amdgpu/rocm_memory.hpp: a part of rocm.hpp. Memory of ROCm devices by address.
#ifndef AMDGPU_ROCM_MEMORY_HPP
#define AMDGPU_ROCM_MEMORY_HPP

#include <algorithm>
#include <new>
#include <unordered_map>

#include "rocm_device.hpp"

namespace amdgpu {
namespace rocm {

struct MemoryStats {
    std::size_t total_allocated;      // bytes that are allocated now
    std::size_t peak_allocated;       // the most bytes at one time since the last reset
    std::size_t total_allocations;    // how many since the last reset
    std::size_t total_deallocations;  // how many since the last reset
    std::size_t cache_hits;           // requests that the device's allocator answered from its cache since the last reset, whoever asked
    std::size_t cache_misses;
};

struct MemoryManagerConfig {
    bool enable_pooling = true;           // false: memory goes back to the system when it is freed
    std::size_t pool_size_mb = 256;       // what is taken from the system with the first allocation on a device
    std::size_t max_pool_size_mb = 4096;  // unused memory beyond this goes back to the system
    bool use_pinned_host = true;          // false: allocate_pinned gives ordinary memory of the host
};

// Memory of the calling thread's current device, and copies on it. Every member may be called from every thread at the same time. With a
// stream, calls return at once and their work runs in the order of the stream; without one they wait.
//
// Throws std::invalid_argument for addresses and ranges that cannot be, std::runtime_error where there is no device or no memory.
class ROCmMemoryManager {
public:
    using Config = MemoryManagerConfig;

    explicit ROCmMemoryManager(Config config = Config()) : config_(config) {
        if (config_.enable_pooling && config_.pool_size_mb > config_.max_pool_size_mb)
            detail::refuse("pool_size_mb is " + std::to_string(config_.pool_size_mb) + "; it must not exceed max_pool_size_mb, which is " +
                           std::to_string(config_.max_pool_size_mb));
    }
    ROCmMemoryManager(const ROCmMemoryManager &) = delete;
    ROCmMemoryManager &operator=(const ROCmMemoryManager &) = delete;

    // Frees what is left.
    ~ROCmMemoryManager() {
        for (const auto &[address, block] : blocks_) release(address, block);
    }

    // 0 bytes give a null pointer.
    void *allocate(std::size_t bytes) { return allocate_async(bytes, nullptr); }

    // Memory for work in `stream`.
    void *allocate_async(std::size_t bytes, hipStream_t stream) {
        const agpu_device device = detail::current_device();
        if (bytes == 0) return nullptr;
        prepare(device);
        void *const address = take(device, bytes, AGPU_MEMORY_DEVICE, stream);
        note(address, {bytes, device, Kind::Device});
        return address;
    }

    void deallocate(void *ptr) { deallocate_async(ptr, nullptr); }

    // Frees behind the work that `stream` was given so far.
    void deallocate_async(void *ptr, hipStream_t stream) {
        if (ptr == nullptr) return;
        const Block block = forget(ptr, true);
        const agpu_status status = agpu_raw_free(ptr, detail::to_stream(stream));
        if (status != AGPU_OK) keep(ptr, block);
        detail::check(status);
        trim(block.device);
    }

    void copy_host_to_device(void *dst, const void *src, std::size_t bytes) { copy(dst, src, bytes, AGPU_COPY_HOST_TO_DEVICE, nullptr); }
    void copy_device_to_host(void *dst, const void *src, std::size_t bytes) { copy(dst, src, bytes, AGPU_COPY_DEVICE_TO_HOST, nullptr); }
    // The ranges must not overlap.
    void copy_device_to_device(void *dst, const void *src, std::size_t bytes) { copy(dst, src, bytes, AGPU_COPY_DEVICE_TO_DEVICE, nullptr); }

    // Memory of the host must stay until the stream has passed the copy.
    void copy_host_to_device_async(void *dst, const void *src, std::size_t bytes, hipStream_t stream) {
        copy(dst, src, bytes, AGPU_COPY_HOST_TO_DEVICE, stream);
    }
    void copy_device_to_host_async(void *dst, const void *src, std::size_t bytes, hipStream_t stream) {
        copy(dst, src, bytes, AGPU_COPY_DEVICE_TO_HOST, stream);
    }
    void copy_device_to_device_async(void *dst, const void *src, std::size_t bytes, hipStream_t stream) {
        copy(dst, src, bytes, AGPU_COPY_DEVICE_TO_DEVICE, stream);
    }

    // As memset of C: the lowest eight bits of the value.
    void memset(void *ptr, int value, std::size_t bytes) { memset_async(ptr, value, bytes, nullptr); }
    void memset_async(void *ptr, int value, std::size_t bytes, hipStream_t stream) {
        detail::check(
            agpu_raw_fill(detail::current_device(), ptr, bytes, static_cast<std::uint8_t>(value & 0xff), detail::to_stream(stream)));
    }

    // Memory of the host that the device copies from and to fast; 0 bytes give a null pointer.
    void *allocate_pinned(std::size_t bytes) {
        const agpu_device device = detail::current_device();
        if (bytes == 0) return nullptr;
        const bool is_pinned = config_.use_pinned_host;
        void *const address = is_pinned ? take(device, bytes, AGPU_MEMORY_PINNED, nullptr) : ::operator new(bytes, alignment);
        note(address, {bytes, device, is_pinned ? Kind::Pinned : Kind::Host});
        return address;
    }
    void deallocate_pinned(void *ptr) {
        if (ptr == nullptr) return;
        const Block block = forget(ptr, false);
        release(ptr, block);
        trim(block.device);
    }

    // What this manager did; hits and misses are those of the current device's allocator.
    MemoryStats get_stats() const {
        const agpu_device device = detail::current_device();
        const Cache now = cache_of(device);
        const std::lock_guard<std::mutex> lock(mutex_);
        MemoryStats stats = stats_;
        const auto before = baselines_.find(device);
        const Cache base = before == baselines_.end() ? now : before->second;
        stats.cache_hits = now.hits - base.hits;
        stats.cache_misses = now.misses - base.misses;
        return stats;
    }

    // Counts begin at 0 again, and the peak at what is allocated now.
    void reset_stats() {
        const std::lock_guard<std::mutex> lock(mutex_);
        stats_ = {stats_.total_allocated, stats_.total_allocated, 0, 0, 0, 0};
        for (auto &[device, base] : baselines_) base = cache_of(device);
    }

    // Gives memory that the current device's allocator keeps and nobody uses back to the system.
    void clear_pool() { detail::check(agpu_device_empty_cache(detail::current_device(), nullptr)); }

    // Memory of the current device now, other processes included. Either pointer may be null.
    void get_memory_info(std::size_t *free, std::size_t *total) const {
        agpu_memory_info info = AGPU_MEMORY_INFO_INIT;
        detail::check(agpu_device_memory(detail::current_device(), &info));
        if (free != nullptr) *free = info.free_bytes;
        if (total != nullptr) *total = info.total_bytes;
    }

private:
    enum class Kind { Device, Pinned, Host };
    struct Block {
        std::size_t bytes;
        agpu_device device;
        Kind kind;
    };
    struct Cache {
        std::uint64_t hits, misses;
    };
    static constexpr std::align_val_t alignment{64};
    static constexpr std::size_t mebibyte = std::size_t{1} << 20;

    static agpu_memory_statistics statistics_of(agpu_device device, std::uint32_t kind) {
        agpu_memory_statistics statistics = AGPU_MEMORY_STATISTICS_INIT;
        detail::check(agpu_device_memory_statistics(device, kind, &statistics));
        return statistics;
    }

    static Cache cache_of(agpu_device device) {
        const auto own = statistics_of(device, AGPU_MEMORY_DEVICE), pinned = statistics_of(device, AGPU_MEMORY_PINNED);
        return {own.cache_hits + pinned.cache_hits, own.cache_misses + pinned.cache_misses};
    }

    static void *take(agpu_device device, std::size_t bytes, std::uint32_t kind, hipStream_t stream) {
        const agpu_memory_options options = {sizeof(agpu_memory_options), kind, 0, detail::to_stream(stream)};
        void *address = nullptr;
        detail::check(agpu_raw_allocate(device, bytes, &options, &address));
        return address;
    }

    static void release(void *address, const Block &block) {
        if (block.kind == Kind::Host)
            ::operator delete(address, alignment);
        else
            agpu_raw_free(address, nullptr);
    }

    // With the first allocation on a device: fills the pool, and begins to count.
    void prepare(agpu_device device) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!baselines_.emplace(device, Cache{0, 0}).second) return;
        }
        const std::size_t bytes = config_.enable_pooling ? config_.pool_size_mb * mebibyte : 0;
        agpu_memory_info info = AGPU_MEMORY_INFO_INIT;
        detail::check(agpu_device_memory(device, &info));
        // Half of a small memory is left to those who need it now.
        if (bytes > 0 && bytes <= info.free_bytes / 2) {
            void *address = nullptr;
            if (agpu_raw_allocate(device, bytes, nullptr, &address) == AGPU_OK) agpu_raw_free(address, nullptr);
        }
        const Cache base = cache_of(device);
        const std::lock_guard<std::mutex> lock(mutex_);
        baselines_[device] = base;
    }

    void note(void *address, const Block &block) {
        const std::lock_guard<std::mutex> lock(mutex_);
        blocks_[address] = block;
        stats_.total_allocations++;
        stats_.total_allocated += block.bytes;
        stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.total_allocated);
    }

    Block forget(void *address, bool is_device) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = blocks_.find(address);
        if (found == blocks_.end())
            detail::refuse("the address is not the beginning of memory that this manager allocated, or it was freed already");
        const Block block = found->second;
        if ((block.kind == Kind::Device) != is_device)
            detail::refuse(is_device ? "the address is memory of the host; free it with deallocate_pinned"
                                     : "the address is memory of the device; free it with deallocate");
        blocks_.erase(found);
        stats_.total_deallocations++;
        stats_.total_allocated -= block.bytes;
        return block;
    }

    // Takes back what could not be freed.
    void keep(void *address, const Block &block) {
        const std::lock_guard<std::mutex> lock(mutex_);
        blocks_[address] = block;
        stats_.total_deallocations--;
        stats_.total_allocated += block.bytes;
    }

    // Keeps the pool within its limit.
    void trim(agpu_device device) const {
        const auto statistics = statistics_of(device, AGPU_MEMORY_DEVICE);
        const std::uint64_t unused = statistics.reserved_bytes - std::min(statistics.reserved_bytes, statistics.allocated_bytes);
        const std::uint64_t limit = config_.enable_pooling ? config_.max_pool_size_mb * mebibyte : 0;
        if (unused > limit || !config_.enable_pooling) detail::check(agpu_device_empty_cache(device, nullptr));
    }

    static void copy(void *dst, const void *src, std::size_t bytes, std::uint32_t direction, hipStream_t stream) {
        detail::check(agpu_raw_copy(detail::current_device(), dst, src, bytes, direction, detail::to_stream(stream)));
    }

    const Config config_;
    mutable std::mutex mutex_;
    std::unordered_map<void *, Block> blocks_;
    std::map<agpu_device, Cache> baselines_;
    MemoryStats stats_{};
};

// The manager of the process; it lives until the process ends.
inline ROCmMemoryManager &get_memory_manager() {
    static auto *const manager = new ROCmMemoryManager();
    return *manager;
}

}  // namespace rocm
}  // namespace amdgpu

#endif
