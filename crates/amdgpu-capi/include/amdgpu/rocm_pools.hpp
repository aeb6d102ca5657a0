// amdgpu/rocm_pools.hpp: the tuning cache, the pool of pinned memory and the warm-up of `pyflame::backend::rocm`, over libamdgpu. C++17, in this
// header and those of the C interface.
//
// Everything here may be called from every thread at the same time. What a caller got wrong is std::invalid_argument; what the library reports is
// std::runtime_error, with its message and hint. The device is the best one of this machine (AMDGPU_DEVICES restricts the list), or the one that a
// constructor names.
#ifndef AMDGPU_ROCM_POOLS_HPP
#define AMDGPU_ROCM_POOLS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime.h"
#include "tuning.h"

namespace amdgpu {
namespace rocm {
namespace pools_detail {

// Throws what the last call left, unless it succeeded.
inline void check(agpu_status status) {
    if (status == AGPU_OK) return;
    agpu_error_info info = AGPU_ERROR_INFO_INIT;
    agpu_last_error(&info);
    std::string text = info.message;
    if (*info.hint) text += std::string("\nhint: ") + info.hint;
    if (status == AGPU_ERROR_INVALID_ARGUMENT) throw std::invalid_argument(text);
    throw std::runtime_error(text);
}

struct Release {
    void operator()(const void *handle) const noexcept { agpu_release(handle); }
};

// One reference to an object of the library.
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release>;

// An open device; without a name the best one.
inline Owned<agpu_device> open_device(const std::string &name) {
    agpu_device device = nullptr;
    check(agpu_device_open(name.empty() ? nullptr : name.c_str(), nullptr, &device));
    return Owned<agpu_device>(device);
}

// The device that functions without an object use; it stays open until the process ends.
inline agpu_device default_device() {
    static const Owned<agpu_device> device = open_device({});
    return device.get();
}

}  // namespace pools_detail

// The tuning database of a device's architecture, which all objects and the Python package share: what was measured about matrix products, kernels and
// whatever a program names itself. Settings are of the whole process.
class MIOpenTuningCache {
public:
    struct Config {
        // Shapes of matrix products are measured as they come. That takes the Python package in the process; without it nothing is measured.
        bool enable_exhaustive_search = true;
        // What was measured is used.
        bool enable_caching = true;
        // Measurements are kept in `cache_file`, not in the file of the cache folder.
        bool enable_persistence = false;
        std::string cache_file;
    };

    struct Stats {
        // Questions that a measurement answered, and those that none answered.
        std::size_t hits;
        std::size_t misses;
        // Measurements made or imported here.
        std::size_t entries;
    };

    MIOpenTuningCache() : MIOpenTuningCache(Config{}) {}

    // Applies the settings. Without a name the device is the best one.
    explicit MIOpenTuningCache(const Config &config, const std::string &device_name = {})
        : device_(pools_detail::open_device(device_name)) {
        enable_exhaustive_search(config.enable_exhaustive_search);
        pools_detail::check(agpu_tuning_set_caching(config.enable_caching));
        if (config.enable_persistence) set_cache_file(config.cache_file);
    }

    // Whether shapes are measured as they come.
    void enable_exhaustive_search(bool enable) { pools_detail::check(agpu_tuning_set_measuring(enable)); }

    // Keep measurements in this file from now on; what it holds is taken in. A damaged file is kept under another name, with a warning.
    void set_cache_file(const std::string &path) {
        if (path.empty()) throw std::invalid_argument("cache_file is empty; pass the path of a file");
        pools_detail::check(agpu_tuning_set_file(device_.get(), path.c_str(), nullptr));
    }

    // Forget what was measured here, in the file too, and count from zero.
    void clear() { pools_detail::check(agpu_tuning_clear(device_.get(), nullptr)); }

    Stats get_stats() const {
        agpu_tuning_statistics found = AGPU_TUNING_STATISTICS_INIT;
        pools_detail::check(agpu_tuning_get_statistics(device_.get(), &found));
        return {static_cast<std::size_t>(found.hits), static_cast<std::size_t>(found.misses), static_cast<std::size_t>(found.entries)};
    }

    // The fastest way of a subject that the program named itself; counted as a hit or a miss.
    std::optional<std::string> find(const std::string &subject) const {
        agpu_text way = nullptr;
        pools_detail::check(agpu_tuning_find(device_.get(), subject.c_str(), &way, nullptr));
        if (!way) return std::nullopt;
        const pools_detail::Owned<agpu_text> text(way);
        const char *data = nullptr;
        std::uint64_t length = 0;
        pools_detail::check(agpu_text_get(way, &data, &length));
        return std::string(data, length);
    }

    // Note how many seconds a way of a subject takes. A subject names everything that the best way depends on.
    void add(const std::string &subject, const std::string &way, double seconds) {
        pools_detail::check(agpu_tuning_add(device_.get(), subject.c_str(), way.c_str(), seconds));
    }

    // Write everything that is known to a file; tells how many measurements.
    std::size_t export_to(const std::string &path) const {
        std::uint64_t count = 0;
        pools_detail::check(agpu_tuning_export(device_.get(), path.c_str(), &count));
        return static_cast<std::size_t>(count);
    }

