// rocm_pools.hpp: every name of it, wrong input, and eight threads at once. The first argument is a folder for files.
#include <amdgpu/rocm_pools.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

namespace rocm = pyflame::backend::rocm;

template <typename Error, typename Work>
void expect(const char *words, Work work) {
    try {
        work();
    } catch (const Error &error) {
        if (!std::strstr(error.what(), words)) {
            std::fprintf(stderr, "\"%s\" has not the words \"%s\"\n", error.what(), words);
            std::exit(1);
        }
        return;
    }
    std::fprintf(stderr, "nothing was thrown that says \"%s\"\n", words);
    std::exit(1);
}

static agpu_memory_statistics pinned(const char *device_name) {
    const auto device = rocm::pools_detail::open_device(device_name);
    agpu_memory_statistics statistics = AGPU_MEMORY_STATISTICS_INIT;
    rocm::pools_detail::check(agpu_device_memory_statistics(device.get(), AGPU_MEMORY_PINNED, &statistics));
    return statistics;
}

static void tuning_cache(const std::string &folder) {
    rocm::MIOpenTuningCache::Config config;
    CHECK(config.enable_exhaustive_search && config.enable_caching && !config.enable_persistence && config.cache_file.empty());
    config.enable_exhaustive_search = false;
    config.enable_persistence = true;
    expect<std::invalid_argument>("cache_file is empty", [&] { rocm::MIOpenTuningCache cache(config); });
    config.cache_file = folder + "/cache.json";
    rocm::MIOpenTuningCache cache(config);
    cache.clear();
    CHECK(!cache.find("conv 3x3"));
    cache.add("conv 3x3", "winograd", 2e-3);
    cache.add("conv 3x3", "direct", 1e-3);
    CHECK(cache.find("conv 3x3") == "direct");
    rocm::MIOpenTuningCache::Stats stats = rocm::get_tuning_cache().get_stats();
    CHECK(stats.hits == 1 && stats.misses == 1 && stats.entries == 1);
    CHECK(cache.export_to(folder + "/copy.json") == 1);
    cache.clear();
    CHECK(cache.get_stats().entries == 0 && cache.get_stats().hits == 0);
    CHECK(rocm::MIOpenTuningCache::import_from(folder + "/copy.json") == 1);
    cache.set_cache_file(folder + "/other.json");
    CHECK(cache.find("conv 3x3") == "direct");
    cache.enable_exhaustive_search(false);
    expect<std::invalid_argument>("is not imported", [&] { rocm::MIOpenTuningCache::import_from(folder + "/missing.json"); });
    expect<std::invalid_argument>("a time is above 0", [&] { cache.add("x", "y", -1); });
    expect<std::runtime_error>("no-such-device", [&] { rocm::MIOpenTuningCache(rocm::MIOpenTuningCache::Config{}, "no-such-device"); });
}

static void pinned_pool() {
    rocm::PinnedMemoryPool &pool = rocm::get_pinned_pool();
    CHECK(&pool == &rocm::get_pinned_pool());
    pool.warmup({std::size_t{24} << 20, std::size_t{24} << 20});
    const agpu_memory_statistics before = pinned("");
    void *first = pool.acquire(std::size_t{24} << 20), *second = pool.acquire(std::size_t{24} << 20);
    std::memset(first, 1, std::size_t{24} << 20);
    CHECK(first != second && reinterpret_cast<std::uintptr_t>(first) % 512 == 0);
    CHECK(pinned("").cache_hits == before.cache_hits + 2);
    pool.release(second);
    CHECK(pool.acquire(std::size_t{24} << 20) == second);
    pool.release(second);
    pool.clear();
    CHECK(pinned("").reserved_bytes == (std::uint64_t{24} << 20));
    CHECK(static_cast<char *>(first)[(24 << 20) - 1] == 1);
    pool.release(first);
    pool.release(nullptr);
    expect<std::invalid_argument>("release: the pointer is not of this pool", [&] { pool.release(first); });
    expect<std::runtime_error>("", [&] { pool.acquire(std::size_t{1} << 60); });
    void *empty = pool.acquire(0);
    CHECK(empty != nullptr);
    pool.release(empty);
    pool.clear();
    CHECK(pinned("").reserved_bytes == 0 && pinned("").allocations == 0);
}

static void warm_up() {
    std::uint64_t before = 0;
    rocm::pools_detail::check(agpu_device_empty_pool(rocm::pools_detail::default_device(), AGPU_MEMORY_DEVICE, nullptr));
    for (const char *model : {"small", "base", "large"}) {
        rocm::warmup_memory_pool(16, model);
        std::uint64_t sum = 0;
        for (std::uint64_t size : rocm::warmup_sizes(16, model)) sum += size;
        agpu_memory_statistics statistics = AGPU_MEMORY_STATISTICS_INIT;
        rocm::pools_detail::check(agpu_device_memory_statistics(rocm::pools_detail::default_device(), AGPU_MEMORY_DEVICE, &statistics));
        CHECK(statistics.reserved_bytes >= sum && statistics.reserved_bytes >= before && statistics.allocations == 0);
        before = statistics.reserved_bytes;
    }
    CHECK(rocm::warmup_sizes(1, "base").size() == 9 && rocm::warmup_sizes(1, "base")[0] == 128 * 768 * 4);
    expect<std::invalid_argument>("model_size is \"huge\"; known are small, base, large", [] { rocm::warmup_memory_pool(1, "huge"); });
    expect<std::invalid_argument>("batch_size is 0", [] { rocm::warmup_memory_pool(0, "base"); });
}

static void threads() {
    constexpr int count = 8, rounds = 50;
    rocm::MIOpenTuningCache &cache = rocm::get_tuning_cache();
    cache.clear();
    rocm::PinnedMemoryPool &pool = rocm::get_pinned_pool();
    std::vector<std::thread> all;
    for (int thread = 0; thread < count; thread++)
        all.emplace_back([&, thread] {
            const std::string subject = "subject " + std::to_string(thread);
            cache.add(subject, "way", 1e-3 * (thread + 1));
            for (int round = 0; round < rounds; round++) {
                const std::size_t bytes = std::size_t{1024} << (round % 8);
                auto *values = static_cast<unsigned char *>(pool.acquire(bytes));
                std::memset(values, thread, bytes);
                CHECK(cache.find(subject) == "way");
                CHECK(!cache.find("another " + subject));
                CHECK(cache.get_stats().entries >= 1);
                for (std::size_t i = 0; i < bytes; i += 97) CHECK(values[i] == thread);
                pool.release(values);
                if (round % 16 == 0) pool.clear();
                if (round % 25 == 0) pool.warmup({bytes, 2 * bytes});
                if (round % 25 == 1) rocm::warmup_memory_pool(1, "small");
            }
        });
    for (std::thread &one : all) one.join();
    const rocm::MIOpenTuningCache::Stats stats = cache.get_stats();
    CHECK(stats.entries == count && stats.hits == count * rounds && stats.misses == count * rounds);
    pool.clear();
    CHECK(pinned("").allocations == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    tuning_cache(arguments[1]);
    pinned_pool();
    warm_up();
    threads();
    std::puts("ok");
    return 0;
}
