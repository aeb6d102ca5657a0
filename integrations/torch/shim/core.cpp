// core.cpp: devices, streams and errors.
#include "core.h"

#include <amdgpu/ops.h>

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace amdgpu_torch {
namespace {

struct DeviceSlot {
    agpu_device_facts facts = AGPU_DEVICE_FACTS_INIT;
    std::mutex mutex;
    std::atomic<agpu_device> handle{nullptr};
    std::array<std::atomic<agpu_stream>, stream_limit + 1> streams{};
    std::atomic<int64_t> handed_out{0};
};

std::atomic<bool> any_open{false};
std::atomic<bool> forked{false};

thread_local c10::DeviceIndex thread_device = 0;
thread_local std::vector<c10::StreamId> thread_streams;

std::vector<agpu_device_facts> list_devices() {
    std::vector<agpu_device_facts> found;
    uint32_t count = 0;
    if (agpu_device_count(&count) != AGPU_OK) return found;
    for (uint32_t place = 0; place < count; ++place) {
        agpu_device_facts facts = AGPU_DEVICE_FACTS_INIT;
        if (agpu_device_info_at(place, &facts) == AGPU_OK) found.push_back(facts);
    }
    return found;
}

// Those of a kind ("hip"), or the one of this name ("hip:1").
void append_named(std::vector<agpu_device_facts> &chosen, const std::vector<agpu_device_facts> &all, std::string_view name) {
    for (const auto &facts : all)
        if (name == facts.kind || name == facts.name) chosen.push_back(facts);
}

std::vector<agpu_device_facts> choose_devices() {
    const auto all = list_devices();
    std::vector<agpu_device_facts> chosen;
    const char *named = std::getenv("AMDGPU_TORCH_DEVICE");
    if (named == nullptr || *named == '\0') {
        append_named(chosen, all, "hip");
        if (chosen.empty()) append_named(chosen, all, "cuda");
        return chosen;
    }
    std::string_view rest(named);
    while (!rest.empty()) {
        const auto end = rest.find(',');
        append_named(chosen, all, rest.substr(0, end));
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return chosen;
}

struct Table {
    std::deque<DeviceSlot> slots;

    Table() {
        for (const auto &facts : choose_devices()) slots.emplace_back().facts = facts;
    }

    bool is_host() const {
        return !slots.empty() && std::ranges::all_of(slots, [](const auto &slot) { return std::string_view(slot.facts.kind) == "cpu"; });
    }
};

// Lives until the process ends: tensors may be freed after static objects are gone.
Table &table() {
    static Table *made = new Table();
    return *made;
}

const bool fork_is_watched = [] {
    return pthread_atfork(nullptr, nullptr, [] {
               if (any_open) forked = true;
           }) == 0;
}();

DeviceSlot &slot_of(c10::DeviceIndex index) {
    check_index(index);
    return table().slots[index];
}

} // namespace

std::string last_failure() {
    agpu_error_info info = AGPU_ERROR_INFO_INIT;
    agpu_last_error(&info);
    std::string text = info.message == nullptr ? "an error of amdgpu without a message" : info.message;
    if (info.hint != nullptr && *info.hint != '\0') text += std::string(" (") + info.hint + ")";
    return text;
}

void check(agpu_status status) {
    if (status == AGPU_OK) return;
    if (status == AGPU_ERROR_OUT_OF_MEMORY) C10_THROW_ERROR(OutOfMemoryError, last_failure());
    if (status == AGPU_ERROR_UNSUPPORTED_DTYPE || status == AGPU_ERROR_UNSUPPORTED_FEATURE) C10_THROW_ERROR(NotImplementedError, last_failure());
    if (status == AGPU_ERROR_INDEX_OUT_OF_RANGE) C10_THROW_ERROR(IndexError, last_failure());
    C10_THROW_ERROR(Error, last_failure());
}

c10::DeviceIndex device_count() noexcept {
    try {
        return static_cast<c10::DeviceIndex>(table().slots.size());
    } catch (...) {
        return 0;
    }
}

void check_index(c10::DeviceIndex index) {
    const auto count = device_count();
    TORCH_CHECK(
        count > 0,
        "there is no rdna device: amdgpu finds no AMD or NVIDIA GPU here. AMDGPU_TORCH_DEVICE=cpu, set before the import, takes the CPU device of amdgpu");
    TORCH_CHECK(
        index >= 0 && index < count,
        "rdna:",
        static_cast<int>(index),
        " does not exist; there ",
        count == 1 ? "is one device, rdna:0" : "are devices rdna:0 to rdna:" + std::to_string(count - 1));
}

const agpu_device_facts &device_facts(c10::DeviceIndex index) { return slot_of(index).facts; }

bool is_forked() noexcept { return forked; }

bool is_open(c10::DeviceIndex index) noexcept {
    return index >= 0 && index < device_count() && table().slots[index].handle.load() != nullptr;
}

agpu_device open_device(c10::DeviceIndex index) {
    DeviceSlot &slot = slot_of(index);
    TORCH_CHECK(
        !is_forked(),
        "rdna devices were used before this process was forked and cannot be used in it; start processes with the method 'spawn'");
    if (const auto handle = slot.handle.load(std::memory_order_acquire)) return handle;
    const std::lock_guard<std::mutex> lock(slot.mutex);
    if (const auto handle = slot.handle.load(std::memory_order_acquire)) return handle;
    agpu_device handle = nullptr;
    check(agpu_device_open(slot.facts.name, nullptr, &handle));
    any_open = true;
    slot.handle.store(handle, std::memory_order_release);
    return handle;
}

c10::DeviceIndex current_device() noexcept { return thread_device; }

void set_current_device(c10::DeviceIndex index) {
    if (index < 0) return;
    check_index(index);
    thread_device = index;
}

void set_current_device_unchecked(c10::DeviceIndex index) noexcept {
    if (index >= 0) thread_device = index;
}

c10::DeviceIndex index_of(c10::Device device) {
    TORCH_CHECK(device.type() == device_type, "a device of type rdna is expected, not ", device);
    const c10::DeviceIndex index = device.has_index() ? device.index() : current_device();
    check_index(index);
    return index;
}

agpu_stream stream_handle(c10::DeviceIndex index, c10::StreamId id) {
    DeviceSlot &slot = slot_of(index);
    TORCH_CHECK(id >= 0 && id <= stream_limit, "rdna:", static_cast<int>(index), " has no stream with the number ", id);
    if (const auto handle = slot.streams[id].load(std::memory_order_acquire)) return handle;
    const agpu_device device = open_device(index);
    const std::lock_guard<std::mutex> lock(slot.mutex);
    if (const auto handle = slot.streams[id].load(std::memory_order_acquire)) return handle;
    agpu_stream handle = nullptr;
    check(id == 0 ? agpu_device_default_stream(device, &handle) : agpu_stream_create(device, &handle));
    slot.streams[id].store(handle, std::memory_order_release);
    return handle;
}

c10::StreamId next_stream(c10::DeviceIndex index) { return 1 + slot_of(index).handed_out++ % stream_limit; }

c10::StreamId current_stream(c10::DeviceIndex index) noexcept {
    const auto place = static_cast<size_t>(index);
    return index >= 0 && place < thread_streams.size() ? thread_streams[place] : 0;
}

c10::StreamId exchange_stream(c10::DeviceIndex index, c10::StreamId id) {
    check_index(index);
    if (thread_streams.size() <= static_cast<size_t>(index)) thread_streams.resize(device_count(), 0);
    return std::exchange(thread_streams[index], id);
}

c10::Stream stream_of(c10::DeviceIndex index, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, index), id);
}

