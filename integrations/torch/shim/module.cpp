// module.cpp: the Python module that `amdgpu.torch` loads; importing it registers the device.
#include "collectives.h"
#include "core.h"
#include "fallback.h"
#include "generator.h"
#include "memory.h"
#include "operators.h"
#include "profiler.h"

#include <ATen/DLConvertor.h>
#include <ATen/core/Tensor.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <memory>
#include <string_view>

namespace {

namespace py = pybind11;
using namespace amdgpu_torch;

std::string as_text(const char *text) { return text; }

py::dict properties(c10::DeviceIndex index) {
    const auto &facts = device_facts(index);
    py::dict result;
    result["name"] = as_text(facts.product_name);
    result["amdgpu_name"] = as_text(facts.name);
    result["kind"] = as_text(facts.kind);
    result["architecture"] = as_text(facts.architecture);
    result["total_memory"] = facts.total_memory_bytes;
    result["multi_processor_count"] = facts.compute_units != 0 ? facts.compute_units : facts.physical_cores;
    result["warp_size"] = facts.warp_size;
    result["max_threads_per_block"] = facts.max_threads_per_block;
    result["shared_memory_per_block"] = facts.shared_memory_per_block_bytes;
    result["clock_rate"] = facts.clock_hertz / 1000;
    return result;
}

py::object default_generator_object(c10::DeviceIndex index) {
    return py::reinterpret_steal<py::object>(THPGenerator_Wrap(default_generator(index)));
}

py::list fallbacks() {
    py::list result;
    for (const auto &count : fallback_counts()) result.append(py::make_tuple(count.name, count.calls, count.bytes));
    return result;
}

// The handle of a stream for functions of libamdgpu that take one.
std::uintptr_t stream_address(c10::DeviceIndex index, int64_t id) {
    return reinterpret_cast<std::uintptr_t>(stream_handle(index, id));
}

// What DLPack calls the device beneath rdna.
DLDevice beneath(c10::DeviceIndex index) {
    const auto &facts = device_facts(index);
    const std::string_view kind(facts.kind);
    if (kind == "hip") return {kDLROCM, static_cast<int32_t>(facts.ordinal)};
    if (kind == "cuda") return {kDLCUDA, static_cast<int32_t>(facts.ordinal)};
    return {kDLCPU, 0};
}

void discard_capsule(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    auto *managed = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (managed->deleter != nullptr) managed->deleter(managed);
}

// A capsule over the memory of a tensor of rdna that names the device beneath.
py::object lend(const py::object &object) {
    TORCH_CHECK_TYPE(THPVariable_Check(object.ptr()), "a tensor is expected");
    const at::Tensor tensor = THPVariable_Unpack(object.ptr());
    const auto index = index_of(tensor.device());
    if (const auto stream = current_stream_or_null(index)) check(agpu_device_wait_stream(open_device(index), stream));
    DLManagedTensor *managed = at::toDLPack(tensor);
    managed->dl_tensor.device = beneath(index);
    managed->dl_tensor.data = real_address(managed->dl_tensor.data);
    return py::reinterpret_steal<py::object>(PyCapsule_New(managed, "dltensor", &discard_capsule));
}

// A tensor of rdna over the memory of a capsule that names the device beneath.
py::object borrow(const py::object &capsule, c10::DeviceIndex index) {
    check_index(index);
    auto *managed = static_cast<DLManagedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (managed == nullptr) throw py::error_already_set();
    const DLDevice wanted = beneath(index);
    const DLDevice found = managed->dl_tensor.device;
    TORCH_CHECK(
        found.device_type == wanted.device_type && found.device_id == wanted.device_id,
        "the memory is not on ",
        device_facts(index).name,
        ", the device beneath rdna:",
        static_cast<int>(index));
    open_device(index);
    managed->dl_tensor.device = {kDLExtDev, static_cast<int32_t>(index)};
    managed->dl_tensor.data = shown_address(managed->dl_tensor.data);
    at::Tensor tensor = at::fromDLPack(managed);
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    return py::reinterpret_steal<py::object>(THPVariable_Wrap(std::move(tensor)));
}

std::uintptr_t unpoisoned(std::uintptr_t address) {
    return reinterpret_cast<std::uintptr_t>(real_address(reinterpret_cast<void *>(address)));
}

// A recorder in Python: `start()`, and `stop()` with rows of name, kind, device, stream, thread, start and duration.
class PythonRecorder final : public Recorder {
public:
    PythonRecorder(py::object start, py::object stop) : start_(std::move(start)), stop_(std::move(stop)) {}

    void start() override {
        const py::gil_scoped_acquire held;
        start_();
    }

    std::vector<Activity> stop() override {
        const py::gil_scoped_acquire held;
        std::vector<Activity> found;
        for (const auto row : stop_()) {
            const auto values = row.cast<py::tuple>();
            found.push_back(
                {values[0].cast<std::string>(),
                 values[1].cast<std::string>(),
                 values[2].cast<int32_t>(),
                 values[3].cast<int32_t>(),
                 values[4].cast<int32_t>(),
                 values[5].cast<int64_t>(),
                 values[6].cast<int64_t>()});
        }
        return found;
    }

private:
    py::object start_;
    py::object stop_;
};

void synchronize(c10::DeviceIndex index) {
    check_index(index);
    const py::gil_scoped_release released;
    if (is_open(index)) synchronize_device(index);
}

} // namespace

PYBIND11_MODULE(AMDGPU_TORCH_MODULE, m) {
    m.doc() = "The PyTorch device rdna: what torch asks of it in C++.";
    m.attr("TORCH_VERSION") = AMDGPU_TORCH_VERSION;
    m.def("device_count", [] { return static_cast<int>(device_count()); });
    m.def("current_device", [] {
        check_index(current_device());
        return static_cast<int>(current_device());
    });
    m.def("properties", &properties);
    m.def("is_open", &is_open);
    m.def("is_forked", &is_forked);
    m.def("open_device", [](c10::DeviceIndex index) { open_device(index); });
    m.def("default_generator", &default_generator_object);
    m.def("fallbacks", &fallbacks);
    m.def("reset_fallbacks", &reset_fallback_counts);
    m.def("fallback_mode", &fallback_mode);
    m.def("set_fallback_mode", &set_fallback_mode);
    m.def("load_kernels", &load_kernels);
    m.def("complete_operators", &complete_operators);
    m.def("native_calls", &native_calls);
    m.def("stream_address", &stream_address);
    m.def("beneath", [](c10::DeviceIndex index) {
        const auto device = beneath(index);
        return py::make_tuple(static_cast<int>(device.device_type), device.device_id);
    });
    m.def("lend", &lend);
    m.def("borrow", &borrow);
    m.def("unpoisoned", &unpoisoned);
    m.def("synchronize", &synchronize);
    m.def("collectives", &make_collectives, py::arg("engine"), py::arg("peers"));
    m.def("has_activities", &has_activities);
    m.def("set_recorder", [](py::object start, py::object stop) {
        set_recorder(std::make_unique<PythonRecorder>(std::move(start), std::move(stop)));
    });
    m.def("is_poisoned", [] { return poison_bits() != 0; });
}
