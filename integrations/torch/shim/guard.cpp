// guard.cpp: current device, streams and events as c10 asks for them.
#include "core.h"
#include "memory.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace amdgpu_torch {
namespace {

agpu_stream handle_of(const c10::Stream &stream) { return stream_handle(stream.device_index(), stream.id()); }

struct RdnaGuard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return device_type; }

    c10::Device exchangeDevice(c10::Device device) const override {
        const auto before = getDevice();
        setDevice(device);
        return before;
    }

    c10::Device getDevice() const override { return {device_type, current_device()}; }

    void setDevice(c10::Device device) const override {
        TORCH_CHECK(device.type() == device_type, "a device of type rdna is expected, not ", device);
        set_current_device(device.index());
    }

    void uncheckedSetDevice(c10::Device device) const noexcept override { set_current_device_unchecked(device.index()); }

    c10::Stream getStream(c10::Device device) const override {
        const auto index = device.has_index() ? device.index() : current_device();
        return stream_of(index, current_stream(index));
    }

    c10::Stream getDefaultStream(c10::Device device) const override { return stream_of(index_of(device), 0); }

    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getNewStream(device, 0); }

    c10::Stream getNewStream(c10::Device device, int) const override {
        const auto index = index_of(device);
        return stream_of(index, next_stream(index));
    }

    c10::Stream exchangeStream(c10::Stream stream) const override {
        return stream_of(stream.device_index(), exchange_stream(stream.device_index(), stream.id()));
    }

    c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }

#if __has_include(<c10/core/DeviceCapability.h>)
    // dtypes that arrays of libamdgpu have; others live on the device as bytes that only copies touch.
    c10::DeviceCapability getDeviceCapability(c10::Device) const override {
        c10::DeviceCapability capability;
        uint64_t bits = 0;
        for (size_t place = 0; place < c10::NUMBER_OF_DEVICE_CAPABILITIES; ++place)
            if (dtype_name(static_cast<c10::ScalarType>(place)) != nullptr) bits |= uint64_t{1} << place;
        capability.capability_data.capability_bits = bits;
        return capability;
    }
#endif

    void record(void **event, const c10::Stream &stream, const c10::DeviceIndex index, const c10::EventFlag) const override {
        TORCH_CHECK(
            index == -1 || index == stream.device_index(),
            "an event of rdna:",
            static_cast<int>(index),
            " cannot be recorded in a stream of ",
            stream.device());
        if (*event == nullptr) {
            agpu_event made = nullptr;
            check(agpu_event_create(open_device(stream.device_index()), &made));
            *event = made;
        }
        check(agpu_event_record(static_cast<agpu_event>(*event), handle_of(stream)));
    }

    void block(void *event, const c10::Stream &stream) const override {
        if (event != nullptr) check(agpu_stream_wait_event(handle_of(stream), static_cast<agpu_event>(event)));
    }

    bool queryEvent(void *event) const override {
        bool is_complete = true;
        if (event != nullptr) check(agpu_event_is_complete(static_cast<agpu_event>(event), &is_complete));
        return is_complete;
    }

    void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
        if (event != nullptr && !is_forked()) (void)agpu_release(event);
    }

    void synchronizeEvent(void *event) const override {
        if (event == nullptr) return;
        check(agpu_event_synchronize(static_cast<agpu_event>(event)));
        check_indices(current_device());
    }

    double elapsedTime(void *start, void *end, const c10::DeviceIndex) const override {
        TORCH_CHECK(start != nullptr && end != nullptr, "elapsed_time: both events must be recorded first");
        int64_t elapsed_ns = 0;
        check(agpu_event_elapsed_ns(static_cast<agpu_event>(start), static_cast<agpu_event>(end), &elapsed_ns));
        return static_cast<double>(elapsed_ns) * 1e-6;
    }

    bool queryStream(const c10::Stream &stream) const override {
        bool is_idle = true;
        check(agpu_stream_is_idle(handle_of(stream), &is_idle));
        return is_idle;
    }

    void synchronizeStream(const c10::Stream &stream) const override {
        check(agpu_stream_synchronize(handle_of(stream)));
        check_indices(stream.device_index());
    }

    void synchronizeDevice(const c10::DeviceIndex index) const override {
        const auto chosen = index < 0 ? current_device() : index;
        check_index(chosen);
        if (is_open(chosen)) synchronize_device(chosen);
    }

    void recordDataPtrOnStream(const c10::DataPtr &pointer, const c10::Stream &stream) const override {
        device_allocator()->recordStream(pointer, stream);
    }
};

// Written out: the macro takes a name that stands in c10.
const c10::impl::DeviceGuardImplRegistrar registered(device_type, new RdnaGuard());

} // namespace
} // namespace amdgpu_torch
