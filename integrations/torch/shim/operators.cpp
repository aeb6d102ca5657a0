// operators.cpp: calls of operators go to the kernel library, boxed.
#include "operators.h"

#include "core.h"
#include "direct.h"
#include "fallback.h"
#include "generator.h"
#include "kernels.h"
#include "storage.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>

namespace amdgpu_torch {
namespace {

struct Functions {
    decltype(&agpu_torch_boxed_operator) boxed_operator = nullptr;
    decltype(&agpu_torch_call) call = nullptr;
    decltype(&agpu_torch_zero) zero = nullptr;
    decltype(&agpu_torch_take_result) take_result = nullptr;
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

// What convolutions may do. Of versions of torch that ask for an operator some want its name and some a number.
template <typename Operator>
bool allows_tf32_of(bool (at::Context::*allows)(Operator) const) {
    using Value = std::remove_cv_t<std::remove_reference_t<Operator>>;
    if constexpr (std::is_same_v<Value, std::string>)
        return (at::globalContext().*allows)(Value("conv"));
    else
        return (at::globalContext().*allows)(Value(Value::value_type::CONV));
}
[[maybe_unused]] bool allows_tf32_of(bool (at::Context::*allows)() const) { return (at::globalContext().*allows)(); }

int32_t host_allows_tf32() {
    try {
        return allows_tf32_of(&at::Context::allowTF32CuDNN) ? 1 : 0;
    } catch (const std::exception &) {
        // torch says that its settings contradict each other: nothing is cut.
        return 0;
    }
}

int32_t host_empty(
    const int64_t *sizes,
    const int64_t *strides,
    uint32_t rank,
    int32_t dtype,
    int32_t index,
    agpu_torch_handle *tensor,
    void **address) {
    return answer([&] {
        at::Tensor made = new_tensor(
            {sizes, rank}, {strides, rank}, static_cast<at::ScalarType>(dtype), static_cast<c10::DeviceIndex>(index));
        *address = made.storage().mutable_data();
        *tensor = new at::Tensor(std::move(made));
    });
}

const char *host_last_error() { return host_error.c_str(); }

agpu_torch_scalar list(uint32_t kind, const void *data, size_t count) {
    return {kind, 0, static_cast<int64_t>(count), 0, 0, data};
}

// What is known of an operator before it is called.
struct Shape {
    size_t parameters = 0;
    size_t returns = 0;
    bool returns_list = false;
    // Arguments that it writes to.
    std::vector<size_t> written;
    // Arguments that are tensors where they are given.
    std::vector<bool> is_optional_tensor;

    explicit Shape(const c10::FunctionSchema &schema)
        : parameters(schema.arguments().size()), returns(schema.returns().size()) {
        returns_list = returns == 1 && schema.returns()[0].type()->kind() == c10::TypeKind::ListType;
        for (size_t place = 0; place < parameters; ++place) {
            const auto &type = schema.arguments()[place].type();
            is_optional_tensor.push_back(
                type->kind() == c10::TypeKind::OptionalType &&
                type->castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::TensorType);
            if (schema.is_mutable({c10::SchemaArgType::input, place})) written.push_back(place);
        }
    }
};

// The arguments of one call as the kernel library takes them.
class Arguments {
public:
    Arguments(const Shape &shape, c10::ArrayRef<c10::IValue> values) {
        for (size_t place = 0; place < values.size(); ++place) {
            if (values[place].isNone() && shape.is_optional_tensor[place])
                tensors_.emplace_back();
            else
                append(values[place]);
        }
    }

    int32_t call(uint64_t place, uint64_t &results) const {
        return functions.call(place, tensors_.data(), tensors_.size(), scalars_.data(), scalars_.size(), &results);
    }

    std::optional<at::Device> device() const { return device_; }

private:
    void append_tensor(const at::Tensor &tensor) {
        tensors_.push_back(facts_of(tensor));
        if (!device_ && tensors_.back().device >= 0) device_ = tensor.device();
    }

    template <typename T>
    const T &keep(T value) {
        const auto kept = std::make_shared<T>(std::move(value));
        owned_.push_back(kept);
        return *kept;
    }

    void append_tensors(std::vector<at::Tensor> tensors) {
        const auto &kept = keep(std::move(tensors));
        for (const auto &tensor : kept) append_tensor(tensor);
        scalars_.push_back(list(AGPU_TORCH_TENSORS, nullptr, kept.size()));
    }

    template <typename T>
    void append_copy(uint32_t kind, std::vector<T> values) {
        const auto &kept = keep(std::move(values));
        scalars_.push_back(list(kind, kept.data(), kept.size()));
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
        append_other_list(value.toListRef());
    }

