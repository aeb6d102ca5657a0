// core.h: what the files of the shim share: errors of libamdgpu as exceptions, the devices beneath rdna, their streams, addresses.
#pragma once

#include <amdgpu/raw.h>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <string>

namespace amdgpu_torch {

inline constexpr c10::DeviceType device_type = c10::DeviceType::PrivateUse1;

// The message and the hint of the last failure on this thread.
std::string last_failure();

// Throws what a failed call left: OutOfMemoryError, NotImplementedError for what is not supported, IndexError for indices that are none, else
// RuntimeError.
void check(agpu_status status);

// How many devices there are: those that AMDGPU_TORCH_DEVICE names, else the AMD GPUs, else the NVIDIA GPUs. Never throws.
c10::DeviceIndex device_count() noexcept;

// Refuses an index that no device has, with a sentence that says which there are.
void check_index(c10::DeviceIndex index);

// Facts of a device, which need not be open.
const agpu_device_facts &device_facts(c10::DeviceIndex index);

// The open device; opens it on first use.
agpu_device open_device(c10::DeviceIndex index);
bool is_open(c10::DeviceIndex index) noexcept;

// Whether this process was forked from one that used a device: nothing of it can be used here.
bool is_forked() noexcept;

// The current device of the calling thread.
c10::DeviceIndex current_device() noexcept;
void set_current_device(c10::DeviceIndex index);
void set_current_device_unchecked(c10::DeviceIndex index) noexcept;

// The current device of this thread for as long as this lives.
class OnDevice {
public:
    explicit OnDevice(c10::DeviceIndex index) : before_(current_device()) { set_current_device_unchecked(index); }
    ~OnDevice() { set_current_device_unchecked(before_); }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;

private:
    c10::DeviceIndex before_;
};

// The index of a device that may be "rdna" without one.
c10::DeviceIndex index_of(c10::Device device);

// Streams by their numbers: 0 is the default stream, others come from a pool of `stream_limit` that are handed out in turns.
inline constexpr int64_t stream_limit = 32;
agpu_stream stream_handle(c10::DeviceIndex index, c10::StreamId id);
c10::StreamId next_stream(c10::DeviceIndex index);
c10::StreamId current_stream(c10::DeviceIndex index) noexcept;
c10::StreamId exchange_stream(c10::DeviceIndex index, c10::StreamId id);
c10::Stream stream_of(c10::DeviceIndex index, c10::StreamId id);
// NULL for the default stream: calls of libamdgpu then run in it.
agpu_stream current_stream_or_null(c10::DeviceIndex index);

// Waits for all streams of a device, and frees what they kept.
void synchronize_device(c10::DeviceIndex index);
// Throws IndexError for an index that an operator was given since the last look and that is none; called behind waits for the device.
void check_indices(c10::DeviceIndex index);

// Lets operations of libamdgpu, which run in the default stream, take part in the order of the current stream.
class InCurrentStream {
public:
    explicit InCurrentStream(c10::DeviceIndex index);
    ~InCurrentStream();
    InCurrentStream(const InCurrentStream &) = delete;
    InCurrentStream &operator=(const InCurrentStream &) = delete;

private:
    agpu_device device_ = nullptr;
    agpu_stream stream_ = nullptr;
};

// Set in addresses that tensors show where AMDGPU_TORCH_POISON=1 and all devices are CPU devices. Addresses with this bit are not canonical on
// x86-64 and lie beyond what other processors translate, so the host cannot use them by mistake.
inline constexpr std::uintptr_t poison_bit = std::uintptr_t{1} << 62;
std::uintptr_t poison_bits() noexcept;
void *shown_address(void *address) noexcept;
void *real_address(const void *shown) noexcept;

// The name that libamdgpu has for a dtype; NULL for those that its arrays do not have.
const char *dtype_name(c10::ScalarType dtype) noexcept;

} // namespace amdgpu_torch
