// operators.cpp: operators whose arguments the stable interface of torch cannot carry go to the kernel library from here.
#include "operators.h"

#include "core.h"
#include "fallback.h"
#include "generator.h"
#include "kernels.h"

#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <deque>
#include <memory>
#include <optional>

namespace amdgpu_torch {
namespace {

struct Functions {
    decltype(&agpu_torch_boxed_operator) boxed_operator = nullptr;
    decltype(&agpu_torch_call) call = nullptr;
    decltype(&agpu_torch_last_error) last_error = nullptr;
    decltype(&agpu_torch_native_calls) native_calls = nullptr;
};

// Set once, before the operators that use it are registered.
Functions functions;

thread_local std::string host_error;

template <typename Work>
int32_t answer(const Work &work) noexcept {
    try {
        work();
        return 0;
    } catch (const c10::Error &error) {
        host_error = error.what_without_backtrace();
    } catch (const std::exception &error) {
        host_error = error.what();
    }
    return 1;
}

int32_t host_device(int32_t index, agpu_device *device) {
    return answer([&] { *device = open_device(static_cast<c10::DeviceIndex>(index)); });
}

int32_t host_current_stream(int32_t index, agpu_stream *stream) {
    return answer([&] { *stream = current_stream_or_null(static_cast<c10::DeviceIndex>(index)); });
}

int32_t host_take_random(const void *generator, int32_t index, uint64_t words, uint64_t *key, uint64_t *position) {
    return answer([&] {
        const auto range = take_random(
            generator == nullptr ? default_generator(static_cast<c10::DeviceIndex>(index))
                                 : *static_cast<const at::Generator *>(generator),
            words);
        *key = range.key;
        *position = range.position;
    });
}

const char *host_last_error() { return host_error.c_str(); }

agpu_torch_scalar none() { return {AGPU_TORCH_NONE, 0, 0, 0, 0, nullptr}; }
agpu_torch_scalar list(uint32_t kind, const void *data, size_t count) {
    return {kind, 0, static_cast<int64_t>(count), 0, 0, data};
}

agpu_torch_scalar number(const at::Scalar &value) {
    agpu_torch_scalar result = none();
    if (value.isBoolean()) {
        result.kind = AGPU_TORCH_BOOL;
        result.integer = value.toBool() ? 1 : 0;
    } else if (value.isComplex()) {
        result.kind = AGPU_TORCH_COMPLEX;
        result.real = value.toComplexDouble().real();
        result.imaginary = value.toComplexDouble().imag();
    } else if (value.isFloatingPoint()) {
        result.kind = AGPU_TORCH_DOUBLE;
        result.real = value.toDouble();
    } else {
        result.kind = AGPU_TORCH_INT;
        // Numbers of uint64 beyond int64 keep their bits.
        result.integer = value.isIntegral(false) && value.type() == at::kUInt64 ? static_cast<int64_t>(value.toUInt64()) : value.toLong();
    }
    return result;
}

// The arguments of one call as the kernel library takes them.
class Arguments {
public:
    explicit Arguments(c10::ArrayRef<c10::IValue> values) {
        tensors_.reserve(values.size());
        scalars_.reserve(values.size());
        for (const auto &value : values) append(value);
    }

    int32_t call(const char *name) const {
        return functions.call(name, tensors_.data(), tensors_.size(), scalars_.data(), scalars_.size());
    }

    std::optional<at::Device> device() const { return device_; }

private:
    void append_tensor(const at::Tensor &tensor) {
        if (tensor.defined() && !device_ && tensor.device().type() == device_type) device_ = tensor.device();
        tensors_.push_back(tensor.defined() ? const_cast<at::Tensor *>(&tensor) : nullptr);
    }

    void append_tensors(std::vector<at::Tensor> tensors) {
        const auto &kept = lists_.emplace_back(std::move(tensors));
        for (const auto &tensor : kept) append_tensor(tensor);
        scalars_.push_back(list(AGPU_TORCH_TENSORS, nullptr, kept.size()));
    }

    template <typename T>
    void append_copy(uint32_t kind, std::vector<T> values) {
        const auto kept = std::make_shared<std::vector<T>>(std::move(values));
        scalars_.push_back(list(kind, kept->data(), kept->size()));
        owned_.push_back(kept);
    }

    void append_list(const c10::IValue &value) {
        if (value.isTensorList()) return append_tensors(value.toTensorVector());
        if (value.isOptionalTensorList()) {
            std::vector<at::Tensor> tensors;
            for (const auto &tensor : value.toOptionalTensorVector()) tensors.push_back(tensor.value_or(at::Tensor()));
            return append_tensors(std::move(tensors));
        }
        if (value.isIntList()) return append_copy(AGPU_TORCH_INTS, value.toIntVector());
        if (value.isDoubleList()) return append_copy(AGPU_TORCH_DOUBLES, value.toDoubleVector());
        if (value.isBoolList()) {
            std::vector<uint8_t> bytes;
            for (const bool each : value.toBoolList()) bytes.push_back(each ? 1 : 0);
            return append_copy(AGPU_TORCH_BOOLS, std::move(bytes));
        }
        std::vector<agpu_torch_scalar> numbers;
        for (const auto &each : value.toListRef()) numbers.push_back(each.isSymInt() || each.isScalar() ? number(each.toScalar()) : none());
        append_copy(AGPU_TORCH_SCALARS, std::move(numbers));
    }