    // Numbers of several types, lists of tensors in which some are left out, sizes of compiled programs.
    void append_other_list(c10::ArrayRef<c10::IValue> values) {
        const bool has_tensors = std::ranges::any_of(values, [](const auto &each) { return each.isTensor(); });
        if (has_tensors) {
            std::vector<at::Tensor> tensors;
            for (const auto &each : values) tensors.push_back(each.isTensor() ? each.toTensor() : at::Tensor());
            return append_tensors(std::move(tensors));
        }
        std::vector<agpu_torch_scalar> numbers;
        std::vector<int64_t> integers;
        for (const auto &each : values) {
            if (each.isSymInt()) integers.push_back(each.toSymInt().guard_int(__FILE__, __LINE__));
            numbers.push_back(each.isScalar() ? number(each.toScalar()) : none());
        }
        if (integers.size() == values.size()) return append_copy(AGPU_TORCH_INTS, std::move(integers));
        append_copy(AGPU_TORCH_SCALARS, std::move(numbers));
    }

    void append(const c10::IValue &value) {
        if (value.isTensor()) return append_tensor(value.toTensor());
        if (value.isInt()) return append_integer(value.toInt());
        if (value.isList()) return append_list(value);
        if (value.isSymInt()) return append_integer(value.toSymInt().guard_int(__FILE__, __LINE__));
        if (value.isScalar()) return scalars_.push_back(number(value.toScalar()));
        if (value.isGenerator())
            scalars_.push_back({AGPU_TORCH_GENERATOR, 0, 0, 0, 0, &keep(value.toGenerator())});
        else if (value.isString())
            scalars_.push_back(list(AGPU_TORCH_TEXT, value.toStringRef().c_str(), value.toStringRef().size()));
        else if (value.isDevice())
            append_device(value.toDevice());
        else
            scalars_.push_back(none());
    }

    void append_integer(int64_t value) { scalars_.push_back({AGPU_TORCH_INT, 0, value, 0, 0, nullptr}); }

    void append_device(const at::Device &device) {
        if (!device_ && device.type() == device_type) device_ = device;
        append_integer(device.index());
    }

    c10::SmallVector<agpu_torch_tensor, 8> tensors_;
    c10::SmallVector<agpu_torch_scalar, 8> scalars_;
    c10::SmallVector<std::shared_ptr<void>, 2> owned_;
    std::optional<at::Device> device_;
};

at::Tensor tensor_of(const agpu_torch_result &result) {
    const std::unique_ptr<at::Tensor> tensor(static_cast<at::Tensor *>(result.tensor));
    return tensor == nullptr ? at::Tensor() : std::move(*tensor);
}

std::vector<c10::IValue> take_results() {
    std::vector<c10::IValue> results;
    agpu_torch_result result{};
    while (functions.take_result(&result) == 0) {
        if (result.kind == AGPU_TORCH_RESULT_TENSOR) {
            results.emplace_back(tensor_of(result));
        } else if (result.kind == AGPU_TORCH_RESULT_BOOL) {
            results.emplace_back(result.integer != 0);
        } else {
            results.emplace_back(result.integer);
        }
    }
    return results;
}

// Replaces the arguments on the stack by what the operator returns: `count` results, or without any the arguments that it writes to.
void return_results(const std::string &name, const Shape &shape, uint64_t count, torch::jit::Stack *stack) {
    const auto begin = stack->size() - shape.parameters;
    if (count == 0 && shape.returns == 1 && shape.written.size() == 1 && !shape.returns_list) {
        c10::IValue written = std::move((*stack)[begin + shape.written[0]]);
        torch::jit::drop(*stack, shape.parameters);
        return stack->push_back(std::move(written));
    }
    std::vector<c10::IValue> results;
    if (count > 0) results = take_results();
    if (results.empty())
        for (const auto place : shape.written)
            if (results.size() < shape.returns) results.push_back((*stack)[begin + place]);
    torch::jit::drop(*stack, shape.parameters);
    if (shape.returns_list && (results.size() != 1 || !results[0].isTensorList())) {
        std::vector<at::Tensor> tensors;
        for (auto &result : results) tensors.push_back(std::move(result).toTensor());
        stack->emplace_back(std::move(tensors));
        return;
    }
    TORCH_CHECK(
        results.size() == shape.returns,
        name,
        " returns ",
        shape.returns,
        " results and its kernel gave ",
        results.size());
    for (auto &result : results) stack->push_back(std::move(result));
}

struct BoxedOperator final : c10::OperatorKernel {
    BoxedOperator(uint64_t place, std::string name, const c10::FunctionSchema &schema)
        : place_(place), name_(std::move(name)), shape_(schema), is_list_(name_.starts_with("aten::_foreach_")) {}

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
        int32_t outcome = 0;
        uint64_t results = 0;
        {
            const Arguments arguments(shape_, torch::jit::last(*stack, shape_.parameters));
            const c10::OptionalDeviceGuard guard(arguments.device());
            outcome = arguments.call(place_, results);
        }
        if (outcome == 2 && is_list_) return run_each(op, stack);
        if (outcome == 2) return run_on_cpu(op, stack);
        TORCH_CHECK(outcome == 0, functions.last_error());
        return_results(name_, shape_, results, stack);
    }

private:
    // torch's own kernel of lists, which calls an operator for each tensor: what a backend without kernels of its own has.
    static void run_each(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
        op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse2), stack);
    }