agpu_stream current_stream_or_null(c10::DeviceIndex index) {
    const auto id = current_stream(index);
    return id == 0 ? nullptr : stream_handle(index, id);
}

void synchronize_device(c10::DeviceIndex index) {
    for (const auto &stream : slot_of(index).streams)
        if (const auto handle = stream.load(std::memory_order_acquire)) check(agpu_stream_synchronize(handle));
    check(agpu_device_synchronize(open_device(index)));
    check_indices(index);
}

void check_indices(c10::DeviceIndex index) { check(agpu_ops_check_indices(open_device(index))); }

InCurrentStream::InCurrentStream(c10::DeviceIndex index) : stream_(current_stream_or_null(index)) {
    if (stream_ == nullptr) return;
    device_ = open_device(index);
    check(agpu_device_wait_stream(device_, stream_));
}

InCurrentStream::~InCurrentStream() {
    if (stream_ == nullptr) return;
    // An error of the stream is told by whoever waits for it.
    (void)agpu_stream_wait_device(device_, stream_);
}

std::uintptr_t poison_bits() noexcept {
    // Drivers are not asked for devices before somebody uses one: a child that is forked until then may use them.
    static const bool is_wanted = [] {
        const char *wanted = std::getenv("AMDGPU_TORCH_POISON");
        return wanted != nullptr && std::string_view(wanted) == "1";
    }();
    static const std::uintptr_t bits = is_wanted && device_count() != 0 && table().is_host() ? poison_bit : 0;
    return bits;
}

void *shown_address(void *address) noexcept {
    return address == nullptr ? nullptr : reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(address) | poison_bits());
}

void *real_address(const void *shown) noexcept {
    return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(shown) & ~poison_bits());
}

const char *dtype_name(c10::ScalarType dtype) noexcept {
    switch (dtype) {
    case c10::ScalarType::Double: return "float64";
    case c10::ScalarType::Float: return "float32";
    case c10::ScalarType::Half: return "float16";
    case c10::ScalarType::BFloat16: return "bfloat16";
    case c10::ScalarType::Char: return "int8";
    case c10::ScalarType::Short: return "int16";
    case c10::ScalarType::Int: return "int32";
    case c10::ScalarType::Long: return "int64";
    case c10::ScalarType::Byte: return "uint8";
    case c10::ScalarType::UInt16: return "uint16";
    case c10::ScalarType::UInt32: return "uint32";
    case c10::ScalarType::UInt64: return "uint64";
    case c10::ScalarType::Bool: return "bool";
    case c10::ScalarType::ComplexFloat: return "complex64";
    case c10::ScalarType::ComplexDouble: return "complex128";
    default: return nullptr;
    }
}

} // namespace amdgpu_torch