    void append(const c10::IValue &value) {
        if (value.isTensor()) return append_tensor(value.toTensor());
        if (value.isList()) return append_list(value);
        if (value.isGenerator()) {
            const auto kept = std::make_shared<at::Generator>(value.toGenerator());
            scalars_.push_back({AGPU_TORCH_GENERATOR, 0, 0, 0, 0, kept.get()});
            owned_.push_back(kept);
        } else if (value.isString()) {
            const auto kept = std::make_shared<std::string>(value.toStringRef());
            scalars_.push_back(list(AGPU_TORCH_TEXT, kept->c_str(), kept->size()));
            owned_.push_back(kept);
        } else if (value.isSymInt()) {
            scalars_.push_back(number(value.toSymInt().guard_int(__FILE__, __LINE__)));
        } else if (value.isScalar()) {
            scalars_.push_back(number(value.toScalar()));
        } else if (value.isDevice()) {
            if (!device_ && value.toDevice().type() == device_type) device_ = value.toDevice();
            scalars_.push_back(number(static_cast<int64_t>(value.toDevice().index())));
        } else {
            scalars_.push_back(none());
        }
    }

    std::vector<agpu_torch_tensor> tensors_;
    std::vector<agpu_torch_scalar> scalars_;
    std::deque<std::vector<at::Tensor>> lists_;
    std::vector<std::shared_ptr<void>> owned_;
    std::optional<at::Device> device_;
};

// An optional tensor that was left out is None on the stack, and stands among the tensors: it is found by the schema.
bool is_optional_tensor(const c10::Argument &parameter) {
    const auto &type = parameter.type();
    return type->kind() == c10::TypeKind::OptionalType &&
        type->castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::TensorType;
}

void return_written(const c10::FunctionSchema &schema, torch::jit::Stack *stack) {
    const auto count = schema.arguments().size();
    const auto begin = stack->size() - count;
    std::vector<c10::IValue> results;
    if (!schema.returns().empty())
        for (size_t place = 0; place < count; ++place)
            if (schema.is_mutable({c10::SchemaArgType::input, place})) results.push_back((*stack)[begin + place]);
    torch::jit::drop(*stack, count);
    TORCH_CHECK(
        results.size() >= schema.returns().size(),
        schema.name(),
        " returns more than the arguments that it writes to, and cannot be a boxed operator of the kernel library");
    for (size_t place = 0; place < schema.returns().size(); ++place) stack->push_back(std::move(results[place]));
}

struct BoxedOperator final : c10::OperatorKernel {
    explicit BoxedOperator(std::string name) : name_(std::move(name)) {}

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
        const auto &parameters = op.schema().arguments();
        auto values = torch::jit::last(*stack, parameters.size()).vec();
        for (size_t place = 0; place < values.size(); ++place)
            if (values[place].isNone() && is_optional_tensor(parameters[place])) values[place] = at::Tensor();
        int32_t outcome = 0;
        {
            const Arguments arguments(values);
            const c10::OptionalDeviceGuard guard(arguments.device());
            outcome = arguments.call(name_.c_str());
        }
        if (outcome == 2) return run_on_cpu(op, stack);
        TORCH_CHECK(outcome == 0, functions.last_error());
        return_written(op.schema(), stack);
    }

private:
    std::string name_;
};

void register_boxed() {
    static auto *library = new torch::Library(
        torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, static_cast<uint32_t>(__LINE__));
    for (uint64_t place = 0; const char *name = functions.boxed_operator(place); ++place)
        library->impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<BoxedOperator>(name)));
}

template <typename F>
F *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    TORCH_CHECK(found != nullptr, "the kernel library has no function ", name, "; build it anew with ./x build");
    return reinterpret_cast<F *>(found);
}

} // namespace

void load_kernels(const std::string &path) {
    TORCH_CHECK(functions.call == nullptr, "the kernel library is loaded already");
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    TORCH_CHECK(library != nullptr, "the kernel library cannot be loaded: ", dlerror());
    const auto version = symbol<decltype(agpu_torch_interface_version)>(library, "agpu_torch_interface_version")();
    TORCH_CHECK(
        version == AGPU_TORCH_INTERFACE_VERSION,
        path,
        " has version ",
        version,
        " of the interface and the shim has version ",
        AGPU_TORCH_INTERFACE_VERSION,
        "; run `python -m amdgpu.torch.build`");
    functions.boxed_operator = symbol<decltype(agpu_torch_boxed_operator)>(library, "agpu_torch_boxed_operator");
    functions.last_error = symbol<decltype(agpu_torch_last_error)>(library, "agpu_torch_last_error");
    functions.native_calls = symbol<decltype(agpu_torch_native_calls)>(library, "agpu_torch_native_calls");
    // torch's library is loaded; this gives the handle of it that dlsym needs.
    void *torch_library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    TORCH_CHECK(torch_library != nullptr, "libtorch_cpu.so is not loaded");
    static const agpu_torch_host host{
        sizeof(agpu_torch_host), poison_bits(), host_device, host_current_stream, host_take_random, host_last_error, torch_library};
    const auto attach = symbol<decltype(agpu_torch_attach)>(library, "agpu_torch_attach");
    TORCH_CHECK(attach(&host) == 0, "the kernel library cannot be used: ", functions.last_error());
    functions.call = symbol<decltype(agpu_torch_call)>(library, "agpu_torch_call");
    register_boxed();
}

std::vector<std::pair<std::string, uint64_t>> native_calls() {
    std::vector<std::pair<std::string, uint64_t>> result;
    if (functions.native_calls == nullptr) return result;
    const char *name = nullptr;
    uint64_t calls = 0;
    for (uint64_t place = 0; functions.native_calls(place, &name, &calls) == 0; ++place) result.emplace_back(name, calls);
    return result;
}

} // namespace amdgpu_torch