    uint64_t place_;
    std::string name_;
    Shape shape_;
    bool is_list_;
};

torch::Library &library() {
    static auto *made = new torch::Library(
        torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, static_cast<uint32_t>(__LINE__));
    return *made;
}

// Operators that this version of torch does not have are left out.
void register_operators() {
    for (uint64_t place = 0; const char *name = functions.boxed_operator(place); ++place) {
        const std::string_view whole(name);
        const auto dot = whole.find('.');
        const c10::OperatorName key(
            std::string(whole.substr(0, dot)), dot == std::string_view::npos ? "" : std::string(whole.substr(dot + 1)));
        const auto op = c10::Dispatcher::singleton().findSchema(key);
        if (!op || is_direct(name, place)) continue;
        library().impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<BoxedOperator>(place, name, op->schema())));
    }
}

template <typename F>
F *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    TORCH_CHECK(found != nullptr, "the kernel library has no function ", name, "; build it anew with ./x build");
    return reinterpret_cast<F *>(found);
}

} // namespace

agpu_torch_tensor facts_of(const at::Tensor &tensor) {
    agpu_torch_tensor facts{};
    if (!tensor.defined()) return facts;
    const auto *kept = tensor.unsafeGetTensorImpl();
    const auto device = kept->device();
    facts.handle = const_cast<at::Tensor *>(&tensor);
    facts.device = device.type() == device_type ? device.index() : device.is_cpu() ? AGPU_TORCH_ON_CPU : AGPU_TORCH_ELSEWHERE;
    facts.address = facts.device == AGPU_TORCH_ELSEWHERE ? nullptr : tensor.mutable_data_ptr();
    facts.sizes = kept->sizes().data();
    facts.strides = kept->strides().data();
    facts.rank = static_cast<uint32_t>(kept->dim());
    facts.dtype = static_cast<int32_t>(tensor.scalar_type());
    return facts;
}

agpu_torch_scalar none() { return {AGPU_TORCH_NONE, 0, 0, 0, 0, nullptr}; }

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

bool call_kernel(
    uint64_t place, std::span<const agpu_torch_tensor> tensors, std::span<const agpu_torch_scalar> scalars, std::span<at::Tensor> results) {
    uint64_t count = 0;
    const auto outcome = functions.call(place, tensors.data(), tensors.size(), scalars.data(), scalars.size(), &count);
    if (outcome == 2) return false;
    TORCH_CHECK(outcome == 0, functions.last_error());
    for (auto &result : results.first(std::min<size_t>(results.size(), count))) {
        agpu_torch_result taken{};
        functions.take_result(&taken);
        result = tensor_of(taken);
    }
    return true;
}

bool zero_bytes(uint64_t place, const at::Tensor &x) {
    const auto outcome = functions.zero(place, x.device().index(), x.mutable_data_ptr(), x.nbytes());
    TORCH_CHECK(outcome != 1, functions.last_error());
    return outcome == 0;
}

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
    functions.take_result = symbol<decltype(agpu_torch_take_result)>(library, "agpu_torch_take_result");
    functions.last_error = symbol<decltype(agpu_torch_last_error)>(library, "agpu_torch_last_error");
    functions.native_calls = symbol<decltype(agpu_torch_native_calls)>(library, "agpu_torch_native_calls");
    // torch's library is loaded; this gives the handle of it that dlsym needs.
    void *torch_library = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    TORCH_CHECK(torch_library != nullptr, "libtorch_cpu.so is not loaded");
    static const agpu_torch_host host{
        sizeof(agpu_torch_host),
        poison_bits(),
        host_device,
        host_current_stream,
        host_take_random,
        host_last_error,
        torch_library,
        host_allows_tf32,
        host_empty};
    const auto attach = symbol<decltype(agpu_torch_attach)>(library, "agpu_torch_attach");
    TORCH_CHECK(attach(&host) == 0, "the kernel library cannot be used: ", functions.last_error());
    functions.zero = symbol<decltype(agpu_torch_zero)>(library, "agpu_torch_zero");
    functions.call = symbol<decltype(agpu_torch_call)>(library, "agpu_torch_call");
    register_operators();
}

void complete_operators() {
    for (const char *name : {"aten::convolution_overrideable", "aten::convolution_backward_overrideable"}) {
        const auto op = c10::Dispatcher::singleton().findSchema({name, ""});
        if (op && !op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1))
            library().impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
    }
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