    // Merge a file into the database of its architecture; tells how many measurements changed.
    static std::size_t import_from(const std::string &path) {
        std::uint64_t changed = 0;
        pools_detail::check(agpu_tuning_import(path.c_str(), &changed));
        return static_cast<std::size_t>(changed);
    }

private:
    pools_detail::Owned<agpu_device> device_;
};

// The tuning cache of the best device, with the default settings.
inline MIOpenTuningCache &get_tuning_cache() {
    static MIOpenTuningCache cache;
    return cache;
}

// Host memory that devices copy from and to fast, from the caching allocator: what is released is handed out again.
class PinnedMemoryPool {
public:
    // Without a name the memory is pinned for the best device.
    explicit PinnedMemoryPool(const std::string &device_name = {}) : device_(pools_detail::open_device(device_name)) {}
    PinnedMemoryPool(const PinnedMemoryPool &) = delete;
    PinnedMemoryPool &operator=(const PinnedMemoryPool &) = delete;

    // Memory of at least one byte, not initialised, aligned to 512 bytes. The pool's destructor frees what was not released.
    void *acquire(std::size_t bytes) {
        agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
        options.kind = AGPU_MEMORY_PINNED;
        agpu_memory handle = nullptr;
        const std::lock_guard<std::mutex> lock(mutex_);
        pools_detail::check(agpu_memory_allocate(device_.get(), bytes ? bytes : 1, &options, &handle));
        pools_detail::Owned<agpu_memory> memory(handle);
        void *address = nullptr;
        pools_detail::check(agpu_memory_address(handle, &address, nullptr));
        acquired_[address] = std::move(memory);
        return address;
    }

    // Gives memory back; a null pointer is ignored.
    void release(void *ptr) {
        if (!ptr) return;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!acquired_.erase(ptr))
            throw std::invalid_argument("release: the pointer is not of this pool, or was released before; pass what acquire() returned");
    }

    // Reserve a block for each size, so that acquiring these sizes takes nothing from the system.
    void warmup(const std::vector<std::size_t> &sizes) {
        const std::vector<std::uint64_t> bytes(sizes.begin(), sizes.end());
        pools_detail::check(agpu_device_warm_up(device_.get(), AGPU_MEMORY_PINNED, bytes.data(), bytes.size(), nullptr));
    }

    // Give the memory that nobody uses back to the system. What was acquired stays valid.
    void clear() { pools_detail::check(agpu_device_empty_pool(device_.get(), AGPU_MEMORY_PINNED, nullptr)); }

private:
    // First: the memory goes before its device.
    pools_detail::Owned<agpu_device> device_;
    std::mutex mutex_;
    std::unordered_map<void *, pools_detail::Owned<agpu_memory>> acquired_;
};

// The pool of the best device.
inline PinnedMemoryPool &get_pinned_pool() {
    static PinnedMemoryPool pool;
    return pool;
}

// The buffers that `warmup_memory_pool` reserves: those of one layer of a transformer encoder in float32, on sequences of 128 positions. Hidden sizes
// and heads are small: 512 and 8, base: 768 and 12, large: 1024 and 16, as in BERT. In bytes: six of batch x 128 x hidden x 4 (input, query, key, value,
// attention, output), one four times as large (feed-forward), two of batch x heads x 128 x 128 x 4 (scores and probabilities).
inline std::vector<std::uint64_t> warmup_sizes(int batch_size, const std::string &model_size) {
    struct Model {
        const char *name;
        std::uint64_t hidden, heads;
    };
    constexpr std::array<Model, 3> models{{{"small", 512, 8}, {"base", 768, 12}, {"large", 1024, 16}}};
    constexpr std::uint64_t positions = 128, item_bytes = 4;
    if (batch_size < 1)
        throw std::invalid_argument("batch_size is " + std::to_string(batch_size) + "; it must be 1 or more");
    std::string names;
    for (const Model &model : models) {
        if (model_size == model.name) {
            const std::uint64_t rows = static_cast<std::uint64_t>(batch_size) * positions;
            std::vector<std::uint64_t> sizes(6, rows * model.hidden * item_bytes);
            sizes.push_back(rows * 4 * model.hidden * item_bytes);
            sizes.insert(sizes.end(), 2, rows * model.heads * positions * item_bytes);
            return sizes;
        }
        names += std::string(names.empty() ? "" : ", ") + model.name;
    }
    throw std::invalid_argument("model_size is \"" + model_size + "\"; known are " + names);
}

// Reserve device memory for a model of this size in advance: the buffers of `warmup_sizes`.
inline void warmup_memory_pool(int batch_size, const std::string &model_size) {
    const std::vector<std::uint64_t> sizes = warmup_sizes(batch_size, model_size);
    pools_detail::check(agpu_device_warm_up(pools_detail::default_device(), AGPU_MEMORY_DEVICE, sizes.data(), sizes.size(), nullptr));
}

}  // namespace rocm
}  // namespace amdgpu

namespace pyflame {
namespace backend {
namespace rocm = ::amdgpu::rocm;
}
}  // namespace pyflame

#endif
