// profiler.h: what torch's profilers learn of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace amdgpu_torch {

// A kernel, copy or fill that ran.
struct Activity {
    std::string name;
    std::string kind;
    int32_t device;
    int32_t stream;
    // The system's number of the thread that told of it.
    int32_t thread;
    // Since 1970.
    int64_t start_ns;
    int64_t duration_ns;
};

// Who takes the records of amdgpu's telemetry while torch profiles.
class Recorder {
public:
    virtual ~Recorder() = default;
    virtual void start() = 0;
    virtual std::vector<Activity> stop() = 0;
};

void set_recorder(std::unique_ptr<Recorder> chosen);

// Whether this version of torch takes activities of devices of other packages.
bool has_activities();

} // namespace amdgpu_torch
