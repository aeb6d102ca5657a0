// profiler.cpp: what torch's profilers ask of a device: events around operators and, where this version of torch takes activities of other
// devices, kernels and copies as amdgpu's telemetry recorded them.
#include "profiler.h"

#include "core.h"

#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <memory>

#if __has_include(<torch/csrc/profiler/standalone/privateuse1_profiler.h>)
#define AMDGPU_TORCH_HAS_ACTIVITIES 1
#ifndef USE_KINETO
#define USE_KINETO
#endif
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <libkineto.h>
#include <output_base.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>
#endif

namespace amdgpu_torch {
namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

// For profiles without activities: `torch.autograd.profiler`, and torch 2.10 and 2.11.
struct Events final : torch::profiler::impl::ProfilerStubs {
    void record(c10::DeviceIndex *device, ProfilerVoidEventStub *event, int64_t *cpu_ns) const override {
        const auto index = current_device();
        if (device != nullptr) *device = index;
        agpu_event made = nullptr;
        check(agpu_event_create(open_device(index), &made));
        *event = ProfilerVoidEventStub(made, [](void *one) { (void)agpu_release(one); });
        if (cpu_ns != nullptr) *cpu_ns = c10::getTime();
        check(agpu_event_record(made, stream_handle(index, current_stream(index))));
    }

    // In microseconds.
    float elapsed(const ProfilerVoidEventStub *start, const ProfilerVoidEventStub *end) const override {
        check(agpu_event_synchronize(static_cast<agpu_event>(start->get())));
        check(agpu_event_synchronize(static_cast<agpu_event>(end->get())));
        int64_t elapsed_ns = 0;
        check(agpu_event_elapsed_ns(static_cast<agpu_event>(start->get()), static_cast<agpu_event>(end->get()), &elapsed_ns));
        return static_cast<float>(elapsed_ns) * 1e-3F;
    }

    void mark(const char *) const override {}
    void rangePush(const char *) const override {}
    void rangePop() const override {}
    bool enabled() const override { return device_count() > 0; }

    void onEachDevice(std::function<void(int)> work) const override {
        const auto before = current_device();
        for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
            set_current_device_unchecked(index);
            work(index);
        }
        set_current_device_unchecked(before);
    }

    void synchronize() const override {
        if (is_open(current_device())) synchronize_device(current_device());
    }
};

const bool events_are_registered = [] {
    torch::profiler::impl::registerPrivateUse1Methods(new Events());
    return true;
}();

// Lives until the process ends, when there may be no interpreter left to free it.
Recorder *recorder = nullptr;

#ifdef AMDGPU_TORCH_HAS_ACTIVITIES

using libkineto::ActivityType;

// An operator of torch: when it began and ended, and what torch's trace calls it.
struct Interval {
    int64_t start_ns;
    int64_t end_ns;
    int64_t correlation;
};

ActivityType type_of(const Activity &activity) {
    if (activity.kind == "copy") return ActivityType::GPU_MEMCPY;
    if (activity.kind == "fill") return ActivityType::GPU_MEMSET;
    return ActivityType::CONCURRENT_KERNEL;
}

class Session final : public libkineto::IActivityProfilerSession {
public:
    void start() override {
        if (recorder != nullptr) recorder->start();
    }

    void stop() override {
        if (recorder != nullptr) activities_ = recorder->stop();
    }

    std::vector<std::string> errors() override { return {}; }

    void processTrace(libkineto::ActivityLogger &logger) override {
        processTrace(logger, [](int32_t) { return nullptr; }, 0, 0);
    }

    void processTrace(
        libkineto::ActivityLogger &logger, libkineto::getLinkedActivityCallback linked, int64_t start, int64_t end) override {
        trace_.span = libkineto::TraceSpan(start, end, "rdna");
        trace_.gpuOpCount = static_cast<int>(activities_.size());
        for (const auto &one : activities_) {
            trace_.emplace_activity(trace_.span, type_of(one), one.name);
            auto &made = *trace_.activities.back();
            made.startTime = one.start_ns;
            made.endTime = one.start_ns + one.duration_ns;
            made.device = one.device;
            made.resource = one.stream;
            made.threadId = one.thread;
            if (const auto correlation = operator_at(one)) {
                made.id = static_cast<int32_t>(correlation);
                made.linked = linked(static_cast<int32_t>(correlation));
                made.flow.id = static_cast<uint32_t>(correlation);
                made.flow.type = libkineto::kLinkAsyncCpuGpu;
            }
            made.log(logger);
        }
    }

    std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return {}; }
    std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }

    std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
        return std::make_unique<libkineto::CpuTraceBuffer>(std::move(trace_));
    }

    void pushCorrelationId(uint64_t id) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_[gettid()].push_back({c10::getTime(), 0, static_cast<int64_t>(id)});
    }

    void popCorrelationId() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto thread = gettid();
        auto &stack = open_[thread];
        if (stack.empty()) return;
        stack.back().end_ns = c10::getTime();
        closed_[thread].push_back(stack.back());
        stack.pop_back();
    }

private:
    // The innermost operator that the thread of an activity was in when it began; 0 for none. Inner operators end first.
    int64_t operator_at(const Activity &activity) const {
        const auto found = closed_.find(activity.thread);
        if (found == closed_.end()) return 0;
        const auto &all = found->second;
        auto first = std::partition_point(
            all.begin(), all.end(), [&](const Interval &one) { return one.end_ns < activity.start_ns; });
        for (; first != all.end(); ++first)
            if (first->start_ns <= activity.start_ns) return first->correlation;
        return 0;
    }

    std::mutex mutex_;
    std::map<int32_t, std::vector<Interval>> open_;
    std::map<int32_t, std::vector<Interval>> closed_;
    std::vector<Activity> activities_;
    libkineto::CpuTraceBuffer trace_;
};

class RdnaProfiler final : public libkineto::IActivityProfiler {
public:
    const std::string &name() const override { return name_; }
    const std::set<ActivityType> &availableActivities() const override { return types_; }

    std::unique_ptr<libkineto::IActivityProfilerSession> configure(
        const std::set<ActivityType> &types, const libkineto::Config &) override {
        return types.contains(ActivityType::CONCURRENT_KERNEL) ? std::make_unique<Session>() : nullptr;
    }

    std::unique_ptr<libkineto::IActivityProfilerSession> configure(
        int64_t, int64_t, const std::set<ActivityType> &types, const libkineto::Config &config) override {
        return configure(types, config);
    }

private:
    std::string name_ = "rdna";
    std::set<ActivityType> types_{ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY, ActivityType::GPU_MEMSET};
};

const bool activities_are_registered = [] {
    torch::profiler::impl::PrivateUse1ProfilerRegistry::instance().registerFactory(
        [] { return std::make_unique<RdnaProfiler>(); });
    return true;
}();

#endif

} // namespace

void set_recorder(std::unique_ptr<Recorder> chosen) { recorder = chosen.release(); }

bool has_activities() {
#ifdef AMDGPU_TORCH_HAS_ACTIVITIES
    return true;
#else
    return false;
#endif
}

} // namespace amdgpu_torch
