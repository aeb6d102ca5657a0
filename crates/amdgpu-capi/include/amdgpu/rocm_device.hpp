// amdgpu/rocm_device.hpp: a part of rocm.hpp. Devices by ROCm's ids, streams, and what the other parts share.
#ifndef AMDGPU_ROCM_DEVICE_HPP
#define AMDGPU_ROCM_DEVICE_HPP

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "ir.hpp"
#include "raw.h"
#include "rocm.h"
#include "rocm_types.hpp"

namespace amdgpu {
namespace rocm {

namespace detail {

// Throws what the last call left, unless it succeeded: std::invalid_argument for arguments that cannot be, std::runtime_error for the rest.
inline void check(agpu_status status) {
    if (status == AGPU_OK) return;
    agpu_error_info info = AGPU_ERROR_INFO_INIT;
    agpu_last_error(&info);
    std::string text = info.message;
    if (info.hint != nullptr && *info.hint != '\0') text += std::string("\n  hint: ") + info.hint;
    constexpr agpu_status end_of_arguments = 200;
    if (status < end_of_arguments) throw std::invalid_argument(text);
    throw std::runtime_error(text);
}

[[noreturn]] inline void refuse(const std::string &text) { throw std::invalid_argument(text); }

inline std::string text_of(const std::vector<std::int64_t> &shape) {
    std::string text = "(";
    for (std::size_t i = 0; i < shape.size(); i++) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
}

// One reference to an array of the library.
class Array {
public:
    explicit Array(agpu_array handle) noexcept : handle_(handle) {}
    Array(Array &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    Array &operator=(Array &&) = delete;
    ~Array() {
        // A destructor has nobody to tell.
        if (handle_ != nullptr) agpu_release(handle_);
    }
    agpu_array get() const noexcept { return handle_; }

private:
    agpu_array handle_;
};

// Devices that this process has opened, by id; they stay open until it ends. A child after fork() opens its own.
inline agpu_device open_device(int device_id) {
    static std::mutex mutex;
    static auto *const open = new std::map<std::pair<pid_t, int>, agpu_device>();
    const std::lock_guard<std::mutex> lock(mutex);
    agpu_device &device = (*open)[{getpid(), device_id}];
    if (device == nullptr) check(agpu_device_open(("rocm:" + std::to_string(device_id)).c_str(), nullptr, &device));
    return device;
}

// The device that a call works on: the calling thread's, else the first.
inline agpu_device current_device() {
    std::int32_t device_id = -1;
    check(agpu_rocm_get_device(&device_id));
    return open_device(device_id < 0 ? 0 : device_id);
}

inline agpu_stream to_stream(hipStream_t stream) { return reinterpret_cast<agpu_stream>(stream); }

// Operations between `Ordered` and `done` take their place in the order of a stream.
class Ordered {
public:
    Ordered(agpu_device device, hipStream_t stream) : device_(device), stream_(to_stream(stream)) {
        if (stream_ != nullptr) check(agpu_device_wait_stream(device_, stream_));
    }
    void done() const {
        if (stream_ != nullptr) check(agpu_stream_wait_device(device_, stream_));
    }

private:
    agpu_device device_;
    agpu_stream stream_;
};

// The memory at an address as an array. Strides count elements; without them it is in row-major order.
inline Array array_at(agpu_device device, const void *address, const char *dtype, const std::vector<std::int64_t> &shape,
                      const std::vector<std::int64_t> &strides = {}) {
    agpu_array array = nullptr;
    check(agpu_array_from_address(device, const_cast<void *>(address), dtype, static_cast<std::uint32_t>(shape.size()), shape.data(),
                                  strides.empty() ? nullptr : strides.data(), &array));
    return Array(array);
}

// An array without dimensions, which stands for a number.
inline Array number(agpu_device device, double value, DType dtype = DType::Float32) {
    agpu_array array = nullptr;
    check(agpu_array_create(device, dtype == DType::Float64 ? "float64" : "float32", 0, nullptr, nullptr, &array));
    Array owned(array);
    const float single = static_cast<float>(value);
    const void *const data = dtype == DType::Float64 ? static_cast<const void *>(&value) : &single;
    check(agpu_array_write(array, data, dtype == DType::Float64 ? sizeof value : sizeof single));
    return owned;
}

inline void require(const void *pointer, const char *function, const char *name) {
    if (pointer == nullptr) refuse(std::string(function) + ": " + name + " is NULL; pass an address of device memory");
}

inline void require_at_least(std::int64_t value, std::int64_t least, const char *function, const char *name) {
    if (value < least)
        refuse(std::string(function) + ": " + name + " is " + std::to_string(value) + "; it must be " + std::to_string(least) + " or more");
}

}  // namespace detail

// Whether there is a ROCm device.
inline bool is_available() {
    std::uint32_t count = 0;
    return agpu_rocm_device_count(&count) == AGPU_OK && count > 0;
}

// Number of ROCm devices; 0 where ROCm is not available.
inline int get_device_count() {
    std::uint32_t count = 0;
    detail::check(agpu_rocm_device_count(&count));
    return static_cast<int>(count);
}

// The id of the calling thread's current device; -1 where it chose none, or one that is no ROCm device.
inline int get_current_device() {
    std::int32_t device_id = -1;
    detail::check(agpu_rocm_get_device(&device_id));
    return device_id;
}

// Makes a device the current one of the calling thread. Throws std::runtime_error for an id that is not there.
inline void set_device(int device_id) { detail::check(agpu_rocm_set_device(device_id)); }

// Waits for everything that this process gave to the current device, which is the first one where the thread chose none.
inline void synchronize() { detail::check(agpu_rocm_synchronize()); }

struct DeviceInfo {
    int device_id;
    std::string name;
    std::string architecture;
    std::size_t total_memory;
    std::size_t free_memory;
    int compute_units;
};

// Facts of a device. Throws std::runtime_error for an id that is not there.
inline DeviceInfo get_device_info(int device_id) {
    agpu_rocm_device_facts facts = AGPU_ROCM_DEVICE_FACTS_INIT;
    detail::check(agpu_rocm_device_info(device_id, &facts));
    return {facts.device_id,          facts.name, facts.architecture, facts.total_memory_bytes, facts.free_memory_bytes,
            static_cast<int>(facts.compute_units)};
}

// A stream of the current device, for devices that HIP does not drive; on an AMD GPU a stream of hipStreamCreate will do as well.
inline hipStream_t create_stream() {
    agpu_stream stream = nullptr;
    detail::check(agpu_stream_create(detail::current_device(), &stream));
    return reinterpret_cast<hipStream_t>(stream);
}

// Waits for what a stream of create_stream was given.
inline void synchronize_stream(hipStream_t stream) { detail::check(agpu_stream_synchronize(detail::to_stream(stream))); }

// Gives a stream of create_stream back; what it was given is done first.
inline void destroy_stream(hipStream_t stream) { detail::check(agpu_release(detail::to_stream(stream))); }

}  // namespace rocm
}  // namespace amdgpu

#endif
